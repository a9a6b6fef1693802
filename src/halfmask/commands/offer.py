"""``halfmask offer``: make a menu whose promises can be signed."""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from cyclopts import Parameter

from halfmask.commands._options import (
    AnyPath,
    AnyProfile,
    AnySource,
    AnyStudy,
    Whole,
    WholeIfAny,
    command,
)
from halfmask.commands._printing import CommandAnswer, bar, note
from halfmask.commands._shared_options import (
    IN_SHORT,
    Advances,
    Display,
    OfProtection,
    Tells,
    Writes,
    profile_of,
    reopen,
)
from halfmask.errors import OptionError
from halfmask_device.decimals import parse_number

if TYPE_CHECKING:
    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.menus.offer import Offer
    from halfmask.menus.publish import Calibration
    from halfmask.menus.question import Question
    from halfmask.profiles.profile import Profile

SYNTHETIC_SIZES = (50, 100)
"""Sizes of subsets of the synthetic profile, besides all: it is coarse, so more would not make scores surer."""


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
        A study of the same data and the same release: its scale gives the paper's scores of the analyst's own offer.
        By default it is made here.
    panel
        The readings, to measure how many users are recognised from a masked day, for the analyst's own offer.
    levels
        How many levels, if --epsilon does not say it.
    within
        The error that a period's total may have (1%): each level states how many producers that takes.
    producers
        How many producers add up to a total; by default all.
    split
        The epsilon of one more level, beside levels of totals: its totals are split between two services, neither of
        which can look into them. The total has two draws of its noise, however many producers take it.
    sign
        Who answers for the offer. It is then signed, and a statement of one page is written next to it, with its
        levels, promises, attacks and hash. PROFILE may be an offer that was made already.
    until
        With --sign: the last day on which the offer holds, like 2027-12-31.
    card
        With --sign: the audit's card of the offer (JSON), whose attacks the statement shows. They do not follow from
        the summary, so the card must be of public data.
    card_data
        With --card: which public data the card is of, in the signer's words, such as 'halfmask synth, 1,000 users'. The
        statement says so under the signer's name.
    private
        Epsilon, for everything about one producer, of all that the offer says about the readings (1). With 0, the
        offer is computed from the readings: it is the analyst's own, and says that it is not for publication.
    own
        A second file: the same levels with figures computed from the readings, for the analyst alone.
    """

    unrecorded: ClassVar[tuple[str, ...]] = ("own", "sign", "until", "card", "card_data")
    outputs: ClassVar[tuple[str, ...]] = ("output", "own")
    profile: AnyProfile = field(kw_only=False)
    protect: Literal["reading", "day", "whole-day", "month", "home"] = "whole-day"
    epsilon: Annotated[str | float | Sequence[float] | None, Parameter(negative="")] = None
    study: AnyStudy | None = None
    panel: AnySource | None = None
    levels: Whole = 4
    within: str = "1%"
    producers: WholeIfAny = None
    split: float | None = None
    sign: str | None = None
    until: str | None = None
    card: AnyPath | None = None
    card_data: str | None = None
    private: float = 1.0
    own: AnyPath | None = None

    @property
    def statement(self) -> Path | None:
        """The statement's file, if the offer is signed."""
        output = self.output if self.sign is not None else None
        return Path(output).with_name(f"{Path(output).stem}-statement.html") if isinstance(output, str | Path) else None

    def written(self) -> list[Path]:
        return [*super().written(), *filter(None, [self.statement])]

    def save(self, made: "Offer", path: Path) -> None:
        if path == self.statement:
            from halfmask.audits.card import ReportCard
            from halfmask.files import whole_file
            from halfmask.pages.statement import statement

            card = None if self.card is None else ReportCard.read(self.card)
            with whole_file(path) as temporary:
                temporary.write_text(statement(made.menu, card), encoding="utf-8")
            return
        own = self.own is not None and path == Path(self.own)
        super().save(made.own if own else made.menu, path)

    def check_together(self) -> None:
        if (self.sign is None) != (self.until is None) or (self.card is not None and self.sign is None):
            raise OptionError("who signs says until when: name `sign` and `until` together", kind="sign", field="sign")
        if (self.card is None) != (self.card_data is None):
            raise OptionError(
                "figures of attacks are about the data that the card was made on: name `card` and, in `card_data`, "
                "which public data that is; of private data, sign without `card`",
                kind="card_data",
                field="card_data",
            )
        if not 0 <= self.private < math.inf:
            raise OptionError(
                f"private is {self.private:g}: give the epsilon of what is published, such as 1, or 0",
                kind="range",
                field="private",
            )
        if self.split is not None and not 0 < self.split < math.inf:
            raise OptionError(f"split {self.split:g}: an epsilon is above 0, as in 1", kind="range", field="split")
        if not self.private and self.own is not None:
            raise OptionError("with `private=0` the offer itself is the analyst's own: leave out `own`", kind="own")


@command(OfferOptions, group="Choose")
def offer(options: OfferOptions) -> "Offer":
    """Return a menu that can be signed: every level has a promise.

    By default it is about a whole day. If only readings are protected, each level up adds an equal part of the error of
    the best guess of a reading.

    All of it follows from a summary under differential privacy; with ``private=0``, it is computed from the readings
    and is the analyst's own.
    """
    from halfmask.menus.menu import sign

    if options.sign is not None and options.until is not None:
        made = _made_already(options) or _offered(options)
        return replace(made, menu=sign(made.menu, options.sign, options.until, _declared(options)))
    return _offered(options)


def _declared(options: OfferOptions) -> dict[str, str] | None:
    """Return the card's SHA-256 and which data its signer declares it to be made on; None without a card."""
    if options.card is None:
        return None
    return {"card": sha256(Path(options.card).read_bytes()).hexdigest(), "data": options.card_data or ""}


def _made_already(options: OfferOptions) -> "Offer | None":
    """Return an offer that is named in place of a profile; None if a profile is named."""
    from halfmask.menus.menu import Menu
    from halfmask.menus.offer import Offer

    path = options.profile
    if not isinstance(path, str | Path) or Path(path).suffix != ".json":
        return None
    menu = Menu.read(path)
    return Offer(replace(menu, signed=None), menu, menu.provenance.get("offer", {}).get("guarantee_costs"))


def _offered(options: OfferOptions) -> "Offer":
    """Return the offer of a profile."""
    from halfmask.menus.publish import own

    if options.private and options.own is None and (options.study, options.panel) != (None, None):
        options.say(["study and panel are for the analyst's own offer, which `own` or `private=0` writes"])
    people = profile_of(options.profile)
    known = _calibrated(people, options)
    made = _made(people if known is None else known.profile, options, known)
    if known is None:
        return replace(made, menu=own(made.menu))
    if options.own is not None:
        levels = [each.setting for each in made.menu.settings[:-1]]
        return replace(made, own=own(_made(people, options, known, levels).menu))
    return made


def _calibrated(people: "Profile", options: OfferOptions) -> "Calibration | None":
    """Return what is released about the producers; None if the offer is to be computed from the readings."""
    from halfmask.menus.publish import calibrate

    if not options.private:
        return None
    return calibrate(people, options.private, options.low, options.high)


def _made(
    people: "Profile",
    options: OfferOptions,
    known: "Calibration | None",
    settings: "Sequence[PrivacySetting]" = (),
) -> "Offer":
    """Return the offer of a profile: the readings' own, or the synthetic one of the calibration.

    ``settings``  the levels of the published offer, for the analyst's own
    """
    from halfmask.commands.evaluate import evaluate
    from halfmask.mechanisms.grid import AUTO
    from halfmask.menus.menu_requirements import parse_share
    from halfmask.menus.offer import offer as make_offer
    from halfmask.menus.publish import published
    from halfmask.menus.study_scores import study_release
    from halfmask.protection.evidence import evidence_from_panel
    from halfmask_device.setting import READING, TOTAL, suffix

    synthetic = known is not None and people is known.profile
    asked, epsilons = _question(people, options, known), _epsilons(options.epsilon)
    if synthetic and known is not None and not epsilons:
        known.check_chosen(asked.release)
    masked = READING if asked.release == READING else TOTAL
    study = None if synthetic else options.study
    if study is not None and (other := study_release(study)) != masked:
        options.say([f"the study is of settings that mask each {other}; each {masked} is evaluated afresh"])
        study = None
    if study is None:
        fewer = ",".join([*(str(size) for size in SYNTHETIC_SIZES if size < people.users), "all"])
        sizes = fewer if synthetic else "default"
        study = evaluate(people, grid=AUTO + suffix(masked), sizes=sizes, advance=options.advance)
    made = make_offer(
        people,
        study,
        levels=options.levels,
        question=asked,
        epsilons=epsilons,
        settings=settings,
        within=parse_share(str(options.within), f"within {options.within}"),
        producers=options.producers or (known.producers if known is not None else None),
        split=options.split,
        evidence=None
        if options.panel is None or synthetic
        else evidence_from_panel(reopen(options.panel, people), people),
    )
    menu = published(made.menu, known) if synthetic and known is not None else made.menu
    files = ("study", "panel") if synthetic else ()  # what is published names no file of the analyst's
    asked_for = {name: value for name, value in options.asked().items() if name not in files}
    return replace(made, menu=replace(menu, provenance={**menu.provenance, "asked": asked_for}))


def _question(people: "Profile", options: OfferOptions, known: "Calibration | None") -> "Question":
    """Return what the levels promise. Of a published offer it follows from public inputs and the summary."""
    from halfmask.menus.question import DAY, HOME

    if known is None:
        return options.question(people)
    asked = replace(options, low=known.low, high=known.high).question(known.profile)
    if (asked.protect == DAY or asked.spread) and options.window is None and not known.summary.interval_known:
        raise OptionError(
            f"the noise of the summary hides how many readings a {asked.noun} has, and the promise is about all of "
            "them: name their number, `window`",
            kind="noisy",
            field="window",
        )
    return replace(asked, window=known.periods) if asked.protect == HOME else asked


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


def _card_of(output: "Path | str | None") -> Path:
    """Return the card's file beside the offer: what `halfmask report` reads if the offer is `offer.json`."""
    path = Path(output or "offer.json")
    return path.with_name(f"{path.stem}-card.json")


def main(options: OfferOptions, *, shown: Display = IN_SHORT) -> None:
    """The menu one can sign: every level promises something about a whole day, or about what --protect names."""
    from halfmask.menus.menu import menu_json
    from halfmask.menus.offer_table import calibration_notes, offer_notes, offer_rows, offer_warnings, promise_words

    with bar("evaluating settings", 1) as advance:
        made = offer(replace(options, advance=advance, tell=note))
    menu, asked = made.menu, made.menu.question
    by_promise = asked is not None and menu.provenance.get("by") == "promise"
    words = promise_words(menu, asked) if asked and by_promise else asked.words() if asked else ""
    about = f"Epsilon is {words}." if asked else ""
    then = f"halfmask audit {options.output} --profile {options.profile} -o {_card_of(options.output)}"
    if menu.signed:
        signed = menu.signed.words(date.today())
        about = f"{about} {signed[:1].upper()}{signed[1:]}."
        then = f"halfmask leaflet {options.output} -o leaflet.html"
    shown.show(
        CommandAnswer(
            menu_json(menu),
            [("", offer_rows(menu))],
            about.strip(),
            then,
            offer_warnings(menu),
            words=[*offer_notes(menu), *calibration_notes(menu), made.sentence()],
            most=18,
        )
    )
