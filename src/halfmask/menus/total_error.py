"""The expected error of a period's total, and how many producers keep it within a bound."""

import math

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.sampling import population
from halfmask.evaluation.split_totals import SERVICES
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import noise_std
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask_device.setting import SPLIT

CROWDS = (100, 1000)
UNEVEN = 1.5
"""Ratio of mean to median of the periods' errors above which a few periods are said to decide the mean."""


def period_errors(
    profile: Profile, setting: PrivacySetting, users: int, *, scaled: bool = False, step: float | None = None
) -> FloatArray | None:
    """Return the expected relative error of each period's total of ``users`` users; None without a noise law or a
    total.

    The error is sigma sqrt(2 n / pi) (1 - k/(24 n)) / |S|, with n draws of noise and total S, both in proportion to the
    users. A draw is added to each reading, or to each user's total. For relative noise, n is replaced by the sum of
    s^2. A split total holds two draws, whatever the number of users. The noise's sum is nearly normal; k, its excess
    kurtosis, corrects periods of few draws (Edgeworth), to 2 % for one draw of Laplace noise.

    ``scaled``  divide by the mean |S| over periods instead
    ``step``    use the sigma of the noise that a device draws on the lattice with this step
    """
    if setting.kind == "direct" or setting.inner is not None:
        return None
    profile, share = released(profile, setting.release), users / population(profile)
    readings, total, squares = (profile.cells[..., k].sum(axis=0) for k in range(3))
    draws = np.full(len(readings), SERVICES / share) if setting.release == SPLIT else readings
    spread = draws if setting.kind == "additive" else squares
    size = np.abs(total)
    divisor = np.full(len(size), size[readings > 0].mean()) if scaled else size
    kept = (readings > 0) & (divisor > 0)
    if not kept.any():
        return None
    sigma = noise_std(setting, step)
    if sigma is None:
        return None
    below = below_normal(setting, np.maximum(draws[kept] * share, 1.0))
    return np.asarray(below * sigma * np.sqrt(2 * spread[kept] / np.pi / share) / divisor[kept])


def below_normal(setting: PrivacySetting, readings: FloatArray) -> FloatArray:
    """Return E |sum of n noises| divided by that of a normal law with the same variance, at least
    Hoelder's lower bound.
    """
    square, fourth = setting.law.moments(np.array(setting.parameters)[None])[0, [1, 3]]
    kurtosis = fourth / square**2 - 3 if square > 0 and np.isfinite(fourth) else 0.0
    return np.maximum(1 - kurtosis / (24 * readings), np.sqrt(np.pi / 2 / (3 + kurtosis / readings)))


def total_error(
    profile: Profile, setting: PrivacySetting, users: int, *, scaled: bool = False, step: float | None = None
) -> float | None:
    """Return the mean over periods of `period_errors`. One nearly empty period can decide it: see `usual_error`."""
    found = period_errors(profile, setting, users, scaled=scaled, step=step)
    return None if found is None else float(found.mean())


def usual_error(
    profile: Profile, setting: PrivacySetting, users: int, *, scaled: bool = False, step: float | None = None
) -> float | None:
    """Return the median over periods of `period_errors`: half of the periods are expected to have less."""
    found = period_errors(profile, setting, users, scaled=scaled, step=step)
    return None if found is None else float(np.median(found))


def uneven(profile: Profile, setting: PrivacySetting, *, scaled: bool = False, step: float | None = None) -> bool:
    """Return whether a few periods decide the mean error of a total, so that the median describes it better."""
    found = period_errors(profile, setting, population(profile), scaled=scaled, step=step)
    return found is not None and bool(found.mean() > UNEVEN * np.median(found))


def crowds_of(profile: Profile) -> list[int]:
    """Return 100, 1,000 and the number of all users, without numbers above it."""
    people = population(profile)
    return list(dict.fromkeys(users for users in (*CROWDS, people) if users <= people))


def total_errors(
    profile: Profile, setting: PrivacySetting, *, scaled: bool = False, step: float | None = None
) -> dict[int, float]:
    """Return `total_error` for each number of `crowds_of`; empty without a noise law."""
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
    """Return how many producers keep the error of a total at ``within``; None without a noise law.

    The error is the mean over periods, or the median if ``usual``. It falls with the square root of the number of
    producers, and in proportion to it if the total is split.
    """
    users, error_of = population(profile), usual_error if usual else total_error
    for _ in range(2):
        error = error_of(profile, setting, users, scaled=scaled, step=step)
        if error is None:
            return None
        users = max(math.ceil(users * (error / within) ** (1 if setting.release == SPLIT else 2)), 1)
    return users
