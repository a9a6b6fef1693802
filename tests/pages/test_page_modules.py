"""The pages' own modules against Python: periods in time zones, and files of readings in many forms."""

import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import pytest

from halfmask.menus.offer import NAMES, OPEN, SPLIT_NAME
from halfmask_device.campaign_calendar import KINDS, Calendar
from tests.browser import launched, with_modules

ZONES = ("UTC", "Europe/Dublin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo")
SUMMER = "2026-03-29 00:30:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00", "2026-04-04 15:10:00"
"""UTC times at which clocks change somewhere."""
FORMS = {
    "time,value\n2026-01-01 00:00,0.5\n2026-01-01 00:30,1.25": ["0.5", "1.25"],
    "value,time\n0.5,2026-01-01T00:00:00Z\n1.25,2026-01-01T00:30:00Z": ["0.5", "1.25"],
    "Zeit;Zähler;Verbrauch (kWh)\n01.01.2026 00:00;M1;0,5\n01.01.2026 00:30;M1;1,25": ["0.5", "1.25"],
    "no\tkWh\tstamp\n1\t0.5\t2026-01-01 00:00\n2\t1.25\t2026-01-01 00:30\n3\t2\t2026-01-01 01:00": ["0.5", "1.25", "2"],
    '"time","kWh, import","price"\n"2026-01-01 00:00","0.5","0.3"\n"2026-01-01 00:30","1.25","0.3"': ["0.5", "1.25"],
    "31/01/2026 00:00,1\n01/02/2026 00:00,2": ["1", "2"],
    "2026-01-01 00:30,2\n2026-01-01 00:00,1\n2026-01-01 00:00,9": ["1", "2"],
}
"""What files hold, and the readings that they mean, in order of time; the first of a time counts."""


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    """A page that has the modules, and nothing else."""
    with launched() as browser:
        found = browser.new_page()
        with_modules(found)
        yield found


def test_periods_are_those_of_the_devices_calendar(page: Any) -> None:
    draw = random.Random(3)
    instants = [draw.randrange(1_700_000_000, 1_900_000_000) for _ in range(40)]
    instants += [
        int(datetime.fromisoformat(f"{text}+00:00").timestamp()) + k for text in SUMMER for k in (-1800, 0, 1800)
    ]
    cases = [(at * 1000, kind, zone) for at in instants for kind in KINDS for zone in ZONES]
    found = page.evaluate(
        """async (cases) => {
          const { periodOf } = await import("/calendar.js");
          return cases.map((each) => periodOf(...each));
        }""",
        cases,
    )
    for (at, kind, zone), ends in zip(cases, found, strict=True):
        span = Calendar(kind, zone).span_of(at * 1000)
        assert [each * 1000 for each in ends] == [span.begins, span.ends], (
            datetime.fromtimestamp(at / 1000, UTC),
            kind,
            zone,
        )


def test_files_are_read_in_any_order_of_columns(page: Any) -> None:
    found = page.evaluate(
        """async (texts) => {
          const { readReadings } = await import("/readings_file.js");
          return texts.map((text) => readReadings(text, "UTC").map((each) => each.value));
        }""",
        list(FORMS),
    )
    assert dict(zip(FORMS, found, strict=True)) == FORMS


@pytest.mark.parametrize(
    ("text", "problem"), [("a,b\nc,d", "times"), ("2026-01-01 00:00\n2026-01-02 00:00", "numbers"), ("", "times")]
)
def test_a_file_without_times_or_numbers_is_refused(page: Any, text: str, problem: str) -> None:
    found = page.evaluate(
        """async (text) => {
          const { readReadings } = await import("/readings_file.js");
          try { readReadings(text, "UTC"); } catch (error) { return error.message; }
        }""",
        text,
    )
    assert found == problem


LANGUAGES = ("en", "de")
GAP = re.compile(r"\{(\w+)\}")
EVERYWHERE = {"one", "many", "day", "period"}
"""Gaps that every sentence may use."""


def words_of(language: str) -> dict[str, str]:
    folder = files("halfmask").joinpath("pages", "served")
    found: dict[str, str] = json.loads(folder.joinpath(f"{language}.json").read_text(encoding="utf-8"))
    return found


def gaps(text: str) -> set[str]:
    return set(GAP.findall(text))


def test_a_language_has_every_word_that_pages_say_and_no_other() -> None:
    folder = files("halfmask").joinpath("pages", "served")
    sources = [each.read_text(encoding="utf-8") for each in folder.iterdir() if each.name.endswith((".js", ".html"))]
    texts = words_of("en")
    said = {name for source in sources for name in re.findall(r'say\("(\w+)"|data-(?:words|label)="(\w+)"', source)}
    named = {first or second for first, second in said}
    assert len(named) > 40
    assert named - texts.keys() == set()
    quoted = {name for source in sources for name in re.findall(r'"(\w+)"', source)}
    parts = {part for source in sources for part in re.findall(r"(?:say\(|texts\[)`(\w+_)\$", source)}
    left = {name for name in texts.keys() - quoted if not name.startswith(tuple(parts))}
    assert left - {"locale"} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_the_same_things_with_the_same_gaps(language: str) -> None:
    texts, english = words_of(language), words_of("en")
    assert texts["locale"] == language
    assert list(texts) == list(english)
    for name, text in texts.items():
        assert gaps(text) - EVERYWHERE == gaps(english[name]) - EVERYWHERE, name
        assert gaps(text) <= gaps(english[name]) | EVERYWHERE, name
    source = files("halfmask").joinpath("pages", "served", "words.js").read_text(encoding="utf-8")
    assert json.loads(source.partition("LANGUAGES = ")[2].partition(";")[0]) == list(LANGUAGES)


def test_every_name_of_a_level_has_its_words() -> None:
    named = {name for names in NAMES.values() for name in names} | {OPEN, SPLIT_NAME}
    assert {f"name_{name.replace(' ', '_')}" for name in named} <= words_of("de").keys()
