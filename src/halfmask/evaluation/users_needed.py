"""The number of users that reduces the mean relative error of an aggregate to a wanted accuracy.

Users have values 0.1 + 2 Beta(1, 3). Sums, means and corrected variances have a formula. Their error is the mean of N
independent terms, normal for large N, so E|error| / g(S) = sqrt(2 v / (pi N)) / g, with v the variance of one user's
term and g the mean or the variance of the values. Solved for N, the result is too small by less than one user for sums,
and by a few for variances, at any accuracy.

For other aggregates, the number is estimated from drawn errors: the point at which their mean crosses the accuracy,
with an interval.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting

BASE, WIDTH, BETA = 0.1, 2.0, (1, 3)
MOST = 2**18
"""Largest number of users drawn for an estimate."""
REACH, POINTS = 3.0, 9
"""The crossing is searched from a third to three times the first number of users found, at this many sizes."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class UsersNeeded:
    """The number of users from which on the mean error is within the accuracy, with its 95 % interval.

    ``users`` is None if no tested number is enough; ``high`` is infinite if none is certain to be. For a formula,
    ``low`` and ``high`` equal ``users``.
    """

    users: float | None
    low: float
    high: float


@dataclass(frozen=True)
class NoiseShares:
    """E psi^2 and E psi^4 of settings that mask equal shares of the users; each share is additive or relative."""

    relative: tuple[bool, ...]
    second: FloatArray
    fourth: FloatArray

    @classmethod
    def of(cls, settings: Sequence[PrivacySetting]) -> "NoiseShares":
        """Return the moments by setting; 0 for mechanisms without a noise law."""
        laws = [each.kind != "direct" for each in settings]
        moments = np.array([
            each.law.moments(np.array([each.parameters]))[0] if law else np.zeros(4)
            for each, law in zip(settings, laws, strict=True)
        ])  # fmt: skip
        return cls(tuple(each.kind == "relative" for each in settings), moments[:, 1], moments[:, 3])

    @property
    def added(self) -> float:
        """The number A in E m^2 = A + (1 + R) E s^2 over all users."""
        return float(np.mean(np.where(self.relative, 0.0, self.second)))

    @property
    def scaled(self) -> float:
        """The number R in E m^2 = A + (1 + R) E s^2 over all users."""
        return float(np.mean(np.where(self.relative, self.second, 0.0)))

    def corrected(self, masked: FloatArray) -> float:
        """Return an estimate of Var(s) from masked values: E V = (1 + R) Var(s) + R mean^2 + A."""
        return float((masked.var() - self.added - self.scaled * masked.mean() ** 2) / (1 + self.scaled))


def draw_values(size: int, rng: np.random.Generator) -> FloatArray:
    """Return random values 0.1 + 2 Beta(1, 3)."""
    return BASE + WIDTH * rng.beta(*BETA, size)


def by_formula(name: str, settings: Sequence[PrivacySetting], accuracy: float) -> float | None:
    """Return the users needed for a sum, mean or corrected variance with symmetric noise of a known law;
    None for others.
    """
    known = all(each.kind != "direct" and (each.law.proven or each.silent) for each in settings)
    if not known or name not in ("sum", "mean", "variance"):
        return None
    shares, s = NoiseShares.of(settings), value_moments()
    own = s[2] - s[1] ** 2 if name == "variance" else s[1]
    term = _variance_term(shares, s) if name == "variance" else shares.added + shares.scaled * s[2]
    return float(max(1, np.ceil(2 * term / (np.pi * (accuracy * own) ** 2))))


def value_moments() -> FloatArray:
    """Return E s^k for k = 0..4 of the drawn values: E Beta^j = (a)_j / (a + b)_j, and the binomial theorem."""
    a, b = BETA
    beta = np.cumprod([1.0, *((a + j) / (a + b + j) for j in range(4))])
    return np.array(
        [sum(math.comb(k, j) * BASE ** (k - j) * WIDTH**j * beta[j] for j in range(k + 1)) for k in range(5)]
    )


def _variance_term(shares: NoiseShares, s: FloatArray) -> float:
    """Return N times the variance of the error of the corrected variance.

    With noise e (psi or s psi) and c = (1 + R) E s, a user's term is (2 e (s - c) + e^2 - R s^2 - A) / (1 + R). For
    additive noise alone this gives 4 Var(s) sigma^2 + mu4 - sigma^4. Shares are fixed, so variances are within shares.
    """
    second, fourth, scaled = shares.second, shares.fourth, shares.scaled
    c = (1 + scaled) * s[1]
    added = 4 * second * (s[2] - 2 * c * s[1] + c**2) + fourth - second**2 + scaled**2 * (s[4] - s[2] ** 2)
    relative = (
        4 * second * (s[4] - 2 * c * s[3] + c**2 * s[2])
        + s[4] * (fourth - 2 * scaled * second + scaled**2)
        - (s[2] * (second - scaled)) ** 2
    )
    return float(np.mean(np.where(shares.relative, relative, added))) / (1 + scaled) ** 2


def estimated(
    sizes: Sequence[int], errors: FloatArray, accuracy: float, draw: Callable[[int], FloatArray], *, falls: bool
) -> UsersNeeded:
    """Return an estimate of the users needed, with its interval.

    ``sizes``, ``errors``  doubling sizes, and drawn errors (sizes, repeats)
    ``draw``               returns errors (repeats,) at a further size
    ``falls``              whether the error falls with the number of users

    If it falls, sizes are doubled until the mean error is within the accuracy, up to `MOST`. New draws at `POINTS`
    sizes around this crossing give the estimate. The interval only assumes that the mean error falls there.
    """
    sizes, rows = list(sizes), list(errors)
    while falls and rows[-1].mean() > accuracy and sizes[-1] < MOST:
        sizes.append(2 * sizes[-1])
        rows.append(draw(sizes[-1]))
    drawn = np.array(rows)
    means = drawn.mean(axis=1)
    reach = _quantile(drawn.shape[1] - 1) * drawn.std(axis=1, ddof=1) / math.sqrt(drawn.shape[1])
    short, unsure = np.flatnonzero(means - reach > accuracy), np.flatnonzero(means + reach > accuracy)
    low = float(sizes[short[-1]]) if len(short) else 1.0
    if not len(unsure):
        return UsersNeeded(float(sizes[0]), low, float(sizes[0]))
    if means[-1] > accuracy:
        return UsersNeeded(None, low, math.inf)
    high = float(sizes[unsure[-1] + 1]) if unsure[-1] + 1 < len(sizes) else math.inf
    first = sizes[1 + max(np.flatnonzero(means > accuracy), default=-1)]
    return _crossing(first, accuracy, draw, low, high)


def _crossing(first: int, accuracy: float, draw: Callable[[int], FloatArray], low: float, high: float) -> UsersNeeded:
    """Return where a parabola through log mean error over log users crosses the accuracy, with its 95 % interval.

    The interval ends at the sizes at which the confidence band of the parabola leaves the accuracy. If it does not do
    so within the drawn sizes, the interval ends at ``low`` or ``high``.
    """
    sizes = np.unique(np.maximum(np.rint(first * np.geomspace(1 / REACH, REACH, POINTS)), 1).astype(int))
    errors = np.array([draw(int(size)) for size in sizes])
    means, repeats = errors.mean(axis=1), errors.shape[1]
    if not means.all():
        return UsersNeeded(float(first), low, high)
    noise = float(np.mean(errors.var(axis=1, ddof=1) / means**2)) / repeats
    near = np.geomspace(sizes[0], sizes[-1], 1000)
    powers, at = (np.vander(np.log(each / first), 3) for each in (sizes, near))
    inverse = np.linalg.inv(powers.T @ powers)
    curve = at @ (inverse @ (powers.T @ np.log(means / accuracy)))
    band = _quantile(len(sizes) * (repeats - 1)) * np.sqrt(noise * np.einsum("ij,jk,ik->i", at, inverse, at))
    above, may_be_below, may_be_above = curve > 0, curve - band <= 0, curve + band >= 0
    if not may_be_below[0] and may_be_below.any():
        low = float(near[np.argmax(may_be_below)])
    if not may_be_above[-1] and may_be_above.any():
        high = float(near[len(near) - 1 - np.argmax(may_be_above[::-1])])
    low, high = sorted((low, high))  # an end from other draws may be on the wrong side of this one
    users = float(near[np.flatnonzero(above)[-1]]) if above.any() else float(near[0])
    return UsersNeeded(min(max(users, low), high), low, high)


def _quantile(freedom: int) -> float:
    """Return the two-sided quantile of Student's t."""
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, freedom))
