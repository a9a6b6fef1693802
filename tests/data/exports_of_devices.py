"""More exports: as portals, inverters, loggers and home automation write them; added to those of `exports`."""

import bz2
import csv
import io
import json
import lzma
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.data.exports import HALF_HOUR, METERS, START, TRUTH, Export, Truth, comma, export, lines, number, write

DAY = timedelta(days=1)
SECOND_PASSING = timedelta(microseconds=1)


def single(meter: str = METERS[0]) -> list[tuple[datetime, float]]:
    """The readings of one meter."""
    return [(moment, value) for (name, moment), value in TRUTH.items() if name == meter]


def named(user: str) -> Truth:
    """The same under the name of a file."""
    return {(user, moment): value for moment, value in single()}


@export
def a_portal_with_start_end_and_cost(folder: Path) -> Export:
    head = 'Name,JANE DOE\nAddress,"1 MAIN ST, SPRINGFIELD"\nAccount Number,1234567890\n\n'
    head += "TYPE,DATE,START TIME,END TIME,USAGE,UNITS,COST,NOTES\n"
    rows = [f"Electric usage,{t:%Y-%m-%d},{t:%H:%M},{t + HALF_HOUR:%H:%M},{v},kWh,${v / 4:.2f}," for t, v in single()]
    return Export(write(folder / "home.csv", head + "\n".join(rows)), named("home"), unit="kWh")


@export
def a_portal_with_two_instants(folder: Path) -> Export:
    rows = [f"{v},{v / 5:.2f}, {t.isoformat()}+00:00, {(t + HALF_HOUR).isoformat()}+00:00" for t, v in single()]
    text = "\n".join(["Consumption (kwh), Estimated Cost Inc. Tax (p), Start, End", *rows])
    return Export(write(folder / "home.csv", text), named("home"), unit="kWh")


@export
def per_half_hour_in_the_name(folder: Path) -> Export:
    rows = [f"MAC{m},Std,{t}.0000000, {v} ,ACORN-A" for (m, t), v in TRUTH.items()]
    text = "\n".join(["LCLid,stdorToU,DateTime,KWH/hh (per half hour) ,Acorn", *rows])
    return Export(write(folder / "x.csv", text), {(f"MAC{m}", t): v for (m, t), v in TRUTH.items()}, unit="kWh")


@export
def home_automation_with_states(folder: Path) -> Export:
    rows = [f"sensor.{m},{v},{t.isoformat()}.000Z" for (m, t), v in TRUTH.items()]
    rows[50:50] = [
        f"sensor.M1001,{word},2012-12-29T0{i}:00:00.000Z" for i, word in enumerate(("unavailable", "unknown"))
    ]
    text = "\n".join(["entity_id,state,last_changed", *rows])
    return Export(write(folder / "x.csv", text), {(f"sensor.{m}", t): v for (m, t), v in TRUTH.items()})


def _seconds(moment: datetime) -> int:
    return int(moment.replace(tzinfo=UTC).timestamp())


@export
def a_feed_of_seconds_without_names(folder: Path) -> Export:
    return Export(write(folder / "feed.csv", "\n".join(f"{_seconds(t)},{v}" for t, v in single())), named("feed"))


@export
def a_feed_of_milliseconds_in_lists(folder: Path) -> Export:
    return Export(
        write(folder / "feed.json", json.dumps([[_seconds(t) * 1000, v] for t, v in single()])), named("feed")
    )


@export
def an_inverter_with_two_rows_of_names(folder: Path) -> Export:
    rows = [f"{t:%d.%m.%Y %H:%M};{comma(v * 1000)};{comma(v)}" for t, v in single()]
    head = ["Date and time;Energy | Inverter (1);PV production", "[dd.MM.yyyy HH:mm];[Wh];[Wh]"]
    truth = {key: value * 1000 for key, value in named("roof").items()}
    text = "\n".join([*head, *rows])
    return Export(
        write(folder / "roof.csv", text), truth, unit="Wh", notes="columns of numbers left out: PV production"
    )


@export
def an_inverter_with_six_rows_of_names(folder: Path) -> Export:
    head = ["sep=;", "Version CSV1|Linebreaks CR/LF|Decimalpoint comma", "", ";SN: 200123;SN: 200123", ";200123;200123"]
    head += [";Total yield;Power", ";Counter;Analog", "dd/MM/yyyy HH:mm:ss;kWh;kW"]
    rows = [f"{t:%d/%m/%Y %H:%M:%S};{comma(5000 + i)};{comma(v)}" for i, (t, v) in enumerate(single())]
    options = {"value": "Analog", "user": "@file"}
    text = "\r\n".join([*head, *rows])
    return Export(write(folder / "roof.csv", text), named("roof"), options, unit="kW")


@export
def quoted_thousands_in_watt_hours(folder: Path) -> Export:
    truth = {key: round(value * 1000, 1) for key, value in TRUTH.items()}
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(
        [("meter", "time", "Wh"), *((m, f"{t}", f"{v:,.1f}") for (m, t), v in truth.items())]
    )
    return Export(write(folder / "x.csv", out.getvalue()), truth, unit="Wh")


@export
def feed_in_with_a_minus_behind(folder: Path) -> Export:
    truth = {key: round(value - 1, 3) for key, value in TRUTH.items()}
    text = lines(show=lambda v: f"{abs(v):.3f}{'-' if v < 0 else ''}", header="meter,time,kWh", truth=truth)
    return Export(write(folder / "x.csv", text), truth, unit="kWh")


@export
def feed_in_in_brackets_or_with_a_printed_minus(folder: Path) -> Export:
    truth = {key: round(value - 1, 3) for key, value in TRUTH.items()}
    show = {
        "M1001": lambda v: f"({-v:.3f})" if v < 0 else f"{v:.3f}",
        "M1002": lambda v: f"{v:.3f}".replace("-", "\u2212"),
    }
    rows = [f"{m},{t},{show.get(m, str)(v)}" for (m, t), v in truth.items()]
    return Export(write(folder / "x.csv", "\n".join(["meter,time,value", *rows])), truth)


@export
def units_in_the_cells(folder: Path) -> Export:
    text = lines(show=lambda v: f"{v * 1000:.0f} Wh" if v < 0.5 else f"{v} kWh", header="meter,time,consumption")
    return Export(write(folder / "x.csv", text), unit="kWh")


@export
def days_of_a_sheet_in_text(folder: Path) -> Export:
    rows = [f"{m},{(t - datetime(1899, 12, 30)) / DAY:.5f},{v}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["meter,time,kWh", *rows])), unit="kWh")


def _to_midnight(moment: datetime, form: str) -> str:
    ended = moment.hour == 0 and moment.minute == 0
    return (moment - DAY).strftime(form).replace("00:00", "24:00") if ended else moment.strftime(form)


@export
def midnight_as_24(folder: Path) -> Export:
    rows = [f"{m},{_to_midnight(t, '%Y-%m-%d %H:%M')},{v}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["meter,time,value", *rows])))


@export
def midnight_as_24_in_local_dates(folder: Path) -> Export:
    rows = [f"{m};{_to_midnight(t, '%d.%m.%Y %H:%M')};{comma(v)}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["meter;time;value", *rows])))


@export
def intervals_of_the_clock(folder: Path) -> Export:
    rows = [f"{m},{t:%d/%m/%Y},{t:%H:%M} - {t + HALF_HOUR:%H:%M},{v}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["meter,date,interval,kWh", *rows])), unit="kWh")


@export
def from_and_to_in_german(folder: Path) -> Export:
    rows = [f"{m};{t:%d.%m.%Y %H:%M};{t + HALF_HOUR:%d.%m.%Y %H:%M};{comma(v)}" for (m, t), v in TRUTH.items()]
    return Export(write(folder / "x.csv", "\n".join(["Zähler;Von;Bis;kWh", *rows])), unit="kWh")


@export
def months_before_days(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%b %d, %Y %I:%M %p", delimiter=";")))


@export
def a_word_for_the_zone(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%Y-%m-%d %H:%M CET")))


@export
def utc_behind_the_time(folder: Path) -> Export:
    return Export(write(folder / "x.csv", lines("%Y-%m-%d %H:%M:%S UTC")))


@export
def the_zone_in_brackets(folder: Path) -> Export:
    text = lines("%Y-%m-%dT%H:%M:%S+01:00[Europe/Zurich]")
    return Export(write(folder / "x.csv", text), options={"tz": "Europe/Zurich"})


@export
def offsets_over_a_clock_change_in_their_zone(folder: Path) -> Export:
    rows, truth = ["meter,time,value"], {}
    for i in range(12):
        utc = datetime(2012, 10, 27, 22) + i * HALF_HOUR
        hours = 2 if utc < datetime(2012, 10, 28, 1) else 1
        local = utc + timedelta(hours=hours)
        rows.append(f"M1001,{local.isoformat()}+0{hours}:00,{i / 4}")
        again = datetime(2012, 10, 28, 1) <= utc < datetime(2012, 10, 28, 2)
        truth["M1001", local + (SECOND_PASSING if again else timedelta(0))] = i / 4
    return Export(write(folder / "x.csv", "\n".join(rows)), truth, {"tz": "Europe/Zurich"})


def _autumn(meter: str, parts: int) -> Truth:
    """Hourly readings of the day on which clocks go back in London, by a clock that shows 01:00 twice."""
    utc = [datetime(2012, 10, 27, 23) + timedelta(hours=i) * 24 / parts for i in range(parts * 25 // 24)]
    truth = {}
    for i, moment in enumerate(utc):
        local = moment + timedelta(hours=1 if moment < datetime(2012, 10, 28, 1) else 0)
        again = datetime(2012, 10, 28, 1) <= moment < datetime(2012, 10, 28, 2)
        truth[meter, local + (SECOND_PASSING if again else timedelta(0))] = 1.0 + i % 5
    return truth


@export
def a_25th_hour(folder: Path) -> Export:
    usual = {("M1", datetime(2012, 10, 27) + timedelta(hours=i)): 1.0 + i % 7 for i in range(24)}
    autumn = _autumn("M1", 24)
    rows = ["meter,date," + ",".join(f"h{i + 1}" for i in range(25))]
    rows += ["M1,2012-10-27," + ",".join(map(str, usual.values())) + ","]
    rows += ["M1,2012-10-28," + ",".join(map(str, autumn.values()))]
    return Export(write(folder / "x.csv", "\n".join(rows)), usual | autumn, {"tz": "Europe/London"})


@export
def fifty_settlement_periods(folder: Path) -> Export:
    autumn = _autumn("M1", 48)
    later = {("M1", datetime(2012, 10, 29) + i * HALF_HOUR): 2.0 + i % 3 for i in range(48)}
    rows = [f"M1,2012-10-28,{i + 1},{v}" for i, v in enumerate(autumn.values())]
    rows += [f"M1,2012-10-29,{i + 1},{v}" for i, v in enumerate(later.values())]
    text = "\n".join(["mpan,settlement_date,settlement_period,kwh", *rows])
    return Export(write(folder / "x.csv", text), autumn | later, {"tz": "Europe/London"}, unit="kWh")


@export
def the_second_02_00_by_name(folder: Path) -> Export:
    clocks = [f"{hour:02}:00" for hour in range(24)]
    rows = ["meter,date," + ",".join([*clocks, "02:00B"])]
    truth: Truth = {}
    for day in (27, 28, 29):
        start = datetime(2012, 10, day)
        values = [1.0 + (hour + day) % 6 for hour in range(24)]
        truth |= {("M1", start + timedelta(hours=hour)): value for hour, value in enumerate(values)}
        rows.append(f"M1,{start:%Y-%m-%d}," + ",".join(map(str, values)) + (",9.5" if day == 28 else ","))
    truth["M1", datetime(2012, 10, 28, 2) + SECOND_PASSING] = 9.5
    return Export(write(folder / "x.csv", "\n".join(rows)), truth)


@export
def a_delimiter_behind_every_row(folder: Path) -> Export:
    head, *rows = lines(delimiter=";").splitlines()
    return Export(write(folder / "x.csv", "\n".join([head, *(f"{row};" for row in rows)])))


@export
def files_put_together_with_their_headers(folder: Path) -> Export:
    parts = [lines(truth={key: v for key, v in TRUTH.items() if key[0] == meter}) for meter in METERS]
    return Export(write(folder / "x.csv", parts[0] + parts[1].replace("\n", "\r\n") + parts[2]))


@export
def blanks_behind_some_users(folder: Path) -> Export:
    rows = [f"{m}{' ' * (i % 2)},{t},{v}" for i, ((m, t), v) in enumerate(TRUTH.items())]
    return Export(write(folder / "x.csv", "\n".join(["meter,time,value", *rows])))


@export
def zero_bytes_of_a_logger(folder: Path) -> Export:
    text = lines()
    cut = text.index("\n", len(text) // 2) + 1
    return Export(
        write(folder / "x.csv", text[:cut] + "\0" * 300 + text[cut:]), notes="300 zero bytes are left out of x.csv"
    )


@export
def notes_over_several_lines(folder: Path) -> Export:
    out = io.StringIO()
    rows = [(m, f"{t}", v, "checked\nby hand") for (m, t), v in TRUTH.items()]
    csv.writer(out).writerows([("meter", "time", "value", "note"), *rows])
    return Export(write(folder / "x.csv", out.getvalue()))


@export
def an_empty_file_in_the_folder(folder: Path) -> Export:
    for name in METERS:
        rows = [f"{t},{v}" for t, v in single(name)]
        write(folder / "in" / f"{name}.csv", "\n".join(["time,value", *rows]))
    write(folder / "in" / "M1004.csv", "")
    write(folder / "in" / "M1005.csv", "time,value\n")
    return Export(folder / "in", notes="left out, no readings in it: M1004.csv")


@export
def bzip2(folder: Path) -> Export:
    (folder / "x.csv.bz2").write_bytes(bz2.compress(lines().encode()))
    return Export(folder / "x.csv.bz2")


@export
def xz(folder: Path) -> Export:
    (folder / "x.csv.xz").write_bytes(lzma.compress(lines(show=comma, delimiter=";").encode()))
    return Export(folder / "x.csv.xz")


@export
def tar_with_a_file_a_meter(folder: Path) -> Export:
    with tarfile.open(folder / "x.tar.gz", "w:gz") as archive:
        for name in METERS:
            text = "\n".join(["time,value", *(f"{t},{v}" for t, v in single(name))]).encode()
            member = tarfile.TarInfo(f"export/{name}.csv")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return Export(folder / "x.tar.gz")


@export
def codes_for_nothing(folder: Path) -> Export:
    rows = lines().splitlines() + [f"M1001,{START - (i + 1) * HALF_HOUR},-9999" for i in range(20)]
    truth = {key: min(value, 3.0) for key, value in TRUTH.items()}
    text = "\n".join(rows).replace(number(1234.5), "3")
    return Export(write(folder / "x.csv", text), truth, mend="--min")


@export
def columns_of_houses(folder: Path) -> Export:
    moments = sorted({t for _, t in TRUTH})
    rows = [",".join([f"{t}", *(f"{TRUTH[m, t]}" for m in METERS)]) for t in moments]
    text = "\n".join([",".join(["timestamp", *(f"house{m[1:]}" for m in METERS)]), *rows])
    return Export(write(folder / "x.csv", text), {(f"house{m[1:]}", t): v for (m, t), v in TRUTH.items()})
