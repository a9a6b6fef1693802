"""The card of an audit: each setting's score, its guarantees, and what attacks still learn."""

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.audits.card_sentences import Alternative
from halfmask.audits.noise_at_equal_utility import FAMILIES, LIMIT, NoiseAtEqualUtility
from halfmask.audits.sampler_audit import EmpiricalAudit
from halfmask.audits.score_limit import Closeness
from halfmask.errors import FileFormatError, HalfmaskError
from halfmask.evaluation.experiment import Experiment
from halfmask.files import read_page, write_page
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score, against
from halfmask.menus.question import UNITS, KeptPromise
from halfmask.plain import Count, Share, Size, from_plain, key_text, to_plain
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.guarantees.guarantee import EPSILONS, Guarantee
from halfmask.protection.guarantees.promises import TOLD, Promise
from halfmask.results import Result
from halfmask_device.decimals import upwards

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "halfmask card"
VERSION = 1
CURVE = tuple(place / 4 for place in range(41))
"""The epsilons, 0 to 10, for which the card contains delta."""

DRAWN = {"smoothing": ("rmse_prior", "rmse_smoothed"), "reidentification-half": ("chance",)}
"""Details of attacks that figures need: they must be numbers if the attack applies."""

CALIBRATION = (
    "The menu itself was chosen by looking at readings, without noise: its settings, normalisers and scores are not "
    "covered by any guarantee on this card. Calibrate on data that was given for it, on public or on synthetic data; "
    "or count the choice as one more release about everybody in the data."
)


@dataclass(frozen=True)
class SettingCard:
    """One setting: its score in the study, its guarantees, the results of attacks, and a summary in words.

    ``privacy``, ``utility``  scores; None if the setting is outside the study's range
    ``guarantee``             for a change as large as a reading's whole range
    ``typical``               guarantee for a change of a typical reading's size
    ``sampler``               test of the device's own noise; None if devices do not offer the setting
    ``limit``                 privacy compared with the best possible at this variance; None if the noise is not
                              additive
    ``instead``               Laplace noise of the same variance and its guarantee, for settings without a pure epsilon
    ``curve``                 delta for the typical change at `CURVE`, by number of reports (one, and those of a day)
    ``promises``              promises for the typical change, by window
    ``whole``                 promise of one reading for a change of its whole range
    ``told``                  an attacker's best odds if a value lasts k readings, by k
    ``per_unit``              epsilon per unit of a reading's change; None if there is none
    ``protected``             promises by unit of protection: reading, day, whole-day, month and home
    """

    id: str
    privacy: Score | None
    utility: Score | None
    guarantee: Guarantee
    typical: Guarantee
    sampler: EmpiricalAudit | None
    attacks: tuple[Finding, ...]
    limit: Closeness | None
    instead: Alternative | None
    curve: Mapping[int, tuple[Share, ...]]
    sentence: str
    warnings: tuple[str, ...]
    promises: Mapping[str, Promise]
    whole: Promise | None
    told: Mapping[int, Share]
    per_unit: Size | None
    protected: Mapping[str, KeptPromise]

    @property
    def setting(self) -> PrivacySetting:
        """The setting of this card."""
        return self.guarantee.setting

    @property
    def score(self) -> float:
        """The privacy score; 0 without one."""
        return self.privacy.median if self.privacy else 0.0

    def found(self, attack: str) -> Finding | None:
        """Return the result of the attack with that name; None if it was not run."""
        return next((each for each in self.attacks if each.name == attack), None)

    def lines(self) -> list[str]:
        """Return all promises in full, one sentence per window."""
        if self.typical.certain >= 1:
            return []
        told = [f"{name}: {each.words()}" for name, each in self.promises.items() if each.words() not in self.sentence]
        if self.whole:
            told.append(f"whole range: {self.whole.words()}")
        if self.per_unit:
            size = f"a change of 1 {self.guarantee.unit}".strip()
            told.append(f"per unit: epsilon {upwards(self.per_unit, 2)} for {size} in one reading, delta 0")
        return told

    def derived(self) -> dict[str, list[str] | str]:
        """Return the texts that its file contains besides its fields."""
        return {"lines": self.lines(), "against": against(self.setting)}


@dataclass(frozen=True)
class BestScore:
    """The noise with the best score at the variance of the setting ``like``, and the results of attacks on it."""

    like: str
    setting: PrivacySetting
    privacy: float
    attacks: tuple[Finding, ...]


@dataclass(frozen=True)
class ChangeAudited:
    """The changes of a reading that guarantees are for: its whole ``range``, the ``origin`` of this
    number, and a typical one.
    """

    range: Size
    origin: str
    typical: Size


@dataclass(frozen=True)
class StepAudited:
    """The step of the devices' lattice, and the ``origin`` of this number."""

    size: Size
    origin: str


@dataclass(frozen=True)
class CardAbout:
    """The data of a card, the changes, windows and delta of its promises, and what attacks were run on.

    ``windows``     numbers of readings of each promise, by name
    ``reports``     numbers of reports in a day, a month and a year
    ``evidence``    description of what attacks were run on
    ``resolution``  kind of that evidence
    ``units``       by unit of protection, what its promises are about, in words
    ``asked``       options of the command that made the card; None without a command
    """

    halfmask: str
    fingerprint: str
    users: int
    readings: int
    sensitivity: ChangeAudited
    step: StepAudited
    windows: Mapping[str, Count]
    delta: Share
    unit: str
    reports: Mapping[str, Count]
    evidence: str
    resolution: str
    seed: int
    units: Mapping[str, str]
    asked: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class ReportCard(Result):
    """The cards of a menu's settings, the best possible score under attack, and common noise compared
    with the best noise.
    """

    cards: tuple[SettingCard, ...]
    about: CardAbout
    best: BestScore | None
    noise: NoiseAtEqualUtility | None

    @property
    def day(self) -> int:
        """Number of readings in a day."""
        return self.about.reports["day"]

    def masking(self) -> list[SettingCard]:
        """Return the cards of settings that add noise, in the menu's order."""
        return [each for each in self.cards if not each.setting.silent]

    def __getitem__(self, id: str) -> SettingCard:
        return next(each for each in self.cards if each.id == id)

    def to_json(self) -> dict[str, Any]:
        """Return the content of `card.json`; the fields of a setting's guarantee are directly in the setting."""
        held = to_plain(self)
        settings = [{**each.pop("guarantee"), **each} for each in held.pop("cards")]
        return {"format": FORMAT, "version": VERSION, "settings": settings, "calibration": CALIBRATION, **held}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> "ReportCard":
        """Return the card that `to_json` wrote; raise a ValueError that names the field if it is damaged."""
        settings = from_plain(plain, _Settings).settings
        card = from_plain({**plain, "cards": list(map(_in_memory, settings))}, cls)
        for fault in _faults(card):
            raise ValueError(fault)
        return card

    @property
    def experiment(self) -> Experiment:
        """The experiment of the menu's study: settings, subsets of users and method."""
        return Experiment.of(vars(self.about))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReportCard) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ReportCard of {len(self.cards)} settings: {', '.join(each.id for each in self.cards)}>"

    def to_arrow(self) -> "pa.Table":
        """Return a table with one row per setting: score, epsilon and certain disclosure of one report,
        all attacks, and what it does in a sentence.
        """
        import pyarrow as pa

        rows = [
            {
                "id": each.id,
                "setting": str(each.setting),
                "privacy": each.privacy.median if each.privacy else None,
                "utility": each.utility.median if each.utility else None,
                "epsilon": each.typical.epsilon,
                "certain": each.typical.certain,
                **{found.name: found.value for found in each.attacks},
                "sentence": each.sentence,
            }
            for each in self.cards
        ]
        return pa.Table.from_pylist(rows)

    @classmethod
    def read(cls, path: str | Path) -> "ReportCard":
        """Return the card in a file; raise a FileFormatError if it is damaged, newer or of another format."""
        page = read_page(path, FORMAT, VERSION, "halfmask audit")
        try:
            return cls.from_json(page)
        except (HalfmaskError, ValueError) as error:
            why = str(error).replace("`cards", "`settings").replace("].guarantee.", "].")
            raise FileFormatError(
                f"{path} is damaged ({why}): recreate it with 'halfmask audit'", place=str(path), kind="damaged"
            ) from error

    def write(self, path: str | Path) -> None:
        """Write `card.json`."""
        write_page(self.to_json(), path)


@dataclass
class _Settings:
    settings: list[dict[str, Any]]


def _in_memory(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting's fields as in memory: with a separate guarantee, and infinite bounds, which JSON
    cannot hold.
    """
    made, sampler = {**plain, "guarantee": plain}, plain.get("sampler")
    if isinstance(sampler, dict):
        endless = {name: math.inf for name in ("bound", "claimed") if sampler.get(name, 0) is None}
        made["sampler"] = {**sampler, **endless}
    return made


def _faults(card: ReportCard) -> Iterator[str]:
    """Yield inconsistencies between parts whose types are all correct."""
    ids = [each.id for each in card.cards]
    if not ids or len(set(ids)) < len(ids):
        yield "'settings' is empty, or two have the same 'id'"
    yield from _missing("about.windows", card.about.windows, ("one reading", "a day", "everything"))
    yield from _missing("about.units", card.about.units, UNITS)
    yield from _missing("about.reports", card.about.reports, ("day", "month", "year"))
    for number, each in enumerate(card.cards):
        yield from _setting_faults(f"settings[{number}]", each, card.about)
    if card.best:
        yield from _attack_faults("best.attacks", card.best.attacks)
        if card.best.like not in ids:
            yield f"'best.like' is {card.best.like!r}, which is not the id of a setting"
    if card.noise:
        yield from _noise_faults(card.noise)


def _setting_faults(at: str, each: SettingCard, about: CardAbout) -> Iterator[str]:
    for place, found in ((at, each.guarantee), (f"{at}.typical", each.typical)):
        if found.setting != each.setting:
            yield f"'{place}.setting' differs from '{at}.setting'"
        yield from _differ(f"{place}.composed", found.composed, about.reports.values())
        for name, deltas in (("delta", found.delta), *(("composed", deltas) for deltas in found.composed.values())):
            yield from _differ(f"{place}.{name}", deltas, EPSILONS)
    curves = {f"{at}.curve": each.curve} | ({f"{at}.instead.curve": each.instead.curve} if each.instead else {})
    for place, curve in curves.items():
        yield from _differ(place, curve, (1, about.reports["day"]))
        if any(len(points) != len(CURVE) for points in curve.values()):
            yield f"'{place}' does not have {len(CURVE)} points"
    yield from _differ(f"{at}.promises", each.promises, about.windows)
    yield from _differ(f"{at}.told", each.told, TOLD)
    yield from _differ(f"{at}.protected", each.protected, about.units)
    yield from _attack_faults(f"{at}.attacks", each.attacks)


def _attack_faults(at: str, attacks: Collection[Finding]) -> Iterator[str]:
    for number, found in enumerate(attacks):
        for name in DRAWN.get(found.name, ()) if found.value is not None else ():
            if not isinstance(found.details.get(name), float | int):
                yield f"'{at}[{number}].details.{name}' is not a number"


def _noise_faults(noise: NoiseAtEqualUtility) -> Iterator[str]:
    yield from _differ("noise.shares", noise.shares, FAMILIES)
    yield from _differ("noise.errors", noise.errors, (*FAMILIES, LIMIT))
    yield from _differ("noise.laws", noise.laws, (*FAMILIES, LIMIT))
    rows = [noise.privacy, noise.utility, *noise.shares.values(), *noise.errors.values()]
    if any(len(row) != len(noise.deviation) for row in rows) or not len(noise.deviation):
        yield "'noise': 'deviation', 'privacy', 'utility', 'shares' and 'errors' differ in length"
    if any(len(row) != len(noise.at) for row in noise.laws.values()):
        yield "'noise': 'at' and 'laws' differ in length"


def _missing(at: str, found: Mapping[Any, Any], keys: Collection[Any]) -> Iterator[str]:
    for key in keys:
        if key not in found:
            yield f"'{at}' lacks '{key_text(key)}'"


def _differ(at: str, found: Mapping[Any, Any], keys: Collection[Any]) -> Iterator[str]:
    yield from _missing(at, found, keys)
    for key in found:
        if key not in keys:
            yield f"'{at}' has '{key_text(key)}', which the card is not about"
