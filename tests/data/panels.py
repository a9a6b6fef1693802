"""Small panels in many forms, and what must come out of them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from halfmask.data.panel import Panel


def us(text: str) -> int:
    """Microseconds since 1970 of a wall-clock time."""
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


def rows(panel: Panel) -> list[tuple[Any, ...]]:
    """All readings of a panel, in the order of the source."""
    table = panel.collect(panel.ordered.sort("order"))
    return list(zip(*(table.column(name).to_pylist() for name in ("user", "time", "value")), strict=True))


def write(path: Path, text: str) -> str:
    """A text file, and its path as a caller would write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


CSV = "user,time,value\na,2026-01-01 00:00:00,1.5\nb,2026-01-01 00:30:00,\na,2026-01-01T01:00:00.25,-2\n"
READINGS = [
    ("a", us("2026-01-01T00:00"), 1.5),
    ("b", us("2026-01-01T00:30"), None),
    ("a", us("2026-01-01T01:00") + 250_000, -2.0),
]


def table() -> pa.Table:
    """The same readings as an Arrow table."""
    users, times, values = zip(*READINGS, strict=True)
    return pa.table(
        {"user": users, "time": pa.array(times, pa.timestamp("us")), "value": pa.array(values, pa.float64())}
    )
