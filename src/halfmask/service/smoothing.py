"""Better totals from the same reports: a period's sum, estimated from its neighbours too.

Totals follow season and weekday, and each one's noise is known. Sums over their number of reports, in parts of their
size, are taken as

    y_t = level + drift(t) + season(t mod s) + irregular(t) + noise(t)

with independent Gaussian terms: a drift of deviation a that is alike over l periods (Matern 3/2), a deviation b for
each day of the week (hour, half-hour or quarter-hour of the day, month of the year), an irregular part, and the noise,
whose variance is known. The irregular part is c times what is usual for the number of producers and readings; a few odd
periods deviate five times as far. The result is y without its noise, given all periods. If the noise is small compared
with the irregular part, that is the raw sum, and the raw sum and its own interval are returned. They are returned as
well if the noise of one period is about as large as the level: then nearly all would follow from the prior.

a, l, b and c are not known. The result is averaged over their posterior law: the mode, then two rounds of importance
sampling around it. Given each of them, a period is usual or odd with known probabilities. So the result is a mixture
of normal laws, and the interval ends at its quantiles. Their prior matters under heavy noise, which hides how
irregular totals are. So it is of the size that several kinds of data have (benchmarks/smoothing.py), and under heavy
noise the interval holds 95 % on average over such kinds, not for each of them.

It works on what is published alone, so no promise changes by it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.special import ndtr, ndtri

from halfmask.arrays import FloatArray, IntArray
from halfmask.service.estimates import NORMAL
from halfmask.service.storage.tables import Plain
from halfmask.streams import stream
from halfmask_device.campaign_calendar import LENGTHS as SHORT
from halfmask_device.instants import HOUR

LENGTHS = {**SHORT, "day": 24 * HOUR, "week": 168 * HOUR, "month": 731 * HOUR, "year": 8766 * HOUR}
"""About how long a period is."""
SEASONS = {"quarter_hour": 96, "half_hour": 48, "hour": 24, "day": 7, "week": 0, "month": 12, "year": 0}
"""Periods after which a season comes again; 0 without a season."""
BLOCK, MARGIN = 120, 60
"""Periods that are estimated together, and their neighbours that are used."""
LEAST = 14
MOST_BLOCKS = 12
"""Blocks that are worked out for one answer: each takes some tenth of a second."""
SEASONAL = {96: 0.25, 48: 0.25, 24: 0.25, 7: 0.06, 12: 0.12}
"""The median of b's prior: hours of a day differ more than days of a week."""
CENTRE = np.log([0.18, 12.0, 0.8, 0.65])
WIDTH = np.array([0.8, 0.7, 1.2, 0.5])
FREEDOM = 4
"""The prior of log a, l, b / its median, and c: Student's law each, of this centre, width and degrees of freedom."""
COMMON, PRODUCER, READING = 0.02, 0.35, 1.0
"""How far the irregular part of all, of a producer and of a reading deviates if c is 1, over the totals' size."""
DRIFTING = 0.45
"""The same over the deviation of the drift: totals that drift far are irregular too."""
ODD, ODDER = 0.02, 5.0
"""The share of odd periods, and how many times as far their irregular part deviates."""
NOISIEST = 1.0
"""Take the raw sums if their noise deviates further than this share of the level."""
LEAST_GAIN = 0.01
"""Take the raw sum unless the others take this share off its standard error."""
FURTHEST = 4.5
DRAWS = 48
WIDER = 1.2
_ONE_AT_A_TIME = Lock()


class Known(NamedTuple):
    """A closed period that is shown: its number, its published sum, and its numbers of reports and producers."""

    number: int
    estimate: float
    error: float
    low: float
    high: float
    reports: int
    producers: int


def known(number: int, entry: Plain) -> Known | None:
    """Return what is known of a period; None if it is not closed, is withheld, or has no sum."""
    told = entry.get("sum")
    if told is None or entry["state"] != "closed" or entry["withheld"] is not None:
        return None
    crowd = entry["reports"], entry["producers"]
    return Known(number, told["estimate"], told["standard_error"], told["low"], told["high"], *crowd)


def blocks(wanted: Iterable[int]) -> list[range]:
    """Return the latest `MOST_BLOCKS` blocks of period numbers that contain a wanted period."""
    latest = sorted({number // BLOCK for number in wanted})[-MOST_BLOCKS:]
    return [range(block * BLOCK, (block + 1) * BLOCK) for block in latest]


def best_sums(found: Mapping[int, Known], seasons: int, asked: Iterable[range]) -> dict[int, Plain]:
    """Return the best estimates of the sums of the periods in some blocks, by number.

    They are estimated from each block and the periods near it; a block with too few of these has none.
    """
    sums = dict[int, Plain]()
    for block in asked:
        around = range(block.start - MARGIN, block.stop + MARGIN)
        near = tuple(found[number] for number in around if number in found)
        with _ONE_AT_A_TIME:  # whoever asks for the same waits for it
            whole = smoothed(near, seasons)
        sums |= {number: each for number, each in whole.items() if number in block}
    return sums


@lru_cache(maxsize=256)
def smoothed(points: tuple[Known, ...], seasons: int) -> dict[int, Plain]:
    """Return the best estimate of each period's sum, by its number.

    A sum that would gain little keeps its own estimate, as do all sums if the noise is too large. The result is empty
    if there are too few periods to learn from, if all sums are 0, or if the model cannot be fitted.
    """
    if len(points) < LEAST or not any(each.estimate for each in points):
        return {}
    columns = (np.array(column, float) for column in zip(*points, strict=True))
    numbers, sums, errors, low, high, reports, producers = columns
    y, variance = sums / reports, (errors / reports) ** 2
    number = numbers.astype(np.int64)
    spread = max(float(y.var() - variance.mean()), 0.0)
    level = float(np.average(y, weights=1 / (variance + spread + 1e-4 * (y**2).mean())))
    if variance.mean() > NOISIEST**2 * level**2:
        return {each.number: _entry(each[1:5]) for each in points}
    size = float(np.sqrt(level**2 + spread))
    irregular = COMMON**2 + PRODUCER**2 / producers + READING**2 / reports
    model = Model(number, seasons, (y - level) / size, variance / size**2, irregular)
    try:
        mean, deviation, reach = model.estimates()
    except LinAlgError:
        return {}
    estimate, error, ends = reports * (level + size * mean), reports * size * deviation, reports * size * reach
    # Noise of few steps has a wider interval than the normal law's.
    own = np.divide(high - low, 2 * NORMAL * errors, out=np.ones_like(errors), where=errors > 0)
    ends *= np.maximum(1.0, own)
    better = np.stack([estimate, error, estimate + ends[0], estimate + ends[1]])
    best = np.where(error < (1 - LEAST_GAIN) * errors, better, (sums, errors, low, high))
    return {each.number: _entry(row) for each, row in zip(points, best.T.tolist(), strict=True)}


def _entry(row: Iterable[float]) -> Plain:
    """Return the estimate of a sum as it is published, with its interval."""
    return dict(zip(("estimate", "standard_error", "low", "high"), row, strict=True))


@dataclass(frozen=True, eq=False)
class Model:
    """Totals in parts of their size, ``y``, with noise of known ``variance``, at numbered periods.

    ``irregular`` is the variance of the irregular part if c is 1.
    """

    number: IntArray
    seasons: int
    y: FloatArray
    variance: FloatArray
    irregular: FloatArray

    @cached_property
    def _apart(self) -> IntArray:
        return np.asarray(np.abs(self.number[:, None] - self.number))

    def _irregular(self, theta: FloatArray) -> FloatArray:
        """Return the variance of the irregular part: totals that drift far are irregular too."""
        return np.asarray(np.exp(2 * theta[3]) * (self.irregular + DRIFTING**2 * np.exp(2 * theta[0])))

    def _root(self, theta: FloatArray, odd: FloatArray) -> FloatArray:
        """Return a factor of the covariance of y.

        The level has a deviation of 1, which is large enough to count as unknown.
        """
        a, length, b, _ = np.exp(theta)
        lag = np.arange(self._apart.max() + 1)
        far = np.sqrt(3) * lag / length
        alike = SEASONAL[self.seasons] ** 2 * (lag % self.seasons == 0) if self.seasons else np.zeros(len(lag))
        found = (1 + a**2 * (1 + far) * np.exp(-far) + b**2 * alike)[self._apart]
        found[np.diag_indices_from(found)] += odd * self._irregular(theta) + self.variance + 1e-10
        root: FloatArray = cho_factor(found, lower=True, overwrite_a=True, check_finite=False)[0]
        return root

    def surprise(self, theta: FloatArray, odd: FloatArray) -> float:
        """Return minus the log posterior density of (log a, log l, log b, log c), up to a constant; huge if far out."""
        away = (theta - CENTRE) / WIDTH
        if np.abs(away).max() > FURTHEST:
            return float(1e8 + np.abs(away).sum())
        try:
            root = self._root(theta, odd)
        except LinAlgError:
            return 1e8
        z = solve_triangular(root, self.y, lower=True, check_finite=False)
        prior = (FREEDOM + 1) / 2 * np.log1p(away**2 / FREEDOM).sum()  # its tails are heavy: clear data overrule it
        return float(z @ z / 2 + np.log(np.diag(root)).sum() + prior)

    def estimates(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the mean, the deviation and the 95 % interval of y without its noise, for each period.

        They are averaged over the posterior of a, l, b and c. The interval is relative to the mean.
        """
        thetas, weights, odd = self._posterior()
        kept = weights > 1e-3 * weights.max()
        parts = [self._given(theta, odd) for theta in thetas[kept]]
        share, mean, variance = (np.stack(each, axis=1) for each in zip(*parts, strict=True))
        share = share * (weights[kept] / weights[kept].sum())[:, None]
        share, mean, variance = (each.reshape(-1, len(self.y)) for each in (share, mean, variance))
        middle = (share * mean).sum(axis=0)
        deviation = np.sqrt((share * (variance + (mean - middle) ** 2)).sum(axis=0))
        ends = [_quantile(p, share, mean - middle, np.sqrt(variance)) for p in (0.025, 0.975)]
        return middle, deviation, np.stack(ends)

    def _given(self, theta: FloatArray, odd: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return probability, mean and variance for one theta, if a period is usual (first row) or odd (second row).

        By the other periods, y_t with its noise has the mean y_t - (K^-1 y)_t / (K^-1)_tt and the variance 1 /
        (K^-1)_tt.
        """
        inverse = cho_solve((self._root(theta, odd), True), np.eye(len(self.y)), check_finite=False)
        alone = np.diag(inverse)
        unlike = inverse @ self.y / alone
        c2 = self._irregular(theta)
        rest = np.maximum(1 / alone - self.variance - odd * c2, 0)
        before = rest + np.stack([c2, ODDER**2 * c2])
        seen = before + self.variance + 1e-10
        logs = np.log([[1 - ODD], [ODD]]) - unlike**2 / seen / 2 - np.log(seen) / 2
        share = np.exp(logs - logs.max(axis=0))
        return share / share.sum(axis=0), self.y - self.variance / seen * unlike, before * self.variance / seen

    def _posterior(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return values of theta with weights that represent its posterior law, and the irregular part's variance.

        Odd periods are found at the mode. Their variance is one over the expected inverse, as in expectation
        maximization. The expected variance itself would also set usual periods aside, and find c too small.
        """
        from scipy.optimize import minimize

        odd, middle = np.ones(len(self.y)), CENTRE
        for most, step in ((100, 1.0), (60, 0.3)):
            corners = middle + step * np.vstack([np.zeros(len(WIDTH)), np.diag(WIDTH)])
            options = {"maxfev": most, "xatol": 0.05, "initial_simplex": corners}
            middle = minimize(self.surprise, middle, (odd,), method="Nelder-Mead", options=options).x
            odd = 1 / (1 - (1 - ODDER**-2) * self._given(middle, odd)[0][1])

        def surprise(theta: FloatArray) -> float:
            return self.surprise(theta, odd)

        spread = _spread(surprise, middle)
        normal = stream(0, "service.smoothing").standard_normal((2, DRAWS, len(CENTRE)))
        for draws in normal:
            theta = middle + WIDER * draws @ np.linalg.cholesky(spread).T
            logs = (draws**2).sum(axis=1) / 2 - np.array([surprise(each) for each in theta])
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            trust = min(1.0, 1 / float((weights**2).sum()) / 20)
            middle = weights @ theta
            seen = (theta - middle).T @ ((theta - middle) * weights[:, None])
            spread = trust * seen + (1 - trust) * spread + 1e-4 * np.eye(len(CENTRE))
        return theta, weights, odd


def _quantile(p: float, share: FloatArray, mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """Return the p-quantile of each column's mixture of normal laws, by bisection."""
    each = mean + ndtri(p) * deviation
    low, high = each.min(axis=0), each.max(axis=0)
    safe = np.maximum(deviation, 1e-300)
    for _ in range(24):
        middle = (low + high) / 2
        below = (share * ndtr((middle - mean) / safe)).sum(axis=0) < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)


def _spread(of: Callable[[FloatArray], float], at: FloatArray, step: float = 0.15) -> FloatArray:
    """Return the covariance of the normal law that fits ``of`` around its minimum, by finite differences.

    ``of`` is minus the log of a density.
    """
    size = len(at)
    unit = step * np.eye(size)
    here, up, down = of(at), [of(at + each) for each in unit], [of(at - each) for each in unit]
    bent = np.diag([up[i] - 2 * here + down[i] for i in range(size)])
    for i in range(size):
        for j in range(i):
            bent[i, j] = bent[j, i] = of(at + unit[i] + unit[j]) - up[i] - up[j] + here
    values, vectors = np.linalg.eigh(bent / step**2)
    return np.asarray(vectors / np.maximum(values, 1 / WIDTH.max() ** 2) @ vectors.T)
