"""Readings on DuckDB, the engine for one machine."""

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache, partial
from itertools import count
from typing import Any

import duckdb
import narwhals as nw
import pyarrow as pa

from halfmask.data.locate import Workplace
from halfmask.data.panel import Engine, T
from halfmask.data.source_table import SAMPLE_ROWS, CellPlace, SourceTable
from halfmask.data.sql import READINGS, literal, quote
from halfmask.errors import HalfmaskError, OptionError, ReadingError, RunError, SourceError

BATCH_ROWS = 131_072
STREAMED = "streamed"
"""The name of the streamed table on a connection."""
FAILURES = (duckdb.Error, pa.ArrowException, OSError)
"""Exceptions that a DuckDB query may raise. A failure in a streamed result arrives as an ``OSError``."""


_numbers = count()
MISREAD = "Conversion Error|Could not parse|Could not convert|CSV conversion error|CSV parse error|overflow"
"""Matches the error messages of DuckDB and Arrow for a cell that they cannot convert."""


def connect(threads: int | None = None, memory_limit: str | None = None) -> duckdb.DuckDBPyConnection:
    """Return a new DuckDB connection that works in UTC, has its own temporary folder and downloads no extensions."""
    connection = duckdb.connect(
        config={
            "TimeZone": "UTC",
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "temp_directory": str(_spill().path / str(next(_numbers))),
        }
    )
    connection.execute("SET enable_progress_bar_print = false")  # DuckDB would print it to standard output
    wanted = {"threads": (threads, "a whole number from 1"), "memory_limit": (memory_limit, "a size such as 4GB")}
    for name, (value, form) in wanted.items():
        try:
            if value is not None:
                connection.execute(f"SET {name} = {literal(str(value))}")
        except duckdb.Error as error:
            raise OptionError(f"`{name}` {value!r} is not {form}") from error
    return connection


@cache
def _spill() -> Workplace:
    """Return this process's temporary folder for data that does not fit into memory. It is deleted at exit."""
    return Workplace()


class DuckDBEngine(Engine):
    """The engine that runs queries on a DuckDB connection. A streamed query must end before the next query starts."""

    name = "duckdb"

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection

    def table(self, rows: pa.Table) -> nw.LazyFrame[Any]:
        return nw.from_native(self.connection.from_arrow(rows))

    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        return frame.to_native().to_arrow_table()

    def keep(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        name = f"kept_{next(_numbers)}"
        self.connection.execute(f"CREATE TEMP TABLE {name} AS {frame.to_native().sql_query()}")
        return nw.from_native(self.connection.table(name))

    def map_users(
        self, frame: nw.LazyFrame[Any], groups: int, work: Callable[[Iterator[pa.RecordBatch]], T]
    ) -> Iterator[T]:
        # The source is read once into a table. DuckDB moves it to disk if it does not fit into memory.
        rows = self.keep(nw.from_native(frame.to_native().project(f'*, hash("user") % {groups} AS "group"')))
        for group in range(groups):
            mine = rows.filter(nw.col("group") == group).drop("group")
            with closing(self.batches(mine)) as batches:
                yield work(batches)

    def misread(self, error: Exception) -> bool:
        return isinstance(error, FAILURES) and re.search(MISREAD, str(error)) is not None

    def batches(self, frame: nw.LazyFrame[Any]) -> Generator[pa.RecordBatch]:
        reader = frame.to_native().to_arrow_reader(BATCH_ROWS)
        try:
            yield from reader
        finally:
            # An unfinished reader would block all later queries on the connection.
            reader.close()
            self.connection.abort()


class DuckDBTable(SourceTable):
    """A table that DuckDB can query.

    ``table``  writes the FROM clause for the given files
    ``order``  an SQL expression that grows from row to row; the default counts rows, which some formats can avoid
    """

    failures = FAILURES

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        source: str,
        table: Callable[[Sequence[str]], str],
        files: Sequence[str] = (),
        order: str = "row_number() OVER ()",
    ) -> None:
        self.connection = connection
        self.engine = DuckDBEngine(connection)
        self.source = source
        self.files = tuple(files)
        self.originals: Mapping[str, str] = {}
        self._table = table
        self._asked = False
        self._order = order
        self.sample = self._look()

    def _look(self) -> pa.Table:
        """Return the first rows. Columns of DuckDB's type UUID become texts."""
        try:
            found = self._query("*", f"LIMIT {SAMPLE_ROWS}")
            ids = [name for name, kind in zip(found.columns, found.types, strict=True) if str(kind) == "UUID"]
            if ids:
                table, named = self._table, ", filename" if self.files and "filename" not in found.columns else ""
                texts = ", ".join(f"CAST({quote(name)} AS VARCHAR) AS {quote(name)}" for name in ids)
                self._table = lambda files: f"(SELECT * REPLACE ({texts}){named} FROM {table(files)})"
                found = self._query("*" if not named else "* EXCLUDE (filename)", f"LIMIT {SAMPLE_ROWS}")
            return found.to_arrow_table()
        except FAILURES as error:
            raise self.explain(error) from error

    def ask(self, sql: str) -> None:
        """Replace the table by the result of a query. The query refers to the table as `READINGS`."""
        table, all_files, query = self._table, self.files, sql.strip().rstrip(";")
        known = set(self.sample.column_names)
        named = ", filename" if self.files and "filename" not in self._query("*", "LIMIT 0").columns else ""

        def within(files: Sequence[str]) -> str:
            before = f"SELECT *{named} FROM {table(files or all_files)}"
            return f"(WITH {READINGS} AS NOT MATERIALIZED ({before}) SELECT * FROM ({query}))"

        self._table, self._order, self._asked = within, "row_number() OVER ()", True
        self.by_blocks, self.origin = None, f"({query})"
        self.sample = DuckDBTable._look(self)
        names = self.sample.column_names
        self.files = self.files if "filename" in names else ()
        self.sample = self.sample.select([name for name in names if name != "filename" or name in known])

    def _query(self, selected: str, rest: str = "", files: Sequence[str] | None = None) -> duckdb.DuckDBPyRelation:
        table = self._table(self.files if files is None else files)
        return self.connection.sql(f"SELECT {selected} FROM {table} {rest}")

    def frame(self, columns: str, shown: str = "*", *, ordered: bool = False) -> nw.LazyFrame[Any]:
        order, more = (f', CAST({self._order} AS BIGINT) AS "order"', ', "order"') if ordered else ("", "")
        return nw.from_native(self._query(columns + order).project(shown if shown == "*" else shown + more))

    def of_parts(self, columns: str, rest: str = "") -> pa.Table:
        return self._query(columns, rest).to_arrow_table()

    def first(self, condition: str, shown: str) -> CellPlace | None:
        file = None
        if self.files:
            found = self._query("filename", f"WHERE {condition} LIMIT 1").fetchall()
            if not found:
                return None
            file = str(found[0][0])
        within = None if file is None else [file]
        rows = self._query(f"row_number() OVER () AS n, CAST({shown} AS VARCHAR) AS t, {condition} AS b", files=within)
        found = rows.filter("b").limit(1).fetchall()
        return CellPlace(self.original(file), int(found[0][0]), str(found[0][1])) if found else None

    def original(self, file: str | None) -> str | None:
        """Return the caller's file if this file is a copy of it; else the file itself."""
        return None if file is None else self.originals.get(file, file)

    def fatal(self, error: Exception) -> RunError | None:
        message = str(error)
        if isinstance(error, duckdb.OutOfMemoryException) or message.startswith("Out of Memory"):
            return RunError(f"{self.source}: out of memory: free some, or take a machine with more", kind="memory")
        if isinstance(error, duckdb.InterruptException) or message.startswith("INTERRUPT"):
            return RunError(f"{self.source}: interrupted")
        if isinstance(error, duckdb.ResourceInUseException):
            return RunError(
                f"{self.source}: a streamed result is still being read; finish or close it first", kind="busy"
            )
        return None

    def explain(self, error: Exception) -> HalfmaskError:
        message = str(error)
        return self._broken_line(message) or self._broken_file() or SourceError(f"{self.source}: {headline(message)}")

    def _broken_line(self, message: str) -> HalfmaskError | None:
        """Return the error for a line that does not fit the table. DuckDB's message would quote the line."""
        line = re.search(r"CSV Error on Line: (\d+)", message)
        if line is None:
            return None
        file = re.search(r"^\s*file = (.*)$", message, re.MULTILINE)
        where = f"{self.original(file[1]) if file else self.source}, line {line[1]}"
        if "not utf-8" in message:
            return SourceError(f"{where}: not UTF-8; name the encoding: `encoding=cp1252` (or latin-1, utf-16)")
        count = re.search(r"Expected Number of Columns: (\d+)", message)
        if count:
            return ReadingError(
                f"{where}: not {count[1]} columns as in the others; mend or drop that line, give a second table "
                "a file of its own, and squeeze blanks between columns (tr -s ' ' < x.txt > y.txt)",
                kind="ragged",
            )
        return ReadingError(f"{where}: cannot be split into columns (a quote left open?); mend or drop that line")

    def _broken_file(self) -> HalfmaskError | None:
        """Try each file by itself, and return the error for the first that cannot be read."""
        for file in self.files:
            try:
                self._query("count(COLUMNS(*))", files=[file]).fetchall()
            except FAILURES as error:
                return SourceError(
                    f"{self.original(file)}: {headline(str(error))}; replace the file or leave it out", kind="damaged"
                )
        return None


class Stream:
    """Arrow batches that are fetched again for every query.

    DuckDB calls ``__arrow_c_stream__`` whenever a query reads the table. If reading fails, DuckDB replaces the
    exception by its own. ``failure`` keeps the original exception, so that it can be raised instead.
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


class StreamedTable(DuckDBTable):
    """A table whose rows are streamed again for every query."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        source: str,
        sample: pa.Table,
        batches: Callable[[pa.Schema], Iterator[pa.RecordBatch]],
        more: Sequence[pa.Field] = (),
    ) -> None:
        self._first = sample
        self._batches = batches
        self._more = more
        super().__init__(connection, source, lambda _: STREAMED)

    def _look(self) -> pa.Table:
        self.keep(self._first.column_names)
        return self._first

    def keep(self, columns: Sequence[str]) -> None:
        if not self._asked:  # a query may need any column
            schema = pa.schema([*map(self._first.schema.field, columns), *self._more])
            # The connection refers to the stream. If the stream referred to this table, neither would ever be freed.
            self.stream = Stream(schema, partial(self._batches, schema))
            self.connection.register(STREAMED, self.stream)

    def explain(self, error: Exception) -> HalfmaskError:
        return self.stream.failure or super().explain(error)


def headline(message: str) -> str:
    """Return the first line of an engine's error message."""
    return message.strip().split("\n", 1)[0]
