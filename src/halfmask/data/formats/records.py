"""JSON, Arrow and Avro: files whose columns have types, or at least names, of their own."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import duckdb
import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBRaw, StreamRaw
from halfmask.data.engines.sql import DuckDBDialect
from halfmask.data.engines.streams import Stream
from halfmask.data.formats.text import glob_free
from halfmask.data.places import Place
from halfmask.data.raw import SAMPLE_ROWS
from halfmask.errors import RunError, SourceError

_SQL = DuckDBDialect()
_ROWS = 50_000
From = Callable[[Sequence[str]], str]
"""The FROM clause of some files."""
PAGE = frozenset(("count", "next", "previous", "page", "pages", "per_page", "total", "limit", "offset"))
"""What stands beside a list of readings in a page of an interface, and is about the page."""


def open_json(connection: duckdb.DuckDBPyConnection, place: Place) -> DuckDBRaw:
    """JSON lines, or one array of objects. Readings in a list within each object become rows of their own.

    No text is taken for a time here: `dates` does that, and says so.
    """

    def read(files: Sequence[str]) -> str:
        paths = ", ".join(_SQL.literal(glob_free(file)) for file in files)
        never = "timestampformat = 'time %Y', dateformat = 'date %Y'"
        return f"read_json([{paths}], union_by_name = true, {never}, maximum_object_size = 1073741824)"

    raw, table = _unwrapped(DuckDBRaw(connection, place.source, read, place.files), read)
    if raw.sample.column_names == ["json"] and (width := _width(raw.sample.column("json"))):
        # A list of lists, [[time, value], ...]: cells without names.
        cells = ", ".join(f'"json"[{i + 1}] AS "{i}"' for i in range(width))
        listed = f"(SELECT {cells}, filename FROM {{}})"
        raw = DuckDBRaw(connection, place.source, lambda files: listed.format(table(files)), place.files)
        raw.sample = raw.sample.drop_columns(["filename"])
        return raw
    lists = [field.name for field in raw.sample.schema if _is_rows(field.type)]
    if len(lists) != 1:
        return raw
    page = [name for name in raw.sample.column_names if name in PAGE]
    left_out = ", ".join(map(_SQL.quote, [lists[0], *page]))
    inner = f"* EXCLUDE ({left_out}), unnest({_SQL.quote(lists[0])}, recursive := true), filename"
    raw = DuckDBRaw(connection, place.source, lambda files: f"(SELECT {inner} FROM {table(files)})", place.files)
    raw.sample = raw.sample.drop_columns(["filename"])
    raw.notes = (f"readings are in the list {lists[0]} of each object",)
    return raw


def _unwrapped(raw: DuckDBRaw, table: From) -> tuple[DuckDBRaw, From]:
    """The table inside an object that holds one object and nothing else, however deep."""
    fields = [field for field in raw.sample.schema if field.name != "filename"]
    if len(fields) != 1 or not pa.types.is_struct(fields[0].type):
        return raw, table
    inner = f"(SELECT unnest({_SQL.quote(fields[0].name)}), filename FROM {{}})"

    def inside(files: Sequence[str]) -> str:
        return inner.format(table(files))

    made = DuckDBRaw(raw.connection, raw.source, inside, raw.files)
    made.sample = made.sample.drop_columns(["filename"])
    return _unwrapped(made, inside)


def _width(column: pa.ChunkedArray) -> int:
    """How many cells every list of a column has; 0 where it holds no lists, or such of several lengths."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return 0
    lengths = {len(cells) for cells in column.to_pylist() if cells is not None}
    return lengths.pop() if len(lengths) == 1 else 0


def _is_rows(t: pa.DataType) -> bool:
    return bool((pa.types.is_list(t) or pa.types.is_large_list(t)) and pa.types.is_struct(t.value_type))


def open_arrow(connection: duckdb.DuckDBPyConnection, place: Place) -> StreamRaw:
    """Feather and Arrow IPC files, a batch at a time."""
    return _stream(connection, place, _arrow_batches)


def _arrow_batches(file: str) -> Iterator[pa.RecordBatch]:
    try:
        with pa.memory_map(file) as opened:
            try:
                reader = pa.ipc.open_file(opened)
                yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
            except pa.ArrowInvalid:
                opened.seek(0)
                yield from pa.ipc.open_stream(opened)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{file}: not an Arrow file, or cut short; replace the file or leave it out") from error


def open_avro(connection: duckdb.DuckDBPyConnection, place: Place) -> StreamRaw:
    """Avro files, some records at a time."""
    return _stream(connection, place, _avro_batches)


def _avro_batches(file: str) -> Iterator[pa.RecordBatch]:
    try:
        import fastavro
    except ImportError as error:
        raise RunError(f"{file}: Avro needs its reader: pip install 'halfmask[formats]'") from error
    try:
        with open(file, "rb") as opened:
            records = fastavro.reader(opened)
            schema: pa.Schema | None = None
            while rows := list(islice(records, _ROWS)):
                batch = pa.RecordBatch.from_pylist(rows, schema=schema)
                schema = schema or batch.schema
                yield batch
    except (ValueError, EOFError, OSError, pa.ArrowException) as error:
        raise SourceError(f"{file}: not an Avro file, or cut short; replace the file or leave it out") from error


def _stream(connection: duckdb.DuckDBPyConnection, place: Place, batches_of: Any) -> StreamRaw:
    """All files one after another; ``filename`` says which, for ids that stand in names."""
    first = next(batches_of(place.files[0]), None)
    if first is None or not first.num_rows:
        raise SourceError(f"{place.source}: there are no readings in it")
    sample = pa.Table.from_batches([first]).slice(0, SAMPLE_ROWS)

    def batches(kept: Sequence[str]) -> Iterator[pa.RecordBatch]:
        target = pa.schema([sample.schema.field(name) for name in kept])
        for file in place.files:
            for batch in batches_of(file):
                if set(batch.schema.names) != set(sample.column_names):
                    odd = ", ".join(map(repr, sorted(set(batch.schema.names) ^ set(sample.column_names))))
                    raise SourceError(f"{file}: its columns differ from those of {place.files[0]} ({odd})")
                part = pa.Table.from_batches([batch]).select(list(kept)).cast(target)
                named = part.append_column("filename", pa.array([file] * part.num_rows, pa.string()))
                yield from named.to_batches()

    def open_stream(kept: Sequence[str]) -> Stream:
        schema = pa.schema([*(sample.schema.field(name) for name in kept), pa.field("filename", pa.string())])
        return Stream(schema, lambda: batches(kept))

    return StreamRaw(connection, place.source, open_stream, sample)
