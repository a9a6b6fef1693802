"""The few things the pass needs of an engine that Narwhals has no word for."""

from typing import Any

import narwhals as nw

from halfmask.data.panel import Engine
from halfmask.errors import OptionError

Frame = nw.LazyFrame[Any]


def keep(engine: Engine, frame: Frame) -> Frame:
    """Run a query now and keep its result where the engine is, on disk if it must, for the queries that follow."""
    native = frame.to_native()
    if engine.name == "spark":
        return _frame(native.persist())
    connection: Any = getattr(engine, "connection", None)
    if connection is None:
        raise OptionError(f"engine '{engine.name}' keeps no tables: use duckdb or spark")
    name = f"kept_{connection.sql('SELECT count(*) FROM duckdb_tables()').fetchall()[0][0]}"
    connection.execute(f"CREATE TEMP TABLE {name} AS {native.sql_query()}")
    return _frame(connection.table(name))


def with_bits_set(engine: Engine, frame: Frame) -> Frame:
    """A column ``filled``: how many bits the whole number in ``slot`` has set.

    Only more than 2^14 readings in slots of at most 2^47 add up to 2^62: there one bit is as telling as any.
    """
    bits = "bit_count(CAST(least(slot, 4611686018427387904.0) AS BIGINT))"
    return _extend(engine, frame, bits, bits, "filled")


def with_bucket(engine: Engine, frame: Frame, buckets: int) -> Frame:
    """A column ``label``: the bucket of ``user``, as `profile.bucket_of` has it."""
    digest = "md5(CAST(user AS {}))"
    duckdb = f"CAST('0x' || substr({digest.format('VARCHAR')}, 1, 8) AS BIGINT) % {buckets}".replace("user", '"user"')
    spark = f"CAST(conv(substr({digest.format('STRING')}, 1, 8), 16, 10) AS BIGINT) % {buckets}"
    return _extend(engine, frame, duckdb, spark, "label")


def _extend(engine: Engine, frame: Frame, duckdb: str, spark: str, name: str) -> Frame:
    native = frame.to_native()
    if engine.name == "spark":
        return _frame(native.selectExpr("*", f"{spark} AS {name}"))
    return _frame(native.project(f"*, {duckdb} AS {name}"))


def _frame(native: Any) -> Frame:
    frame: Frame = nw.from_native(native)
    return frame
