"""Open files that are parsed in Python. Each file is parsed once, into an Arrow file in a temporary folder."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice

import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import OpenRequest
from halfmask.data.formats.arrow import open_batches
from halfmask.data.locate import Workplace

_ROWS = 50_000
Row = tuple[object, ...]
Parse = Callable[[str], Iterable[Row]]
"""Returns the rows of a file, each a tuple of cells."""


def open_converted(asked: OpenRequest, schema: pa.Schema, parse: Parse) -> DuckDBTable:
    """Open files as one table with this schema.

    ``parse``  returns the rows of a file
    """
    workplace, files = Workplace(), asked.found.files  # a function that held the connection would keep it open

    @cache
    def converted(file: str) -> str:
        target = str(workplace.path / f"{files.index(file)}.arrow")
        with pa.OSFile(target, "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            for batch in _batches(schema, parse(file)):
                writer.write_batch(batch)
        return target

    def read(file: str) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(converted(file)) as opened:
            reader = pa.ipc.open_file(opened)
            yield from (reader.get_batch(i) for i in range(reader.num_record_batches))

    table = open_batches(asked, read)
    table.workplace = workplace
    return table


def _batches(schema: pa.Schema, rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    waiting = iter(rows)
    while part := list(islice(waiting, _ROWS)):
        columns = [pa.array(column, field.type) for column, field in zip(zip(*part, strict=True), schema, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
