"""The direction of flow: a folder imports only what stands before it in the data's way."""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
FLOW = [
    *(
        "errors",
        "extras",
        "arrays",
        "files",
        "results",
        "streams",
        "mergeable",
        "plain",
        "data",
        "profiles",
        "mechanisms",
        "evaluation",
        "protection",
    ),
    *("menus", "choice", "rewards", "audits", "figures", "pages", "service", "simulation", "commands", "testing"),
]
RAW_DATA = {"data", "profiles"}
OUTSIDE_WORLD = {"csv", "httpx", "io", "json", "os", "pathlib", "pyarrow", "requests", "socket", "sqlite3", "urllib"}
"""What does input or output: the arithmetic of rewards needs none of it."""

PACKAGE = sorted(p for p in (SOURCE / "halfmask").rglob("*.py") if p.parent.name != "halfmask" or p.stem in FLOW)
DEVICE = sorted((SOURCE / "halfmask_device").rglob("*.py"))
REWARDS = sorted((SOURCE / "halfmask" / "rewards").rglob("*.py"))


def modules(tree: ast.AST) -> set[str]:
    """The full names of what a module imports, wherever in it; relative imports stay in their folder."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            found.update(
                f"{node.module}.{a.name}" for a in node.names if node.module == "halfmask" and a.name[0] != "_"
            )
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
    return found


def rooms(tree: ast.AST) -> set[str]:
    """The rooms of halfmask (``data``, ``profiles``, ...) that a module imports."""
    return {name.split(".")[1] for name in modules(tree) if name.startswith("halfmask.")}


def misplaced(room: str, imports: set[str]) -> set[str]:
    """What ``room`` imports although it does not stand before it."""
    allowed = set(FLOW[: FLOW.index(room) + 1])
    if room == "service":
        allowed -= RAW_DATA
    return imports - allowed


def foreign(tree: ast.AST) -> set[str]:
    """What a module of the device imports beside the standard library and the device."""
    return {name.split(".")[0] for name in modules(tree)} - sys.stdlib_module_names - {"halfmask_device"}


def private(tree: ast.AST, room: str) -> set[str]:
    """The private names of other rooms that a module of ``room`` imports, or uses by their module's name."""
    found, held = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("halfmask."):
            other = node.module.split(".")[1] != room
            found |= {f"{node.module}.{a.name}" for a in node.names if other and a.name.startswith("_")}
            held |= {a.asname or a.name for a in node.names if other and a.name.islower()}
        elif isinstance(node, ast.Import):
            held |= {
                a.asname for a in node.names if a.asname and a.name.startswith("halfmask.") and f".{room}" not in a.name
            }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in held:
            found |= {f"{node.value.id}.{node.attr}"} if node.attr.startswith("_") else set()
    return found


@pytest.mark.parametrize("module", PACKAGE, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_room_uses_what_is_private_to_another(module: Path) -> None:
    room = module.relative_to(SOURCE / "halfmask").parts[0].removesuffix(".py")
    assert private(ast.parse(module.read_text()), room) == set()


@pytest.mark.parametrize("module", PACKAGE, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_module_imports_only_what_stands_before_it(module: Path) -> None:
    room = module.relative_to(SOURCE / "halfmask").parts[0].removesuffix(".py")
    assert room in FLOW, f"{module} belongs to no part of the flow"
    assert misplaced(room, rooms(ast.parse(module.read_text()))) == set()


@pytest.mark.parametrize("module", DEVICE, ids=lambda p: str(p.relative_to(SOURCE)))
def test_the_device_needs_the_standard_library_alone(module: Path) -> None:
    assert foreign(ast.parse(module.read_text())) == set()


@pytest.mark.parametrize("module", REWARDS, ids=lambda p: str(p.relative_to(SOURCE)))
def test_rewards_do_no_input_or_output(module: Path) -> None:
    assert {name.split(".")[0] for name in modules(ast.parse(module.read_text()))} & OUTSIDE_WORLD == set()


def test_the_checks_catch_a_wrong_import() -> None:
    tree = ast.parse("def f():\n    from halfmask.profiles.profile import Profile\n    import numpy.linalg\n")
    assert misplaced("service", rooms(tree)) == {"profiles"}
    assert misplaced("data", rooms(tree)) == {"profiles"}
    assert misplaced("evaluation", rooms(tree)) == set()
    assert foreign(tree) == {"halfmask", "numpy"}
    called = ast.parse(
        "from halfmask.evaluation.analytic import run as analytic\nanalytic._local_part()\nanalytic.whole()\n"
    )
    assert private(called, "menus") == {"analytic._local_part"}
    assert private(called, "evaluation") == set()
    assert private(ast.parse("from halfmask.data.times import _parsed"), "menus") == {"halfmask.data.times._parsed"}
