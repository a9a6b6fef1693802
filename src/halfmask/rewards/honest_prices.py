"""Honest prices: no unbiased estimate from several noisier reports of a reading replaces a clear one for less.

One report with noise of variance v estimates its reading with variance v: it is worth i = 1/v. What several reports are
worth together depends on who uses them. Averaged with the best weights, they are worth the sum of their i. Whoever
knows the law of the noise may do better (the midrange of uniform noise, the median of Laplace's), but by Cramer and
Rao no unbiased estimate beats the sum of their Fisher informations I = E (d log f)^2 >= 1/v. So setting k, of worth
i_k, is replaced by no multiset of others whose I add up to less than i_k, and a price list is free of arbitrage if

    r_j >= r_k min(1, I_j / i_k)     for all settings j and k:

of a multiset that replaces k, either one report alone costs r_k, or all cost r_k I_j / i_k or more each. A setting
without noise has infinite worth: nothing replaces it but another one. For noise whose density has edges I is infinite,
and only averaging can be ruled out (I = 1/v); who demands that says so.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from halfmask.arrays import BoolArray, FloatArray

CLOSE = 1e-9


@dataclass(frozen=True)
class Arbitrage:
    """Setting ``instead_of`` can be replaced by ``counts`` of others (index: how many) for ``cost`` < ``price``."""

    instead_of: int
    counts: dict[int, int]
    cost: float
    price: float


def least_ratios(worth: FloatArray, most: FloatArray) -> FloatArray:
    """(K, K): the least r_j / r_k, by row j and column k, of a list free of arbitrage.

    ``worth`` (K,) is 1/v of one report, ``most`` (K,) what it adds to others at the most. 0: k is not replaced by j.
    """
    with np.errstate(invalid="ignore"):
        share = np.minimum(1.0, most[:, None] / worth)
    without_noise = np.isinf(worth)
    return np.where(without_noise, without_noise[:, None], share).astype(float)


def arbitrage(rewards: FloatArray, worth: FloatArray, most: FloatArray) -> list[Arbitrage]:
    """Every setting that a cheaper multiset of others replaces; the cheapest multiset of each, exactly.

    A multiset replaces a setting of ``worth`` (K,) if its ``most`` (K,) add up to it; with ``most`` = ``worth`` by
    averaging.
    """
    found = []
    for k, (price, need) in enumerate(zip(rewards, worth, strict=True)):
        others = [j for j in range(len(rewards)) if j != k and most[j] > 0]
        if not np.isfinite(need):  # nothing replaces a report without noise, but another one
            same = [rewards[j] for j in others if not np.isfinite(worth[j])]
            if same and min(same) < price * (1 - CLOSE):
                j = next(j for j in others if not np.isfinite(worth[j]) and rewards[j] == min(same))
                found.append(Arbitrage(k, {j: 1}, float(rewards[j]), float(price)))
            continue
        cheaper = _cover(need, price * (1 - CLOSE), {j: (float(most[j]), float(rewards[j])) for j in others})
        if cheaper is not None:
            cost = sum(rewards[j] * count for j, count in cheaper.items())
            found.append(Arbitrage(k, cheaper, float(cost), float(price)))
    return found


def _cover(need: float, limit: float, items: dict[int, tuple[float, float]]) -> dict[int, int] | None:
    """The cheapest multiset of items (information, price) with ``need`` in all, if it costs less than ``limit``.

    An integer program, exact for up to a billion reports of one setting. HiGHS takes a cover for one that is within
    1e-6 of the information, so what it finds is checked, with one more of each of its parts in turn.
    """
    if not items or limit <= 0:
        return None
    for j, (info, price) in items.items():
        if price == 0:  # what is free covers everything, however many it takes
            return {j: max(int(np.ceil(need / info)), 1)}
    names = list(items)
    held, paid = (np.array([items[j][part] for j in names]) for part in (0, 1))
    held = np.minimum(held, need)  # more than is needed is worth no more
    whole = LinearConstraint(held[None] / held.max(), need / held.max() * (1 - CLOSE), np.inf)
    found = milp(
        paid, constraints=whole, integrality=np.ones(len(names)), bounds=Bounds(0, np.inf), options={"mip_rel_gap": 0}
    )
    if found.x is None:
        raise ArithmeticError(f"the covering problem has no answer ({found.message})")
    counts = np.rint(found.x)
    tries = [counts, *(counts + one for one in np.eye(len(names)))]
    covers = [each for each in tries if each @ held >= need * (1 - CLOSE)]
    best = min(covers, key=lambda each: float(each @ paid))
    return {j: int(n) for j, n in zip(names, best, strict=True) if n} if best @ paid < limit else None


def meets_ratios(rewards: FloatArray, least: FloatArray) -> bool:
    """The sufficient condition r_j >= least_jk r_k, with ``least`` of `least_ratios`; for lists (..., K), of all."""
    return bool(which_meet_ratios(rewards, least).all())


def which_meet_ratios(rewards: FloatArray, least: FloatArray) -> BoolArray:
    """(...): which of the lists (..., K) meet the sufficient condition."""
    asked = (least * rewards[..., None, :]).max(axis=-1)
    return np.asarray((rewards >= asked * (1 - CLOSE)).all(axis=-1))


def repaired(rewards: FloatArray, least: FloatArray) -> FloatArray:
    """The least schedule above ``rewards`` that meets the sufficient condition: what is asked of each, as long as
    that raises one. At most K rounds, since no ratio is above 1."""
    for _ in rewards:
        rewards = np.maximum(rewards, (least * rewards).max(axis=-1))
    return rewards


def repaired_whole(rewards: FloatArray, least: FloatArray) -> FloatArray:
    """The least schedule of whole rewards above ``rewards`` that meets the sufficient condition.

    It ends, because none is raised above the largest.
    """
    whole = np.ceil(rewards * (1 - CLOSE))
    while not meets_ratios(whole, least):
        whole = np.maximum(whole, np.ceil((least * whole).max(axis=-1) * (1 - CLOSE)))
    return whole


@dataclass(frozen=True)
class Split:
    """A producer paid ``reward`` for setting ``one`` would earn more as several who show no more together."""

    one: int
    into: int
    copies: int
    reward: float
    together: float


def splits(rewards: FloatArray, information: FloatArray) -> list[Split]:
    """Settings that pay a producer to pose as several with a noisier setting, whose average says no more.

    ``information`` is 1/v. Only the best split of each is returned. Only rewards in proportion to it are neutral to
    this and to arbitrage by averaging at once. Sharing unmasked is left out: no number of noisy reports holds as much.
    """
    found = []
    for one in np.flatnonzero(np.isfinite(information) & (information > 0)):
        ways = []
        for into in np.flatnonzero((information < information[one]) & (information > 0)):
            copies = int(information[one] / information[into] * (1 + CLOSE))
            together = float(copies * rewards[into])
            if copies >= 2 and together > rewards[one] * (1 + CLOSE):
                ways.append(Split(int(one), int(into), copies, float(rewards[one]), together))
        if ways:
            found.append(max(ways, key=lambda way: way.together))
    return found


def dominated(rewards: FloatArray, privacy: FloatArray) -> list[tuple[int, int]]:
    """Pairs (k, better): an offer to which another is better in privacy or reward and worse in neither.

    By the choice model some producers take it all the same: not all that they value is privacy and reward.
    """
    pairs = []
    for k in range(len(rewards)):
        for other in range(len(rewards)):
            no_less = rewards[other] >= rewards[k] and privacy[other] >= privacy[k]
            if no_less and (rewards[other] > rewards[k] or privacy[other] > privacy[k]):
                pairs.append((k, other))
                break
    return pairs
