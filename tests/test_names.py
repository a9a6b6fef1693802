"""One concept, one word: names of classes, modules and functions mean one thing, and metrics are read by name."""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"


def classes(text: str) -> list[str]:
    """Names of all classes in a module, those inside functions and classes included."""
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def test_no_class_name_stands_twice() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for name in classes(path.read_text(encoding="utf-8")):
            if not name.startswith("_"):
                found[name].append(str(path.relative_to(SOURCE)))
    assert len(found) > 200  # the walk has seen the packages
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_a_name_that_stands_twice_would_be_noticed() -> None:
    assert Counter(classes("class A:\n    class B: ...\ndef f():\n    class A: ...\n")) == {"A": 2, "B": 1}


SAME_MODULE = {
    "duckdb": "DuckDB as an engine, and as a format of files",
    "errors": "halfmask.errors passes on the tree of the device",
    "setting": "a privacy setting: of the study, and of the device, which imports nothing of it",
    "spark": "Spark as an engine, and for the direct method",
}
"""Names that two modules may have, and why. A command and its room's module may too, a mechanism and its sampler."""


def places(modules: Iterable[str]) -> dict[str, list[str]]:
    """By name, the modules that have it although they are not of one thing; paths are those below ``src``."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in modules:
        room, name = Path(path).parent, Path(path).stem
        if name != "__init__" and room.name != "commands" and str(room) != "halfmask_device/laws":
            found[name].append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_two_modules_of_different_things_have_one_name() -> None:
    found = places(str(path.relative_to(SOURCE)) for path in sorted(SOURCE.rglob("*.py")))
    assert {name: paths for name, paths in found.items() if name not in SAME_MODULE} == {}


def test_a_second_module_of_a_name_would_be_noticed() -> None:
    allowed = [
        "halfmask/commands/offer.py",
        "halfmask/menus/offer.py",
        "halfmask/a/__init__.py",
        "halfmask/__init__.py",
    ]
    assert places(allowed) == {}
    assert places(["halfmask/menus/limit.py", "halfmask/audits/limit.py"]) == {
        "limit": ["halfmask/menus/limit.py", "halfmask/audits/limit.py"]
    }


CONTRACTS = ("main", "read", "write", "draw_", "_data")
"""Public functions that many modules have by contract: by these names, beginnings and endings."""
SAME_FUNCTION = {
    "background_task": "of each part of the service that has one",
    "divergence": "of the device's bound, and of the law behind it",
    "per_unit": "epsilon per unit of change: of the study's guarantee, and of the device",
    "simulated_errors": "of one attack each",
    "upgrade": "of all tables, and of one migration",
    "scaled": "a law's kernel, and a grid of it",
}
"""Public functions that may have one name, and why."""


def functions(modules: dict[str, str]) -> dict[str, list[str]]:
    """By name, the modules that define a public function of it; commands give theirs the name of their room's."""
    found: dict[str, list[str]] = defaultdict(list)
    for path, text in modules.items():
        for node in ast.parse(text).body if Path(path).parent.name != "commands" else ():
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found[node.name].append(path)
    return {
        name: paths
        for name, paths in found.items()
        if len(paths) > 1 and not (name in CONTRACTS or name.startswith("draw_") or name.endswith("_data"))
    }


def test_no_two_public_functions_of_different_things_have_one_name() -> None:
    found = functions(
        {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    )
    assert {name: paths for name, paths in found.items() if name not in SAME_FUNCTION} == {}


def test_a_second_function_of_a_name_would_be_noticed() -> None:
    one = "def percent(): ...\ndef _own(): ...\ndef main(): ...\n"
    assert functions({"a.py": one, "b.py": one, "commands/percent.py": one}) == {"percent": ["a.py", "b.py"]}


def printed(text: str) -> list[str]:
    """What a module's calls are given as text."""
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    given = (leaf for call in calls for argument in call.args for leaf in ast.walk(argument))
    return [leaf.value for leaf in given if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str)]


def test_no_options_class_is_named_to_the_user() -> None:
    commands = SOURCE / "halfmask" / "commands"
    names = {
        n
        for p in commands.glob("*.py")
        for n in classes(p.read_text(encoding="utf-8"))
        if n.endswith("Options") and n != "Options"
    }
    assert "OfferOptions" in names
    for path in sorted(commands.glob("*.py")):
        shown = " ".join(printed(path.read_text(encoding="utf-8")))
        assert not [name for name in names if name in shown], path.name


def test_a_printed_class_name_would_be_noticed() -> None:
    assert printed('show(rows, "MenuOptions")') == ["MenuOptions"]


METRIC_ARRAYS = {"metrics", "largest", "normalisers"}
"""Arrays whose last axis is the six metrics."""


def numbered(text: str) -> list[str]:
    """Where an array of metrics is read by the number of a column: ``metrics[..., 3]``, ``metrics[row, :3]``."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Subscript) or ast.unparse(node.value).split(".")[-1] not in METRIC_ARRAYS:
            continue
        axes = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        whole = len(axes) > 1 or not ast.unparse(node.value).endswith("metrics")  # metrics[0] is a setting's
        parts = [axes[-1].lower, axes[-1].upper] if isinstance(axes[-1], ast.Slice) else [axes[-1]]
        if whole and any(isinstance(part, ast.Constant) and isinstance(part.value, int) for part in parts):
            found.append(f"{node.lineno} {ast.unparse(node)}")
    return found


def test_metrics_are_read_by_name() -> None:
    found = {str(path.relative_to(SOURCE)): numbered(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_a_numbered_column_would_be_noticed() -> None:
    wrong = "m = study.metrics[..., 3]\nmetrics[row, :3] = x\nmetrics[0, 3:] = x\na = menu.largest[0]\n"
    right = "metrics[0]\nmetrics[..., GLOBAL_MEAN]\nself.metrics[start + rows, 0, k]\nlargest[LOCAL]\ncells[..., 1]\n"
    assert [each.split()[0] for each in numbered(wrong)] == ["1", "2", "3", "4"]
    assert numbered(right) == []


TWO_MEANINGS = {
    r"(analytic|direct) engine": "a method is analytic or direct, an engine is DuckDB or Spark",
    r"--engine[ =](analytic|direct)\b": "a method is analytic or direct, an engine is DuckDB or Spark",
    r"method[ =`']+(duckdb|spark)\b": "an engine is DuckDB or Spark, a method is analytic or direct",
    r"consumers?' homes?|(household|home|family)s? (is|are) (a |the )?consumers?\b": "a consumer buys data",
    r"made? anew|\banew\b": "recreate",
    r"hardly disperses?": "varies little",
    r"\b(page|figure|report)s? (is|are) alive\b|\balive in the browser": "interactive",
    r"caught but once in": "it is missed at most that often",
    r"no change is too large to be hidden": "guarantees for it mean nearly nothing",
}
"""Words that were used for two things or say the opposite, and what to write instead."""
SPOKEN = [
    *(path for path in SOURCE.rglob("*") if path.suffix in (".py", ".html", ".js", ".json", ".j2")),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile")),
]


def misspoken(text: str) -> list[str]:
    """What a text says in a word that means something else here."""
    return [f"{found.group()}: {better}" for word, better in TWO_MEANINGS.items() for found in re.finditer(word, text)]


def test_one_concept_has_one_word() -> None:
    assert len(SPOKEN) > 300
    assert {path.name: wrong for path in SPOKEN if (wrong := misspoken(path.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize("text", ["the direct engine masks", "--engine direct", "made anew", "is caught but once in a"])
def test_a_second_word_would_be_noticed(text: str) -> None:
    assert len(misspoken(text)) == 1


def test_types_of_arrays_have_one_name() -> None:
    made = [
        ast.unparse(node.value).removeprefix("npt.")
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and "NDArray[" in ast.unparse(node.value)
    ]
    assert "NDArray[np.float64]" in made
    assert {kind: times for kind, times in Counter(made).items() if times > 1} == {}
