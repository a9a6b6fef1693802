"""``halfmask compare``: compare two menus or studies on one scale."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.commands._options import AnyPath, AnyProfile, AnyWeights, Flag, Options, command
from halfmask.commands._printing import note, print_json, print_rows
from halfmask.commands._shared_options import profile_of

if TYPE_CHECKING:
    from halfmask.menus.compare import Compared


SIDES = ("first", "second")


class Compare(Options):
    """Options of `compare`.

    Parameters
    ----------
    one
        A menu (.json) or a study (.parquet).
    other
        Another menu or study.
    profile
        The readings' profile: both sides are evaluated on the same new subsets of it. Menus need it.
    bins
        Levels of privacy.
    weights
        Six numbers, as for 'halfmask optimize': how much each error counts; by default the menus' own, if these agree.
    """

    one: AnyPath = field(kw_only=False)
    other: AnyPath = field(kw_only=False)
    profile: AnyProfile | None = None
    bins: int = 5
    weights: AnyWeights | None = None


@command(Compare, group="Choose")
def compare(options: Compare) -> "Compared":
    """Compare two menus or studies with common normalisers: which has the better setting at each level of privacy.

    Each of the result's ``rounds`` has a ``difference`` with its interval and a ``verdict``.
    """
    from halfmask.evaluation.scores import parse_weights
    from halfmask.menus.compare import compare as measure

    sides: list[Any] = [options.one, options.other]
    names = [Path(each).name if isinstance(each, str | Path) else side for each, side in zip(sides, SIDES, strict=True)]
    if names[0] == names[1]:
        names = [f"{side} {name}" for side, name in zip(SIDES, names, strict=True)]
    people = None if options.profile is None else profile_of(options.profile)
    weights = parse_weights(options.weights) if isinstance(options.weights, str) else options.weights
    return measure(*sides, profile=people, bins=options.bins, weights=weights, names=(names[0], names[1]))


def main(options: Compare, *, json: Flag = False) -> None:
    """Two menus or studies on common normalisers: which wins at which level of privacy.

    Parameters
    ----------
    json
        Print the result as JSON instead of a table.
    """
    found = compare(options)
    if json:
        print_json(found.to_json())
    else:
        print_rows(found.rows(), "On common normalisers")
    for said in found.notes():
        note(said)
