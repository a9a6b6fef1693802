"""A lake of reports: masked reports of closed periods as Parquet files, and cells computed from them elsewhere.

A service writes one file per campaign and closed period, ``DIR/CAMPAIGN/PERIOD/NODE.parquet``, from its database. The
name follows from the content, and a file is complete or absent. So a service that was killed writes the file again, and
nothing is there twice. Files never change, because closed periods do not. Campaigns that promise to delete reports
(``keep_reports: until_closed``) are never written.

An engine computes cells from the files: per campaign, period and setting the number of reports and producers, the sum
and the sum of squares in steps. All of a producer's reports of a period are in one file, so cells of files add up.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import narwhals as nw
import pyarrow as pa

from halfmask.errors import FileFormatError, SourceError
from halfmask.service.cells import Cells, merge, read
from halfmask_device.protocol import Cell

SCHEMA = pa.schema(
    [
        *(("campaign", pa.string()), ("period", pa.string()), ("node", pa.string()), ("producer", pa.int64())),
        *(("time", pa.int64()), ("steps", pa.int64()), ("setting", pa.string()), ("group_name", pa.string())),
    ]
)
KEYS = ("campaign", "period", "setting")
WIDEST = 2**62
"""Limit on sums of squares, which are computed in 64 bits: reports that could exceed it are refused."""

LakeCells = dict[tuple[str, str], Cells]
"""Cells by campaign and period."""


def files(folder: Path) -> list[Path]:
    """Return the lake's files. Raise SourceError if there are none."""
    found = sorted(folder.glob("*/*/*.parquet"))
    if not found:
        raise SourceError(
            f"{folder} holds no reports: a service that keeps them writes there when its periods close", kind="empty"
        )
    return found


def cells_of(frame: nw.LazyFrame[Any]) -> LakeCells:
    """Return the cells of reports, on any engine that Narwhals supports.

    A producer counts once, under the setting of its first report of the period. Raise a SourceError if sums of squares
    could exceed 64 bits.
    """
    frame = _with_cell_names(frame)
    size = frame.select(nw.col("steps").abs().max().alias("largest"), nw.len().alias("rows")).collect("pyarrow")
    largest, rows = (size[name].to_list()[0] for name in ("largest", "rows"))
    if not rows:
        return {}
    if int(largest) ** 2 * int(rows) >= WIDEST:
        raise SourceError(
            "reports are too large for exact sums of squares in 64 bits: take a coarser lattice", kind="large"
        )
    sums = frame.group_by(*KEYS).agg(
        nw.len().alias("reports"),
        nw.col("steps").sum().alias("sum"),
        (nw.col("steps") * nw.col("steps")).sum().alias("squares"),
    )
    person = ("campaign", "period", "node", "producer")
    firsts = frame.group_by(*person).agg(nw.col("time").min().alias("first"))
    held = frame.join(firsts, on=list(person)).filter(nw.col("time") == nw.col("first"))
    people = held.group_by(*KEYS).agg(nw.len().alias("producers"))
    table = sums.join(people, on=list(KEYS), how="left").collect("pyarrow").to_arrow().to_pylist()
    cells: LakeCells = {}
    for row in sorted(table, key=lambda each: tuple(each[key] for key in KEYS)):
        cell = Cell(*(int(row[name] or 0) for name in Cell._fields))
        cells.setdefault((row["campaign"], row["period"]), {})[row["setting"]] = cell
    return cells


def _with_cell_names(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    """Name cells in ``setting`` as the service does: files of campaigns without groups may lack the group's column."""
    if "group_name" not in frame.collect_schema().names():
        return frame
    group = nw.col("group_name")
    named = nw.concat_str(nw.col("setting"), group, separator="/")
    return frame.with_columns(nw.when(group.is_null()).then(nw.col("setting")).otherwise(named).alias("setting"))


def add(parts: list[LakeCells]) -> LakeCells:
    """Return the sum of the parts' cells. No producer's reports of a period may be in two parts."""
    keys = sorted({key for part in parts for key in part})
    return {key: merge(part[key] for part in parts if key in part) for key in keys}


def nested(cells: LakeCells) -> dict[str, dict[str, Any]]:
    """Return the cells as nested objects for JSON: campaign to period to setting to cell."""
    page: dict[str, dict[str, Any]] = {}
    for (campaign, period), held in cells.items():
        page.setdefault(campaign, {})[period] = {setting: cell._asdict() for setting, cell in held.items()}
    return page


def read_nested(page: Mapping[str, Mapping[str, Any]]) -> LakeCells:
    """Return the cells that `nested` wrote."""
    return {(campaign, period): read(held) for campaign, periods in page.items() for period, held in periods.items()}


def read_batches(folder: Path) -> LakeCells:
    """Return the total of all batches that a stream wrote."""
    parts = []
    for path in sorted(folder.glob("batch-*.json")):
        try:
            parts.append(read_nested(json.loads(path.read_text(encoding="utf-8"))))
        except (ValueError, TypeError, KeyError) as error:
            raise FileFormatError(f"{path} is a damaged batch of cells ({error})", kind="damaged") from error
    return add(parts)
