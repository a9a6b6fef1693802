"""`halfmask mask` with @total: one masked total per sensor and period, the same however often it is asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfmask
from halfmask.commands._shared_options import Display
from halfmask.commands.audit import Audit
from halfmask.commands.audit import main as show
from halfmask_device.instants import MINUTE, instant_text
from halfmask_device.setting import law_of
from tests.refusals import refused
from tests.service.world import instant
from tests.statistics import mean_within

BEGINS = instant("2025-11-15T00:00:00Z")
TERMS: dict[str, Any] = {"step": "0.1", "low": "0", "high": "40", "readings_expected": 48}


def rows(days: int, value: str = "0.31", first: int = 0, sensor: str = "") -> list[str]:
    times = range(first, 48 * days)
    return [",".join((instant_text(BEGINS + n * 30 * MINUTE), value, *filter(None, [sensor]))) for n in times]


def masked(folder: Path, lines: list[str], header: str = "time,value", **more: Any) -> list[list[str]]:
    source, target = folder / "in.csv", folder / "out.csv"
    source.write_text("\n".join((header, *lines)) + "\n")
    halfmask.mask(source, output=target, state=folder / "state", **more)
    return [line.split(",") for line in target.read_text().splitlines()]


def test_each_day_becomes_one_row(tmp_path: Path) -> None:
    found = masked(tmp_path, rows(3), setting="none@total", **TERMS)
    days = [f"2025-11-{day}T00:00:00Z" for day in (15, 16, 17)]
    assert found == [["time", "value"], *([day, "14.9"] for day in days)]
    assert masked(tmp_path, rows(3)) == found  # terms are remembered


def test_noise_is_that_of_one_draw_and_the_same_each_time(tmp_path: Path) -> None:
    ended = rows(300, first=-48 * 900)  # 1,200 days
    found = masked(tmp_path, ended, setting="laplace:2.5@total", **TERMS)
    again = masked(tmp_path, ended)
    assert len(found) == 1 + 1200
    assert again == found
    error = np.array([float(value) for _, value in found[1:]]) - 14.9
    stated = law_of("laplace:2.5", "0.1").variance / 100
    assert mean_within(error**2, stated, 3)
    assert not mean_within(error**2, stated / 4, 3)
    assert not mean_within(error**2, 48 * stated, 3)


def test_sensors_and_periods_are_apart(tmp_path: Path) -> None:
    lines = [*rows(1, "0.1", sensor="one"), *rows(1, "0.2", sensor="two")]
    terms = TERMS | {"period": "half_hour", "readings_expected": 1, "sensor": "meter"}
    found = masked(tmp_path, lines, "time,value,meter", setting="none@total", **terms)
    assert len(found) == 97
    assert found[:3] == [["time", "value", "meter"], *(["2025-11-15T00:00:00Z", *each] for each in
                         (["0.1", "one"], ["0.2", "two"]))]  # fmt: skip


@pytest.mark.parametrize(("day", "hours"), [("2025-03-30", 23), ("2025-10-26", 25)])
def test_a_day_on_which_clocks_change(tmp_path: Path, day: str, hours: int) -> None:
    begins = instant(f"{day}T00:00:00+{'00' if hours == 23 else '01'}:00")
    lines = [f"{instant_text(begins + n * 30 * MINUTE)},0.1" for n in range(2 * hours)]
    found = masked(tmp_path, lines, setting="none@total", time_zone="Europe/Dublin", **TERMS)
    assert found[1:] == [[instant_text(begins), f"{hours / 5:.1f}"]]


def test_few_readings_and_open_periods_are_left_out_and_said(tmp_path: Path) -> None:
    told: list[str] = []
    future = "2140-01-01T00:00:00Z,1"
    found = masked(tmp_path, [*rows(2, first=5), future], setting="none@total", tell=told.append, **TERMS)
    assert [time for time, _ in found[1:]] == ["2025-11-16T00:00:00Z"]
    assert [note[0] for note in told[1:]] == ["1", "1"]
    found = masked(tmp_path, [*rows(2, first=5), future], partial=True)
    assert found[1:] == [["2025-11-15T00:00:00Z", "13.3"], ["2025-11-16T00:00:00Z", "14.9"]]


def test_another_total_of_a_period_is_refused_and_those_before_are_written(tmp_path: Path) -> None:
    first = masked(tmp_path, rows(2)[48:], setting="laplace:2.5@total", **TERMS)
    with refused("reading.revision", place="2025-11-16"):
        masked(tmp_path, rows(1) + rows(2, "0.4")[48:])
    written = (tmp_path / "out.csv").read_text().splitlines()
    assert [line[:10] for line in written[1:]] == ["2025-11-15"]
    both = masked(tmp_path, rows(2))
    assert both[2:] == first[1:]
    assert both[1] == written[1].split(",")
    revised = masked(tmp_path, rows(2, "0.4"), revise=True)
    assert len(revised) == 3


def test_another_value_of_a_time_is_refused(tmp_path: Path) -> None:
    repeated = ["2025-11-15T00:00:00Z,0.310", "2025-11-15T01:00:00+01:00,.31"]
    found = masked(tmp_path, [*rows(1), *repeated], setting="none@total", **TERMS)
    assert found[1][1] == "14.9"
    with refused("reading.revision", place="row 49, column value"):
        masked(tmp_path, [*rows(1), "2025-11-15T00:00:00Z,7.77"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"setting": "laplace:2.5@total"}, "option.readings_expected"),
        ({"setting": "laplace:2.5@split", "readings_expected": 48}, "option.release"),
        ({"setting": "laplace:2.5", "readings_expected": 48}, "option.release"),
        ({"setting": "laplace:2.5", "partial": True}, "option.release"),
        ({"setting": "laplace:2.5@total", "readings_expected": 0}, "option.readings_expected"),
        ({"setting": "laplace:2.5@total", "readings_expected": 48, "period": "fortnight"}, "option.period"),
        ({"setting": "laplace:2.5@total", "readings_expected": 48, "time_zone": "Europe"}, "option.period"),
        ({"setting": "laplace:2.5@total", "readings_expected": 48, "time_zone": "../etc"}, "option.period"),
        ({"setting": "laplace:2.5@day", "readings_expected": 48}, "setting.release"),
    ],
)
def test_what_is_no_total_is_refused(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    with refused(code):
        masked(tmp_path, rows(1), step="0.1", low="0", high="40", **options)


def test_another_period_needs_consent(tmp_path: Path) -> None:
    masked(tmp_path, rows(1), setting="none@total", **TERMS)
    with refused("option.change"):
        masked(tmp_path, rows(1), period="hour", readings_expected=2)
    assert len(masked(tmp_path, rows(1), period="hour", readings_expected=2, change=True)) == 25


def test_an_audit_of_a_device_that_masks_totals_is_about_totals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    masked(tmp_path, rows(1), setting="laplace:2.5@total", **TERMS)
    show(Audit(state=tmp_path / "state", sensitivity=40.0, reports="30"), shown=Display(explain=True))
    out, err = capsys.readouterr()
    assert "in each total" in out.replace("\n", " ").replace("  ", " ")
    said = " ".join((out + err).split())
    assert "epsilon 16 for a change of up to 40 in one total, delta 0" in said
    assert "each of 30 totals" in said
    assert "each of 30 readings" not in said
