"""How tables are declared. Times are instants in microseconds. Counts that may exceed 64 bits are JSON text."""

from typing import Any

from sqlalchemy import BigInteger, Column, Integer, MetaData, String, Table, Text
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.schema import SchemaItem

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


def numbered() -> Column[object]:
    """Return the column ``id``, which the database numbers. SQLite does so only for the type INTEGER."""
    return Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True)
