"""Score any setting on a menu's scale: the paper's scores, with the menu's samples, seed and normalisers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.sampling import Subset, draw_subsets, population
from halfmask.evaluation.scores import Constraint, passing, privacy, utility
from halfmask.evaluation.split_totals import split_metrics
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting, release_of
from halfmask.menus.menu import CALIBRATION, Menu, Score
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.streams import stream
from halfmask_device.setting import SPLIT

OUTSIDE = "outside the study's range"
ROUNDING = 1e-9
FRESH = 10
"""Least number of fresh subsets of each size on which a difference is measured."""


def beyond(scores: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Return which scores lie outside 0 to 1, because errors exceed the study's largest."""
    values = np.asarray(scores, float)
    return np.asarray((values < -ROUNDING) | (values > 1 + ROUNDING))


def outside(scores: npt.ArrayLike) -> bool:
    """Return whether any score lies outside 0 to 1."""
    return bool(beyond(scores).any())


def score_words(score: float, *, known: bool = False) -> str:
    """Return a score as text for a table; `OUTSIDE` if it is not within 0 to 1, or if ``known`` says so."""
    return OUTSIDE if known or outside(score) else f"{min(max(score, 0.0), 1.0):.2f}"


@dataclass(frozen=True)
class Placed:
    """Scores of one setting on the menu's scale, cut to 0 and 1.

    ``outside``  whether errors exceed the study's largest, so that scores had to be cut
    ``passes``   whether it keeps the menu's constraint on the global error
    """

    privacy: Score
    utility: Score
    outside: bool
    passes: bool

    @property
    def objective(self) -> float:
        """perc(U, 50) + perc(U, 10)."""
        return self.utility.median + self.utility.p10

    def words(self) -> list[str]:
        """Return privacy and utility as texts for a table."""
        return [score_words(each.median, known=self.outside) for each in (self.privacy, self.utility)]


def _sampling(made: Mapping[str, Any]) -> tuple[list[int], int, int]:
    """Return sizes, repeats and seed of the samples that a menu or study was made on."""
    try:
        return made["sizes"], made["repeats"], made["seed"]
    except KeyError as error:
        raise OptionError(
            f"the menu does not say which samples it was made on (no {error}): optimize again", kind="samples"
        ) from error


def subsets_of(made: Mapping[str, Any], profile: Profile) -> list[Subset]:
    """Return the subsets of users that a menu's study was made on, from the menu's provenance."""
    _, repeats, seed = _sampling(made)
    return draw_subsets(profile, sizes_on(profile, made), repeats, seed)


def sizes_on(profile: Profile, made: Mapping[str, Any]) -> list[int]:
    """Return the sizes of a menu's subsets of users, from the menu's provenance.

    A published menu was made on a synthetic profile, which may have more users with a reading than this one.
    """
    sizes, *_ = _sampling(made)
    return sorted({min(size, population(profile)) for size in sizes}) if CALIBRATION in made else list(sizes)


def afresh(*made: Mapping[str, Any]) -> dict[str, Any]:
    """Return a provenance that describes new subsets, drawn with another seed than those given.

    It has all their sizes, with `FRESH` or more subsets of each size.
    """
    every = [_sampling(each) for each in made]
    sizes = sorted({size for each, _, _ in every for size in each})
    seed = int(stream(max(each[2] for each in every), "menus.fresh").integers(2**32))
    return {**made[0], "sizes": sizes, "repeats": max(FRESH, *(each[1] for each in every)), "seed": seed}


def evaluated(
    settings: Sequence[PrivacySetting], profile: Profile, made: Mapping[str, Any]
) -> tuple[list[PrivacySetting], FloatArray]:
    """Return the settings with a noise law, and their metrics on the subsets of this provenance.

    Metrics are (settings, subsets, 6). Those of a split setting are of `split_metrics`.
    """
    from halfmask.evaluation.analytic.evaluate_analytic import (
        evaluate_analytic,  # here, because numba takes long to import
    )

    laws = [each for each in settings if each.kind != "direct" and each.inner is None]
    if not laws:
        return [], np.empty((0, 0, len(METRICS)))
    masked = released(profile, release_of(laws))
    subsets, asked = subsets_of(made, masked), {"error": made.get("error", "relative"), "seed": int(made["seed"])}
    aggregate = str(made.get("aggregate", "sum"))
    split = [each for each in dict.fromkeys(laws) if each.release == SPLIT]
    found, parts = split, [split_metrics(each, masked, subsets, aggregate=aggregate, **asked)[None] for each in split]
    if len(split) < len(laws):
        grid = Grid.from_settings(each for each in laws if each.release != SPLIT)
        found = [*grid.settings(), *split]
        parts = [evaluate_analytic(masked, grid, subsets, aggregate=aggregate, **asked), *parts]
    return found, np.concatenate(parts)


def place(settings: Sequence[PrivacySetting], profile: Profile, menu: Menu) -> dict[PrivacySetting, Placed]:
    """Return the scores of the settings that have a noise law; others are left out."""
    laws, metrics = evaluated(settings, profile, menu.provenance)
    if not laws:
        return {}
    limits = {name: menu.constraints[name] for name in ("max_mean", "max_std") if name in menu.constraints}
    passes = passing(metrics, Constraint(**limits))
    q, u = privacy(metrics, menu.largest, menu.weights), utility(metrics, menu.largest, menu.weights)
    return {setting: _placed(q[row], u[row], bool(passes[row])) for row, setting in enumerate(laws)}


def _placed(q: FloatArray, u: FloatArray, passes: bool) -> Placed:
    found = [np.percentile(each, (50, 10)) for each in (q, u)]
    of_privacy, of_utility = (Score(*(float(value) for value in np.clip(each, 0, 1))) for each in found)
    return Placed(of_privacy, of_utility, outside(found), passes)
