"""Files and databases that hold a plain table: sheets, JSON, Avro, archives, encodings, one file a meter."""

import csv
import gzip
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from tests.data.exports import (
    METERS,
    START,
    TRUTH,
    Export,
    Truth,
    comma,
    export,
    lines,
    panel,
    rows_of,
    table_of,
    write,
)


@export
def excel(folder: Path) -> Export:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Consumption by meter"])
    sheet.append(["Meter", "Time", "Consumption (kWh)"])
    for row in rows_of():
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
        for meter, moment, value in rows_of():
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
    for row in [("meter", "time", "value"), *((m, f"{t:%Y-%m-%d %H:%M}", v) for m, t, v in rows_of())]:
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
    rows = [{"meter": m, "time": t.isoformat(), "value": v} for m, t, v in rows_of()]
    return Export(write(folder / "x.json", json.dumps(rows)))


@export
def json_lines(folder: Path) -> Export:
    rows = [json.dumps({"meter": m, "time": f"{t:%d/%m/%Y %H:%M}", "value": v}) for m, t, v in rows_of()]
    return Export(write(folder / "x.jsonl", "\n".join(rows)))


@export
def json_lists_in_objects(folder: Path) -> Export:
    objects = [
        {"meter": name, "readings": [{"time": t.isoformat(), "value": v} for m, t, v in rows_of() if m == name]}
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
    pa.feather.write_feather(table_of(rows_of()), str(folder / "x.feather"))
    return Export(folder / "x.feather")


@export
def avro(folder: Path) -> Export:
    fields = [{"name": "meter", "type": "string"}, {"name": "time", "type": "string"}]
    schema = {"type": "record", "name": "r", "fields": [*fields, {"name": "value", "type": "double"}]}
    with (folder / "x.avro").open("wb") as out:
        fastavro.writer(out, schema, [{"meter": m, "time": t.isoformat(), "value": v} for m, t, v in rows_of()])
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
        rows = [row for row in rows_of() if row[0] == name]
        pq.write_table(table_of(rows).drop_columns("meter"), folder / f"{name}.parquet")
    return Export(folder)


@export
def everything_quoted(folder: Path) -> Export:
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    writer.writerows([("Meter ID", "Timestamp", "Usage"), *((m, t.isoformat(), v) for m, t, v in rows_of())])
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
        rows = [row for row in rows_of() if row[0] == name]
        pq.write_table(table_of(rows).drop_columns("meter"), folder / f"meter={name}" / "0.parquet")
    return Export(folder)


@export
def duckdb_table(folder: Path) -> Export:
    with duckdb.connect(str(folder / "x.duckdb")) as database:
        database.register("t", table_of(rows_of()))
        database.execute("CREATE TABLE readings AS FROM t")
    return Export(folder / "x.duckdb")


@export
def duckdb_query(folder: Path) -> Export:
    with duckdb.connect(str(folder / "x.duckdb")) as database:
        database.register("t", table_of(rows_of()))
        database.execute("CREATE TABLE a AS FROM t; CREATE TABLE b AS SELECT DISTINCT meter, 'x' AS tariff FROM t")
    return Export(folder / "x.duckdb", options={"sql": "select a.* from a join b using (meter) where tariff = 'x'"})


@export
def sqlite_query(folder: Path) -> Export:
    with closing(sqlite3.connect(folder / "x.db")) as database:
        database.execute("CREATE TABLE r (meter TEXT, time TEXT, wh REAL)")
        rows = [(m, t.isoformat(), v * 1000) for m, t, v in rows_of()]
        database.executemany("INSERT INTO r VALUES (?, ?, ?)", rows)
        database.commit()
    return Export(folder / "x.db", options={"sql": "select meter, time, wh / 1000.0 as kwh from r"}, unit="kWh")


@export
def cells_of_several_lines_above_the_table(folder: Path) -> Export:
    above = 'Name,J\nDisclaimer,"one\ntwo\n\nthree"\n\nTitle,E\n'
    return Export(write(folder / "x.csv", above + lines("%d/%m/%Y %H:%M", header="meter,time,kWh")), unit="kWh")


@export
def cells_of_several_lines_above_a_table_of_iso_times(folder: Path) -> Export:
    return Export(write(folder / "x.csv", 'Disclaimer,"one\ntwo"\n' + lines(header="meter,time,kWh")), unit="kWh")
