"""The report card: what a setting scores, what it guarantees, and what attacks still learn, side by side."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask.audits.empirical import EmpiricalAudit
from halfmask.audits.families import NoiseAtEqualUtility
from halfmask.audits.limit import Closeness
from halfmask.audits.verdict import Alternative
from halfmask.evaluation.experiment import Experiment
from halfmask.files import write_page
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score
from halfmask.protection.attacks.finding import Finding, plain
from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.units import Promise
from halfmask.results import Result
from halfmask_device.decimals import upwards

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "halfmask card"
VERSION = 1
CURVE = tuple(place / 4 for place in range(41))
"""The epsilons, 0 to 10, at which the card has delta for drawing."""

CALIBRATION = (
    "The menu itself was chosen by looking at readings, without noise: its settings, normalisers and scores are not "
    "covered by any guarantee on this card. Calibrate on data that was given for it, on public or on synthetic data; "
    "or count the choice as one more release about everybody in the data."
)


@dataclass(frozen=True)
class SettingCard:
    """One setting: its score in the study, its guarantees, what attacks found, and what that amounts to.

    ``guarantee`` is for a change as large as a reading's whole range, ``typical`` for one of a typical reading's size.
    ``sampler`` is the empirical audit of the device's own noise; None where devices do not offer the setting.
    ``instead`` is Laplace noise of the same variance, for settings without a pure epsilon: what it would guarantee.
    ``curve`` is delta of the typical change at `CURVE`, for one report and for a day of them.
    ``promises`` are, by window, those against the typical change, and ``whole`` that of one reading against its range;
    ``told`` the best odds where a value lasts k readings; ``per_unit`` epsilon per unit of a reading's change.
    """

    id: str
    setting: PrivacySetting
    privacy: Score | None
    utility: Score | None
    guarantee: Guarantee
    typical: Guarantee
    sampler: EmpiricalAudit | None
    findings: tuple[Finding, ...]
    closeness: Closeness | None
    instead: Alternative | None
    curve: Mapping[int, tuple[float, ...]]
    sentence: str
    warnings: tuple[str, ...]
    promises: Mapping[str, Promise] = field(default_factory=dict)
    whole: Promise | None = None
    told: Mapping[int, float] = field(default_factory=dict)
    per_unit: float | None = None

    def found(self, attack: str) -> Finding | None:
        """What an attack of that name found; None where it was not run."""
        return next((each for each in self.findings if each.name == attack), None)

    def lines(self) -> list[str]:
        """What is promised, a sentence for each window, in full."""
        if self.typical.certain >= 1:
            return []
        told = [f"{name}: {each.words()}" for name, each in self.promises.items() if each.words() not in self.sentence]
        if self.whole:
            told.append(f"whole range: {self.whole.words()}")
        if self.per_unit:
            size = f"a change of 1 {self.guarantee.unit}".strip()
            told.append(f"per unit: epsilon {upwards(self.per_unit, 2)} for {size} in one reading, delta 0")
        return told

    def to_json(self) -> dict[str, Any]:
        """Plain values; the guarantee's keys stand at the top."""
        near = self.closeness
        return {
            "id": self.id,
            **self.guarantee.to_json(),
            "privacy": vars(self.privacy) if self.privacy else None,
            "utility": vars(self.utility) if self.utility else None,
            "typical": {
                **self.typical.to_json(),
                "curve": {str(count): list(points) for count, points in self.curve.items()},
            },
            "sampler": _sampler(self.sampler) if self.sampler else None,
            "attacks": [each.to_json() for each in self.findings],
            "instead": self.instead.to_json() if self.instead else None,
            "limit": {
                "privacy": near.privacy,
                "upper_bound": near.upper_bound,
                "share": near.share,
                "noise_std": near.noise_std,
                "median": near.median,
            }
            if near
            else None,
            "promises": {name: each.to_json() for name, each in self.promises.items()},
            "whole": self.whole.to_json() if self.whole else None,
            "told": {str(count): chance for count, chance in self.told.items()},
            "per_unit": self.per_unit,
            "sentence": self.sentence,
            "lines": self.lines(),
            "warnings": list(self.warnings),
        }


@dataclass(frozen=True)
class BestScore:
    """The noise with the highest score of all with the variance of the setting ``like``, and how attacks fare on it."""

    like: str
    setting: PrivacySetting
    privacy: float
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        attacks = [each.to_json() for each in self.findings]
        return {"like": self.like, "setting": str(self.setting), "privacy": self.privacy, "attacks": attacks}


@dataclass(frozen=True)
class ChangeAudited:
    """The changes of a reading that guarantees are against: its whole ``range`` and who says so, and a typical one."""

    range: float
    origin: str
    typical: float


@dataclass(frozen=True)
class StepAudited:
    """The lattice's step that devices draw on, and who says so."""

    size: float
    origin: str


@dataclass(frozen=True)
class CardAbout:
    """What a card is about: the data, the changes, windows and delta of its promises, and what attacks were given.

    ``windows``, ``reports``  numbers of readings by name: of each promise, and of a day, a month and a year
    ``evidence``              what attacks were run on, in words; ``resolution`` is its kind
    ``asked``                 the options of the command that made it, where one did
    """

    halfmask: str
    fingerprint: str
    users: int
    readings: int
    sensitivity: ChangeAudited
    step: StepAudited
    windows: Mapping[str, int]
    delta: float
    unit: str
    reports: Mapping[str, int]
    evidence: str
    resolution: str
    seed: int
    asked: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain values, and where the curves have their points."""
        held = {name: value for name, value in asdict(self).items() if name != "asked" or value is not None}
        return {**held, "curve": list(CURVE)}


@dataclass(frozen=True, eq=False)
class ReportCard(Result):
    """The cards of a menu's settings, the best score under attack, and well-known noise beside the limit."""

    cards: tuple[SettingCard, ...]
    about: CardAbout
    best: BestScore | None = None
    noise: NoiseAtEqualUtility | None = None

    @property
    def day(self) -> int:
        """Readings of a day."""
        return self.about.reports["day"]

    def masking(self) -> list[SettingCard]:
        """The settings that add noise and have a score, as the menu orders them."""
        return [each for each in self.cards if each.privacy and not each.setting.silent]

    def __getitem__(self, id: str) -> SettingCard:
        return next(each for each in self.cards if each.id == id)

    def to_json(self) -> dict[str, Any]:
        """As `card.json` holds it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "settings": [each.to_json() for each in self.cards],
            "best": self.best.to_json() if self.best else None,
            "noise": self.noise.to_json() if self.noise else None,
            "calibration": CALIBRATION,
            "about": self.about.to_json(),
        }

    @property
    def experiment(self) -> Experiment:
        """What was tried, and on whom."""
        return Experiment.of(self.about.to_json())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReportCard) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ReportCard of {len(self.cards)} settings: {', '.join(each.id for each in self.cards)}>"

    def to_arrow(self) -> "pa.Table":
        """One row per setting: score, epsilon and certain disclosure of one report, and the value of every attack."""
        import pyarrow as pa

        rows = [
            {
                "id": each.id,
                "setting": str(each.setting),
                "privacy": each.privacy.median if each.privacy else None,
                "utility": each.utility.median if each.utility else None,
                "epsilon": each.typical.epsilon,
                "certain": each.typical.certain,
                **{finding.name: finding.value for finding in each.findings},
            }
            for each in self.cards
        ]
        return pa.Table.from_pylist(rows)

    @classmethod
    def read(cls, path: str | Path) -> "ReportCard":
        """The card in a file; a missing, foreign, damaged or newer one is a FileFormatError that says which."""
        from halfmask.audits.stored import read_card

        return read_card(path)

    def write(self, path: str | Path) -> None:
        """Write `card.json`."""
        write_page(self.to_json(), path)


def _sampler(found: EmpiricalAudit) -> dict[str, Any]:
    misfit = None if found.misfit is None else {**vars(found.misfit), "words": found.misfit.words()}
    return {**plain({**vars(found), "misfit": None, "caught": found.caught}), "misfit": plain(misfit)}
