"""Producers whose reports are too far from those of their peers: in level, in change of level, or in variation.

Each test gives a producer one number, and judges the most extreme ones by the tail of the others (`upper_tail`). It
needs at least 100 producers of a setting. A liar with honest noise is found only so: no law of noise says how much
anyone uses.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from halfmask.service.upper_tail import UpperTail, largest_ignored
from halfmask_device.instants import DAY

Series = Mapping[tuple[int, str], Sequence[tuple[int, int]]]
"""Times and steps of reports, by producer and setting, in order."""
TESTS = 5
LEAST_DAYS = 3


def peer_outliers(series: Series, false_alarm: float) -> Iterator[tuple[int, str, str, float]]:
    """Yield producer, setting, reason and chance of those who differ too much from the others of their setting."""
    settings = sorted({setting for _, setting in series})
    level = false_alarm / max(1, TESTS * len(settings))
    for setting in settings:
        own = {producer: each for (producer, of), each in series.items() if of == setting}
        levels = {producer: float(np.mean([step for _, step in each])) for producer, each in own.items()}
        varied = {producer: value for producer, each in own.items() if (value := _variation(each)) is not None}
        changes = {producer: value for producer, each in own.items() if (value := _change(each)) is not None}
        for reason, values in (
            ("level far above its peers", levels),
            ("level far below its peers", {producer: -value for producer, value in levels.items()}),
            ("level changed far more than its peers'", changes),
            ("varies far more than its peers", varied),
            ("varies far less than its peers", {producer: -value for producer, value in varied.items()}),
        ):
            yield from ((producer, setting, reason, chance) for producer, chance in _far(values) if chance < level)


def _far(values: Mapping[int, float]) -> Iterator[tuple[int, float]]:
    """Yield the producers with the largest values, each with a bound on the chance that one of the others is there."""
    order = sorted(values, key=values.__getitem__)
    trimmed = largest_ignored(len(order))
    tail = UpperTail.of(np.array([values[producer] for producer in order]), trimmed)
    if tail is not None:
        yield from ((producer, tail.chance(values[producer])) for producer in order[-trimmed:])


def _variation(each: Sequence[tuple[int, int]]) -> float | None:
    """Return the logarithm of the mean difference of successive reports; None if all are equal."""
    found = float(np.abs(np.diff([float(step) for _, step in each])).mean())
    return float(np.log(found)) if found > 0 else None


def _change(each: Sequence[tuple[int, int]]) -> float | None:
    """Return the largest distance of a day's mean from the median of the days' means; None of too few days."""
    days: dict[int, list[int]] = defaultdict(list)
    for time, step in each:
        days[time // DAY].append(step)
    if len(days) < LEAST_DAYS:
        return None
    means = np.array([float(np.mean(steps)) for steps in days.values()])
    return float(np.abs(means - np.median(means)).max())
