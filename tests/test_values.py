"""Results are values: nothing frozen is changed after it is made, and tables in words stand where words belong."""

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
TABLE = "list[list[str]]"
SHOWN = {"summary"}
"""What every result shows of itself in a notebook."""


def changed(tree: ast.AST) -> list[int]:
    """Lines that change a frozen object elsewhere than where it is made."""
    making = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "__post_init__"
        for inner in ast.walk(node)
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and id(node) not in making)
    return [call.lineno for call in calls if ast.unparse(call.func) == "object.__setattr__"]


def tables(tree: ast.AST) -> list[str]:
    """Methods of classes that give a table in words."""
    methods = (
        method
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for method in node.body
        if isinstance(method, ast.FunctionDef)
    )
    return [
        each.name for each in methods if each.returns and TABLE in ast.unparse(each.returns) and each.name not in SHOWN
    ]


def parsed(folder: Path) -> dict[str, ast.AST]:
    return {str(p.relative_to(SOURCE)): ast.parse(p.read_text(encoding="utf-8")) for p in folder.rglob("*.py")}


def test_nothing_frozen_is_changed_in_place() -> None:
    assert {name: lines for name, tree in parsed(SOURCE).items() if (lines := changed(tree))} == {}


def test_results_of_choice_hold_numbers_and_no_tables() -> None:
    assert {
        name: found for name, tree in parsed(SOURCE / "halfmask" / "choice").items() if (found := tables(tree))
    } == {}


def test_both_would_be_noticed() -> None:
    wrong = ast.parse(
        "class A:\n    def __post_init__(self): object.__setattr__(self, 'x', 1)\n"
        "    def grow(self): object.__setattr__(self, 'x', 2)\n    def rows(self) -> list[list[str]]: ...\n"
    )
    assert changed(wrong) == [3]
    assert tables(wrong) == ["rows"]
