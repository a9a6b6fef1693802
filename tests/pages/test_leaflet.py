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
from halfmask.menus.question import question_of
from halfmask.menus.setting_protection import Protection
from halfmask.pages.leaflet import SENDER, _from_open_to_split, _quantiles, _sentences, _times, leaflet
from halfmask.pages.shown_day import example_day, example_month
from tests.browser import LOOKS, PATIENCE, accessible, launched, unreached
from tests.commands.program import error_of, refused
from tests.commands.program import halfmask as program
from tests.menus.cases import QUESTION, street, studied
from tests.menus.test_promised_levels import of_totals

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
    sections = re.findall(r'<section class="level"[^>]*>(.*?)</section>', page, flags=re.S)
    comma = TEXTS[language]["decimal"]
    for entry, section in zip(_from_open_to_split(offered()), sections, strict=True):
        name = TEXTS[language]["names"][entry.name]
        assert f"<h3>{name}</h3>" in section
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


@cache
def totals() -> Menu:
    """An offer of totals with a split level beside."""
    asked = question_of("whole-day", "total", street().profile)
    return offer(street().profile, of_totals(), question=asked, epsilons=[8, 4], split=1.0).menu


@pytest.mark.parametrize("language", ["en", "de"])
def test_reward_and_promise_come_first_and_levels_go_from_open_to_split(language: str) -> None:
    page = unescape(leaflet(totals(), language=language, rewards={"L1": "5 EUR"}))
    words = TEXTS[language]
    sections = re.findall(r'<section class="level"[^>]*>(.*?)</section>', page, flags=re.S)
    heads = [re.findall(r"<h3>(.*?)</h3>", each)[0] for each in sections]
    assert heads[0] == words["names"]["open"]
    assert heads[-1] == words["names"]["split"]
    assert words["split_words"] in sections[-1]
    assert words["hides_not_day"] in sections[1]  # epsilon 8
    assert words["hides_not_day"] not in sections[-1]
    lines = re.findall(r"<li[^>]*>(.*?)</li>", sections[1])
    assert lines[0] == words["earns"].format(amount="5 EUR")
    assert lines[2].startswith(words["promise_total"].partition(":")[0])


def test_heading_and_text_speak_of_the_same_day() -> None:
    for words in TEXTS.values():
        assert not re.search("evening|Abend", words["day"] + words["month"] + words["day_own"] + words["day_example"])
        assert "Your" not in words["day"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_what_is_not_hidden_names_presence_and_days_that_are_linked(language: str) -> None:
    told = unescape(leaflet(offered(), language=language)).partition(TEXTS[language]["what_hides"])[2]
    for words in {"en": ("at home", "many days"), "de": ("zu Hause", "viele Tage")}[language]:
        assert words in told


def test_who_asks_is_said_and_nothing_is_left_blank() -> None:
    page = leaflet(offered(), sender={"recipient": "Utility <1>"})
    assert "<dd>Utility &lt;1&gt;</dd>" in page
    assert page.count("<dt>") == 1
    assert "<dt>" not in leaflet(offered())
    assert leaflet(offered(), sender=dict.fromkeys(SENDER, "x")).count("<dt>") == len(SENDER)


def test_a_campaign_says_purpose_and_what_is_kept(tmp_path: Path) -> None:
    offered().write(tmp_path / "offer.json")
    settings = [{"id": each.id, "setting": str(each.setting)} for each in offered().settings]
    campaign = {"purpose": "size the transformer", "keep_reports": "always", "menu": {"settings": settings}}
    (tmp_path / "campaign.json").write_text(json.dumps(campaign))
    line = ("leaflet", "offer.json", "-o", "x.html", "--campaign", "campaign.json")
    ended = program(*line, cwd=tmp_path)
    assert "add --recipient and --contact" in ended.stderr
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


def test_a_month_has_the_typical_total_as_its_mean() -> None:
    assert example_month(16.0).mean() == pytest.approx(16.0)
    assert len(example_month(16.0)) == 30


FILES = {
    "plain.csv": "time,value\n2026-03-01 00:00,0.5\n2026-03-01 00:30,0.25\n2026-03-02 00:00,1\n2026-03-02 00:30,2\n",
    "turned.csv": "Wert;Datum\n0,5;01.03.2026 00:00\n0,25;01.03.2026 00:30\n1;02.03.2026 00:00\n2;02.03.2026 00:30\n",
}
"""The same readings, with columns in another order and decimal commas."""


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["readings", "totals"])
def test_a_household_sees_its_own_readings_and_nothing_is_asked_of_the_network(
    tmp_path: Path, name: str, kind: str
) -> None:
    """In a real browser: the file is drawn, and not one request is made beside the page itself."""
    (offered() if kind == "readings" else totals()).write(tmp_path / "offer.json")
    halfmask.leaflet(tmp_path / "offer.json", tmp_path / "leaflet.html")
    (tmp_path / name).write_text(FILES[name])
    with launched() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((tmp_path / "leaflet.html").as_uri())
        before = page.locator("#curve .true").get_attribute("points")
        page.set_input_files("#own", str(tmp_path / name))
        page.locator("#day", has_text=TEXTS["en"]["day_own"]).wait_for()
        after = page.locator("#curve .true").get_attribute("points")
        told = page.locator("#own-told").inner_text()
        page.locator("#level").focus()
        page.keyboard.press("Home")
        assert page.locator("section.level:visible h3").inner_text() == "open"
        same = page.locator("#curve .seen").get_attribute("points")
        page.keyboard.press("ArrowRight")
        seen = page.locator("#curve .seen").get_attribute("points")
        (tmp_path / "bad.csv").write_text("nothing,here\nof,use\n")
        page.set_input_files("#own", str(tmp_path / "bad.csv"))
        page.locator("#own-told", has_text=TEXTS["en"]["own_bad_times"]).wait_for()
    assert told.startswith("4 readings of your own, from ")
    assert ("0.75 to 3." if kind == "totals" else "0.25 kWh to 0.5 kWh") in told
    assert before != after
    assert len(after.split()) == 2
    assert same == after
    assert seen != after
    assert [url for url in asked if not url.startswith("file:")] == []
    assert wrong == []


def test_everybody_can_use_it(tmp_path: Path) -> None:
    (tmp_path / "leaflet.html").write_text(leaflet(totals(), rewards={"L1": "5 EUR"}, sender={"recipient": "Us"}))
    with launched() as browser:
        for width, scheme in LOOKS:
            page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto((tmp_path / "leaflet.html").as_uri())
            accessible(page)
            assert unreached(page) == []
            page.close()
