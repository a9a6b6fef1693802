"""Honest prices: schedules that nobody can beat by buying, or being, something else.

A report with noise variance v holds information i = 1/v about its reading. A consumer's price list is free of arbitrage
if no multiset of other settings with at least the information of k costs less than r_k. It is enough that r does not
fall and r / i does not rise with i. A setting without noise has infinite information: nothing else replaces it.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from halfmask.arrays import FloatArray

Taken = tuple[tuple[int, int], ...]
"""How many of which items were taken so far."""

State = tuple[float, int, float, float, int, Taken]
"""Bound, count of this item, paid and left before it, which item, what was taken before it."""

CLOSE = 1e-9
MOST_STEPS = 20_000


@dataclass(frozen=True)
class Arbitrage:
    """Setting ``instead_of`` can be replaced by ``counts`` of others (index: how many) for ``cost`` < ``price``."""

    instead_of: int
    counts: dict[int, int]
    cost: float
    price: float


def arbitrage(rewards: FloatArray, information: FloatArray) -> list[Arbitrage]:
    """Every setting that a cheaper multiset of others replaces; the cheapest multiset of each, exactly."""
    found = []
    for k, (price, need) in enumerate(zip(rewards, information, strict=True)):
        others = [j for j in range(len(rewards)) if j != k and information[j] > 0]
        if not np.isfinite(need):  # nothing replaces a report without noise, but another one
            same = [rewards[j] for j in others if not np.isfinite(information[j])]
            if same and min(same) < price * (1 - CLOSE):
                j = next(j for j in others if not np.isfinite(information[j]) and rewards[j] == min(same))
                found.append(Arbitrage(k, {j: 1}, float(rewards[j]), float(price)))
            continue
        cheaper = _cover(need, price * (1 - CLOSE), {j: (float(information[j]), float(rewards[j])) for j in others})
        if cheaper is not None:
            cost = sum(rewards[j] * count for j, count in cheaper.items())
            found.append(Arbitrage(k, cheaper, float(cost), float(price)))
    return found


def _cover(need: float, limit: float, items: dict[int, tuple[float, float]]) -> dict[int, int] | None:
    """The cheapest multiset of items (information, price) with ``need`` in all, if it costs less than ``limit``.

    Dynamic programming over what is still needed, best bound first: items are taken from the least price per
    information up, so what is left costs at least (left) x (the next item's price per information). The first whole
    cover to come up is the cheapest. Of each item "enough" is tried, and one less, two less, as long as it can pay.
    """
    order = sorted(items, key=lambda j: items[j][1] / items[j][0])
    rates = [items[j][1] / items[j][0] for j in order] + [np.inf]

    def state(paid: float, left: float, at: int, count: int, taken: Taken) -> State:
        """What ``count`` of item ``at`` leads to, with the bound of all covers beyond it in front."""
        info, price = items[order[at]]
        still = left - count * info if count else left
        ahead = paid + count * price + (still * rates[at + 1] if still > need * CLOSE else 0.0)
        return ahead, count, paid, left, at, taken

    if order and items[order[0]][1] == 0:  # what is free covers everything for nothing: no search can beat it
        info = items[order[0]][0]
        return {order[0]: int(np.ceil(need / info)) if np.isfinite(info) else 1} if limit > 0 else None
    waiting: list[State] = []

    def wait(paid: float, left: float, at: int, taken: Taken) -> None:
        """Enough of the item, which ends the search here, and one less, which begins the way down."""
        info, _ = items[order[at]]
        full = int(np.ceil(left / info * (1 - CLOSE))) if np.isfinite(info) else 1
        for count in (full, full - 1):
            heapq.heappush(waiting, state(paid, left, at, count, taken))

    if order:
        wait(0.0, need, 0, ())
    for _ in range(MOST_STEPS):
        if not waiting or waiting[0][0] >= limit:
            return None
        _, count, paid, left, at, taken = heapq.heappop(waiting)
        info, price = items[order[at]]
        cost, still = paid + count * price, left - count * info if count else left
        chosen = (*taken, (order[at], count)) if count else taken
        if still <= need * CLOSE:
            return dict(chosen)
        if count:
            heapq.heappush(waiting, state(paid, left, at, count - 1, taken))
        if at + 1 < len(order):
            wait(cost, still, at + 1, chosen)
    return _cover_by_program(need, limit, items)


def _cover_by_program(need: float, limit: float, items: dict[int, tuple[float, float]]) -> dict[int, int] | None:
    """The same as an integer program, for prices that are almost in proportion to information.

    There nearly every multiset costs what it should, and counting does not end. HiGHS takes a cover for one that is
    within 1e-6 of the information, so what it finds is checked, with one more of each of its parts in turn.
    """
    names = [j for j in items if np.isfinite(items[j][0])]
    held, paid = (np.array([items[j][part] for j in names]) for part in (0, 1))
    whole = LinearConstraint(held[None] / need, 1 - CLOSE, np.inf)
    found = milp(paid, constraints=whole, integrality=np.ones(len(names)), bounds=Bounds(0, np.inf))
    if found.x is None:
        raise ArithmeticError(f"the covering problem has no answer ({found.message})")
    counts = np.rint(found.x)
    tries = [counts, *(counts + one for one in np.eye(len(names)))]
    covers = [each for each in tries if each @ held >= need * (1 - CLOSE)]
    best = min(covers, key=lambda each: float(each @ paid))
    return {j: int(n) for j, n in zip(names, best, strict=True) if n} if best @ paid < limit else None


def enough(rewards: FloatArray, information: FloatArray) -> bool:
    """The sufficient condition: r does not fall and r / i does not rise with information."""
    order = np.argsort(information, kind="stable")
    paid, held = rewards[order], information[order]
    rising = bool((np.diff(paid) >= -CLOSE * np.abs(paid[1:])).all())
    alike = paid[~np.isfinite(held)]
    if len(alike) and alike.max() - alike.min() > CLOSE * alike.max():  # reports without noise replace each other
        return False
    ratio = paid[np.isfinite(held)] / held[np.isfinite(held)]
    return rising and bool((np.diff(ratio) <= CLOSE * np.abs(ratio[1:])).all())


def repaired(rewards: FloatArray, information: FloatArray) -> FloatArray:
    """The least schedule above ``rewards`` that meets the sufficient condition.

    First no setting is paid less than one with less information; then r_j = i_j max over i_k >= i_j of r_k / i_k.
    The second step keeps what the first achieved.
    """
    order = np.argsort(information, kind="stable")
    paid = np.maximum.accumulate(rewards[order])
    held = information[order]
    finite = np.isfinite(held)
    ratio = np.where(finite, paid / np.where(finite, held, 1.0), 0.0)
    raised = np.maximum.accumulate(ratio[::-1])[::-1] * np.where(finite, held, 0.0)
    result = np.empty_like(rewards)
    result[order] = np.where(finite, np.maximum(raised, paid), paid[-1])
    return result


def repaired_whole(rewards: FloatArray, information: FloatArray) -> FloatArray:
    """The least schedule of whole rewards above ``rewards`` that meets the sufficient condition.

    From the most informative setting down: a ratio r / i that was rounded up raises what is asked of all below it.
    """
    order = np.argsort(information, kind="stable")
    result = np.ceil(np.maximum.accumulate(rewards[order]) * (1 - CLOSE))
    held, ratio = information[order], 0.0
    result[~np.isfinite(held)] = result[-1]
    for at in range(len(order) - 1, -1, -1):
        if np.isfinite(held[at]):
            result[at] = max(result[at], np.ceil(held[at] * ratio * (1 - CLOSE)))
            ratio = max(ratio, result[at] / held[at])
    whole = np.empty_like(result)
    whole[order] = result
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
    """Settings that pay a producer to pose as several with a noisier setting, and together no more information.

    The best split of each is told. Only rewards in proportion to information are neutral to this and to arbitrage at
    once. Sharing unmasked is left out: no number of noisy reports holds as much.
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
    """Pairs (k, better): an offer that nobody would choose, as another has no less privacy and no less reward."""
    pairs = []
    for k in range(len(rewards)):
        for other in range(len(rewards)):
            no_less = rewards[other] >= rewards[k] and privacy[other] >= privacy[k]
            if no_less and (rewards[other] > rewards[k] or privacy[other] > privacy[k]):
                pairs.append((k, other))
                break
    return pairs
