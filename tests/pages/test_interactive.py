"""Interactive figures hold the numbers of the drawn ones, and plotly understands them."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from halfmask.figures.algorithm import algorithm_data
from halfmask.figures.equal_noise import noise_data
from halfmask.figures.error_distributions import cdf_data
from halfmask.figures.heatmaps import CELL_TITLES, heatmap_data
from halfmask.figures.interactive import Interactive, SubplotSpec, layout
from halfmask.figures.masked_reading import shown_data, shown_figure
from halfmask.figures.readings_overview import MOST_PERIODS, readings_figure
from halfmask.figures.registry import FIGURES, MORE_ELLIPSES, by_place, drawings, interactive_figures
from halfmask.figures.results_folder import ResultsFolder, read_inputs
from halfmask.figures.style import PALETTE, mechanism_looks
from halfmask.figures.trajectories import MOST_POINTS, NEAR, cloud_data, trajectory_data
from halfmask.figures.utility_by_users import users_data
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.show import ProfilePicture
from tests.pages.studies import FIGURES as OF_A_FOLDER
from tests.refusals import refused


@pytest.fixture(scope="module")
def inputs(made: Path) -> ResultsFolder:
    return read_inputs(made)


@pytest.fixture(scope="module")
def figures(inputs: ResultsFolder) -> dict[str, Interactive]:
    return {each.name: each for each in interactive_figures(inputs)}


def traces(figure: Interactive, **wanted: Any) -> list[dict[str, Any]]:
    """Traces with these values."""
    return [each for each in figure.traces if all(each.get(name) == value for name, value in wanted.items())]


def test_every_drawn_figure_is_there_to_look_into(inputs: ResultsFolder, figures: dict[str, Interactive]) -> None:
    drawn = {each.name: each for each in drawings(inputs)}
    assert set(figures) == set(drawn)
    for name, figure in figures.items():
        assert figure.title == drawn[name].title
        if name != "algorithm":  # which has more ellipses, and says how many
            assert figure.caption.startswith(drawn[name].caption)


@pytest.mark.parametrize("name", OF_A_FOLDER)
def test_plotly_understands_a_figure(figures: dict[str, Interactive], name: str) -> None:
    figure = figures[name]
    for form in ({"data": figure.traces, "layout": each} for each in (figure.wide, figure.narrow)):
        assert len(go.Figure(form).data) == len(figure.traces)
    assert json.loads(json.dumps(figure.json(), allow_nan=False))["traces"] == json.loads(json.dumps(figure.traces))


def test_plotly_would_notice_a_wrong_figure(figures: dict[str, Interactive]) -> None:
    wrong = [figures["users"].traces[0] | {"fillcolour": "red"}]
    with pytest.raises(ValueError, match="fillcolour"):
        go.Figure({"data": wrong})


def test_distributions_are_those_that_are_drawn(inputs: ResultsFolder, figures: dict[str, Interactive]) -> None:
    assert inputs.samples is not None
    curves = cdf_data(inputs.samples)
    order = ("local_mean", "global_mean", "local_std", "global_std", "local_entropy", "global_entropy")
    for number, metric in enumerate(order, start=1):
        axis = "x" if number == 1 else f"x{number}"
        for mechanism, curve in curves[metric].items():
            (line,) = traces(figures["cdfs"], xaxis=axis, name=mechanism)
            assert line["x"] == pytest.approx(curve.value, rel=1e-5)
            assert line["y"] == pytest.approx(curve.share * 100, rel=1e-5)
    assert figures["cdfs"].wide["xaxis5"]["title"]["text"] == "entropy (bits)"


def test_noise_trajectories_and_users_are_those_that_are_drawn(
    inputs: ResultsFolder, figures: dict[str, Interactive]
) -> None:
    assert inputs.samples is not None
    assert inputs.of_menu is not None
    for mechanism, curve in noise_data(inputs.samples).items():
        (line,) = traces(figures["noise"], name=mechanism, yaxis="y2")
        assert line["y"] == pytest.approx(curve.utility, rel=1e-5)
    paths = trajectory_data(inputs.samples, inputs.of_menu)
    for mechanism, found in paths.mechanisms.items():
        (line,) = traces(figures["trajectories"], name=mechanism, xaxis="x", mode="lines", showlegend=True)
        assert line["y"] == pytest.approx(found.median, rel=1e-5)
        (around,) = traces(figures["trajectories"], name=mechanism, xaxis="x", fill="toself")
        assert around["y"] == pytest.approx(np.concatenate([found.low, found.high[::-1]]), rel=1e-5)
    by_users = users_data(inputs.of_menu)
    assert by_users
    for name, found in by_users.items():
        (line,) = traces(figures["users"], name=name, mode="lines+markers")
        assert (line["x"], line["y"]) == (pytest.approx(found.at), pytest.approx(found.median, rel=1e-5))


def test_heat_maps_are_those_that_are_drawn(inputs: ResultsFolder, figures: dict[str, Interactive]) -> None:
    assert inputs.mix is not None
    assert inputs.menu is not None
    maps = heatmap_data(inputs.mix, inputs.menu)
    for trace, name in zip(traces(figures["mixes"], type="heatmap"), CELL_TITLES, strict=True):
        cells = np.array([[np.nan if cell is None else cell for cell in row] for row in trace["z"]])
        assert cells == pytest.approx(maps.cells[name], rel=1e-5, nan_ok=True)
        assert trace["x"] == maps.settings


def luminance(colour: str) -> float:
    """Relative luminance, as the Web Content Accessibility Guidelines have it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_numbers_in_cells_and_bars_can_be_read(figures: dict[str, Interactive]) -> None:
    assert contrast("#444444", "#41b6c4") < 4.5  # plotly's own choice
    for grid, text in zip(traces(figures["mixes"], type="heatmap"), traces(figures["mixes"], mode="text"), strict=True):
        at, shades = zip(*grid["colorscale"], strict=True)
        found = {(x, y): ink for x, y, ink in zip(text["x"], text["y"], text["textfont"]["color"], strict=True)}
        told = dict(zip(zip(text["x"], text["y"], strict=True), text["text"], strict=True))
        for y, row, words in zip(grid["y"], grid["z"], grid["text"], strict=True):
            for x, cell, word in zip(grid["x"], row, words, strict=True):
                if cell is not None:
                    place = (cell - grid["zmin"]) / ((grid["zmax"] - grid["zmin"]) or 1)
                    mixed = [np.interp(place, at, [int(each[k : k + 2], 16) for each in shades]) for k in (1, 3, 5)]
                    colour = "#" + "".join(f"{round(part):02x}" for part in mixed)
                    assert contrast(found[x, y], colour) >= 4.5
                    assert told[x, y] == word
    for bars in figures["offer"].traces:
        assert contrast(bars["insidetextfont"]["color"], bars["marker"]["color"]) >= 4.5
        assert set(bars["textposition"]) <= {"inside", "outside"}  # never left out, however narrow


def test_labels_in_one_spot_are_one_label(figures: dict[str, Interactive]) -> None:
    menu = traces(figures["limit"], name="menu", xaxis="x")[0]
    labelled = zip(menu["x"], menu["y"], menu["text"], strict=True)
    places = [(x, y) for x, y, text in labelled if text]
    assert "<b>N</b>" not in menu["text"]  # A hides nothing either, and stands where N does
    assert any(text.endswith(", N</b>") for text in menu["text"])
    for number, (x, y) in enumerate(places):
        assert all(abs(x - other) > NEAR or abs(y - height) > NEAR for other, height in places[:number])


def test_what_is_wide_lies_below_the_other_curves(figures: dict[str, Interactive]) -> None:
    widths = [trace["line"]["width"] for trace in traces(figures["guarantees"], xaxis="x")]
    assert widths == sorted(widths, reverse=True)


def test_ellipses_reach_as_far_as_the_tenth_percentiles(inputs: ResultsFolder, figures: dict[str, Interactive]) -> None:
    assert inputs.samples is not None
    assert inputs.menu is not None
    data = algorithm_data(inputs.samples, inputs.menu, MORE_ELLIPSES)
    found = {}
    for mechanism in ("laplace", "sine"):
        outline, centres = traces(figures["algorithm"], name=mechanism)
        x = np.array([np.nan if value is None else value for value in outline["x"]])
        parts = np.split(x, np.flatnonzero(np.isnan(x)) + 1)[:-1]
        for told, part in zip(centres["customdata"], parts, strict=True):
            found[told[0]] = float(np.nanmax(part) - np.nanmin(part)) / 2
    widths = dict(zip(data.settings, data.width, strict=True))
    assert found.keys() == widths.keys()
    wide = {setting: width for setting, width in widths.items() if width > 0.008}
    assert len(wide) > 5
    for setting, width in wide.items():
        assert found[setting] == pytest.approx(width, rel=0.01)
    (winners,) = traces(figures["algorithm"], name="winners")
    assert [told[0] for told in winners["customdata"]] == list(data.winners)


def test_colours_are_those_of_the_drawn_figures(figures: dict[str, Interactive]) -> None:
    for name, look in mechanism_looks(["laplace", "sine"]).items():
        for figure in ("noise", "cdfs"):
            assert {each["line"]["color"] for each in traces(figures[figure], name=name)} == {look["color"]}
    users = [each["line"]["color"] for each in traces(figures["users"], mode="lines+markers")]
    assert users == list(PALETTE[: len(users)])


def test_hovering_tells_the_setting(inputs: ResultsFolder, figures: dict[str, Interactive]) -> None:
    assert inputs.menu is not None
    (cloud,) = traces(figures["trajectories"], name="laplace", mode="markers")
    assert all(text.startswith("laplace:") for text in cloud["customdata"])
    assert "privacy %{x" in cloud["hovertemplate"]
    for each in inputs.menu.settings[:-1]:
        (line,) = traces(figures["users"], name=each.id, mode="lines+markers")
        assert f"{each.setting}, privacy {each.privacy.median:.2f}" in line["hovertemplate"]
        assert "users: utility" in line["hovertemplate"]


def test_a_phone_has_one_panel_a_row(figures: dict[str, Interactive]) -> None:
    for figure in figures.values():
        for form, most in ((figure.wide, 2), (figure.narrow, 1)):
            x = [value["domain"] for name, value in form.items() if name.startswith("xaxis")]
            y = [value["domain"] for name, value in form.items() if name.startswith("yaxis")]
            assert len({left for left, _ in x}) == min(most, len(x))
            boxes = [(*one, *other) for one, other in zip(x, y, strict=True)]
            for place, (left, right, low, high) in enumerate(boxes):
                assert 0 <= left < right <= 1 + 1e-9
                assert 0 <= low < high <= 1 + 1e-9
                for other in boxes[:place]:
                    assert right <= other[0] or other[1] <= left or high <= other[2] or other[3] <= low


def test_overlapping_panels_would_be_noticed() -> None:
    made = layout([SubplotSpec("a"), SubplotSpec("b"), SubplotSpec("c")], columns=1)
    assert made["yaxis"]["domain"][0] > made["yaxis2"]["domain"][1]
    assert made["height"] > 3 * 250


def test_a_million_settings_are_thinned(inputs: ResultsFolder) -> None:
    assert inputs.samples is not None
    count = 200_000
    privacy = np.random.default_rng(1).random(count)
    many = dataclasses.replace(
        inputs.samples,
        settings=[f"laplace:{place}" for place in range(count)],
        mechanisms=np.array(["laplace"] * (count - 500) + ["sine"] * 500),
        kept=np.arange(count) % 2 == 0,
        scores=dict.fromkeys(inputs.samples.scores, privacy),
    )
    clouds = cloud_data(many)
    assert sum(len(each.settings) for each in clouds.values()) <= MOST_POINTS
    assert {name: each.of for name, each in clouds.items()} == {"laplace": count // 2 - 250, "sine": 250}
    kept = privacy[: count - 500 : 2]
    assert (clouds["laplace"].privacy[0], clouds["laplace"].privacy[-1]) == (kept.min(), kept.max())
    assert len(clouds["sine"].settings) > 30


def test_thinning_is_told(figures: dict[str, Interactive], inputs: ResultsFolder) -> None:
    assert inputs.samples is not None
    assert f"of {int(inputs.samples.kept.sum()):,} are drawn" in figures["trajectories"].caption
    long = MOST_PERIODS * 3
    picture = ProfilePicture(np.ones(1), np.ones(1), np.arange(long) * 86_400_000_000, np.ones(long))
    made = readings_figure(picture, "Totals.")
    assert len(made.traces[1]["x"]) == MOST_PERIODS
    assert f"{MOST_PERIODS:,} of {long:,} periods" in made.caption


def test_parts_that_are_missing_leave_their_figures_out(made: Path, tmp_path: Path) -> None:
    shutil.copy(made / "homes.profile", tmp_path)
    assert [each.name for each in interactive_figures(read_inputs(tmp_path))] == ["readings"]
    shutil.copy(made / "study.parquet", tmp_path)
    names = [each.name for each in interactive_figures(read_inputs(tmp_path))]
    assert names == ["trajectories", "noise", "cdfs", "readings"]


def test_only_figures_asked_for_are_made(inputs: ResultsFolder) -> None:
    follow, stay = (
        [each.name for each in interactive_figures(inputs, follows_menu=following)] for following in (True, False)
    )
    assert follow == ["offer", "algorithm", "users", "trajectories", "noise", "mixes"]
    absent = {"pay", "equal-utility", "simulated"}  # the folder holds no schedule and no simulation
    assert {*follow, *stay} == {kind.name for kind in FIGURES} - absent


def test_figures_are_numbered_in_the_order_of_the_page() -> None:
    names = [kind.name for kind in FIGURES]
    shown = [each for place in by_place(names).values() for each in place]
    assert shown == list(enumerate(names, start=1))
    assert by_place(["readings", "users"])["data"] == [(2, "readings")]
    assert len(set(names)) == len(names)


def test_what_a_reading_shows_as_follows_the_noise_law() -> None:
    scale, reading = 0.5, 2.0
    data = shown_data(PrivacySetting.parse("laplace:0.5"), reading)
    assert data is not None
    below = np.where(
        data.edges < reading,
        np.exp((data.edges - reading) / scale) / 2,
        1 - np.exp((reading - data.edges) / scale) / 2,
    )
    assert data.share == pytest.approx(np.diff(below), abs=1e-12)
    assert data.share.sum() + data.beyond == pytest.approx(1)
    assert (reading - data.low, data.high - reading) == pytest.approx([scale * np.log(5)] * 2, rel=1e-6)
    other = shown_data(PrivacySetting.parse("laplace:0.65"), reading)
    assert other is not None
    assert other.high - reading != pytest.approx(scale * np.log(5), rel=0.1)
    assert len(go.Figure(shown_figure(data, "laplace:0.5").traces).data) == 1


@pytest.mark.parametrize(("text", "reach"), [("uniform:3", 3.0), ("relative-gaussian:0.1", None), ("sine:1,0.5", None)])
def test_any_noise_is_drawn_around_the_reading(text: str, reach: float | None) -> None:
    data = shown_data(PrivacySetting.parse(text), -5.0)
    assert data is not None
    assert data.edges + data.edges[::-1] == pytest.approx(np.full(len(data.edges), -10.0))
    assert data.share.sum() + data.beyond == pytest.approx(1)
    inside = (data.edges[:-1] >= data.low) & (data.edges[1:] <= data.high)
    assert data.share[inside].sum() == pytest.approx(0.8, abs=0.06)
    if reach is not None:
        assert data.edges[-1] == pytest.approx(-5.0 + reach)


def test_settings_without_noise_are_not_drawn() -> None:
    assert shown_data(PrivacySetting.parse("none"), 1.0) is None
    with refused("setting.law"):
        shown_data(PrivacySetting.parse("round:0.5"), 1.0)
