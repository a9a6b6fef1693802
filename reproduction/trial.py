"""A trial by masking: a few users' readings masked one by one, for what a study from a profile cannot show by itself.

The analytic method takes the mean of the global error, and the correction of a variance, from theory. To check the
theory against the paper, readings are masked here and errors counted.
"""

from dataclasses import dataclass

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.open_panel import open_panel
from halfmask.data.panel import Panel
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.metrics import GLOBAL_MEAN, LOCAL, METRICS, local_error, summary
from halfmask.evaluation.sampling import Subset, draw_subsets, population
from halfmask.evaluation.scores import privacy
from halfmask.menus.menu import NONE_ID, Menu
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

USERS = 200
UNCORRECTED = "numpy:var"
"""The variance of the masked values as they are; the aggregate "variance" takes the noise's own variance off."""


@dataclass(frozen=True, eq=False)
class Trial:
    """What masking showed.

    ``ids``            settings of the menu that mask, from the lowest privacy up
    ``users``          in each subset
    ``mean_error``     (ids, subsets) mean global error of the daily total, by masking
    ``formula``        (ids, subsets) what sigma sqrt(2/pi) / (sqrt(n) mean s) gives, averaged over days
    ``corrected``, ``uncorrected``  (subsets,) mean global error of the daily variance under the most private setting
    ``bias``           (subsets,) sigma^2 / Var(s) of that setting, averaged over days
    ``alone``, ``again``, ``among``  (people,) privacy of single users under one setting when all others have it too,
                       the same once more with fresh noise, and when the others choose at random
    """

    ids: tuple[str, ...]
    users: IntArray
    mean_error: FloatArray
    formula: FloatArray
    corrected: FloatArray
    uncorrected: FloatArray
    bias: FloatArray
    alone: FloatArray
    again: FloatArray
    among: FloatArray


def run_trial(panel: Panel, menu: Menu, *, period: str = "day", users: int = USERS, seed: int = 7) -> Trial:
    """Mask the readings of some users of the panel, drawn at random, under the menu's settings."""
    rows = few_users(panel, users, seed)
    few = open_panel(rows, user="user", time="time", value="value")
    small = build_profile(few, period=period)
    people = population(small)
    subsets = draw_subsets(small, sorted({max(people // 4, 1), people}), 3, seed)
    masking = [each for each in menu.settings if each.id != NONE_ID]
    settings = [each.setting for each in masking]

    def errors(aggregate: str, among: slice) -> FloatArray:
        found = evaluate_direct(few, small, settings[among], subsets, aggregate=aggregate, seed=seed)
        return np.asarray(found[..., GLOBAL_MEAN])

    sigma = np.array([each.noise_std or 0.0 for each in masking])
    last = slice(len(settings) - 1, None)
    return Trial(
        tuple(each.id for each in masking),
        np.array([subset.users for subset in subsets]),
        errors("sum", slice(None)),
        sigma[:, None] * np.array([unit_error(small, subset) for subset in subsets]),
        errors("variance", last)[0],
        errors(UNCORRECTED, last)[0],
        sigma[-1] ** 2 * np.array([_inverse_variance(small, subset) for subset in subsets]),
        *individual_privacy(rows, menu, seed),
    )


def few_users(panel: Panel, users: int, seed: int) -> pa.Table:
    """All readings of some users of the panel, drawn at random without replacement."""
    found = panel.collect(panel.frame.filter(~nw.col("user").is_null()).select("user").unique())["user"]
    names = np.sort(found.to_numpy(zero_copy_only=False))
    chosen = stream(seed, "reproduction.users", users).choice(names, min(users, len(names)), replace=False)
    rows = panel.collect(panel.frame.filter(nw.col("user").is_in(np.sort(chosen).tolist())))
    return rows.set_column(rows.column_names.index("time"), "time", rows["time"].cast(pa.timestamp("us")))


def unit_error(profile: Profile, subset: Subset) -> float:
    """E|global error| of a total under noise of deviation 1: sqrt(2/pi) sqrt(n) / |sum s|, averaged over periods.

    The mean of |X| of a normal X. Periods with few readings are not normal, and the formula is off there.
    """
    n, total, _ = _periods(profile, subset)
    return float(np.mean(np.sqrt(2 / np.pi * n) / np.abs(total)))


def _inverse_variance(profile: Profile, subset: Subset) -> float:
    """1 / Var(s) within a period, averaged over periods."""
    n, total, squares = _periods(profile, subset)
    return float(np.mean(1 / (squares / n - (total / n) ** 2)))


def _periods(profile: Profile, subset: Subset) -> FloatArray:
    """Number, sum and sum of squares of the readings of each period that has a total."""
    sums = profile.cells[subset.rows].sum(axis=0)
    return np.asarray(sums[sums[:, 1] != 0, :3].T)


def individual_privacy(rows: pa.Table, menu: Menu, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Privacy of single users under the menu's middle setting: with all others alike, once more, and among free choice.

    Every world masks its users one after the other from one stream of noise, so that a choice of others that leaked
    into a user's noise would show.
    """
    order = rows.sort_by([("user", "ascending"), ("time", "ascending")])
    values = order["value"].to_numpy(zero_copy_only=False).astype(float)
    names = order["user"].to_numpy(zero_copy_only=False)
    people = np.split(values, np.flatnonzero(names[1:] != names[:-1]) + 1)
    people = [readings for readings in people if np.any(np.isfinite(readings) & (readings != 0))]
    middle = (len(menu.settings) - 1) // 2
    rng = stream(seed, "reproduction.choices")
    alike = np.full(len(people), middle)
    free = rng.integers(len(menu.settings), size=len(people))
    watched = rng.random(len(people)) < 0.5
    worlds = (alike, alike, np.where(watched, middle, free))
    alone, again, among = (_privacies(people, menu, choices, rng)[watched] for choices in worlds)
    return alone, again, among


def _privacies(people: list[FloatArray], menu: Menu, choices: IntArray, rng: np.random.Generator) -> FloatArray:
    metrics = np.zeros((len(people), len(METRICS)))
    for row, (readings, choice) in enumerate(zip(people, choices, strict=True)):
        masked = menu.settings[choice].setting.mask(readings, rng)
        metrics[row, LOCAL] = summary(local_error(masked, readings))
    return privacy(metrics, menu.largest, menu.weights)
