"""The guess of columns: by name, by type, and refused where two could be meant."""

import pytest

from halfmask.data.columns import Columns, choose_columns, words
from halfmask.data.kinds import Kind, text_kind
from halfmask.errors import ColumnError

T, D, N, S = Kind.TIMESTAMP, Kind.FLOAT, Kind.INTEGER, Kind.TEXT


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({"user": S, "time": T, "value": D}, ("user", "time", "value")),
        ({"meter_id": N, "ts": T, "kwh": D}, ("meter_id", "ts", "kwh")),
        ({"Timestamp": T, "Meter ID": S, "Consumption (kWh)": D}, ("Meter ID", "Timestamp", "Consumption (kWh)")),
        ({"sensorId": S, "readingTime": T, "meterReading": D}, ("sensorId", "readingTime", "meterReading")),
        ({"LCLid": S, "tstp": Kind.TEXT_TIME, "energy(kWh/hh)": Kind.TEXT_NUMBER}, ("LCLid", "tstp", "energy(kWh/hh)")),
        ({"household": N, "date": Kind.DATE, "temperature": N, "note": S}, ("household", "date", "temperature")),
        ({"user": S, "time": T, "time_index": N, "value": D, "reading_type": S}, ("user", "time", "value")),
        ({"a": S, "b": T, "c": D}, ("a", "b", "c")),
        ({"x": N, "y": D, "z": Kind.TEXT_TIME}, ("x", "z", "y")),
        ({"household": S, "c": D, "d": N}, ("household", "d", "c")),
    ],
)
def test_guesses(kinds: dict[str, Kind], expected: tuple[str, str, str]) -> None:
    assert choose_columns(kinds) == Columns(*expected)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (
            {"meter_id": N, "customer": S, "time": T, "value": D},
            "2 columns could be the user: 'meter_id', 'customer'; .*`user`",
        ),
        ({"user": S, "date": Kind.DATE, "time": Kind.CLOCK, "value": D}, "could be the time: 'date', 'time'; .*`time`"),
        ({"user": S, "time": T, "kwh": D, "power": D}, "could be the value: 'kwh', 'power'; .*`value`"),
        ({"user": S, "time": T, "a": D, "b": D}, "2 columns could be the value: 'a', 'b'; .*`value`"),
        ({"a": D, "b": D, "c": D}, "no column looks like the user"),
        ({}, "there are no columns"),
    ],
)
def test_doubt_is_an_error_that_lists_and_names_the_option(kinds: dict[str, Kind], message: str) -> None:
    with pytest.raises(ColumnError, match=message):
        choose_columns(kinds)


def test_named_columns_are_taken_whatever_their_names() -> None:
    kinds = {"value": T, "time": S, "user": D, "kwh": D}
    assert choose_columns(kinds, user="time", time="value", value="user") == Columns("time", "value", "user")
    assert choose_columns({"A": S, "B": T, "C": D}, user="a") == Columns("A", "B", "C")
    with pytest.raises(ColumnError, match=r"no column 'house' for `user` .*'value', 'time', 'user', 'kwh'"):
        choose_columns(kinds, user="house")
    with pytest.raises(ColumnError, match="cannot serve twice"):
        choose_columns(kinds, user="time", time="time", value="kwh")


def test_words_of_a_name() -> None:
    assert words("meterId") == words("METER_ID") == words("meterid") == words("Meter ID") == ["meter", "id"]
    assert words("grid") == ["grid"]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["2026-01-01", "2026-01-01T00:30", "2026-01-01 00:30:00.123+01:00", "2026-01-01T00:00:00Z"], Kind.TEXT_TIME),
        (["00:30", "23:30:00"], Kind.TEXT_CLOCK),
        (["1", "-2", "+3"], Kind.TEXT_INTEGER),
        (["1", "2.5", "nan"], Kind.TEXT_NUMBER),
        (["h1", "1", "2026-01-01"], Kind.TEXT),
        (["1.5", "1.5", "broken"], Kind.TEXT_NUMBER),
        ([], Kind.EMPTY),
    ],
)
def test_what_text_holds(texts: list[str], kind: Kind) -> None:
    assert text_kind(texts) is kind
