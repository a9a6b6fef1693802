"""Visibility of the evening peak to an observer who sees one evening of masked readings.

The observer averages the masked readings of each hour from 17:00 to 23:00, and guesses that the hour with the largest
average is the peak. The peak is visible on a day if this hour also has the largest true average. Over days and noise,
the probability is 1 for unmasked readings, and 1/hours for a random guess. An observer of many evenings with similar
habits would see more, because noise averages out.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting

HOUR = 3_600_000_000
EVENING = range(17, 23)
GAMES = 4000
"""Least number of simulated evenings, each with new noise. The standard error is below 0.01."""


@dataclass(frozen=True, eq=False)
class Evenings:
    """Readings of all evenings in order.

    ``start``        index of each hour's first reading
    ``day``, ``hour``  the day and the hour of day of each hour
    """

    values: FloatArray
    start: IntArray
    day: IntArray
    hour: IntArray

    @property
    def count(self) -> int:
        """The number of evenings."""
        return int(self.day[-1]) + 1

    @property
    def guessing(self) -> float:
        """The probability that a random guess names the right hour."""
        return float(np.mean(1 / np.bincount(self.day)))

    def peak(self, values: FloatArray) -> IntArray:
        """Return, for each evening, the hour with the largest average of these values."""
        average = np.add.reduceat(values, self.start) / np.diff(self.start, append=len(values))
        table = np.full((self.count, 24), -np.inf)
        table[self.day, self.hour] = average
        return np.asarray(table.argmax(axis=1))


def split_evenings(values: FloatArray, times: IntArray) -> Evenings:
    """Return the evenings with readings in at least two hours.

    ``times``  local times in microseconds
    """
    order = np.argsort(times, kind="stable")
    values, hours = values[order], times[order] // HOUR
    evening = np.isin(hours % 24, list(EVENING))
    held, count = np.unique(np.unique(hours[evening]) // 24, return_counts=True)
    kept = evening & np.isin(hours // 24, held[count > 1])
    values, hours = values[kept], hours[kept]
    if not len(values):
        raise OptionError(
            "no day has readings in two hours of the evening (17 to 23): the peak cannot be judged", kind="no-evenings"
        )
    start = np.flatnonzero(np.concatenate([[True], np.diff(hours) != 0]))
    _, day = np.unique(hours[start] // 24, return_inverse=True)
    return Evenings(values, start, day.astype(np.int64), hours[start] % 24)


def peak_shows(evenings: Evenings, setting: PrivacySetting, rng: np.random.Generator) -> float:
    """Return the probability that the peak is visible, from at least `GAMES` simulated evenings."""
    true = evenings.peak(evenings.values)
    games = 1 if setting.silent else -(-GAMES // evenings.count)
    won = [evenings.peak(setting.mask(evenings.values, rng)) == true for _ in range(games)]
    return float(np.mean(won))
