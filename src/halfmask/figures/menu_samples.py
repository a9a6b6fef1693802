"""The menu seen through the study: its settings' own samples, and Table 1 of the paper."""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import GLOBAL_MEAN
from halfmask.evaluation.scores import privacy, utility
from halfmask.figures.study_samples import Samples
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, brief
from halfmask.profiles.profile import Profile
from halfmask_device.decimals import number_text


@dataclass(frozen=True, eq=False)
class MenuSamples:
    """The samples of the menu's settings, (ids, samples); ids that could not be found are in ``absent``."""

    ids: list[str]
    users: IntArray
    metrics: FloatArray
    privacy: FloatArray
    utility: FloatArray
    absent: list[str]

    def total_error(self, name: str, users: int) -> float:
        """Mean global error of a setting over the samples of that many users."""
        return float(self.metrics[self.ids.index(name), self.users == users, GLOBAL_MEAN].mean())


def menu_samples(samples: Samples, menu: Menu, profile: Profile | None = None) -> MenuSamples:
    """Return the samples of each menu setting, from the study if it holds the setting.

    A setting that the study does not hold (a refined one) is evaluated now, on the same subsets of users, if the
    profile is at hand and the analytic method made the study. Sharing unmasked has errors of 0.
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
    """Id, mechanism, parameters (lowest power first), median privacy and median utility."""
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
    """Return the parameters, or how many points a long table has: menu.json has them all."""
    short = brief(setting)
    if short != str(setting):
        return short.partition(", ")[2]
    return ", ".join(map(number_text, setting.parameters)) or "–"
