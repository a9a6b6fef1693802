"""Readings on Spark: the engine for what one machine cannot hold."""

import logging
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import narwhals as nw
import pyarrow as pa

from halfmask.data.engines.duckdb import BATCH_ROWS, headline
from halfmask.data.engines.sql import SparkDialect
from halfmask.data.formats import frames, parquet, text
from halfmask.data.panel import Engine
from halfmask.data.places import FILE_FORMATS, Place
from halfmask.data.raw import SAMPLE_ROWS, Raw, RawPlace, RowTimes
from halfmask.errors import HalfmaskError, OptionError, RunError, SourceError

_OPEN_COST = 4 << 20
_SESSION = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
    "spark.sql.files.openCostInBytes": str(_OPEN_COST),
}
"""Casts fail aloud; a zone-less time stays one; folder names stay text; no part of a file is below 4 MB."""

_FILE, _BLOCK, _ROW, _INDEX = "halfmask file", "halfmask block", "halfmask row", "halfmask index"


def session(master: str | None, threads: int | None, memory_limit: str | None) -> Any:
    """A Spark session with settings of its own, on the Spark that runs already or on a new one."""
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
        base = builder.getOrCreate()
        spark = base.newSession()
    except (PySparkException, ImportError, RuntimeError, OSError) as error:
        raise RunError(
            f"no Spark at {master!r}: {headline(str(error))}; check `master`, and that Java is there"
        ) from error
    for name, value in _SESSION.items():
        spark.conf.set(name, value)
    return spark


def _start_settings(master: str, memory_limit: str | None) -> dict[str, str]:
    """Quiet, without pages; a Spark of this machine alone is not reachable from others.

    Log level FATAL: an executor's error is raised here as well, and its stack trace helps no reader.
    """
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "FATAL"}
    if master.startswith("local"):
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        settings |= {"spark.driver.memory": memory_limit.removesuffix("B")} if memory_limit else {}
    return settings


class SparkEngine(Engine):
    """A Spark session; results come back through Arrow."""

    name = "spark"

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def table(self, rows: pa.Table) -> nw.LazyFrame[Any]:
        return lazy(self.spark.createDataFrame(rows))

    def collect(self, frame: nw.LazyFrame[Any]) -> pa.Table:
        return frame.to_native().toArrow()

    def misread(self, error: Exception) -> bool:
        return "CAST_INVALID_INPUT" in str(error)

    def batches(self, frame: nw.LazyFrame[Any]) -> Generator[pa.RecordBatch]:
        """Row by row from one partition after another, gathered into batches: memory holds a partition at most."""
        native = frame.to_native()
        names, rows = native.columns, []
        schema = native.limit(0).toArrow().schema
        for row in native.toLocalIterator():
            rows.append(tuple(row))
            if len(rows) == BATCH_ROWS:
                yield _batch(rows, names, schema)
                rows = []
        if rows:
            yield _batch(rows, names, schema)


def lazy(native: Any) -> nw.LazyFrame[Any]:
    """A Spark frame as Narwhals sees it."""
    frame: nw.LazyFrame[Any] = nw.from_native(native)
    return frame


def _batch(rows: Sequence[tuple[Any, ...]], names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, schema.field(name).type) for name, column in zip(names, columns, strict=True)]
    return pa.record_batch(arrays, schema=schema)


def open_spark_files(place: Place, master: str | None, threads: int | None, memory_limit: str | None) -> Raw:
    """CSV, Parquet or CER files, read by Spark under the layout that the look at the first file found."""
    if place.format not in FILE_FORMATS:
        raise OptionError(f"`engine=spark` reads files, not {place.format} databases; use `engine=duckdb`")
    differ = place.format == "parquet" and parquet.check(place).differ
    layout = None
    if place.format in ("cer", "csv"):
        found = text.cer_layout(place) if place.format == "cer" else text.layouts(place)[0]
        layout = found[0][0]
        differ = len(found) > 1
        if not layout.plain:
            raise SourceError(
                f"{place.source}: lines around the table, or comments; Spark cannot skip them, use `engine=duckdb`"
            )
    if differ:
        raise SourceError(
            f"{place.source}: the files' columns differ in order or type; use `engine=duckdb`, which aligns them"
        )
    spark = session(master, threads, memory_limit)
    reader = spark.read.option("basePath", place.root) if place.partitions else spark.read
    paths = [re.sub(r"([*?\[\]{}\\])", r"\\\1", file) for file in place.files]
    if layout is None:
        return SparkRaw(spark, place.source, lambda: reader.parquet(*paths), place)
    options = {"sep": layout.delimiter, "quote": '"', "escape": '"', "header": str(layout.header)}
    schema = ", ".join(f"{SparkDialect().quote(name)} STRING" for name in layout.names)
    return SparkRaw(spark, place.source, lambda: reader.csv(paths, schema=schema, mode="FAILFAST", **options), place)


def open_spark_frame(frame: frames.Frame, master: str | None, threads: int | None, memory_limit: str | None) -> Raw:
    """A PySpark frame in its own session, or another frame brought to Spark."""
    source = f"{frame.implementation.name.lower()} frame"
    native = frame.to_native()
    if frame.implementation not in frames.SPARK:
        spark = session(master, threads, memory_limit)
        return SparkRaw(spark, source, lambda: spark.createDataFrame(frames.arrow(frame)), None)
    spark = native.sparkSession
    if spark.conf.get("spark.sql.ansi.enabled") != "true":
        raise OptionError(
            "the frame's session has spark.sql.ansi.enabled off, so unreadable text would vanish; switch it on"
        )
    return SparkRaw(spark, source, lambda: native, None)


class SparkRaw(Raw):
    """A Spark frame, and the files it comes from where it comes from files."""

    dialect = SparkDialect()

    def __init__(self, spark: Any, source: str, read: Callable[[], Any], place: Place | None) -> None:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark.errors import PySparkException

        self.failures = (PySparkException, Py4JError, pa.ArrowException)
        self.engine = SparkEngine(spark)
        self.source = source
        self.spark = spark
        self._place = place
        self.files = place.files if place else ()
        self.partitions = place.partitions if place else frozenset()
        try:
            self._frame = read()
            self.sample = self._frame.limit(SAMPLE_ROWS).toArrow()
        except self.failures as error:
            raise self.explain(error) from error

    def _ordered(self) -> Any:
        """The frame with ``order``, which grows along the source.

        Spark reads parts of files in an order of its own, but each part from its start: order is the file's
        number, the part's place in the file (parts are of 4 MB at least) and the row's place in the part,
        18 + 17 + 28 bits. Files are numbered in the order of their names.
        """
        if self._place is None:
            return self._frame.selectExpr("*", "monotonically_increasing_id() AS order")
        numbered = self._frame.selectExpr(
            "*",
            f"_metadata.file_path AS `{_FILE}`",
            f"_metadata.file_block_start AS `{_BLOCK}`",
            f"monotonically_increasing_id() AS `{_ROW}`",
        )
        files = sorted(uri.replace("file:///", "file:/", 1) for uri in self._frame.inputFiles())
        index = self.spark.createDataFrame(pa.table({_FILE: files, _INDEX: pa.array(range(len(files)), pa.int64())}))
        part = f"(`{_INDEX}` * 131072L + `{_BLOCK}` div {_OPEN_COST}L)"
        order = f"{part} * 268435456L + `{_ROW}` % 268435456L AS order"
        return numbered.join(index.hint("broadcast"), _FILE).selectExpr("*", order)

    def select(self, expressions: Mapping[str, str], *, ordered: bool) -> nw.LazyFrame[Any]:
        columns = [f"{sql} AS {self.dialect.quote(name)}" for name, sql in expressions.items()]
        frame = self._ordered() if ordered else self._frame
        return lazy(frame.selectExpr(*columns, *(["order"] if ordered else [])))

    def unpivot(
        self, users: Sequence[str], times: RowTimes, values: Sequence[str], *, ordered: bool
    ) -> nw.LazyFrame[Any]:
        offsets = times.offsets or (0,) * len(values)
        names = users if len(users) == len(values) else [users[0]] * len(values)
        rows = ", ".join(
            f"{name}, {times.base}, {shift}L, {value}"
            for name, shift, value in zip(names, offsets, values, strict=True)
        )
        more = ["order"] if ordered else []
        frame = self._ordered() if ordered else self._frame
        stacked = frame.selectExpr(f"stack({len(values)}, {rows}) AS (user, base, shift, value)", *more)
        return lazy(stacked.selectExpr("user", f"{times.of(self.dialect, 'base', 'shift')} AS time", "value", *more))

    def distinct(self, text: str) -> dict[str, int]:
        text = f"coalesce(trim(CAST({text} AS STRING)), '') AS t"
        rows = self._frame.selectExpr(text).groupBy("t").count().limit(1000).collect()
        return {row["t"]: int(row["count"]) for row in rows}

    def first(self, condition: str, shown: str) -> RawPlace | None:
        frame = self._ordered()
        file = f"`{_FILE}`" if self._place else "CAST(NULL AS STRING)"
        found = frame.where(condition).selectExpr(f"{file} AS file", "order", f"CAST({shown} AS STRING) AS text")
        rows = found.orderBy("order").limit(1).collect()
        if not rows:
            return None
        before = frame.where(f"order <= {rows[0]['order']}L")
        if self._place:
            before = before.where(f"{file} = {self.dialect.literal(rows[0]['file'])}")
        return RawPlace(_path(rows[0]["file"]), before.count(), rows[0]["text"])

    def count(self, conditions: Sequence[str]) -> list[int]:
        counts = [f"coalesce(sum(CASE WHEN {c} THEN 1 ELSE 0 END), 0) AS c{i}" for i, c in enumerate(conditions)]
        return [int(n) for n in self._frame.selectExpr(*counts).collect()[0]]

    def fatal(self, error: Exception) -> RunError | None:
        message = str(error)
        if "OutOfMemoryError" in message:
            return RunError(f"{self.source}: Spark ran out of memory: give its executors more, or use more machines")
        if "SparkContext was shut down" in message or "cancelled" in message:
            return RunError(f"{self.source}: Spark stopped before the work was done")
        return None

    def explain(self, error: Exception) -> HalfmaskError:
        message = str(error)
        file = re.search(r"(file:/\S+?)[.,]?(\s|$)", message)
        where = _path(file[1]) if file else self.source
        if "MALFORMED" in message:
            return SourceError(f"{where}: a line has more or fewer columns than the others; `engine=duckdb` names it")
        return SourceError(f"{where}: {headline(message)}")


def _path(uri: str | None) -> str | None:
    """A local file's URI as a path; another URI as it is."""
    if uri is None or not uri.startswith("file:"):
        return uri
    return "/" + unquote(uri.removeprefix("file:")).lstrip("/")
