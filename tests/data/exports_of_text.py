"""How countries and programs write numbers and times in a plain table."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq

from tests.data.exports import HALF_HOUR, TRUTH, Export, comma, export, lines, number, panel, rows_of, table_of, write


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
    pq.write_table(table_of(rows), folder / "x.parquet")
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


@export
def clocks_go_back(folder: Path) -> Export:
    """Local times of the autumn night in which 02:00 comes twice, with their offsets."""
    utc = [datetime(2012, 10, 28, tzinfo=UTC) + i * HALF_HOUR for i in range(8)]
    rows, truth = ["meter,time,value"], {}
    for i, moment in enumerate(utc):
        offset = timedelta(hours=2 if moment.hour < 1 else 1)
        shown = (moment + offset).replace(tzinfo=None)
        rows.append(f"M1001,{shown.isoformat()}+0{offset.seconds // 3600}:00,{i / 4}")
        again = timedelta(microseconds=2 <= i < 4)
        truth["M1001", shown + again] = i / 4
    return Export(write(folder / "x.csv", "\n".join(rows)), truth)


def _epoch(factor: int) -> str:
    rows = [f"{m},{int(t.replace(tzinfo=UTC).timestamp()) * factor},{v}" for m, t, v in rows_of()]
    return "\n".join(["meter,ts,value", *rows])


@export
def epoch_seconds(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _epoch(1)))


@export
def epoch_milliseconds(folder: Path) -> Export:
    return Export(write(folder / "x.csv", _epoch(1000)))
