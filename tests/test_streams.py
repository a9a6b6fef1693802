"""Random streams have names: none depends on which others exist, and nothing draws without one."""

import ast
from pathlib import Path

import numpy as np
import pytest

from halfmask import streams
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection import attacks
from halfmask.protection.attacks.finding import Finding
from halfmask.streams import NAMES, hashed, stream
from tests.protection.attack_cases import evidence_of

SOURCE = Path(__file__).parent.parent / "src" / "halfmask"


def first(name: str, *parts: int) -> list[float]:
    return stream(7, name, *parts).random(4).tolist()


def test_adding_a_stream_changes_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: first(name, 50, 1) for name in NAMES}
    more = {"figure.first": None, **NAMES, "attack.new": None}
    monkeypatch.setattr(streams, "NAMES", more)
    assert {name: first(name, 50, 1) for name in before} == before
    assert first("figure.first") != first("attack.new")


def test_inserting_an_attack_changes_the_numbers_of_no_other() -> None:
    def fresh(setting: PrivacySetting, evidence: object, rng: np.random.Generator) -> Finding:  # noqa: ARG001
        return Finding("fresh", "a number", float(rng.random()), 0.0, "words", {})

    setting = PrivacySetting.parse("laplace:1")
    evidence = evidence_of(np.random.default_rng(1).gamma(2.0, 0.5, (20, 96)))
    usual = attacks.ATTACKS[:3]
    alone = [each.value for each in attacks.attack(setting, evidence, 7, attacks=usual)]
    among = [each.value for each in attacks.attack(setting, evidence, 7, attacks=(fresh, *usual[::-1]))]
    assert among[:0:-1] == alone
    assert among[0] == stream(7, "attack.fresh").random()


def test_parts_and_seeds_are_streams_of_their_own() -> None:
    drawn = [first("evaluation.totals", size, repeat) for size in (50, 100) for repeat in (0, 1)]
    drawn += [stream(8, "evaluation.totals", 50, 0).random(4).tolist(), first("evaluation.local", 50, 0)]
    assert len({tuple(each) for each in drawn}) == len(drawn)
    assert first("evaluation.totals", 50, 0) == drawn[0]


def test_an_unknown_name_is_refused_and_hashes_do_not_meet() -> None:
    with pytest.raises(KeyError, match="add it there"):
        stream(7, "evaluation.total")
    assert len({hashed(name) for name in NAMES}) == len(NAMES)
    kept = [key for name, key in NAMES.items() if key is not None and not name.startswith("synth.")]
    assert not any(a != b and b[: len(a)] == a for a in kept for b in kept), "one stream is never part of another"


MAKERS = {"default_rng", "SeedSequence", "RandomState", "Generator", "PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"}


def unnamed(text: str) -> list[int]:
    """Lines of a module that make a source of random numbers by themselves, or draw from numpy's own."""
    found = []
    for node in ast.walk(ast.parse(text)):
        called = node.func if isinstance(node, ast.Call) else None
        made = isinstance(called, ast.Attribute) and (
            called.attr in MAKERS or ast.unparse(called.value) in ("np.random", "numpy.random")
        )
        if made or (isinstance(node, ast.ImportFrom) and node.module == "numpy.random"):
            found.append(node.lineno)  # type: ignore[attr-defined]
    return found


def test_streams_are_made_in_one_place() -> None:
    modules = [path for path in SOURCE.rglob("*.py") if path.name != "streams.py"]
    found = {str(path.relative_to(SOURCE)): unnamed(path.read_text(encoding="utf-8")) for path in modules}
    assert {path: lines for path, lines in found.items() if lines} == {}
    assert len(unnamed((SOURCE / "streams.py").read_text(encoding="utf-8"))) == 4


def test_a_stream_of_ones_own_would_be_noticed() -> None:
    text = "rng = np.random.default_rng(7)\nx = np.random.normal()\ndef f(rng: np.random.Generator): rng.normal()\n"
    assert unnamed(text) == [1, 2]


def test_every_name_is_drawn_from() -> None:
    """A name that nothing draws from, or a draw from a name that is put together, would be missed by who looks here."""
    modules = [*SOURCE.rglob("*.py"), *(SOURCE.parents[1] / "reproduction").rglob("*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in modules if path.name != "streams.py")
    names = [name for name in (*NAMES, *streams.PLAIN) if not name.startswith("attack.") or name.count(".") > 1]
    assert [name for name in names if f'"{name}"' not in text] == []
    assert {name.split(".")[1] for name in NAMES if name.startswith("attack.")} <= {
        each.__name__ for each in attacks.ATTACKS
    }
