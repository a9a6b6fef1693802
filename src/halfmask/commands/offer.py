"""``halfmask offer``: make a menu whose promises can be signed."""

from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from halfmask.commands._options import (
    AnyProfile,
    AnySource,
    AnyStudy,
    Flag,
    Whole,
    command,
)
from halfmask.commands._printing import bar, note, print_json, print_rows
from halfmask.commands._shared_options import Advances, OfPromise, Writes, profile_of, reopen

if TYPE_CHECKING:
    from halfmask.menus.offer import Offer


class OfferOptions(Writes, OfPromise, Advances):
    """Options of `offer`.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    output
        The offer to write: a menu (JSON), which every command takes that takes a menu.
    study
        A study of the same data: its scale gives the paper's scores. By default it is made here.
    panel
        The readings, to measure how many users are recognised from a masked day.
    levels
        How many levels; each level up adds an equal part of the guess error.
    within
        The error that a period's total may have (1%): each level states how many producers that takes.
    summary_epsilon
        Epsilon, for a whole producer, of the coarse summary of all readings that the offer contains for households.
    """

    profile: AnyProfile = field(kw_only=False)
    study: AnyStudy | None = None
    panel: AnySource | None = None
    levels: Whole = 4
    within: str = "1%"
    summary_epsilon: float = 1.0

    def save(self, made: "Offer", path: Path) -> None:
        super().save(made.menu, path)


@command(OfferOptions, group="Choose")
def offer(options: OfferOptions) -> "Offer":
    """Return a menu that can be signed: every level has a guarantee.

    Each level up adds a stated part of the guess error.
    """
    from halfmask.commands.evaluate import evaluate
    from halfmask.menus.menu_requirements import parse_share
    from halfmask.menus.offer import offer as make_offer
    from halfmask.protection.evidence import evidence_from_panel

    people = profile_of(options.profile)
    made = make_offer(
        people,
        evaluate(people, advance=options.advance) if options.study is None else options.study,
        levels=options.levels,
        question=options.question(people),
        within=parse_share(str(options.within), f"within {options.within}"),
        evidence=None if options.panel is None else evidence_from_panel(reopen(options.panel, people), people),
        summary_epsilon=options.summary_epsilon,
    )
    return replace(made, menu=replace(made.menu, provenance={**made.menu.provenance, "asked": options.asked()}))


def main(options: OfferOptions, *, json: Flag = False) -> None:
    """The menu one can sign: every level has a guarantee, and each level up adds a stated part of the guess error.

    Parameters
    ----------
    json
        Print the offer as JSON instead of a table.
    """
    from halfmask.menus.menu import menu_json
    from halfmask.menus.offer import offer_notes, offer_rows

    with bar("evaluating settings", 1) as advance:
        made = offer(replace(options, advance=advance))
    if json:
        print_json(menu_json(made.menu))
    else:
        print_rows(offer_rows(made.menu), "Offer")
        for told in (*offer_notes(made.menu), made.sentence(), *made.menu.warnings()):
            note(told)
