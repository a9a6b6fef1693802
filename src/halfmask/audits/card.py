"""The report card: what a setting scores, what it guarantees, and what attacks still learn, side by side."""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask import __version__
from halfmask.audits.device import audit_device, refused
from halfmask.audits.empirical import EmpiricalAudit
from halfmask.audits.families import NoiseAtEqualUtility, noise_at_equal_utility
from halfmask.audits.limit import AllReadings, Closeness, closeness, few_pieces
from halfmask.audits.stored import DAMAGE, about_of, finding_of, setting_fields
from halfmask.audits.verdict import Alternative, sentence, warnings
from halfmask.data.panel import Panel
from halfmask.errors import FileFormatError, HalfmaskError, OptionError
from halfmask.evaluation.experiment import Experiment
from halfmask.files import read_page, write_page
from halfmask.mechanisms.grid import REFERENCE
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score
from halfmask.menus.promise import typical_reading
from halfmask.profiles.periods import DAY
from halfmask.profiles.profile import Profile
from halfmask.protection.attacks import ATTACKS, Finding, attack
from halfmask.protection.attacks.finding import plain
from halfmask.protection.evidence import Evidence, evidence_from_panel, evidence_from_profile
from halfmask.protection.guarantees.guarantee import REPORTS, Guarantee, default_sensitivity, drawn_guarantee
from halfmask.protection.guarantees.units import (
    SMALL_DELTA,
    Promise,
    all_promises,
    odds_by_readings,
    per_unit,
    promise,
)
from halfmask.results import Result
from halfmask_device.decimals import upwards
from halfmask_device.terms import STEP

if TYPE_CHECKING:
    import pyarrow as pa

GIVEN = "as given"
FORMAT = "halfmask card"
VERSION = 1
HARDLY = 100
"""Noise below a hundredth of a typical reading is not worth an alternative."""
CURVE = tuple(float(epsilon) for epsilon in np.linspace(0, 10, 41))
"""Where the card has delta for drawing."""

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


@dataclass(frozen=True, eq=False)
class ReportCard(Result):
    """The cards of a menu's settings, the best score under attack, and well-known noise beside the limit."""

    cards: tuple[SettingCard, ...]
    best: BestScore | None = None
    noise: NoiseAtEqualUtility | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As `card.json` holds it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "settings": [each.to_json() for each in self.cards],
            "best": self.best.to_json() if self.best else None,
            "noise": self.noise.to_json() if self.noise else None,
            "calibration": CALIBRATION,
            "about": {**self.about, "curve": list(CURVE)},
        }

    @property
    def experiment(self) -> Experiment:
        """What was tried, and on whom."""
        return Experiment.of(self.about)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReportCard) and self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<ReportCard of {len(self.cards)} settings: {', '.join(each.id for each in self.cards)}>"

    def summary(self) -> list[list[str]]:
        """Each setting with its score and what it does for a person, headings first."""
        rows = [["id", "setting", "privacy", "in a sentence"]]
        for each in self.cards:
            score = "-" if each.privacy is None else f"{each.privacy.median:.2f}"
            rows.append([each.id, str(each.setting), score, each.sentence])
        return rows

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
        page = read_card(path)
        try:
            return _card(page)
        except (HalfmaskError, *DAMAGE) as error:
            why = f"there is no {error}" if isinstance(error, KeyError) else str(error)
            raise FileFormatError(
                f"{path} is no whole card ({why}): recreate it with 'halfmask audit'", place=str(path)
            ) from error

    def write(self, path: str | Path) -> None:
        """Write `card.json`."""
        write_card(self, path)


def audit_menu(
    menu: Menu,
    profile: Profile,
    panel: Panel | None = None,
    *,
    sensitivity: float | None = None,
    step: float | None = None,
    window: int | None = None,
    seed: int = 7,
    other_data: bool = False,
    advance: Callable[[int, int], None] | None = None,
) -> ReportCard:
    """A card for each setting of a menu; with a panel, attacks see readings, without one only totals by period.

    ``sensitivity`` is the largest change of a reading, its published range by default. ``step`` is that of the lattice
    that devices draw on: by default the one that the menu was made for, else theirs (`STEP`). Promises are for one
    reading, ``window`` in a row, a day, and everything. ``advance(done, all)`` hears of attacks. Everything but the
    audit of the device's sampler, which cannot be seeded, is the same for the same seed.
    """
    menu.check_data(profile, other_data=other_data)
    range_, origin = default_sensitivity(profile) if sensitivity is None else (sensitivity, GIVEN)
    evidence = evidence_from_profile(profile) if panel is None else evidence_from_panel(panel, profile)
    near = {each.id: each for each in closeness(menu, profile, other_data=other_data)}
    if window is not None and window < 1:
        raise OptionError(f"a window of {window} readings holds none: give a whole number from 1 on")
    reports = reports_of(profile)
    windows = {"one reading": 1, **({"window": window} if window else {}), "a day": reports["day"]}
    windows["everything"] = everything(profile, reports["day"])
    drawn, drawn_by = _step(step, menu)
    scale = AllReadings(profile, menu)
    unit = profile.unit or (menu.question.unit if menu.question else "")
    bench = AuditBench(evidence, scale, range_, _typical(profile), reports, windows, drawn, unit, seed)
    done = count(1)

    def heard(_: int, __: int) -> None:
        if advance:
            advance(next(done), len(menu.settings) * len(ATTACKS))

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # every attack has a stream of its own, so order changes nothing
        known = pool.submit(noise_at_equal_utility, menu, profile)
        best = pool.submit(bench.best_score, menu.settings, near)
        cards = tuple(pool.map(lambda entry: bench.card(entry, near[entry.id], heard), menu.settings))
    about = {
        "halfmask": __version__,
        "fingerprint": profile.fingerprint(),
        "users": profile.users,
        "readings": profile.readings,
        "sensitivity": {"range": range_, "origin": origin, "typical": bench.typical},
        "step": {"size": drawn, "origin": drawn_by},
        "windows": windows,
        "delta": SMALL_DELTA,
        "unit": unit,
        "reports": bench.reports,
        "evidence": evidence.what,
        "resolution": evidence.resolution,
        "seed": seed,
    }
    return ReportCard(cards, best.result(), known.result(), about)


@dataclass(frozen=True)
class AuditBench:
    """What every setting of a menu is audited with."""

    evidence: Evidence
    scale: AllReadings
    range: float
    typical: float
    reports: dict[str, int]
    windows: dict[str, int]
    step: float
    unit: str
    seed: int

    def guarantee(self, setting: PrivacySetting, change: float, counts: Sequence[int] = ()) -> Guarantee:
        """Of the noise that a device draws on the lattice, or on the setting's own."""
        return drawn_guarantee(setting, change, counts, self.step, self.unit)

    def card(self, entry: MenuSetting, near: Closeness, advance: Callable[[int, int], None]) -> SettingCard:
        """Guarantees, sampler and attacks of one setting."""
        counts = tuple(self.reports.values())
        whole, typical = (self.guarantee(entry.setting, change, counts) for change in (self.range, self.typical))
        instead = None if typical.epsilon is not None else self.instead(near)
        findings = tuple(attack(entry.setting, self.evidence, self.seed, advance))
        return SettingCard(
            id=entry.id,
            setting=entry.setting,
            privacy=entry.privacy,
            utility=entry.utility,
            guarantee=whole,
            typical=typical,
            sampler=audit_device(entry.setting, self.step),
            findings=findings,
            closeness=near if near.share is not None else None,
            instead=instead,
            curve=self.curve(typical),
            sentence=sentence(typical, findings, self.reports),
            warnings=warnings(entry.privacy, typical, findings, self.reports, instead)
            + refused(entry.setting, self.step),
            promises=all_promises(typical, self.windows),
            whole=promise(whole),
            told=odds_by_readings(typical),
            per_unit=per_unit(entry.setting, typical.step),
        )

    def instead(self, near: Closeness) -> Alternative | None:
        """The reference noise, which has an epsilon, of the same variance; None where there is next to no noise."""
        if near.privacy is None or not near.noise_std or near.noise_std < self.typical / HARDLY:
            return None
        known = PrivacySetting.of_deviation(REFERENCE, near.noise_std)
        other = PrivacySetting(REFERENCE, tuple(float(f"{each:.4g}") for each in known.parameters))
        found = self.guarantee(other, self.typical)
        if found.epsilon is None:
            return None
        day = found.epsilon_at(SMALL_DELTA, self.reports["day"])
        return Alternative(
            other, self.typical, found.epsilon, day, self.scale.privacy(other), near.privacy, self.curve(found)
        )

    def best_score(self, entries: Sequence[MenuSetting], near: Mapping[str, Closeness]) -> BestScore | None:
        """The limit's own noise at the variance of the noisiest setting; None where none adds noise."""
        noisy = [(near[each.id].noise_std or 0.0, each) for each in entries if near[each.id].share is not None]
        if not noisy:
            return None
        deviation, like = max(noisy, key=lambda each: each[0])
        best = few_pieces(self.scale, self.scale.limit(deviation**2))
        return BestScore(like.id, best, self.scale.privacy(best), tuple(attack(best, self.evidence, self.seed)))

    def curve(self, found: Guarantee) -> dict[int, tuple[float, ...]]:
        """delta at `CURVE` for one report and for a day of them."""
        return {number: delta_curve(found, number) for number in (1, self.reports["day"])}


def delta_curve(found: Guarantee, reports: int) -> tuple[float, ...]:
    """Upper bounds on delta at `CURVE` for so many reports; 1 where the setting guarantees nothing."""
    if found.losses is None:
        return (1.0,) * len(CURVE)
    together = found.losses.composed(reports)
    return tuple(together.delta(epsilon) for epsilon in CURVE)


def _step(given: float | None, menu: Menu) -> tuple[float, str]:
    """The lattice's step, and who says so."""
    if given is not None:
        return given, GIVEN
    if menu.question is not None and menu.question.step is not None:
        return menu.question.step, "the menu's"
    return float(STEP), "the device's default"


def _typical(profile: Profile) -> float:
    """A typical reading to three digits, so that what is printed is what was computed with."""
    return float(f"{typical_reading(profile):.3g}")


def everything(profile: Profile, day: int) -> int:
    """All reports of one device over the time that the profile covers: the longest window there is."""
    held = profile.rows["readings"] > 0
    longest = int((profile.rows["last"][held] - profile.rows["first"][held]).max(initial=0))
    return longest // (DAY // day) + 1


def reports_of(profile: Profile) -> dict[str, int]:
    """How many reports a device gives in a day, a month and a year, by the sampling step; half-hours without one."""
    day = DAY // profile.step if profile.step and profile.step <= DAY else REPORTS[0]
    return {"day": day, "month": 30 * day, "year": 365 * day}


def _sampler(found: EmpiricalAudit) -> dict[str, Any]:
    misfit = None if found.misfit is None else {**vars(found.misfit), "words": found.misfit.words()}
    return {**plain({**vars(found), "misfit": None, "caught": found.caught}), "misfit": plain(misfit)}


def _card(page: Mapping[str, Any]) -> ReportCard:
    """The card of a page."""
    cards = tuple(SettingCard(**setting_fields(each)) for each in page["settings"])
    if not cards:
        raise ValueError("no setting in it")
    best, noise = page["best"], page["noise"]
    if best is not None:
        if best["like"] not in [each.id for each in cards]:
            raise ValueError(f"the best score is like {best['like']!r}, which is not on it")
        setting = PrivacySetting.parse(best["setting"])
        best = BestScore(best["like"], setting, float(best["privacy"]), tuple(map(finding_of, best["attacks"])))
    noise = None if noise is None else NoiseAtEqualUtility.from_json(noise)
    return ReportCard(cards, best, noise, about_of(page))


def write_card(card: ReportCard, path: str | Path) -> None:
    """Write `card.json`."""
    write_page(card.to_json(), path)


def read_card(path: str | Path) -> dict[str, Any]:
    """The card in a file as plain values; a missing, foreign, damaged or newer one is a FileFormatError."""
    return read_page(path, FORMAT, VERSION, "halfmask audit")
