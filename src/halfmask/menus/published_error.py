"""Figures of a level that are published: they follow from public inputs and the public summary alone.

They are post-processing of the summary, so they cost no more epsilon. They are about a period whose
total is the mean one. `total_error` averages over periods instead, which is more if periods differ in size, because
1/mean is below the mean of 1/total.
"""

import math

import numpy as np

from halfmask.evaluation.split_totals import SERVICES
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import noise_std
from halfmask.menus.public_summary import PublicSummary
from halfmask.menus.public_totals import Estimate
from halfmask.menus.total_error import below_normal
from halfmask_device.setting import READING, SPLIT


def published_error(
    summary: PublicSummary, setting: PrivacySetting, producers: int, step: float | None = None
) -> Estimate | None:
    """Return the expected relative error of a mean period's total of ``producers``, with its 95 % interval.

    The error is sigma sqrt(2 n / pi) (1 - k/(24 n)) / (N |mean total|), for N producers and n draws of the noise (see
    `total_error.period_errors`): one per reading, one per producer and period, or two for a split setting. The interval
    is for the noise of the summary: at most 1 in 20 summaries publishes one that does not hold. It is not about other
    producers, who may use more or less than these.

    It is relative to the total of totals clipped to the bounds. If totals are above 0, the error relative to the total
    before clipping is no larger; how much clipping shifts the total is `PublicTotals.clip_bias`.

    None if the summary does not say it (see `unknown`), or if the error depends on every reading.

    ``step``  use the sigma of the noise that a device draws on the lattice with this step
    """
    if setting.kind != "additive" or setting.inner is not None:
        return None
    if unknown(summary, setting.release) is not None or summary.totals is None:
        return None
    sigma, draws = noise_std(setting, step), _draws(summary, setting, producers)
    if sigma is None:
        return None
    below = float(below_normal(setting, np.array([max(draws, 1.0)]))[0])
    noise = below * sigma * math.sqrt(2 * draws / math.pi)
    size = summary.totals.size()
    ends = sorted(abs(each) for each in (size.low, size.high))
    return Estimate(*(noise / (producers * each) for each in (abs(size.value), ends[1], ends[0])))


def published_needed(
    summary: PublicSummary, setting: PrivacySetting, within: float, step: float | None = None
) -> Estimate | None:
    """Return how many producers keep `published_error` at ``within``, with the 95 % interval; None if it is unknown.

    The error falls with the square root of the number of producers; that of a split setting falls with the number.
    """
    power = 1 if setting.release == SPLIT else 2
    found = []
    for end in range(3):
        users = 1000
        for _ in range(3):
            error = published_error(summary, setting, users, step)
            if error is None:
                return None
            users = max(math.ceil(users * (error[end] / within) ** power), 1)
        found.append(users)
    return Estimate(*map(float, found))


def unknown(summary: PublicSummary, release: str) -> str | None:
    """Return why the summary does not say the error of settings with this release; None if it does."""
    if summary.totals is None:
        return "the summary has no mean total, because no bounds of totals were given: give `low` and `high`"
    size = summary.totals.size()
    if not summary.totals.known:
        return (
            f"the mean total is {size.value:.3g} with a standard error of {summary.totals.mean_error:.2g}: there are "
            f"too few producers for this noise (epsilon {summary.epsilon:g}), so no error of a total is published"
        )
    if release == READING and not summary.interval_known:
        return "too few producers voted for one interval between readings, so no error of a total is published"
    return None


def meant(found: Estimate) -> Estimate:
    """Return an estimate without meaningless digits: three, or two if the interval is wider than the third.

    The interval is rounded outwards.
    """
    value, low, high = found
    if not value:
        return found
    digits = 2 if (high - low) / 2 > _unit(value, 3) / 2 else 3
    return Estimate(float(f"{value:.{digits}g}"), -_upwards(-low, digits), _upwards(high, digits))


def _draws(summary: PublicSummary, setting: PrivacySetting, producers: int) -> float:
    if setting.release == SPLIT:
        return SERVICES
    return producers * (summary.a_period if setting.release == READING else 1)


def _unit(value: float, digits: int) -> float:
    """Return the size of the last of this number of significant digits."""
    return 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)


def _upwards(value: float, digits: int) -> float:
    if not value:
        return value
    unit = _unit(value, digits)
    return float(f"{math.ceil(value / unit) * unit:.{digits + 1}g}")
