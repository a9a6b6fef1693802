"""The samples of a study as arrays, with privacy and utility of each, for figures and tables.

It also provides the samples of the menu's settings, and Table 1 of the paper.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import GLOBAL_MEAN, METRICS
from halfmask.evaluation.scores import Constraint, Weights, normalisers, passing, privacy, utility
from halfmask.evaluation.study import Study
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, brief
from halfmask.profiles.profile import Profile
from halfmask_device.decimals import number_text

LARGE = 1000


@dataclass(frozen=True, eq=False)
class Scale:
    """The normalisers, weights and constraint of a study, with which metrics become privacy and utility."""

    largest: FloatArray
    weights: Weights
    constraint: Constraint


@dataclass(frozen=True, eq=False)
class Samples:
    """All samples of a study: S settings, K samples of each.

    ``settings``, ``mechanisms``, ``parameters``  (S,) text, mechanism and parameters of each setting
    ``users``                (K,) number of users, equal for all settings; 0 if a summary pools all sizes
    ``metrics``              (S, K, 6) the six error metrics
    ``kept``                 (S,) whether the setting meets the constraint
    ``privacy``, ``utility``  (S, K) scores, valid only if ``kept``; (S, 1) medians for a summary
    ``scores``               (S,) medians and tenth percentiles by name; NaN if not ``kept``
    """

    settings: list[str]
    mechanisms: npt.NDArray[np.str_]
    parameters: list[list[float]]
    users: IntArray
    metrics: FloatArray
    kept: npt.NDArray[np.bool_]
    privacy: FloatArray
    utility: FloatArray
    scores: dict[str, FloatArray]
    scale: Scale
    about: dict[str, Any]

    @property
    def sized(self) -> bool:
        """Return whether the sizes of samples are known."""
        return bool((self.users > 0).any())

    def names(self) -> list[str]:
        """Return the mechanisms in alphabetical order."""
        return [str(name) for name in np.unique(self.mechanisms)]

    def large(self) -> tuple[npt.NDArray[np.bool_], str]:
        """Return which samples have more than 1,000 users, and a description.

        If there are none, return the samples with at least half as many users as the largest.
        """
        if (self.users > LARGE).any():
            return self.users > LARGE, f"more than {LARGE:,} users"
        enough = -(-int(self.users.max()) // 2)
        return self.users >= enough, f"{enough:,} users or more"


def read_samples(path: str | Path, menu: Menu | None = None) -> Samples:
    """Read the samples of ``study.parquet``, scored with the menu's normalisers (without a menu, with the study's)."""
    return samples_of(Study.read(path), menu)


def samples_of(study: Study, menu: Menu | None = None) -> Samples:
    """Return the samples of a study, ordered by users and repeat, and scored as in `read_samples`."""
    summary = study.scores is not None
    order = np.lexsort((study.repeat, study.users))
    metrics = study.metrics[:, order].astype(float)
    blocks = study.grid.blocks
    about = {**study.about, "form": "summary"} if summary else study.about
    scale = scale_of(metrics, menu if menu is not None or not summary else study.about)
    mechanisms = np.repeat([block.mechanism for block in blocks], [len(block) for block in blocks])
    parameters = [row for block in blocks for row in block.parameters.tolist()]
    held = study.grid.texts(), mechanisms, parameters, study.users[order], metrics
    if study.scores is None:
        return Samples(*held, *_scored(metrics, scale), scale, about)
    scores = dict(study.scores)
    q, u = scores["privacy_median"], scores["utility_median"]
    return Samples(*held, np.isfinite(q), q[:, None], u[:, None], scores, scale, about)


def _scored(
    metrics: FloatArray, scale: Scale
) -> tuple[npt.NDArray[np.bool_], FloatArray, FloatArray, dict[str, FloatArray]]:
    """Return ``kept``, ``privacy``, ``utility`` and ``scores`` of `Samples`."""
    kept = passing(metrics, scale.constraint)
    q, u = privacy(metrics, scale.largest, scale.weights), utility(metrics, scale.largest, scale.weights)
    scores: dict[str, FloatArray] = {}
    for name, values in (("privacy", q), ("utility", u)):
        tenth, median = np.full((2, len(metrics)), np.nan)
        tenth[kept], median[kept] = np.percentile(values[kept], (10, 50), axis=1)
        scores |= {f"{name}_median": median, f"{name}_p10": tenth}
    return kept, q, u, scores


def scale_of(metrics: FloatArray, source: Menu | dict[str, Any] | None) -> Scale:
    """Return the scale of a menu or a summary; without either, normalisers of ``metrics`` and default weights."""
    if isinstance(source, Menu):
        bounds = source.constraints
        default = Constraint()
        held = Constraint(bounds.get("max_mean", default.max_mean), bounds.get("max_std", default.max_std))
        return Scale(source.largest, source.weights, held)
    if source is not None:
        weights = Weights(tuple(source["weights"]["privacy"]), tuple(source["weights"]["utility"]))
        largest = np.array([source["normalisers"][name] for name in METRICS])
        return Scale(largest, weights, Constraint(**source["constraints"]))
    return Scale(normalisers(metrics, passing(metrics, Constraint())), Weights(), Constraint())


@dataclass(frozen=True, eq=False)
class MenuSamples:
    """The samples of the menu's settings: (ids, samples).

    ``absent``  ids without samples
    """

    ids: list[str]
    users: IntArray
    metrics: FloatArray
    privacy: FloatArray
    utility: FloatArray
    absent: list[str]

    def total_error(self, name: str, users: int) -> float:
        """Return the mean global error of a setting over the samples with this number of users."""
        return float(self.metrics[self.ids.index(name), self.users == users, GLOBAL_MEAN].mean())


def menu_samples(samples: Samples, menu: Menu, profile: Profile | None = None) -> MenuSamples:
    """Return the samples of each menu setting.

    They are taken from the study. A setting that the study does not contain is evaluated now, on the same subsets of
    users, if there is a profile of the same data and the study's method is analytic. Unmasked sharing has errors of 0.
    Other settings are in ``absent``.
    """
    place = {text: row for row, text in enumerate(samples.settings)}
    found: dict[str, FloatArray] = {}
    for each in menu.settings:
        if str(each.setting) in place:
            found[each.id] = samples.metrics[place[str(each.setting)]]
        elif each.setting.silent:
            found[each.id] = np.zeros(samples.metrics.shape[1:])
    missing = [each for each in menu.settings if each.id not in found]
    tried = Experiment.of(samples.about)
    same = profile is not None and tried.fingerprint == profile.fingerprint()
    if missing and profile is not None and tried.method == "analytic" and same:
        from halfmask.evaluation.evaluate import evaluate_grid  # here, because numba takes long to import

        study = evaluate_grid(profile, Grid.from_settings(each.setting for each in missing), tried)
        rows = {text: row for row, text in enumerate(study.grid.texts())}
        found |= {each.id: study.metrics[rows[str(each.setting)]].astype(float) for each in missing}
    ids = [each.id for each in menu.settings if each.id in found]
    metrics = np.stack([found[name] for name in ids])
    scale = samples.scale
    q, u = privacy(metrics, scale.largest, scale.weights), utility(metrics, scale.largest, scale.weights)
    return MenuSamples(ids, samples.users, metrics, q, u, [name for name in menu.ids if name not in found])


def table_1(menu: Menu) -> list[tuple[str, str, str, float, float]]:
    """Return id, mechanism, parameters (lowest power first), median privacy and median utility of each setting."""
    return [
        (
            each.id,
            each.setting.mechanism,
            _parameters(each.setting),
            each.privacy.median,
            each.utility.median,
        )
        for each in menu.settings
    ]


def _parameters(setting: PrivacySetting) -> str:
    """Return the parameters as text; for a long table of points, only their number."""
    short = brief(setting)
    if short != str(setting):
        return short.partition(", ")[2]
    return ", ".join(map(number_text, setting.parameters)) or "–"
