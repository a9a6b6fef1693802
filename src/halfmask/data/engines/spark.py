"""The engine for data that does not fit on one machine: Spark."""

import logging
import os
import pickle
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any
from urllib.parse import unquote

import narwhals as nw
import pyarrow as pa

from halfmask.data import frames
from halfmask.data.engines.duckdb import BATCH_ROWS, MISREAD, connect, headline
from halfmask.data.formats import Format
from halfmask.data.formats.csv import Csv
from halfmask.data.formats.parquet import Parquet, check
from halfmask.data.locate import SourceFiles
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Engine, T
from halfmask.data.source_table import SAMPLE_ROWS, CellPlace, SourceTable
from halfmask.data.sql import quote
from halfmask.errors import HalfmaskError, OptionError, RunError, SourceError

_OPEN_COST = 4 << 20
_SESSION = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.files.openCostInBytes": str(_OPEN_COST),
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(BATCH_ROWS),
}
"""Casts raise errors, times without a zone get none, folder names stay text, and parts of files have at least 4 MB."""

_FILE, _BLOCK, _ROW, _INDEX = "halfmask file", "halfmask block", "halfmask row", "halfmask index"
_ORDER, _PART = "halfmask order", "part"


def session(master: str | None, threads: int | None, memory_limit: str | None) -> Any:
    """Return a Spark session with our settings. Start Spark if it is not running."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    master = master or f"local[{threads or '*'}]"
    builder = SparkSession.builder
    if master.startswith("sc://"):
        builder = builder.remote(master)
    else:
        builder = builder.master(master).config(map=_start_settings(master, memory_limit))
    try:
        spark = builder.getOrCreate().newSession()
    except (PySparkException, ImportError, RuntimeError, OSError) as error:
        raise RunError(
            f"no Spark at {master!r}: {headline(str(error))}; check `master`, and that Java is there"
        ) from error
    for name, value in _SESSION.items():
        spark.conf.set(name, value)
    return spark


def _start_settings(master: str, memory_limit: str | None) -> dict[str, str]:
    """Return the settings of a new Spark: quiet, without web pages. A local Spark accepts no connections from outside.

    The log level is FATAL because executors' errors are raised here anyway.
    """
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "FATAL"}
    if master.startswith("local"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        settings |= {"spark.driver.memory": memory_limit.removesuffix("B")} if memory_limit else {}
    return settings


class SparkEngine(Engine):
    """The engine that runs queries in a Spark session. Results are fetched through Arrow."""

    name = "spark"

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def table(self, rows: pa.Table) -> nw.LazyFrame[Any]:
        return lazy(self.spark.createDataFrame(rows))

    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        return frame.to_native().toArrow()

    def keep(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        return lazy(frame.to_native().persist())

    def map_users(self, frame: nw.LazyFrame[Any], groups: int, work: Callable[["Batches"], T]) -> Iterator[T]:
        native = frame.to_native()
        parted = native.repartition("user") if groups == 1 else native.repartition(groups, "user")
        results = map_arrow(parted, partial(_result, work), "result BINARY").persist()
        try:
            results.count()  # computes all partitions in parallel; the iterator alone would compute one after another
            for row in results.toLocalIterator():
                yield pickle.loads(row["result"])
        finally:
            results.unpersist()

    def misread(self, error: Exception) -> bool:
        return re.search(MISREAD, str(error)) is not None

    def batches(self, frame: nw.LazyFrame[Any]) -> Generator[pa.RecordBatch]:
        """Yield the batches of one partition after another. Memory holds at most one partition."""
        for row in map_arrow(frame.to_native(), _written, "batch BINARY").toLocalIterator():
            yield from pa.ipc.open_stream(row["batch"])


def lazy(native: Any) -> nw.LazyFrame[Any]:
    """Wrap a Spark frame for Narwhals."""
    frame: nw.LazyFrame[Any] = nw.from_native(native)
    return frame


Batches = Iterator[pa.RecordBatch]


def map_arrow(native: Any, work: Callable[[Batches], Batches], schema: Any) -> Any:
    """Apply ``work`` to the Arrow batches of each partition, and return the results as a Spark frame."""
    with without_pandas():
        return native.mapInArrow(work, schema)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Silence Spark's warning about the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def _written(batches: Batches) -> Batches:
    """Yield each batch serialised as an Arrow stream."""
    for batch in batches:
        with pa.BufferOutputStream() as sink:
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.record_batch({"batch": pa.array([sink.getvalue().to_pybytes()], pa.binary())})


def _result(work: Callable[[Batches], Any], batches: Batches) -> Batches:
    """Yield one row with the pickled result of ``work`` on a partition."""
    yield pa.record_batch({"result": pa.array([pickle.dumps(work(batches))], pa.binary())})


def _queried(sql: str, names: Sequence[str], batches: Batches) -> Batches:
    """Yield the result of a DuckDB query on one partition. The query refers to the partition as `_PART`.

    ``names`` are the columns' names in the query. They replace Spark's, because Spark loses columns whose names contain
    a dot or a backtick. An empty partition gives no result.
    """
    named = (pa.record_batch(batch.columns, names) for batch in batches)
    first = next(named, None)
    if first is None:
        return
    with connect(threads=1) as connection:
        connection.register(_PART, pa.RecordBatchReader.from_batches(first.schema, chain([first], named)))
        yield from connection.sql(sql).to_arrow_reader(BATCH_ROWS)


def open_spark_files(found: SourceFiles, form: Format, options: ReadOptions) -> SourceTable:
    """Open CSV, Parquet or CER files on Spark. All files must have the layout of the first."""
    layout = None
    if isinstance(form, Csv):
        (layout, _), *others = form.layouts(found, None)[0]
        if not layout.plain:
            raise SourceError(
                f"{found.source}: lines around the table, or comments; Spark cannot skip them, use `engine=duckdb`",
                kind="spark",
            )
        differ = bool(others)
    elif isinstance(form, Parquet):
        differ = check(found).differ
    else:
        raise OptionError(
            f"`engine=spark` reads CSV and Parquet files, not {form.kind}; use `engine=duckdb`", kind="engine"
        )
    if differ:
        raise SourceError(
            f"{found.source}: the files' columns differ in order or type; use `engine=duckdb`, which aligns them",
            kind="differ",
        )
    spark = session(options.master, options.threads, options.memory_limit)
    reader = spark.read.option("basePath", found.root) if found.partitions else spark.read
    paths = [re.sub(r"([*?\[\]{}\\])", r"\\\1", file) for file in found.files]
    if layout is None:
        return SparkTable(spark, found.source, lambda: reader.parquet(*paths), found)
    said = {"sep": layout.delimiter, "quote": '"', "escape": '"', "header": str(layout.header)}
    schema = ", ".join(f"{_name(name)} STRING" for name in layout.names)
    return SparkTable(spark, found.source, lambda: reader.csv(paths, schema=schema, mode="FAILFAST", **said), found)


def open_spark_frame(
    frame: frames.Frame, master: str | None, threads: int | None, memory_limit: str | None
) -> SourceTable:
    """Open a frame on Spark: a PySpark frame in its own session; any other frame is copied into a session."""
    source = f"{frame.implementation.name.lower()} frame"
    native = frame.to_native()
    if frame.implementation not in frames.SPARK:
        spark = session(master, threads, memory_limit)
        return SparkTable(spark, source, lambda: spark.createDataFrame(frames.arrow(frame)), None)
    spark = native.sparkSession
    return SparkTable(spark, source, lambda: native, None)


class SparkTable(SourceTable):
    """A Spark frame and the files that it comes from, if any.

    The SQL of the readers is DuckDB's: Spark's workers run it with DuckDB on each partition.
    """

    def __init__(self, spark: Any, source: str, read: Callable[[], Any], place: SourceFiles | None) -> None:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        self.failures = (PySparkException, Py4JError, pa.ArrowException)
        self.engine = SparkEngine(spark)
        self.source = source
        self.spark = spark
        self._place = place
        self.files = place.files if place else ()
        self.partitions = place.partitions if place else frozenset()
        use_this_python(spark)
        try:
            self._frame = read()
            self.sample = self._frame.limit(SAMPLE_ROWS).toArrow()
        except self.failures as error:
            raise self.explain(error) from error

    def _ordered(self) -> Any:
        """Return the frame with a column `_ORDER` that grows from row to row. If the frame comes from files, add
        `_FILE`.

        Spark reads parts of files in any order, and each part from its start. So the order is composed of three
        numbers: the file's (in the order of names), the part's in the file (17 bits), and the row's in the part (28
        bits).
        """
        if self._place is None:
            return self._frame.selectExpr("*", f"monotonically_increasing_id() AS `{_ORDER}`")
        numbered = self._frame.selectExpr(
            "*",
            f"_metadata.file_path AS `{_FILE}`",
            f"_metadata.file_block_start AS `{_BLOCK}`",
            f"monotonically_increasing_id() AS `{_ROW}`",
        )
        files = sorted(uri.replace("file:///", "file:/", 1) for uri in self._frame.inputFiles())
        index = self.spark.createDataFrame(pa.table({_FILE: files, _INDEX: pa.array(range(len(files)), pa.int64())}))
        part = f"(`{_INDEX}` * 131072L + `{_BLOCK}` div {_OPEN_COST}L)"
        order = f"{part} * 268435456L + `{_ROW}` % 268435456L AS `{_ORDER}`"
        return numbered.join(index.hint("broadcast"), _FILE).selectExpr("*", order)

    def _query(self, sql: str, frame: Any) -> Any:
        """Run a query on each partition of a frame. Spark reads only the columns that the query names."""
        from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

        columns = {name: _name(name) for name in frame.columns if quote(name) in sql}
        columns = columns or {frame.columns[0]: _name(frame.columns[0])}
        if self._place and "filename" in sql:
            uri = f"`{_FILE}`" if _FILE in frame.columns else "_metadata.file_path"
            columns["filename"] = f"url_decode(replace({uri}, '+', '%2B'))"
        kept = frame.selectExpr(*(f"{column} AS c{i}" for i, column in enumerate(columns.values())))
        types = to_arrow_schema(kept.schema, timezone="UTC").types
        with connect(threads=1) as connection:
            connection.register(_PART, pa.schema(zip(columns, types, strict=True)).empty_table())
            result = connection.sql(sql).to_arrow_table().schema
        return map_arrow(kept, partial(_queried, sql, [*columns]), from_arrow_schema(result))

    def frame(self, columns: str, shown: str = "*", *, ordered: bool = False) -> nw.LazyFrame[Any]:
        if ordered:
            columns, shown = f'{columns}, {quote(_ORDER)} AS "order"', shown if shown == "*" else f'{shown}, "order"'
        sql = f"SELECT {shown} FROM (SELECT {columns} FROM {_PART})"
        return lazy(self._query(sql, self._ordered() if ordered else self._frame))

    def of_parts(self, columns: str, rest: str = "") -> pa.Table:
        return self._query(f"SELECT {columns} FROM {_PART} {rest}", self._frame).toArrow()

    def first(self, condition: str, shown: str) -> CellPlace | None:
        frame = self._ordered()
        file = quote(_FILE) if self._place else "NULL"
        columns = f'CAST({file} AS VARCHAR) AS file, {quote(_ORDER)} AS "order", CAST({shown} AS VARCHAR) AS text'
        each = self._query(f'SELECT {columns} FROM {_PART} WHERE {condition} ORDER BY "order" LIMIT 1', frame)
        rows = each.orderBy("order").limit(1).collect()
        if not rows:
            return None
        before = frame.where(frame[_ORDER] <= rows[0]["order"])
        if self._place:
            before = before.where(before[_FILE] == rows[0]["file"])
        return CellPlace(_path(rows[0]["file"]), before.count(), rows[0]["text"])

    def fatal(self, error: Exception) -> RunError | None:
        message = str(error)
        if "OutOfMemoryError" in message:
            return RunError(f"{self.source}: Spark ran out of memory: give its executors more, or use more machines")
        if "SparkContext was shut down" in message or "cancelled" in message:
            return RunError(f"{self.source}: Spark stopped before the work was done")
        return None

    def explain(self, error: Exception) -> HalfmaskError:
        message = _cause(str(error))
        file = re.search(r"(file:/\S+?)[.,]?(\s|$)", message)
        where = _path(file[1]) if file else self.source
        if "MALFORMED" in message:
            return SourceError(f"{where}: a line has more or fewer columns than the others; `engine=duckdb` names it")
        return SourceError(f"{where}: {headline(message)}")


def use_this_python(session: Any) -> None:
    """Make a local Spark run its workers with this Python, which has halfmask installed.

    On a cluster, halfmask must be installed for the Python that PYSPARK_PYTHON names.
    """
    if "PYSPARK_PYTHON" in os.environ or type(session).__module__.startswith("pyspark.sql.connect"):
        return
    if session.sparkContext.master.startswith("local"):
        session.sparkContext.pythonExec = sys.executable


def _name(column: str) -> str:
    """Quote a column's name for Spark."""
    return "`" + column.replace("`", "``") + "`"


def _cause(message: str) -> str:
    """Return the root cause from an error message of Java or of a worker's Python."""
    java = re.findall(r"^\s*Caused by: [\w.]+: (.+)", message, re.MULTILINE)
    python = re.findall(r"^[\w.]+(?:Error|Exception): (.+)", message, re.MULTILINE)
    return str([message, *java[:1], *python[-1:]][-1])


def _path(uri: str | None) -> str | None:
    """Convert the URI of a local file to a path; return any other URI unchanged."""
    if uri is None or not uri.startswith("file:"):
        return uri
    return "/" + unquote(uri.removeprefix("file:")).lstrip("/")
