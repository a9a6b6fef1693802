"""Still more exports: as grid operators, market platforms, time-series databases and vendors' clouds write them."""

import gzip
import json
from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from tests.data.exports import HALF_HOUR, TRUTH, Export, Truth, comma, export, lines, number, write
from tests.data.exports_of_devices import named, single


def users(prefix: str) -> Truth:
    """The same readings under longer names."""
    return {(f"{prefix}{meter}", moment): value for (meter, moment), value in TRUTH.items()}


@export
def a_grid_operator_with_from_and_to_in_four_columns(folder: Path) -> Export:
    head = "Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Meter;Metertype;Register;Volume;Eenheid;"
    head += "Validatiestatus;Omschrijving"
    rows = []
    for (meter, t), v in TRUTH.items():
        end = t + HALF_HOUR
        rows.append(
            f'{t:%d-%m-%Y};{t:%H:%M:%S};{end:%d-%m-%Y};{end:%H:%M:%S};="54144{meter}";1SAG{meter};Digitale meter;'
            f"Afname Dag;{comma(v)};kWh;Uitgelezen;"
        )
    rows[40] = rows[40].rsplit(";", 4)[0] + ";;kWh;Geen verbruik;"
    gone = list(TRUTH)[40]
    truth = {(f"54144{m}", t): v for (m, t), v in TRUTH.items() if (m, t) != gone}
    return Export(
        write(folder / "x.csv", "\n".join([head, *rows]), "utf-8-sig"), truth, {"user": "EAN-code"}, unit="kWh"
    )


@export
def a_load_curve_behind_a_wider_preamble(folder: Path) -> Export:
    head = "Identifiant PRM;Type de donnees;Date de debut;Date de fin;Grandeur physique;Unite;Pas en minutes\n"
    head += "12345678901234;Courbe de charge;29/12/2012;02/01/2013;Energie active;W;30\n"
    rows = [f"{t.isoformat()}+01:00;{v * 1000:.0f}" for t, v in single()]
    truth = {("curve", t): round(v * 1000.0) for t, v in single()}
    return Export(
        write(folder / "curve.csv", head + "\n".join(["Horodate;Valeur", *rows])), truth, {"tz": "Europe/Paris"}
    )


@export
def date_and_clock_with_a_power_in_brackets(folder: Path) -> Export:
    rows = [f"{t:%Y/%m/%d};{t:%H:%M};{comma(v)}" for t, v in single()]
    text = "\n".join(["CPE:;PT0002000001", "Potência;6,9", "", "Data;Hora;Consumo registado (kW)", *rows])
    return Export(write(folder / "casa.csv", text), named("casa"), unit="kW")


@export
def a_market_platform_with_both_ends_in_a_cell(folder: Path) -> Export:
    rows = [f'"{t:%d.%m.%Y %H:%M} - {t + HALF_HOUR:%d.%m.%Y %H:%M}","{v * 1000:.0f}"' for t, v in single()]
    text = "\n".join(['"MTU (CET/CEST)","Actual Total Load [MW] - BZN|AT"', *rows])
    truth = {("load", t): round(v * 1000.0) for t, v in single()}
    return Export(write(folder / "load.csv", text), truth, unit="MW")


@export
def a_market_platform_with_the_time_of_the_update(folder: Path) -> Export:
    rows = [f"{t}.000\tPT30M\t10Y{m}\tCTA\t{m} CA\t{v}\t2013-01-15 08:00:00" for (m, t), v in TRUTH.items()]
    head = "DateTime\tResolutionCode\tAreaCode\tAreaTypeCode\tAreaName\tTotalLoadValue\tUpdateTime"
    said = {"user": "AreaCode", "time": "DateTime"}
    return Export(write(folder / "x.csv", "\n".join([head, *rows])), users("10Y"), said)


@export
def a_feed_with_the_time_twice(folder: Path) -> Export:
    epoch = datetime(1970, 1, 1)
    rows = [f'"{int((t - epoch).total_seconds())}","{t}",{v}' for t, v in single()]
    text = "\n".join(['"Timestamp","Date-time string","kWh"', *rows])
    return Export(write(folder / "feed.csv", text), named("feed"), {"time": "Date-time string"}, unit="kWh")


@export
def times_as_columns(folder: Path) -> Export:
    moments = sorted({t for _, t in TRUTH})
    meters = sorted({m for m, _ in TRUTH})
    head = ",".join(["entity_id", "type", "unit", *(f"{t.isoformat()}.000Z" for t in moments)])
    rows = [",".join([m, "consumption", "kWh", *(str(TRUTH.get((m, t), "")) for t in moments)]) for m in meters]
    return Export(write(folder / "x.csv", "\n".join([head, *rows])), dict(TRUTH), unit="kWh")


@export
def an_annotated_query_of_a_time_series_database(folder: Path) -> Export:
    head = (
        "#group,false,false,true,true,false,false,true,true\n#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,"
    )
    head += "dateTime:RFC3339,double,string,string\n#default,_result,,,,,,,\n"
    head += ",result,table,_start,_stop,_time,_value,_field,meter\n"
    rows = [
        f",,0,2012-12-01T00:00:00Z,2013-02-01T00:00:00Z,{t.isoformat()}Z,{v},energy,{m}" for (m, t), v in TRUTH.items()
    ]
    return Export(write(folder / "x.csv", head + "\n".join(rows)), dict(TRUTH), {"user": "meter", "time": "_time"})


@export
def nanoseconds_of_a_time_series_database(folder: Path) -> Export:
    epoch = datetime(1970, 1, 1)
    rows = [f"energy,meter={m},{int((t - epoch).total_seconds())}000000000,{m},{v}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["name,tags,time,meter,value", *rows])), dict(TRUTH))


@export
def a_panel_of_a_dashboard_with_units_in_the_cells(folder: Path) -> Export:
    moments = sorted({t for _, t in TRUTH})
    meters = sorted({m for m, _ in TRUTH})
    rows = [
        ",".join([f'"{t}"', *(f'"{TRUTH[m, t]} kWh"' if (m, t) in TRUTH else '""' for m in meters)]) for t in moments
    ]
    text = "\n".join([",".join(['"Time"', *(f'"{m}"' for m in meters)]), *rows])
    return Export(write(folder / "x.csv", text), dict(TRUTH), unit="kWh")


@export
def two_columns_of_one_name(folder: Path) -> Export:
    rows = [f"{m},{t},{v},{v * 2:.3f}" for (m, t), v in TRUTH.items()]
    text = "\n".join(["meter,time,kwh,kwh", *rows])
    return Export(write(folder / "x.csv", text), dict(TRUTH), {"value": "kwh"}, unit="kWh")


@export
def a_line_that_names_the_delimiter(folder: Path) -> Export:
    return Export(write(folder / "x.csv", "sep=;\n" + lines(show=comma, delimiter=";")))


@export
def quarters_by_their_intervals_and_the_point_of_delivery_above(folder: Path) -> Export:
    truth = {("casa", t): v for t, v in single() if t < single()[0][0] + timedelta(days=3)}
    days = sorted({t.date() for _, t in truth})
    slots = [timedelta(minutes=30 * i) for i in range(48)]

    def clock(span: timedelta) -> str:
        return f"{int(span.total_seconds()) // 3600:02}:{int(span.total_seconds()) // 60 % 60:02}"

    head = ";".join(["Giorno", *(f"{clock(s)}-{clock(s + HALF_HOUR)}" for s in slots)])
    rows = []
    for day in days:
        start = datetime(day.year, day.month, day.day)
        cells = [comma(truth["casa", start + s]) if ("casa", start + s) in truth else "" for s in slots]
        rows.append(";".join([f"{day:%d/%m/%Y}", *cells]))
    return Export(write(folder / "casa.csv", "\n".join(["POD;IT001E00000001", "", head, *rows])), truth)


@export
def hours_from_one_to_twenty_four(folder: Path) -> Export:
    hourly = {(m, t): v for (m, t), v in TRUTH.items() if t.minute == 0}
    rows = [f"ES{m};{t:%Y/%m/%d};{t.hour + 1};{comma(v)};Real" for (m, t), v in hourly.items()]
    text = "\n".join(["cups;fecha;hora;consumo_kWh;metodoObtencion", *rows])
    return Export(write(folder / "x.csv", text), {(f"ES{m}", t): v for (m, t), v in hourly.items()}, unit="kWh")


@export
def clocks_from_one_to_twenty_four(folder: Path) -> Export:
    """Named by the end of the hour."""
    hourly = {(m, t): v for (m, t), v in TRUTH.items() if t.minute == 0}
    rows = [f"ES{m};{t:%Y/%m/%d};{t.hour + 1:02}:00;{comma(v)}" for (m, t), v in hourly.items()]
    truth = {(f"ES{m}", t): v for (m, t), v in hourly.items()}
    said = "hora runs to 24:00 and never has 00:00: the ends of intervals of 60 min"
    return Export(
        write(folder / "x.csv", "\n".join(["cups;fecha;hora;consumo_kWh", *rows])), truth, unit="kWh", notes=said
    )


@export
def ends_of_half_hours_up_to_24(folder: Path) -> Export:
    rows = [
        f"{m};{t:%d.%m.%Y} {(t + HALF_HOUR).strftime('%H:%M') if (t.hour, t.minute) < (23, 30) else '24:00'};{comma(v)}"
        for (m, t), v in TRUTH.items()
    ]
    return Export(write(folder / "x.csv", "\n".join(["meter;time;kWh", *rows])), unit="kWh", notes="of 30 min, each")


@export
def ends_of_half_hours_in_iso_times(folder: Path) -> Export:
    rows = [
        f"{m},{t:%Y-%m-%d}T{(t + HALF_HOUR).strftime('%H:%M') if (t.hour, t.minute) < (23, 30) else '24:00'},{v}"
        for (m, t), v in TRUTH.items()
    ]
    return Export(write(folder / "x.csv", "\n".join(["meter,time,kWh", *rows])), unit="kWh", notes="of 30 min, each")


@export
def a_data_hub_in_danish(folder: Path) -> Export:
    rows = [
        f"5713{m};{t:%d-%m-%Y %H:%M:%S};{t + HALF_HOUR:%d-%m-%Y %H:%M:%S};{comma(v)};KWH;Målt;Tidsserie"
        for (m, t), v in TRUTH.items()
    ]
    text = "\n".join(["MålepunktsID;Fra_dato;Til_dato;Mængde;Måleenhed;Kvalitet;Type", *rows])
    return Export(write(folder / "x.csv", text, "utf-8-sig"), users("5713"), unit="kWh")


@export
def a_data_hub_in_finnish(folder: Path) -> Export:
    rows = [f"6430{m};Aktiivienergia;PT30M;kWh;BN01;{t.isoformat()}Z;{comma(v)};OK" for (m, t), v in TRUTH.items()]
    head = "Mittauspisteen tunnus;Tuotteen tyyppi;Resoluutio;Yksikkötyyppi;Lukeman tyyppi;Alkuaika;Määrä;Laatu"
    return Export(write(folder / "x.csv", "\n".join([head, *rows])), users("6430"), unit="kWh")


@export
def pages_of_an_interface(folder: Path) -> Export:
    results = [
        {"consumption": v, "interval_start": f"{t.isoformat()}Z", "interval_end": f"{(t + HALF_HOUR).isoformat()}Z"}
        for t, v in single()
    ]
    page = {"count": len(results), "next": None, "previous": None, "results": results}
    return Export(write(folder / "home.json", json.dumps(page)), named("home"))


@export
def values_deep_in_an_object(folder: Path) -> Export:
    values = [{"date": str(t), "value": v} for t, v in single()]
    page = {"energy": {"timeUnit": "HALF_HOUR", "unit": "Wh", "values": values}}
    return Export(write(folder / "roof.json", json.dumps(page)), named("roof"), unit="Wh")


@export
def a_comma_before_the_fraction_of_a_second(folder: Path) -> Export:
    rows = [f"{m};{t},250;{v}" for (m, t), v in TRUTH.items()]
    truth = {(m, t + timedelta(milliseconds=250)): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.csv", "\n".join(["meter;time;value", *rows])), truth)


@export
def an_offset_without_a_colon(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%Y-%m-%dT%H:%M+0000")))


@export
def zstandard(folder: Path) -> Export:
    write(folder / "x.csv", lines())
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (FROM read_csv('{folder}/x.csv', all_varchar = true)) TO '{folder}/y.csv.zst' (COMPRESSION zstd)"
        )
    return Export(folder / "y.csv.zst")


@export
def gzip_of_many_parts(folder: Path) -> Export:
    text = lines().splitlines(keepends=True)
    half = len(text) // 2
    parts = [gzip.compress("".join(part).encode()) for part in (text[:half], text[half:])]
    (folder / "x.csv.gz").write_bytes(b"".join(parts))
    return Export(folder / "x.csv.gz")


@export
def percentages(folder: Path) -> Export:
    truth = {(m, t): round(v % 100, 1) for (m, t), v in TRUTH.items()}
    text = "\n".join(["sensor,time,value", *(f"{m},{t},{v}%" for (m, t), v in truth.items())])
    return Export(write(folder / "x.csv", text), truth, unit="%")


@export
def quotes_around_all_and_a_decimal_comma(folder: Path) -> Export:
    rows = [f'"{m}";"{t:%d.%m.%Y %H:%M}";"{number(v, ",")}";' for (m, t), v in TRUTH.items()]
    text = "\r\n".join(['"Zähler";"Datum";"Wert (kWh)";', *rows]) + "\r\n"
    return Export(write(folder / "x.csv", text, "utf-8-sig"), unit="kWh")


@export
def the_latest_first_by_the_end_of_an_interval(folder: Path) -> Export:
    made = [
        f"10306268587,34201234,{v},Active Import Interval (kW),{t + HALF_HOUR:%d-%m-%Y %H:%M}"
        for t, v in reversed(single())
    ]
    text = "\n".join(["MPRN,Meter Serial Number,Read Value,Read Type,Read Date and End Time", *made])
    return Export(write(folder / "hdf.csv", text), named("34201234"), notes="holds the ends of intervals of 30 min")
