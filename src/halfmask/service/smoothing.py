"""Better totals from the same reports: a period's sum, estimated from its neighbours too.

Totals follow season and weekday, and each one's noise is known. Sums over their number of reports, in parts of their
level, are taken as

    y_t = 1 + drift(t) + season(t mod s) + irregular(t) + noise(t)

with independent Gaussian terms: a drift of deviation a that is alike over l periods (Matern 3/2), a deviation b for
each day of the week (hour of the day, month of the year), an irregular part of deviation c, and the noise, whose
variance is known. What is wanted is y without its noise: its mean given all periods. Where the noise is small beside
the irregular part that is the raw sum, and the raw sum is taken wherever its own error is no larger.

a, l, b and c are not known. The result is averaged over their posterior law, so that the interval holds what is not
known of them: the mode, then two rounds of importance sampling around it. Priors are wide but for c, of which heavy
noise tells least: a total that varies less than others do from day to day must show it. Where periods differ from what
their neighbours say by more than they should, the interval widens in proportion; and it is wider than normal the more
it rests on neighbours, since holidays are no Gaussian.

It works on what is published alone, so no promise changes by it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular

from halfmask.arrays import FloatArray, IntArray
from halfmask.service.calendars import HOUR
from halfmask.service.estimates import NORMAL
from halfmask.service.storage.base import Plain
from halfmask.streams import stream

LENGTHS = {"hour": HOUR, "day": 24 * HOUR, "week": 168 * HOUR, "month": 30.436875 * 24 * HOUR, "year": 8766 * HOUR}
SEASONS = {"hour": 24, "day": 7, "week": 0, "month": 12, "year": 0}
"""Periods after which a season comes again; 0 where there is none."""
BLOCK, MARGIN = 120, 60
"""Periods that are estimated together, and those beside them that are looked at."""
LEAST = 14
MOST_BLOCKS = 12
"""Blocks that are worked out for one answer: each takes some tenth of a second."""
CENTRE = np.log([0.1, 15.0, 0.03, 0.06])
WIDTH = np.array([1.0, 0.8, 1.0, 0.6])
"""The prior of log a, l, b and c: a normal law each."""
FURTHEST = 4.5
DRAWS = 48
WIDER = 1.3
TAILS = 0.3
"""What a normal interval of a period that rests on its neighbours alone is widened by, in deviations."""


class Known(NamedTuple):
    """A closed period that is shown: its number, estimate and standard error of its sum, and reports."""

    number: int
    estimate: float
    error: float
    reports: int


def number_of(kind: str, begins: int) -> int:
    """A period's number on a line of time."""
    return round(begins / LENGTHS[kind])


def point(kind: str, begins: int, entry: Plain) -> Known | None:
    """What is known of a period; None where nothing is published."""
    told = entry.get("sum")
    if told is None or entry["state"] != "closed" or entry["withheld"] is not None:
        return None
    return Known(number_of(kind, begins), told["estimate"], told["standard_error"], entry["reports"])


def blocks(kind: str, numbers: Iterable[int]) -> Iterator[tuple[range, int, int]]:
    """The latest `MOST_BLOCKS` blocks that numbered periods are in: the numbers of each, and the instants between which
    the periods begin that it looks at.
    """
    for block in sorted({number // BLOCK for number in numbers})[-MOST_BLOCKS:]:
        whole = range(block * BLOCK, (block + 1) * BLOCK)
        first, last = (whole.start - MARGIN - 0.5) * LENGTHS[kind], (whole.stop + MARGIN - 0.5) * LENGTHS[kind]
        yield whole, int(first), int(last)


@lru_cache(maxsize=256)
def smoothed(points: tuple[Known, ...], seasons: int) -> dict[int, Plain]:
    """The best estimate of each period's sum, by its number; nothing where there are too few to learn from."""
    if len(points) < LEAST or not any(each.estimate for each in points):
        return {}
    numbers, sums, errors, reports = (np.array(column, float) for column in zip(*points, strict=True))
    y, variance = sums / reports, (errors / reports) ** 2
    spread = max(float(y.var() - variance.mean()), 0.0)
    level = float(np.average(y, weights=1 / (variance + spread + 1e-4 * (y**2).mean())))
    size = max(abs(level), np.sqrt(spread))
    model = Model(numbers.astype(np.int64), seasons, (y - level) / size, variance / size**2)
    try:
        mean, deviation = model.estimates()
    except LinAlgError:
        return {}
    estimate, error = reports * (level + size * mean), reports * size * deviation
    estimate, error = np.where(error < errors, (estimate, error), (sums, errors))
    rests = 1 - np.divide(error**2, errors**2, out=np.ones(len(error)), where=errors > 0)
    reach = (NORMAL + TAILS * rests) * error
    return {
        each.number: {"estimate": middle, "standard_error": around, "low": middle - far, "high": middle + far}
        for each, middle, around, far in zip(points, estimate.tolist(), error.tolist(), reach.tolist(), strict=True)
    }


@dataclass(frozen=True, eq=False)
class Model:
    """Totals relative to their level, ``y``, with noise of known ``variance``, at numbered periods."""

    number: IntArray
    seasons: int
    y: FloatArray
    variance: FloatArray

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
        found[np.diag_indices_from(found)] += c**2
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
        mean, second, misfit = np.zeros(len(self.y)), np.zeros(len(self.y)), 0.0
        for theta, weight in zip(thetas, weights, strict=True):
            if weight > 1e-4 * weights.max():
                own, variance, unlike = self._given(theta)
                mean += weight * own
                second += weight * (variance + own**2)
                misfit += weight * unlike
        deviation = np.sqrt(np.maximum(second - mean**2, 0))
        return mean, deviation * max(1.0, float(np.sqrt(misfit)))

    def _given(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Mean and variance for one theta, and by how much periods differ from what their neighbours say.

        That is the mean square of (K^-1 y)_t / sqrt((K^-1)_tt), which is 1 where the model holds.
        """
        covariance = self.covariance(theta)
        root = self._root(covariance)
        inverse = cho_solve(root, np.eye(len(self.y)), check_finite=False)
        gain = inverse @ covariance
        variance = np.maximum(np.diag(covariance) - np.einsum("ij,ij->j", covariance, gain), 0)
        weighted = inverse @ self.y
        return gain.T @ self.y, variance, float(np.mean(weighted**2 / np.diag(inverse)))

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
