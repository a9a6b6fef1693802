"""Does the evening peak show? A game with an onlooker who sees one day of masked readings.

The onlooker averages the masked readings of each hour and names the hour with the largest average as the day's evening
peak. The peak *shows* on a day if the hour named is the hour between 17:00 and 22:00 with the largest true average. The
probability of that, over days and noise, lies between 1/hours (by guessing) and what the readings show unmasked. Over
many days of the same habit noise averages out, and more shows: this is about a single day.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.errors import OptionError
from halfmask.profiles.bins import FloatArray, IntArray
from halfmask.settings.setting import PrivacySetting

HOUR = 3_600_000_000
EVENING = range(17, 22)
GAMES = 4000
"""Days played at the least, each with noise of its own: a standard error below 0.01."""


@dataclass(frozen=True, eq=False)
class Days:
    """Readings of days with an evening, in order: where each hour's readings ``start``, its ``day`` and ``hour``."""

    values: FloatArray
    start: IntArray
    day: IntArray
    hour: IntArray

    @property
    def count(self) -> int:
        """How many days there are."""
        return int(self.day[-1]) + 1

    @property
    def guessing(self) -> float:
        """The chance of naming the right hour without looking."""
        return self.count / len(self.hour)

    def largest(self, values: FloatArray, hours: range) -> IntArray:
        """The hour, of those given, with the largest average of each day."""
        average = np.add.reduceat(values, self.start) / np.diff(self.start, append=len(values))
        table = np.full((self.count, 24), -np.inf)
        table[self.day, self.hour] = average
        return np.asarray(table[:, hours.start : hours.stop].argmax(axis=1) + hours.start)


def split_days(values: FloatArray, times: IntArray) -> Days:
    """Days that have an evening hour and another one, from readings with local times in microseconds."""
    order = np.argsort(times, kind="stable")
    values, hours = values[order], times[order] // HOUR
    day, hour = hours // 24, hours % 24
    evening = np.isin(hour, list(EVENING))
    whole = np.intersect1d(day[evening], day[~evening])
    kept = np.isin(day, whole)
    values, hours = values[kept], hours[kept]
    if not len(values):
        raise OptionError(
            "no day has readings both in the evening (17 to 22) and outside it: the peak cannot be judged"
        )
    start = np.flatnonzero(np.concatenate([[True], np.diff(hours) != 0]))
    _, number = np.unique(hours[start] // 24, return_inverse=True)
    return Days(values, start, number.astype(np.int64), hours[start] % 24)


def peak_shows(days: Days, setting: PrivacySetting, rng: np.random.Generator) -> float:
    """The probability that the onlooker names the evening peak, played out at least `GAMES` times."""
    true = days.largest(days.values, EVENING)
    games = 1 if setting.mechanism == "none" else -(-GAMES // days.count)
    won = [days.largest(setting.mask(days.values, rng), range(24)) == true for _ in range(games)]
    return float(np.mean(won))
