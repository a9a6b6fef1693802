"""One concept, one word: no two classes of the packages have one name."""

import ast
from collections import Counter, defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"


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
    for path in sorted((SOURCE / "halfmask" / "cli").glob("*.py")):
        shown = " ".join(printed(path.read_text(encoding="utf-8")))
        assert not [name for name in names if name in shown], path.name


def test_a_printed_class_name_would_be_noticed() -> None:
    assert printed('show(rows, "MenuOptions")') == ["MenuOptions"]
