"""What is published of an offer follows from public inputs and the summary, and says how sure it is."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, menu_json
from halfmask.menus.menu_scale import sizes_on, subsets_of
from halfmask.menus.offer import offer
from halfmask.menus.public_summary import public_summary
from halfmask.menus.public_totals import Estimate, PublicTotals, private_bounds
from halfmask.menus.publish import Calibration, calibrate, own, published
from halfmask.menus.published_error import meant, published_error, published_needed, unknown
from halfmask.menus.synthetic_profile import synthetic_profile
from halfmask.menus.total_error import total_error
from halfmask.profiles.periods import Period
from halfmask.profiles.totals import released
from halfmask.protection.best_guess import guess_error
from halfmask.protection.evidence import population_of
from tests.choice.cases import GRID
from tests.evaluation.direct_cases import household
from tests.menus.cases import QUESTION, street
from tests.refusals import refused

MUCH = 1e5
"""An epsilon that leaves next to no noise."""
BOUNDS = (0.0, 64.0)


@cache
def calibrated() -> Calibration:
    return calibrate(street().profile, 4.0, *BOUNDS)


@cache
def computed() -> Menu:
    """an offer computed from the synthetic profile."""
    people = calibrated().profile
    study = evaluate_grid(people, grid(GRID), Experiment.on(people, sizes="100,all"))
    return offer(people, study, question=QUESTION).menu


@pytest.mark.parametrize("text", ["laplace:0.5", "gaussian:0.5", "laplace:6@total", "gaussian:6@total"])
def test_without_noise_the_published_error_is_the_profiles(text: str) -> None:
    """Within 3 %: periods differ a little. A tenth more noise is not."""
    profile, setting = street().profile, PrivacySetting.parse(text)
    summary = public_summary(profile, MUCH, (0.0, 512.0))
    assert summary is not None
    for users in (100, 200):
        found = published_error(summary, setting, users)
        truth = total_error(released(profile, setting.release), setting, users)
        assert found is not None
        assert found.value == pytest.approx(truth, rel=0.03)
        assert published_error(summary, setting.grown(1.1), users)[0] != pytest.approx(truth, rel=0.03)  # type: ignore[index]


def test_the_error_of_a_split_total_is_that_of_two_draws() -> None:
    summary = public_summary(street().profile, MUCH, (0.0, 512.0))
    assert summary is not None
    assert summary.totals is not None
    setting = PrivacySetting.parse("gaussian:6@split")
    found = published_error(summary, setting, 200)
    assert found is not None
    assert found.value == pytest.approx(6 * np.sqrt(2) * np.sqrt(2 / np.pi) / 200 / summary.totals.mean, rel=1e-3)


@pytest.mark.parametrize("text", ["laplace:0.5", "laplace:6@total", "laplace:6@split"])
def test_so_many_producers_have_the_wanted_error(text: str) -> None:
    summary, setting = calibrated().summary, PrivacySetting.parse(text)
    needed = published_needed(summary, setting, 0.01)
    assert needed is not None
    assert needed.low <= needed.value <= needed.high
    for users, error in ((needed.value, 0), (needed.low, 1), (needed.high, 2)):
        found = published_error(summary, setting, int(users))
        assert found is not None
        assert found[error] == pytest.approx(0.01, rel=0.1)
        assert found[error] <= 0.01


def test_what_the_noise_covers_is_not_published() -> None:
    """No mean total without bounds; none that the noise exceeds; and no interval that did not stand out."""
    few = public_summary(household(users=20, days=4, step=6).profile, 0.1, BOUNDS)
    none = public_summary(street().profile, 4)
    assert few is not None
    assert none is not None
    for summary in (few, none):
        assert unknown(summary, "total") is not None
        assert published_error(summary, PrivacySetting.parse("laplace:6@total"), 100) is None
        assert published_needed(summary, PrivacySetting.parse("laplace:6@total"), 0.01) is None
    unsure = replace(calibrated().summary, interval_known=False)
    assert unknown(unsure, "total") is None
    assert unknown(unsure, "reading") is not None
    assert published_error(calibrated().summary, PrivacySetting.parse("clip:0,1/laplace:1"), 100) is None


def test_a_wild_mean_is_not_known_because_it_is_clipped() -> None:
    """Noise that lifts the mean far above the bound leaves a narrow interval at the bound, and is not believed."""
    wild = PublicTotals(0, 64, 300, 120, (0.0,) * 11, 0.1)
    assert wild.size().low > 0
    assert not wild.known
    assert PublicTotals(0, 64, 20, 4, (0.0,) * 11, 0.1).known
    full = replace(calibrated().summary, totals=PublicTotals(0, 64, 64, 1, (0.0,) * 11, 0.1))
    cells = synthetic_profile(full, 100, Period.parse("day"), None).cells[..., 1]
    assert cells.mean() == pytest.approx(0.9 * 64, rel=1e-3)
    fed_in = replace(calibrated().summary, totals=PublicTotals(-64, 0, -20, 1, (0.0,) * 11, 0.1))
    cells = synthetic_profile(fed_in, 100, Period.parse("day"), None).cells[..., 1]
    assert cells.mean() == pytest.approx(20, rel=1e-3)


def test_estimates_keep_the_digits_that_mean_something() -> None:
    assert meant(Estimate(0.12345, 0.1111, 0.1399)) == Estimate(0.12, 0.11, 0.14)
    assert meant(Estimate(0.12345, 0.12341, 0.12349)) == Estimate(0.123, 0.123, 0.124)
    assert meant(Estimate(1234.0, 1111.0, 1391.0)) == Estimate(1200, 1100, 1400)


def test_bounds_follow_from_the_votes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """High is twice the end of the last octave with votes, without gap. Of few homes no octave exceeds the noise.

    Without the noise itself, which would exceed the bar once in 70 summaries.
    """
    monkeypatch.setattr("halfmask.menus.noisy_counts.noised", lambda counts, _: counts)
    low, high = private_bounds(street().profile, 10.0)
    totals = street().profile.cells[..., 1]
    assert (low, high) == (0, 2 ** (np.ceil(np.log2(np.percentile(totals, 97))) + 1))
    assert private_bounds(household(users=100, signed=True).profile, 100.0)[0] < 0
    with refused("option.bounds", "low", "high"):
        private_bounds(household(users=10, days=4).profile, 0.1)


def test_the_synthetic_profile_is_like_the_profile_and_follows_from_the_summary() -> None:
    """Sizes of readings, how well they are guessed, the mean total; equal summaries give equal profiles."""
    profile = street().profile
    summary = public_summary(profile, MUCH, (0.0, 512.0))
    assert summary is not None
    assert summary.totals is not None
    one, other = (synthetic_profile(summary, 200, Period.parse("day"), "kWh") for _ in range(2))
    assert one.fingerprint() == other.fingerprint()
    assert (one.users, one.unit, one.readings // len(one.periods)) == (200, "kWh", 200 * 12)
    assert one.cells[..., 1].mean() == pytest.approx(summary.totals.mean, rel=1e-3)
    setting = PrivacySetting.parse("laplace:0.5")
    guesses = [guess_error(setting, population_of(each)) for each in (one, profile)]
    assert guesses[0] == pytest.approx(guesses[1], abs=0.03)
    assert total_error(one, setting, 200) == pytest.approx(total_error(profile, setting, 200), rel=0.05)


def test_too_few_for_octaves_still_have_a_synthetic_profile() -> None:
    summary = replace(calibrated().summary, share=())
    assert summary.totals is not None
    found = synthetic_profile(summary, 200, Period.parse("day"), None)
    assert found.cells[..., 1].mean() == pytest.approx(summary.totals.mean, rel=1e-3)


def test_a_total_that_the_noise_covers_is_assumed_and_nothing_about_it_published() -> None:
    totals = PublicTotals(-1, 1, -0.2, 0.1, (0.0,) * 11, 0.1)
    summary = replace(calibrated().summary, totals=totals)
    found = synthetic_profile(summary, 100, Period.parse("day"), None)
    assert found.cells[..., 1].mean() == pytest.approx(0.25, rel=0.01)
    told = published(computed(), replace(calibrated(), summary=summary))
    assert told.provenance["calibration"]["unknown"]
    for each in told.settings[:-1]:
        assert each.protection is not None
        assert (each.protection.errors, each.protection.guess, each.needed) == ({}, None, None)
        assert each.outside


def test_published_figures_come_with_their_intervals() -> None:
    found = published(computed(), calibrated())
    told = found.provenance["calibration"]
    assert (told["epsilon"], told["delta"], told["producers"]) == (4.0, 0.0, 200)
    assert found.public == calibrated().summary
    for each in found.settings[:-1]:
        assert each.protection is not None
        assert set(each.protection.errors) == {100, 200}
        assert each.protection.recognised is None
        for users, error in each.protection.errors.items():
            low, high = told["intervals"][each.id]["errors"][users]
            assert low <= error <= high
            assert error == float(f"{error:.3g}")
        assert each.needed is not None
        low, high = told["intervals"][each.id]["needed"]
        assert low <= each.needed <= high


def test_nothing_published_names_the_data(tmp_path: Path) -> None:
    """No fingerprint, which would tell about everybody, and no file; every profile may be used with the offer."""
    found = published(computed(), calibrated())
    written = str(menu_json(found))
    for profile in (street().profile, calibrated().profile):
        assert profile.fingerprint() not in written
    found.check_data(street().profile)
    found.write(tmp_path / "offer.json")
    assert Menu.read(tmp_path / "offer.json").public == calibrated().summary


def test_what_was_computed_from_readings_is_not_published() -> None:
    people = street().profile
    study = evaluate_grid(people, grid(GRID), Experiment.on(people, sizes="100,all"))
    exact = offer(people, study, question=QUESTION).menu
    with refused("option.other"):
        published(exact, calibrated())
    with refused("option.own"):
        own(exact).check_publishable()
    published(computed(), calibrated()).check_publishable()


def test_levels_by_their_error_need_a_summary_that_knows_it() -> None:
    few = calibrate(household(users=20, days=4, step=6).profile, 0.1, *BOUNDS)
    with refused("option.noisy"):
        few.check_chosen("total")
    calibrated().check_chosen("total")


def test_a_published_offer_is_placed_on_fewer_users_than_its_synthetic_profile_has() -> None:
    """Its subsets are cut to the users with a reading; those of other menus must all be there."""
    fewer = street().profile.subset(street().profile.labels[:150])
    found = published(computed(), calibrated())
    assert found.provenance["sizes"] == [100, 200]
    assert sizes_on(fewer, found.provenance) == [100, 150]
    assert {each.users for each in subsets_of(found.provenance, fewer)} == {100, 150}
    assert sizes_on(fewer, computed().provenance) == [100, 200]
