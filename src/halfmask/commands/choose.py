"""``halfmask choose``: change the setting by what producers and the consumer ask for."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cyclopts import Parameter

from halfmask.commands._options import AnyMenu, AnyProfile, AnyTable, command
from halfmask.commands._printing import CommandAnswer
from halfmask.commands._shared_options import IN_SHORT, Display, Seeded, menu_of, profile_beside, profile_of
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.choice.requirements import Assignment, Choice
    from halfmask.menus.menu import MenuSetting


class Choose(Seeded):
    """Options of `choose`.

    Parameters
    ----------
    menu
        A file that 'halfmask offer' or 'halfmask optimize' wrote.
    current
        The setting in use: an id of the menu.
    delta
        How much more privacy producers ask for.
    c
        The change of utility that the consumer asks for; negative if some may be lost.
    deltas
        CSV of user,delta: the wish of each producer; needs --profile.
    profile
        The profile of the producers.
    seed
        For the utility of an assignment.
    """

    positional: ClassVar[tuple[str, ...]] = ("menu", "current")

    menu: AnyMenu = field(default=Path("offer.json"), kw_only=False)
    current: Annotated[str, Parameter(name="--from")]
    delta: float = 0.0
    c: float = 0.0
    deltas: AnyTable | None = None
    profile: AnyProfile | None = None


@command(Choose, group="Choose")
def choose(options: Choose) -> "Choice | Assignment":
    """Change a setting: producers ask for more privacy, the consumer for more utility.

    One change for all gives a `Choice`. With ``deltas``, in Python also a mapping, every producer gets a setting: an
    `Assignment`.
    """
    from halfmask.choice.requirements import assign, read_deltas
    from halfmask.choice.requirements import choose as find_setting

    menu = menu_of(options.menu)
    if options.deltas is None:
        return find_setting(menu, options.current, delta=options.delta, c=options.c)
    if options.profile is None:
        raise OptionError("deltas assign a setting to every producer: name their profile")
    deltas = options.deltas if isinstance(options.deltas, Mapping) else read_deltas(options.deltas)
    return assign(profile_of(options.profile), menu, options.current, deltas, c=options.c, seed=options.seed)


def main(options: Choose, *, shown: Display = IN_SHORT) -> None:
    """Change a setting: producers ask for more privacy, the consumer for more utility."""
    from halfmask.choice.requirements import Choice
    from halfmask.plain import to_plain

    found = choose(options)
    if isinstance(found, Choice):
        rows = choice_rows(found)
        asked = f"privacy above {found.privacy_above:.3g} and utility above {found.utility_above:.3g}"
        means = f"No setting has {asked}." if found.chosen is None else f"{found.chosen.id} has {asked}."
    else:
        rows = assignment_rows(found)
        means = (
            "Every wish is met." if found.feasible else "Not every wish is met: lower deltas, or ask for less utility."
        )
    shown.show(
        CommandAnswer(
            to_plain(found),
            [("", rows)],
            means,
            f"halfmask audit {options.menu} --profile {options.profile or profile_beside(options.menu)}",
            words=["privacy, utility: scores from 0 to 1 on this menu's scale; 1 is the best"],
        )
    )


def choice_rows(found: "Choice") -> list[list[str]]:
    """Return rows for the current and the chosen setting; if none fits, for the nearest ones on both sides."""
    named = [("now", found.current), ("chosen", found.chosen)]
    if found.chosen is None:
        named += [
            ("private enough, most useful", found.most_useful),
            ("useful enough, most private", found.most_private),
        ]
    return [["", "id", "setting", "privacy", "utility"]] + [[what, *_cells(each)] for what, each in named]


def _cells(each: "MenuSetting | None") -> list[str]:
    from halfmask.menus.menu_scale import OUTSIDE

    if each is None:  # not a dash and "none", which is the setting that masks nothing
        return ["", "no setting fits", "", ""]
    scores = [OUTSIDE if each.outside else f"{score.median:.3f}" for score in (each.privacy, each.utility)]
    return [each.id, str(each.setting), *scores]


def assignment_rows(found: "Assignment") -> list[list[str]]:
    """Return rows with the producers of each setting, then the system's utility and what was asked for."""
    ids = list(found.settings.values())
    counted = [[id, f"{ids.count(id):,}", f"{ids.count(id) / len(ids):.1%}"] for id in sorted(set(ids))]
    met = "met" if found.utility > found.utility_above else "not met"
    ending = [
        ["system's privacy", f"{found.privacy:.4f}", ""],
        ["system's utility", f"{found.utility:.4f}", f"above {found.utility_above:.4f} asked: {met}"],
        ["producers unmet", f"{len(found.unmet):,}", ", ".join(found.unmet[:3])],
    ]
    if found.utility <= found.utility_above:
        ease = "no common reduction does" if found.eased is None else f"every delta lower by {found.eased:.2f} does"
        ending.append(["closest", ease, ""])
    return [["setting", "producers", "share"], *counted, *ending]
