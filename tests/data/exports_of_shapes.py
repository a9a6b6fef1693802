"""Tables of other shapes, and readings that are not plainly usable: registers, units, duplicates, odd values."""

from datetime import datetime, timedelta
from pathlib import Path

import duckdb

from tests.data.exports import HALF_HOUR, METERS, START, STEPS, TRUTH, Export, comma, export, lines, write


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
def a_title_in_the_first_cell_of_a_row_of_commas(folder: Path) -> Export:
    days = sorted({moment.date() for _, moment in TRUTH})
    starts = [START + i * HALF_HOUR for i in range(48)]
    cells = [
        [meter, f"{day:%-d-%b-%y}", *(str(TRUTH[meter, datetime.combine(day, t.time())]) for t in starts)]
        for meter in METERS
        for day in days
    ]
    header = ["Customer", "date", *(f"{t + HALF_HOUR:%-H:%M}" for t in starts)]
    title = ["Solar home data, 30 December 2012 to 1 January 2013", *[""] * (len(header) - 1)]
    text = "\n".join(";".join(row) for row in [title, header, *cells])
    return Export(write(folder / "x.csv", text))
