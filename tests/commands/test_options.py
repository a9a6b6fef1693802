"""Options of commands: one object in Python, the same on the command line."""

import inspect
import shlex
from dataclasses import fields
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

import halfmask
from halfmask.commands import names
from halfmask.commands._app import app
from halfmask.commands._options import Options
from halfmask.commands.evaluate import Evaluate
from halfmask.commands.profile import ProfileOptions
from halfmask.evaluation.sampling import parse_sizes
from halfmask.mechanisms.setting import PrivacySetting
from tests.commands.program import halfmask as program
from tests.commands.program import refused
from tests.refusals import refused as refused_by


def options_of(name: str) -> type[Options]:
    """The options class of a command: the one that its module defines."""
    module = import_module(f"halfmask.commands.{name}")
    (found,) = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Options) and each.__module__ == module.__name__
    ]
    return found


@pytest.mark.parametrize("name", names())
def test_every_command_is_a_frozen_options_object_and_a_function(name: str) -> None:
    options = options_of(name)
    assert options.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert options.command() == name.replace("_", " ")
    made = getattr(halfmask, name)
    assert set(inspect.signature(made).parameters) == {field.name for field in fields(options)}
    assert made.__doc__.strip()
    assert reduce(lambda at, word: at[word], name.split("_"), app).help


def parsed(line: str) -> Options:
    """What the program makes of a command line."""
    _, bound, _ = app.parse_args(shlex.split(line)[1:], exit_on_error=False, print_error=False)
    found: Options = bound.arguments["options"]
    return found


@pytest.mark.parametrize(
    "options",
    [
        ProfileOptions("a b.csv", output=Path("x.profile"), low=-1.5, high=1e300, wide=True, tz="Europe/Dublin"),
        Evaluate(Path("x.profile"), output=Path("s.parquet"), settings=("laplace:0.5", "none"), seed=-3, repeats=10),
        Evaluate(Path("it's.profile"), output=Path("s.parquet"), grid="laplace:b=0.1|0.2;none", summary=True),
    ],
)
def test_the_command_line_of_options_gives_the_same_options(options: Options) -> None:
    assert parsed(options.command_line()) == options


@pytest.mark.parametrize(
    "words",
    [
        ("solve", "--epsilon", "1", "--change", "1", "--window", "48.5"),
        ("solve", "x.profile", "--within", "1%", "--producers", "99.5"),
        ("offer", "x.profile", "-o", "y.json", "--window", "48.5"),
        ("offer", "x.profile", "-o", "y.json", "--levels", "2.5"),
        ("optimize", "x.parquet", "-o", "y.json", "--window", "48.5"),
        ("audit", "--setting", "laplace:1", "--sensitivity", "1", "--window", "48.5"),
    ],
)
def test_numbers_of_readings_are_whole(words: tuple[str, ...]) -> None:
    assert f"{words[-2]}: '{words[-1]}' is not a whole number" in refused(*words)


def test_what_is_left_at_its_default_is_not_spelled_out() -> None:
    assert ProfileOptions("x.csv", output="x.profile").command_line() == "halfmask profile x.csv -o x.profile"


def test_sizes_may_be_a_list_in_python() -> None:
    line = Evaluate(Path("x.profile"), output=Path("s.parquet"), sizes=[50, 100, "all"]).command_line()
    assert line == "halfmask evaluate x.profile -o s.parquet --sizes 50,100,all"
    assert parse_sizes([100, 50, "all"], 300) == parse_sizes("50,100,all", 300) == [50, 100, 300]


def test_an_object_in_hand_has_no_name_on_the_command_line() -> None:
    line = Evaluate(object(), settings=(PrivacySetting("laplace", (0.5,)),)).command_line()  # type: ignore[arg-type]
    assert line == "halfmask evaluate PROFILE --setting laplace:0.5"


def test_python_takes_the_object_or_its_arguments(tmp_path: Path) -> None:
    from halfmask.commands.synth import Synth, synth

    one, two, three = (tmp_path / f"{name}.parquet" for name in ("one", "two", "three"))
    assert synth(Synth(output=one, users=3, days=2)) == one
    halfmask.synth(two, users=3, days=2)
    ended = program(*shlex.split(Synth(output=three, users=3, days=2).command_line())[1:])
    assert ended.returncode == 0, ended.stderr
    assert one.read_bytes() == two.read_bytes() == three.read_bytes()


def test_a_wrong_argument_is_refused_as_python_does() -> None:
    with pytest.raises(TypeError, match="usres"):
        halfmask.synth("x.parquet", usres=3)


def test_an_output_without_a_folder_is_refused_before_the_work(tmp_path: Path) -> None:
    with refused_by("option.no_folder"):
        halfmask.synth(tmp_path / "nowhere" / "x.parquet")


NEW = "halfmask evaluate x.profile -o s.parquet --method direct --panel p.csv --engine spark"


def test_a_method_is_analytic_or_direct_and_an_engine_is_duckdb_or_spark() -> None:
    now = Evaluate(Path("x.profile"), output=Path("s.parquet"), method="direct", engine="spark", panel="p.csv")
    assert now.command_line() == NEW
    assert parsed(NEW) == now
    shown = program("evaluate", "--help").stdout
    (engine,) = [line for line in shown.splitlines() if "--engine" in line and "│" in line]
    assert "analytic" not in engine
