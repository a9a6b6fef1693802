"""Exports as utilities, cities and hobbyists have them, each with the readings that are meant by it.

Everything is made here from one small panel: three meters, three days around a new year, half-hourly, in kWh.
"""

import csv
import gzip
import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

Moment = datetime
Truth = dict[tuple[str, Moment], float]

METERS = ("M1001", "M1002", "M1003")
START = datetime(2012, 12, 30)
STEPS = 144
HALF_HOUR = timedelta(minutes=30)


def panel(start: datetime = START, steps: int = STEPS, digits: int = 3) -> Truth:
    """The readings themselves: users, times, values; some are zero and some above 1,000."""
    rng = random.Random(14)
    truth = {}
    for meter in METERS:
        for i in range(steps):
            size = 1234.5 if i == 20 else 0.0 if i == 7 else round(rng.uniform(0.05, 2.5), digits)
            truth[meter, start + i * HALF_HOUR] = size
    return truth


TRUTH = panel()


@dataclass(frozen=True)
class Export:
    """What is on disk, what it means, and what must be said first where it can be read in two ways.

    ``mend`` are the words of an option that the refusal must offer, and with which the export is then read right.
    """

    source: Any
    truth: Truth = field(default_factory=lambda: dict(TRUTH))
    options: Mapping[str, Any] = field(default_factory=dict)
    mend: str = ""
    unit: str | None = None
    notes: str = ""


EXPORTS: dict[str, Callable[[Path], Export]] = {}


def export(make: Callable[[Path], Export]) -> Callable[[Path], Export]:
    """Add an export under its function's name."""
    EXPORTS[make.__name__] = make
    return make


def number(value: float, decimal: str = ".", group: str = "") -> str:
    """A number as a country writes it, trailing zeros left out."""
    whole, _, fraction = f"{value:,.3f}".partition(".")
    fraction = fraction.rstrip("0")
    return whole.replace(",", group) + (decimal + fraction if fraction else "")


def lines(
    form: str = "%Y-%m-%d %H:%M",
    show: Callable[[float], str] = number,
    header: str = "meter,time,value",
    delimiter: str = ",",
    truth: Truth | None = None,
) -> str:
    """A long table as text."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    if header:
        writer.writerow(header.split(","))
    for (meter, moment), value in (truth or TRUTH).items():
        writer.writerow([meter, moment.strftime(form), show(value)])
    return out.getvalue()


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))
    return path


def comma(value: float) -> str:
    return number(value, ",")


@export
def decimal_comma(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines(show=comma, delimiter=";")))


@export
def points_group_thousands(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines(show=lambda v: number(v, ",", "."), delimiter=";")))


@export
def thin_spaces_group_thousands(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines(show=lambda v: number(v, ",", "\u202f"), delimiter=";")))


@export
def apostrophes_group_thousands(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines(show=lambda v: number(v, ".", "'"), delimiter=";")))


@export
def commas_group_thousands(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines(show=lambda v: number(v, ".", ","))))


@export
def quoted_decimal_comma_between_commas(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines(show=comma)))


@export
def a_comma_that_may_be_either(folder: Path) -> Export:
    truth = {key: 1000.0 + i * 37 % 500 for i, key in enumerate(TRUTH)}
    text = lines(show=lambda v: f"{v:,.0f}", delimiter=";", truth=truth)
    return Export(write(folder / "x.csv", text), truth, mend="--decimal .")


@export
def a_point_that_may_be_either(folder: Path) -> Export:
    truth = {key: 900.0 + i * 37 % 500 for i, key in enumerate(TRUTH)}
    text = lines(show=lambda v: f"{v:,.0f}".replace(",", "."), delimiter=";", truth=truth)
    return Export(write(folder / "x.csv", text), truth, mend="--decimal ,")


@export
def day_first(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%d/%m/%Y %H:%M")))


@export
def month_first_with_am_and_pm(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%m/%d/%Y %I:%M %p")))


@export
def day_first_with_points(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%d.%m.%Y %H:%M:%S", comma, delimiter=";")))


@export
def day_first_with_a_short_year(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%d-%m-%y %H:%M")))


@export
def months_by_name(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%d-%b-%Y %H:%M")))


@export
def midnight_without_a_clock(folder: Path) -> Export:
    text = lines("%d/%m/%Y %H:%M").replace(" 00:00", "")
    return Export(write(folder / "x.csv", text))


@export
def compact_times(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%Y%m%d%H%M")))


@export
def compact_times_as_numbers(folder: Path) -> Export:
    rows = [(m, int(t.strftime("%Y%m%d%H%M%S")), v) for (m, t), v in TRUTH.items()]
    pq.write_table(_table(rows), folder / "x.parquet")
    return Export(folder / "x.parquet")


@export
def a_day_that_may_be_a_month(folder: Path) -> Export:
    truth = panel(datetime(2012, 2, 1))
    return Export(
        write(folder / "x.csv", lines("%d/%m/%Y %H:%M", truth=truth)), truth, mend="--date-format '%d/%m/%Y %H:%M'"
    )


@export
def a_day_settled_far_down(folder: Path) -> Export:
    truth = panel(datetime(2012, 2, 1), steps=48 * 14)
    rows = sorted(truth.items(), key=lambda item: item[0][1])
    text = lines("%d/%m/%Y %H:%M", truth=dict(rows))
    return Export(write(folder / "x.csv", text), truth)


@export
def date_and_time_in_two_columns(folder: Path) -> Export:
    text = lines("%Y-%m-%d,%H:%M").replace('"', "").replace("meter,time,value", "meter,date,time,kwh")
    return Export(write(folder / "x.csv", text), unit="kWh")


@export
def local_date_and_clock_with_pm(folder: Path) -> Export:
    text = lines("%d/%m/%Y;%I:%M %p", comma, "meter,when,kwh", ";").replace('"', "")
    return Export(write(folder / "x.csv", text.replace("meter;when;kwh", "Zähler;Datum;Uhrzeit;Verbrauch")))


@export
def date_and_half_hour_number(folder: Path) -> Export:
    rows = [f"{m},{t:%Y-%m-%d},{t.hour * 2 + t.minute // 30 + 1},{v}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["mpan,settlement_date,settlement_period,kwh", *rows])), unit="kWh")


@export
def date_and_hour_number(folder: Path) -> Export:
    truth = {(m, t): v for (m, t), v in TRUTH.items() if t.minute == 0}
    rows = [f"{m},{t:%Y-%m-%d},{t.hour},{v}" for (m, t), v in truth.items()]
    return Export(write(folder / "x.csv", "\n".join(["meter,date,hour,value", *rows])), truth)


def _rows() -> list[tuple[str, datetime, float]]:
    return [(meter, moment, value) for (meter, moment), value in TRUTH.items()]


def _table(rows: Iterable[tuple[Any, Any, Any]]) -> pa.Table:
    users, times, values = zip(*rows, strict=True)
    return pa.table({"meter": users, "time": times, "value": values})


@export
def excel(folder: Path) -> Export:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Consumption by meter"])
    sheet.append(["Meter", "Time", "Consumption (kWh)"])
    for row in _rows():
        sheet.append(list(row))
    book.save(folder / "x.xlsx")
    return Export(folder / "x.xlsx", unit="kWh")


@export
def excel_with_two_sheets(folder: Path) -> Export:
    import openpyxl

    book = openpyxl.Workbook()
    for name, factor in (("2012", 1.0), ("forecast", 2.0)):
        sheet = book.create_sheet(name)
        sheet.append(["meter", "time", "value"])
        for meter, moment, value in _rows():
            sheet.append([meter, moment, value * factor])
    del book["Sheet"]
    book.save(folder / "x.xlsx")
    return Export(folder / "x.xlsx", mend="--sheet '2012'")


@export
def open_document(folder: Path) -> Export:
    from odf.opendocument import OpenDocumentSpreadsheet
    from odf.table import Table, TableCell, TableRow
    from odf.text import P

    book = OpenDocumentSpreadsheet()
    sheet = Table(name="readings")
    for row in [("meter", "time", "value"), *((m, f"{t:%Y-%m-%d %H:%M}", v) for m, t, v in _rows())]:
        line = TableRow()
        for cell in row:
            numeric = isinstance(cell, float)
            made = TableCell(valuetype="float", value=cell) if numeric else TableCell(valuetype="string")
            made.addElement(P(text=str(cell)))
            line.addElement(made)
        sheet.addElement(line)
    book.spreadsheet.addElement(sheet)
    book.save(str(folder / "x.ods"))
    return Export(folder / "x.ods")


@export
def json_array(folder: Path) -> Export:
    rows = [{"meter": m, "time": t.isoformat(), "value": v} for m, t, v in _rows()]
    return Export(write(folder / "x.json", json.dumps(rows)))


@export
def json_lines(folder: Path) -> Export:
    rows = [json.dumps({"meter": m, "time": f"{t:%d/%m/%Y %H:%M}", "value": v}) for m, t, v in _rows()]
    return Export(write(folder / "x.jsonl", "\n".join(rows)))


@export
def json_lists_in_objects(folder: Path) -> Export:
    objects = [
        {"meter": name, "readings": [{"time": t.isoformat(), "value": v} for m, t, v in _rows() if m == name]}
        for name in METERS
    ]
    return Export(write(folder / "x.json", json.dumps(objects)))


@export
def zip_of_csv(folder: Path) -> Export:
    with zipfile.ZipFile(folder / "x.zip", "w") as archive:
        archive.writestr("export/readings.csv", lines("%d/%m/%Y %H:%M"))
        archive.writestr("export/README.txt", "What this is.\n")
    return Export(folder / "x.zip")


@export
def feather(folder: Path) -> Export:
    pa.feather.write_feather(_table(_rows()), str(folder / "x.feather"))
    return Export(folder / "x.feather")


@export
def avro(folder: Path) -> Export:
    fields = [{"name": "meter", "type": "string"}, {"name": "time", "type": "string"}]
    schema = {"type": "record", "name": "r", "fields": [*fields, {"name": "value", "type": "double"}]}
    with (folder / "x.avro").open("wb") as out:
        fastavro.writer(out, schema, [{"meter": m, "time": t.isoformat(), "value": v} for m, t, v in _rows()])
    return Export(folder / "x.avro")


def _named(meter: str, text: str) -> str:
    return text.replace(METERS[0], meter)


def _renamed(meter: str) -> Truth:
    return {(meter if m == METERS[0] else m, t): v for (m, t), v in TRUTH.items()}


@export
def latin_1(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _named("Zähler 1", lines()), "latin-1"), _renamed("Zähler 1"))


@export
def latin_1_far_down(folder: Path) -> Export:
    text = lines("%Y-%m-%d %H:%M", truth=panel(steps=20_000))
    odd = panel(steps=20_000) | {("Zähler", START): 1.5}
    return Export(
        write(folder / "x.csv", text + "Zähler,2012-12-30 00:00,1.5\n", "latin-1"), odd, mend="--encoding cp1252"
    )


@export
def utf_16(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _named("Zähler 1", lines()), "utf-16"), _renamed("Zähler 1"))


@export
def utf_8_with_a_mark(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines(), "utf-8-sig"))


@export
def a_file_a_meter(folder: Path) -> Export:
    for name in METERS:
        rows = [f"{t:%d.%m.%Y %H:%M};{comma(v)}" for (m, t), v in TRUTH.items() if m == name]
        write(folder / "in" / f"{name}.csv", "\n".join(["Zeit;Verbrauch", *rows]))
    write(folder / "in" / "README.txt", "One file per meter.\nValues in kWh, as exported.\n")
    return Export(folder / "in", notes="left out, no readings in it: README.txt")


@export
def a_folder_a_meter(folder: Path) -> Export:
    for name in METERS:
        for day in (30, 31, 1):
            rows = [f"{t:%Y-%m-%d %H:%M},{v}" for (m, t), v in TRUTH.items() if m == name and t.day == day]
            write(folder / "in" / name / f"{day}.csv", "\n".join(["time,value", *rows]))
    return Export(folder / "in")


@export
def a_file_a_meter_in_parquet(folder: Path) -> Export:
    for name in METERS:
        rows = [row for row in _rows() if row[0] == name]
        pq.write_table(_table(rows).drop_columns("meter"), folder / f"{name}.parquet")
    return Export(folder)


@export
def a_column_a_meter(folder: Path) -> Export:
    moments = sorted({t for _, t in TRUTH})
    rows = [";".join([f"{t:%d/%m/%Y %H:%M}", *(comma(TRUTH[m, t]) for m in METERS)]) for t in moments]
    return Export(write(folder / "x.csv", "\n".join([";".join(["Time", *METERS]), *rows])))


def _days(labels: list[str], name: str = "meter") -> str:
    rows = [f"{name},date,{','.join(labels)}"]
    for meter in METERS:
        for day in range(3):
            start = START + timedelta(days=day)
            values = [TRUTH[meter, start + i * HALF_HOUR] for i in range(48)]
            rows.append(",".join([meter, f"{start:%Y-%m-%d}", *map(str, values)]))
    return "\n".join(rows)


def _clock(i: int) -> str:
    return f"{i // 2:02}:{30 * (i % 2):02}"


@export
def forty_eight_columns_by_clock(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _days([_clock(i) for i in range(48)])))


@export
def forty_eight_columns_by_their_ends(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _days([_clock(i + 1) for i in range(48)])))


@export
def forty_eight_columns_by_number(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _days([f"HH{i + 1}" for i in range(48)], "mpan")))


@export
def date_rows_by_hour_columns(folder: Path) -> Export:
    truth = {("M1001", t): v for (m, t), v in TRUTH.items() if m == "M1001" and t.minute == 0}
    rows = [";".join(["Datum", *(str(hour) for hour in range(1, 25))])]
    for day in range(3):
        start = START + timedelta(days=day)
        values = [comma(truth["M1001", start + timedelta(hours=hour)]) for hour in range(24)]
        rows.append(";".join([f"{start:%d.%m.%Y}", *values]))
    return Export(write(folder / "M1001.csv", "\n".join(rows)), truth)


@export
def preamble_units_and_footer(folder: Path) -> Export:
    head = "Load profile of three meters\nCreated;2013-01-02\n\n"
    text = lines("%d.%m.%Y %H:%M", comma, "Meter,Time,Energy", ";")
    first, _, rest = text.partition("\n")
    body = f"{head}{first}\n;;[kWh]\n{rest}\nEnd of export\n432 rows\n"
    return Export(write(folder / "x.csv", body), unit="kWh", notes="2 lines after the table are left out")


@export
def words_for_nothing(folder: Path) -> Export:
    words = ["-", "n/a", "", "N/A", "--", "null", "#N/A"]
    rows = [f"M1001,2012-12-29 {hour:02}:00,{word}" for hour, word in enumerate(words)]
    return Export(write(folder / "x.csv", lines() + "\n".join(rows) + "\n"))


@export
def a_register(folder: Path) -> Export:
    """States of counters: one is reset, one rolls over at 100,000, one misses a state."""
    rows, truth = ["meter,time,value"], {}
    for number_of, meter in enumerate(METERS):
        state = 99_990.0 if number_of == 1 else 5_000.0
        for i in range(STEPS):
            moment = START + i * HALF_HOUR
            if not (number_of == 2 and i == 50):
                rows.append(f"{meter},{moment:%Y-%m-%d %H:%M},{state:.3f}")
            used = round(0.25 + 0.01 * (i % 7), 3)
            reset = number_of == 0 and i == 99
            lost = (number_of == 2 and i in (49, 50)) or reset or i == STEPS - 1
            if not lost:
                truth[meter, moment] = used
            state = 0.5 if reset else round((state + used) % 100_000, 3)
    return Export(write(folder / "x.csv", "\n".join(rows)), truth, mend="--register")


@export
def a_column_of_units(folder: Path) -> Export:
    """Meters that report kWh, Wh, and kW: the mean over a half-hour."""
    factor = {"kWh": 1.0, "Wh": 1000.0, "kW": 2.0}
    unit = dict(zip(METERS, factor, strict=True))
    rows = [f"{m},{t:%Y-%m-%d %H:%M},{v * factor[unit[m]]:.6f},{unit[m]}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["meter,time,value,unit", *rows])), unit="kWh")


@export
def units_that_do_not_convert(folder: Path) -> Export:
    rows = [f"{m},{t:%Y-%m-%d %H:%M},{v},{'m3' if m == 'M1003' else 'kWh'}" for (m, t), v in TRUTH.items()]
    path = folder / "x.duckdb"
    write(folder / "x.csv", "\n".join(["meter,time,value,unit", *rows]))
    with duckdb.connect(str(path)) as database:
        database.execute(f"CREATE TABLE r AS FROM '{folder}/x.csv'")
    truth = {key: value for key, value in TRUTH.items() if key[0] != "M1003"}
    return Export(path, truth, {"sql": "select * from r where unit = 'kWh'"}, unit="kWh")


@export
def watt_hours_by_name(folder: Path) -> Export:
    truth = {key: value * 1000 for key, value in TRUTH.items()}
    return Export(write(folder / "x.csv", lines(header="meter,time,energy_wh", truth=truth)), truth, unit="Wh")


@export
def many_duplicates(folder: Path) -> Export:
    again = {key: value for i, (key, value) in enumerate(TRUTH.items()) if i % 10 == 0}
    return Export(write(folder / "x.csv", lines() + lines(header="", truth=again)), mend="--duplicates first")


@export
def values_far_outside(folder: Path) -> Export:
    truth = {key: min(value, 3.0) for key, value in TRUTH.items()}
    odd = truth | {("M1001", START - HALF_HOUR): 4294967.295}
    return Export(write(folder / "x.csv", lines(truth=odd)), truth, mend="--max")


@export
def clocks_go_back(folder: Path) -> Export:
    """Local times of the autumn night in which 02:00 comes twice, with their offsets."""
    utc = [datetime(2012, 10, 28, tzinfo=UTC) + i * HALF_HOUR for i in range(8)]
    rows, truth = ["meter,time,value"], {}
    for i, moment in enumerate(utc):
        offset = timedelta(hours=2 if moment.hour < 1 else 1)
        shown = (moment + offset).replace(tzinfo=None)
        rows.append(f"M1001,{shown.isoformat()}+0{offset.seconds // 3600}:00,{i / 4}")
        truth["M1001", moment.replace(tzinfo=None)] = i / 4
    return Export(write(folder / "x.csv", "\n".join(rows)), truth)


def _epoch(factor: int) -> str:
    rows = [f"{m},{int(t.replace(tzinfo=UTC).timestamp()) * factor},{v}" for m, t, v in _rows()]
    return "\n".join(["meter,ts,value", *rows])


@export
def epoch_seconds(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _epoch(1)))


@export
def epoch_milliseconds(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _epoch(1000)))


@export
def everything_quoted(folder: Path) -> Export:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([("Meter ID", "Timestamp", "Usage"), *((m, t.isoformat(), v) for m, t, v in _rows())])
    return Export(write(folder / "x.csv", out.getvalue()))


@export
def tabs(folder: Path) -> Export:
    return Export(write(folder / "x.tsv", lines(show=comma, delimiter="\t")))


@export
def bars(folder: Path) -> Export:
    return Export(write(folder / "x.txt", lines(delimiter="|", header="")))


@export
def gzipped(folder: Path) -> Export:
    (folder / "x.csv.gz").write_bytes(gzip.compress(lines(show=comma, delimiter=";").encode("latin-1")))
    return Export(folder / "x.csv.gz")


@export
def zstandard(folder: Path) -> Export:
    with pa.output_stream(str(folder / "x.csv.zst"), compression="zstd") as out:
        out.write(lines().encode())
    return Export(folder / "x.csv.zst")


@export
def parquet_in_partitions(folder: Path) -> Export:
    for name in METERS:
        (folder / f"meter={name}").mkdir()
        rows = [row for row in _rows() if row[0] == name]
        pq.write_table(_table(rows).drop_columns("meter"), folder / f"meter={name}" / "0.parquet")
    return Export(folder)


@export
def duckdb_table(folder: Path) -> Export:
    with duckdb.connect(str(folder / "x.duckdb")) as database:
        database.register("t", _table(_rows()))
        database.execute("CREATE TABLE readings AS FROM t")
    return Export(folder / "x.duckdb")


@export
def duckdb_query(folder: Path) -> Export:
    with duckdb.connect(str(folder / "x.duckdb")) as database:
        database.register("t", _table(_rows()))
        database.execute("CREATE TABLE a AS FROM t; CREATE TABLE b AS SELECT DISTINCT meter, 'x' AS tariff FROM t")
    return Export(folder / "x.duckdb", options={"sql": "select a.* from a join b using (meter) where tariff = 'x'"})


@export
def sqlite_query(folder: Path) -> Export:
    with closing(sqlite3.connect(folder / "x.db")) as database:
        database.execute("CREATE TABLE r (meter TEXT, time TEXT, wh REAL)")
        rows = [(m, t.isoformat(), v * 1000) for m, t, v in _rows()]
        database.executemany("INSERT INTO r VALUES (?, ?, ?)", rows)
        database.commit()
    return Export(folder / "x.db", options={"sql": "select meter, time, wh / 1000.0 as kwh from r"}, unit="kWh")
