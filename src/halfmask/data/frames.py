"""Open data frames (pandas, Polars, Arrow, DuckDB relations and others) as DuckDB tables."""

from collections.abc import Iterator
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa
from narwhals.exceptions import NarwhalsError

from halfmask.data.engines.duckdb import BATCH_ROWS, FAILURES, STREAMED, DuckDBTable, StreamedTable, headline
from halfmask.data.source_table import SAMPLE_ROWS
from halfmask.data.sql import quote
from halfmask.errors import ColumnError, ReadingError, SourceError

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
SPARK = (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT)


def as_frame(source: object) -> Frame:
    """Wrap a caller's data frame for Narwhals. Raise an error for any other object."""
    try:
        return nw.from_native(source)
    except TypeError as error:
        kind = f"{type(source).__module__}.{type(source).__name__}"
        raise SourceError(
            f"a {kind} is no source of readings; give a path or a frame of pandas, Polars, Arrow, DuckDB or Spark",
            kind="type",
        ) from error
    except (NarwhalsError, ValueError) as error:
        raise ColumnError(
            f"the frame cannot be used: {headline(str(error))}; give every column its own name", kind="twice"
        ) from error


def open_frame(connection: duckdb.DuckDBPyConnection, frame: Frame) -> DuckDBTable:
    """Open a data frame as a table. A frame in memory is used directly; a lazy one is streamed for every query."""
    source = f"{frame.implementation.name.lower()} frame"
    native = frame.to_native()
    if isinstance(native, duckdb.DuckDBPyRelation):

        def batches(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
            yield from native.select(", ".join(map(quote, schema.names))).to_arrow_reader(BATCH_ROWS)

        return StreamedTable(connection, source, native.limit(SAMPLE_ROWS).to_arrow_table(), batches)
    if isinstance(frame, nw.LazyFrame) and hasattr(native, "collect_batches"):

        def pieces(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
            for piece in native.select(schema.names).collect_batches():
                yield from piece.to_arrow().cast(schema).to_batches()

        return StreamedTable(connection, source, native.head(SAMPLE_ROWS).collect().to_arrow(), pieces)
    connection.register(STREAMED, arrow(frame))
    return DuckDBTable(connection, source, lambda _: STREAMED)


def arrow(frame: Frame) -> pa.Table:
    """Convert a whole data frame to an Arrow table."""
    try:
        return (frame.collect("pyarrow") if isinstance(frame, nw.LazyFrame) else frame).to_arrow()
    except (pa.ArrowException, NarwhalsError, *FAILURES) as error:
        raise ReadingError(
            f"the frame mixes types in a column: {headline(str(error))}; give each column one type", kind="mixed"
        ) from error
