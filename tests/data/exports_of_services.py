"""More exports: as interfaces, dashboards and control rooms write them, and tables with columns that mislead."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import openpyxl

from tests.data.exports import HALF_HOUR, METERS, TRUTH, Export, Truth, comma, export, write
from tests.data.exports_of_devices import named, single

SMALL = {key: value for key, value in TRUTH.items() if value < 1000}
"""Without the large ones, where a sum over users would not be one."""


def hash_of(number: int) -> str:
    """An id that says nothing."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:12]


def _seconds(moment: datetime) -> int:
    return int(moment.replace(tzinfo=UTC).timestamp())


@export
def an_interface_with_lists_in_lists(folder: Path) -> Export:
    nodes = [
        {"from": f"{t.isoformat()}+01:00", "to": f"{(t + HALF_HOUR).isoformat()}+01:00", "cost": v / 3}
        | {"unitPrice": 0.3, "consumption": v, "consumptionUnit": "kWh"}
        for t, v in single()
    ]
    page = {"data": {"viewer": {"homes": [{"consumption": {"nodes": nodes}}]}}}
    return Export(write(folder / "home.json", json.dumps(page)), named("home"), unit="kWh", notes="in the list nodes")


@export
def series_with_columns_and_tags(folder: Path) -> Export:
    series = [
        {"name": "energy", "tags": {"meter": m}, "columns": ["time", "value"]}
        | {"values": [[f"{t.isoformat()}Z", v] for t, v in single(m)]}
        for m in METERS
    ]
    return Export(write(folder / "x.json", json.dumps({"results": [{"statement_id": 0, "series": series}]})))


@export
def a_matrix_of_a_monitor(folder: Path) -> Export:
    found = [{"metric": {"meter": m}, "values": [[_seconds(t), str(v)] for t, v in single(m)]} for m in METERS]
    page = {"status": "success", "data": {"resultType": "matrix", "result": found}}
    return Export(write(folder / "x.json", json.dumps(page)))


@export
def points_with_the_value_first(folder: Path) -> Export:
    found = [{"target": m, "datapoints": [[v, _seconds(t)] for t, v in single(m)]} for m in METERS]
    return Export(write(folder / "x.json", json.dumps(found)))


@export
def a_number_of_the_row_as_the_only_id(folder: Path) -> Export:
    rows = [f"{t} UTC,{77 + i},{v}" for i, (t, v) in enumerate(single())]
    text = "\n".join(["created_at,entry_id,field1", *rows])
    return Export(write(folder / "home.csv", text), named("home"), notes="entry_id numbers the rows: left out")


@export
def a_name_for_every_row(folder: Path) -> Export:
    rows = [f"{hash_of(i)},{t},{v}" for i, (t, v) in enumerate(single())]
    return Export(
        write(folder / "home.csv", "\n".join(["id,ts,kwh", *rows])), named("home"), mend="--user @file", unit="kWh"
    )


@export
def a_number_of_the_row_beside_a_name(folder: Path) -> Export:
    rows = [f"{i},{m},{t},{v}" for i, ((m, t), v) in enumerate(TRUTH.items())]
    return Export(write(folder / "x.csv", "\n".join(["id,name,timestamp,value", *rows])))


@export
def an_index_before_columns_of_sensors(folder: Path) -> Export:
    others = dict(single("M1002"))
    rows = [f"{i},{t},{v},{others[t]}" for i, (t, v) in enumerate(single())]
    truth = {key: value for key, value in TRUTH.items() if key[0] != "M1003"}
    return Export(write(folder / "x.csv", "\n".join([",time,M1001,M1002", *rows])), truth)


@export
def two_energies_of_a_meter(folder: Path) -> Export:
    rows = [f"ES{m};{t:%Y/%m/%d};{t:%H:%M};{comma(v)};Real;{comma(v / 2)}" for (m, t), v in TRUTH.items()]
    text = "\n".join(["cups;fecha;hora;consumo_kWh;metodoObtencion;energiaVertida_kWh", *rows])
    truth = {(f"ES{m}", t): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.csv", text), truth, mend="--value 'consumo_kWh'", unit="kWh")


@export
def import_and_export_behind_a_preamble(folder: Path) -> Export:
    head = "Name,JANE\nAccount Number,123\n\nTYPE,DATE,START TIME,END TIME,IMPORT (kWh),EXPORT (kWh),COST,NOTES\n"
    rows = [f"Electric usage,{t:%Y-%m-%d},{t:%H:%M},{t + HALF_HOUR:%H:%M},{v},{v / 2},," for t, v in single()]
    source = write(folder / "home.csv", head + "\n".join(rows))
    return Export(source, named("home"), mend="--value 'IMPORT (kWh)'", unit="kWh")


@export
def tags_of_a_control_room(folder: Path) -> Export:
    rows = [f"PLANT.{m},{t:%d-%b-%Y %H:%M:%S},{v},{'Bad' if v == 0 else 'Good'}" for (m, t), v in TRUTH.items()]
    text = "\n".join(["TagName,TimeStamp,Value,Quality", *rows])
    truth = {(f"PLANT.{m}", t): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.csv", text), truth, notes="Quality calls 3 of the first 432 rows bad")


@export
def houses_over_a_row_of_units(folder: Path) -> Export:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    others = dict(single("M1002"))
    for row in (["", "House A", "House B"], ["Time", "kWh", "kWh"], *([t, v, others[t]] for t, v in single())):
        sheet.append(row)
    book.save(folder / "x.xlsx")
    names = {"M1001": "House A", "M1002": "House B"}
    truth = {(names[m], t): v for (m, t), v in TRUTH.items() if m in names}
    return Export(folder / "x.xlsx", truth, unit="kWh")


@export
def a_value_named_by_its_code(folder: Path) -> Export:
    rows = [f"1EMH{m};{t:%d.%m.%Y};{t:%H:%M:%S};000;{comma(v)}" for (m, t), v in TRUTH.items()]
    text = "\n".join(["Zählernummer;Datum;Zeit;Status;1-0:1.29.0*255", *rows])
    return Export(write(folder / "x.csv", text), {(f"1EMH{m}", t): v for (m, t), v in TRUTH.items()})


@export
def a_unit_at_the_start_of_a_name(folder: Path) -> Export:
    rows = [f"{t:%d.%m.%Y %H:%M};{t + HALF_HOUR:%d.%m.%Y %H:%M};{comma(v)};Målt" for t, v in single()]
    text = "\n".join(["Fra;Til;KWH 30 Forbruk;Kvalitet", *rows])
    return Export(write(folder / "home.csv", text), named("home"), unit="kWh")


@export
def hours_without_minutes(folder: Path) -> Export:
    truth = {key: value for key, value in TRUTH.items() if key[1].minute == 0}
    rows = [f"{t:%Y-%m-%dT%H},{m},Zone of {m},{v},megawatthours" for (m, t), v in truth.items()]
    text = "\n".join(["period,respondent,respondent-name,value,value-units", *rows])
    return Export(write(folder / "x.csv", text), truth, mend="--user 'respondent'", unit="MWh")


@export
def a_time_whose_name_says_nothing(folder: Path) -> Export:
    rows = [f"{m},{t}-06,{v},{v / 2}" for (m, t), v in TRUTH.items()]
    text = "\n".join(["dataid,local_15min,grid,solar", *rows])
    return Export(write(folder / "x.csv", text), options={"value": "grid"})


@export
def local_times_as_columns(folder: Path) -> Export:
    moments = [t for t, _ in single()]
    rows = [";".join([m, *(comma(TRUTH[m, t]) for t in moments)]) for m in METERS]
    text = "\n".join([";".join(["Meter", *(f"{t:%d.%m.%Y %H:%M}" for t in moments)]), *rows])
    return Export(write(folder / "x.csv", text))


@export
def directions_that_belong_together(folder: Path) -> Export:
    rows = [f"{m},{t},{'export' if v > 2 else 'import'},{v}" for (m, t), v in TRUTH.items()]
    text = "\n".join(["meter,time,direction,kWh", *rows])
    return Export(write(folder / "x.csv", text), mend="--value 'kWh'", unit="kWh")


Query = tuple[str, str, Truth]
"""A table that is refused, the query that its refusal offers with a file's name in it, and what it then holds."""


def queries(folder: Path) -> dict[str, Query]:
    """Tables that no option mends: a query does."""
    both = [
        f"{m},{sort},{t},{v + shift}" for (m, t), v in SMALL.items() for sort, shift in (("energy", 0), ("heat", 9))
    ]
    kinds = write(folder / "kinds.csv", "\n".join(["device,metric,timestamp,value", *both]))
    moments = sorted({t for _, t in SMALL})
    moments = [t for t in moments if all((m, t) in SMALL for m in METERS)]
    long = [f"{m},{t},{SMALL[m, t]}" for m in METERS for t in moments]
    sums = {t: sum(SMALL[m, t] for m in METERS) for t in moments}
    total = write(
        folder / "total.csv", "\n".join(["meter,time,kWh", *long, *(f"Total,{t},{s:.3f}" for t, s in sums.items())])
    )
    cells = [",".join([f"{t}", *(str(SMALL[m, t]) for m in METERS), f"{sums[t]:.3f}"]) for t in moments]
    wide = write(folder / "wide.csv", "\n".join([",".join(["time", *METERS, "Total"]), *cells]))
    warm = [",".join([f"{t}", *(str(SMALL[m, t]) for m in METERS), "18.5"]) for t in moments]
    houses = write(folder / "houses.csv", "\n".join(["time,house M1001,house M1002,house M1003,temperature", *warm]))
    first = [f"{m if t == moments[0] else ''},{t},{SMALL[m, t]}" for m in METERS for t in moments]
    down = write(folder / "down.csv", "\n".join(["meter,time,kwh", *first]))
    starred = write(folder / "star.csv", "\n".join(["meter,time,kWh", *(f"{line}*" for line in long)]))
    truth = {(m, t): SMALL[m, t] for m in METERS for t in moments}
    house = single(METERS[0])
    states = [
        f"sensor.{name},{v + shift},{t}" for t, v in house for name, shift in (("house", 0), ("hall_humidity", 45))
    ]
    history = write(folder / "history.csv", "\n".join(["entity_id,state,last_changed", *states]))
    sides = [("sensor.grid", "grid_consumption", 0), ("sensor.roof", "solar_production", 3)]
    energy = [",".join(["entity_id,type,unit", *(f"{t.isoformat()}" for t, _ in house)])]
    energy += [",".join([name, kind, "kWh", *(str(v + shift) for _, v in house)]) for name, kind, shift in sides]
    dashboard = write(folder / "dashboard.csv", "\n".join(energy))
    return {
        "a humidity among sensors": (
            str(history),
            """select * from readings where trim(cast("entity_id" as varchar)) in ('sensor.house')""",
            {("sensor.house", t): v for t, v in house},
        ),
        "production beside consumption": (
            str(dashboard),
            """select * from readings where trim(cast("type" as varchar)) in ('grid_consumption')""",
            {("sensor.grid", t): v for t, v in house},
        ),
        "a temperature beside houses": (
            str(houses),
            "select * exclude",
            {(f"house {m}", t): v for (m, t), v in truth.items()},
        ),
        "two kinds of readings": (str(kinds), "select * from", dict(SMALL)),
        "a total among users": (str(total), "select * from", truth),
        "a total among columns": (str(wide), "select * exclude", truth),
        "a name for the rows below it": (str(down), "select * replace", truth),
        "a star behind numbers": (str(starred), "select * replace", truth),
    }
