"""Tokens, and who holds each."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from sqlalchemy import Column, Index, String, and_, bindparam, func, insert, select, update

from halfmask.service.storage.participant_rows import nodes, producers
from halfmask.service.storage.statements import Statements, chunks
from halfmask.service.storage.tables import table, text, whole
from halfmask_device.instants import Instant

Role = Literal["operator", "consumer", "producer", "node", "peer"]

tokens = table(
    "tokens",
    Column("hash", String(64), primary_key=True),
    text("role", 16),
    whole("subject"),
    whole("created"),
    whole("expires", null=True),
    whole("revoked", null=True),
    Index("tokens_of", "role", "subject"),
)


class Identity(NamedTuple):
    """The holder of a token. ``campaign`` is that of a producer or node; ``left`` is when a producer left."""

    role: Role
    subject: int
    campaign: int | None
    left: Instant | None
    expires: Instant | None
    revoked: Instant | None


class IdentityStatements(Statements):
    def identities(self, hashes: Sequence[str]) -> dict[str, Identity]:
        found: dict[str, Identity] = {}
        for part in chunks(list(hashes)):
            for hash, *rest in self._do(_IDENTITIES, {"hashes": part}):
                found[hash] = Identity(*rest)
        return found

    def add_token(self, hash: str, role: Role, subject: int, now: Instant, expires: Instant | None) -> None:
        row = {"hash": hash, "role": role, "subject": subject, "created": now, "expires": expires, "revoked": None}
        self._do(insert(tokens), row)

    def revoke_token(self, hash: str, now: Instant) -> None:
        self._do(update(tokens).where(tokens.c.hash == hash, tokens.c.revoked.is_(None)).values(revoked=now))

    def revoke_tokens(self, role: Role, subject: int, now: Instant) -> None:
        t = tokens.c
        self._do(update(tokens).where(t.role == role, t.subject == subject, t.revoked.is_(None)).values(revoked=now))

    def has_role(self, role: Role) -> bool:
        return self._do(select(tokens.c.hash).where(tokens.c.role == role).limit(1)).first() is not None


_t, _p, _n = tokens.c, producers.c, nodes.c
_IDENTITIES = (
    select(_t.hash, _t.role, _t.subject, func.coalesce(_p.campaign, _n.campaign), _p.left_at, _t.expires, _t.revoked)
    .select_from(
        tokens.outerjoin(producers, and_(_t.role == "producer", _p.id == _t.subject)).outerjoin(
            nodes, and_(_t.role == "node", _n.id == _t.subject)
        )
    )
    .where(_t.hash.in_(bindparam("hashes", expanding=True)))
)
