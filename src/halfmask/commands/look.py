"""``halfmask look``: show how a source is read, before a profile is made of it."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from halfmask.commands._options import command
from halfmask.commands._printing import print_rows
from halfmask.commands._shared_options import ReadingsOptions

if TYPE_CHECKING:
    from halfmask.commands.profile import ProfileOptions
    from halfmask.profiles.first_look import FirstLook


class Look(ReadingsOptions):
    """Options of `look`.

    Parameters
    ----------
    rows
        How many of the first rows to show.
    """

    rows: int = 5


@command(Look, group="Measure")
def look(options: Look) -> "FirstLook":
    """Look at a source: first rows, every guess with its evidence, what is dropped and why, the command to run."""
    from halfmask.profiles.first_look import first_look

    return first_look(
        options.readings, options.read_options(), options.policies(), period=options.period, rows=options.rows
    )


def commands(options: Look, seen: "FirstLook") -> list[str]:
    """Return the command line that reads the source, or one for each answer to a doubt."""
    from halfmask.commands.profile import ProfileOptions

    shared = {field.name: getattr(options, field.name) for field in fields(ReadingsOptions)}
    name = PurePath(str(options.readings).rstrip("/").partition("?")[0]).name.partition(".")[0] or "readings"
    plain = ProfileOptions(**shared, output=f"{name}.profile")
    ways = seen.ways_out if seen.problem else ({},)
    return [_taken(plain, way).command_line() for way in ways]


def _taken(plain: "ProfileOptions", way: Mapping[str, Any]) -> "ProfileOptions":
    """Return the options with one answer to a doubt added; a query replaces the name of a table."""
    return replace(plain, **way) if "sql" not in way else replace(plain, table=None, **way)


def _in_table(note: str, seen: "FirstLook") -> bool:
    """Return whether the table of guesses says what a note says."""
    return note.startswith(("user = ", "unit = ")) or any(each.evidence in note for each in seen.guesses)


def main(options: Look) -> None:
    """Look at a source of readings: first rows, every guess with its evidence, what is dropped and why."""
    from halfmask.commands._program import phrase  # it reads the commands, of which this is one
    from halfmask.profiles.first_look import NOTES, WAYS

    seen = look(options)
    print_rows([seen.names, *seen.rows], "First rows")
    if seen.guesses:
        rows = [
            [guess.what, guess.choice, phrase(guess.evidence, "look"), phrase(guess.option, "look")]
            for guess in seen.guesses
        ]
        print_rows([["", "taken as", "because", "overruled by"], *rows], "\nUnderstood")
    notes = [note for note in seen.notes if not _in_table(note, seen)]
    for note in notes[:NOTES]:
        print(f"note: {phrase(note, 'look')}")
    if len(notes) > NOTES:
        print(f"and {len(notes) - NOTES} more notes: the profile has them all")
    if seen.accounts:
        rows = [[reason, f"{count:,}"] for reason, count in seen.accounts]
        print_rows([["rows", "number"], *rows, ["all rows of the source", f"{seen.total:,}"]], "\nRows")
        print_rows([["", ""], *[[name, text] for name, text in seen.quality]], "\nReadings")
    if seen.problem:
        print(f"\nIn doubt: {phrase(seen.problem, 'look')}")
    lines = commands(options, seen)[:WAYS]
    if lines:
        print("\nTo go on" + (", one of" if len(lines) > 1 else "") + ":")
    for line in lines:
        print(f"  {line}")
