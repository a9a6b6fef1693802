"""Common noise compared with the best possible noise: its score, and the error of the best guess."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.audits.score_limit import AllReadings, LimitLaw, few_pieces, has_limit
from halfmask.errors import OptionError
from halfmask.evaluation.scores import privacy, utility
from halfmask.mechanisms.grid import WELL_KNOWN, Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import sizes_on
from halfmask.profiles.profile import Profile
from halfmask.protection.attacks.reconstruction import share_left
from halfmask.protection.evidence import Population, population_of

POINTS = 9
DECADES = 2.5
LIMIT = "the limit"
FAMILIES = WELL_KNOWN
SHOWN = 2.5  # deviations
STEPS = 200


@dataclass(frozen=True, eq=False)
class NoiseAtEqualUtility:
    """The best possible noise and three common families at the same D deviations, and so at the same utilities.

    ``deviation``             of the noise (D,)
    ``chosen``                the deviation for which laws are shown
    ``privacy``, ``utility``  medians of the best possible noise over the study's samples (D,)
    ``shares``                privacy as a share of the best possible, by family (D,)
    ``errors``                error of the best guess in deviations of the readings, by family and for the best noise
                              (D,)
    ``at``                    values of |psi| / deviation
    ``laws``                  density at these values, by family and for the best noise
    """

    deviation: FloatArray
    chosen: float
    privacy: FloatArray
    utility: FloatArray
    shares: dict[str, FloatArray]
    errors: dict[str, FloatArray]
    at: FloatArray
    laws: dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class AtDeviation:
    """The best noise and the families at one deviation: settings, scores and errors of the best guess, by name."""

    limit: LimitLaw
    settings: dict[str, PrivacySetting]
    scores: dict[str, float]
    errors: dict[str, float]


def noise_at_equal_utility(
    menu: Menu, profile: Profile, scale: AllReadings | None = None, pool: Executor | None = None
) -> NoiseAtEqualUtility | None:
    """Return the comparison at deviations from the menu's largest down by `DECADES`.

    None if the menu lacks a setting with additive noise.

    ``scale``  scores on this menu and profile, if already made
    ``pool``   runs the deviations in parallel
    """
    sizes = sorted(each.noise_std for each in menu.settings if each.noise_std and has_limit(each))
    if not sizes:
        return None
    deviation = np.geomspace(sizes[-1] / 10**DECADES, sizes[-1], POINTS)
    middle = int(np.argmin(np.abs(np.log(deviation / sizes[len(sizes) // 2]))))
    scale, population = scale or AllReadings(profile, menu), population_of(profile)
    every = (pool.map if pool else map)(lambda each: at_deviation(each, scale, population), deviation.tolist())
    found = list(every)
    q, u = _medians([each.settings[LIMIT] for each in found], menu, profile)
    at = np.linspace(0, SHOWN, STEPS + 1)
    laws = {name: _density(found[middle].settings[name], at, deviation[middle]) for name in FAMILIES}
    return NoiseAtEqualUtility(
        deviation=deviation,
        chosen=float(deviation[middle]),
        privacy=q,
        utility=u,
        shares={name: np.array([each.scores[name] / each.limit.upper_bound for each in found]) for name in FAMILIES},
        errors={name: np.array([each.errors[name] for each in found]) for name in (*FAMILIES, LIMIT)},
        at=(at[1:] + at[:-1]) / 2,
        laws=laws | {LIMIT: _smooth((at[1:] + at[:-1]) / 2, found[middle].limit)},
    )


def at_deviation(deviation: float, scale: AllReadings, population: Population) -> AtDeviation:
    """Return the comparison at one deviation."""
    limit = scale.limit(deviation**2)
    settings = {name: PrivacySetting.of_deviation(name, deviation) for name in FAMILIES} | {
        LIMIT: few_pieces(scale, limit)
    }
    scores = {name: scale.privacy(settings[name]) for name in FAMILIES}
    return AtDeviation(limit, settings, scores, {name: share_left(each, population) for name, each in settings.items()})


def _medians(settings: Sequence[PrivacySetting], menu: Menu, profile: Profile) -> tuple[FloatArray, FloatArray]:
    """Return median privacy and utility of settings on the subsets of users that the menu was chosen on."""
    if not menu.experiment.sizes:
        raise OptionError(
            "the menu does not say which samples it was made on: recreate it with 'halfmask optimize'", kind="samples"
        )
    from halfmask.evaluation.evaluate import evaluate_grid  # here, because numba takes long to import

    tried = replace(menu.experiment, sizes=tuple(sizes_on(profile, menu.provenance)))
    study = evaluate_grid(profile, Grid.from_settings(settings), tried)
    place = {text: row for row, text in enumerate(study.grid.texts())}
    metrics = study.metrics[[place[str(each)] for each in settings]].astype(float)
    q, u = (np.median(score(metrics, menu.largest, menu.weights), axis=1) for score in (privacy, utility))
    return np.asarray(q), np.asarray(u)


def _density(setting: PrivacySetting, at: FloatArray, deviation: float) -> FloatArray:
    below = setting.law.cdf(np.array(setting.parameters)[None], at * deviation)[0]
    return np.asarray(np.diff(below) / np.diff(at))


def _smooth(at: FloatArray, law: LimitLaw) -> FloatArray:
    """Return the density of the best law, interpolated through the middles of its pieces."""
    middle, width = (law.edges[1:] + law.edges[:-1]) / 2, np.diff(law.edges)
    deviation = law.variance**0.5
    return np.asarray(np.interp(at, middle / deviation, law.masses / width * deviation))
