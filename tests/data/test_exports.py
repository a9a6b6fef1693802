"""Every export is read right, or refused with a line that mends it; the line is then followed."""

import shlex
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halfmask.commands._program import phrase
from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Panel
from halfmask.errors import InputError
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.first_look import ways_out
from halfmask.profiles.profile import Profile
from tests.data import (  # noqa: F401 (they add themselves)
    exports_of_devices,
    exports_of_files,
    exports_of_meters,
    exports_of_services,
    exports_of_shapes,
    exports_of_text,
    exports_of_utilities,
)
from tests.data.exports import EXPORTS, Export, Truth
from tests.data.panels import rows

POLICIES = ("duplicates", "max", "min")


def test_there_are_at_least_forty() -> None:
    assert len(EXPORTS) >= 150


def read(source: Any, said: dict[str, Any]) -> tuple[Panel, Profile]:
    """As `halfmask profile` reads it."""
    named = {{"max": "high", "min": "low"}.get(key, key): said[key] for key in POLICIES if key in said}
    panel = open_panel(source, **{key: value for key, value in said.items() if key not in POLICIES})
    return panel, build_profile(panel, policies=Policies(**named))


def follow(words: str, message: str) -> dict[str, Any]:
    """The option that a refusal offers, as a caller would type it; a bound is taken from the message itself."""
    assert words in message
    if words in ("--max", "--min"):
        words = message[message.index(words) :].split(" drops")[0]
    option, *value = shlex.split(words)
    key = option.removeprefix("--").replace("-", "_")
    return {key: (float(value[0]) if key in ("max", "min") else value[0]) if value else True}


def held(panel: Panel, low: float, high: float) -> Truth:
    """The readings of a panel as the exports tell them."""
    return {
        (str(user), datetime(1970, 1, 1) + timedelta(microseconds=time)): value
        for user, time, value in rows(panel)
        if user is not None and time is not None and value is not None and low <= value <= high
    }


def test_what_no_option_mends_is_mended_by_the_query_that_is_offered(tmp_path: Path) -> None:
    for source, begins, truth in exports_of_services.queries(tmp_path).values():
        with pytest.raises(InputError) as refused:
            read(source, {})
        ways = [way["sql"] for way in ways_out(str(refused.value), ReadOptions()) if "sql" in way]
        query = next(way for way in ways if way.startswith(begins))
        panel, profile = read(source, {"sql": query})
        found = held(panel, float("-inf"), float("inf"))
        assert found.keys() == truth.keys()
        assert [found[key] for key in truth] == pytest.approx(list(truth.values()), rel=1e-9)
        assert profile.readings == len(truth)


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_read_right_or_refused_with_what_mends_it(name: str, tmp_path: Path) -> None:
    made: Export = EXPORTS[name](tmp_path)
    said = dict(made.options)
    if made.mend:
        with pytest.raises(InputError) as refused:
            read(made.source, said)
        assert "\n" not in str(refused.value)
        said |= follow(made.mend, phrase(str(refused.value), "profile"))
    panel, profile = read(made.source, said)
    found = held(panel, float(said.get("min", "-inf")), float(said.get("max", "inf")))
    assert found.keys() == made.truth.keys()
    assert [found[key] for key in made.truth] == pytest.approx(list(made.truth.values()), rel=1e-9, abs=1e-12)
    assert profile.readings == len(made.truth)
    assert profile.unit == made.unit
    assert made.notes in "\n".join(panel.notes)
