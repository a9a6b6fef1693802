"""More exports: in the formats that meters, suppliers and home automation have for their data; made after their
public documentation."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.data.exports import HALF_HOUR, METERS, START, TRUTH, Export, Truth, comma, export, write
from tests.data.exports_of_devices import named, single

OHIO = -5 * 3600
"""Seconds from UTC to the clock of the feed, in winter."""


def epoch(moment: datetime, offset: int = 0) -> int:
    return int(moment.replace(tzinfo=UTC).timestamp()) - offset


def entry(address: str, content: str, related: Iterable[str] = ()) -> str:
    links = "".join(f'<link rel="related" href="{each}"/>' for each in related)
    return f'<entry><link rel="self" href="{address}"/>{links}<title/><content>{content}</content></entry>'


CLOCK = (
    "<LocalTimeParameters><dstEndRule>B40E2000</dstEndRule><dstOffset>3600</dstOffset>"
    f"<dstStartRule>360E2000</dstStartRule><tzOffset>{OHIO}</tzOffset></LocalTimeParameters>"
)


def kind(flow: int = 1, uom: int = 72, power: int = 0) -> str:
    return (
        f"<ReadingType><commodity>1</commodity><flowDirection>{flow}</flowDirection><intervalLength>1800"
        f"</intervalLength><powerOfTenMultiplier>{power}</powerOfTenMultiplier><uom>{uom}</uom></ReadingType>"
    )


def block(rows: Sequence[tuple[datetime, float]], scale: float, offset: int = OHIO) -> str:
    readings = "".join(
        f"<IntervalReading><cost>907</cost><timePeriod><duration>1800</duration><start>{epoch(t, offset)}</start>"
        f"</timePeriod><value>{round(v * scale)}</value></IntervalReading>"
        for t, v in rows
    )
    period = "<interval><duration>86400</duration><start>0</start></interval>"
    return f"<IntervalBlock>{period}{readings}</IntervalBlock>"


def feed(parts: Iterable[str], prefix: str = "") -> str:
    text = "".join(parts)
    if prefix:
        for name in ("UsagePoint", "MeterReading", "ReadingType", "IntervalBlock", "LocalTimeParameters"):
            text = text.replace(f"<{name}", f"<{prefix}:{name}").replace(f"</{name}", f"</{prefix}:{name}")
    space = f'xmlns{f":{prefix}" if prefix else ""}="http://naesb.org/espi"'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns:a="http://www.w3.org/2005/Atom" {space}>{text}</feed>'


def point(number: int, rows: Sequence[tuple[datetime, float]], scale: float, types: Iterable[int] = (1,)) -> list[str]:
    """The entries of a meter; a block holds a day."""
    mine = f"https://data.example/espi/1_1/resource/Subscription/5/UsagePoint/{number:02}"
    parts = [entry(mine, "<UsagePoint/>")]
    for each in types:
        series = f"{mine}/MeterReading/{each:02}"
        type_of = f"https://data.example/espi/1_1/resource/ReadingType/{each:02}"
        parts.append(entry(series, "<MeterReading/>", [f"{series}/IntervalBlock", type_of]))
        parts += [
            entry(f"{series}/IntervalBlock/{day}", block(rows[48 * day : 48 * day + 48], scale)) for day in range(3)
        ]
    return parts


def type_of(number: int, **more: int) -> str:
    return entry(f"https://data.example/espi/1_1/resource/ReadingType/{number:02}", kind(**more))


@export
def green_button(folder: Path) -> Export:
    parts = [*point(1, single(), 1000), type_of(1), entry("https://data.example/LocalTimeParameters/1", CLOCK)]
    truth = {("5/01", t): 1000 * v for t, v in single()}
    return Export(write(folder / "home.xml", feed(parts)), truth, unit="Wh", notes="-05:00")


@export
def green_button_of_several_meters_in_tens_of_watt_hours(folder: Path) -> Export:
    parts = [type_of(1, power=1), entry("https://data.example/LocalTimeParameters/1", CLOCK)]
    for i, meter in enumerate(METERS):
        parts += point(i + 1, [(t, round(v, 2)) for t, v in single(meter)], 100)
    truth = {(f"5/{METERS.index(m) + 1:02}", t): round(1000 * round(v, 2)) for (m, t), v in TRUTH.items()}
    return Export(write(folder / "home.xml", feed(parts, "espi")), truth, unit="Wh")


@export
def green_button_in_thousandths_without_a_clock(folder: Path) -> Export:
    parts = [type_of(1, power=-3), *point(1, single(), 1_000_000)]
    truth = {("5/01", t - timedelta(seconds=OHIO)): 1000 * v for t, v in single()}
    return Export(write(folder / "home.xml", feed(parts)), truth, unit="Wh")


def nem12(channels: Sequence[tuple[str, str, str]], head: bool = True) -> str:
    lines = ["100,NEM12,201301021200,MDPX,RETAILER"] if head else []
    for meter, channel, name in channels:
        lines.append(f"200,{meter},E1B1,{channel},{channel},N1,METER01,kWh,30,20130201")
        rows = single(name)
        for day in range(3):
            cells = [f"{v:g}" for _, v in rows[48 * day : 48 * day + 48]]
            lines.append(f"300,{START + timedelta(days=day):%Y%m%d},{','.join(cells)},A,,,20130103120000,")
    return "\n".join([*lines, "900"] if head else lines)


NMIS = {meter: f"61{meter[1:]}0000" for meter in METERS}


@export
def a_market_file_of_australia(folder: Path) -> Export:
    text = nem12([(NMIS[meter], "E1", meter) for meter in METERS])
    truth = {(NMIS[m], t): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.csv", text), truth, unit="kWh", notes="UTC+10")


@export
def a_market_file_whose_first_record_is_cut_off(folder: Path) -> Export:
    text = nem12([(NMIS[METERS[0]], "E1", METERS[0])], head=False)
    return Export(write(folder / "x.csv", text), {(NMIS[METERS[0]], t): v for t, v in single()}, unit="kWh")


@export
def a_market_file_with_intervals_that_are_not_available(folder: Path) -> Export:
    text = nem12([(NMIS[METERS[0]], "E1", METERS[0])]).replace(",A,,,", ",V,,,", 1)
    first, rest = text.split("\n300,", 1)
    record, others = rest.split("\n", 1)
    text = f"{first}\n300,{record}\n400,1,20,A,,\n400,21,24,N,,\n400,25,48,S14,51,\n{others}"
    truth = {(NMIS[METERS[0]], t): v for t, v in single() if not START + 20 * HALF_HOUR <= t < START + 24 * HALF_HOUR}
    return Export(write(folder / "x.csv", text), truth, unit="kWh")


def telegram(time: datetime, taken: Sequence[float], fed: float = 0.0, gas: float | None = None) -> str:
    lines = ["/ISK5\\2M550T-1012", "", "1-3:0.2.8(50)", f"0-0:1.0.0({time:%y%m%d%H%M%S}W)"]
    lines.append(f"0-0:96.1.1({b'E0044007'.hex().upper()})")
    lines += [f"1-0:1.8.{i + 1}({each:010.3f}*kWh)" for i, each in enumerate(taken)]
    lines += [f"1-0:2.8.1({fed:010.3f}*kWh)", "1-0:2.8.2(000000.000*kWh)", "0-0:96.14.0(0001)", "1-0:1.7.0(00.328*kW)"]
    if gas is not None:
        lines += ["0-1:24.1.0(003)", f"0-1:96.1.0({b'G0058530'.hex().upper()})"]
        lines.append(f"0-1:24.2.1({time:%y%m%d%H}0000W)({gas:09.3f}*m3)")
    return "\r\n".join([*lines, "!AB12", ""])


def states(rows: Sequence[tuple[datetime, float]]) -> list[tuple[datetime, float]]:
    """The states of a register before each reading, and after the last."""
    found, state = [], 1000.0
    for t, v in rows:
        found.append((t, round(state, 3)))
        state += v
    return [*found, (rows[-1][0] + HALF_HOUR, round(state, 3))]


@export
def telegrams_of_a_meters_port(folder: Path) -> Export:
    text = "".join(telegram(t, [state, 2000.0]) for t, state in states(single()))
    truth = {("E0044007", t): v for t, v in single()}
    return Export(write(folder / "p1.log", text), truth, mend="--register", unit="kWh", notes="+01:00")


def answer(entities: dict[str, list[dict[str, Any]]]) -> str:
    return json.dumps({"id": 24, "type": "result", "success": True, "result": entities})


def hours(meter: str) -> list[tuple[datetime, float]]:
    rows = single(meter)
    return [(rows[i][0], round(rows[i][1] + rows[i + 1][1], 3)) for i in range(0, len(rows), 2)]


def statistics(meter: str) -> list[dict[str, Any]]:
    found, total = [], 0.0
    for t, v in hours(meter):
        total += v
        start = 1000 * epoch(t)
        found.append({"start": start, "end": start + 3_600_000, "state": 50 + total, "sum": total, "change": v})
    return found


@export
def statistics_of_home_automation(folder: Path) -> Export:
    text = answer({f"sensor.{meter}": statistics(meter) for meter in METERS})
    truth = {(f"sensor.{meter}", t): v for meter in METERS for t, v in hours(meter)}
    return Export(write(folder / "x.json", text), truth)


@export
def sums_of_one_entity_of_home_automation(folder: Path) -> Export:
    text = answer({"sensor.grid": statistics(METERS[0])})
    truth = {("sensor.grid", t): v for t, v in hours(METERS[0])[1:]}
    return Export(write(folder / "x.json", text), truth, {"value": "sum"}, mend="--register")


@export
def history_of_home_automation_with_names_once(folder: Path) -> Export:
    entities = []
    for meter in METERS:
        rows = [{"state": str(v), "last_changed": f"{t.isoformat()}+00:00"} for t, v in single(meter)]
        whose = {"entity_id": f"sensor.{meter}", "attributes": {"unit_of_measurement": "kWh", "device_class": "energy"}}
        entities.append([{**whose, **rows[0]}, *rows[1:]])
    truth = {(f"sensor.{m}", t): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.json", json.dumps(entities)), truth, unit="kWh")


@export
def a_page_of_a_dashboard_of_home_automation(folder: Path) -> Export:
    times = [t for t, _ in single()]
    head = ",".join(["entity_id", "type", "unit", *(f"{t.isoformat()}.000Z" for t in times)])
    rows = [f"sensor.{m},grid_consumption,kWh,{','.join(str(TRUTH[m, t]) for t in times)}" for m in METERS]
    truth = {(f"sensor.{m}", t): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.csv", "\n".join([head, *rows])), truth, unit="kWh")


@export
def homes_of_a_supplier_with_prices(folder: Path) -> Export:
    homes = []
    for i, meter in enumerate(METERS):
        nodes = [
            {"from": f"{t.isoformat()}.000+01:00", "to": f"{(t + HALF_HOUR).isoformat()}.000+01:00"}
            | {"cost": 1.2 * v, "unitPrice": 1.2, "consumption": v, "consumptionUnit": "kWh"}
            for t, v in single(meter)
        ]
        homes.append({"id": f"9{i}a14971-525a-4420-aae9-e5aedaa129ff", "consumption": {"nodes": nodes}})
    page = {"data": {"viewer": {"homes": homes}}}
    truth = {(f"9{METERS.index(m)}a14971-525a-4420-aae9-e5aedaa129ff", t): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.json", json.dumps(page)), truth, unit="kWh")


@export
def a_meter_with_the_times_of_the_request(folder: Path) -> Export:
    values = [{"timestamp": f"{t:%Y-%m-%d %H:%M}", "value": v} for t, v in single()]
    page = {"resource": "/electricity/consumption/1", "responseTimestamp": "2013-01-09T10:00:00.000Z"}
    page |= {"start": "201212300000", "end": "201301020000", "granularity": "halfhour", "unit": "kWh"}
    more = {"values": values, "availableCacheRange": {"start": "201201010000", "end": "201301020000"}}
    return Export(write(folder / "home.json", json.dumps(page | more)), named("home"), unit="kWh")


def _french(rows: Sequence[tuple[datetime, float]]) -> Truth:
    return {("16401220101758", t): round(1000 * v) for t, v in rows}


@export
def a_load_curve_of_the_french_grid(folder: Path) -> Export:
    readings = [
        {"value": str(round(1000 * v)), "date": f"{t + HALF_HOUR:%Y-%m-%d %H:%M:%S}", "interval_length": "PT30M"}
        for t, v in single()
    ]
    page = {"usage_point_id": "16401220101758", "start": "2012-12-30", "end": "2013-01-02", "quality": "BRUT"}
    page |= {"reading_type": {"unit": "W", "measurement_kind": "power"}, "interval_reading": readings}  # type: ignore[dict-item]
    return Export(write(folder / "x.json", json.dumps({"meter_reading": page})), _french(single()), unit="W")


@export
def a_load_curve_of_the_french_grid_as_text(folder: Path) -> Export:
    head = (
        "Identifiant PRM;Type de donnees;Date de debut;Date de fin;Unite\n16401220101758;Courbe;30/12/2012;02/01/2013;W"
    )
    rows = [f"{(t + HALF_HOUR).isoformat()}+01:00;{round(1000 * v)}" for t, v in single()]
    truth = {("home", t): round(1000 * v) for t, v in single()}
    return Export(write(folder / "home.csv", "\n".join([head, "Horodate;Valeur", *rows])), truth, notes="ends of")


@export
def an_austrian_grid_with_the_point_in_every_row(folder: Path) -> Export:
    rows = [f"AT00310{m};{t:%d.%m.%Y %H:%M};{comma(v)};valid" for (m, t), v in TRUTH.items()]
    text = "\n".join(["Zählpunkt;Datum;Messwert (kWh);Status", *rows])
    truth = {(f"AT00310{m}", t): v for (m, t), v in TRUTH.items()}
    return Export(write(folder / "x.csv", text, "utf-8-sig"), truth, unit="kWh")


@export
def an_austrian_grid_with_one_point(folder: Path) -> Export:
    rows = [f"AT0031000000000000000000012345678;{t:%d.%m.%Y %H:%M};{comma(v)}" for t, v in single()]
    text = "\n".join(["Zählpunkt;Datum;Messwert (kWh)", *rows])
    truth = {("AT0031000000000000000000012345678", t): v for t, v in single()}
    return Export(write(folder / "x.csv", text, "cp1252"), truth, unit="kWh")


@export
def a_plug_that_measures_two_directions(folder: Path) -> Export:
    rows = [f"{t:%Y-%m-%d %H:%M},{1000 * v:.2f},0.00,229.10,233.40" for t, v in single()]
    text = "\n".join(["Date/time UTC,Active energy Wh,Returned energy Wh,Min V,Max V", *rows])
    truth = {("home", t): round(1000 * v, 2) for t, v in single()}
    return Export(write(folder / "home.csv", text), truth, mend="--value 'Active energy Wh'", unit="Wh")


def _ends(rows: Sequence[tuple[datetime, float]]) -> list[tuple[datetime, float]]:
    return [(t + HALF_HOUR, v) for t, v in rows]


@export
def a_grid_whose_whole_days_end_at_midnight(folder: Path) -> Export:
    rows = [f"{t:%d.%m.%Y %H:%M};{comma(v)};" for t, v in _ends(single())]
    text = "\n".join(["Messzeitpunkt;Gemessener Verbrauch (kWh);Ersatzwert", *rows])
    return Export(write(folder / "home.csv", text), named("home"), unit="kWh", notes="ends of")


@export
def a_grid_whose_days_end_at_midnight_in_two_columns(folder: Path) -> Export:
    rows = [f"{t:%Y/%m/%d};{t:%H:%M};{comma(v)};Real" for t, v in _ends(single())]
    text = "\n".join(["CPE;PT0002000123456789AN", "Data;Hora;Consumo registado (kWh);Estado", *rows])
    return Export(write(folder / "home.csv", text), named("home"), unit="kWh", notes="ends of")


@export
def a_load_curve_that_says_it_is_by_its_ends(folder: Path) -> Export:
    rows = [f"{t.isoformat()}+01:00;{v}" for t, v in _ends(single()[:-1])]
    text = "\n".join(["Identifiant PRM;16401220101758;", "horodate ISO fin de pas;puissance moyenne (kW)", *rows])
    truth = {("home", t): v for t, v in single()[:-1]}
    return Export(write(folder / "home.csv", text), truth, unit="kW", notes="ends of")


@export
def a_spanish_answer_by_hours_that_end(folder: Path) -> Export:
    hourly = [(START + timedelta(hours=i), v) for i, (_, v) in enumerate(single()[:72])]
    rows = [
        {"cups": "ES0021", "date": f"{t:%Y/%m/%d}", "time": f"{t.hour + 1:02}:00", "consumptionKWh": v}
        for t, v in hourly
    ]
    truth = {("ES0021", t): v for t, v in hourly}
    return Export(write(folder / "x.json", json.dumps(rows)), truth, notes="ends of")


@export
def an_american_utility_with_a_column_that_no_row_has(folder: Path) -> Export:
    rows = [f"Electric usage,{t:%Y-%m-%d,%H:%M},{t + timedelta(minutes=29):%H:%M},{v}" for t, v in single()]
    head = ["Name,JANE DOE", "Service,Service 1", "", "TYPE,DATE,START TIME,END TIME,USAGE (kWh),NOTES"]
    return Export(write(folder / "home.csv", "\n".join([*head, *rows])), named("home"), unit="kWh")


@export
def the_counters_of_one_meter_by_tariff_with_gas(folder: Path) -> Export:
    rows = [f"{t.isoformat()},{v},0.0,0.0,0.5" for t, v in single()]
    head = "Half-hour,Electricity 1 (Low Tariff),Electricity 2 (Normal Tariff),Electricity 1 Returned,Gas"
    mend = "--value 'Electricity 1 (Low Tariff)'"
    said = {"user": "@file"}
    return Export(write(folder / "home.csv", "\n".join([head, *rows])), named("home"), said, mend=mend)


@export
def a_plug_with_a_total_beside_its_power(folder: Path) -> Export:
    total, lines = 1234.5, []
    for t, v in [*single(), (single()[-1][0] + HALF_HOUR, 0.0)]:
        reading = {"Total_in": round(total, 3), "Total_out": 3.5, "Power_curr": 200}
        lines.append(json.dumps({"Time": t.isoformat(), "SML": reading}))
        total += v
    text = "\n".join(lines)
    return Export(write(folder / "home.jsonl", text), named("home"), {"register": True}, mend="--value 'Total_in'")


@export
def series_of_a_monitoring_system(folder: Path) -> Export:
    found = [
        {"metric": {"__name__": "energy_kwh", "instance": m}, "values": [[epoch(t), str(v)] for t, v in single(m)]}
        for m in METERS
    ]
    page = {"status": "success", "data": {"resultType": "matrix", "result": found}}
    return Export(write(folder / "x.json", json.dumps(page)), dict(TRUTH))
