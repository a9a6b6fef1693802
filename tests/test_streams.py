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


def test_nothing_spawns_by_number() -> None:
    found = [
        f"{module.relative_to(SOURCE)}:{node.lineno}"
        for module in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "SeedSequence" and module.name != "streams.py"
    ]
    assert found == []
