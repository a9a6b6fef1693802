"""On panels of different kinds the offer's levels are each what they say, when readings are masked one by one."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from halfmask.data.open_panel import open_panel
from halfmask.evaluation.error_kind import error_function
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from halfmask.menus.offer import offer
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from halfmask.protection.attacks.reconstruction import simulated_errors
from tests.evaluation.direct_cases import Case
from tests.real_data import PEDESTRIANS, SWISS, needs_data

USERS, DAYS, STEP = 120, 8, 2
MASKINGS = 240
KINDS = ("kWh", "Wh", "water", "temperatures", "pedestrians")


@cache
def panel(kind: str) -> Case:
    """Readings of a kind, every two hours."""
    rng = np.random.default_rng(5)
    hours = np.tile(np.arange(0, 24 * DAYS, STEP), USERS)
    names = np.repeat([f"p{n:03d}" for n in range(USERS)], len(hours) // USERS)
    evening = 1 + 0.8 * np.cos((hours % 24 - 19) / 24 * 2 * np.pi)
    level = np.repeat(rng.lognormal(-1, 0.6, USERS), len(hours) // USERS)
    values = level * evening * rng.lognormal(0, 0.5, len(hours))
    if kind == "Wh":
        values = np.round(1000 * values)
    if kind == "water":  # half of the readings are zero
        values = np.where(rng.random(len(values)) < 0.5, 0.0, 40 * values)
    if kind == "temperatures":  # below and above zero
        values = np.round(2 + 6 * rng.standard_normal(len(values)) + 3 * evening, 1)
    if kind == "pedestrians":
        values = rng.poisson(800 * values).astype(float)
    return Case(names.tolist(), hours.tolist(), values.tolist())


@cache
def offered(kind: str) -> Menu:
    case = panel(kind)
    return _offer(case.profile)


def _offer(profile: Profile) -> Menu:
    size = float(profile.rows["sum_abs"].sum() / profile.readings)  # a small grid in the data's own scale
    settings = [PrivacySetting("laplace", (float(b * size),)) for b in np.geomspace(1e-3, 30, 60)]
    error = error_function("auto", profile)
    tried = Experiment.on(profile, sizes="30,all", repeats=2, error=error)
    study = evaluate_grid(profile, Grid.from_settings(settings), tried)
    return offer(profile, study).menu


def _levels_hold(made: Menu, users: NDArray[np.str_], days: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    """Guess error and error of totals of each level, by masking; half of the noise would be told apart.

    The mean over periods and the usual period are both held. Where one nearly empty period decides the mean, as one
    does of the pedestrians, many maskings still leave a sampling error of the mean; the usual period has next to none.
    """
    rng = np.random.default_rng(9)
    everyone = len(np.unique(users))
    _, day = np.unique(days, return_inverse=True)
    true = np.bincount(day, values)
    scale = np.abs(true) if made.provenance["error"] == "relative" else np.full(len(true), np.abs(true).mean())
    for each in made.settings[:-1]:
        many = np.tile(values, max(2**17 // len(values), 1))
        found = simulated_errors(many, each.setting.mask(many, rng), rng)
        guess = found.best_absolute / found.prior_absolute
        assert each.protection is not None
        assert guess == pytest.approx(each.protection.guess, abs=0.03)
        sums = np.array([np.bincount(day, each.setting.mask(values, rng)) for _ in range(MASKINGS)])
        errors = np.abs(sums - true) / scale
        told, usual = each.protection.errors[everyone], each.protection.usual
        found_mean, chance = float(errors.mean()), float(errors.mean(axis=1).std()) / np.sqrt(MASKINGS)
        assert abs(found_mean - told) < 0.03 * told + 4 * chance
        assert abs(found_mean - told / 2) > 0.03 * told / 2 + 4 * chance
        assert np.median(errors.mean(axis=0)) == pytest.approx(usual, rel=0.1)
        assert 0 <= each.privacy.median <= 1
        assert 0 <= each.utility.median <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_each_level_is_what_it_says(kind: str) -> None:
    case = panel(kind)
    _levels_hold(offered(kind), case.users, case.days, case.values)


def test_the_unit_changes_the_noise_and_nothing_else() -> None:
    """kWh and Wh: a thousand times the noise; promises, guesses, errors and scores stay."""
    one, other = offered("kWh"), offered("Wh")
    for a, b in zip(one.settings[:-1], other.settings[:-1], strict=True):
        assert b.setting.parameters[0] == pytest.approx(1000 * a.setting.parameters[0], rel=0.03)
        assert a.protection is not None
        assert b.protection is not None
        assert b.protection.reading == pytest.approx(a.protection.reading, rel=0.03)
        assert b.privacy.median == pytest.approx(a.privacy.median, abs=0.03)
        assert b.utility.median == pytest.approx(a.utility.median, abs=0.03)


@pytest.mark.parametrize(("kind", "error"), [("kWh", "relative"), ("water", "scaled"), ("temperatures", "scaled")])
def test_the_error_function_is_the_data_s_own(kind: str, error: str) -> None:
    assert offered(kind).provenance["error"] == error


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("source", [SWISS, PEDESTRIANS], ids=["swiss", "pedestrians"])
def test_each_level_is_what_it_says_on_real_readings(source: Path) -> None:
    opened = open_panel(source)
    table = opened.collect(opened.frame).to_pandas().dropna()
    profile = build_profile(open_panel(source))
    days = table["time"].to_numpy().astype("int64") // 86_400_000_000
    _levels_hold(_offer(profile), table["user"].to_numpy(str), days, table["value"].to_numpy(float))
