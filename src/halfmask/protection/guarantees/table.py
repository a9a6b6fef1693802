"""A guarantee as a table, and in sentences."""

import math
from collections.abc import Sequence

from halfmask.protection.guarantees.guarantee import Guarantee
from halfmask.protection.guarantees.units import promise
from halfmask_device.decimals import upwards


def guarantee_rows(found: Guarantee) -> list[list[str]]:
    """delta(epsilon) of one report and of many as a table, headings first."""
    heads = ["inf" if value == math.inf else f"{value:g}" for value in found.delta]
    every = [("1 report", found.delta), *((f"{count:,} reports", deltas) for count, deltas in found.composed.items())]
    return [["delta at epsilon", *heads]] + [
        [name, *(upwards(value) for value in deltas.values())] for name, deltas in every
    ]


def guarantee_lines(found: Guarantee, readings: Sequence[int]) -> list[str]:
    """The best odds for each number of readings, with the epsilon behind them; none where nothing is promised."""
    return [] if found.losses is None else [f"{promise(found, count).words()}" for count in readings]
