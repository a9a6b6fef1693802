"""What formats of meters refuse, the clocks of feeds, and channels that are asked about."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from halfmask.data.formats.green_button import _clock_of
from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.first_look import first_look
from tests.data.exports import METERS, START, write
from tests.data.exports_of_devices import single
from tests.data.exports_of_meters import CLOCK, entry, epoch, feed, nem12, point, telegram, type_of
from tests.data.panels import rows
from tests.refusals import refused

AMERICAN = {"tzOffset": "-18000", "dstOffset": "3600", "dstStartRule": "360E2000", "dstEndRule": "B40E2000"}
EUROPEAN = {"tzOffset": "3600", "dstOffset": "3600", "dstStartRule": "3E0E2000", "dstEndRule": "AE0E3000"}
SOUTHERN = {"tzOffset": "36000", "dstOffset": "3600", "dstStartRule": "A40E2000", "dstEndRule": "440E3000"}


@pytest.mark.parametrize(
    ("clock", "instant", "written"),
    [
        (AMERICAN, "2026-03-08T06:59:59", "2026-03-08T01:59:59-05:00"),
        (AMERICAN, "2026-03-08T07:00:00", "2026-03-08T03:00:00-04:00"),
        (AMERICAN, "2026-11-01T05:59:59", "2026-11-01T01:59:59-04:00"),
        (AMERICAN, "2026-11-01T06:00:00", "2026-11-01T01:00:00-05:00"),
        (EUROPEAN, "2026-03-29T00:59:59", "2026-03-29T01:59:59+01:00"),
        (EUROPEAN, "2026-03-29T01:00:00", "2026-03-29T03:00:00+02:00"),
        (EUROPEAN, "2026-10-25T00:59:59", "2026-10-25T02:59:59+02:00"),
        (EUROPEAN, "2026-10-25T01:00:00", "2026-10-25T02:00:00+01:00"),
        (SOUTHERN, "2026-01-15T00:00:00", "2026-01-15T11:00:00+11:00"),
        (SOUTHERN, "2026-07-15T00:00:00", "2026-07-15T10:00:00+10:00"),
        ({"tzOffset": "-12600"}, "2026-07-15T00:00:00", "2026-07-14T20:30:00-03:30"),
        ({}, "2026-07-15T00:00:00", "2026-07-15T00:00:00Z"),
    ],
)
def test_a_feeds_clock_is_that_of_its_rules(clock: dict[str, str], instant: str, written: str) -> None:
    assert _clock_of(clock)(epoch(datetime.fromisoformat(instant))) == written


def test_a_feed_with_a_doctype_is_refused_before_anything_is_expanded(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE f [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
    outside = '<?xml version="1.0"?><!DOCTYPE f [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    text = feed([*point(1, single(), 1000), type_of(1)]).partition("?>")[2]
    for head in (bomb, outside):
        with refused("source.damaged", place=str(tmp_path / "x.xml")):
            open_panel(write(tmp_path / "x.xml", head + text))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (feed([*point(1, single(), 1000), type_of(1)])[:-200], "source.damaged"),
        (feed(["<a>" * 40 + "</a>" * 40, *point(1, single(), 1000), type_of(1)]), "source.damaged"),
        (feed([f"<title>{'x' * 5000}</title>", *point(1, single(), 1000), type_of(1)]), "source.damaged"),
        (feed(point(1, single(), 1000)), "source.incomplete"),
        (feed([type_of(1), entry("x/LocalTimeParameters/1", CLOCK)]), "source.empty"),
        ('<?xml version="1.0"?><readings xmlns="http://example.org"/>', "source.page"),
        ("<!doctype html><html><body>Log in</body></html>", "source.page"),
    ],
)
def test_other_xml_is_refused(text: str, code: str, tmp_path: Path) -> None:
    with refused(code):
        rows(open_panel(write(tmp_path / "x.xml", text)))


def test_two_directions_of_a_feed_are_asked_about_and_both_answers_work(tmp_path: Path) -> None:
    parts = [*point(1, single(), 1000, (1, 19)), type_of(1), type_of(19, flow=19)]
    path = write(tmp_path / "x.xml", feed(parts))
    with refused("column.kinds"):
        open_panel(path)
    seen = first_look(path, ReadOptions(), Policies())
    assert [way["sql"].count("fed in") for way in seen.ways_out if "sql" in way] == [1, 0]
    for way in seen.ways_out[:2]:
        panel = open_panel(path, **way)
        assert build_profile(panel).readings == len(single())


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (2, "200,6110010000,E1B1,E1,E1,N1,METER01,kWh,45,20130201"),
        (2, "200,6110010000"),
        (3, "300,20121230,1.0,2.0,A"),
        (3, "300,2012-12-30," + ",".join(["1"] * 48) + ",A"),
        (3, "999,whatever"),
        (4, "400,1,60,N,,"),
    ],
)
def test_a_record_that_cannot_be_read_is_named_by_its_line(line: int, text: str, tmp_path: Path) -> None:
    lines = nem12([("6110010000", "E1", METERS[0])]).splitlines()
    lines[line - 1 : line - 1 + (line < 4)] = [text]
    path = write(tmp_path / "x.csv", "\n".join(lines))
    with refused("reading.record", place=f"{path}, line {line}"):
        rows(open_panel(path))


def test_states_of_registers_in_a_market_file_are_refused(tmp_path: Path) -> None:
    with refused("source.records"):
        open_panel(write(tmp_path / "x.csv", "100,NEM13,201301021200,MDPX,RETAILER\n900\n"))


def test_gas_in_telegrams_is_another_meter_with_its_own_times(tmp_path: Path) -> None:
    times = [START + i * timedelta(minutes=15) for i in range(400)]
    text = "".join(telegram(t, [1000 + 0.1 * i], gas=500 + 0.2 * (i // 4)) for i, t in enumerate(times))
    path = write(tmp_path / "p1.log", text)
    with refused("reading.units", "sql"):
        open_panel(path)
    ways = first_look(path, ReadOptions(), Policies()).ways_out
    found = {}
    for way in ways:
        panel = open_panel(path, **way)
        found[panel.unit] = {user for user, _, _ in rows(panel)}
        assert way["register"] is True
    assert found == {"kWh": {"E0044007"}, "m3": {"G0058530"}}
    gas = next(way for way in ways if "m3" in way["sql"])
    assert [value for _, _, value in rows(open_panel(path, **gas))] == pytest.approx([0.2] * 99)


def test_a_telegram_without_its_time_is_named_by_its_line(tmp_path: Path) -> None:
    good = telegram(START, [1000.0])
    bad = good.replace("0-0:1.0.0", "0-0:1.0.9")
    path = write(tmp_path / "p1.log", good + bad)
    with refused("reading.record", place=f"{path}, line {good.count(chr(10)) + 1}"):
        open_panel(path)


def test_a_telegram_that_the_next_one_cuts_short_is_left_out(tmp_path: Path) -> None:
    whole = [telegram(START + i * timedelta(minutes=30), [1000.0 + i]) for i in range(3)]
    path = write(tmp_path / "p1.log", whole[0] + whole[1][:60] + "\r\n" + whole[2])
    panel = open_panel(path, register=False)
    assert [value for _, _, value in rows(panel)] == [1000.0, 1002.0]
