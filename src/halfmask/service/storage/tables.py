"""How tables are declared and upgraded, and what all groups of statements share.

Times are instants in microseconds. Counts that may exceed 64 bits are JSON text. A new database gets the newest tables
at once; an older one is brought up to date by Alembic. Each file of `migrations/versions` leads from one version to the
next. Alembic is imported only when it is needed, because starting a service does not need it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    inspect,
)
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.schema import SchemaItem

from halfmask.service.storage.database_kinds import DATABASES
from halfmask_device.instants import Instant

Plain = dict[str, Any]
"""A JSON object."""
CHUNK = 512
"""Keys per statement."""

metadata = MetaData()


def table(name: str, *parts: SchemaItem, **more: Any) -> Table:
    """Declare a table. Text is compared byte by byte in every kind of database; MySQL (and MariaDB) must be told."""
    mysql: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
    made: Table = Table(name, metadata, *parts, **mysql, **more)
    return made


def whole(name: str, *, null: bool = False) -> Column[object]:
    return Column(name, BigInteger, nullable=null)


def text(name: str, length: int, *, unique: bool = False) -> Column[object]:
    return Column(name, String(length), nullable=False, unique=unique)


def long_text(name: str) -> Column[object]:
    return Column(name, Text().with_variant(LONGTEXT, "mysql"), nullable=False)


def numbered_column() -> Column[object]:
    """Return the column ``id``, which the database numbers. SQLite does so only for the type INTEGER."""
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)


class Statements:
    """A group of statements on one connection. The store begins and ends the transaction.

    ``alone``   whether nobody else can write since it began; if not, what was read before `lock` may have changed
    ``writes``  whether the transaction may write
    """

    def __init__(self, connection: Connection, *, writes: bool = False) -> None:
        self.connection, self.writes = connection, writes
        self._database = DATABASES[connection.dialect.name]
        self.alone = self._database.one_writer
        self._do = connection.execute

    def clock(self) -> Instant | None:
        """Return the database's own clock, or None if it is this machine's."""
        return self._database.clock(self.connection)

    def _insert(self, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows of all columns except the one that the database numbers, as fast as it can."""
        self._database.insert(self.connection, table, rows)

    def _number(self, table: Table, **row: Any) -> int:
        """Insert a row and return the number that the database gave it."""
        (key,) = self._do(insert(table).values(row)).inserted_primary_key or (0,)
        return int(key)

    def _replace(self, table: Table, **row: Any) -> None:
        """Insert a row in place of the one with the same primary key, if there is one."""
        self._do(delete(table).where(*(column == row[column.name] for column in table.primary_key)))
        self._do(insert(table).values(row))


def dump(value: Mapping[Any, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def chunks(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(keys), CHUNK):
        yield keys[start : start + CHUNK]


MIGRATIONS = resources.files("halfmask.service.storage") / "migrations"


def configuration(connection: Connection) -> Any:
    """Return Alembic's configuration for a database."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def upgrade(connection: Connection) -> None:
    """Make the tables, or bring them up to date."""
    from alembic import command

    if inspect(connection).has_table("alembic_version"):
        command.upgrade(configuration(connection), "head")
    else:
        metadata.create_all(connection)
        command.stamp(configuration(connection), "head")


def newest_version() -> str:
    """Return the number that the file name of the last migration begins with."""
    names = [each.name for each in (MIGRATIONS / "versions").iterdir()]
    return max(name.partition("_")[0] for name in names if name[:1].isdigit())


def version_of(engine: Engine) -> str | None:
    """Return the version of a database's tables, as Alembic records it, or None if there are none."""
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
