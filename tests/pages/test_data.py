"""What the figures show, against studies small enough to work out by hand."""

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from halfmask.evaluation.study import Study, summed_up
from halfmask.figures.algorithm import algorithm_data, bin_edges
from halfmask.figures.equal_noise import NoiseCurve, gap_at_equal_noise, noise_data
from halfmask.figures.error_distributions import cdf_data
from halfmask.figures.heatmaps import CELL_TITLES, draw_heatmaps, heatmap_caption, heatmap_data
from halfmask.figures.results_folder import ResultsFolder
from halfmask.figures.study_samples import Samples, menu_samples, read_samples, table_1
from halfmask.figures.trajectories import band_over_privacy, menu_band, trajectory_data
from halfmask.figures.utility_by_users import users_data
from halfmask.figures.wording import percents
from halfmask.menus.menu import Menu
from halfmask.pages.summary_section import summary_section
from tests.pages.studies import local, menu_of, mix_of, study_of
from tests.refusals import refused

USERS = [10, 10, 2000, 2000]
METRICS = {
    "laplace:1": [local(0.1, 0.4), local(0.2, 0.3), local(0.2, 0.1), local(0.3, 0.0)],
    "laplace:2": [local(0.6, 0.5), local(0.6, 0.4), local(0.7, 0.2), local(0.8, 0.1)],
    "sine:1": [local(0.4, 0.3), local(0.4, 0.3), local(0.4, 0.3), local(0.4, 0.3)],
    "laplace:9": [local(0.9, 2.0), local(0.9, 2.0), local(0.9, 2.0), local(0.9, 2.0)],
}
MENU = menu_of({"A": ("laplace:1", 0.2, 0.8), "B": ("laplace:2", 0.65, 0.7)})


def samples_of(folder: Path, study: Study | None = None, menu: Menu | None = MENU) -> Samples:
    (study or study_of(METRICS, USERS)).write(folder / "study.parquet")
    return read_samples(folder / "study.parquet", menu)


def row(samples: Samples, setting: str) -> int:
    return samples.settings.index(setting)


def test_samples_have_the_scores_of_their_metrics(tmp_path: Path) -> None:
    samples = samples_of(tmp_path)
    at = row(samples, "laplace:1")
    # Normalisers are 1 and weights add up to 1, so privacy is the local value and utility 1 less the global one.
    assert samples.privacy[at] == pytest.approx([0.1, 0.2, 0.2, 0.3])
    assert samples.utility[at] == pytest.approx([0.6, 0.7, 0.9, 1.0])
    assert samples.scores["privacy_median"][at] == pytest.approx(0.2)
    assert samples.scores["utility_p10"][at] == pytest.approx(0.63)
    assert not samples.kept[row(samples, "laplace:9")]
    assert np.isnan(samples.scores["privacy_median"][row(samples, "laplace:9")])
    assert samples.names() == ["laplace", "sine"]


def test_the_order_of_rows_in_the_file_does_not_matter(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    samples = samples_of(tmp_path)
    table = pq.read_table(tmp_path / "study.parquet")
    shuffled = table.take(np.random.default_rng(3).permutation(table.num_rows))
    pq.write_table(shuffled, tmp_path / "study.parquet")
    again = read_samples(tmp_path / "study.parquet", MENU)
    for setting in METRICS:
        assert np.array_equal(again.metrics[row(again, setting)], samples.metrics[row(samples, setting)])
        assert again.mechanisms[row(again, setting)] == setting.partition(":")[0]


def test_a_study_with_a_sample_missing_is_refused(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    samples_of(tmp_path)
    pq.write_table(pq.read_table(tmp_path / "study.parquet").slice(1), tmp_path / "study.parquet")
    with refused("file.samples"):
        read_samples(tmp_path / "study.parquet", MENU)


def test_without_a_menu_the_study_has_its_own_normalisers(tmp_path: Path) -> None:
    quiet = {name: rows for name, rows in METRICS.items() if name in ("sine:1",)}
    halved = {name: [[value / 10 for value in sample] for sample in rows] for name, rows in quiet.items()}
    samples = samples_of(tmp_path, study_of(halved, USERS), None)
    assert samples.privacy == pytest.approx(1.0)
    assert samples.utility == pytest.approx(0.0)


def test_large_samples_are_those_above_a_thousand_users_or_the_larger_half(tmp_path: Path) -> None:
    held, words = samples_of(tmp_path).large()
    assert held.tolist() == [False, False, True, True]
    assert words == "more than 1,000 users"
    held, words = samples_of(tmp_path, study_of(METRICS, [10, 45, 50, 91])).large()
    assert held.tolist() == [False, False, True, True]
    assert words == "46 users or more"


def test_a_summary_gives_medians_and_no_sizes(tmp_path: Path) -> None:
    metrics = {name: [[value / 10 for value in s] for s in rows] for name, rows in METRICS.items() if "9" not in name}
    study = study_of(metrics, USERS)
    summed_up(study).write(tmp_path / "study.parquet")
    summed = read_samples(tmp_path / "study.parquet")
    whole = samples_of(tmp_path, study, None)
    assert not summed.sized
    for name in whole.scores:
        for setting in metrics:
            expected = whole.scores[name][row(whole, setting)]
            assert summed.scores[name][row(summed, setting)] == pytest.approx(expected)
    assert trajectory_data(summed, None).large_mechanisms == {}


def test_the_algorithm_shows_spread_fitness_and_winners(tmp_path: Path) -> None:
    data = algorithm_data(samples_of(tmp_path), MENU)
    assert bin_edges(MENU).tolist() == [0.0, 0.5, 1.0]
    assert sorted(data.settings) == ["laplace:1", "laplace:2", "sine:1"]
    at = data.settings.index("laplace:1")
    assert data.winners["A"] == at
    assert set(data.winners) == {"A", "B"}
    assert data.width[at] == pytest.approx(0.2 - 0.13)
    assert data.height[at] == pytest.approx(0.8 - 0.63)
    assert data.fitness[at] == pytest.approx(0.8 + 0.63)
    assert data.admissible.all()
    assert data.omega == 0.2


def test_of_many_settings_a_few_a_bin_are_drawn_the_winner_among_them(tmp_path: Path) -> None:
    many = {f"laplace:{b}": [local(b / 200, b / 1000)] * 4 for b in range(1, 200)}
    menu = menu_of({"A": ("laplace:7", 0.035, 0.99)})
    data = algorithm_data(samples_of(tmp_path, study_of(many, USERS), menu), menu, a_bin=5)
    assert len(data.settings) == 11
    assert data.settings[data.winners["A"]] == "laplace:7"
    assert data.privacy.min() == pytest.approx(1 / 200)
    assert data.privacy.max() == pytest.approx(199 / 200)


def test_distributions_are_empirical_over_all_samples(tmp_path: Path) -> None:
    curves = cdf_data(samples_of(tmp_path))
    curve = curves["local_mean"]["laplace"]
    values = np.sort([0.1, 0.2, 0.2, 0.3, 0.6, 0.6, 0.7, 0.8, 0.9, 0.9, 0.9, 0.9])
    assert curve.value == pytest.approx(values)
    assert curve.share == pytest.approx(np.arange(1, 13) / 12)
    assert curves["global_std"]["sine"].value == pytest.approx([0.3] * 4)
    assert set(curves["global_entropy"]) == {"laplace", "sine"}


def test_noise_is_the_expected_total_on_a_hundred_thousand_readings(tmp_path: Path) -> None:
    curves = noise_data(samples_of(tmp_path), window=0.0)
    assert curves["laplace"].total == pytest.approx([100_000, 200_000])
    assert curves["laplace"].privacy == pytest.approx([0.2, 0.65])
    assert curves["laplace"].utility == pytest.approx([0.8, 0.7])
    assert curves["sine"].total == pytest.approx([100_000 * 2 / np.pi])


def test_noise_curves_are_moving_averages(tmp_path: Path) -> None:
    many = {f"laplace:{b}": [local(b / 200, b / 1000)] * 4 for b in range(1, 101)}
    curve = noise_data(samples_of(tmp_path, study_of(many, USERS)), window=0.05)["laplace"]
    assert len(curve.total) == 96
    assert curve.total[0] == pytest.approx(np.mean([1, 2, 3, 4, 5]) * 100_000)
    assert curve.privacy[-1] == pytest.approx(np.mean([96, 97, 98, 99, 100]) / 200)


def test_mechanisms_are_compared_at_equal_noise() -> None:
    at = np.array([0.0, 10.0])
    curves = {
        "b": NoiseCurve(at + 5, np.array([0.4, 0.5]), np.array([0.9, 0.8])),
        "a": NoiseCurve(at, np.array([0.4, 0.6]), np.array([0.9, 0.7])),
    }
    found = gap_at_equal_noise(curves)
    assert found is not None
    assert (found.first, found.second) == ("a", "b")
    # On 5..10, a goes 0.50..0.60 and 0.80..0.70, b goes 0.40..0.45 and 0.90..0.85.
    assert found.privacy == pytest.approx(0.125)
    assert found.utility == pytest.approx(-0.125)
    far = curves["a"].total + 100
    assert gap_at_equal_noise({**curves, "b": NoiseCurve(far, far, far)}) is None


def test_bands_are_median_and_range_in_steps_of_privacy() -> None:
    band = band_over_privacy(np.array([0.101, 0.109, 0.105, 0.25]), np.array([0.9, 0.5, 0.8, 0.3]))
    assert band.at == pytest.approx([0.105, 0.255])
    assert band.median == pytest.approx([0.8, 0.3])
    assert band.low == pytest.approx([0.5, 0.3])
    assert band.high == pytest.approx([0.9, 0.3])


def test_steps_with_hardly_any_sample_are_left_out() -> None:
    privacy = np.concatenate([np.full(5000, 0.5), [0.9]])
    assert band_over_privacy(privacy, np.ones(5001)).at == pytest.approx([0.505])


def test_the_menu_has_its_own_samples(tmp_path: Path) -> None:
    samples = samples_of(tmp_path)
    menu = menu_samples(samples, MENU)
    assert menu.ids == ["A", "B", "N"]
    assert menu.utility[0] == pytest.approx([0.6, 0.7, 0.9, 1.0])
    assert menu.privacy[2].tolist() == [0.0] * 4
    assert menu.utility[2].tolist() == [1.0] * 4
    band = menu_band(menu, samples.users > 1000)
    assert band.ids == ["N", "A", "B"]
    assert band.band.low == pytest.approx([1.0, 0.9, 0.8])
    assert band.spread[:, 1] == pytest.approx([0.2, 0.3])


def test_a_setting_that_is_neither_in_the_study_nor_to_be_had_is_named(tmp_path: Path) -> None:
    menu = menu_of({"A": ("laplace:1", 0.2, 0.8), "B": ("laplace:2.5", 0.65, 0.7)})
    found = menu_samples(samples_of(tmp_path), menu)
    assert found.ids == ["A", "N"]
    assert found.absent == ["B"]


def test_utility_is_told_by_the_number_of_users(tmp_path: Path) -> None:
    band = users_data(menu_samples(samples_of(tmp_path), MENU))["A"]
    assert band.at.tolist() == [10, 2000]
    assert band.median == pytest.approx([0.65, 0.95])
    assert band.high == pytest.approx([0.7, 1.0])


def test_heat_maps_go_by_dominant_setting_and_share() -> None:
    rows = [
        ("A", 1.0, 0.2, 0.8),
        ("A", 0.75, 0.1, 0.7),
        ("A", 0.75, 0.2, 0.8),
        ("A", 0.75, 0.3, 0.9),
        ("N", 0.75, 0.05, 0.95),
        (None, None, 0.9, 0.1),
    ]
    data = heatmap_data(mix_of(rows), MENU)
    assert data.settings == ["N", "A"]
    assert data.shares.tolist() == [1.0, 0.75]
    assert data.mixes.tolist() == [[0, 1], [1, 3]]
    assert data.cells["privacy_median"][1].tolist() == pytest.approx([0.05, 0.2])
    assert data.cells["utility_iqr"][1].tolist() == pytest.approx([0.0, 0.1])
    assert np.isnan(data.cells["utility_median"][0, 0])
    assert percents(0.875) == "87.5 %"


def test_scores_outside_the_studys_range_are_not_shown() -> None:
    """The mixes of A leave 0 to 1, that of N stays within; rounding is no reason to leave a number out."""
    rows = [("A", 1.0, 1.3, -0.4), ("A", 1.0, 0.9, -0.2), ("N", 0.75, 1 + 1e-12, 0.95), (None, None, 0.9, 0.1)]
    data = heatmap_data(mix_of(rows), MENU)
    for name in CELL_TITLES:
        assert data.outside[name].tolist() == [[False, True], [False, False]]
        assert np.isnan(data.cells[name][0, 1])
        assert np.isfinite(data.cells[name][1, 0])
    assert "outside the study's range" in heatmap_caption(data)
    drawn = [text.get_text() for axis in draw_heatmaps(data).axes for text in axis.texts]
    assert drawn.count("outside") == 4
    assert all(0 <= float(text) <= 1 for text in drawn if text and text != "outside")
    assert "outside" not in heatmap_caption(heatmap_data(mix_of(rows[2:]), MENU))


def test_a_report_and_a_notebook_say_so_of_mixes_too() -> None:
    rows = [("A", 1.0, 1.3, 0.8), ("N", 0.75, 0.2, 0.9)]
    inputs = ResultsFolder(Path(), "hand", None, None, MENU, mix_of(rows), None)
    told = plain_text(summary_section(inputs))
    assert "utility lies between 0.90 and 0.90 and privacy between 0.20 and 0.20" in told
    assert "1 of the tries lie outside the study's range and have no score" in told
    table = plain_text(mix_of(rows)._repr_html_())
    assert "outside the study's range" in table
    assert "1.30" not in table + told


def plain_text(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def test_table_1_lists_the_menu() -> None:
    assert table_1(MENU)[0] == ("A", "laplace", "1", 0.2, 0.8)
    assert table_1(MENU)[-1] == ("N", "none", "–", 0.0, 1.0)
