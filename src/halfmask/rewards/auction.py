"""Truthful purchases: producers state their costs, and nobody gains by stating a false cost.

Least cost under a bound on variance (Cummings, Ligett, Roth, Wu, Ziani: "Accuracy for Sale"). Producer n states a cost
c_nk for sharing with setting k, whose noise has variance v_k. A producer who is not asked costs nothing and adds the
variance v_0 of the consumer's guess of its reading. The consumer wants a total variance of at most V at least cost. If
settings may be drawn by lottery, this is a linear program: everyone gets argmin_k c_nk + lambda v_k, except one
producer with a lottery of two settings. Payments follow Vickrey, Clarke and Groves: each producer gets what it saves
the others. Stating the truth is then best for everyone, and nobody loses. A producer with a lottery gets the stated
cost of the setting that is drawn, plus a surplus that does not depend on the draw, so that it does not lose by the draw
either.

Within a budget B (Ghosh and Roth, "Selling Privacy at Auction"). Producers state their cost v per unit of epsilon. With
costs sorted, let k be the largest number with v_k / (N - k) <= B / k. These k producers are bought at epsilon
1 / (N - k), each for min(B / k, v_(k+1) / (N - k)).

Two things are not ensured: that producers send their true *readings*, and that nobody bids under two names.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError

CLOSE = 1e-13
"""Numbers with a smaller relative difference count as equal."""
LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Purchase:
    """The setting that each producer sells, and its payment.

    ``lottery``   (N, K + 1) probabilities: of not being asked (column 0) and of each setting
    ``payments``  (N,) payment of each producer; the expected payment for the producer with a lottery
    ``costs``     (N,) stated cost of what each sells; the rest of the payment is surplus
    ``variance``  total variance
    """

    lottery: FloatArray
    payments: FloatArray
    costs: FloatArray
    variance: float

    @property
    def spent(self) -> float:
        """The sum of all payments."""
        return float(self.payments.sum())


def least_cost(
    costs: FloatArray, variances: FloatArray, unasked: float, bound: float, names: Sequence[str] = ()
) -> Purchase:
    """Return the cheapest purchase with a total variance of at most ``bound``, with truthful payments.

    ``costs``      (N, K) stated by each producer for each setting
    ``variances``  (K,) of the settings
    ``unasked``    variance v_0 of a producer who is not asked
    ``names``      (N,) of producers, for messages
    """
    _check(costs, "each setting")
    if not (np.isfinite(variances).all() and (variances >= 0).all() and 0 < unasked < np.inf):
        raise OptionError(
            "a variance is below 0, or that of a producer who is not asked is no number above 0", kind="variance"
        )
    if not bound >= 0:
        raise OptionError(f"a total variance of {bound:g} is no bound: name a number, 0 or more", kind="bound")
    steps = _steps(costs, variances, unasked)
    whole = _solve(steps, len(costs) * unasked - bound, None)
    if whole is None:
        least = float(np.minimum(variances.min(), unasked) * len(costs))
        raise OptionError(
            f"a total variance of {bound:g} cannot be bought: {least:g} is the least that is on offer", kind="bound"
        )
    lottery = _lottery(steps, whole, costs.shape)
    stated = np.sum(lottery[:, 1:] * costs, axis=1)
    payments = np.zeros(len(costs))
    for n in map(int, np.flatnonzero(lottery[:, 0] < 1)):
        others = _solve(steps, len(costs) * unasked - bound, n)
        if others is None:
            raise OptionError(
                f"producer {names[n] if names else n + 1} cannot be done without under this bound, so no payment "
                "makes it truthful: allow more variance",
                kind="needed",
            )
        # Sums the others' changes. The difference of two large totals would lose digits.
        instead = float(np.where(steps.who == n, 0.0, others - whole) @ steps.price)
        payments[n] = max(instead, stated[n])
    full = np.concatenate([[unasked], variances])
    return Purchase(lottery, payments, stated, float((lottery @ full).sum()))


def _check(costs: FloatArray, what: str) -> None:
    if not ((costs >= 0) & (costs <= LARGEST)).all():
        raise OptionError(
            f"a stated cost is below 0, above {LARGEST:g} or no number: state what {what} costs you, 0 or more",
            kind="cost",
        )


@dataclass(frozen=True, eq=False)
class _Steps:
    """Possible reductions of the variance, cheapest first.

    ``who``           the producer
    ``start``, ``end``  the settings between which it changes
    ``gain``          reduction of the variance
    ``price``         cost
    """

    who: IntArray
    start: IntArray
    end: IntArray
    gain: FloatArray
    price: FloatArray


def _steps(costs: FloatArray, variances: FloatArray, unasked: float) -> _Steps:
    """Return the segments of each producer's lower convex hull of (variance, cost), sorted by price per variance."""
    full = np.concatenate([[unasked], variances])
    rows: list[tuple[float, int, int, int, float, float]] = []
    for n, own in enumerate(np.column_stack([np.zeros(len(costs)), costs])):
        at = 0
        while True:
            better = np.flatnonzero(full < full[at] - CLOSE * unasked)
            if not len(better):
                break
            rate = (own[better] - own[at]) / (full[at] - full[better])
            cheapest = rate.min()
            ties = better[rate <= cheapest * (1 + CLOSE)]
            to = int(ties[np.argmin(full[ties])])
            rows.append((cheapest, n, at, to, float(full[at] - full[to]), float(own[to] - own[at])))
            at = to
    rows.sort()
    columns = list(zip(*rows, strict=True)) if rows else [()] * 6
    who, start, end = (np.array(columns[k], np.int64) for k in (1, 2, 3))
    return _Steps(who, start, end, np.array(columns[4], float), np.array(columns[5], float))


def _solve(steps: _Steps, need: float, without: int | None) -> FloatArray | None:
    """Return which part of each step is taken to reduce the variance by ``need``; None if that is impossible.

    ``without``  a producer whose steps are left out
    """
    gain = steps.gain if without is None else np.where(steps.who == without, 0.0, steps.gain)
    reached = np.cumsum(gain)
    if need > (reached[-1] if len(reached) else 0.0) * (1 + 1e-12):
        return None
    left = need - (reached - gain)
    return np.where(gain > 0, np.clip(left / np.where(gain > 0, gain, 1.0), 0.0, 1.0), 0.0)


def _lottery(steps: _Steps, taken: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    lottery = np.zeros((shape[0], shape[1] + 1))
    lottery[:, 0] = 1.0
    for who, start, end, part in zip(steps.who, steps.start, steps.end, taken, strict=True):
        moved = lottery[who, start] * part
        lottery[who, start] -= moved
        lottery[who, end] += moved
    return lottery


@dataclass(frozen=True, eq=False)
class PrivacyPurchase:
    """Ghosh and Roth's purchase: the producers bought, their common epsilon, and the payment to each."""

    bought: IntArray
    epsilon: float
    payment: float


def within_budget(costs: FloatArray, budget: float) -> PrivacyPurchase:
    """Return the largest truthful purchase within the budget.

    ``costs``  (N,) per unit of epsilon
    """
    _check(costs, "a unit of epsilon")
    if not 0 < budget < np.inf:
        raise OptionError(f"the budget of {budget:g} is no number above 0", kind="budget")
    order = np.argsort(costs, kind="stable")
    ranked, count = costs[order], len(costs)
    k = np.arange(1, count)  # at least one is left out: epsilon is 1 / (N - k)
    fits = np.flatnonzero(ranked[: count - 1] / (count - k) <= budget / k)
    if not len(fits):
        return PrivacyPurchase(order[:0], 0.0, 0.0)
    bought = int(fits[-1]) + 1
    payment = min(budget / bought, float(ranked[bought]) / (count - bought))
    return PrivacyPurchase(np.sort(order[:bought]), 1 / (count - bought), payment)
