"""Read Feather and Arrow IPC files, one batch at a time."""

from collections.abc import Iterator

import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.formats._batches import open_batches
from halfmask.errors import SourceError


class ArrowFile(Format):
    """Files and streams of Arrow's own format."""

    kind = "Feather and Arrow IPC"
    extensions = (".feather", ".arrow", ".ipc")

    def sniff(self, file: str, head: bytes) -> bool:  # noqa: ARG002
        return head.startswith(b"ARROW1")

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
