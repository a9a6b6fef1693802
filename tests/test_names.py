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
