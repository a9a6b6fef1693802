"""All that this version adds to the tables of halfmask 0.2."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import LONGTEXT

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}


def upgrade() -> None:
    _make_split_tables()
    _ledgers()
    op.add_column("tokens", sa.Column("replaces", sa.String(64), nullable=True))
    op.create_table(
        "repeats",
        sa.Column("hash", sa.String(64), primary_key=True),
        sa.Column("body", sa.String(64), nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("created", "secrets")),
        sa.Column("answer", sa.Text().with_variant(LONGTEXT, "mysql"), nullable=False),
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
    )
    op.create_index("repeats_by_age", "repeats", ["created"])
    op.add_column("producers", sa.Column("group_name", sa.String(64), nullable=True))
    _add_cells()
    _store_reports_by_period()
    op.create_table(
        "actions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("done", sa.BigInteger, nullable=False),
        *(
            sa.Column(name, sa.String(length), nullable=False)
            for name, length in {"actor": 64, "action": 16, "kind": 16, "name": 64, "reason": 200}.items()
        ),
        sa.Column("detail", sa.Text().with_variant(LONGTEXT, "mysql"), nullable=False),
        **MYSQL,
    )


def _make_split_tables() -> None:
    op.create_table(
        "led_splits",
        sa.Column("campaign", sa.BigInteger, primary_key=True, autoincrement=False),
        *_texts(helper=200, token=512, verify_key=64, ticket_key=64, pseudonym_key=64),
        sa.Column("terms", sa.Text().with_variant(LONGTEXT, "mysql"), nullable=False),
        *_texts(held=64, refused=80),
        **MYSQL,
    )
    op.create_table(
        "helped_splits",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("public", sa.String(32), nullable=False, unique=True),
        *_numbers("consumer"),
        *_texts(leader=200, led=32),
        sa.Column("terms", sa.Text().with_variant(LONGTEXT, "mysql"), nullable=False),
        *_texts(verify_key=64, ticket_key=64),
        sa.UniqueConstraint("leader", "led", name="led_once"),
        **MYSQL,
    )
    op.create_table(
        "split_shares",
        *_numbers("holder", "split", "time"),
        *_texts(owner=32, nonce=32),
        sa.Column("share", sa.LargeBinary(), nullable=False),
        *_numbers("reward", "verdict", "number"),
        sa.PrimaryKeyConstraint("holder", "split", "time", "owner"),
        **MYSQL,
    )
    op.create_index("split_shares_by_nonce", "split_shares", ["holder", "split", "nonce"], unique=True)
    op.create_table(
        "closing_periods",
        *_numbers("campaign"),
        *_texts(period=24),
        *_numbers("begins", "since", "frozen"),
        sa.PrimaryKeyConstraint("campaign", "period"),
        **MYSQL,
    )
    op.create_table(
        "split_periods",
        *_numbers("holder", "split", "time"),
        *_texts(secret=64),
        *_numbers("version"),
        sa.PrimaryKeyConstraint("holder", "split", "time"),
        **MYSQL,
    )
    op.create_table(
        "split_leavers",
        *_numbers("campaign"),
        *_texts(pseudonym=32),
        sa.PrimaryKeyConstraint("campaign", "pseudonym"),
        **MYSQL,
    )
    op.create_table(
        "split_sums",
        *_numbers("split", "time"),
        *_texts(asked=64, share=16),
        *_numbers("reports"),
        sa.PrimaryKeyConstraint("split", "time"),
        **MYSQL,
    )


def _numbers(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger, nullable=False) for name in names]


def _texts(**lengths: int) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.String(length), nullable=False) for name, length in lengths.items()]


def _ledgers() -> None:
    """Add up what each period cost, and index entries by period and by name."""
    made = op.create_table(
        "spendings",
        sa.Column("campaign", sa.BigInteger, nullable=False),
        sa.Column("period", sa.String(24), nullable=False),
        sa.Column("amount", sa.BigInteger, nullable=False),
        sa.Column("shown", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "period"),
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
    )
    connection = op.get_bind()
    sums = connection.execute(sa.text("SELECT campaign, period, sum(amount) FROM entries GROUP BY campaign, period"))
    closed = connection.execute(sa.text("SELECT campaign, period, entry FROM closed")).all()
    shown = {(row[0], row[1]) for row in closed if json.loads(row[2])["withheld"] is None}
    rows = [
        {"campaign": row[0], "period": row[1], "amount": int(row[2]), "shown": int((row[0], row[1]) in shown)}
        for row in sums
    ]
    if rows:
        op.bulk_insert(made, rows)
    op.drop_index("entries_of_campaign", "entries")
    op.drop_index("entries_of_producer", "entries")
    op.create_index("entries_by_name", "entries", ["public"])
    op.create_index("entries_of_campaign", "entries", ["campaign", "period", "id"])
    op.create_index("entries_of_producer", "entries", ["producer", "period", "id"])


def _add_cells() -> None:
    op.create_table(
        "cells",
        *_numbers("campaign"), *_texts(period=24, cell=128),
        *_numbers("reports", "producers"), *_texts(sum=64, squares=64),
        sa.PrimaryKeyConstraint("campaign", "period", "cell"), **MYSQL,
    )  # fmt: skip
    key = sa.PrimaryKeyConstraint("campaign", "period")
    op.create_table("unpublished", *_numbers("campaign"), *_texts(period=24), key, **MYSQL)


def _store_reports_by_period() -> None:
    """Move the reports to a table that holds those of a period together, and count the cells of open periods."""
    connection = op.get_bind()
    op.rename_table("reports", "old_reports")
    if connection.dialect.name == "postgresql":
        op.execute("ALTER INDEX reports_pkey RENAME TO old_reports_pkey")
    op.create_table(
        "reports",
        *_numbers("bucket", "producer", "time", "steps"), *_texts(setting=32), *_numbers("reward"),
        sa.PrimaryKeyConstraint("bucket", "producer", "time"),
        sqlite_with_rowid=False, postgresql_partition_by="RANGE (bucket)", **MYSQL,
    )  # fmt: skip
    for row in connection.execute(sa.text("SELECT id, public, consumer, terms FROM campaigns ORDER BY id")).all():
        _move(connection, row)
    op.drop_table("old_reports")


def _move(connection: sa.Connection, row: Any) -> None:
    """Move the reports of a campaign, period by period."""
    from halfmask.service.campaign import Campaign
    from halfmask.service.cells import count_reports
    from halfmask.service.storage.database_kinds import DATABASES
    from halfmask.service.storage.sql_store import Transaction

    campaign, tx = Campaign(row[0], row[1], row[2], json.loads(row[3])), Transaction(connection)
    those = f"FROM old_reports r JOIN producers p ON p.id = r.producer WHERE p.campaign = {campaign.key}"
    first, last = connection.execute(sa.text(f"SELECT min(r.time), max(r.time) {those}")).one()
    closed = tx.closed_keys(campaign.key)
    for span in campaign.calendar.spans(first, last + 1) if first is not None else ():
        within = f"{those} AND r.time >= {span.begins} AND r.time < {span.ends}"
        if connection.execute(sa.text(f"SELECT 1 {within} LIMIT 1")).first() is None:
            continue
        if DATABASES[connection.dialect.name].partitions:
            DATABASES[connection.dialect.name].add_partition(connection, *campaign.room(span))
        columns = "r.producer, r.time, r.steps, r.setting, r.reward"
        op.execute(f"INSERT INTO reports SELECT {campaign.bucket(span)}, {columns} {within}")
        if span.key not in closed:
            tx.add_to_cells(campaign.key, span.key, count_reports(tx.reports_in(campaign.bucket(span))))
