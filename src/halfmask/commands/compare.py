"""``halfmask compare``: compare two menus or studies on one scale."""

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.commands._options import AnyPath, AnyProfile, AnySource, AnyWeights, Options, command
from halfmask.commands._printing import CommandAnswer, Table
from halfmask.commands._shared_options import IN_SHORT, Display, profile_beside, profile_of, reopen
from halfmask_device.decimals import number_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.menus.compare import Compared
    from halfmask.menus.compared_protection import ComparedProtection


SIDES = ("first", "second")


class Compare(Options):
    """Options of `compare`.

    Parameters
    ----------
    one
        A menu (.json) or a study (.parquet).
    other
        Another menu or study.
    panel
        The readings of the profile: menus that mask readings are then attacked by series, not only by totals.
    profile
        The readings' profile: both sides are evaluated on the same new subsets of it. Menus need it.
    bins
        Levels of privacy.
    weights
        Six numbers, as for 'halfmask optimize': how much each error counts; by default the menus' own, if these agree.
    """

    one: AnyPath = field(default=Path("offer.json"), kw_only=False)
    other: AnyPath = field(default=Path("menu.json"), kw_only=False)
    profile: AnyProfile | None = None
    panel: AnySource | None = None
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
    names = _names(sides)
    people = None if options.profile is None else profile_of(options.profile)
    weights = parse_weights(options.weights) if isinstance(options.weights, str) else options.weights
    return measure(*sides, profile=people, bins=options.bins, weights=weights, names=(names[0], names[1]))


def protection(options: Compare) -> "list[ComparedProtection]":
    """Return what the settings of both menus protect; empty without a profile, or if neither side is a menu."""
    from halfmask.menus.compared_protection import compared_protection
    from halfmask.menus.menu import Menu
    from halfmask.protection.evidence import evidence_from_panel

    sides: list[Any] = [options.one, options.other]
    opened = [
        Menu.read(each) if isinstance(each, str | Path) and str(each).endswith(".json") else each for each in sides
    ]
    menus = {name: each for name, each in zip(_names(sides), opened, strict=True) if isinstance(each, Menu)}
    if options.profile is None or not menus:
        return []
    people = profile_of(options.profile)
    seen = None if options.panel is None else evidence_from_panel(reopen(options.panel, people), people)
    return compared_protection(menus, people, seen)


def _names(sides: "Sequence[Any]") -> list[str]:
    """Return a name for each side: its file's, or its place if both have one name."""
    names = [Path(each).name if isinstance(each, str | Path) else side for each, side in zip(sides, SIDES, strict=True)]
    return [f"{side} {name}" for side, name in zip(SIDES, names, strict=True)] if names[0] == names[1] else names


def main(options: Compare, *, shown: Display = IN_SHORT) -> None:
    """Two menus or studies on common normalisers: which wins at which level of privacy."""
    from halfmask.menus.compared_protection import protection_rows
    from halfmask.menus.question import DELTA
    from halfmask.plain import to_plain

    found, protected = compare(options), protection(options)
    first, *words = found.notes()
    tables, more = [("On common normalisers", found.rows())] if found.rounds else [], list[Table]()
    if protected:
        (more if found.rounds else tables).append(
            ("What they protect, with 95 % intervals", protection_rows(protected))
        )
        what = f"{number_text(protected[0].promise.change)} in a period's total, at delta {number_text(DELTA)} or 0"
        words.append(f"epsilon: for any change of up to {what}; named: users, by a day or by half of their reports")
    shown.show(
        CommandAnswer(
            found.to_json() | {"protection": [to_plain(each) for each in protected]},
            tables,
            first,
            f"halfmask audit {options.one} --profile {options.profile or profile_beside(options.one)}",
            found.warnings if found.rounds else (),
            more,
            words,
        )
    )
