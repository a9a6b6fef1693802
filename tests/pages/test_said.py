"""Report and leaflet: no promise is printed below its bound, and every epsilon has its change, window and delta."""

import json
import math
import re
from html import unescape
from pathlib import Path

import pytest

from halfmask.pages import leaflet
from halfmask.pages.protection_section import protection_table, protection_words
from halfmask_device.decimals import SLACK
from tests.audits.cards import card
from tests.said import incomplete, named

BLOCK = re.compile(r"<(p|li|figcaption|caption|td|h3)\b[^>]*>(.*?)</\1>", re.DOTALL)
ROW = re.compile(r"<tr>(.*?)</tr>", re.DOTALL)
PLACE = re.compile(r"\{\w+\}")
CELL = re.compile(r"<t[dh][^>]*>(.*?)</t[dh]>", re.DOTALL)


def plain(markup: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def test_every_sentence_of_the_report_that_names_an_epsilon_names_all_that_it_is_about(reported: Path) -> None:
    page = (reported / "report.html").read_text(encoding="utf-8")
    texts = [plain(found[1]) for found in BLOCK.findall(page + protection_words(card()))]
    assert len(named(texts)) > 5
    assert incomplete(texts) == []


def test_the_reports_table_is_not_below_the_card() -> None:
    table = {row[0]: row for row in map(CELL.findall, ROW.findall(protection_table(card())))}
    checked = 0
    for each in card().cards:
        row = table[each.id]
        for cell, bound in ((row[2], each.typical.epsilon), (row[3], each.promises["a day"].epsilon)):
            assert (cell == "no promise") == (bound is None)
            assert bound is None or float(cell) >= bound * (1 - SLACK)
            checked += bound is not None
        for cell, chance in (
            (row[4], each.typical.certain),
            (row[5], each.typical.composed[card().day][math.inf]),
        ):
            shown = unescape(cell).lstrip("≤ ").rstrip(" %")
            assert shown == "> 99" or float(shown) >= 100 * chance * (1 - SLACK)
    assert checked


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_leaflets_promises_name_change_and_window(language: str) -> None:
    """A household reads how often a guess is right, not of epsilon; what it is about stands in the same sentence."""
    texts = json.loads(Path(leaflet.__file__).with_name("leaflet_texts.json").read_text(encoding="utf-8"))
    words = texts[language]
    one, that_change = {"en": ("one report", "that change"), "de": ("einer Meldung", "dieser Änderung")}[language]
    assert one in words["promise"]
    assert {"{change}", "{right}"} <= set(PLACE.findall(words["promise"]))
    assert "50" in words["promise"]  # what blind guessing reaches
    for each in (words["promise_window"], words["promise_window_weak"]):
        told = next(sentence for sentence in re.split(r"(?<=[.])\s", each) if "{right}" in sentence)
        assert {"{window}", "{right}"} <= set(PLACE.findall(told))
        assert that_change in told
