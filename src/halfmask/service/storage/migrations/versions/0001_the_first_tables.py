"""The first tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
KINDS = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
OPTIONS: dict[str, Any] = {f"{kind}_{name}": value for kind in ("mysql", "mariadb") for name, value in KINDS.items()}


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("public", sa.String(length=32), nullable=False),
        sa.Column("consumer", sa.BigInteger(), nullable=False),
        sa.Column("terms", LONG, nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("budget", sa.BigInteger(), nullable=False),
        sa.Column("committed", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("committed >= 0 AND committed <= budget", name="within_budget"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public"),
        **OPTIONS,
    )
    op.create_table(
        "closed",
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("begins", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=False),
        sa.Column("cells", LONG, nullable=False),
        sa.Column("entry", LONG, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "period"),
        **OPTIONS,
    )
    op.create_table(
        "consumers",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("public", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public"),
        **OPTIONS,
    )
    op.create_table(
        "entries",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("public", sa.String(length=32), nullable=False),
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("producer", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("booked", sa.BigInteger(), nullable=False),
        sa.Column("reverses", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        **OPTIONS,
    )
    with op.batch_alter_table("entries", schema=None) as batch_op:
        batch_op.create_index("entries_of_campaign", ["campaign"], unique=False)
        batch_op.create_index("entries_of_producer", ["producer"], unique=False)

    op.create_table(
        "events",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        **OPTIONS,
    )
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.create_index("events_of", ["campaign", "id"], unique=False)

    op.create_table(
        "invitations",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("producer", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("hash"),
        **OPTIONS,
    )
    op.create_table(
        "looks",
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("cells", LONG, nullable=False),
        sa.Column("entry", LONG, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "period"),
        **OPTIONS,
    )
    op.create_table(
        "node_cells",
        sa.Column("node", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("cells", LONG, nullable=False),
        sa.PrimaryKeyConstraint("node", "period"),
        **OPTIONS,
    )
    with op.batch_alter_table("node_cells", schema=None) as batch_op:
        batch_op.create_index("node_cells_of", ["campaign", "period"], unique=False)

    op.create_table(
        "nodes",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("public", sa.String(length=32), nullable=False),
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public"),
        **OPTIONS,
    )
    op.create_table(
        "producers",
        sa.Column("id", KEY, autoincrement=True, nullable=False),
        sa.Column("public", sa.String(length=32), nullable=False),
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("setting", sa.String(length=32), nullable=False),
        sa.Column("joined", sa.BigInteger(), nullable=False),
        sa.Column("left_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("public"),
        **OPTIONS,
    )
    with op.batch_alter_table("producers", schema=None) as batch_op:
        batch_op.create_index("producers_of", ["campaign"], unique=False)

    op.create_table(
        "reports",
        sa.Column("producer", sa.BigInteger(), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.Column("steps", sa.BigInteger(), nullable=False),
        sa.Column("setting", sa.String(length=32), nullable=False),
        sa.Column("reward", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("producer", "time"),
        **OPTIONS,
        sqlite_with_rowid=False,
    )
    op.create_table(
        "schedules",
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("begins", sa.BigInteger(), nullable=False),
        sa.Column("rewards", LONG, nullable=False),
        sa.PrimaryKeyConstraint("campaign", "begins"),
        **OPTIONS,
    )
    op.create_table(
        "shown",
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("producer", sa.BigInteger(), nullable=False),
        sa.Column("cells", LONG, nullable=False),
        sa.Column("first_look", sa.BigInteger(), nullable=False),
        sa.Column("last_look", sa.BigInteger(), nullable=False),
        sa.Column("gone", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("campaign", "period", "producer"),
        **OPTIONS,
    )
    op.create_table(
        "tokens",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("hash"),
        **OPTIONS,
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.create_index("tokens_of", ["role", "subject"], unique=False)

    op.create_table(
        "touched",
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("producer", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("campaign", "period", "producer"),
        **OPTIONS,
    )


def downgrade() -> None:
    op.drop_table("touched")
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.drop_index("tokens_of")

    op.drop_table("tokens")
    op.drop_table("shown")
    op.drop_table("schedules")
    op.drop_table("reports")
    with op.batch_alter_table("producers", schema=None) as batch_op:
        batch_op.drop_index("producers_of")

    op.drop_table("producers")
    op.drop_table("nodes")
    with op.batch_alter_table("node_cells", schema=None) as batch_op:
        batch_op.drop_index("node_cells_of")

    op.drop_table("node_cells")
    op.drop_table("looks")
    op.drop_table("invitations")
    with op.batch_alter_table("events", schema=None) as batch_op:
        batch_op.drop_index("events_of")

    op.drop_table("events")
    with op.batch_alter_table("entries", schema=None) as batch_op:
        batch_op.drop_index("entries_of_producer")
        batch_op.drop_index("entries_of_campaign")

    op.drop_table("entries")
    op.drop_table("consumers")
    op.drop_table("closed")
    op.drop_table("campaigns")
