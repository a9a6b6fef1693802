"""Read Feather and Arrow IPC files batch by batch. Also open other formats that a library reads as Arrow batches."""

from collections.abc import Callable, Iterator

import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBTable, StreamedTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.source_table import SAMPLE_ROWS
from halfmask.errors import SourceError

ReadFile = Callable[[str], Iterator[pa.RecordBatch]]


class ArrowFile(Format):
    """Arrow's own format, as a file or a stream."""

    kind = "Feather and Arrow IPC"
    extensions = (".feather", ".arrow", ".ipc")
    magic = b"ARROW1"

    def open(self, asked: OpenRequest) -> DuckDBTable:
        return open_batches(asked, _batches)


def _batches(file: str) -> Iterator[pa.RecordBatch]:
    try:
        with pa.memory_map(file) as opened:
            try:
                reader = pa.ipc.open_file(opened)
                yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
            except pa.ArrowInvalid:
                opened.seek(0)
                yield from pa.ipc.open_stream(opened)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{file}: not an Arrow file, or cut short; replace the file or leave it out", kind="damaged", place=file
        ) from error


def open_batches(asked: OpenRequest, read: ReadFile) -> StreamedTable:
    """Open files as one table. For each query, the files are read again, one after another.

    The table has a column ``filename``, in case users' ids are in the files' names.
    """
    found = asked.found
    first = next(read(found.files[0]), None)
    if first is None or not first.num_rows:
        raise SourceError(f"{found.source}: there are no readings in it", kind="empty", place=found.source)
    sample = pa.Table.from_batches([first]).slice(0, SAMPLE_ROWS)

    def batches(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for file in found.files:
            for batch in read(file):
                odd = ", ".join(map(repr, sorted(set(batch.schema.names) ^ set(sample.column_names))))
                if odd:
                    raise SourceError(
                        f"{file}: its columns differ from those of {found.files[0]} ({odd})", kind="differ", place=file
                    )
                name = pa.array([file] * batch.num_rows, pa.string())
                part = pa.Table.from_batches([batch]).append_column("filename", name)
                yield from part.select(schema.names).cast(schema).to_batches()

    return StreamedTable(asked.connection, found.source, sample, batches, [pa.field("filename", pa.string())])
