"""The tables. Times are instants in microseconds. Counts that may exceed 64 bits are JSON text with whole numbers."""

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.schema import SchemaItem

metadata = MetaData()

Key = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows only by an INTEGER
Long = Text().with_variant(LONGTEXT, "mysql", "mariadb")


def _table(name: str, *parts: SchemaItem, **more: Any) -> Table:
    made: Table = Table(
        name,
        metadata,
        *parts,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
        mariadb_engine="InnoDB",
        mariadb_charset="utf8mb4",
        mariadb_collate="utf8mb4_bin",
        **more,
    )
    return made


def _whole(name: str, *, null: bool = False) -> Column[object]:
    return Column(name, BigInteger, nullable=null)


def _text(name: str, length: int, *, unique: bool = False) -> Column[object]:
    return Column(name, String(length), nullable=False, unique=unique)


def _long(name: str) -> Column[object]:
    return Column(name, Long, nullable=False)


def _id() -> Column[object]:
    return Column("id", Key, primary_key=True, autoincrement=True)


tokens = _table(
    "tokens",
    Column("hash", String(64), primary_key=True),
    _text("role", 16),
    _whole("subject"),
    _whole("created"),
    _whole("expires", null=True),
    _whole("revoked", null=True),
    Index("tokens_of", "role", "subject"),
)
consumers = _table("consumers", _id(), _text("public", 32, unique=True), _text("name", 200), _whole("created"))
campaigns = _table(
    "campaigns",
    _id(),
    _text("public", 32, unique=True),
    _whole("consumer"),
    _long("terms"),
    _whole("created"),
    _whole("budget"),
    _whole("committed"),
    CheckConstraint("committed >= 0 AND committed <= budget", name="within_budget"),
)
schedules = _table(
    "schedules",
    _whole("campaign"),
    _whole("begins"),
    _long("rewards"),
    PrimaryKeyConstraint("campaign", "begins"),
)
invitations = _table(
    "invitations",
    Column("hash", String(64), primary_key=True),
    _whole("campaign"),
    _whole("producer", null=True),
)
producers = _table(
    "producers",
    _id(),
    _text("public", 32, unique=True),
    _whole("campaign"),
    _text("setting", 32),
    _whole("joined"),
    _whole("left_at", null=True),
    Index("producers_of", "campaign"),
)
reports = _table(
    "reports",
    _whole("producer"),
    _whole("time"),
    _whole("steps"),
    _text("setting", 32),
    _whole("reward"),
    PrimaryKeyConstraint("producer", "time"),
    sqlite_with_rowid=False,  # one tree: a report is written once, and a producer's reports are stored together
)
entries = _table(
    "entries",
    _id(),
    _text("public", 32),
    _whole("campaign"),
    _whole("producer"),
    _whole("amount"),
    _text("period", 24),
    _whole("booked"),
    Column("reverses", String(32), nullable=True),
    Index("entries_of_campaign", "campaign"),
    Index("entries_of_producer", "producer"),
)
closed = _table(
    "closed",
    _whole("campaign"),
    _text("period", 24),
    _whole("begins"),
    _whole("closed_at"),
    _long("cells"),
    _long("entry"),
    PrimaryKeyConstraint("campaign", "period"),
)
events = _table("events", _id(), _whole("campaign"), _text("period", 24), Index("events_of", "campaign", "id"))
looks = _table(
    "looks",
    _whole("campaign"),
    _text("period", 24),
    _whole("number"),
    _long("cells"),
    _long("entry"),
    PrimaryKeyConstraint("campaign", "period"),
)
touched = _table(
    "touched",
    _whole("campaign"),
    _text("period", 24),
    _whole("producer"),
    PrimaryKeyConstraint("campaign", "period", "producer"),
)
shown = _table(
    "shown",
    _whole("campaign"),
    _text("period", 24),
    _whole("producer"),
    _long("cells"),
    _long("looks"),
    _whole("gone"),
    PrimaryKeyConstraint("campaign", "period", "producer"),
)
nodes = _table(
    "nodes", _id(), _text("public", 32, unique=True), _whole("campaign"), _text("name", 200), _whole("created")
)
facts = _table("facts", Column("name", String(64), primary_key=True), _text("value", 200))
known = _table(
    "known",
    _whole("campaign"),
    _text("node", 32),
    _text("period", 24),
    _whole("version"),
    _whole("final"),
    _long("cells"),
    PrimaryKeyConstraint("campaign", "period", "node"),
)
node_cells = _table(
    "node_cells",
    _whole("node"),
    _text("period", 24),
    _whole("campaign"),
    _whole("version"),
    _long("cells"),
    PrimaryKeyConstraint("node", "period"),
    Index("node_cells_of", "campaign", "period"),
)
