"""The leaflet for households: every language whole, every number the menu's, and nothing leaves the page."""

import json
import re
from dataclasses import replace
from functools import cache
from html import unescape
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
import pytest

import halfmask
from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.masked_range import shown
from halfmask.menus.menu import Menu
from halfmask.menus.offer import offer
from halfmask.menus.setting_protection import Protection
from halfmask.pages.leaflet import HEIGHT, SENDER, _quantiles, _sentences, _times, example_day, leaflet
from tests.browser import PATIENCE, launched
from tests.commands.program import error_of, refused
from tests.commands.program import halfmask as program
from tests.menus.cases import QUESTION, street, studied

TEXTS = json.loads(resources.files("halfmask.pages").joinpath("leaflet_texts.json").read_text(encoding="utf-8"))


@cache
def offered() -> Menu:
    return offer(street().profile, studied(), question=QUESTION).menu


def fields(text: Any) -> set[str]:
    """Placeholders of a text, or of the texts in a list or a dictionary."""
    if isinstance(text, str):
        return {name for _, name, _, _ in Formatter().parse(text) if name}
    return set().union(*map(fields, text.values() if isinstance(text, dict) else text))


@pytest.mark.parametrize("language", ["en", "de"])
def test_every_language_has_every_text_with_the_same_gaps(language: str) -> None:
    assert TEXTS[language].keys() == TEXTS["en"].keys()
    assert TEXTS[language]["names"].keys() == TEXTS["en"]["names"].keys()
    for key, text in TEXTS["en"].items():
        assert fields(TEXTS[language][key]) == fields(text), key
        assert len(TEXTS[language][key]) > 0


def test_two_languages_are_shipped_and_others_refused() -> None:
    with pytest.raises(OptionError) as caught:
        leaflet(offered(), language="fr")
    assert caught.value.code == "option.language"


@pytest.mark.parametrize("language", ["en", "de"])
def test_each_level_says_what_the_menu_says(language: str) -> None:
    page = unescape(leaflet(offered(), language=language))
    sections = re.findall(r'<section class="level">(.*?)</section>', page, flags=re.S)
    comma = TEXTS[language]["decimal"]
    for entry, section in zip(offered().settings, sections, strict=True):
        name = TEXTS[language]["names"][entry.name]
        assert f"{entry.id}: {name}" in section
        if entry.id == "N":
            assert TEXTS[language]["open_words"] in section
            continue
        assert f"{100 * entry.protection.guess:.0f} %" in section  # type: ignore[union-attr, operator]
        for end in shown(entry.setting, QUESTION.change) or ():
            assert f"{end:.3g}".replace(".", comma).replace("-", "\u2212") in section
        b, steps = entry.setting.parameters[0], round(QUESTION.change / 0.001)
        assert TEXTS[language]["times"].format(right=laplace_odds(b / 0.001, steps), of=100) in section


@pytest.mark.parametrize(
    ("size", "said"), [(14.75, "14.8 kWh shows as it is"), (0.4, "0.4 kWh shows as 0.397 to 0.403")]
)
def test_a_range_below_three_digits_is_none(size: float, said: str) -> None:
    """14.747 to 14.753, each rounded for itself, looked as wide as 14.7 to 14.8; 0.397 has all of its digits."""
    menu = offered()
    words = json.loads(resources.files("halfmask.pages").joinpath("leaflet_texts.json").read_text("utf-8"))["en"]
    quiet = replace(menu.settings[0], setting=PrivacySetting.parse("laplace:0.0018"))
    assert any(f"A reading of {said}" in each.words for each in _sentences(quiet, menu, words, "kWh", size, None))


def laplace_odds(b: float, steps: int) -> int:
    """Right guesses of 100, rounded up, between two readings so many steps apart: (1 + total variation) / 2.

    Of masses m(k) ~ exp(-|k|/b) this is the sum of max(m(k), m(k - steps)) / 2.
    """
    k = np.arange(-int(60 * b), int(60 * b) + steps + 1)
    mass = np.exp(-np.abs(k) / b) * np.tanh(0.5 / b)
    return int(np.ceil(100 * float(np.maximum(mass, np.exp(-np.abs(k - steps) / b) * np.tanh(0.5 / b)).sum()) / 2))


def test_odds_are_never_said_to_be_less_nor_to_be_all() -> None:
    words = TEXTS["en"]
    for chance in np.concatenate([np.linspace(0.5, 1, 397)[:-1], 1 - np.geomspace(1e-9, 1e-3, 40)]):
        told = _times(float(chance), words)
        if told != words["nearly_always"]:
            right, of = (int(each.replace(",", "")) for each in re.findall(r"[\d,]+", told))
            assert chance - 1e-9 <= right / of < min(chance + 10 / of, 1)
    assert _times(1.0, words) == words["always"]
    assert _times(1 - 1e-9, words) == words["nearly_always"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_no_delta_is_called_a_chance_and_no_factor_is_astronomical(language: str) -> None:
    page = leaflet(offered(), language=language)
    assert not re.search(r"10\^|factor|Faktor|1 in 1|1 zu 1", page)
    assert TEXTS[language]["times"].partition("{")[0] in page


def test_recognition_stands_beside_that_without_blur() -> None:
    menu = offered()
    *levels, open_ = menu.settings
    known = [replace(each, protection=replace(each.protection, recognised=0.0207)) for each in levels]  # type: ignore[type-var]
    bare = replace(open_, protection=replace(open_.protection or Protection(0.0), recognised=0.0233))
    page = leaflet(replace(menu, settings=(*known, bare)))
    assert (
        page.count("21 of 1,000 homes were recognised")
        == page.count("Without any blur it was 23 of 1,000")
        == len(levels)
    )
    alone = leaflet(replace(menu, settings=(*known, open_)))
    assert "recognised from one" not in alone  # a share without what it is to be held against


@pytest.mark.parametrize("language", ["en", "de"])
def test_all_pictures_have_one_scale_with_zero_marked(language: str) -> None:
    page = leaflet(offered(), language=language)
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.S)
    assert len(pictures) == len(offered().settings)
    marks = [re.findall(r'class="label" x="-8" y="([\d.]+)">([^<]*)<', each) for each in pictures]
    assert all(each == marks[0] for each in marks)
    assert "0" in [label for _, label in marks[0]]
    ends = [
        [float(point.partition(",")[2]) for point in line.split()] for line in re.findall(r'points="([^"]+)"', page)
    ]
    heights = [max(each) - min(each) for each in ends[1::2]]  # what is seen, from the lightest level to the open one
    assert heights[-2] > 2 * heights[0]  # a heavier blur looks heavier
    assert max(map(max, ends)) <= HEIGHT
    assert TEXTS[language]["below_zero"] in unescape(page)


def test_heading_and_text_speak_of_the_same_day() -> None:
    for words in TEXTS.values():
        assert not re.search("evening|Abend", words["day"] + words["day_own"] + words["day_example"])
        assert "Your" not in words["day"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_not_hidden_names_presence_and_days_that_are_linked(language: str) -> None:
    told = unescape(leaflet(offered(), language=language)).partition(TEXTS[language]["what_hides"])[2]
    for words in {"en": ("at home", "many days"), "de": ("zu Hause", "viele Tage")}[language]:
        assert words in told


def test_who_asks_is_said_or_left_blank() -> None:
    page = leaflet(offered(), sender={"recipient": "Utility <1>"})
    assert "<dd>Utility &lt;1&gt;</dd>" in page
    assert page.count('class="blank"') == 3
    whole = dict.fromkeys(SENDER, "x")
    assert 'class="blank"' not in leaflet(offered(), sender=whole)


def test_a_campaign_says_purpose_and_what_is_kept(tmp_path: Path) -> None:
    offered().write(tmp_path / "offer.json")
    settings = [{"id": each.id, "setting": str(each.setting)} for each in offered().settings]
    campaign = {"purpose": "size the transformer", "keep_reports": "always", "menu": {"settings": settings}}
    (tmp_path / "campaign.json").write_text(json.dumps(campaign))
    line = ("leaflet", "offer.json", "-o", "x.html", "--campaign", "campaign.json")
    ended = program(*line, cwd=tmp_path)
    assert "left blank, to be filled in before households get the page: --recipient, --contact\n" in ended.stderr
    page = (tmp_path / "x.html").read_text()
    assert "<dd>size the transformer</dd>" in page
    assert TEXTS["en"]["keeps_always"] in page
    settings[0]["setting"] = "laplace:0.777"
    (tmp_path / "campaign.json").write_text(json.dumps(campaign))
    assert error_of(*line, cwd=tmp_path).code == "option.menu"
    (tmp_path / "campaign.json").write_text("[]")
    assert error_of(*line, cwd=tmp_path).code == "file.campaign"


def test_a_file_that_is_no_menu_is_said_to_be_none(tmp_path: Path) -> None:
    (tmp_path / "x.profile").write_bytes(b"PAR1\xff\xfe")
    assert "x.profile is not a menu (it is no text)" in refused("leaflet", "x.profile", "-o", "x.html", cwd=tmp_path)


def test_the_page_can_fetch_and_send_nothing() -> None:
    page = leaflet(offered(), rewards={"L1": "1 <EUR>"})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'")
    assert "connect-src" not in policy[1]
    assert not re.search(r'(?:src|href|action)="', page)
    assert "1 &lt;EUR&gt;" in page


def test_noise_on_the_page_is_that_of_the_level() -> None:
    """Quantiles of |psi| of Laplace noise, by its closed form; a tenth more noise would be told apart."""
    entry = offered().settings[0]
    found = np.array(_quantiles(entry))
    chances = np.linspace(0, 1, len(found))[:-1]
    b = entry.setting.parameters[0]
    assert found[:-1] == pytest.approx(-b * np.log1p(-chances), rel=1e-3, abs=1e-3 * b)
    assert not np.allclose(found[1:-1], -1.1 * b * np.log1p(-chances[1:]), rtol=1e-2)


def test_the_example_day_has_the_typical_reading_as_its_median() -> None:
    for count in (1, 24, 48, 1440):
        assert np.median(example_day(0.34, count)) == pytest.approx(0.34)


OWN = {
    "0,5\n0,25\n": [0.5, 0.25],  # decimal commas, whatever the page's language
    "Verbrauch\n0,5\n0,25\n": [0.5, 0.25],
    "18:00;0,5\n18:30;1,25": [0.5, 1.25],
    "18:00\t1.5\n18:30\t0.75": [1.5, 0.75],
    "18:00,0.5\n18:30,2": [0.5, 2],
    "time,value\n0,12\n5,15\n": [12, 15],  # a header of two columns
    "0,12\n1,15\n2,9\n": [12, 15, 9],  # rows that are counted
    "1,2,0.75\n": [0.75],
    "no number\n\n": [],
}
"""What a file of the reader's own holds, and what the page takes from it."""


def test_a_household_sees_its_own_day_and_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    """In a real browser: the file is drawn, and not one request is made beside the page itself."""
    offered().write(tmp_path / "offer.json")
    halfmask.leaflet(tmp_path / "offer.json", tmp_path / "leaflet.html")
    (tmp_path / "mine.csv").write_text("time,value\n" + "".join(f"{k},{k % 7 / 5}\n" for k in range(48)))
    with launched() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((tmp_path / "leaflet.html").as_uri())
        before = page.locator('[data-level="L1"] .true').get_attribute("points")
        page.set_input_files("#own", str(tmp_path / "mine.csv"))
        page.wait_for_function("document.getElementById('own-told').textContent.includes('of your own')")
        after = page.locator('[data-level="L1"] .true').get_attribute("points")
        seen = page.locator('[data-level="L1"] .seen').get_attribute("points")
        open_ = page.locator('[data-level="N"] .seen').get_attribute("points")
        read = {text: page.evaluate("text => numbers(text)", text) for text in OWN}
        told = page.locator("#own-told").inner_text()
        heading = page.locator("#day").inner_text()
        page.set_viewport_size({"width": 390, "height": 844})
        letters = page.evaluate("[...document.querySelectorAll('svg text')].map(e => e.getBoundingClientRect().height)")
    assert read == OWN
    assert told.startswith("48 readings of your own, from 0 kWh to 1.2 kWh.")
    assert heading == TEXTS["en"]["day_own"]
    assert min(letter for letter in letters if letter) >= 12
    assert before != after != seen
    assert len(after.split()) == 48
    assert len(open_.split()) == 48
    assert [url for url in asked if not url.startswith("file:")] == []
    assert wrong == []
