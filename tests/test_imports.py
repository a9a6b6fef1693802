"""The direction of flow: a folder imports only what stands before it in the data's way."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "halfmask"
FLOW = [
    *("errors", "arrays", "files", "data", "profiles", "mechanisms", "evaluation", "protection", "menus", "choice"),
    *("rewards", "audits", "figures", "pages", "service", "simulation", "commands", "api", "cli"),
]
RAW_DATA = {"data", "profiles"}


def imported(tree: ast.AST) -> set[str]:
    """The parts of halfmask (``data``, ``profile``, ...) that a module imports, wherever in it."""
    parts = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("halfmask."):
            parts.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "halfmask":
            parts.update(alias.name for alias in node.names if not alias.name.startswith("__"))
        elif isinstance(node, ast.Import):
            parts.update(a.name.split(".")[1] for a in node.names if a.name.startswith("halfmask."))
    return parts


def misplaced(part: str, imports: set[str]) -> set[str]:
    """What ``part`` imports although it does not stand before it."""
    allowed = set(FLOW[: FLOW.index(part) + 1])
    if part == "service":
        allowed -= RAW_DATA
    return imports - allowed


MODULES = sorted(p for p in SOURCE.rglob("*.py") if p.parent != SOURCE or p.stem in FLOW)


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_module_imports_only_what_stands_before_it(module: Path) -> None:
    part = module.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert part in FLOW, f"{module} belongs to no part of the flow"
    assert misplaced(part, imported(ast.parse(module.read_text()))) == set()


def test_the_check_catches_a_wrong_import() -> None:
    tree = ast.parse("def f():\n    from halfmask.profiles.profile import Profile\n")
    assert misplaced("service", imported(tree)) == {"profiles"}
    assert misplaced("data", imported(tree)) == {"profiles"}
    assert misplaced("evaluation", imported(tree)) == set()
