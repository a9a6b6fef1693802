"""What a profile says about itself: quantiles, advice, pictures in blocks."""

import math
from dataclasses import replace

import numpy as np
import pytest

from halfmask.profiles.profile import Profile
from halfmask.profiles.quality import QUANTILES, advice, quality, quantiles, step_text
from halfmask.profiles.show import bars, picture_data, pictures, short_rows, table_rows
from tests.profiles.oracle import Reading
from tests.profiles.panels import START, plain, profile_of, series


def test_quantiles_are_the_readings_own_to_within_a_bin() -> None:
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.lognormal(0, 1, 4000), -rng.lognormal(0, 1, 1500), np.zeros(400)])
    readings: list[Reading] = [("a", START + i * 60_000_000, v) for i, v in enumerate(values.tolist())]
    found = quantiles(profile_of(readings), QUANTILES)
    wanted = np.quantile(values, QUANTILES, method="inverted_cdf")
    assert found == pytest.approx(wanted.tolist(), rel=0.011)
    assert found != pytest.approx((wanted * 1.03).tolist(), rel=0.011)


def test_the_means_and_sums_of_a_known_panel() -> None:
    found = quality(profile_of([*series("a", [1.0, 2.0, math.nan]), *series("b", [0.0, 0.0])]))
    assert found["mean"] == 0.75
    assert (found["zeros"], found["all_zero_users"], found["nonfinite"], found["readings"]) == (2, 1, 1, 4)
    assert (found["first"], found["last"]) == ("2026-03-01 00:00:00", "2026-03-01 00:30:00")


def test_advice_where_relative_errors_break() -> None:
    assert advice(profile_of(plain(3, 100))) == []
    assert "signs are mixed" in advice(profile_of(series("a", [1.0] * 99 + [-1.0])))[0]
    assert "are zero" in advice(profile_of(series("a", [1.0] * 90 + [0.0] * 10)))[0]
    lonely = [*series("a", [1.0, 2.0, 3.0]), *series("a", [1.0, 2.0], start=START + 10**12)]
    assert "more readings are missing" in advice(profile_of(lonely))[0]
    assert "name no user" in advice(profile_of([*plain(1, 9), (None, START, 1.0)]))[0]


def test_a_sum_of_parts_with_different_policies_is_shown() -> None:
    both = profile_of(series("a", [1.0, 2.0])) + profile_of(series("b", [1.0, 2.0]), duplicates="last")
    assert dict(table_rows(both))["duplicates"] == "0 (by part, first, last or mean kept)"


def test_the_short_table_is_part_of_the_whole_one_and_pictures_fit_their_width() -> None:
    profile = profile_of(plain(3, 100))
    assert set(short_rows(profile)) < set(table_rows(profile))
    drawn = pictures(profile, 40)
    assert max(len(line) for line in drawn if "█" in line) <= 42
    assert sum("█" in line for line in drawn) >= 2


def test_bars_are_as_high_as_their_values() -> None:
    assert bars(np.array([0.0, 1.0, 2.0]), 10, 2) == ["  █", " ██"]
    assert bars(np.array([-1e300, -2e300]), 10, 1) == [""]
    assert bars(np.array([math.inf, math.nan, 1.0]), 10, 1) == ["█"]
    assert len(bars(np.arange(1000.0), 72, 5)[-1]) == 72


def test_the_picture_holds_every_reading_but_zeros() -> None:
    profile = profile_of([*series("a", [1.0, 1.01, 8.0, 0.0]), *series("b", [3.0], start=START + 10**11)])
    data = picture_data(profile)
    assert data.shares.sum() == pytest.approx(0.8)
    assert data.shares[[0, -1]].tolist() == pytest.approx([0.4, 0.2])
    assert data.totals.tolist() == pytest.approx([10.01, 3.0])


@pytest.mark.parametrize(
    ("step", "text"), [(None, "unknown"), (1_800_000_000, "30 min"), (86_400_000_000, "1 d"), (500_000, "0.5 s")]
)
def test_a_step_in_words(step: int | None, text: str) -> None:
    assert step_text(step) == text


def test_a_fingerprint_tells_signs_apart() -> None:
    """Whose reading is negative, and which; the order in which readings come does not count."""
    panels = ([1.0, -2.0], [3.0, 4.0]), ([1.0, 2.0], [3.0, 4.0]), ([-1.0, 2.0], [3.0, 4.0]), ([1.0, 2.0], [-3.0, 4.0])
    profiles = [profile_of([*series("a", one), *series("b", other)]) for one, other in panels]
    assert len({each.fingerprint() for each in profiles}) == len(panels)
    again = profile_of([*series("b", panels[0][1]), *series("a", panels[0][0])])
    assert again.fingerprint() == profiles[0].fingerprint()


def of_quantity(readings: list[Reading], quantity: str | None) -> Profile:
    """A profile that says what its readings are of."""
    made = profile_of(readings)
    return replace(made, about={**made.about, "quantity": quantity})


def test_means_are_drawn_of_states_and_totals_of_what_adds_up() -> None:
    readings = [*series("a", [-4.0, 6.0, 10.0]), *series("b", [8.0])]
    assert picture_data(of_quantity(readings, "temperatures")).totals.tolist() == [5.0]
    assert picture_data(of_quantity(readings, None)).totals.tolist() == [20.0]
    assert picture_data(of_quantity(readings, "temperatures"), "sum").totals.tolist() == [20.0]
    assert picture_data(of_quantity(readings, None), "mean").totals.tolist() == [5.0]


def test_states_are_drawn_with_their_signs_on_a_plain_axis() -> None:
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(6, 8, 20_000), [3e-17, 41.0], np.zeros(50)])
    data = picture_data(of_quantity(series("a", values.tolist(), step=60_000_000), "temperatures"))
    half = np.diff(data.sizes[:2]) / 2
    edges = np.append(data.sizes - half, data.sizes[-1] + half)
    wanted = np.histogram(values, edges)[0] / len(values)
    assert -25 < edges[0] < -15
    assert 27 < edges[-1] < 37
    assert data.shares.sum() == pytest.approx(0.998, abs=5e-4)
    # A reading is known to within a bin, 1.1 %, which is at most half a cell here.
    assert np.abs(np.cumsum(data.shares) - np.cumsum(wanted)).max() < 0.01
    warmer = np.histogram(values + 1.5, edges)[0] / len(values)
    assert np.abs(np.cumsum(data.shares) - np.cumsum(warmer)).max() > 0.05


def test_what_a_computation_left_of_zero_does_not_take_up_the_axis() -> None:
    values = [1.0 + i % 40 for i in range(2000)]
    data = picture_data(profile_of(series("a", [*values, 3e-17])))
    assert 0.9 < data.sizes[0] < data.sizes[-1] < 50
    assert data.shares.sum() == pytest.approx(2000 / 2001)


def test_the_reader_of_mixed_signs_is_asked_what_they_are() -> None:
    mixed = series("a", [1.0] * 50 + [-1.0] * 50)
    assert any("`aggregate=mean`" in note for note in advice(profile_of(mixed)))
    net = profile_of(mixed)
    assert not any("`aggregate" in note for note in advice(replace(net, about={**net.about, "unit": "kWh"})))
    assert any("`aggregate=sum`" in note for note in advice(of_quantity(mixed, "temperatures")))
