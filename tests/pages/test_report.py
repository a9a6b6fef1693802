"""The page: whole, self-contained, honest about what is missing, the same bytes each time."""

import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from halfmask.commands._repeat import command_of
from halfmask.commands.report import report
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.scores import Weights
from halfmask.evaluation.study import summed_up
from halfmask.figures.registry import drawings
from halfmask.figures.results_folder import PARTS, read_inputs
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import EmptyBin, Menu, Score
from halfmask.pages.report import page_of
from halfmask.profiles.store import load_profile
from tests.pages.studies import FIGURES, menu_of
from tests.refusals import refused

FIRST = ["cover", "offer", "protects"]
APPENDIX = ["appendix", "summary", "menu", "costs", "mixes", "audit", "data", "method", "limits", "repeat"]
SECTIONS = [*FIRST, *APPENDIX]
MOST_WORDS = 3000
"""Words of a report before its appendix, at most."""
VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """Tags, references, ids and text of a page; fails where tags do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.references: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self._note(attrs)

    def handle_startendtag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note(attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)

    def _note(self, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "srcset", "data", "action"):
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "demo"))


def words_of(folder: Path) -> tuple[Page, set[str]]:
    """The page of a folder without drawing its figures, and the names of those that it would have."""
    inputs = read_inputs(folder, command_of)
    page = Page(page_of(inputs, []))
    assert page.open == []
    return page, {drawing.name for drawing in drawings(inputs)}


def test_the_report_has_every_section_and_every_figure(reported: Path) -> None:
    page = Page((reported / "report.html").read_text(encoding="utf-8"))
    assert page.open == []
    assert [name for name in page.ids if name in SECTIONS] == SECTIONS
    assert [name for name in page.ids if name.startswith("figure-")] == [f"figure-{name}" for name in FIGURES]
    assert "Left out" not in page.text
    assert "60 users, " in page.text
    assert "8 times out of 10" in page.text
    assert f"Figure {len(FIGURES)}. The readings." in page.text


def test_the_cover_comes_first_and_what_is_signed_is_short(reported: Path) -> None:
    text = (reported / "report.html").read_text(encoding="utf-8")
    first, appendix, rest = text.partition('<section id="appendix"')
    assert appendix
    assert len(Page(first + "</main></body></html>").words) > 0
    words = re.sub(r"<[^>]*>", " ", re.sub(r"<(style|svg)[^>]*>.*?</\1>", " ", first, flags=re.S)).split()
    assert 200 < len(words) < MOST_WORDS
    for told in ("paper A", "Paper A", "paper's privacy", "Paper's privacy"):
        assert told not in " ".join(words), "the paper's menu is in the appendix"
        assert told in rest or "privacy" in told
    assert 'class="danger"' not in first.partition("</header>")[2].partition('id="offer"')[0]


def test_the_title_is_the_data_s_name_or_the_one_given(folder: Path) -> None:
    inputs = read_inputs(folder, command_of)
    assert "<h1>homes</h1>" in page_of(inputs, [])
    assert "<h1>Street &lt;5&gt;</h1>" in page_of(inputs, [], "Street <5>")


def test_the_report_refers_to_nothing_outside(reported: Path) -> None:
    text = (reported / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.references
    assert all(reference.startswith("#") for reference in page.references)
    assert {reference[1:] for reference in page.references} <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"https?://|@import|<script|<link|<iframe", text)
    assert set(re.findall(r"url\((.)", text)) == {"#"}


@pytest.mark.slow  # reports that are repeated elsewhere have equal bytes too: tests/commands/test_repeat.py
def test_equal_folders_give_equal_bytes(reported: Path, folder: Path) -> None:
    assert report(folder).read_bytes() == (reported / "report.html").read_bytes()
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_figures_come_with_the_report_where_asked_for(folder: Path) -> None:
    """Few parts, and so few figures, are enough to see it."""
    for part in ("study.parquet", "mix.parquet", "card.json"):
        (folder / part).unlink()
    report(folder, figures=("svg",))
    drawn = {f"{drawing.name}.svg" for drawing in drawings(read_inputs(folder))}
    assert {path.name for path in (folder / "figures").iterdir()} == drawn
    assert {"offer.svg", "readings.svg"} <= drawn


def test_the_menu_is_told_with_its_numbers(made: Path) -> None:
    (page, _), menu = words_of(made), Menu.read(made / "menu.json")
    for each in menu.settings:
        assert f"{each.privacy.median:.2f}" in page.text
        assert each.setting.mechanism in page.text
    assert f"Setting paper {menu.settings[0].id} has privacy" in page.text


def test_empty_bins_are_told_with_their_reason(folder: Path) -> None:
    menu = Menu.read(folder / "menu.json")
    empty = EmptyBin((0.2, 0.4), PrivacySetting.parse("laplace:3"), Score(0.3, 0.1), "its <privacy> disperses")
    replace(menu, empty_bins=(empty,)).write(folder / "menu.json")
    page, _ = words_of(folder)
    assert "No setting for privacy 0.2 to 0.4: the nearest is laplace:3, but its <privacy> disperses." in page.text


DAYS = """day,reports,cost,spent,utility,producers_A,producers_N,truth,estimate,low,high,error,privacy,inside
1,48,0,0,0.9,6,1,982.239,949.503,870.332,1028.674,0.03,0.33,True
2,48,0,0,0.9,5,0,961.06,1164.9,1085.7,1244.1,0.2,0.33,False
3,48,0,0,0.9,2,0,300,,,,,0.33,
"""


def test_a_sharing_that_ran_is_shown_beside_the_truth(folder: Path) -> None:
    page, _ = words_of(folder)
    assert "sharing" not in page.ids
    (folder / "sharing.csv").write_text(DAYS)
    page, _ = words_of(folder)
    assert page.ids.index("protects") < page.ids.index("sharing") < page.ids.index("appendix")
    assert "for 3 days: up to 7 devices" in page.text
    assert "1 of 2 published intervals hold the true total" in page.text
    assert "1 A 6, N 1 982 950 870 to 1,029 3.3 % yes" in page.text
    assert "2 A 5 961 1,165 1,086 to 1,244 21.2 % no" in page.text
    assert "3 A 2 300 withheld – – –" in page.text


def test_the_leaflet_is_named_where_there_is_one(folder: Path) -> None:
    assert "leaflet.html" not in words_of(folder)[0].text
    (folder / "leaflet.html").write_text("")
    page, _ = words_of(folder)
    assert "leaflet.html" in page.references


def test_a_wide_table_says_what_it_is_and_can_be_scrolled_by_keyboard(folder: Path) -> None:
    """All tables of four columns or more: on a phone the fourth is out of sight."""
    text = page_of(read_inputs(folder, command_of), [])
    for found in re.finditer(r"<div class=\"scroll[^>]*>\s*<table>(.*?)</table>", text, re.S):
        columns = max(len(re.findall(r"<t[dh][ >]", row)) for row in found[1].split("</tr>"))
        opening = found[0].partition("<table>")[0]
        assert ('tabindex="0" role="region" aria-label="' in opening) == (columns > 3), opening
        assert (text[: found.start()].rstrip().endswith("swipe the table.</p>")) == (columns > 3)
    labels = re.findall(r'role="region" aria-label="([^"]*)"', text)
    assert len(labels) == len(set(labels)) > 3


def test_a_distance_has_its_unit(folder: Path) -> None:
    profile = load_profile(folder / "homes.profile")
    inputs = replace(read_inputs(folder), profile=replace(profile, about={**profile.about, "unit": "kW"}))
    assert inputs.unit == "kW"
    page = Page(page_of(inputs, [])).text
    assert re.search(r"from its report is [\d.]+ kW off on average, under paper [A-E] [\d.]+ kW\.", page)
    readings = next(each for each in drawings(inputs) if each.name == "readings").draw()
    assert readings.axes[1].get_ylabel().split() == ["sum", "of", "all", "readings", "(each", "in", "kW)"]


def test_no_caption_takes_delta_for_the_chance_that_the_odds_shift(folder: Path) -> None:
    """delta = E max(1 - exp(epsilon - L), 0) <= P(L > epsilon): for Laplace noise by hand, several times less."""
    (caption,) = [each.caption for each in drawings(read_inputs(folder)) if each.name == "guarantees"]
    assert (
        "the most by which the chance of any outcome under one value exceeds e to the epsilon times its chance"
        in caption
    )
    assert "chance delta" not in caption
    b, change, epsilon = 1.0, 2.0, 1.0
    x = np.linspace(-30, 30, 600_001)
    density = np.exp(-np.abs(x) / b) / (2 * b)
    loss = (np.abs(x - change) - np.abs(x)) / b
    delta = np.sum(density * np.maximum(1 - np.exp(epsilon - loss), 0)) * (x[1] - x[0])
    tail = np.sum(density * (loss > epsilon)) * (x[1] - x[0])
    assert delta < 0.7 * tail


def test_names_are_escaped(folder: Path) -> None:
    name = '<b>a&b\'s "homes"'
    (folder / "homes.profile").rename(folder / f"{name}.profile")
    inputs = read_inputs(folder)
    text = page_of(inputs, [])
    assert name not in text
    assert "&lt;b&gt;a&amp;b" in text
    assert name in Page(text).text


@pytest.mark.parametrize(
    ("file", "command", "gone"),
    [
        ("homes.profile", "halfmask profile SOURCE", "readings"),
        ("study.parquet", "halfmask evaluate", "cdfs"),
        ("menu.json", "halfmask optimize", "algorithm"),
        ("mix.parquet", "halfmask mix", "mixes"),
    ],
)
def test_what_is_missing_is_left_out_with_the_command_that_makes_it(
    file: str, command: str, gone: str, folder: Path
) -> None:
    page, figures = words_of(folder)
    assert gone in figures
    assert "Left out" not in page.text
    (folder / file).unlink()
    page, figures = words_of(folder)
    assert gone not in figures
    assert re.search(rf"Left out: .*{command}.* makes it", page.text)
    assert [name for name in page.ids if name in SECTIONS] == SECTIONS


def test_a_profile_alone_makes_a_report(folder: Path) -> None:
    for file in ("study.parquet", "menu.json", "offer.json", "mix.parquet", "card.json"):
        (folder / file).unlink()
    page = Page(report(folder).read_text(encoding="utf-8"))
    assert page.text.count("Left out") == 5
    assert "sampling step" in page.text
    assert "figure-readings" in page.ids


def test_the_commands_carry_what_the_files_say(folder: Path) -> None:
    """These files were not made by commands: they tell by their own values."""
    inputs = read_inputs(folder, command_of)
    assert inputs.command("study").endswith("--sizes 20,40,60 --aggregate sum --error relative")
    assert inputs.command("mix") == (
        "halfmask mix demo/homes.profile demo/menu.json -o demo/mix.parquet --step 0.5 --repeats 2"
    )
    assert inputs.command("card").startswith(
        "halfmask audit demo/menu.json -o demo/card.json --profile demo/homes.profile"
    )
    assert not any(str(folder.parent) in inputs.command(part) for part in PARTS)


def test_the_commands_name_what_is_not_the_default(folder: Path) -> None:
    menu = Menu.read(folder / "menu.json")
    weights = Weights((0.5, 0.25, 0.25), (1.0, 0.0, 0.0))
    about = {name: value for name, value in menu.provenance.items() if name != "asked"} | {"refined": {}}
    replace(menu, provenance=about, weights=weights).write(folder / "menu.json")
    told = read_inputs(folder, command_of).command("menu").split()
    assert told[told.index("--weights") + 1] == "0.5,0.25,0.25,1,0,0"
    assert told[told.index("--profile") + 1] == "demo/homes.profile"
    assert "--refine" in told


def test_a_study_in_summary_makes_a_report(folder: Path) -> None:
    profile = load_profile(folder / "homes.profile")
    study = evaluate_grid(profile, grid("laplace:b=0.02..1/0.02"), Experiment(sizes=(20, 40, 60)), threads=1)
    summed_up(study).write(folder / "study.parquet")
    _, figures = words_of(folder)
    assert figures == set(FIGURES) - {"users"}
    assert "--summary" in read_inputs(folder, command_of).command("study")
    for drawing in drawings(read_inputs(folder)):
        assert drawing.draw().axes


def test_a_refined_setting_is_evaluated_on_the_same_subsets(folder: Path) -> None:
    menu = Menu.read(folder / "menu.json")
    inputs = read_inputs(folder)
    assert inputs.of_menu is not None
    assert inputs.samples is not None
    refined = replace(menu.settings[0], setting=PrivacySetting.parse("laplace:0.123"))
    menu.with_setting(refined).write(folder / "menu.json")
    (folder / "card.json").unlink()
    again = read_inputs(folder).of_menu
    assert again is not None
    assert again.absent == []
    profile = load_profile(folder / "homes.profile")
    expected = evaluate_grid(profile, grid("laplace:0.123"), Experiment(sizes=(20, 40, 60))).metrics[0]
    assert np.array_equal(again.metrics[0], expected)
    assert not np.array_equal(again.metrics[0], inputs.of_menu.metrics[0])


def test_one_mechanism_and_one_size_do(folder: Path) -> None:
    profile = load_profile(folder / "homes.profile")
    study = evaluate_grid(profile, grid("laplace:0.1;laplace:0.2"), Experiment.on(profile, sizes="all", repeats=1))
    study.write(folder / "study.parquet")
    drawn = {drawing.name: drawing for drawing in drawings(read_inputs(folder))}
    assert {"cdfs", "noise", "trajectories"} <= set(drawn)
    assert "users" not in drawn
    assert len(drawn["trajectories"].draw().axes) == 2
    assert "than sine" not in drawn["noise"].caption
    assert all(drawing.draw().axes for drawing in drawn.values())


def test_results_of_different_data_are_refused(folder: Path) -> None:
    menu = menu_of({"A": ("laplace:0.1", 0.2, 0.8)}, fingerprint="other")
    menu.write(folder / "menu.json")
    with refused("option.mixed"):
        report(folder)
    assert not (folder / "report.html").exists()


def test_a_folder_that_is_not_there_or_holds_nothing_is_refused(tmp_path: Path) -> None:
    with refused("source.missing"):
        report(tmp_path / "nowhere")
    with refused("source.empty"):
        report(tmp_path)


def test_two_profiles_are_one_too_many(folder: Path) -> None:
    shutil.copy(folder / "homes.profile", folder / "other.profile")
    with refused("option.profiles"):
        report(folder)


def test_a_damaged_study_leaves_the_old_report(folder: Path) -> None:
    (folder / "report.html").write_text("old")
    whole = (folder / "study.parquet").read_bytes()
    (folder / "study.parquet").write_bytes(whole[: len(whole) // 2])
    with refused("file.not-ours"):
        report(folder)
    assert (folder / "report.html").read_text() == "old"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("about", None),
        ("about", {}),
        ("best", {"like": "Z"}),
        ("noise", "white"),
        ("settings", []),
        ("settings", ["A"]),
        ("settings", [{"id": "A", "setting": "none"}]),
    ],
)
def test_a_damaged_card_is_refused_by_name(folder: Path, field: str, value: object) -> None:
    path = folder / "card.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with refused("file.damaged", place=str(path)):
        read_inputs(folder)


def test_a_card_of_another_menu_is_refused(folder: Path) -> None:
    made = Menu.read(folder / "menu.json")
    first, second = made.settings[:2]
    for settings in (made.settings[1:], (replace(first, setting=second.setting), *made.settings[1:])):
        replace(made, settings=settings).write(folder / "menu.json")
        with refused("option.settings"):
            read_inputs(folder)


def test_an_offers_card_is_found_under_the_menus_name_too(folder: Path) -> None:
    (folder / "menu.json").rename(folder / "offer.json")
    inputs = read_inputs(folder)
    assert inputs.offer_card is not None
    assert inputs.card is None
