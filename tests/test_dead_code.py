"""Dead code: all that is defined is used in the packages, or is called by name from outside and stands below.

A function that tests alone use is dead too. Names in ``__all__`` are for users, and count as used.
"""

import ast
import re
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

from vulture import Vulture

SOURCE = Path(__file__).parents[1] / "src"
REPRODUCTION = Path(__file__).parents[1] / "reproduction"
"""What uses the package besides itself."""
FOUND_BY_FILE = (
    "halfmask/mechanisms/ours/*",
    "halfmask/commands/*",
    "halfmask/data/formats/*",
    "halfmask_device/laws/*",
)
"""A mechanism, a command, a format and a law of the device are found by the file that defines them."""
CALLED = {
    "__getattr__": "Python, for names of the package that load what they need",
    "__dir__": "Python, for the same names",
    "__signature__": "inspect, for the arguments of a command",
    "__matmul__": "Python, for products with `@`",
    "__rmatmul__": "Python, for the same with an array on the left",
    "__array_ufunc__": "numpy, for the same",
    "_": "singledispatch",
    "should_exit": "uvicorn, to end a server",
    "Axes": "annotations in quotes",
    "MQTTMessage": "annotations in quotes",
    "_repr_html_": "notebooks",
    "in_notebook": "`Result._repr_html_`, which finds it by name",
    "revoke": "halfmask admin, by the name of the action",
    "expel": "halfmask admin, by the name of the action",
    "reverse": "halfmask admin, by the name of the action",
    "erase": "halfmask admin, by the name of the action",
    "share_of_value": "asdict, which writes all fields of a finding",
    "share_of_neighbour": "asdict, which writes all fields of a finding",
    "lower_bound": "the certificate of a law of least noise, which its tests hold it to",
    "own_weight": "users of `halfmask.recommend`",
    "log_likelihood": "users of `halfmask.reward_fit`",
    "pythonExec": "Spark",
    "leader": "users of `halfmask.service.split`",
    "helper": "users of `halfmask.service.split`",
    "verifier_bytes": "users of `halfmask.service.split`",
    "calibration": "msgspec, which asks for every field of a file",
    "address_family": "http.server",
    "handle_error": "http.server",
    "client_address": "http.server",
    "protocol_version": "http.server",
    "server_version": "http.server",
    "sys_version": "http.server",
    "error_content_type": "http.server",
    "error_message_format": "http.server",
    "do_HEAD": "http.server",
    "do_POST": "http.server",
    "close_connection": "http.server",
    "log_message": "http.server",
    "on_connect": "paho-mqtt",
    "on_message": "paho-mqtt",
    "on_subscribe": "paho-mqtt",
    "worker_app": "uvicorn, by its address",
    "capture_signals": "uvicorn",
    "handlers": "logging",
    "isolation_level": "sqlite3",
    "redirect_request": "urllib",
}
"""Names that something outside of the packages calls."""


def unused(package: Path) -> list[str]:
    """What vulture finds no use of: names that stand nowhere else. Tests and benchmarks are no use."""
    seeker = Vulture()
    seeker.scavenge([str(package), str(REPRODUCTION)], exclude=["*/migrations/*"])
    found = [(Path(item.filename).resolve(), item) for item in seeker.get_unused_code(min_confidence=60)]
    return [
        f"{path.relative_to(package.resolve())}:{item.first_lineno} {item.name}"
        for path, item in found
        if path.is_relative_to(package.resolve())
    ]


def not_taken(package: Path) -> list[str]:
    """What a module defines, and neither it uses nor another takes from it, whatever else has that name."""
    trees = {module_of(path, package): ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")}
    users = [ast.parse(path.read_text(encoding="utf-8")) for path in REPRODUCTION.rglob("*.py")]
    taken = set[tuple[str, str]]().union(*(taken_by(tree) for tree in (*trees.values(), *users)))
    left = []
    for module, tree in sorted(trees.items()):
        everywhere = named(tree)
        for statement in tree.body:
            names = [name for name in defined(statement) if (module, name) not in taken]
            own = named(statement) if names else Counter()
            left += [f"{module} {name}" for name in names if everywhere[name] == own[name]]
    return left


def module_of(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__")


def defined(statement: ast.stmt) -> list[str]:
    """The names that a statement gives to its module, those that Python itself reads left out."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        found = [statement.name]
    else:
        targets = getattr(statement, "targets", [getattr(statement, "target", None)])
        found = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in found if not name.startswith("__")]


def named(tree: ast.AST) -> Counter[str]:
    """How often each name stands in a tree, annotations in quotes included."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found[node.id] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            found.update(re.findall(r"\w+", node.value))
    return found


def taken_by(tree: ast.AST) -> set[tuple[str, str]]:
    """Module and name of all that a module imports, or reads of a module that it imports."""
    found, modules = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found.add((node.module, alias.name))
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            modules.update((alias.asname or alias.name, alias.name) for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            found.add((modules[node.value.id], node.attr))
    return found


def test_nothing_is_dead_or_there_for_tests_alone() -> None:
    found = unused(SOURCE)
    dead = [each for each in found if not any(fnmatch(each.partition(":")[0], place) for place in FOUND_BY_FILE)]
    assert [each for each in dead if each.split()[-1] not in CALLED] == []
    assert {each.split()[-1] for each in found} >= {"handle_error", "worker_app", "own_weight"}  # the list is needed
    places = [place.removesuffix("/*").replace("/", ".") for place in FOUND_BY_FILE]
    left = [each for each in not_taken(SOURCE) if not each.startswith(tuple(places)) and "migrations" not in each]
    assert [each for each in left if each.split()[-1] not in CALLED] == []


def test_dead_code_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(
        "LIMIT = 3\n\n\ndef used():\n    return 1\n\n\ndef dead():\n    return used() + dead()\n"
    )
    assert [each.split()[-1] for each in unused(tmp_path)] == ["LIMIT"]
    (tmp_path / "other.py").write_text("from module import used\n\nLIMIT = used()\nprint(LIMIT)\n")
    assert not_taken(tmp_path) == ["module LIMIT", "module dead"]
