"""All that this version adds to the tables of halfmask 0.2."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import LONGTEXT

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
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
    op.create_table(
        "actions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
        sa.Column("done", sa.BigInteger, nullable=False),
        *(
            sa.Column(name, sa.String(length), nullable=False)
            for name, length in {"actor": 64, "action": 16, "kind": 16, "name": 64, "reason": 200}.items()
        ),
        sa.Column("detail", sa.Text().with_variant(LONGTEXT, "mysql"), nullable=False),
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        mysql_collate="utf8mb4_bin",
    )
