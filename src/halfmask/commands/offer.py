"""``halfmask offer``: make a menu whose promises can be signed."""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from halfmask.commands._options import (
    AnyProfile,
    AnySource,
    AnyStudy,
    Flag,
    Whole,
    WholeIfAny,
    command,
)
from halfmask.commands._printing import bar, note, print_json, print_rows
from halfmask.commands._shared_options import Advances, OfProtection, Tells, Writes, profile_of, reopen
from halfmask.errors import OptionError
from halfmask_device.decimals import parse_number

if TYPE_CHECKING:
    from halfmask.menus.offer import Offer


class OfferOptions(Writes, OfProtection, Tells, Advances):
    """Options of `offer`.

    Parameters
    ----------
    profile
        A file that 'halfmask profile' wrote.
    output
        The offer to write: a menu (JSON), which every command takes that takes a menu.
    protect
        What may change: whole-day (default; a day's total by anything within --low and --high), month (30 whole
        days), home (all whole days), day (each of a day's readings by --change) or reading (one reading by --change).
        If totals are of another period than a day, day and whole-day mean that period.
    epsilon
        The epsilon of each level, such as 8,4,2,1. By default the strongest level has just the error --within, and
        each level below it twice the epsilon.
    study
        A study of the same data and the same release: its scale gives the paper's scores. By default it is made here.
    panel
        The readings, to measure how many users are recognised from a masked day.
    levels
        How many levels, if --epsilon does not say it.
    within
        The error that a period's total may have (1%): each level states how many producers that takes.
    producers
        How many producers add up to a total; by default all.
    summary_epsilon
        Epsilon, for a whole producer, of the coarse summary of all readings that the offer contains for households.
    """

    profile: AnyProfile = field(kw_only=False)
    protect: Literal["reading", "day", "whole-day", "month", "home"] = "whole-day"
    epsilon: Annotated[str | float | Sequence[float] | None, Parameter(negative="")] = None
    study: AnyStudy | None = None
    panel: AnySource | None = None
    levels: Whole = 4
    within: str = "1%"
    producers: WholeIfAny = None
    summary_epsilon: float = 1.0

    def save(self, made: "Offer", path: Path) -> None:
        super().save(made.menu, path)


@command(OfferOptions, group="Choose")
def offer(options: OfferOptions) -> "Offer":
    """Return a menu that can be signed: every level has a promise.

    By default it is about a whole day. If only readings are protected, each level up adds an equal part of the error of
    the best guess of a reading.
    """
    from halfmask.commands.evaluate import evaluate
    from halfmask.mechanisms.grid import AUTO
    from halfmask.menus.menu_requirements import parse_share
    from halfmask.menus.offer import offer as make_offer
    from halfmask.menus.study_scores import study_release
    from halfmask.protection.evidence import evidence_from_panel
    from halfmask_device.setting import READING, TOTAL, suffix

    people = profile_of(options.profile)
    asked = options.question(people)
    masked = READING if asked.release == READING else TOTAL
    study = options.study
    if study is not None and (other := study_release(study)) != masked:
        options.say([f"the study is of settings that mask each {other}; each {masked} is evaluated afresh"])
        study = None
    made = make_offer(
        people,
        evaluate(people, grid=AUTO + suffix(masked), advance=options.advance) if study is None else study,
        levels=options.levels,
        question=asked,
        epsilons=_epsilons(options.epsilon),
        within=parse_share(str(options.within), f"within {options.within}"),
        producers=options.producers,
        evidence=None if options.panel is None else evidence_from_panel(reopen(options.panel, people), people),
        summary_epsilon=options.summary_epsilon,
    )
    return replace(made, menu=replace(made.menu, provenance={**made.menu.provenance, "asked": options.asked()}))


def _epsilons(given: "str | float | Sequence[float] | None") -> list[float]:
    """Return the epsilons of the levels, given as text, as a number or as a list."""
    if given is None or isinstance(given, int | float):
        found = [] if given is None else [float(given)]
    elif isinstance(given, str):
        found = [parse_number(each.strip(), given) for each in given.split(",")]
    else:
        found = [float(each) for each in given]
    if not all(0 < each < math.inf for each in found):
        raise OptionError(f"epsilons {given}: each must be above 0, as in 8,4,2,1", kind="range", field="epsilon")
    return found


def main(options: OfferOptions, *, json: Flag = False) -> None:
    """The menu one can sign: every level promises something about a whole day, or about what --protect names.

    Parameters
    ----------
    json
        Print the offer as JSON instead of a table.
    """
    from halfmask.menus.menu import menu_json
    from halfmask.menus.offer_table import offer_notes, offer_rows

    with bar("evaluating settings", 1) as advance:
        made = offer(replace(options, advance=advance, tell=note))
    if json:
        print_json(menu_json(made.menu))
    else:
        print_rows(offer_rows(made.menu), "Offer")
        for told in (*offer_notes(made.menu), made.sentence(), *made.menu.warnings()):
            note(told)
