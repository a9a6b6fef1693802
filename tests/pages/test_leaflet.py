"""The leaflet for households: every language whole, every number the menu's, and nothing leaves the page."""

import json
import re
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
from halfmask.menus.menu import Menu, write_menu
from halfmask.menus.offer import offer
from halfmask.menus.words import shown
from halfmask.pages.leaflet import _factor, _quantiles, example_day, leaflet
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
    with pytest.raises(OptionError, match="en, de"):
        leaflet(offered(), language="fr")


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
            assert f"{end:.3g}".replace(".", comma) in section
        assert _factor(entry.protection.reading).replace(".", comma) in section  # type: ignore[union-attr, arg-type]


def test_the_factor_is_never_said_to_be_less() -> None:
    for epsilon in np.linspace(0.01, 8, 400):
        assert float(_factor(float(epsilon))) >= np.exp(epsilon) * (1 - 1e-9)
        assert float(_factor(float(epsilon))) <= np.exp(epsilon) * 1.11


def test_the_page_can_fetch_and_send_nothing() -> None:
    page = leaflet(offered(), rewards={"A": "1 <EUR>"})
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


def test_a_household_sees_its_own_day_and_nothing_is_asked_of_the_network(tmp_path: Path) -> None:
    """In a real browser: the file is drawn, and not one request is made beside the page itself."""
    playwright = pytest.importorskip("playwright.sync_api")
    write_menu(offered(), tmp_path / "offer.json")
    halfmask.leaflet(tmp_path / "offer.json", tmp_path / "leaflet.html")
    (tmp_path / "mine.csv").write_text("time,value\n" + "".join(f"{k},{k % 7 / 5}\n" for k in range(48)))
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        asked: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((tmp_path / "leaflet.html").as_uri())
        before = page.locator('[data-level="A"] .true').get_attribute("points")
        page.set_input_files("#own", str(tmp_path / "mine.csv"))
        page.wait_for_function(
            "document.getElementById('own-told').textContent.includes('your own day')", timeout=60_000
        )
        after = page.locator('[data-level="A"] .true').get_attribute("points")
        seen = page.locator('[data-level="A"] .seen').get_attribute("points")
        open_ = page.locator('[data-level="N"] .seen').get_attribute("points")
        comma = page.evaluate(
            "(() => { data.decimal = ','; return numbers('18:00;0,5\\n0,25\\n18:30\\t1.5\\n1,2,0.75') })()"
        )
        browser.close()
    assert comma == [0.5, 0.25, 1.5, 0.75]
    assert before != after != seen
    assert len(after.split()) == 48
    assert len(open_.split()) == 48
    assert [url for url in asked if not url.startswith("file:")] == []
    assert wrong == []
