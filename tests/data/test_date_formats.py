"""Dates that can be read in several ways: one is taken where the others make no sense, else it is asked."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.errors import ReadingError
from halfmask.profiles.first_look import ways_out
from tests.data.panels import rows, us
from tests.refusals import refused

START = datetime(2024, 5, 20)


def written(path: Path, form: str, start: datetime = START, steps: int = 480, minutes: int = 30) -> Path:
    times = [start + i * timedelta(minutes=minutes) for i in range(steps)]
    path.write_text("\n".join(["meter,time,kwh", *(f"A,{t.strftime(form)},{1 + i % 7}" for i, t in enumerate(times))]))
    return path


def first_and_last(path: Path, **said: Any) -> tuple[str, str]:
    found = [row[1] for row in rows(open_panel(path, **said)) if row[1] is not None]
    moments = [datetime(1970, 1, 1) + timedelta(microseconds=time) for time in (min(found), max(found))]
    return f"{moments[0]:%Y-%m-%d %H:%M}", f"{moments[1]:%Y-%m-%d %H:%M}"


TEN_DAYS = ("2024-05-20 00:00", "2024-05-29 23:30")


@pytest.mark.parametrize(
    "form",
    ["%y-%m-%d %H:%M", "%y/%m/%d %H:%M", "%d/%m/%y %H:%M", "%m/%d/%y %H:%M", "%y%m%d%H%M%S", "%d%m%Y%H%M"],
)
def test_the_order_in_which_days_follow_each_other_is_taken(form: str, tmp_path: Path) -> None:
    assert first_and_last(written(tmp_path / "x.csv", form)) == TEN_DAYS


@pytest.mark.parametrize(
    ("form", "steps", "minutes"),
    [("%y-%m-%d", 12, 30 * 24 * 60), ("%y-%m-%d %H:%M", 48, 30), ("%y%m%d%H%M", 480, 30), ("%d%m%Y", 12, 24 * 60)],
)
def test_an_order_that_is_as_good_as_another_is_asked(form: str, steps: int, minutes: int, tmp_path: Path) -> None:
    path = written(tmp_path / "x.csv", form, datetime(2024, 5, 1), steps, minutes)
    with refused("reading.ambiguous") as caught:
        open_panel(path)
    ways = [dict(way) for way in ways_out(str(caught.value), ReadOptions())]
    assert {"date_format": form} in ways
    for way in ways:
        open_panel(path, **way)
    assert first_and_last(path, date_format=form)[0] == "2024-05-01 00:00"


def test_counts_from_1970_are_no_dates(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["meter,time,kwh", *(f"A,{1716163200 + 1800 * i},1" for i in range(480))]))
    assert first_and_last(path) == TEN_DAYS


@pytest.mark.parametrize("steps", [2000, 200_000])
def test_thousandths_below_seconds_are_refused_with_their_row(steps: int, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    seconds = [us("2024-05-20") // 1_000_000 + 60 * i for i in range(steps)]
    counts = [second * (1000 if i == steps - 5 else 1) for i, second in enumerate(seconds)]
    path.write_text("\n".join(["meter,time,kwh", *(f"A,{count},1" for count in counts)]))
    with pytest.raises(
        ReadingError, match=rf"row {steps - 4}, column 'time': '{counts[-5]}' is not an epoch number in s"
    ):
        rows(open_panel(path))
