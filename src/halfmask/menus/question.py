"""What an epsilon is about: what may change, over which time, and what is released.

`Question.protect` names the unit of protection, and `Question.release` what is masked:

    reading    one reading changes by up to d
    day        each of a day's readings changes by up to d
    whole-day  a day's total changes by anything within published bounds, low to high
    month      30 whole days
    home       every whole day that a producer shares

If the period of the totals is not a day, "day" and "whole-day" mean that period, and the words say which.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.device_refusal import refusal
from halfmask.plain import Share, Size
from halfmask.profiles.bins import centre
from halfmask.profiles.periods import DAY as ONE_DAY
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import typical_sizes
from halfmask.profiles.totals import released
from halfmask.protection.guarantees.guarantee import REPORTS, Guarantee, drawn_guarantee
from halfmask.protection.guarantees.whole_days import spread_epsilon
from halfmask_device.decimals import number_text
from halfmask_device.setting import READING as EACH_READING
from halfmask_device.setting import TOTAL, unmasked_warning
from halfmask_device.terms import STEP

DELTA = 1e-6
READING, DAY, WHOLE_DAY, MONTH, HOME = "reading", "day", "whole-day", "month", "home"
UNITS = (READING, DAY, WHOLE_DAY, MONTH, HOME)
WHOLE = (WHOLE_DAY, MONTH, HOME)
"""Units in which a period's total may change by anything within the bounds."""
MONTH_DAYS = 30
FEW_OUTSIDE = 0.005
"""Share of totals outside of bounds that are chosen from the data."""
ROUND = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


@dataclass(frozen=True)
class KeptPromise:
    """What a setting promises: at ``delta``, any change of what is protected by up to ``change`` moves the
    probability of what is seen by a factor of at most e^epsilon; None if no epsilon is finite.
    """

    protect: str
    change: Size
    epsilon: Size | None
    delta: Share


@dataclass(frozen=True)
class Question:
    """The meaning of an epsilon: any change of up to ``change`` in each of ``window``, at ``delta``.

    An epsilon says nothing about larger changes or longer windows.

    ``change``    of each reading (reading, day), or of each period's total (whole-day, month, home)
    ``window``    number of readings (reading, day) or of periods (whole-day, month, home)
    ``unit``      unit of a reading, for texts
    ``step``      step of the devices' lattice; epsilons hold for the noise drawn on it, and on no other lattice. None:
                  epsilons are those of the continuous law, which no device draws
    ``protect``   the unit of protection
    ``release``   what is masked: readings, each producer's total of a period, or the total of everybody
    ``readings``  number of a producer's readings in a period
    ``period``    the period of the totals
    ``low``, ``high``  the least and the largest total that can be shared, if totals are masked
    """

    change: float
    window: int
    delta: float = DELTA
    unit: str = ""
    step: float | None = float(STEP)
    protect: str = DAY
    release: str = EACH_READING
    readings: int = 1
    period: str = "day"
    low: float = 0.0
    high: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.change < math.inf:
            raise OptionError(
                f"the change is {self.change:g}: say how far a reading may change, above 0, in its unit", kind="change"
            )
        check_window(self.window)
        if not 0 < self.delta < 1:
            raise OptionError(
                f"delta is {number_text(self.delta)}; it is a probability: give one between 0 and 1, like 1e-6",
                kind="delta",
            )
        if self.step is not None and not 0 < self.step < math.inf:
            raise OptionError(
                f"the step is {self.step:g}: give that of the devices' lattice, above 0, like {STEP}", kind="step"
            )

    @property
    def size(self) -> str:
        """The change with its unit."""
        return f"{number_text(self.change)} {self.unit}".strip()

    @property
    def noun(self) -> str:
        """The period in words."""
        return self.period if self.period.isalpha() else f"period of {self.period}"

    def words(self) -> str:
        """Return the question as a phrase to follow an epsilon."""
        return f"for {self.what()}, at delta {number_text(self.delta)}"

    def what(self) -> str:
        """Return what may change, in words."""
        if self.protect not in WHOLE:
            readings = "one reading" if self.window == 1 else f"each of {self.window:,} readings in a row"
            return f"a change of up to {self.size} in {readings}"
        one, many = (
            (f"a {self.noun} whose readings change by up to {self.size} in all", f"{self.noun}s, in each of which")
            if self.release == EACH_READING
            else (f"any change of a {self.noun}'s total by up to {self.size}", f"{self.noun}s' totals, each")
        )
        if self.protect == WHOLE_DAY:
            return one
        life = "everything: " if self.protect == HOME else ""
        return f"{life}{self.window:,} {many} changed by up to {self.size}"

    def of_one(self) -> str:
        """Return the change of one report in words."""
        change, _ = self.reports
        size = f"{number_text(change)} {self.unit}".strip()
        report = "one reading" if self.release == EACH_READING else f"a {self.noun}'s total"
        return f"for a change of up to {size} in {report}"

    def heading(self) -> str:
        """Return the heading of a column of epsilons of everything that is protected."""
        if self.protect not in WHOLE:
            return f"of {self.window:,}"
        return f"a whole {self.noun}" if self.protect == WHOLE_DAY else f"{self.window:,} {self.noun}s"

    @property
    def reports(self) -> tuple[float, int]:
        """By how much each report's value may change, and in how many reports. Not for `spread` changes."""
        if self.release == EACH_READING or self.protect in WHOLE:
            return self.change, self.window
        return float(Fraction(number_text(self.change)) * self.window), 1  # 0.3 in 48 readings is 14.4

    @property
    def per_report(self) -> "Question":
        """The same question about the change of each report, whatever it contains."""
        change, reports = self.reports
        return Question(change, reports, self.delta, self.unit, self.step)

    def of_release(self, release: str, profile: Profile) -> "Question":
        """Return the same question about reports with another release, of the readings' profile."""
        if release == self.release:
            return self
        return replace(self, release=release, readings=full_period(profile), period=profile.period.text)

    @property
    def spread(self) -> bool:
        """Whether one change is spread over the readings of a period in any way, as each reading is masked."""
        return self.release == EACH_READING and self.protect in WHOLE

    def drawn(self) -> str:
        """Return a sentence that says which noise the epsilons are for."""
        if self.step is None:
            return "epsilons are of the continuous law, which no device draws"
        usual = ", the devices' default" if self.step == float(STEP) else ""
        step = f"{number_text(self.step)} {self.unit}".strip()
        return f"epsilons are of the noise that a device draws on a lattice of steps of {step}{usual}"

    def in_steps(self) -> str:
        """Return how any other change counts: rounded up to whole steps of the lattice."""
        if self.step is None:
            return "that change"
        return f"that change, rounded up to whole steps of {number_text(self.step)} {self.unit}".strip()

    def refusal(self, setting: PrivacySetting) -> str | None:
        """Return why devices refuse a setting on the lattice; None if they accept it."""
        told = None if self.step is None else refusal(setting, self.step)
        return None if told is None else f"devices refuse {setting}: {told}"

    def objection(self, setting: PrivacySetting) -> str | None:
        """Return why devices refuse a setting, or a warning if it leaves more than half of all readings unchanged.

        None if neither applies or the question has no lattice.
        """
        if self.step is None:
            return None
        return self.refusal(setting) or unmasked_warning(str(setting), number_text(self.step))

    def asked(self, setting: PrivacySetting) -> Guarantee:
        """Return the setting's guarantee for the change of one report."""
        change, reports = self.reports
        return drawn_guarantee(setting, change, (reports,), self.step, self.unit)

    def epsilon(self, setting: PrivacySetting) -> float | None:
        """Return epsilon of everything that is protected at delta; None if it is not finite."""
        if self.spread:
            return spread_epsilon(setting, self.change, self.readings, self.window, self.step)
        return self.asked(setting).epsilon_at(self.delta, self.reports[1])

    def promise(self, setting: PrivacySetting) -> KeptPromise:
        """Return what the setting promises. A pure epsilon of one report holds at delta 0."""
        if setting.silent:
            return KeptPromise(self.protect, self.change, None, self.delta)
        if self.spread:
            found = self.epsilon(setting)
            return KeptPromise(self.protect, self.change, found, self.delta if found is None else 0.0)
        asked = self.asked(setting)
        if asked.epsilon is not None and self.reports[1] == 1:
            return KeptPromise(self.protect, self.change, asked.epsilon, 0.0)
        return KeptPromise(self.protect, self.change, asked.epsilon_at(self.delta, self.reports[1]), self.delta)

    def month(self) -> "Question":
        """Return the question about the same changes of 30 days."""
        window = periods_in(MONTH_DAYS, self.period)
        if self.protect in WHOLE:
            return replace(self, protect=MONTH, window=window)
        if self.release == EACH_READING:
            return replace(self, window=window * max(self.window, self.readings))
        return replace(self, protect=MONTH, change=self.reports[0], window=window)


def check_window(window: float) -> None:
    """Raise an OptionError if a window is not a whole number of readings from 1 on."""
    if window < 1 or window != int(window):
        raise OptionError(f"a window of {window} readings is none: give a whole number from 1 on", kind="window")


def default_question(profile: Profile) -> Question:
    """Return the question for a change of a typical reading's size in every reading of a day."""
    size = typical_reading(profile)
    if not size:
        raise OptionError(
            "every reading of the profile is zero, so no change can be read from it: give `change`", kind="zeros"
        )
    return Question(float(f"{size:.3g}"), reports_a_day(profile), unit=profile.unit or "")


def typical_reading(profile: Profile) -> float:
    """Return the median |s| of the readings that are not zero, to within a bin (1.1 %)."""
    below = profile.bin_counts.cumsum()
    return float(typical_sizes(profile)[below.searchsorted(below[-1] / 2)]) if len(below) else 0.0


def reports_a_day(profile: Profile) -> int:
    """Return how many reports a device sends in a day; 48 if the interval between readings is unknown or
    above a day.
    """
    return ONE_DAY // profile.step if profile.step and profile.step <= ONE_DAY else REPORTS[0]


def full_period(profile: Profile) -> int:
    """Return how many readings a producer with all of them has in a period: the most of anybody, if no step is known.

    Of months and years it is that of the longest.
    """
    longest = {"M": 31, "Y": 366}.get(profile.period.calendar or "", 1) * profile.period.base
    return max(longest // profile.step, 1) if profile.step else max(int(profile.cells[..., 0].max(initial=1)), 1)


def periods_in(days: int, period: str) -> int:
    """Return how many periods begin in this number of days, at least 1."""
    cut = Period.parse(period)
    length = cut.base * {"M": 28, "Y": 365}.get(cut.calendar or "", 1)
    return max(math.ceil(days * ONE_DAY / length), 1)


def question_of(
    protect: str,
    release: str,
    profile: Profile | None,
    *,
    change: float | None = None,
    window: int | None = None,
    low: float | None = None,
    high: float | None = None,
    delta: float = DELTA,
    step: float | None = None,
    unit: str | None = None,
) -> Question:
    """Return the question about this unit of protection. The profile gives what is not named.

    ``change``, ``window``  of readings, for reading and day
    ``low``, ``high``       bounds of a period's total, for whole-day, month and home, and wherever totals are masked
    """
    unit = unit or (profile.unit if profile else None) or ""
    size = float(STEP) if step is None else step
    period = profile.period.text if profile else "day"
    count = window or (full_period(profile) if profile else REPORTS[0])
    bounds = _bounds(profile, low, high) if protect in WHOLE or release != EACH_READING else (0.0, 0.0)
    if protect in WHOLE:
        if protect == HOME and profile is None:
            raise OptionError(
                "a home's promise is about every period that it shares: give a profile to count them, or ask about "
                "`protect=month`",
                kind="protect",
                field="protect",
            )
        lasting = {WHOLE_DAY: 1, MONTH: periods_in(MONTH_DAYS, period), HOME: len(profile.periods) if profile else 0}
        changed, times = bounds[1] - bounds[0], lasting[protect]
    else:
        times = 1 if protect == READING else count
        if change is None and profile is None:
            raise OptionError("say how far a reading may change, `change`, or give a profile to take it from")
        changed = change or default_question(profile).change  # type: ignore[arg-type]
    return Question(changed, times, delta, unit, size, protect, release, count, period, *bounds)


def whole_day_of(asked: Question | None, profile: Profile | None) -> Question | None:
    """Return the question about a whole day of what is released, at `DELTA`.

    Bounds that the question does not have follow from the profile; None if neither has them.
    """
    if asked is None:
        return None
    if asked.protect in WHOLE:
        return replace(asked, protect=WHOLE_DAY, window=1, delta=DELTA)
    bounds = {"low": asked.low, "high": asked.high} if asked.low < asked.high else {}
    if profile is None or not profile.readings:
        return None
    try:
        return question_of(WHOLE_DAY, asked.release, profile, **bounds, delta=DELTA, step=asked.step, unit=asked.unit)  # type: ignore[arg-type]
    except OptionError:  # all totals are zero
        return None


def _bounds(profile: Profile | None, low: float | None, high: float | None) -> tuple[float, float]:
    """Return the bounds of a total; those that are not named follow from the data."""
    if profile is None and high is None:
        raise OptionError("name the largest total that can be shared, `high`, or give a profile to take it from")
    least, most = usual_bounds(profile) if profile is not None and (low is None or high is None) else (0.0, 0.0)
    found = (least if low is None else low), (most if high is None else high)
    if not -math.inf < found[0] < found[1] < math.inf:
        raise OptionError(
            f"totals from {found[0]:g} to {found[1]:g} hold nothing: name the least and the largest, `low` and `high`",
            kind="range",
            field="high",
        )
    return found


def usual_bounds(profile: Profile) -> tuple[float, float]:
    """Return round bounds that contain nearly all totals. They follow from the data, so they are not public."""
    totals = released(profile, TOTAL)
    sizes, below = centre(totals.bin_index), totals.bin_negatives
    ends = []
    for counts in (below, totals.bin_counts - below):
        within = np.cumsum(counts) >= (1 - FEW_OUTSIDE) * counts.sum()
        ends.append(_round_up(float(sizes[int(np.argmax(within))])) if counts.sum() else 0.0)
    return 0.0 - ends[0], ends[1]


def _round_up(size: float) -> float:
    ten = 10.0 ** math.floor(math.log10(size))
    return float(f"{next(each * ten for each in ROUND if each * ten >= size * (1 - 1e-9)):.6g}")
