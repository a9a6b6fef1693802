"""Tables of DuckDB, SQLite and PostgreSQL databases."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import narwhals as nw
import pytest

import halfmask
from halfmask.data.open_panel import open_panel
from tests.data.panels import READINGS, rows, us, write
from tests.refusals import refused


def sqlite(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


TABLE = "CREATE TABLE readings (extra BLOB, user TEXT, time TEXT, value REAL)"
ROWS = (
    "INSERT INTO readings VALUES (x'00', 'a', '2026-01-01 00:00:00', 1.5), (NULL, 'b', '2026-01-01 00:30:00', NULL), "
    "(NULL, 'a', '2026-01-01 01:00:00.25', -2)"
)


def test_duckdb_file(tmp_path: Path) -> None:
    path, single = tmp_path / "it's.duckdb", tmp_path / "single.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute('CREATE TABLE readings ("user" VARCHAR, time TIMESTAMP, value DECIMAL(8, 3))')
        database.execute(
            "INSERT INTO readings VALUES ('a', '2026-01-01 00:00:00', 1.5), ('b', '2026-01-01 00:30:00', NULL), "
            "('a', '2026-01-01 01:00:00.25', -2)"
        )
    shutil.copy(path, single)
    panel = open_panel(single)
    assert rows(panel) == READINGS
    assert panel.notes == ("table = readings", "user = user, time = time, value = value")
    with duckdb.connect(str(path)) as database:
        database.execute(
            'CREATE SCHEMA s; CREATE TABLE s."odd ""name" AS FROM readings; CREATE VIEW v AS FROM readings'
        )
    with refused("option.several", "table"):
        open_panel(path)
    assert rows(open_panel(path, table="v")) == READINGS
    assert rows(open_panel(path, table='s.odd "name')) == READINGS
    with refused("option.missing", "table"):
        open_panel(path, table="w")


def test_sqlite_file(tmp_path: Path) -> None:
    panel = open_panel(sqlite(tmp_path / "a?b#c.db", TABLE, ROWS))
    assert rows(panel) == rows(panel) == READINGS
    assert panel.notes[0] == "table = readings"
    assert sum(batch.num_rows for batch in panel.batches()) == 3


def test_sqlite_of_many_rows_is_read_anew_by_every_query(tmp_path: Path) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120000)"
    path = sqlite(
        tmp_path / "x.sqlite",
        "CREATE TABLE r (meter INTEGER, ts INTEGER, kwh REAL)",
        f"INSERT INTO r {many} SELECT i % 7, 1700000000 + i, i FROM n",
    )
    panel = open_panel(path)
    assert "ts counts s since 1970" in panel.notes
    for _ in range(2):
        found = panel.collect(panel.frame.group_by("user").agg(nw.col("value").sum())).to_pylist()
        assert sum(row["value"] for row in found) == 120_000 * 120_001 / 2
    batches = panel.batches()
    assert next(batches).num_rows > 0
    batches.close()  # type: ignore[attr-defined]
    assert panel.collect(panel.frame.select(nw.col("user").max())).to_pylist() == [{"user": 6}]


def test_sqlite_holds_any_type_in_any_row(tmp_path: Path) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)"
    fill = f"INSERT INTO readings {many} SELECT NULL, 'a', '2026-01-01', i FROM n"
    odd = "INSERT INTO readings VALUES (NULL, 'a', '2026-01-01', 'much')"
    panel = open_panel(sqlite(tmp_path / "x.db", TABLE, fill, odd))
    with refused("reading.type", place=f"{tmp_path / 'x.db'}, table readings, row 60001, column 'value'"):
        rows(panel)
    late = "INSERT INTO readings VALUES (NULL, 'a', 'late', 1)"
    panel = open_panel(sqlite(tmp_path / "y.db", TABLE, fill, late))
    with refused("reading.cell", place=f"{tmp_path / 'y.db'}, table readings, row 60001, column 'time'"):
        rows(panel)


def test_sqlite_faults(tmp_path: Path) -> None:
    with refused("source.empty"):
        open_panel(sqlite(tmp_path / "empty.db", "CREATE TABLE t (x)", "DROP TABLE t"))
    with refused("source.empty"):
        open_panel(sqlite(tmp_path / "bare.db", TABLE))
    with refused("source.database", place=str(tmp_path / "foreign.sqlite")):
        open_panel(write(tmp_path / "foreign.sqlite", "hello"))
    with refused("option.several", "table"):
        open_panel(sqlite(tmp_path / "two.db", TABLE, "CREATE TABLE other (x)"))
    with refused("source.database", place=str(tmp_path / "foreign.duckdb")):
        open_panel(write(tmp_path / "foreign.duckdb", "hello"))


@pytest.mark.xdist_group("postgres")
def test_postgresql(postgres: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(postgres) as database, database.cursor() as cursor:
        for statement in (
            'CREATE TABLE readings ("user" varchar(9), time timestamp, value numeric, extra jsonb)',
            "INSERT INTO readings VALUES ('a', '2026-01-01 00:00:00', 1.5, '{}'), ('b', '2026-01-01 00:30:00', NULL, "
            "NULL), ('a', '2026-01-01 01:00:00.25', -2, NULL)",
        ):
            cursor.execute(statement)
        database.commit()
    panel = open_panel(postgres)
    assert rows(panel) == rows(panel) == READINGS
    assert panel.notes[0] == "table = readings"
    assert sum(batch.num_rows for batch in panel.batches()) == 3
    assert "secret" not in panel.source
    query = 'select "user", time, value * 1000 as wh from readings where value is not null;'
    asked = open_panel(postgres, sql=query)
    assert [row[2] for row in rows(asked)] == [1500.0, -2000.0]
    profile = halfmask.profile(db=postgres, sql=query)
    assert (profile.readings, profile.users, profile.unit) == (2, 1, "Wh")
    assert "secret" not in str(profile.about)
    with refused("source.database"):
        open_panel(postgres, sql="select nothing from nowhere")

    with dbapi.connect(postgres) as database, database.cursor() as cursor:
        cursor.execute('CREATE SCHEMA "Odd"')
        cursor.execute(
            'CREATE TABLE "Odd"."it\'s ""x" AS SELECT gen_random_uuid() AS meter, '
            "timestamptz '2026-07-01 12:00:00+00' + i * interval '1 minute' AS ts, i::real AS kwh "
            "FROM generate_series(1, 200000) AS g(i)"
        )
        database.commit()
    with refused("option.several", "table"):
        open_panel(postgres)
    panel = open_panel(postgres, table="Odd.it's \"x", tz="Europe/Dublin")
    for _ in range(2):
        found = panel.collect(
            panel.frame.select(nw.col("value").sum(), nw.col("time").min(), nw.col("user").n_unique())
        )
        assert found.to_pylist() == [{"value": 200_000 * 200_001 / 2, "time": us("2026-07-01T13:01"), "user": 200_000}]
    batches = panel.batches()
    assert next(batches).num_rows > 0
    batches.close()  # type: ignore[attr-defined]
    assert panel.collect(panel.frame.head(1)).num_rows == 1


@pytest.mark.xdist_group("postgres")
def test_postgresql_faults(postgres: str) -> None:
    with refused("source.database") as caught:
        open_panel(postgres.replace("/postgres", "/nowhere", 2).replace("//nowhere", "//postgres"))
    assert "secret" not in str(caught.value)
    with refused("option.engine", "engine"):
        open_panel(postgres, engine="spark")


def test_a_query_over_files(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.csv", "meter,channel,time,kwh\n" + "".join(f"m,{c},2026-01-01,{i}\n" for i, c in enumerate("ab"))
    )
    for source, table in ((":memory:", f"'{path}'"), (path, "readings")):
        panel = open_panel(source, sql=f"select meter, time, kwh from {table} where channel = 'b';")
        assert [(row[0], row[2]) for row in rows(panel)] == [("m", 1.0)]
    with refused("option.needed", "sql"):
        open_panel(":memory:")
