"""The tables of halfmask 0.2, the oldest that can be upgraded. New databases get theirs from `tables.metadata`."""

revision = "0003"
down_revision = None
branch_labels = None
depends_on = None
