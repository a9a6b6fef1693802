"""Exports as utilities, cities and hobbyists have them, each with the readings that are meant by it.

Everything is made here from one small panel: three meters, three days around a new year, half-hourly, in kWh.
"""

import csv
import io
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather

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


def rows_of() -> list[tuple[str, datetime, float]]:
    return [(meter, moment, value) for (meter, moment), value in TRUTH.items()]


def table_of(rows: Iterable[tuple[Any, Any, Any]]) -> pa.Table:
    users, times, values = zip(*rows, strict=True)
    return pa.table({"meter": users, "time": times, "value": values})
