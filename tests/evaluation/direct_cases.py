"""Panels and an oracle for the direct method: the six metrics in the few lines of numpy that anybody would write."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from halfmask.arrays import FloatArray
from halfmask.data.open_panel import open_panel
from halfmask.data.panel import Panel
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.profile import Profile

HOUR = 3_600_000_000
START = 1_700_006_400_000_000  # a midnight


class Case:
    """Readings as arrays, and as the panel and profile that the method takes."""

    def __init__(
        self,
        users: Sequence[str],
        hours: Sequence[int],
        values: Sequence[float],
        period: str = "day",
        policies: Policies | None = None,
        buckets: int = 0,
    ) -> None:
        self.users = np.array(users)
        self.values = np.array(values, float)
        moments = np.array(hours, np.int64) * HOUR + START
        self.hours = list(hours)
        self.days = (np.array(hours) // 24).astype(int)
        self.table = pa.table(
            {"user": pa.array(list(users)), "time": pa.array(moments, pa.timestamp("us")), "value": self.values}
        )
        self.panel: Panel = open_panel(self.table)
        self.profile: Profile = build_profile(self.panel, period=period, policies=policies, buckets=buckets)

    def everybody(self, repeats: int) -> list[Subset]:
        """All users with a reading, so often; each repeat has noise of its own."""
        rows = np.flatnonzero(self.profile.rows["readings"] > 0)
        people = int((self.profile.rows["members"] - self.profile.rows["empty"]).sum())
        return [Subset(people, repeat, rows, people) for repeat in range(repeats)]


def household(users: int = 15, days: int = 30, step: int = 3, signed: bool = False, zeros: float = 0.1) -> Case:
    """Readings of differing size with some zeros; users come one after the other."""
    rng = np.random.default_rng(11)
    hours = np.tile(np.arange(0, 24 * days, step), users)
    names = np.repeat([f"user-{n:03d}" for n in range(users)], len(hours) // users)
    values = rng.lognormal(np.repeat(rng.normal(0, 0.7, users), len(hours) // users), 0.5)
    values[rng.random(len(values)) < zeros] = 0
    if signed:
        values[rng.random(len(values)) < 0.3] *= -1
    return Case(names.tolist(), hours.tolist(), values.tolist())


def entropy(errors: FloatArray) -> float:
    counts = np.unique(np.floor(errors / 0.001), return_counts=True)[1]
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())


def naive(
    case: Case,
    mask: Callable[[FloatArray, np.random.Generator], FloatArray],
    aggregate: Callable[[FloatArray], float],
    true: Callable[[FloatArray], float],
    error: str,
    repeats: int,
) -> FloatArray:
    """The six metrics of ``repeats`` samples of everybody, masked as obviously as can be."""
    rng = np.random.default_rng(5)
    scale = {user: np.abs(case.values[case.users == user]).mean() for user in np.unique(case.users)}
    divisor = np.array([scale[user] for user in case.users]) if error == "scaled" else np.abs(case.values)
    days = [np.flatnonzero(case.days == day) for day in np.unique(case.days)]
    totals = np.array([true(case.values[day]) for day in days])
    over = np.full(len(totals), np.abs(totals).mean()) if error == "scaled" else np.abs(totals)
    result = np.empty((repeats, 6))
    for repeat in range(repeats):
        masked = mask(case.values, rng)
        local = (np.abs(masked - case.values)[divisor > 0]) / divisor[divisor > 0]
        sums = np.array([aggregate(masked[day]) for day in days])
        of_all = (np.abs(sums - totals)[over > 0]) / over[over > 0]
        result[repeat] = [local.mean(), local.std(), entropy(local), of_all.mean(), of_all.std(), entropy(of_all)]
    return result


def settings(*texts: str) -> list[PrivacySetting]:
    return [PrivacySetting.parse(text) for text in texts]
