"""A menu in plain words: what becomes of a typical reading, and how far off a period's total is."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.aggregates import noun
from halfmask.evaluation.sampling import population
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, noise_std
from halfmask.menus.placed import score_words
from halfmask.menus.promise import NO_PROMISE, typical_reading
from halfmask.profiles.profile import Profile
from halfmask_device.decimals import number_text, upwards

CROWDS = (100, 1000)
TIMES_OUT_OF_TEN = 8
UNEVEN = 1.5
"""Ratio of the mean to the median of periods' errors from which a few periods decide the mean."""
FINE = 1000
"""Steps from which on a lattice is too fine to make a difference in a quantile of the noise."""


def brief(setting: PrivacySetting) -> str:
    """A setting for a narrow column: a long table of numbers is counted, not shown."""
    return setting.law.brief(str(setting), setting.parameters)


@dataclass(frozen=True)
class InWords:
    """One setting of the menu for this dataset.

    ``low`` to ``high`` is what a reading of the typical size shows as 8 times out of 10, and ``errors`` the expected
    relative error of a period's total for each number of users. None where the setting has no noise law, or the
    aggregate is neither sum nor mean. ``step`` is that of the lattice which both ends lie on, where there is one.
    """

    id: str
    reading: float
    low: float | None
    high: float | None
    errors: dict[int, float | None]
    step: float | None = None

    def sentence(self, unit: str = "") -> str:
        """ "0.52 kWh shows as 0.31 to 0.74, 8 times out of 10"."""
        value = f"{self.reading:.3g} {unit}".strip()
        if self.low is None or self.high is None:
            return f"{value} is masked by a rule without a noise law"
        if (ends := self.range()) is not None:
            return f"{value} shows as {ends[0]} to {ends[1]}, {TIMES_OUT_OF_TEN} times out of 10"
        if few_steps(self.low, self.step) and (place := number_text(self.low)) != f"{self.reading:.3g}":
            return f"{value} shows as {place}, its place on the lattice, {TIMES_OUT_OF_TEN} times out of 10 or more"
        return f"{value} shows as it is" + ("" if self.low == self.high == self.reading else ", to three digits")

    def range(self) -> tuple[str, str] | None:
        """Both ends in print; None without a noise law, or if they are one in print."""
        if self.low is None or self.high is None or one_in_print(self.low, self.high, self.step):
            return None
        return self._figure(self.low), self._figure(self.high)

    def _figure(self, value: float) -> str:
        return number_text(value) if few_steps(value, self.step) else f"{value:.3g}"


def few_steps(value: float, step: float | None) -> bool:
    """Whether a value has fewer than 1,000 steps: all of its digits are then written, so that it lies on the lattice.

    Any other is written in three digits.
    """
    return step is not None and abs(value) < 1000 * step


def one_in_print(low: float, high: float, step: float | None) -> bool:
    """Whether both ends are the same to three digits. Rounded each for itself they may look a whole digit apart."""
    if low == high:
        return True
    largest = max(abs(low), abs(high))
    return not few_steps(largest, step) and high - low < 10.0 ** (math.floor(math.log10(largest)) - 2)


def noise_quantile(setting: PrivacySetting, probability: float) -> float:
    """The smallest y with P(|psi| <= y) >= probability: psi at (1 + probability)/2, as noise is symmetric.

    A law that does not say its quantiles has its distribution function bisected.
    """
    parameters = np.array(setting.parameters)[None]
    known = setting.law.quantile(parameters[0], np.array([(1 + probability) / 2]))
    if known is not None:
        return float(known[0])

    def reaches(y: float) -> bool:
        return bool(setting.law.cdf(parameters, np.array([y]))[0, 0] >= probability)

    if reaches(0.0):
        return 0.0
    high = 1e-300
    while not reaches(high) and high < 1e300:
        high *= 1024
    low = high / 1024
    while (high - low) > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def shown(setting: PrivacySetting, reading: float, step: float | None = None) -> tuple[float, float] | None:
    """10th to 90th percentile of the masked reading; the noise is symmetric, so P(|psi| <= y) = 0.8 gives both.

    With a ``step`` it is the report of a device on this lattice, or on the setting's own.
    """
    if setting.kind == "direct" or setting.inner is not None:
        return None
    y = noise_quantile(setting, TIMES_OUT_OF_TEN / 10)
    if step is not None and setting.kind == "additive":
        return _shown_on(setting.law.lattice(setting.parameters) or step, setting, reading, y)
    if setting.kind == "relative":
        y *= abs(reading)
    return reading - y, reading + y


def _shown_on(step: float, setting: PrivacySetting, reading: float, y: float) -> tuple[float, float]:
    """The reading's place on the lattice, and as many steps to either side as have the wanted chance together.

    ``y`` is where the continuous law has it: on a fine lattice that, rounded.
    """
    unit = Fraction(number_text(step))
    place, around = math.floor(Fraction(reading) / unit + Fraction(1, 2)), round(y / step)
    if y < FINE * step:
        k = np.arange(2 * around + 8)
        chance = np.cumsum(np.where(k == 0, 1, 2) * setting.law.pmf(setting.parameters, step, k))
        around = int(np.argmax(chance >= TIMES_OUT_OF_TEN / 10 - 1e-12))
    return float((place - around) * unit), float((place + around) * unit)


def period_errors(
    profile: Profile, setting: PrivacySetting, users: int, *, scaled: bool = False, step: float | None = None
) -> FloatArray | None:
    """Expected |error| of each period's total of ``users`` users, relative: sigma sqrt(2 n / pi) (1 - k/(24 n)) / |S|.

    n readings and total S of a period shrink in proportion to the users; of relative noise, sum s^2 stands for n. The
    noise's sum is nearly normal; k, its excess kurtosis, puts periods of few readings right (Edgeworth), to 2 % for
    one reading of Laplace noise. ``scaled`` divides by the mean |S| over periods instead. With a ``step``, sigma is of
    the noise that a device draws on this lattice. None without a noise law or a period that is not 0.
    """
    if setting.kind == "direct" or setting.inner is not None:
        return None
    readings, total, squares = (profile.cells[..., k].sum(axis=0) for k in range(3))
    spread = readings if setting.kind == "additive" else squares
    size = np.abs(total)
    divisor = np.full(len(size), size[readings > 0].mean()) if scaled else size
    kept = (readings > 0) & (divisor > 0)
    if not kept.any():
        return None
    sigma = noise_std(setting, step)
    if sigma is None:
        return None
    share = users / population(profile)
    below = _below_normal(setting, np.maximum(readings[kept] * share, 1.0))
    return np.asarray(below * sigma * np.sqrt(2 * spread[kept] / np.pi / share) / divisor[kept])


def _below_normal(setting: PrivacySetting, readings: FloatArray) -> FloatArray:
    """E |sum of n noises| over that of a normal law of the same variance; never below what Hoelder's inequality has."""
    square, fourth = setting.law.moments(np.array(setting.parameters)[None])[0, [1, 3]]
    kurtosis = fourth / square**2 - 3 if square > 0 and np.isfinite(fourth) else 0.0
    return np.maximum(1 - kurtosis / (24 * readings), np.sqrt(np.pi / 2 / (3 + kurtosis / readings)))


def total_error(
    profile: Profile, setting: PrivacySetting, users: int, *, scaled: bool = False, step: float | None = None
) -> float | None:
    """The mean over periods of `period_errors`. One period that is nearly empty can decide it: see `usual_error`."""
    found = period_errors(profile, setting, users, scaled=scaled, step=step)
    return None if found is None else float(found.mean())


def usual_error(
    profile: Profile, setting: PrivacySetting, users: int, *, scaled: bool = False, step: float | None = None
) -> float | None:
    """The median over periods of `period_errors`: half of the periods are expected to err by less."""
    found = period_errors(profile, setting, users, scaled=scaled, step=step)
    return None if found is None else float(np.median(found))


def uneven(profile: Profile, setting: PrivacySetting, *, scaled: bool = False, step: float | None = None) -> bool:
    """Whether a few periods decide the mean error of a total: the median is then what is usual, and decides."""
    found = period_errors(profile, setting, population(profile), scaled=scaled, step=step)
    return found is not None and bool(found.mean() > UNEVEN * np.median(found))


def crowds_of(profile: Profile) -> list[int]:
    """100, 1,000 and all users, where there are so many."""
    people = population(profile)
    return list(dict.fromkeys(users for users in (*CROWDS, people) if users <= people))


def total_errors(
    profile: Profile, setting: PrivacySetting, *, scaled: bool = False, step: float | None = None
) -> dict[int, float]:
    """`total_error` for each of `crowds_of`; empty without a noise law."""
    errors = {users: total_error(profile, setting, users, scaled=scaled, step=step) for users in crowds_of(profile)}
    return {users: error for users, error in errors.items() if error is not None}


def producers_needed(
    profile: Profile,
    setting: PrivacySetting,
    within: float,
    *,
    usual: bool = False,
    scaled: bool = False,
    step: float | None = None,
) -> int | None:
    """How many producers the mean error of a total takes, or the ``usual`` one, the median.

    It falls with the root of their number, or very nearly so.
    """
    users, error_of = population(profile), usual_error if usual else total_error
    for _ in range(2):
        error = error_of(profile, setting, users, scaled=scaled, step=step)
        if error is None:
            return None
        users = math.ceil(users * (error / within) ** 2)
    return users


def menu_words(menu: Menu, profile: Profile, *, other_data: bool = False) -> list[InWords]:
    """Every setting of a menu in words; totals are for 100, 1,000 and all users, where there are so many."""
    menu.check_data(profile, other_data=other_data)
    reading, crowds = typical_reading(profile), crowds_of(profile)
    summable = menu.provenance.get("aggregate", "sum") in ("sum", "mean")
    scaled = menu.provenance.get("error") == "scaled"
    step = menu.question.step if menu.question else None
    words = []
    for each in menu.settings:
        range_ = shown(each.setting, reading, step)
        errors = {
            users: total_error(profile, each.setting, users, scaled=scaled) if summable else None for users in crowds
        }
        low, high = range_ or (None, None)
        words.append(InWords(each.id, reading, low, high, errors, step))
    return words


def protection_heads(menu: Menu) -> list[str]:
    """Headings of `protection_cells`; none where the menu does not say what its settings protect."""
    if menu.question is None:
        return []
    named = any(each.protection and each.protection.recognised is not None for each in menu.settings)
    return ["guess", "epsilon", f"of {menu.question.window:,}", *(["recognised"] if named else [])]


def protection_cells(menu: Menu, entry: MenuSetting) -> list[str]:
    """Guess, epsilon of one reading (* where it is not at delta 0) and of the window, and share recognised."""
    found, count = entry.protection, len(protection_heads(menu))
    if found is None:
        return ["-"] * count
    guess, named = ("-" if each is None else f"{each:.0%}" for each in (found.guess, found.recognised))
    reading, window = (NO_PROMISE if each is None else upwards(each) for each in (found.reading, found.window))
    return [guess, reading + " *" * (found.reading is not None and not found.pure), window, named][:count]


def menu_rows(
    menu: Menu, profile: Profile | None = None, *, unit: str = "", other_data: bool = False
) -> list[list[str]]:
    """The menu as a table, headings first; with a profile also in plain words."""
    heads = ["id", "setting", "privacy", "utility", "10th percentiles", "noise std"]
    rows = [[*heads, *protection_heads(menu)]]
    for each in menu.settings:
        std = "-" if each.noise_std is None else f"{each.noise_std:.3g}"
        low = f"{each.privacy.p10:.2f}, {each.utility.p10:.2f}"
        scores = [score_words(score.median, known=each.outside) for score in (each.privacy, each.utility)]
        rows.append([each.id, str(each.setting), *scores, low, std, *protection_cells(menu, each)])
    if profile is None:
        return rows
    words = menu_words(menu, profile, other_data=other_data)
    what = noun(menu.provenance.get("aggregate", "sum"))
    rows[0] += [
        "a typical reading",
        *(
            f"error of a {menu.provenance.get('period', 'period')}'s {what}, {users:,} users"
            for users in words[0].errors
        ),
    ]
    for row, each_word in zip(rows[1:], words, strict=True):
        row.append(each_word.sentence(unit))
        row += ["-" if error is None else f"{error:.2%}" for error in each_word.errors.values()]
    return rows
