"""A source that can only be read from its start, such as a cursor, as a table that can be queried again and again."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from halfmask.errors import HalfmaskError


class Stream:
    """Arrow batches that are fetched again for every query, a few at a time.

    DuckDB asks ``__arrow_c_stream__`` for a fresh stream whenever a query reads the table. What goes wrong while
    it pulls reaches us as its own error with our text inside; ``failure`` keeps ours, so that it can be raised.
    """

    def __init__(self, schema: pa.Schema, batches: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self.schema = schema
        self.failure: HalfmaskError | None = None
        self._batches = batches

    def __arrow_c_schema__(self) -> Any:
        return self.schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        self.failure = None
        return pa.RecordBatchReader.from_batches(self.schema, self._watched()).__arrow_c_stream__(requested_schema)

    def _watched(self) -> Iterator[pa.RecordBatch]:
        try:
            yield from self._batches()
        except HalfmaskError as error:
            self.failure = error
            raise
