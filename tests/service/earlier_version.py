"""A database as version 0.2 left it, made from one of this version: what later versions added is taken away."""

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Engine, text

LATER = (
    *("actions", "cells", "repeats", "spendings", "unpublished"),
    *("closing_periods", "helped_splits", "led_splits", "split_shares", "split_sums"),
    *("split_leavers", "split_periods"),
)
"""Tables that 0.2 did not have."""
KEY = "PRIMARY KEY (producer, time)"
COLUMNS = "producer BIGINT NOT NULL, time BIGINT NOT NULL, steps BIGINT NOT NULL, setting VARCHAR(32) NOT NULL"


def back_to_0_2(engine: Engine) -> None:
    """Take away what 0.2 did not have. Reports stay, in one table by producer and time."""
    with engine.execution_options(writes=True).begin() as connection:
        for name in LATER:
            connection.execute(text(f"DROP TABLE {name}"))
        connection.execute(text("ALTER TABLE tokens DROP COLUMN replaces"))
        connection.execute(text("ALTER TABLE producers DROP COLUMN group_name"))
        op = Operations(MigrationContext.configure(connection))
        op.drop_index("entries_by_name", "entries")
        for name in ("campaign", "producer"):
            op.drop_index(f"entries_of_{name}", "entries")
            op.create_index(f"entries_of_{name}", "entries", [name])
        connection.execute(text("CREATE TABLE kept AS SELECT producer, time, steps, setting, reward FROM reports"))
        connection.execute(text("DROP TABLE reports"))
        end = " WITHOUT ROWID" if engine.dialect.name == "sqlite" else ""
        connection.execute(text(f"CREATE TABLE reports ({COLUMNS}, reward BIGINT NOT NULL, {KEY}){end}"))
        connection.execute(text("INSERT INTO reports SELECT producer, time, steps, setting, reward FROM kept"))
        connection.execute(text("DROP TABLE kept"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0003'"))
