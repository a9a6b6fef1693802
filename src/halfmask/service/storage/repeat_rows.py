"""Answers to requests with an idempotency key, without their secrets."""

import json
from typing import Any, NamedTuple

from sqlalchemy import Column, Index, String, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from halfmask.service.storage.tables import Plain, Statements, dump, long_text, table, text, whole
from halfmask_device.instants import Instant

repeats = table(
    "repeats",
    Column("hash", String(64), primary_key=True),
    text("body", 64),
    whole("created"),
    whole("secrets"),
    long_text("answer"),
    Index("repeats_by_age", "created"),
)


class RepeatRow(NamedTuple):
    """A request that was done.

    ``key``, ``body``  hashes of what was sent
    ``secrets``        number of secrets in the answer, which has their places instead
    """

    key: str
    body: str
    created: Instant
    secrets: int = 0
    answer: Plain = {}  # noqa: RUF012 - never changed


class RepeatStatements(Statements):
    def repeat(self, key: str) -> RepeatRow | None:
        c = repeats.c
        query = select(c.hash, c.body, c.created, c.secrets, c.answer).where(c.hash == key)
        return next((RepeatRow(*row[:4], json.loads(row[4])) for row in self._do(query)), None)

    def add_repeat(self, row: RepeatRow) -> bool:
        """Store a request before it is done. Return whether nobody else did; wait for one who is about to."""
        try:
            with self.connection.begin_nested():
                self._do(insert(repeats).values(hash=row.key, **_columns(row)))
        except IntegrityError:
            return False
        return True

    def answer_repeat(self, row: RepeatRow) -> None:
        self._do(update(repeats).where(repeats.c.hash == row.key).values(_columns(row)))

    def forget_repeat(self, key: str) -> None:
        self._do(delete(repeats).where(repeats.c.hash == key))

    def forget_repeats(self, before: Instant) -> int:
        """Delete requests that were done before an instant. Return how many."""
        return int(self._do(delete(repeats).where(repeats.c.created < before)).rowcount)


def _columns(row: RepeatRow) -> dict[str, Any]:
    return {"body": row.body, "created": row.created, "secrets": row.secrets, "answer": dump(row.answer)}
