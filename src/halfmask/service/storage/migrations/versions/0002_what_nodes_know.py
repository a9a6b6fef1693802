"""Add tables for what nodes know of each other."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

KIND: dict[str, Any] = {
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mysql_engine": "InnoDB",
}


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.String(length=200), nullable=False),
        sa.PrimaryKeyConstraint("name"),
        **KIND,
    )
    op.create_table(
        "known",
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("node", sa.String(length=32), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("final", sa.BigInteger(), nullable=False),
        sa.Column(
            "cells",
            sa.Text().with_variant(mysql.LONGTEXT(), "mariadb").with_variant(mysql.LONGTEXT(), "mysql"),
            nullable=False,
        ),
        sa.PrimaryKeyConstraint("campaign", "period", "node"),
        **KIND,
    )


def downgrade() -> None:
    op.drop_table("known")
    op.drop_table("facts")
