"""A trial by masking: a few users' readings masked one by one, for what a study from a profile cannot show by itself.

The analytic engine takes the mean of the global error, and the correction of a variance, from theory. To check the
theory against the paper, readings are masked here and errors counted.
"""

from dataclasses import dataclass

import narwhals as nw
import numpy as np
import pyarrow as pa

from halfmask.choice.menu import Menu
from halfmask.data.panel import Panel
from halfmask.data.sources import open_panel
from halfmask.evaluation.direct import evaluate_direct
from halfmask.evaluation.metrics import local_error, summary
from halfmask.evaluation.sampling import Subset, draw_subsets, eligible
from halfmask.evaluation.scores import privacy
from halfmask.profiles.bins import FloatArray, IntArray
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile

USERS = 200
GLOBAL_MEAN = 3
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


def run_trial(panel: Panel, profile: Profile, menu: Menu, *, users: int = USERS, seed: int = 7) -> Trial:
    """Mask the readings of some users of the panel, drawn at random, under the menu's settings."""
    few = few_users(panel, profile, users, seed)
    small = build_profile(few, period=profile.period.text)
    people = len(eligible(small))
    subsets = draw_subsets(small, sorted({max(people // 4, 1), people}), 3, seed)
    masking = [each for each in menu.settings if each.setting.mechanism != "none"]
    settings = [each.setting for each in masking]

    def errors(aggregate: str, rows: slice) -> FloatArray:
        found = evaluate_direct(few, small, settings[rows], subsets, aggregate=aggregate, seed=seed)
        return np.asarray(found[..., GLOBAL_MEAN])

    sigma = np.array([each.noise_std or 0.0 for each in masking])
    last = slice(len(settings) - 1, None)
    return Trial(
        tuple(each.id for each in masking),
        np.array([subset.users for subset in subsets]),
        errors("sum", slice(None)),
        sigma[:, None] * np.array([_unit_error(small, subset) for subset in subsets]),
        errors("variance", last)[0],
        errors(UNCORRECTED, last)[0],
        sigma[-1] ** 2 * np.array([_inverse_variance(small, subset) for subset in subsets]),
        *_individuals(few, menu, seed),
    )


def few_users(panel: Panel, profile: Profile, users: int, seed: int) -> Panel:
    """A panel of some users with readings, drawn at random; all of them where the profile keeps no single users."""
    labels = profile.labels[eligible(profile)]
    if profile.buckets:
        raise _no_users()
    rng = np.random.default_rng([seed, users])
    chosen = sorted(rng.choice(labels, min(users, len(labels)), replace=False).tolist())
    rows = panel.collect(panel.frame.filter(nw.col("user").cast(nw.String()).is_in(chosen)))
    names = rows["user"].cast(pa.string())
    # Text that reads as a number would be taken for one: users' names are told apart by a letter.
    named = pa.array([f"u{name}" for name in names.to_pylist()])
    return open_panel(pa.table({"user": named, "time": rows["time"].cast(pa.timestamp("us")), "value": rows["value"]}))
