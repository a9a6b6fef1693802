"""Profiles note how readings are rounded, in any unit."""

from dataclasses import replace

import numpy as np
import pytest

from halfmask.profiles.bins import bin_of
from halfmask.profiles.profile import Profile
from halfmask.profiles.rounding import OFFSET, STEPS, coarsest_steps, common_step, digit_scales, grain_of, step_sizes
from halfmask.profiles.totals import total_profile
from tests.evaluation import brute
from tests.evaluation.same_answer import opened
from tests.profiles.oracle import rounding

DECIMALS = brute.decimals(3, 2)


def steps(profile: Profile) -> tuple[list[int], list[float]]:
    """The row and the size of each step that a profile has, in grains."""
    return profile.rounded.row.tolist(), step_sizes(1.0)[profile.rounded.bin].tolist()


def test_the_coarsest_step_of_a_number() -> None:
    found = step_sizes(1.0)[coarsest_steps()[[1000, 1005, 1002, 1003, 1200, 5000, 9999, 1010]]] / step_sizes(1.0)[0]
    np.testing.assert_allclose(found, [1000, 5, 2, 1, 200, 5000, 1, 10])


@pytest.mark.parametrize("grain", [1.0, 1 / 36, 2.0**190, 3e-200])
def test_scales_bring_any_size_to_its_fourth_digit(grain: float) -> None:
    scales, steps = digit_scales(grain)
    for size in (0.0012345, 0.9999, 1.0, 9999.4, 9999.6, 1e5):
        place = bin_of(size * grain) + OFFSET
        digits = size * grain * scales[place]
        digits, step = (digits, steps[place]) if digits < 9999.5 else (digits / 10, steps[place] + 3)
        assert 999.9 <= digits < 9999.5
        assert digits * step_sizes(1.0)[step] == pytest.approx(size)
    assert steps[0] == steps[-1] == STEPS


def test_counts_are_of_users_by_step() -> None:
    values = np.array([[[0.5, 0.25, 0.21, 12.34, 12.345, 1000.0]], [[1 / 3, 0.0, -0.5, -0.125, 0.1 + 0.2, 3.0]]])
    _, profile = opened(brute.panel(values))
    expected = sorted((row, rounding(abs(x))) for row in (0, 1) for x in values[row, 0] if x and rounding(abs(x)))
    found = np.repeat(np.stack([profile.rounded.row, profile.rounded.bin], axis=1), profile.rounded.count, axis=0)
    assert found.tolist() == [list(each) for each in expected]
    assert len(expected) == 9


def test_single_precision_is_seen_through() -> None:
    doubles, singles = (opened(brute.panel(values))[1] for values in (DECIMALS, DECIMALS.astype(np.float32)))
    assert steps(singles) == steps(doubles)
    assert singles.rounded.count.tolist() == doubles.rounded.count.tolist()


@pytest.mark.parametrize("unit", [2.0**192, 2.0**-190, 1 / 36, 1e20, 1e-30])
def test_a_lattice_shows_in_any_unit(unit: float) -> None:
    """Of whole numbers, some of one and two, the grain is the unit itself."""
    values = np.append(np.round(100 * DECIMALS).ravel(), [1.0, 2.0, 3.0]).reshape(3, 1, -1)
    usual, found = opened(brute.panel(values))[1], opened(brute.panel(values * unit))[1]
    assert found.rounded.count.sum() == usual.rounded.count.sum() == values.size
    assert steps(found) == steps(usual) or found.grain == 1.0


def test_grains() -> None:
    assert grain_of(np.array([0.01, 0.2])) == 1.0
    assert grain_of(np.array([2 / 36, 3 / 36])) == pytest.approx(1 / 36)
    assert grain_of(np.random.default_rng(1).random(50)) == 1.0
    assert grain_of(np.zeros(0)) == 1.0
    assert common_step(np.array([0.15, 0.2])) == 0.05
    assert common_step(np.array([np.pi])) is None


def test_counts_of_different_grains_do_not_add_up() -> None:
    a, b, c = (_named(opened(brute.panel(values))[1], name)
               for values, name in ((DECIMALS, "a"), (DECIMALS / 36, "b"), (DECIMALS, "c")))  # fmt: skip
    assert a.grain == c.grain != b.grain
    for whole in ((a + b) + c, a + (b + c), (a + c) + b):
        assert whole.grain == 0
        assert len(whole.rounded.count) == 0
    assert (a + c).rounded.count.sum() == 2 * DECIMALS.size
    assert (a + Profile.empty(a.period)).grain == a.grain


def _named(profile: Profile, name: str) -> Profile:
    return replace(profile, labels=np.array([f"{name}{label}" for label in profile.labels]))


def test_totals_have_steps_of_their_own() -> None:
    totals = total_profile(opened(brute.panel(np.array([[[0.25, 0.5], [0.1, 0.2]], [[1.5, 1.5], [2.0, -2.0]]])))[1])
    assert steps(totals) == ([0, 0, 1], [pytest.approx(0.05), pytest.approx(0.1), 1.0])
