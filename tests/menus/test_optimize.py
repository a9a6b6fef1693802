"""From a study to a menu: winners by brute force, ties, empty bins, and bad input."""

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.commands.profile import profile
from halfmask.errors import HalfmaskError
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.scores import Weights
from halfmask.evaluation.study import summed_up
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.device_refusal import refusal, takes
from halfmask.menus.masked_range import noise_quantile, shown
from halfmask.menus.menu_table import InWords, menu_rows, menu_words
from halfmask.menus.optimize import optimize, pareto_front
from halfmask.menus.question import typical_reading
from halfmask.menus.total_error import total_error
from halfmask_device.decimals import number_text
from halfmask_device.setting import law_of
from tests.choice.cases import TOP, as_read, evaluated, homes, menu, samples, study_of, summary_of
from tests.generated import cases
from tests.real_data import SWISS, needs_data
from tests.refusals import refused

scores = st.floats(0.001, 0.999)


@cases(60)
@given(
    st.lists(st.tuples(*[st.tuples(scores, scores)] * 4), min_size=1, max_size=25),
    st.integers(1, 6),
    st.floats(0.05, 1),
)
def test_winners_are_admissible_and_the_best_of_their_bin(drawn: list[tuple], bins: int, part: float) -> None:
    """Every bin searched by hand, with numpy's own percentiles."""
    metrics = {f"laplace:{k + 1}": samples([q for q, _ in each], [u for _, u in each]) for k, each in enumerate(drawn)}
    metrics |= {"gaussian:9": TOP["gaussian:9"] * 4}
    omega = part / bins
    found = optimize(study_of(metrics), bins=bins, omega=omega)
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        best = -math.inf
        for each in metrics.values():
            q, u = np.array(each)[:, 0], 1 - np.array(each)[:, 3] / 0.05
            median = np.percentile(q, 50)
            if low <= median < high + (number == bins - 1) and median - np.percentile(q, 10) < omega:
                best = max(best, np.percentile(u, 50) + np.percentile(u, 10))
        entries = [each for each in found.menu.settings[:-1] if each.bin[0] == pytest.approx(low)]
        empty = [each for each in found.menu.empty_bins if each.bin[0] == pytest.approx(low)]
        assert len(entries) + len(empty) == 1
        if entries:
            assert entries[0].objective == pytest.approx(best, abs=1e-9)
            assert entries[0].privacy.median - entries[0].privacy.p10 < omega
        else:
            assert best == -math.inf


def test_scores_are_those_of_the_method() -> None:
    """Two settings with metrics chosen by hand: the weights and normalisers of section 3."""
    one, other = [0.5, 1.0, 4.0, 0.02, 0.01, 3.0], [1.0, 2.0, 8.0, 0.04, 0.04, 6.0]
    entry = optimize(study_of({"laplace:1": [one], "laplace:2": [other]})).menu.settings[0]
    assert entry.privacy.median == pytest.approx(0.2 * 0.5 + 0.4 * 0.5 + 0.4 * 0.5)
    assert entry.utility.median == pytest.approx(1 - (0.6 * 0.5 + 0.2 * 0.25 + 0.2 * 0.5))
    assert entry.id == "C"
    assert entry.bin == (0.4, 0.6)


def test_settings_that_break_the_constraint_neither_win_nor_normalise() -> None:
    wild = [[50.0, 50.0, 50.0, 0.2, 0.01, 1.0]]
    assert optimize(study_of({**TOP, "laplace:1": samples([0.5], [0.5]), "laplace:7": wild})).menu.largest[0] == 1.0
    loose = optimize(study_of({**TOP, "laplace:1": samples([0.5], [0.5]), "laplace:7": wild}), max_mean=0.3)
    assert loose.menu.largest[0] == 50.0


def test_infinite_errors_of_a_setting_that_breaks_the_constraint_do_no_harm() -> None:
    wild = [[math.inf, math.inf, 9.0, math.inf, math.inf, 1.0]]
    found = optimize(study_of({**TOP, "laplace:1e300": wild}), weights=Weights((1, 0, 0), (1, 0, 0)))
    assert found.menu.ids == ("E", "N")


def test_ties_go_to_utility_then_to_less_noise_then_to_the_first() -> None:
    same = samples([0.5, 0.5], [0.5, 0.5])
    steady = study_of({"gaussian:9": TOP["gaussian:9"] * 2, "laplace:3": same, "laplace:1": same, "laplace:2": same})
    assert str(optimize(steady).menu["C"].setting) == "laplace:1"
    equal = study_of({"gaussian:9": TOP["gaussian:9"] * 2, "sine:0.5,0": same, "sine:0.5": same})
    assert str(optimize(equal).menu["C"].setting) == "sine:0.5,0"
    table, about = summary_of({"laplace:1": (0.5, 0.5, 0.5, 0.5), "laplace:2": (0.5, 0.5, 0.625, 0.375)})
    assert str(optimize((table, about)).menu["C"].setting) == "laplace:2"


def test_an_empty_bin_names_its_nearest_miss_and_the_reason() -> None:
    metrics = {
        "gaussian:9": TOP["gaussian:9"] * 3,
        "laplace:1": samples([0.1, 0.5, 0.5], [0.5] * 3),
        "laplace:2": samples([0.62, 0.62, 0.62], [0.5] * 3),
    }
    found = optimize(study_of(metrics))
    assert found.menu.ids == ("D", "E", "N")
    by_bin = {each.bin: each for each in found.menu.empty_bins}
    assert str(by_bin[0.4, 0.6].nearest) == "laplace:1"
    assert "varies by 0.32" in by_bin[0.4, 0.6].reason
    assert str(by_bin[0.2, 0.4].nearest) == "laplace:1"
    assert "no setting" in by_bin[0.2, 0.4].reason
    assert any("bin 0.2 to 0.4 is empty" in note for note in found.notes)


def test_a_setting_that_masks_nothing_leaves_the_bin_to_those_that_do() -> None:
    found = optimize(study_of({**TOP, "laplace:0": samples([0.0], [1.0]), "laplace:1": samples([0.1], [0.9])}))
    assert str(found.menu["A"].setting) == "laplace:1"


def test_rows_in_any_order_give_the_same_menu() -> None:
    table, about = as_read(evaluated())
    shuffled = table.take(np.random.default_rng(3).permutation(table.num_rows))
    options = {"max_mean": 0.5, "max_std": 0.5, "omega": 0.2}
    one, other = optimize((table, about), **options).menu, optimize((shuffled, about), **options).menu
    assert [each.setting for each in one.settings] == [each.setting for each in other.settings]
    assert one.largest == pytest.approx(other.largest)


def test_a_summary_gives_the_menu_of_its_samples_and_no_other(tmp_path: Path) -> None:
    study = evaluated()
    study.write(tmp_path / "study.parquet")
    summed_up(study).write(tmp_path / "summary.parquet")
    full, short = optimize(tmp_path / "study.parquet"), optimize(tmp_path / "summary.parquet")
    assert [each.setting for each in full.menu.settings] == [each.setting for each in short.menu.settings]
    for one, other in zip(full.menu.settings, short.menu.settings, strict=True):
        assert one.objective == pytest.approx(other.objective)
    assert full.menu.provenance["study"] == "study.parquet"
    with refused("option.summary", "summary"):
        optimize(tmp_path / "summary.parquet", weights=Weights((1, 0, 0), (1, 0, 0)))
    with refused("option.summary", "summary"):
        optimize(tmp_path / "summary.parquet", max_mean=0.2)
    optimize(tmp_path / "summary.parquet", max_mean=0.1, weights=Weights())


@pytest.mark.slow
@needs_data
def test_the_menu_of_real_households_is_as_the_method_found_it() -> None:
    """The method's page: privacy .085/.20/.40/.60/.80 with utility 1.00/.999/.82/.70/.59, of other random settings."""
    made = evaluate_grid(profile(SWISS), grid("paper"))
    entries = optimize(as_read(made)).menu.settings[:-1]
    assert [each.privacy.median for each in entries[1:]] == pytest.approx([0.2, 0.4, 0.6, 0.8], abs=0.01)
    assert [each.utility.median for each in entries] == pytest.approx([1.0, 0.999, 0.82, 0.70, 0.59], abs=0.03)


@pytest.mark.parametrize("options", [{"omega": 0.21}, {"omega": 0}, {"omega": math.nan}, {"bins": 0}, {"bins": 26}])
def test_bins_and_omega_out_of_range_are_refused(options: dict[str, float]) -> None:
    with refused(f"option.{next(iter(options))}"):
        optimize(study_of(TOP), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [(1, 1, 1), (-0.5, 1, 0.5), (0.5, 0.5), (math.nan, 0.5, 0.5)])
def test_weights_that_are_no_weights_are_refused(weights: tuple[float, ...]) -> None:
    with refused("option.weights"):
        Weights(privacy=weights)  # type: ignore[arg-type]


def test_studies_without_a_winner_say_what_to_do() -> None:
    with refused("option.constraint"):
        optimize(study_of({"laplace:1": [[1, 1, 1, 0.5, 0.5, 1]]}))
    with refused("option.admissible", "omega", "bins"):
        optimize(study_of({"laplace:1": samples([0.0, 0.9, 1.0], [0.0] * 3)}))
    with refused("option.unmasked"):
        optimize(study_of({"none": samples([0.0], [1.0])}))
    with refused("option.constraint", "max_std"):
        optimize(study_of(TOP), max_std=-1)


def test_one_mechanism_works_and_is_noted() -> None:
    assert any("one mechanism only, gaussian" in note for note in optimize(study_of(TOP)).notes)
    assert not any(
        "one mechanism" in note for note in optimize(study_of({**TOP, "laplace:1": TOP["gaussian:9"]})).notes
    )


def test_settings_that_nobody_need_choose_are_noted() -> None:
    found = optimize(study_of({**TOP, "laplace:1": samples([0.001], [0.9]), "laplace:2": samples([0.3], [0.95])}))
    assert any("B has more privacy and more utility than A" in note for note in found.notes)
    assert not any("than B" in note for note in found.notes)


def test_damaged_studies_are_refused() -> None:
    table, about = study_of({**TOP, "laplace:1": samples([0.2, 0.3], [0.5, 0.5])})
    with refused("file.samples"):
        optimize((table, about))
    with refused("file.column"):
        optimize((table.drop_columns("local_std"), about))
    with refused("file.number"):
        optimize(study_of({"laplace:1": [[math.nan] * 6]}))


def test_the_front_is_what_no_other_beats() -> None:
    found = optimize(as_read(evaluated()), max_mean=0.5, max_std=0.5, omega=0.2)
    q, u = found.scored.privacy_median, found.scored.utility_median
    rows = np.flatnonzero(found.admissible)
    beaten = {a for a in rows for b in rows if q[b] >= q[a] and u[b] >= u[a] and (q[b] > q[a] or u[b] > u[a])}
    assert set(found.front) <= set(rows) - beaten
    assert {(q[a], u[a]) for a in set(rows) - beaten} == {(q[a], u[a]) for a in found.front}
    assert len(pareto_front(found.scored, np.zeros(len(found.scored), bool))) == 0


def test_words_come_from_the_noise_law() -> None:
    """laplace: P(|psi| <= y) = 1 - exp(-y/b); and the share of draws inside, against a range a tenth too narrow."""
    laplace = PrivacySetting.parse("laplace:0.5")
    assert noise_quantile(laplace, 0.8) == pytest.approx(-0.5 * math.log(0.2), rel=1e-6)
    low, high = shown(PrivacySetting.parse("sine:0.3,0.9"), 2.0) or (0, 0)
    draws = PrivacySetting.parse("sine:0.3,0.9").mask(np.full(40_000, 2.0), np.random.default_rng(5))
    assert np.mean((draws >= low) & (draws <= high)) == pytest.approx(0.8, abs=0.01)
    narrow = 0.9 * (high - low) / 2
    assert np.mean(np.abs(draws - 2) <= narrow) < 0.79
    assert shown(PrivacySetting.parse("relative-laplace:0.5"), 4.0) == pytest.approx(
        (4 + 2 * math.log(0.2), 4 - 2 * math.log(0.2)), rel=1e-6
    )
    assert shown(PrivacySetting.parse("round:1"), 4.0) is None
    assert shown(PrivacySetting.parse("none"), 4.0) == (4.0, 4.0)


@pytest.mark.parametrize("text", ["laplace:0.127", "laplace:0.7", "gaussian:2", "uniform:3", "none"])
@pytest.mark.parametrize("step", ["0.5", "0.001"])
def test_words_are_of_the_reports_of_a_device(text: str, step: str) -> None:
    """Both ends are lattice points with the stated chance between them; a step less on either side has less."""
    setting, reading, width = PrivacySetting.parse(text), 0.348, float(step)
    low, high = shown(setting, reading, width) or (0, 0)
    assert all(Fraction(number_text(end)) % Fraction(step) == 0 for end in (low, high))
    around = round((high - low) / width) // 2
    assert low / width + around == pytest.approx(math.floor(reading / width + 0.5))
    if text != "none":
        masses = PrivacySetting.parse(text).law.pmf(setting.parameters, width, np.arange(-around, around + 1))
        slack = 0 if step == "0.5" else 1e-3  # a fine lattice is taken for none
        assert masses.sum() >= 0.8 - slack
        assert around == 0 or masses[1:-1].sum() < 0.8
    said = InWords("A", reading, low, high, {}, width).sentence("kW")
    if step == "0.5":
        assert said.startswith("0.348 kW shows as 0.5" if around == 0 else f"0.348 kW shows as {low:g} to {high:g}")


def test_figures_of_few_steps_are_written_in_full() -> None:
    assert "10.25 to 10.75," in InWords("A", 10.4, 10.25, 10.75, {}, 0.25).sentence()
    assert "10.3 to 10.6," in InWords("A", 10.4, 10.25001, 10.6, {}).sentence()


@pytest.mark.parametrize("reading", [14.7499, 14.75, 0.099951])
def test_a_figure_is_rounded_once(reading: float) -> None:
    """On a lattice finer than three digits the place is the reading; rounded again, 14.7499 became 14.8."""
    low, high = shown(PrivacySetting.parse("none"), reading, 1e-5 if reading < 1 else 0.001) or (0, 0)
    words = InWords("A", reading, low, high, {}, 1e-5 if reading < 1 else 0.001)
    assert "lattice" not in words.sentence()
    assert words.range() is None
    near = InWords("A", reading, reading - 0.0011, reading + 0.0011, {}, 1e-6)
    assert (near.range() is None) == (reading > 1), "a digit apart in print, and next to none in truth"
    assert InWords("A", 14.7, 14.6, 14.8, {}, 0.001).range() == ("14.6", "14.8")


def test_the_expected_error_of_a_total_is_the_studys_mean_global_error() -> None:
    study, setting = evaluated(), PrivacySetting.parse("laplace:0.5")
    of_setting = study.metrics[study.grid.texts().index(str(setting))][..., 3]
    for users in (10, 30):
        measured = of_setting[study.users == users]
        expected = total_error(homes().profile, setting, users)
        assert expected is not None
        assert abs(measured.mean() / expected - 1) < 0.2, users
        assert abs(measured.mean() / (expected * 1.5) - 1) > 0.2


def test_the_table_speaks_of_this_dataset() -> None:
    rows = menu_rows(menu(), homes().profile, unit="kWh")
    assert len(rows) == len(menu().settings) + 1
    assert {len(row) for row in rows} == {len(rows[0])}
    assert rows[-1][-2].endswith("kWh shows as it is")
    assert "8 times out of 10" in rows[-2][-2]
    assert rows[0][-1] == "error of a day's total, 30 users"
    values = np.abs(homes().values)
    assert typical_reading(homes().profile) == pytest.approx(np.median(values[values > 0]), rel=0.02)
    assert len(menu_rows(menu())[0]) == 6
    assert [each.id for each in menu_words(menu(), homes().profile)] == list(menu().ids)


def test_a_factor_lowers_the_privacy_of_some_settings() -> None:
    scores = {"laplace:1": samples([0.5, 0.5], [0.9, 0.9]), "round:1": samples([0.5, 0.5], [0.95, 0.95]), **TOP}
    plain = optimize(study_of(pad(scores)), max_mean=1, max_std=1)
    assert str(plain.menu["C"].setting) == "round:1"
    doubted = optimize(study_of(pad(scores)), max_mean=1, max_std=1, factor=lambda s: 0.5 if s.kind == "direct" else 1)
    assert str(doubted.menu["C"].setting) == "laplace:1"
    assert str(doubted.menu["B"].setting) == "round:1"
    assert doubted.menu["B"].privacy.median == pytest.approx(0.25)


def pad(scores: dict[str, list[list[float]]]) -> dict[str, list[list[float]]]:
    """As many samples for each."""
    most = max(map(len, scores.values()))
    return {text: (rows * most)[:most] for text, rows in scores.items()}


def test_a_study_in_hand_gives_the_menu_of_its_file(tmp_path: Path) -> None:
    evaluated().write(tmp_path / "study.parquet")
    limits = {"max_mean": 0.5, "max_std": 0.5, "omega": 0.2}
    read, held = (optimize(each, **limits).menu for each in (tmp_path / "study.parquet", evaluated()))
    assert read.settings == held.settings
    assert read.normalisers == held.normalisers


TINY = {**TOP, "laplace:0.0001": samples([0.3], [0.9]), "laplace:1": samples([0.3], [0.8])}


def test_on_a_known_lattice_nothing_is_chosen_that_devices_refuse() -> None:
    free = optimize(study_of(TINY))
    assert str(free.menu["B"].setting) == "laplace:0.0001"
    assert any("devices refuse B: laplace:0.0001 leaves" in told and "`step`" in told for told in free.notes)
    known = optimize(study_of(TINY), taken=takes(0.001))
    assert str(known.menu["B"].setting) == "laplace:1"
    assert not any("devices refuse" in told for told in known.notes)
    assert str(optimize(study_of(TINY), taken=takes(0.00005)).menu["B"].setting) == "laplace:0.0001", "a finer lattice"
    alone = study_of({**TOP, "laplace:0.0001": samples([0.3], [0.9])})
    (empty,) = [each for each in optimize(alone, taken=takes(0.001)).menu.empty_bins if each.bin == (0.2, 0.4)]
    assert empty.reason == "devices refuse every setting in it that would do, on this lattice"
    with refused("option.refused", "step"):
        optimize(study_of({"laplace:0.0001": samples([0.3], [0.9])}), taken=takes(0.001))
    with refused("option.step"):
        takes(0.0)


@pytest.mark.parametrize(
    "text", ["laplace:1", "none", "relative-laplace:0.0001", "clip:0,1/laplace:0.5", "round:1", "geometric:1,0.5"]
)
def test_what_devices_take_or_do_not_know_is_not_refused_for_its_noise(text: str) -> None:
    assert refusal(PrivacySetting.parse(text), 0.001) is None


@pytest.mark.parametrize("text", ["laplace:0.0001", "gaussian:0.0002", "uniform:0.0004", "sine:0,0,0,0.008,0.017"])
def test_what_leaves_readings_as_they_are_is_refused_in_the_devices_own_words(text: str) -> None:
    with pytest.raises(HalfmaskError) as said:
        law_of(text, "0.001")
    assert refusal(PrivacySetting.parse(text), 0.001) == str(said.value)
