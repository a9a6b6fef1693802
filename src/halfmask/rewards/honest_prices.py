"""Honest prices: several noisy reports never replace one clearer report for less money.

A report with noise of variance v has the information i = 1/v about its reading. An average of several reports with the
best weights has the sum of their i. An estimator that uses the noise's distribution may have more, such as the midrange
for uniform noise or the median for Laplace noise. By Cramer and Rao, no unbiased estimate has more than the sum of
their Fisher informations I = E (d log f)^2 >= 1/v, with density f. So setting k, with information i_k, cannot be
replaced by settings whose I add up to less than i_k. A price list is free of arbitrage if

    r_j >= r_k min(1, I_j / i_k)  for all settings j and k

Proof: if several settings together replace k, then one of them costs at least r_k, or each costs at least
r_k I_j / i_k.

Special cases:

- A split report has no information about its producer, so it neither replaces a report nor is replaced.
- A setting without noise has infinite information. Only another setting without noise can replace it.
- If the noise's density has edges, I is infinite. Then only averaging can be ruled out (I = 1/v), and the caller must
  choose this.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from halfmask.arrays import BoolArray, FloatArray

CLOSE = 1e-9


@dataclass(frozen=True)
class Arbitrage:
    """A way to replace a setting for less money.

    ``instead_of``  the setting that is replaced, with its ``price``
    ``counts``      number of reports of each other setting, by index; together they have this ``cost``
    """

    instead_of: int
    counts: dict[int, int]
    cost: float
    price: float


def least_ratios(worth: FloatArray, most: FloatArray) -> FloatArray:
    """Return the least ratios r_j / r_k (row j, column k) of a price list without arbitrage.

    ``worth``  (K,) information 1/v of one report
    ``most``   (K,) the most information that a report adds to others

    A ratio of 0 means that j cannot replace k.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(worth > 0, np.minimum(1.0, most[:, None] / worth), 0.0)
    without_noise = np.isinf(worth)
    return np.where(without_noise, without_noise[:, None], share).astype(float)


def arbitrage(rewards: FloatArray, worth: FloatArray, most: FloatArray) -> list[Arbitrage]:
    """Return every setting that others replace for less, each with its cheapest replacement.

    Settings replace another if their ``most`` add up to its ``worth`` (see `least_ratios`). With ``most`` equal to
    ``worth``, only averages are considered.
    """
    found = []
    for k, (price, need) in enumerate(zip(rewards, worth, strict=True)):
        if not need:  # nothing to replace
            continue
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
    """Return the cheapest multiset of items with ``need`` information in total; None if it costs ``limit`` or more.

    ``items``  (information, price) by index

    It is the solution of an integer linear program.
    """
    if not items or limit <= 0:
        return None
    for j, (info, price) in items.items():
        if price == 0:  # enough free reports replace anything
            return {j: max(int(np.ceil(need / info)), 1)}
    names = list(items)
    held, paid = (np.array([items[j][part] for j in names]) for part in (0, 1))
    held = np.minimum(held, need)  # excess information has no value
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
    """Return whether all price lists (..., K) meet r_j >= least_jk r_k, which suffices to rule out arbitrage.

    ``least``  result of `least_ratios`
    """
    return bool(which_meet_ratios(rewards, least).all())


def which_meet_ratios(rewards: FloatArray, least: FloatArray) -> BoolArray:
    """Return which of the price lists (..., K) meet `meets_ratios`."""
    asked = (least * rewards[..., None, :]).max(axis=-1)
    return np.asarray((rewards >= asked * (1 - CLOSE)).all(axis=-1))


def repaired(rewards: FloatArray, least: FloatArray) -> FloatArray:
    """Return the least rewards at or above ``rewards`` that satisfy `meets_ratios`.

    Rewards are raised until nothing changes, for at most K rounds, because no ratio is above 1.
    """
    for _ in rewards:
        rewards = np.maximum(rewards, (least * rewards).max(axis=-1))
    return rewards


def repaired_whole(rewards: FloatArray, least: FloatArray) -> FloatArray:
    """Return the least integer rewards at or above ``rewards`` that satisfy `meets_ratios`.

    The loop ends because no reward is raised above the largest one.
    """
    whole = np.ceil(rewards * (1 - CLOSE))
    while not meets_ratios(whole, least):
        whole = np.maximum(whole, np.ceil((least * whole).max(axis=-1) * (1 - CLOSE)))
    return whole


@dataclass(frozen=True)
class Split:
    """A producer with setting ``one`` would earn more by posing as several producers with setting ``into``.

    ``copies``    number of producers that it pretends to be; together they reveal no more
    ``reward``    the honest payment
    ``together``  the sum of the payments to all copies
    """

    one: int
    into: int
    copies: int
    reward: float
    together: float


def splits(rewards: FloatArray, information: FloatArray) -> list[Split]:
    """Return the settings for which a producer earns more by posing as several producers with a noisier setting.

    ``information``  1/v of each setting

    The average of the several reports reveals no more than the one report. Only the best split of each setting is
    returned. Only rewards proportional to information prevent both this and arbitrage by averaging. Settings without
    noise are left out, because no number of noisy reports has their information.
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
    """Return pairs (k, better): ``better`` has at least the privacy and reward of k, and more of one of them.

    The choice model still gives k some producers, because they value other things too.
    """
    no_less = (rewards >= rewards[:, None]) & (privacy >= privacy[:, None])
    better = no_less & ((rewards > rewards[:, None]) | (privacy > privacy[:, None]))
    return [(int(k), int(better[k].argmax())) for k in np.flatnonzero(better.any(axis=1))]
