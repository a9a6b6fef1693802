"""``halfmask optimize``: choose a menu from a study."""

from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from halfmask.commands._options import (
    AnyProfile,
    AnySource,
    AnyStudy,
    AnyWeights,
    Flag,
    Several,
    Whole,
    command,
)
from halfmask.commands._printing import CommandAnswer, Table, bar
from halfmask.commands._shared_options import (
    IN_SHORT,
    Advances,
    Display,
    OfPromise,
    Writes,
    profile_beside,
    profile_of,
    reopen,
)
from halfmask.errors import OptionError
from halfmask_device.decimals import number_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.menus.menu import Menu
    from halfmask.menus.optimize import Optimum
    from halfmask.profiles.profile import Profile
    from halfmask.protection.evidence import Evidence


class Optimize(Writes, OfPromise, Advances):
    """Options of `optimize`.

    Parameters
    ----------
    study
        A file that 'halfmask evaluate' wrote.
    output
        The menu to write (JSON).
    profile
        The study's profile, to say what each setting means for a typical reading; --refine needs it.
    bins
        Levels of privacy, equally wide.
    omega
        A setting is admissible if its 10th percentile of privacy is less than this below the median.
    weights
        Six numbers: mean, std and entropy of the local error for privacy, then of the global error for utility
        (0.2,0.4,0.4,0.6,0.2,0.2).
    max_mean
        Settings with a larger mean of the pooled global error are left out (0.1).
    max_std
        Settings with a larger standard deviation of the pooled global error are left out (0.1).
    refine
        Optimise the parameters of the winners between the points of the grid. Gains are measured on fresh subsets; a
        winner without a gain stays.
    floor
        With --refine: reconstruction=0.2 keeps the error of the best guess of a reading at 0.2 of the readings'
        standard deviation or more, with noise of any shape if that is better.
    colour
        How much of its privacy predictable noise loses, 0 to 1: errors that follow from earlier ones count for less.
        Needs --profile. It concerns rules and plug-ins, because independent noise is white.
    panel
        The readings. --colour masks their series to measure the colour (by default drawn readings); --by recognised and
        --require recognised=... measure on them which users are recognised from a masked day.
    by
        The axis of the levels: score (the paper's), hidden (error of the best guess of a reading from its report, over
        that without a report), epsilon (on a log scale), recognised (share of users named from a masked day).
    require
        What every setting must meet: guarantee, hidden=0.2, epsilon=4, recognised=0.1 or error=2%@500 (the error of the
        total of 500 producers); may be repeated. A table shows their cost in utility. --refine and --floor keep them.
    """

    unrecorded: ClassVar[tuple[str, ...]] = ("unit",)

    study: AnyStudy = field(kw_only=False)
    profile: AnyProfile | None = None
    bins: Whole = 5
    omega: float = 0.1
    weights: AnyWeights | None = None
    max_mean: float | None = None
    max_std: float | None = None
    refine: Flag = False
    floor: str | None = None
    colour: float | None = None
    panel: AnySource | None = None
    by: Literal["score", "hidden", "epsilon", "recognised"] = "score"
    require: Annotated[tuple[str, ...], Several] = ()

    def save(self, made: "Optimum", path: Path) -> None:
        super().save(made.menu, path)

    def check_together(self) -> None:
        if self.refine and self.profile is None:
            raise OptionError("`refine` evaluates further settings: name the study's `profile`")
        if self.floor and not self.refine:
            raise OptionError("`floor` looks for other settings than the grid's: add `refine`")
        if self.refine and self.by != "score":
            raise OptionError("`refine` continues within levels of the score: leave it out, or take `by=score`")
        if self.profile is None and (self.by != "score" or self.require):
            raise OptionError("other axes than the score, and requirements, look at readings: name `profile`")
        if self.colour is not None and (self.profile is None or self.refine):
            raise OptionError("`colour` masks readings to see the noise: name `profile`, and leave `refine` out")


@command(Optimize, group="Choose")
def optimize(options: Optimize) -> "Optimum":
    """Return the menu of a study: the best setting of each level of privacy."""
    from halfmask.evaluation.scores import parse_weights
    from halfmask.menus.device_refusal import anything, takes
    from halfmask.menus.menu_requirements import meeting, parse_demand
    from halfmask.menus.optimize import optimize as find_menu
    from halfmask.menus.optimize import optimum_notes, protected

    people = None if options.profile is None else profile_of(options.profile)
    question = None if people is None else options.question(people)
    evidence = _evidence(options, people)
    taken = anything if options.step is None else takes(options.step)
    demands = [parse_demand(each) for each in options.require]
    found = find_menu(
        options.study,
        bins=options.bins,
        omega=options.omega,
        weights=parse_weights(options.weights) if isinstance(options.weights, str) else options.weights,
        max_mean=options.max_mean,
        max_std=options.max_std,
        factor=None if options.colour is None or people is None else _colour(options.colour, people, options.panel),
        by=options.by,
        require=demands,
        profile=people,
        question=question,
        evidence=evidence,
        taken=taken,
    )
    if options.refine and people is not None and question is not None:
        scaled = found.menu.provenance.get("error") == "scaled"
        meets = meeting(demands, people, question, evidence, scaled=scaled)
        found = _refined(found, people, options, meets, taken)
        menu = protected(found.menu, people, question, evidence)
        found = replace(found, menu=menu, notes=optimum_notes(found.scored, menu, found.axis, people))
    return replace(found, menu=replace(found.menu, provenance={**found.menu.provenance, "asked": options.asked()}))


def _evidence(options: Optimize, people: "Profile | None") -> "Evidence | None":
    """Return series of readings on which recognition is measured; None without profile or panel, or with ``colour``."""
    from halfmask.protection.evidence import evidence_from_panel

    if people is None or options.panel is None or options.colour is not None:
        return None
    return evidence_from_panel(reopen(options.panel, people), people)


def _colour(weight: float, people: "Profile", panel: object) -> "Callable[[PrivacySetting], float]":
    """Return the function that gives a setting's factor on privacy: 1 for white noise, less for predictable noise.

    It is measured on the panel's series or, without a panel, on the profile's sizes.
    """
    from halfmask.protection.attacks.colour import discount
    from halfmask.protection.evidence import evidence_from_panel, evidence_from_profile

    seen = evidence_from_profile(people) if panel is None else evidence_from_panel(reopen(panel, people), people)
    return discount(weight, seen, seed=7)


def _refined(
    found: "Optimum",
    people: "Profile",
    options: Optimize,
    meets: "Callable[[PrivacySetting], bool]",
    taken: "Callable[[PrivacySetting], bool]",
) -> "Optimum":
    """Return the menu refined between the grid's points, above a floor if one is asked for; requirements stay met."""
    from halfmask.menus.refine import refine

    if options.floor is None:
        refined = refine(found.menu, people, taken=taken, advance=options.advance)
        for old, gain in zip(found.menu.settings, refined.gains, strict=False):
            if not meets(gain.after):
                refined = refined.without(old)
        return replace(found, menu=refined.menu, refined=refined)
    from halfmask.audits.quietest_law import reconstruction_floor
    from halfmask.menus.attack_floor import parse_floor, refine_above

    least = reconstruction_floor(people, found.menu, parse_floor(options.floor, "reconstruction"))
    least = replace(least, meets=lambda each: taken(each) and meets(each))
    raised = refine_above(found.menu, people, least, advance=options.advance)
    return replace(found, menu=raised.menu, refined=raised)


def main(options: Optimize, *, shown: Display = IN_SHORT) -> None:
    """A study to a menu: the best setting of each level of privacy."""
    from halfmask.menus.menu import menu_json

    options.check()  # while the profile is still a file
    people = None if options.profile is None else profile_of(options.profile)
    with bar("choosing settings", options.bins) as advance:
        found = optimize(replace(options, profile=people, advance=advance))
    menu, profile = found.menu, options.profile
    front = f"{len(found.front)} settings on the Pareto front, of {int(found.admissible.sum()):,} admissible"
    shown.show(
        CommandAnswer(
            menu_json(menu),
            [("", _rows(menu))],
            "Each row is the setting with the best utility at its level of privacy; both are scores from 0 to 1.",
            f"halfmask audit {options.output} --profile {profile or profile_beside(options.output)} -o card.json",
            found.notes,
            _more(found, people, options),
            [*_definitions(menu), front],
        )
    )


def _rows(menu: "Menu") -> list[list[str]]:
    from halfmask.menus.menu import brief
    from halfmask.menus.menu_table import menu_rows

    names = ["setting", *(brief(each.setting) for each in menu.settings)]
    return [[row[0], name, *row[2:]] for row, name in zip(menu_rows(menu), names, strict=True)]


def _definitions(menu: "Menu") -> list[str]:
    """Return notes that explain the columns."""
    asked = menu.question
    if asked is None:
        return []
    return [
        f"hidden: error of the best guess of a {menu.release} from its report, over that without a report; "
        f"epsilon: {asked.of_one()}, at delta 0 (*: at delta {number_text(asked.delta)}); "
        f"of {asked.window:,}: {asked.words()}",
        f"{asked.drawn()}; `step` names another",
    ]


def _more(found: "Optimum", people: "Profile | None", options: Optimize) -> list[Table]:
    """Return further tables: what refining gained, what requirements cost, and settings in words."""
    tables = list[Table]()
    if found.refined is not None:
        floor = options.floor
        tables.append(("Refined" if floor is None else f"Refined, with {floor} or more", found.refined.rows()))
    if found.costs is not None:
        title = "What requirements cost: median utility of the best setting of each level"
        tables.append((title, found.costs.rows()))
    if people is not None:
        tables.append(_in_words(found.menu, people, options.unit or people.unit or ""))
    return tables


def _in_words(menu: "Menu", people: "Profile", unit: str) -> Table:
    """Return what each setting means for a typical reading and for a total."""
    from halfmask.menus.menu_table import menu_words

    words = menu_words(menu, people)
    crowds = [f"{users:,} user{'s' * (users != 1)}" for users in words[0].errors]
    errors = [["-" if error is None else f"{error:.2%}" for error in each.errors.values()] for each in words]
    lines = [[each.id, each.sentence(unit), *of_each] for each, of_each in zip(words, errors, strict=True)]
    period = menu.provenance.get("period", "period")
    of = f"{'an' if period == 'hour' else 'a'} {period}'s"
    return f"In words, and the error of {of} total", [["id", f"a typical {menu.release}", *crowds], *lines]
