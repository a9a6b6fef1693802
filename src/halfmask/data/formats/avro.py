"""Read Avro files."""

from collections.abc import Iterator
from itertools import islice

import pyarrow as pa

from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.formats.arrow import open_batches
from halfmask.errors import SourceError

_ROWS = 50_000


class Avro(Format):
    """Files of records with a schema."""

    kind = "Avro"
    extensions = (".avro",)
    magic = b"Obj\x01"

    def open(self, asked: OpenRequest) -> DuckDBTable:
        return open_batches(asked, _batches)


def _batches(file: str) -> Iterator[pa.RecordBatch]:
    import fastavro

    try:
        with open(file, "rb") as opened:
            records = fastavro.reader(opened)
            schema: pa.Schema | None = None
            while rows := list(islice(records, _ROWS)):
                batch = pa.RecordBatch.from_pylist(rows, schema=schema)
                schema = schema or batch.schema
                yield batch
    except (ValueError, EOFError, OSError, pa.ArrowException) as error:
        raise SourceError(
            f"{file}: not an Avro file, or cut short; replace the file or leave it out", kind="damaged", place=file
        ) from error
