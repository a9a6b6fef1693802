"""The law that a device draws: noise of k whole steps of the published lattice, and cells of its report.

`laplace`, `geometric` and `gaussian` are drawn in their discrete forms, P(k) proportional to exp(-|k| step/b) and to
exp(-(k step/sigma)^2/2). All other noise is the continuous law's, rounded: P(k) is its mass from (k - 1/2) to (k + 1/2)
steps. Readings lie on the lattice too (halves are rounded up), so that readings up to d apart are at most ceil(d/step)
steps apart.

Each k is a cell of its own and delta is a sum over all k. On a very fine lattice neighbouring k of the discrete laws
share a cell, between whose ends the loss is known; a rounded law keeps at least what the continuous law guarantees for
a change of that many steps, because rounding is something that anybody could do to a report.
"""

import math
from fractions import Fraction

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.mechanisms.ours.gaussian import Gaussian
from halfmask.mechanisms.ours.geometric import Geometric
from halfmask.mechanisms.ours.laplace import Laplace
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.hockey_stick import (
    FURTHEST,
    LONGEST,
    WIDEST,
    Cells,
    masses,
    normal_masses,
    reach_of,
    told_apart,
)
from halfmask_device.decimals import number_text

MOST_POINTS = 2**16  # of a rounded law
MOST_CELLS = 2**13  # of a discrete one, with neighbours together from there on
SUMMED = 2**15  # steps in a deviation up to which a discrete Gaussian is summed; beyond, its masses are the integral's
MOST_STEPS = 2**53
MOST_LISTED = 2**22
NOTHING = 1e-14  # a mass below is not told from none: what it is compared with counts as impossible


def lattice_steps(change: float, step: float) -> int:
    """ceil(change/step), of the decimals that both are written as: 0.3 is three steps of 0.1."""
    if not 0 < step < math.inf:
        raise OptionError(f"the step is {number_text(step)}; it is the lattice's, in the readings' unit and above 0")
    steps = math.ceil(Fraction(number_text(change)) / Fraction(number_text(step)))
    if steps > MOST_STEPS:
        raise OptionError(
            f"a change of {number_text(change)} is more than {MOST_STEPS:,} steps of {number_text(step)}: "
            "take a coarser step, or say how far a reading may really change"
        )
    return steps


def rounded_up(change: float, step: float) -> float:
    """The change rounded up to the lattice: 0.21 is 0.3 on steps of 0.1."""
    return float(lattice_steps(change, step) * Fraction(number_text(step)))


def check_step(setting: PrivacySetting, step: float) -> None:
    """Refuse a lattice that ``geometric`` noise, which has its own, does not live on."""
    own = setting.law.lattice(setting.parameters)
    if own is not None and own != step:
        raise OptionError(f"{setting} has a step of its own, {number_text(own)}: give that as the step, or none")


def lattice_cells(setting: PrivacySetting, step: float, steps: int, largest: float = math.inf) -> Cells | None:
    """Cells of the report for two readings ``steps`` steps apart; None where the lattice is too fine to be summed.

    ``largest`` is the pure epsilon where there is one. None is given of rounded laws alone, whose continuous law
    bounds them.
    """
    if type(setting.law) in (Laplace, Geometric):
        return _discrete_laplace(min(step / setting.parameters[0], FURTHEST), steps)
    if type(setting.law) is Gaussian:
        return _discrete_gaussian(max(setting.parameters[0] / step, 1 / FURTHEST), steps)
    found = rounded_masses(setting, step)
    return None if found is None else points(found, steps, largest)


def rounded_masses(setting: PrivacySetting, step: float) -> FloatArray | None:
    """P(k) of a rounded law for k = -K..K; None where these are more than `MOST_POINTS`.

    K is the last that is possible, or of an unbounded law one beyond which both tails have some 1e-14.
    """
    end = reach_of(setting) / step
    if not end < MOST_POINTS / 2:
        return None
    furthest = math.floor(end + 0.5)
    found = masses(setting, np.asarray((np.arange(-furthest, furthest + 2) - 0.5) * step, np.float64))[1:-1]
    found[[0, -1]] += max(1 - float(found.sum()), 0.0) / 2
    return found


def lattice_masses(setting: PrivacySetting, step: float) -> FloatArray:
    """P(k) for k = -K..K of what the device draws, all but some 1e-14 of it: to compare draws and figures with."""
    check_step(setting, step)
    steps = math.floor(reach_of(setting) / step + 1.5)
    if steps > MOST_LISTED:
        raise OptionError(f"{setting} has too many values on steps of {number_text(step)} to list: take a coarser step")
    return setting.law.pmf(setting.parameters, step, np.arange(-steps, steps + 1))


def _discrete_laplace(rate: float, steps: int) -> Cells:
    """Losses are rate (|k - d| - |k|): one for all k <= 0, one for all k >= d, linear between; rate = step/b.

    With a = e^-rate, P(k <= 0) = 1/(1 + a) and P(k >= m) = a^m/(1 + a) for m >= 1. The losses' mean, in the sense of
    `Cells`, of neighbours that share a cell is the middle of both ends.
    """
    last = steps if steps * rate < LONGEST else math.ceil(LONGEST / rate) + 1
    edges = np.unique(
        np.linspace(1, last, min(last, MOST_CELLS)).round()
    )  # the first k of each cell but that of k <= 0
    first, until = np.append(0.0, edges), np.append(edges - 1, float(steps))
    with np.errstate(over="ignore"):
        within = np.append(-np.expm1(-rate * np.diff(edges)), 1.0)
        p = np.append(1.0, np.exp(-rate * edges) * within) / (1 + math.exp(-rate))
        high, low = rate * (steps - 2 * first), rate * (steps - 2 * until)
    low[0] = high[0]
    mean = low / 2 + high / 2
    mean[-1] = high[-1]
    held = p > 0
    return Cells(p[held], mean[held], low[held], high[held], 0.0)


def _discrete_gaussian(scale: float, steps: int) -> Cells:
    """Losses are (d^2 - 2 k d)/(2 scale^2) for readings d steps apart, where scale = sigma/step.

    Beyond `SUMMED` steps in a deviation masses are those of the rounded law, which differ by less than 1/(24 scale^2)
    of themselves, 4e-11.
    """
    last = math.ceil(WIDEST * scale)
    first = np.unique(np.linspace(-last, last, min(2 * last + 1, MOST_CELLS)).round())
    until = np.append(first[1:] - 1, float(last))
    apart = steps / scale
    high, low = (apart * (apart - 2 * (k / scale)) / 2 for k in (first, until))
    if scale <= SUMMED:
        k = np.arange(-last, last + 1.0)
        weight = np.exp(-((k / scale) ** 2) / 2)
        weight /= weight.sum()
        starts = (first + last).astype(np.int64)
        p = np.add.reduceat(weight, starts)
        beyond = (
            k - np.repeat(first, np.diff(np.append(starts, len(k))))
        ) / scale  # deviations from the cell's first k
        grown = np.add.reduceat(weight * np.exp(np.minimum(apart * beyond, 700.0)), starts)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = high - np.log(grown / p)
    else:
        edges = (np.append(first, last + 1.0) - 0.5) / scale
        p, q = normal_masses(edges), normal_masses(edges - apart)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.log(p) - np.log(q)
    held = p > 0
    p, low, high = p[held], low[held], high[held]
    return Cells(p, np.clip(mean[held], low, high), low, high, 0.0)


def points(pmf: FloatArray, steps: int, largest: float) -> Cells:
    """Every k a cell: P(k) against P(k - steps)."""
    if steps >= len(pmf) and largest == np.inf:
        return told_apart()
    q = np.zeros_like(pmf)
    if steps < len(pmf):
        q[steps:] = pmf[: len(pmf) - steps]
    held = pmf > 0
    p, q = pmf[held], q[held]
    with np.errstate(divide="ignore"):
        loss = np.where(q > NOTHING, np.log(p) - np.log(q), np.inf)
    certain = float(p[loss == np.inf].sum()) if largest == np.inf else 0.0
    loss = np.clip(loss, -largest, largest)
    return Cells(p, loss, loss, loss, min(certain, 1.0))
