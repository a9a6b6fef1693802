"""Fit the choice model to producers' choices: conditional and mixed logit by maximum likelihood.

The likelihood of a producer's choices is the product of their probabilities over its occasions
(`rewards.choice_model`). If the value of privacy differs between producers, it is averaged over Gauss-Hermite nodes.

Standard errors are clustered by producer: H^-1 (sum_n s_n s_n^T) H^-1, with H the Hessian of the negative
log-likelihood and s_n a producer's score. The spread between producers has a profile likelihood interval instead.

A service reports only how many producers chose each setting in a period (`grouped`). The same people chose in all T
periods, so their choices are correlated in an unknown way. But for any correlation, (sum_t s_nt)(sum_t s_nt)^T is at
most T sum_t s_nt s_nt^T. So standard errors from T times the sum over all choices are never too small.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import approx_fprime, brentq, minimize

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.rewards.choice_model import PARAMETERS, ChoiceModel

OUT = -1
"""The value of ``chosen`` for not taking part."""

NODES = 15
REACH = 1.959963984540054
LIMIT = REACH**2
"""Decrease of twice the log-likelihood at the ends of a 95 % interval."""
DOUBLINGS = 8
LEAST_CURVATURE = 1e-4
"""Parameters can be separated if the least eigenvalue of the Hessian, scaled to a unit diagonal, is above this."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Choices of producers: R occasions and K settings.

    ``producer``             (R,) the producer who chose
    ``chosen``               (R,) index of the setting that was chosen, or `OUT`
    ``offered``              (R, K) whether the setting was offered
    ``privacy``, ``reward``  (R, K) of each setting
    ``count``                (R,) number of producers who made this choice, if individual producers are not known
    ``occasions``            how often each of these producers chose
    """

    producer: IntArray
    chosen: IntArray
    offered: np.ndarray
    privacy: FloatArray
    reward: FloatArray
    count: FloatArray | None = None
    occasions: int = 1

    def __post_init__(self) -> None:
        if not len(self.chosen):
            raise OptionError("there are no choices to learn from", kind="empty")
        if self.count is not None and len(np.unique(self.producer)) < len(self.chosen):
            raise OptionError(
                "choices with a count are of no known producers: each row is one of its own", kind="producers"
            )
        taken = self.chosen >= 0
        if not self.offered[taken, self.chosen[taken]].all():
            raise OptionError("a producer chose a setting that it was not offered", kind="offered")
        if not np.isfinite(self.privacy[self.offered]).all() or not np.isfinite(self.reward[self.offered]).all():
            raise OptionError("a privacy or reward of the choices is not a finite number", kind="finite")
        if taken.all() or not taken.any():
            raise OptionError(
                f"{'every' if taken.all() else 'no'} producer takes part on every occasion, so what makes them do so "
                "cannot be told: randomise rewards, and record those who decline",
                kind="alike",
            )


def grouped(rewards: FloatArray, taken: FloatArray, privacy: FloatArray, invited: int) -> Choices:
    """Return the choices of ``invited`` producers in T periods, from counts.

    ``rewards``  (T, K) in each period
    ``taken``    (T, K) number of producers who took each setting
    ``privacy``  (K,) of the settings
    """
    periods, settings = taken.shape
    out = invited - taken.sum(axis=1)
    if (out < 0).any():
        most = int(taken.sum(axis=1).max())
        message = f"{most:,} producers took part in a period, but only {invited:,} are said to be invited"
        raise OptionError(message, kind="invited", field="invited")
    count = np.column_stack([taken, out]).ravel()
    chosen = np.tile(np.append(np.arange(settings), OUT), periods)
    held = np.flatnonzero(count)
    shape = (len(held), settings)
    return Choices(
        np.arange(len(held)), chosen[held], np.ones(shape, bool), np.broadcast_to(privacy, shape),
        np.repeat(rewards, settings + 1, axis=0)[held], count[held].astype(float), periods,
    )  # fmt: skip


@dataclass(frozen=True)
class Fit:
    """The fitted model, the standard errors of take, worth and money, and the log-likelihood.

    ``spread_range``  95 % interval of the spread between producers; None if the spread was not fitted. It starts at 0
                      if producers may all be alike.
    """

    model: ChoiceModel
    errors: tuple[float, ...]
    log_likelihood: float
    occasions: int
    producers: int
    spread_range: tuple[float, float] | None = None


def fit_choices(choices: Choices, *, mixed: bool = False) -> Fit:
    """Return the most likely model. Raise an OptionError if the choices cannot separate its parameters.

    ``mixed``  also fit the spread between producers
    """
    scale = _scale(choices)
    likelihood = _Likelihood(choices, mixed, scale)
    theta, value = _most_likely(likelihood, mixed)
    covariance = np.zeros((4, 4))
    covariance[:3, :3] = _given_spread(likelihood, theta) * choices.occasions
    between = None
    if mixed:
        between, at_high = _spread_range(likelihood, theta, value + LIMIT / 2 * choices.occasions)
        reach = between[1] - theta[3]
        with_spread = np.append((at_high - theta[:3]) / reach, 1.0)  # change of the others per unit of spread
        covariance += np.outer(with_spread, with_spread) * (reach / REACH) ** 2
    unit = np.array([1.0, 1.0, scale, 1.0])
    take, worth, money, spread = map(float, theta / unit)
    covariance = covariance / np.outer(unit, unit)
    model = ChoiceModel(take, worth, money, spread, tuple(map(tuple, covariance.tolist())))
    errors = tuple(float(e) for e in np.sqrt(np.diag(covariance))[:3])
    total = int(likelihood.weight.sum())
    if choices.count is None:
        return Fit(model, errors, -value, len(choices.chosen), total, between)
    return Fit(model, errors, -value, total, total // choices.occasions, between)


def _most_likely(likelihood: "_Likelihood", mixed: bool) -> tuple[FloatArray, float]:
    """Return the best (take, worth, money, spread) and its negative log-likelihood. Unless ``mixed``, spread is 0."""
    theta, value = likelihood.best_at(0.0, np.zeros(3))
    if mixed:
        found = minimize(likelihood.both, np.append(theta, 1.0), jac=True, method="BFGS", options=likelihood.close)
        if found.fun < value - 1e-6:
            return np.append(found.x[:3], abs(found.x[3])), float(found.fun)
    return np.append(theta, 0.0), value


def _given_spread(likelihood: "_Likelihood", theta: FloatArray) -> FloatArray:
    """Return the clustered covariance of take, worth and money, for the spread in ``theta``.

    Raise an OptionError if they cannot be separated.
    """
    hessian = _hessian(likelihood, theta)
    _check_told_apart(hessian)
    inverse = np.linalg.inv(hessian)
    scores = likelihood.parts(theta)[1][:, :3]
    return np.asarray(inverse @ (scores.T @ (likelihood.weight[:, None] * scores)) @ inverse)


def _spread_range(likelihood: "_Likelihood", theta: FloatArray, limit: float) -> tuple[tuple[float, float], FloatArray]:
    """Return the profile likelihood interval (95 %) of the spread, and the other parameters at its upper end.

    The likelihood is an even function of the spread, so its curvature at 0 does not measure uncertainty. If all
    producers are alike, half of all studies estimate 0. The interval then starts at 0, and contains the truth in more
    than 95 % of studies.
    """

    def excess(spread: float) -> float:
        return likelihood.best_at(spread, theta[:3])[1] - limit

    own = float(theta[3])
    high = own + max(own, 0.5)
    for _ in range(DOUBLINGS):
        if excess(high) > 0:
            break
        high = own + 2 * (high - own)
    else:
        raise OptionError(
            "the choices do not tell how much producers differ: let each choose more often, or leave `mixed` out",
            kind="spread",
        )
    near = {"xtol": 1e-3 * (high - own), "rtol": 1e-3}
    high = float(brentq(excess, own, high, **near))
    low = float(brentq(excess, 0.0, own, **near)) if own > 0 and excess(0.0) > 0 else 0.0
    return (low, high), likelihood.best_at(high, theta[:3])[0]


def _scale(choices: Choices) -> float:
    """Return the standard deviation of rewards, which is the unit in which they are fitted."""
    spread = float(choices.reward[choices.offered].std())
    if spread == 0:
        raise OptionError(
            "all rewards were the same, so what a reward does cannot be told: randomise rewards, then fit again",
            kind="alike",
        )
    return spread


class _Likelihood:
    """The negative log-likelihood of (take, worth, money, spread), its gradient, and each producer's score.

    ``weight``  number of producers that each row represents
    """

    def __init__(self, choices: Choices, mixed: bool, scale: float) -> None:
        order = np.argsort(choices.producer, kind="stable")
        _, self.starts = np.unique(choices.producer[order], return_index=True)
        self.offered, self.chosen = choices.offered[order], choices.chosen[order]
        self.reward = np.where(self.offered, choices.reward[order], 0.0) / scale
        self.privacy = np.where(self.offered, choices.privacy[order], 0.0)
        self.taken = self.chosen >= 0
        self.columns = (np.ones_like(self.privacy), self.privacy, self.reward)
        self.got = np.column_stack([self._own(column) for column in self.columns])
        self.weight = np.ones(len(self.starts)) if choices.count is None else choices.count[order]
        self.nodes, self.chance = np.zeros(1), np.ones(1)
        if mixed:
            self.nodes, chance = np.polynomial.hermite_e.hermegauss(NODES)
            self.chance = chance / chance.sum()

    @property
    def close(self) -> dict[str, float]:
        """The tolerance at which a search ends."""
        return {"gtol": 1e-7 * float(self.weight.sum())}

    def best_at(self, spread: float, start: FloatArray) -> tuple[FloatArray, float]:
        """Return the best (take, worth, money) for a fixed spread, and the negative log-likelihood there."""

        def both(x: FloatArray) -> tuple[float, FloatArray]:
            value, slope = self.both(np.append(x, spread))
            return value, slope[:3]

        found = minimize(both, start, jac=True, method="BFGS", options=self.close)
        return np.asarray(found.x), float(found.fun)

    def both(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood and its gradient."""
        log, scores = self.parts(theta)
        return -float(self.weight @ log), np.asarray(-self.weight @ scores)

    def parts(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each producer's log-likelihood (N,) and its gradient (N, P)."""
        logs, slopes = [], []
        for node in self.nodes:
            log, slope = self._given(theta[0], theta[1] + theta[3] * node, theta[2])
            logs.append(log)
            slopes.append(np.column_stack([slope, node * slope[:, 1]]))
        joint = np.array(logs) + np.log(self.chance)[:, None]
        top = joint.max(axis=0)
        total = top + np.log(np.exp(joint - top).sum(axis=0))
        posterior = np.exp(joint - total)
        return total, np.einsum("jn,jnp->np", posterior, np.array(slopes))

    def _given(self, take: float, worth: float, money: float) -> tuple[FloatArray, FloatArray]:
        """Return each producer's log-likelihood and its gradient, for one value of privacy."""
        value = np.where(self.offered, take + worth * self.privacy + money * self.reward, -np.inf)
        top = np.maximum(value.max(axis=1), 0.0)
        weight = np.exp(value - top[:, None])
        total = np.exp(-top) + weight.sum(axis=1)
        chance = weight / total[:, None]
        log = self._own(value) - top - np.log(total)
        expected = np.column_stack([(chance * column).sum(axis=1) for column in self.columns])
        return np.add.reduceat(log, self.starts), np.add.reduceat(self.got - expected, self.starts, axis=0)

    def _own(self, column: FloatArray) -> FloatArray:
        """Return the entry of the chosen setting for each occasion; 0 for not taking part."""
        return np.where(self.taken, column[np.arange(len(column)), self.chosen], 0.0)


def _hessian(likelihood: _Likelihood, theta: FloatArray) -> FloatArray:
    """Return the Hessian of take, worth and money, by finite differences of the exact gradient."""
    spread = theta[3]
    raw = approx_fprime(theta[:3], lambda at: likelihood.both(np.append(at, spread))[1][:3], 1e-6)
    return np.asarray((raw + raw.T) / 2)


def _check_told_apart(hessian: FloatArray) -> None:
    """Raise an OptionError that names the parameters that the choices cannot separate."""
    size = np.sqrt(np.maximum(np.diag(hessian), 0.0))
    names = PARAMETERS[:3]
    flat = [name for name, each in zip(names, size, strict=True) if each < 1e-6]
    if not flat:
        values, directions = np.linalg.eigh(hessian / np.outer(size, size))
        if values[0] >= LEAST_CURVATURE:
            return
        flat = [name for name, part in zip(names, directions[:, 0], strict=True) if abs(part) > 0.3]
    raise OptionError(
        f"the choices do not tell {' and '.join(flat)} apart: rewards moved together with privacy, or hardly moved. "
        "Randomise rewards, then fit again",
        kind="apart",
    )
