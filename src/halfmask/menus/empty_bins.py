"""Why a level of privacy, or the whole menu, has no setting, and which setting comes closest."""

from collections.abc import Sequence

import numpy as np

from halfmask.arrays import BoolArray, IntArray
from halfmask.errors import OptionError
from halfmask.menus.menu import EmptyBin, Score
from halfmask.menus.menu_requirements import Demand
from halfmask.menus.privacy_axis import Axis
from halfmask.menus.study_scores import StudyScores


def empty_bin(
    scored: StudyScores,
    axis: Axis,
    number: int,
    bin_: IntArray,
    held: BoolArray,
    omega: float,
    steady: BoolArray,
    admissible: BoolArray,
) -> EmptyBin:
    """Return a description of an empty bin, with the nearest setting and the reason.

    The reason is one of four: devices refuse all settings, none meets the requirements, the privacy of all varies too
    much (the one that varies least is then nearest), or the bin contains none.
    """
    low, high = axis.bin(number)
    inside = np.flatnonzero(bin_ == number)
    if steady[inside].any():
        nearest = int(inside[np.nanargmax(np.where(steady[inside], scored.objective[inside], np.nan))])
        reason = "no setting in it meets the requirements"
        if admissible[inside].any():
            reason = "devices refuse every setting in it that would do, on this lattice"
    elif len(inside):
        nearest = int(inside[np.argmin(scored.spread[inside])])
        reason = f"its privacy varies by {scored.spread[nearest]:.4g} (median less 10th percentile), omega is {omega}"
    else:
        rows = np.flatnonzero(held & np.isfinite(axis.values))
        distance = axis.distance(rows, number)
        nearest = int(rows[np.lexsort((-scored.objective[rows], distance))[0]])
        reason = (
            f"no setting that keeps the constraint has {axis.name} in {low:g} to {high:g}; "
            f"the nearest has {axis.values[nearest]:.4g}"
        )
    score = Score(float(scored.privacy_median[nearest]), float(scored.privacy_p10[nearest]))
    return EmptyBin((low, high), scored.setting(nearest), score, reason)


def nothing(
    scored: StudyScores, held: BoolArray, omega: float, axis: Axis, require: Sequence[Demand], refused: IntArray
) -> OptionError:
    """Return the error that says why no bin has a setting.

    ``held``     settings that keep the constraint and mask
    ``refused``  per bin the setting that would win if devices accepted it, -1 if there is none
    """
    if not held.any():
        why = "no setting of the study that keeps the constraint masks anything: evaluate settings with noise"
        return OptionError(why, kind="unmasked")
    if (refused >= 0).any():
        why = "devices refuse every setting on this lattice: take a finer `step`, or evaluate settings with more noise"
        return OptionError(why, kind="refused")
    rows = np.flatnonzero(held)
    nearest = int(rows[np.argmin(scored.spread[rows])])
    if scored.spread[nearest] < omega and require:
        asked = ", ".join(map(str, require))
        why = f"no setting is admissible and meets {asked}: ask for less, or evaluate more settings"
        return OptionError(why, kind="unmet")
    if scored.spread[nearest] < omega:
        why = f"no setting has a finite {axis.name}: evaluate other settings, or take another `by`"
        return OptionError(why, kind="axis")
    return OptionError(
        f"no setting is admissible: the privacy of the steadiest, {scored.setting(nearest)}, varies by "
        f"{scored.spread[nearest]:.4g}, omega is {omega}: raise `omega`, take fewer `bins` or evaluate more settings",
        kind="admissible",
    )
