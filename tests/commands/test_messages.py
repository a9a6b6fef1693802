"""What the program says: the core does not speak command line, and no message advises an option that is not there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from halfmask.commands._program import options, phrase
from halfmask.errors import ColumnError, FileFormatError, OptionError, RunError
from halfmask_device.errors import OPTION
from tests.commands.program import refused

SOURCE = Path(__file__).parents[2] / "src"
EDGES = ("halfmask/commands/",)
TYPED = re.compile(r"(?<![\w-])--[a-z][a-z-]*+(?!\{)")
ALL = sorted(SOURCE.rglob("*.py"))
KNOWN = {spelled for command in options().values() for spelled in command.values()} | {"--no-browser", "--help"}
MARKDOWN = "reproduction/"
"""Writes a page of Markdown, with commands in it, where backquotes mean code."""


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module that is no docstring; what is filled in stands as {name}."""
    plain = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in plain | inside:
            yield node.lineno, node.value


def core() -> list[Path]:
    return [path for path in ALL if not str(path.relative_to(SOURCE)).startswith((*EDGES, MARKDOWN))]


def spoken(path: Path) -> list[str]:
    """Options in the command line's spelling."""
    return [f"{path.name}:{line} {text}" for line, text in texts(ast.parse(path.read_text())) if TYPED.search(text)]


def test_the_core_does_not_speak_command_line() -> None:
    assert [told for path in core() for told in spoken(path)] == []


def advised(path: Path) -> set[str]:
    """Options that a module's texts name, in whatever spelling: those that no command has."""
    tree = ast.parse(path.read_text())
    found = {option for _, text in texts(tree) for option in TYPED.findall(text) if option not in KNOWN}
    python = {name for command in options().values() for name in command}
    if MARKDOWN in str(path):
        return found
    return found | {name for _, text in texts(tree) for name, _ in OPTION.findall(text) if name not in python}


def test_no_message_advises_an_option_that_does_not_exist() -> None:
    assert {path.name: wrong for path in ALL if (wrong := advised(path))} == {}


def test_both_checks_would_notice(tmp_path: Path) -> None:
    module = tmp_path / "wrong.py"
    module.write_text('"""--not-a-message."""\nraise E(f"{x}: raise --memory-limit, or `no_such` to {y}")\n')
    assert advised(module) == {"--memory-limit", "no_such"}
    assert len(spoken(module)) == 1


@pytest.mark.parametrize(
    ("message", "command", "typed"),
    [
        ("raise `max_mean`, or try `error=scaled`", "optimize", "raise --max-mean, or try --error scaled"),
        ("values below `low` are dropped", "profile", "values below --min are dropped"),
        ("name both `low` and `high`", "mask", "name both --low and --high"),
        ("the setting in use, `current`", "choose", "the setting in use, --from"),
        ("evaluate with `error=scaled`", "mix", "evaluate with --error scaled"),
        ("the column `kWh used` is odd", "profile", "the column `kWh used` is odd"),
    ],
)
def test_the_command_line_writes_options_as_they_are_typed(message: str, command: str, typed: str) -> None:
    assert phrase(message, command) == typed


def test_an_error_says_what_where_and_what_next_to_programs_too() -> None:
    error = OptionError("`omega` 3 is not below 1", hint="lower `omega` or `bins`", place="menu.json")
    assert (error.code, error.fields, error.place) == ("option", ("omega", "bins"), "menu.json")
    assert str(error) == "`omega` 3 is not below 1: lower `omega` or `bins`"
    assert OptionError("it is -1", field="sensitivity").fields == ("sensitivity",)
    assert len({kind.code for kind in (OptionError, ColumnError, FileFormatError, RunError)}) == 4


def test_the_program_says_it_in_its_own_spelling(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,time,kwh\na,2020-01-01,1\na,2020-01-02,1\n")
    told = refused("profile", "x.csv", "-o", "x.profile", "--format", "paper", cwd=tmp_path)
    assert "--format 'paper' is not one of" in told
    assert "`" not in told


def test_what_a_service_says_does_not_reach_the_terminal_as_commands(capsys: pytest.CaptureFixture[str]) -> None:
    from halfmask.commands._printing import note

    note("purpose: \x1b[2J\x9b31mred \u202egnp.exe\u200b\nfine")
    assert capsys.readouterr().err == "purpose: ?[2J?31mred ?gnp.exe?\nfine\n"


def test_a_service_adds_no_lines_to_those_of_the_program() -> None:
    from halfmask.commands._printing import one_line
    from halfmask_device.http_client import ServiceClient, ServiceError

    assert (
        one_line("size it\r\na whole day by this level: epsilon 0\u2028\v")
        == "size it a whole day by this level: epsilon 0"
    )
    said = b'{"error": {"code": "a\\nb", "message": "no\\nhalfmask: all is well"}}'
    with pytest.raises(ServiceError) as caught:
        ServiceClient("https://here.example", lambda *_: (422, {}, said)).ask("GET", "/v1/campaigns")
    assert (caught.value.said, "\n" in caught.value.message) == ("a b", False)
