"""``halfmask offer``: the menu one can sign."""

from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

from cyclopts import Parameter

from halfmask.commands._options import (
    AnyProfile,
    AnySource,
    AnyStudy,
    Flag,
    Options,
    Output,
    Progress,
    Whole,
    WholeIfAny,
    command,
    held,
)
from halfmask.commands._output import bar, note, print_json, print_rows
from halfmask.commands._panel import reopen
from halfmask.commands._question import asked

if TYPE_CHECKING:
    from halfmask.menus.offer import Offer
    from halfmask.profiles.profile import Profile

GROUP = "Choose"


@Parameter(name="*")
@dataclass(frozen=True)
class OfferOptions(Options):
    """Options of `offer`.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    output
        The offer to write: a menu (JSON), taken wherever a menu is.
    study
        The study of the same data, whose scale gives the paper's scores; made here where there is none.
    panel
        The readings: to see who is recognised from a masked day.
    levels
        How many levels; each step up buys an equal part of the guess error.
    change
        What the epsilons are about: a change of a reading by up to this, in its unit; a typical reading's size by
        default.
    window
        In how many readings in a row; those of a day by default.
    delta
        At which delta.
    step
        The step of the lattice that devices draw their noise on (0.001): epsilons are of that noise.
    within
        The error that a period's total may have (1%): a level says how many producers that takes.
    summary_epsilon
        Epsilon, for a whole producer, of the coarse summary of all readings that the offer tells households.
    unit
        Unit of a reading, for the words; the profile's by default.
    advance
        Hears of settings that are evaluated, and of all.
    """

    profile: AnyProfile
    _: KW_ONLY
    output: Output = None
    study: AnyStudy | None = None
    panel: AnySource | None = None
    levels: Whole = 4
    change: float | None = None
    window: WholeIfAny = None
    delta: float = 1e-6
    step: float | None = None
    within: str = "1%"
    summary_epsilon: float = 1.0
    unit: str | None = None
    advance: Progress = None


@command(OfferOptions)
def offer(options: OfferOptions) -> "Offer":
    """The menu one can sign: every level has a guarantee, and each step up buys a stated part of the guess error."""
    from halfmask.menus.menu_requirements import parse_share
    from halfmask.menus.offer import offer as make_offer
    from halfmask.profiles.profile import Profile
    from halfmask.protection.evidence import evidence_from_panel

    people = held(Profile, options.profile)
    made = make_offer(
        people,
        _study(options, people),
        levels=options.levels,
        question=asked(people, options.change, options.window, options.delta, options.unit, options.step),
        within=parse_share(str(options.within), f"within {options.within}"),
        evidence=None if options.panel is None else evidence_from_panel(reopen(options.panel, people), people),
        summary_epsilon=options.summary_epsilon,
    )
    menu = replace(made.menu, provenance={**made.menu.provenance, "asked": options.asked()})
    made = replace(made, menu=menu)
    if options.output is not None:
        made.menu.write(options.output)
    return made


def _study(options: OfferOptions, people: "Profile") -> Any:
    """The study named, or one of the default grid."""
    from halfmask.commands.evaluate import evaluate

    if options.study is not None:
        return options.study
    return evaluate(people, advance=options.advance)


def main(options: OfferOptions, *, json: Flag = False) -> None:
    """The menu one can sign: every level has a guarantee, and each step up buys a stated part of the guess error.

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
    note(f"wrote {options.output}")
