"""The figure of the limit: its data keep below the limit, and it draws."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from halfmask.audits.noise_at_equal_utility import FAMILIES, LIMIT, NoiseAtEqualUtility, noise_at_equal_utility
from halfmask.figures.limit_of_noise import LimitFigure, limit_caption, limit_data, limit_plot
from halfmask.figures.results_folder import ResultsFolder, read_inputs
from halfmask.figures.style import INK, inline_svgs
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import noise_std
from halfmask.plain import from_plain, to_plain


@pytest.fixture(scope="module")
def inputs(made: Path) -> ResultsFolder:
    return read_inputs(made)


@pytest.fixture(scope="module")
def data(inputs: ResultsFolder) -> LimitFigure:
    found = limit_data(inputs.card, inputs.menu, inputs.samples)
    assert found is not None
    return found


@pytest.mark.parametrize("name", FAMILIES)
def test_families_have_the_deviation_they_are_asked_for(name: str) -> None:
    assert noise_std(PrivacySetting.of_deviation(name, 0.7)) == pytest.approx(0.7)


def test_no_family_and_no_setting_of_the_menu_is_above_the_limit(data: LimitFigure) -> None:
    assert set(data.noise.shares) == set(FAMILIES)
    for share in data.noise.shares.values():
        assert ((share > 0.5) & (share < 1)).all()
    assert data.near
    assert all(0 < share <= 1 for _, share in data.near.values())
    assert (data.noise.shares["laplace"] < data.noise.shares["sine"]).all()


def test_the_studys_own_settings_lie_below_the_limit(data: LimitFigure) -> None:
    """At the limit's utility no mechanism has a higher median privacy, but for the steps its line is drawn in."""
    assert (np.diff(data.noise.privacy) > 0).all()
    assert (np.diff(data.noise.utility) < 0).all()
    for band in data.bands.values():
        inside = (band.at > data.noise.privacy[0]) & (band.at < data.noise.privacy[-1])
        assert inside.any()
        most = np.interp(band.at[inside], data.noise.privacy, data.noise.utility)
        assert (band.high[inside] < most + 0.02).all()


def test_densities_are_of_the_chosen_deviation(data: LimitFigure) -> None:
    width = data.noise.at[1] - data.noise.at[0]
    for name, density in data.noise.laws.items():
        assert (density >= 0).all()
        whole = 1 - (np.exp(-(2**0.5) * 2.5) if name == "laplace" else 0.0124 if name == "gaussian" else 0.0)
        assert density.sum() * width == pytest.approx(whole, abs=0.02)
    best = data.noise.laws[LIMIT]
    assert data.noise.at[np.argmax(best)] == pytest.approx(1, abs=0.15)
    assert best[(data.noise.at > 0.7) & (data.noise.at < 1.3)].sum() * width > 0.9


def test_the_limits_noise_is_the_easiest_to_undo(data: LimitFigure) -> None:
    for name in FAMILIES:
        assert data.noise.errors[LIMIT][-1] < data.noise.errors[name][-1]
    assert all(((error >= 0) & (error <= 1)).all() for error in data.noise.errors.values())


def test_it_draws_four_subplots(data: LimitFigure) -> None:
    drawn = limit_plot(data).draw()
    assert len(drawn.axes) == 4
    assert all(axis.has_data() and axis.get_xlabel() and axis.get_ylabel() for axis in drawn.axes)
    for text in inline_svgs(drawn, "limit"):
        assert INK not in text
        assert "currentColor" in text


def test_the_caption_has_the_figures_numbers(data: LimitFigure) -> None:
    told = limit_caption(data)
    assert f"{data.noise.errors[LIMIT][-1]:.2f}" in told
    assert f"{max(share.max() for share in data.noise.shares.values()):.0%}" in told
    assert told.endswith(".")


def test_there_is_none_without_noise(inputs: ResultsFolder) -> None:
    bare = replace(inputs.menu, settings=inputs.menu.settings[-1:])
    assert noise_at_equal_utility(bare, inputs.profile) is None
    assert limit_data(replace(inputs.card, noise=None), inputs.menu, inputs.samples) is None


def test_without_a_study_the_trajectories_are_left_out(inputs: ResultsFolder) -> None:
    found = limit_data(inputs.card, inputs.menu, None)
    assert found is not None
    assert found.bands == {}
    assert limit_plot(found).draw().axes


def test_the_file_keeps_six_digits(data: LimitFigure) -> None:
    again = from_plain(to_plain(data.noise), NoiseAtEqualUtility)
    for name, value in vars(data.noise).items():
        if isinstance(value, dict):
            for key, numbers in value.items():
                assert vars(again)[name][key] == pytest.approx(numbers, rel=1e-5)
        else:
            assert vars(again)[name] == pytest.approx(value, rel=1e-5)
