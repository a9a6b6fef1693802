"""Read Parquet files. All footers are read first, so damaged or differing files are named before a query runs.

Arrow reads plain columns, one group of rows per thread, because it is faster than a query.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.data.arrow_blocks import ArrowCells, panel_batch, side_by_side
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.locate import SourceFiles
from halfmask.data.panel import Quick
from halfmask.data.sql import file_list
from halfmask.errors import SourceError

GROUP_ROWS = 1 << 20
"""Larger groups of rows are read by a query, because Arrow would hold a whole group in memory."""
_ORDER = "file_index * 1099511627776 + file_row_number"
"""Grows from row to row without counting all rows. A file may hold up to 2^40 rows."""


class Parquet(Format):
    """Parquet files, read by Arrow if the columns are plain, else by DuckDB."""

    kind = "Parquet"
    extensions = (".parquet", ".pq")
    magic = b"PAR1"

    def open(self, asked: OpenRequest) -> DuckDBTable:
        found = asked.found
        footers = check(found)
        hive = f"hive_partitioning = {bool(found.partitions)}, hive_types_autocast = false"

        def read(files: Sequence[str]) -> str:
            return f"read_parquet({file_list(files)}, {hive}, union_by_name = {footers.differ})"

        raw = DuckDBTable(asked.connection, found.source, read, found.files, _ORDER)
        raw.by_blocks = partial(by_groups, found.files, footers, asked.options.threads)
        return raw


@dataclass(frozen=True)
class Footers:
    """A summary of the files' footers.

    ``schema``   the columns of the first file
    ``largest``  the number of rows in the largest group
    ``differ``   whether the files' schemas differ and must be reconciled
    """

    schema: pa.Schema
    largest: int
    differ: bool


def check(found: SourceFiles) -> Footers:
    """Read every footer. Raise an error if a file is damaged or has other columns than the first."""
    footers = {file: _footer(file) for file in found.files}
    schemas = {file: footer.schema.to_arrow_schema() for file, footer in footers.items()}
    first = schemas[found.files[0]]
    for file, schema in schemas.items():
        if set(schema.names) != set(first.names):
            odd = ", ".join(repr(name) for name in sorted(set(schema.names) ^ set(first.names)))
            raise SourceError(
                f"{file}: its columns differ from those of {found.files[0]} ({odd}); give files with the same columns",
                kind="differ",
                place=file,
            )
    rows = [each.row_group(i).num_rows for each in footers.values() for i in range(each.num_row_groups)]
    return Footers(first, max(rows, default=0), any(not schema.equals(first) for schema in schemas.values()))


def _footer(file: str) -> pq.FileMetaData:
    try:
        return pq.read_metadata(file)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{file}: not a Parquet file, or cut short; replace the file or leave it out", kind="damaged", place=file
        ) from error


def by_groups(
    files: Sequence[str], footers: Footers, threads: int | None, names: Sequence[str], cells: Sequence[ArrowCells]
) -> Quick | None:
    """Return the function that reads the columns with Arrow, group by group; None if a query must read them.

    A query must read texts (Arrow is slower), columns whose types differ from ``cells``, and tables in which names
    differ only in case (the query renames them).
    """
    if len({name.lower() for name in footers.schema.names}) < len(footers.schema.names):
        return None
    places = [footers.schema.get_field_index(name) for name in names]  # -1: none of this name
    stored = all(
        at >= 0 and footers.schema.field(at).type == each.type != pa.string()
        for at, each in zip(places, cells, strict=True)
    )
    if not stored or footers.differ or footers.largest > GROUP_ROWS:
        return None
    return partial(_batches, files, threads, names, cells)


def _batches(
    files: Sequence[str], threads: int | None, names: Sequence[str], cells: Sequence[ArrowCells]
) -> Generator[pa.RecordBatch]:
    metadata = ((file, pq.read_metadata(file)) for file in files)
    return side_by_side(
        (
            partial(_group, file, footer, group, names, cells)
            for file, footer in metadata
            for group in range(footer.num_row_groups)
            if footer.row_group(group).num_rows
        ),
        threads,
    )


def _group(
    file: str, footer: pq.FileMetaData, group: int, names: Sequence[str], cells: Sequence[ArrowCells]
) -> pa.RecordBatch:
    with pq.ParquetFile(file, metadata=footer, pre_buffer=False) as opened:
        return panel_batch(opened.read_row_group(group, list(names), use_threads=False), names, cells)
