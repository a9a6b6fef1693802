"""The guess of columns: by name, by type, and refused where two could be meant."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from halfmask.data.column_types import ColumnType, text_type
from halfmask.data.columns import Columns, choose_columns, words
from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.data.units import unit_in_name
from halfmask.profiles.first_look import ways_out
from tests.data.panels import write
from tests.refusals import refused

T, D, N, S = ColumnType.TIMESTAMP, ColumnType.FLOAT, ColumnType.INTEGER, ColumnType.TEXT


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ({"user": S, "time": T, "value": D}, ("user", "time", "value")),
        ({"meter_id": N, "ts": T, "kwh": D}, ("meter_id", "ts", "kwh")),
        ({"Timestamp": T, "Meter ID": S, "Consumption (kWh)": D}, ("Meter ID", "Timestamp", "Consumption (kWh)")),
        ({"sensorId": S, "readingTime": T, "meterReading": D}, ("sensorId", "readingTime", "meterReading")),
        (
            {"LCLid": S, "tstp": ColumnType.TEXT_TIME, "energy(kWh/hh)": ColumnType.TEXT_NUMBER},
            ("LCLid", "tstp", "energy(kWh/hh)"),
        ),
        ({"household": N, "date": ColumnType.DATE, "temperature": N, "note": S}, ("household", "date", "temperature")),
        ({"user": S, "time": T, "time_index": N, "value": D, "reading_type": S}, ("user", "time", "value")),
        ({"a": S, "b": T, "c": D}, ("a", "b", "c")),
        ({"x": N, "y": D, "z": ColumnType.TEXT_TIME}, ("x", "z", "y")),
        ({"household": S, "c": D, "d": N}, ("household", "d", "c")),
    ],
)
def test_guesses(kinds: dict[str, ColumnType], expected: tuple[str, str, str]) -> None:
    assert choose_columns(kinds) == Columns(*expected)


@pytest.mark.parametrize(
    ("types", "code", "role"),
    [
        ({"meter_id": N, "customer": S, "time": T, "value": D}, "column.several", "user"),
        ({"user": S, "date": ColumnType.DATE, "time": ColumnType.CLOCK, "value": D}, "column.several", "time"),
        ({"user": S, "time": T, "kwh": D, "power": D}, "column.several", "value"),
        ({"user": S, "time": T, "a": D, "b": D}, "column.several", "value"),
        ({"a": D, "b": D, "c": D}, "column.missing", "user"),
        ({}, "column.missing", "user"),
    ],
)
def test_doubt_is_an_error_that_names_the_option_and_all_columns(
    types: dict[str, ColumnType], code: str, role: str
) -> None:
    with refused(code, role) as caught:
        choose_columns(types)
    offered = re.findall(r"`\w+='(\w+)'`", str(caught.value))
    assert set(offered) <= types.keys()
    assert len(offered) == (2 if code == "column.several" else 0)


def test_named_columns_are_taken_whatever_their_names() -> None:
    kinds = {"value": T, "time": S, "user": D, "kwh": D}
    assert choose_columns(kinds, user="time", time="value", value="user") == Columns("time", "value", "user")
    assert choose_columns({"A": S, "B": T, "C": D}, user="a") == Columns("A", "B", "C")
    with refused("column.unknown", "user"):
        choose_columns(kinds, user="house")
    with refused("column.twice", "user", "time", "value"):
        choose_columns(kinds, user="time", time="time", value="kwh")


def test_words_of_a_name() -> None:
    assert words("meterId") == words("METER_ID") == words("meterid") == words("Meter ID") == ["meter", "id"]
    assert words("grid") == ["grid"]


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (
            ["2026-01-01", "2026-01-01T00:30", "2026-01-01 00:30:00.123+01:00", "2026-01-01T00:00:00Z"],
            ColumnType.TEXT_TIME,
        ),
        (["00:30", "23:30:00"], ColumnType.TEXT_CLOCK),
        (["1", "-2", "+3"], ColumnType.TEXT_INTEGER),
        (["1", "2.5", "nan"], ColumnType.TEXT_NUMBER),
        (["h1", "1", "2026-01-01"], ColumnType.TEXT),
        (["1.5", "1.5", "broken"], ColumnType.TEXT_NUMBER),
        ([], ColumnType.EMPTY),
    ],
)
def test_what_text_holds(texts: list[str], kind: ColumnType) -> None:
    assert text_type(texts) is kind


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("energy_mwh", "MWh"),
        ("price_eur_mwh", None),
        ("Price (EUR/MWh)", None),
        ("cost_eur", "EUR"),
        ("kWh_total", "kWh"),
    ],
)
def test_money_for_a_unit_is_a_price_and_has_none(name: str, unit: str | None) -> None:
    assert unit_in_name(name) == unit


@pytest.mark.parametrize(("words", "stops"), [(("Actual", "Estimated"), False), (("import", "export"), True)])
def test_how_a_reading_came_about_is_no_kind_of_reading(words: tuple[str, str], stops: bool, tmp_path: Path) -> None:
    days = [f"{m},2026-01-{day:02},{words[day % 2]},{day / 7:.2f}" for m in ("a", "b") for day in range(1, 29)]
    source = write(tmp_path / "x.csv", "\n".join(["meter,date,reading_type,kwh", *days]))
    if stops:
        with refused("column.kinds"):
            open_panel(source)
    else:
        assert sum(batch.num_rows for batch in open_panel(source).batches()) == len(days)


def test_the_query_that_cuts_off_units_keeps_signs(tmp_path: Path) -> None:
    cells = [f"{value}" for value in range(1200)] + ["-3.5 kWh"]
    lines = [f"a,{np.datetime64('2026-01-01T00:00') + 30 * i},{cell}" for i, cell in enumerate(cells)]
    source = write(tmp_path / "x.csv", "\n".join(["meter,time,value", *lines]))
    with refused("reading.cell", "sql") as caught:
        list(open_panel(source).batches())
    (way,) = ways_out(str(caught.value), ReadOptions())
    panel = open_panel(source, **way)
    assert pa.Table.from_batches(panel.batches())["value"].to_pylist()[-1] == -3.5


@pytest.mark.parametrize("cell", ["1 347", "1.347", "1'347", "Postcode", "false"])
def test_whole_numbers_may_be_mixed_with_others(cell: str, tmp_path: Path) -> None:
    lines = [
        f"a;{np.datetime64('2026-01-01T00:00') + 30 * i};{0.5 + i % 7};{cell if i % 3 == 2 else 300 + i}"
        for i in range(60)
    ]
    source = write(tmp_path / "x.csv", "\n".join(["meter;time;kwh;other", *lines]))
    assert len(pa.Table.from_batches(open_panel(source, value="kwh").batches())) == 60
