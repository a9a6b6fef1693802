"""Store every snapshot ("look") that changed a producer, not only the first and the last."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

LONG = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")
KINDS = {"engine": "InnoDB", "charset": "utf8mb4", "collate": "utf8mb4_bin"}
OPTIONS: dict[str, Any] = {f"{kind}_{name}": value for kind in ("mysql", "mariadb") for name, value in KINDS.items()}
UNKNOWN = -1
"""A snapshot that never existed; snapshots are numbered from 1."""
SAME = ("campaign", "period", "producer", "cells", "gone")


def _replaced(*columns: sa.Column[Any]) -> tuple[list[dict[str, Any]], sa.Table]:
    """Return the rows of the old table and a new table in its place. It holds only open periods of live campaigns."""
    found = op.get_bind().execute(sa.text("SELECT * FROM shown"))
    rows = [dict(row) for row in found.mappings()]
    op.drop_table("shown")
    made = op.create_table(
        "shown",
        sa.Column("campaign", sa.BigInteger(), nullable=False),
        sa.Column("period", sa.String(length=24), nullable=False),
        sa.Column("producer", sa.BigInteger(), nullable=False),
        sa.Column("cells", LONG, nullable=False),
        *columns,
        sa.Column("gone", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("campaign", "period", "producer"),
        **OPTIONS,
    )
    return rows, made


def upgrade() -> None:
    """Fill in the snapshots that changed each producer.

    Those between its first and its last were not stored. If there may be some, no sum of snapshots is known to be safe.
    Then one producer of the period is tied to `UNKNOWN`, alone. This is a cut of one tie, so the period does not get
    another snapshot until it closes.
    """
    rows, made = _replaced(sa.Column("looks", LONG, nullable=False))
    told = set()
    for row in rows:
        looks = sorted({row["first_look"], row["last_look"]})
        period = (row["campaign"], row["period"])
        if looks[-1] > looks[0] + 1 and period not in told:
            looks = [UNKNOWN, *looks]
            told.add(period)
        op.bulk_insert(made, [{name: row[name] for name in SAME} | {"looks": json.dumps(looks)}])


def downgrade() -> None:
    rows, made = _replaced(*(sa.Column(name, sa.BigInteger(), nullable=False) for name in ("first_look", "last_look")))
    for row in rows:
        looks = [each for each in json.loads(row["looks"]) if each != UNKNOWN]
        old = {"first_look": min(looks), "last_look": max(looks)}
        op.bulk_insert(made, [{name: row[name] for name in SAME} | old])
