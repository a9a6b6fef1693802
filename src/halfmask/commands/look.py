"""What the reader understands of a source, before anything is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from halfmask.commands._options import command
from halfmask.commands._readings import ReadingsOptions

if TYPE_CHECKING:
    from halfmask.commands.profile import ProfileOptions
    from halfmask.profiles.first_look import FirstLook


@Parameter(name="*")
@dataclass(frozen=True)
class Look(ReadingsOptions):
    """Options of `look`.

    Parameters
    ----------
    rows
        How many of the first rows to show.
    """

    rows: int = 5


@command(Look)
def look(options: Look) -> "FirstLook":
    """Look at a source: first rows, every guess with its evidence, what is dropped and why, the command to run."""
    from halfmask.profiles.first_look import first_look

    return first_look(
        options.readings, options.read_options(), options.policies(), period=options.period, rows=options.rows
    )


def commands(options: Look, seen: "FirstLook") -> list[str]:
    """The command lines that read the source: one, or one for each way out of a doubt."""
    from halfmask.commands.profile import ProfileOptions

    shared = {field.name: getattr(options, field.name) for field in fields(ReadingsOptions)}
    name = PurePath(str(options.readings).rstrip("/").partition("?")[0]).name.partition(".")[0] or "readings"
    plain = ProfileOptions(**shared, output=f"{name}.profile")
    ways = seen.ways_out if seen.problem else ({},)
    return [_taken(plain, way).command_line() for way in ways]


def _taken(plain: "ProfileOptions", way: Mapping[str, Any]) -> "ProfileOptions":
    """The options with a way out; a query reads what a table of a database was named for."""
    return replace(plain, **way) if "sql" not in way else replace(plain, table=None, **way)
