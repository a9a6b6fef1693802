"""The privacy loss of many reports: an upper bound on epsilon, computed with the standard library only.

For a change of D = ceil(change/step) steps in each reading, a report by a law p has the Renyi divergence

    R_a = log(sum_k p(k)^a p(k - D)^(1-a)) / (a - 1)

of order a > 1. Divergences of independent reports add up, and epsilon at delta is at most

    min over a of  R_a + log(1 - 1/a) - log(delta a) / (a - 1)   (Canonne, Kamath and Steinke 2020, proposition 12)

If only a pure epsilon of the law is known, its divergence is at most that of randomized response with this epsilon,

    R_a <= log(cosh((a - 1/2) epsilon) / cosh(epsilon/2)) / (a - 1)   (Bun and Steinke 2016)

If every report has a pure epsilon, their sum is a bound too, at any delta; the smaller bound is used. It holds against
an attacker who knows everything except the readings of the window. A privacy loss distribution would be tighter.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from halfmask_device.lattice import exact_decimal
from halfmask_device.setting import DeviceSetting

ORDERS = (
    *(1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2.0, 2.25, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0),
    *(12.0, 14.0, 16.0, 20.0, 24.0, 32.0, 40.0, 48.0, 64.0, 96.0, 128.0, 192.0, 256.0, 512.0, 1024.0, 4096.0, 65536.0),
)


def steps_apart(change: str, step: str) -> int:
    """Return the largest number of lattice steps by which a change can move a reading."""
    return math.ceil(exact_decimal(change, "change") / exact_decimal(step, "step"))


def pure(setting: DeviceSetting, change: str, step: str) -> float:
    """Return the pure epsilon (delta = 0) of one report; infinite if there is none."""
    moved = steps_apart(change, step) * exact_decimal(step, "step")
    if moved == 0:
        return 0.0
    if setting.known.stairs:
        return setting.known.stairs(setting.exact, moved)
    rate = _rate(setting)
    return math.inf if rate is None else float(moved * rate)


def _rate(setting: DeviceSetting) -> Fraction | None:
    """Return the pure epsilon per unit of change; None if it is not proportional to the change."""
    per_unit = setting.known.per_unit
    return per_unit(setting.exact) if per_unit and all(setting.parameters) else None


@lru_cache(maxsize=4096)
def divergence(setting: DeviceSetting, change: str, step: str, order: float) -> float:
    """Return an upper bound on the Renyi divergence of one report, of this order."""
    moved = steps_apart(change, step) * exact_decimal(step, "step")
    if moved == 0:
        return 0.0
    own = setting.known.divergence
    exact = own(setting.exact, moved, exact_decimal(step, "step"), order) if own else math.inf
    epsilon = pure(setting, change, step)
    if epsilon == math.inf:
        return exact
    return min((_log_cosh((order - 0.5) * epsilon) - _log_cosh(epsilon / 2)) / (order - 1), exact)


def _log_cosh(x: float) -> float:
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)


def epsilon_of(reports: Mapping[tuple[str, str], int], change: str, delta: float) -> float:
    """Return an upper bound on epsilon at ``delta``.

    ``reports``  number of reports by (setting, step)
    """
    return composed_epsilon({(*each, change): count for each, count in reports.items()}, delta)


def composed_epsilon(reports: Mapping[tuple[str, str, str], int], delta: float) -> float:
    """Return an upper bound on epsilon at ``delta``.

    ``reports``  number of reports by (setting, step, change of the reading)
    """
    bounds = [(_bounds(*each), count) for each, count in reports.items() if count]
    if not bounds:
        return 0.0
    best = sum(count * of_one[0] for of_one, count in bounds)
    for i, order in enumerate(ORDERS, 1):
        total = sum(count * of_one[i] for of_one, count in bounds)
        bound = total + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        best = min(best, max(bound, 0.0))
    return best


@lru_cache(maxsize=1024)
def _bounds(text: str, step: str, change: str) -> tuple[float, ...]:
    """Return the pure epsilon of one report, then its divergence at each of `ORDERS`."""
    setting = DeviceSetting.parse(text)
    return pure(setting, change, step), *(divergence(setting, change, step, order) for order in ORDERS)


def per_unit(reports: Mapping[tuple[str, str], int]) -> float:
    """Return the metric privacy of all reports: pure epsilon per unit of change in every reading.

    It is infinite if a setting's pure epsilon is not proportional to the change. A unit is rounded up to whole lattice
    steps.
    """
    total = 0.0
    for (text, step), count in reports.items():
        setting = DeviceSetting.parse(text)
        total += count * (math.inf if _rate(setting) is None else pure(setting, "1", step)) if count else 0.0
    return total
