"""The audit of a menu: a card for each setting, with its guarantees, a test of the device's sampler, and
all attacks.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count

from halfmask import __version__
from halfmask.audits.card import CURVE, BestScore, CardAbout, ChangeAudited, ReportCard, SettingCard, StepAudited
from halfmask.audits.card_sentences import Alternative, sentence, warnings
from halfmask.audits.device_audit import audit_device, device_objections
from halfmask.audits.noise_at_equal_utility import noise_at_equal_utility
from halfmask.audits.score_limit import AllReadings, Closeness, closeness, few_pieces, has_limit
from halfmask.data.panel import Panel
from halfmask.mechanisms.grid import REFERENCE
from halfmask.mechanisms.setting import PrivacySetting, release_of
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.menus.question import UNITS, Question, check_window, question_of, typical_reading
from halfmask.profiles.periods import DAY
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.protection.attacks import ATTACKS, attack
from halfmask.protection.evidence import Evidence, evidence_from_panel, evidence_from_profile
from halfmask.protection.guarantees.guarantee import REPORTS, Guarantee, default_sensitivity, drawn_guarantee
from halfmask.protection.guarantees.promises import SMALL_DELTA, TOLD, odds, per_unit, promise
from halfmask_device.setting import READING, SPLIT
from halfmask_device.terms import STEP

GIVEN = "as given"
SEEN_BY_ONE = (
    " All of this is the most that one of the two services can learn, if it knows the totals of all other producers; "
    "everybody else sees the published total alone, and the two services together see everything."
)
"""What the attacks on a split setting assume: one draw of its noise on a producer's own total."""
HARDLY = 100
"""No alternative is proposed for noise below a hundredth of a typical reading."""


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
    change: float | None = None,
    low: float | None = None,
    high: float | None = None,
    delta: float = SMALL_DELTA,
    advance: Callable[[int, int], None] | None = None,
) -> ReportCard:
    """Return a card for each setting of a menu. Attacks use the panel's readings, or only totals by period without a
    panel.

    Guarantees are for one reading, for ``window`` readings in a row, for a day, and for all reports of a device. All
    results are reproducible from the seed, except the test of the device's sampler, whose noise cannot be seeded.

    ``sensitivity``  largest change of a reading; default: that of `default_sensitivity`
    ``step``         step of the devices' lattice; default: the one that the menu was made for, else `STEP`
    ``other_data``   accept a menu made from other data than the profile
    ``change``       change of a reading that the promises about a reading and a day are for; default: a typical reading
    ``low``, ``high``  bounds of a period's total that the promises about whole days are for; default: the menu's, else
                     from the data
    ``delta``        of these promises
    ``advance``      progress callback ``(done, all)``, called once per attack
    """
    menu.check_data(profile, other_data=other_data)
    release = release_of(each.setting for each in menu.settings)
    if menu.question is not None and menu.question.high > menu.question.low:
        low, high = (menu.question.low if low is None else low), (menu.question.high if high is None else high)
    drawn, drawn_by = _step(step, menu)
    units = {
        unit: question_of(unit, release, profile, change=change, low=low, high=high, delta=delta, step=drawn)
        for unit in UNITS
    }
    profile = released(profile, release)
    range_, origin = (sensitivity, GIVEN) if sensitivity is not None else default_sensitivity(profile)
    if sensitivity is None and release != READING and low is not None and high is not None:
        range_, origin = high - low, "the bounds of a total"
    if window is not None:
        check_window(window)
    reports = reports_of(profile)
    windows = {"one reading": 1, **({"window": window} if window else {}), "a day": reports["day"]}
    windows["everything"] = everything(profile, reports["day"])
    scale = AllReadings(profile, menu)
    unit = profile.unit or (menu.question.unit if menu.question else "")
    done = count(1)

    def heard(_: int, __: int) -> None:
        if advance:
            advance(next(done), len(menu.settings) * len(ATTACKS))

    # every attack has its own random stream, so the order does not matter; the longest tasks start first
    with ThreadPoolExecutor(os.cpu_count()) as pool, ThreadPoolExecutor(1) as beside, _stopping(pool):
        seen = pool.submit(_evidence, release, profile, panel)
        near = {each.id: pool.submit(closeness, each, scale) for each in menu.settings}
        known = beside.submit(noise_at_equal_utility, menu, profile, scale, pool)
        evidence = replace(seen.result(), lattice=drawn)
        typical = float(f"{typical_reading(profile):.3g}")  # what is printed is what is computed with
        bench = AuditBench(evidence, scale, range_, typical, reports, windows, units, drawn, unit, seed)
        best = pool.submit(bench.best_score, menu.settings)
        made = [pool.submit(bench.card, each, near[each.id], heard) for each in menu.settings]
        cards = tuple(each.result() for each in made)
    about = CardAbout(
        halfmask=__version__,
        fingerprint=profile.fingerprint(),
        users=profile.users,
        readings=profile.readings,
        sensitivity=ChangeAudited(range_, origin, bench.typical),
        step=StepAudited(drawn, drawn_by),
        windows=windows,
        delta=SMALL_DELTA,
        unit=unit,
        reports=bench.reports,
        evidence=evidence.what,
        resolution=evidence.resolution,
        seed=seed,
        units={name: asked.words() for name, asked in units.items()},
    )
    return ReportCard(cards, about, best.result(), known.result())


def _evidence(release: str, profile: Profile, panel: Panel | None) -> Evidence:
    """Return what is masked: readings, or the totals of each user and period, which the profile holds."""
    return evidence_from_panel(panel, profile) if panel and release == READING else evidence_from_profile(profile)


@dataclass(frozen=True)
class AuditBench:
    """The inputs that the audits of all settings share.

    ``range``    the largest change of a reading
    ``typical``  the size of a typical reading
    ``reports``  number of reports in a day, a month and a year
    ``windows``  number of readings of each promise, by name
    ``units``    by unit of protection, what its promise is about
    """

    evidence: Evidence
    scale: AllReadings
    range: float
    typical: float
    reports: dict[str, int]
    windows: dict[str, int]
    units: Mapping[str, Question]
    step: float
    unit: str
    seed: int

    def guarantee(self, setting: PrivacySetting, change: float, counts: Sequence[int] = ()) -> Guarantee:
        """Return the guarantee of the noise that a device draws on the lattice, or on the setting's own lattice."""
        return drawn_guarantee(setting, change, counts, self.step, self.unit)

    def card(self, entry: MenuSetting, limit: "Future[Closeness]", advance: Callable[[int, int], None]) -> SettingCard:
        """Return the card of one setting: guarantees, test of the sampler, and attacks."""
        near, split = limit.result(), entry.setting.release == SPLIT
        counts = tuple(self.reports.values())
        whole, typical = (self.guarantee(entry.setting, change, counts) for change in (self.range, self.typical))
        instead = None if typical.epsilon is not None else self.instead(near)
        score = None if entry.outside or split else entry.privacy
        attacks = tuple(attack(entry.setting, self.evidence, self.seed, advance))
        return SettingCard(
            id=entry.id,
            privacy=score,
            utility=None if entry.outside else entry.utility,
            guarantee=whole,
            typical=typical,
            sampler=audit_device(entry.setting, self.step),
            attacks=attacks,
            limit=near if near.share is not None else None,
            instead=instead,
            curve=self.curve(typical),
            sentence=sentence(typical, attacks, self.reports) + (SEEN_BY_ONE if split else ""),
            warnings=warnings(score, typical, attacks, self.reports, instead)
            + device_objections(entry.setting, self.step),
            promises={name: promise(typical, readings) for name, readings in self.windows.items()},
            whole=promise(whole),
            told={count: odds(typical, count) for count in TOLD},
            per_unit=per_unit(entry.setting, typical.step),
            protected={name: asked.promise(entry.setting) for name, asked in self.units.items()},
        )

    def instead(self, near: Closeness) -> Alternative | None:
        """Return Laplace noise of the same variance, which has an epsilon, as an alternative.

        None if the setting's noise is not additive or is very small.
        """
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

    def best_score(self, entries: Sequence[MenuSetting]) -> BestScore | None:
        """Return the noise with the best possible score at the variance of the noisiest setting, with all attacks on
        it.

        None if no setting adds noise.
        """
        noisy = [(each.noise_std or 0.0, each) for each in entries if has_limit(each)]
        if not noisy:
            return None
        deviation, like = max(noisy, key=lambda each: each[0])
        best = few_pieces(self.scale, self.scale.limit(deviation**2))
        return BestScore(like.id, best, self.scale.privacy(best), tuple(attack(best, self.evidence, self.seed)))

    def curve(self, found: Guarantee) -> dict[int, tuple[float, ...]]:
        """Return delta at `CURVE` for one report and for a day of reports."""
        return {number: delta_curve(found, number) for number in (1, self.reports["day"])}


@contextmanager
def _stopping(pool: ThreadPoolExecutor) -> Iterator[None]:
    """Cancel all work that has not begun if an error occurs."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def delta_curve(found: Guarantee, reports: int) -> tuple[float, ...]:
    """Return upper bounds on delta at `CURVE` for that many reports; 1 if the setting guarantees nothing."""
    if found.losses is None:
        return (1.0,) * len(CURVE)
    together = found.losses.composed(reports)
    return tuple(together.delta(epsilon) for epsilon in CURVE)


def _step(given: float | None, menu: Menu) -> tuple[float, str]:
    """Return the lattice's step, and where it comes from: the option, the menu or the device's default."""
    if given is not None:
        return given, GIVEN
    if menu.question is not None and menu.question.step is not None:
        return menu.question.step, "the menu's"
    return float(STEP), "the device's default"


def everything(profile: Profile, day: int) -> int:
    """Return the number of reports of one device over the time that the profile covers, the longest window possible."""
    held = profile.rows["readings"] > 0
    longest = int((profile.rows["last"][held] - profile.rows["first"][held]).max(initial=0))
    return longest // (DAY // day) + 1


def reports_of(profile: Profile) -> dict[str, int]:
    """Return the number of reports in a day, a month and a year.

    A day has 48 if the interval between readings is unknown or above a day.
    """
    day = DAY // profile.step if profile.step and profile.step <= DAY else REPORTS[0]
    return {"day": day, "month": 30 * day, "year": 365 * day}
