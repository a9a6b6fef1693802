"""Better totals from the same reports: a period's sum, estimated from its neighbours too.

Totals follow season and weekday, and each one's noise is known. Sums over their number of reports, in parts of their
size, are taken as

    y_t = level + drift(t) + season(t mod s) + irregular(t) + noise(t)

with independent Gaussian terms: a drift of deviation a that is alike over l periods (Matern 3/2), a deviation b for
each day of the week (hour of the day, month of the year), an irregular part of deviation c, larger where few report,
and the noise, whose variance is known. What is wanted is y without its noise: its mean given all periods. Where the
noise is small beside the irregular part that is the raw sum, and the raw sum and its own interval are taken wherever
its error is no larger.

a, l, b and c are not known. The result is averaged over their posterior law, so that the interval holds what is not
known of them: the mode, then two rounds of importance sampling around it. Where periods differ from what their
neighbours say by more than they should, all intervals widen in proportion, and above all that of the period that does.

It works on what is published alone, so no promise changes by it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from halfmask.arrays import FloatArray, IntArray
from halfmask.service.calendars import HOUR
from halfmask.service.estimates import NORMAL
from halfmask.service.storage.base import Plain
from halfmask.streams import stream

LENGTHS = {"hour": HOUR, "day": 24 * HOUR, "week": 168 * HOUR, "month": 731 * HOUR, "year": 8766 * HOUR}
"""About how long a period is."""
SEASONS = {"hour": 24, "day": 7, "week": 0, "month": 12, "year": 0}
"""Periods after which a season comes again; 0 where there is none."""
BLOCK, MARGIN = 120, 60
"""Periods that are estimated together, and those beside them that are looked at."""
LEAST = 14
MOST_BLOCKS = 12
"""Blocks that are worked out for one answer: each takes some tenth of a second."""
CENTRE = np.log([0.1, 15.0, 0.1, 0.15])
WIDTH = np.array([1.2, 0.8, 1.5, 1.0])
"""The prior of log a, l, b and c: a normal law each."""
FURTHEST = 4.5
DRAWS = 48
WIDER = 1.3
ODD = 2.0
"""Deviations from what its neighbours say beyond which a period's own interval widens."""
TAILS = 0.3
"""What the interval of a period that rests on its neighbours alone is widened by, in deviations: no day is Gaussian."""
_ONE_AT_A_TIME = Lock()


class Known(NamedTuple):
    """A closed period that is shown: its number, its sum as it is published, and its reports."""

    number: int
    estimate: float
    error: float
    low: float
    high: float
    reports: int


def known(number: int, entry: Plain) -> Known | None:
    """What is known of a period; None where nothing is published."""
    told = entry.get("sum")
    if told is None or entry["state"] != "closed" or entry["withheld"] is not None:
        return None
    return Known(number, told["estimate"], told["standard_error"], told["low"], told["high"], entry["reports"])


def blocks(wanted: Iterable[int]) -> list[range]:
    """The latest `MOST_BLOCKS` blocks of numbers that wanted periods are in."""
    latest = sorted({number // BLOCK for number in wanted})[-MOST_BLOCKS:]
    return [range(block * BLOCK, (block + 1) * BLOCK) for block in latest]


def best_sums(found: Mapping[int, Known], seasons: int, asked: Iterable[range]) -> dict[int, Plain]:
    """The best estimate of each period's sum in some blocks, by its number; none where there is too little around."""
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
    """The best estimate of each period's sum, by its number; nothing where there are too few to learn from."""
    if len(points) < LEAST or not any(each.estimate for each in points):
        return {}
    numbers, sums, errors, low, high, reports = (np.array(column, float) for column in zip(*points, strict=True))
    y, variance = sums / reports, (errors / reports) ** 2
    spread = max(float(y.var() - variance.mean()), 0.0)
    level = float(np.average(y, weights=1 / (variance + spread + 1e-4 * (y**2).mean())))
    # Of totals around zero little but noise is known: what they may vary by is of the size that it could hide.
    size = float(np.sqrt(level**2 + spread + 4 * np.sqrt(2 / len(y)) * variance.mean()))
    few = np.maximum(1.0, np.median(reports) / reports)
    model = Model(numbers.astype(np.int64), seasons, (y - level) / size, variance / size**2, few)
    try:
        mean, deviation = model.estimates()
    except LinAlgError:
        return {}
    estimate, error = reports * (level + size * mean), reports * size * deviation
    own, noisy = np.zeros((2, len(y))), errors > 0
    np.divide([high - low, 2 * error**2], [2 * errors, 2 * errors**2], out=own, where=noisy)
    reach = (np.maximum(NORMAL, own[0]) + TAILS * (1 - own[1].clip(0, 1))) * error
    better = np.stack([estimate, error, estimate - reach, estimate + reach])
    best = np.where(error < errors, better, (sums, errors, low, high))
    names = ("estimate", "standard_error", "low", "high")
    return {each.number: dict(zip(names, row, strict=True)) for each, row in zip(points, best.T.tolist(), strict=True)}


@dataclass(frozen=True, eq=False)
class Model:
    """Totals in parts of their size, ``y``, with noise of known ``variance``, at numbered periods.

    ``few`` is what the irregular part's variance is multiplied by where fewer report than usual.
    """

    number: IntArray
    seasons: int
    y: FloatArray
    variance: FloatArray
    few: FloatArray

    @cached_property
    def _apart(self) -> FloatArray:
        return np.asarray(np.abs(self.number[:, None] - self.number), float)

    @cached_property
    def _alike(self) -> FloatArray:
        if not self.seasons:
            return np.zeros_like(self._apart)
        return np.asarray(self._apart % self.seasons == 0, float)

    def covariance(self, theta: FloatArray) -> FloatArray:
        """Of y without its noise; the level itself has a deviation of 1, which is as good as unknown."""
        a, length, b, c = np.exp(theta)
        far = np.sqrt(3) * self._apart / length
        found = 1 + a**2 * (1 + far) * np.exp(-far) + b**2 * self._alike
        found[np.diag_indices_from(found)] += c**2 * self.few
        return np.asarray(found)

    def _root(self, covariance: FloatArray) -> tuple[FloatArray, bool]:
        with_noise = covariance + np.diag(self.variance + 1e-10)
        root: tuple[FloatArray, bool] = cho_factor(with_noise, lower=True, check_finite=False)
        return root

    def surprise(self, theta: FloatArray) -> float:
        """Minus the log of the posterior density of (log a, log l, log b, log c), but for a constant."""
        away = (theta - CENTRE) / WIDTH
        if np.abs(away).max() > FURTHEST:
            return float(1e8 + np.abs(away).sum())
        try:
            root = self._root(self.covariance(theta))[0]
        except LinAlgError:
            return 1e8
        z = solve_triangular(root, self.y, lower=True, check_finite=False)
        return float(z @ z / 2 + np.log(np.diag(root)).sum() + away @ away / 2)

    def estimates(self) -> tuple[FloatArray, FloatArray]:
        """Mean and deviation of y without its noise, averaged over what a, l, b and c may be."""
        thetas, weights = self._posterior()
        mean, second, odd = np.zeros((3, len(self.y)))
        for theta, weight in zip(thetas, weights, strict=True):
            if weight > 1e-4 * weights.max():
                own, variance, unlike = self._given(theta)
                mean += weight * own
                second += weight * (variance + own**2)
                odd += weight * unlike
        wider = np.maximum(1.0, odd.mean()) * np.maximum(1.0, odd / ODD**2)
        return mean, np.sqrt(np.maximum(second - mean**2, 0) * wider)

    def _given(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean and variance for one theta, and the square of how far periods are from what their neighbours say.

        That is (K^-1 y)_t^2 / (K^-1)_tt, which is 1 on average where the model holds.
        """
        covariance = self.covariance(theta)
        root = self._root(covariance)
        inverse = cho_solve(root, np.eye(len(self.y)), check_finite=False)
        gain = inverse @ covariance
        variance = np.maximum(np.diag(covariance) - np.einsum("ij,ij->j", covariance, gain), 0)
        return gain.T @ self.y, variance, (inverse @ self.y) ** 2 / np.diag(inverse)

    def _posterior(self) -> tuple[FloatArray, FloatArray]:
        """Values of theta, and their weights, that stand for its posterior law."""
        from scipy.optimize import minimize

        found = minimize(self.surprise, CENTRE, method="Nelder-Mead", options={"maxfev": 160, "xatol": 0.05})
        middle, spread = found.x, _spread(self.surprise, found.x)
        normal = stream(0, "service.smoothing").standard_normal((2, DRAWS, len(CENTRE)))
        for draws in normal:
            theta = middle + WIDER * draws @ np.linalg.cholesky(spread).T
            logs = (draws**2).sum(axis=1) / 2 - np.array([self.surprise(each) for each in theta])
            weights = np.exp(logs - logs.max())
            weights /= weights.sum()
            trust = min(1.0, 1 / float((weights**2).sum()) / 20)
            middle = weights @ theta
            seen = (theta - middle).T @ ((theta - middle) * weights[:, None])
            spread = trust * seen + (1 - trust) * spread + 1e-4 * np.eye(len(CENTRE))
        return theta, weights


def _spread(of: Callable[[FloatArray], float], at: FloatArray, step: float = 0.15) -> FloatArray:
    """The covariance of the normal law whose density falls like ``of`` rises around its least, by differences."""
    size = len(at)
    unit = step * np.eye(size)
    here, up, down = of(at), [of(at + each) for each in unit], [of(at - each) for each in unit]
    bent = np.diag([up[i] - 2 * here + down[i] for i in range(size)])
    for i in range(size):
        for j in range(i):
            bent[i, j] = bent[j, i] = of(at + unit[i] + unit[j]) - up[i] - up[j] + here
    values, vectors = np.linalg.eigh(bent / step**2)
    return np.asarray(vectors / np.maximum(values, 1 / WIDTH.max() ** 2) @ vectors.T)
