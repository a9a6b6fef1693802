"""Read plain CSV with Arrow: the fast reader for large files, one block of lines per thread.

It raises `pa.ArrowInvalid` if a cell is not written like those of the first rows. A slower reader then takes the file.
It also fails if a block ends inside a cell that contains line breaks.
"""

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import pyarrow as pa
import pyarrow.csv as pc

from halfmask.data.column_types import ABSENT
from halfmask.data.csv_layout import Layout, Layouts

BLOCK = 1 << 21
Rows = TypeVar("Rows", pa.Table, pa.RecordBatch)
_LINE = 1 << 16
_NOTHING = sorted({spelled for word in ABSENT for spelled in (word, word.upper(), word.capitalize())})


@dataclass(frozen=True)
class ArrowCells:
    """The Arrow type in which a column is read, and a function that converts it to the panel's column, if one is
    needed.
    """

    type: pa.DataType
    finish: Callable[[pa.Array], pa.Array] | None = None

    def read(self, column: pa.Array) -> pa.Array:
        """Convert a column that Arrow has read to the panel's column."""
        return self.finish(column) if self.finish else column


def suits(layout: Layout) -> bool:
    """Return whether Arrow can read a file: uncompressed, with a delimiter other than blanks, and no comments or
    footer.
    """
    return layout.compression == "none" and layout.delimiter != " " and not (layout.comment or layout.footer)


def batches(
    layouts: Layouts, threads: int | None, names: Sequence[str], cells: Sequence[ArrowCells]
) -> Generator[pa.RecordBatch]:
    """Yield user, time and value of all rows in order.

    Raise `pa.ArrowInvalid` if a cell is not written like those of the first rows.
    """
    return side_by_side(
        (
            partial(_parsed, file, start, end, layout, names, cells)
            for layout, files in layouts
            for file in files
            for start, end in _cut(file, layout.skip + layout.header)
        ),
        threads,
    )


def side_by_side(jobs: Iterable[Callable[[], Rows]], threads: int | None) -> Generator[Rows]:
    """Run jobs in threads and yield their results in order."""
    workers = threads or os.cpu_count() or 1
    waiting: deque[Future[Rows]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for job in jobs:
                waiting.append(pool.submit(job))
                if len(waiting) > workers + 1:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


def _cut(file: str, skip: int) -> Iterator[tuple[int, int]]:
    """Yield the start and the end of each block of whole lines, after the lines to skip."""
    with open(file, "rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        opened.seek(0)
        for _ in range(skip):
            if b"\r" in opened.readline(_LINE).removesuffix(b"\r\n"):
                raise pa.ArrowInvalid("CSV parse error: lines end in another way")
        start = opened.tell()
        while start < size:
            end = min(start + BLOCK, size)
            if end < size:
                opened.seek(end)
                line = opened.readline(_LINE)
                if not line.endswith(b"\n") and opened.tell() < size:
                    raise pa.ArrowInvalid("CSV parse error: a line is too long")
                end = opened.tell()
            yield start, end
            start = end


def _parsed(
    file: str, start: int, end: int, layout: Layout, names: Sequence[str], cells: Sequence[ArrowCells]
) -> pa.RecordBatch:
    with open(file, "rb", buffering=0) as opened:
        text = os.pread(opened.fileno(), end - start, start)
    table = pc.read_csv(
        pa.BufferReader(text),
        read_options=pc.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=layout.names),
        parse_options=pc.ParseOptions(delimiter=layout.delimiter),
        convert_options=pc.ConvertOptions(
            column_types={name: each.type for name, each in zip(names, cells, strict=True)},
            include_columns=list(names),
            null_values=_NOTHING,
            strings_can_be_null=False,
        ),
    )
    return panel_batch(table, names, cells)


def panel_batch(table: pa.Table, names: Sequence[str], cells: Sequence[ArrowCells]) -> pa.RecordBatch:
    """Convert the columns that were read to user, time and value."""
    if table.column(names[1]).null_count:
        # A word for a missing value was read as null. For a time this is an error, and the slower reader says where.
        raise pa.ArrowInvalid("Could not convert: a row without a time")
    found = [each.read(table.column(name).combine_chunks()) for name, each in zip(names, cells, strict=True)]
    return pa.record_batch(found, ["user", "time", "value"])
