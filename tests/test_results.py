"""Results keep their type: files give the same object back, and each shows itself."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import halfmask
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask.pages.page_parts import html_table
from halfmask.pages.result_tables import told as rows_of
from halfmask.results import Result, Shown
from halfmask_device.decimals import upwards
from tests.refusals import refused

SETTINGS = ("laplace:0.3", "laplace:0.6", "sine:0,0.6", "gaussian:0.2", "none")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small folder of results."""
    at = tmp_path_factory.mktemp("results")
    halfmask.synth(at / "p.parquet", users=20, days=4)
    profile = halfmask.profile(at / "p.parquet", at / "x.profile")
    study = halfmask.evaluate(profile, at / "study.parquet", settings=SETTINGS, sizes="10,all", repeats=2)
    menu = halfmask.optimize(study, at / "menu.json", max_mean=1, max_std=1).menu
    halfmask.mix(profile, menu, at / "mix.parquet", step=0.5, repeats=2)
    halfmask.evaluate(profile, at / "summary.parquet", grid="laplace:b=0.05|0.1|5", sizes="10,all", summary=True)
    return at


KINDS = {
    "x.profile": halfmask.Profile,
    "study.parquet": halfmask.Study,
    "summary.parquet": halfmask.Study,
    "menu.json": halfmask.Menu,
    "mix.parquet": halfmask.Mix,
}


@pytest.mark.parametrize("file", KINDS)
def test_a_file_gives_the_same_object_back(file: str, folder: Path, tmp_path: Path) -> None:
    read = KINDS[file].read(folder / file)
    read.write(tmp_path / file)
    if file != "x.profile":  # profiles are told apart by their bytes
        assert KINDS[file].read(tmp_path / file) == read
    read.write(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / file).read_bytes()
    if file != "summary.parquet":
        assert (folder / file).read_bytes() == (tmp_path / file).read_bytes()


def test_a_study_in_hand_is_the_one_in_its_file(folder: Path) -> None:
    made = halfmask.evaluate(folder / "x.profile", settings=SETTINGS, sizes="10,all", repeats=2)
    read = halfmask.Study.read(folder / "study.parquet")
    assert made == read
    assert np.array_equal(made.metrics, read.metrics)
    assert list(made.grid.settings()) == list(read.grid.settings()) == [PrivacySetting.parse(text) for text in SETTINGS]
    other = halfmask.evaluate(folder / "x.profile", settings=SETTINGS, sizes="10,all", repeats=2, seed=8)
    assert other != read


def test_a_menu_of_the_study_in_hand_is_that_of_its_file(folder: Path) -> None:
    in_hand = halfmask.optimize(halfmask.Study.read(folder / "study.parquet"), max_mean=1, max_std=1).menu
    of_file = halfmask.optimize(folder / "study.parquet", max_mean=1, max_std=1).menu
    assert in_hand.settings == of_file.settings
    assert in_hand.normalisers == of_file.normalisers
    summed = halfmask.Study.read(folder / "summary.parquet")
    assert halfmask.optimize(summed).menu.settings == halfmask.optimize(folder / "summary.parquet").menu.settings


def test_all_carry_the_same_experiment(folder: Path) -> None:
    study, menu = halfmask.Study.read(folder / "study.parquet"), halfmask.Menu.read(folder / "menu.json")
    assert study.experiment == menu.experiment
    assert study.experiment.sizes[0] == 10
    assert halfmask.Mix.read(folder / "mix.parquet").experiment.fingerprint == study.experiment.fingerprint
    assert Experiment.of(study.experiment.to_json()) == study.experiment


@pytest.mark.parametrize("file", KINDS)
def test_a_result_shows_itself(file: str, folder: Path) -> None:
    read: Result = KINDS[file].read(folder / file)
    shown = read._repr_html_()
    rows = rows_of(read)
    assert shown.count("<tr>") == len(rows) > 1
    assert all(cell in shown for row in rows for cell in row[:1])
    assert ("<svg" in shown) == (KINDS[file] is halfmask.Study)
    assert len(repr(read)) < 400
    frames = [read.to_arrow().num_rows, len(read.to_pandas()), read.to_polars().height]
    assert len(set(frames)) == 1
    assert read.plot().axes


HEADINGS = {
    "": "chosen",
    "level": "level",
    "privacy": "privacy_median",
    "utility": "utility_median",
    "10th percentiles": "privacy_p10",
    "noise std": "noise_std",
    "epsilon": "epsilon_reading",
    "epsilon, a whole day": "epsilon",
    "30 days": "epsilon_month",
    "of 48": "epsilon_window",
    "a whole day": "epsilon_window",
    "holds against": "against",
    "your privacy": "privacy",
    "80 % sure between": "low",
    "masked once": "once",
    "others' privacy": "others_privacy",
    "in a sentence": "sentence",
    "share": "dominant_share",
    "delta at epsilon": "reports",
}
"""The column of a frame that holds what a heading of the shown table names, if they differ."""
DERIVED = {"mixes", "its IQR"}
"""Headings of what the shown table counts over the frame's rows."""


@pytest.fixture(scope="module")
def shown(folder: Path) -> dict[str, Shown]:
    """What commands return, by its kind."""
    profile = halfmask.Profile.read(folder / "x.profile")
    menu = halfmask.optimize(folder / "study.parquet", max_mean=1, max_std=1, profile=profile).menu
    totals = halfmask.evaluate(profile, settings=("laplace:3@total", "gaussian:2@total", "none@total"), sizes="all")
    offer = halfmask.offer(profile, study=totals, private=0, low=0, high=40)
    return {
        "offer": offer,
        "menu of an offer": offer.menu,
        "menu": menu,
        "solved": halfmask.solve(profile, epsilon=1, protect="whole-day", low=0, high=40),
        "guarantee": halfmask.audit(setting="laplace:0.5", sensitivity=0.1, step=0.001, reports="48"),
        "recommendation": halfmask.recommend([0.1, 0.5, 0.3] * 100, menu=menu, privacy=0.3, profile=profile),
        "wished levels": halfmask.recommend(menu=offer.menu, epsilon=2),
        "card": halfmask.audit(replace(menu, settings=menu.settings[-2:]), profile),
        "mix": halfmask.Mix.read(folder / "mix.parquet"),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "offer", "menu of an offer", "menu", "solved", "guarantee", "recommendation", "wished levels", "card", "mix",
    ],
)  # fmt: skip
def test_a_frame_has_every_column_that_a_notebook_shows(kind: str, shown: dict[str, Shown]) -> None:
    value = shown[kind]
    frame, (heads, *rows) = value.to_pandas(), rows_of(value)
    assert str(value._repr_html_()).count("<th") >= len(heads)
    for head in heads:
        crowd = head.removeprefix("error of ").replace(",", "")
        names = {head, head.replace(" ", "_"), HEADINGS.get(head), f"error_{crowd}", f"delta_at_{head}"}
        assert head in DERIVED or names & set(frame.columns), head
    assert kind == "mix" or len(frame) == len(rows)
    assert 0 < len(repr(value)) < 400
    assert "\n" not in repr(value)
    assert value.plot().axes


def test_numbers_of_a_frame_are_those_of_the_shown_table(shown: dict[str, Shown]) -> None:
    heads, *rows = rows_of(shown["offer"])
    frame = shown["offer"].to_pandas()
    epsilons = [row[heads.index("epsilon, a whole day")] for row in rows]
    assert epsilons[-1] == NO_PROMISE
    assert [upwards(each) for each in frame["epsilon"][:-1]] == epsilons[:-1]
    assert frame["epsilon"].isna().tolist() == [False] * (len(rows) - 1) + [True]
    crowd = heads[4].removeprefix("error of ")
    shown_errors = [float(row[4].rstrip("%")) for row in rows]
    assert shown_errors == pytest.approx(list(100 * frame[f"error_{crowd}"]), rel=0.005)  # three digits


def test_of_a_guarantee_every_curve_falls(shown: dict[str, Shown]) -> None:
    (axes,) = shown["guarantee"].plot().axes
    curves = [line for line in axes.lines if len(line.get_xdata()) > 2]
    assert len(curves) == 2  # of one report and of a day's
    for line in curves:
        assert (np.diff(line.get_ydata()) <= 0).all()
    assert curves[0].get_ydata()[0] < curves[-1].get_ydata()[0]


def test_a_setting_cannot_write_into_the_page() -> None:
    assert "<script>" not in html_table("", ["id"], [["<script>alert(1)</script>"]])


def test_a_damaged_study_is_found_by_reading_it(folder: Path, tmp_path: Path) -> None:
    html_table = pq.read_table(folder / "study.parquet")
    for damage, code in (
        (html_table.slice(1), "file.samples"),
        (html_table.drop_columns(["repeat"]), "file.damaged"),
        (html_table.slice(0, 0), "file.damaged"),
    ):
        pq.write_table(damage, tmp_path / "study.parquet")
        with refused(code):
            halfmask.Study.read(tmp_path / "study.parquet")


def test_a_damaged_menu_is_found_by_reading_it(folder: Path, tmp_path: Path) -> None:
    plain = json.loads((folder / "menu.json").read_text())
    plain["settings"][0]["privacy"] = {"median": 0.5}
    (tmp_path / "menu.json").write_text(json.dumps(plain))
    with refused("file.damaged", "p10"):
        halfmask.Menu.read(tmp_path / "menu.json")
