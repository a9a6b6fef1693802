"""Card, table and document: no promise is printed below its bound; every epsilon has change, window and delta."""

import math
import re
from pathlib import Path

import pytest

from halfmask.audits.card import ReportCard
from halfmask.audits.card_sentences import Alternative, sentence, warnings
from halfmask.audits.card_table import card_notes, card_rows
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Score
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask.protection.guarantees.promises import guarantee_lines, guarantee_rows, promise, times
from halfmask_device.decimals import SLACK
from tests.audits.cards import card
from tests.said import EPSILON, incomplete, named

DAY = {"day": 48, "month": 1440, "year": 17520}
SETTINGS = (
    "gaussian:0.2",
    "laplace:0.1",
    "laplace:20",
    "laplace:0.7",
    "uniform:3",
    "geometric:1,0.1",
    "round:1",
    "none",
)
SHOWN = re.compile(r"epsilon ([0-9][0-9.e+-]*[0-9]|[0-9])")


def told(made: ReportCard) -> list[str]:
    """Every sentence of a card."""
    of_cards = [
        text for each in made.cards for text in (each.sentence, *each.warnings, *each.lines(), each.guarantee.label)
    ]
    return of_cards + card_notes(made)


def told_of(text: str) -> list[str]:
    """Every sentence about a setting alone."""
    found = guarantee(PrivacySetting.parse(text), 0.34, (48,), step=0.1, unit="kW")
    other = Alternative(PrivacySetting.parse("laplace:1"), 0.34, 0.3, 3.0, 0.7, 0.7, {})
    said = warnings(Score(0.7, 0.6), found, [], DAY, other)
    return [found.label, sentence(found, [], DAY), *said, *guarantee_lines(found, (1, 4, 48))]


def test_every_sentence_that_names_an_epsilon_names_its_change_window_and_delta() -> None:
    texts = told(card()) + [each for text in SETTINGS for each in told_of(text)]
    assert len(named(texts)) > 20
    assert incomplete(texts) == []
    assert not any("hides" in text and EPSILON.search(text) for text in texts)


@pytest.mark.parametrize(
    "text",
    [
        "Each report keeps a change of 0.3 up to epsilon 2.",
        "A day has epsilon 2.1 at delta 1e-6.",
        "For a change of 1 in one reading epsilon is 2.",
        "It is for a change of 1 in one reading, at delta 0. Its epsilon is 2.",
    ],
)
def test_the_check_finds_what_is_left_out(text: str) -> None:
    assert len(incomplete([text])) == 1


def test_one_reading_a_window_a_day_and_everything_are_named() -> None:
    lines = "\n".join([card().cards[0].sentence, *card().cards[0].lines()])
    for window in ("in one reading", "each of 4 readings", "each of 12 readings"):
        assert window in lines
    assert card().about.windows["everything"] >= 12
    assert f"everything: an attacker who knows all but these {card().about.windows['everything']:,}" in lines


def test_the_unit_stands_beside_every_change() -> None:
    found = guarantee(PrivacySetting.parse("laplace:0.7"), 0.34, (48,), unit="kW")
    for text in (found.label, *guarantee_lines(found, (1, 48)), sentence(found, [], DAY)):
        assert "0.34 kW" in text


@pytest.mark.parametrize("text", SETTINGS)
@pytest.mark.parametrize("change", [0.34, 0.1234567])
def test_what_is_printed_of_a_setting_is_not_below_its_bound(text: str, change: float) -> None:
    found = guarantee(PrivacySetting.parse(text), change, (48,), step=0.1)
    rows = guarantee_rows(found)[1:]
    for row, deltas in zip(rows, (found.delta, *found.composed.values()), strict=True):
        for cell, bound in zip(row[1:], deltas.values(), strict=True):
            assert float(cell) >= bound * (1 - SLACK)
    for count in (1, 4, 48):
        kept = promise(found, count)
        shown = SHOWN.findall(kept.words())
        assert (kept.epsilon is None) == (not shown)
        if kept.epsilon is not None:
            assert float(shown[0]) >= kept.epsilon * (1 - SLACK)
        assert f"a change of {change} in" in kept.named(), "not of a rounded change"


def test_what_is_printed_of_a_card_is_not_below_its_bound() -> None:
    heads, *rows = card_rows(card())
    for each, row in zip(card().cards, rows, strict=True):
        cells = dict(zip(range(len(heads)), row, strict=True))
        day = each.promises["a day"]
        for place, bound in ((2, each.typical.epsilon), (3, day.epsilon)):
            assert (cells[place] == "no promise") == (bound is None)
            assert bound is None or float(cells[place].replace(",", "")) >= bound * (1 - SLACK)
        for place, bound in ((4, each.typical.certain), (5, each.typical.composed[day.readings][math.inf])):
            assert cells[place] == "> 99%" or float(cells[place].rstrip("%")) >= 100 * bound * (1 - SLACK)
        for place, odds in ((6, each.promises["one reading"].odds), (7, day.odds)):
            assert float(cells[place].rstrip("%")) >= 100 * odds - 1e-6


@pytest.mark.parametrize("odds", [0.5, 0.501, 0.565, 0.9901, 0.994, 0.9949, 0.99501, 0.99999, 0.9999985])
def test_odds_are_rounded_up(odds: float) -> None:
    """0.994 was said to be "at most 99 times of 100"."""
    right, of = (float(number.replace(",", "")) for number in re.findall(r"[0-9,]+", times(odds)))
    assert odds - 1e-9 <= right / of < 1


ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])


def parts_of(document: str) -> list[str]:
    """Paragraphs, points and printed lines; code within a line is no sentence."""
    printed = [line for block in re.findall(r"```.*?```", document, re.DOTALL) for line in re.split(r"\n\s*\n", block)]
    written = re.split(r"\n\s*\n|\n(?=- |\d\. |\||#)", re.sub(r"```.*?```", "\n\n", document, flags=re.DOTALL))
    return [*printed, *(re.sub(r"`[^`\n]*`", "`-`", part) for part in written)]


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_the_document_names_change_window_and_delta_beside_every_epsilon(path: Path) -> None:
    assert incomplete(parts_of(path.read_text(encoding="utf-8"))) == []


def test_the_documents_are_looked_into() -> None:
    found = {path.stem: len(named(parts_of(path.read_text(encoding="utf-8")))) for path in DOCUMENTS}
    assert found["protection"] >= 3
    assert found["tutorial"] >= 1
    assert found["offer"] >= 1
    assert incomplete(parts_of("- A day of reports has `-` an epsilon of 2.1.")) != []
