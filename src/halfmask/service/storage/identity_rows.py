"""Tokens and their holders: consumers, producers and nodes; invitations of producers; facts about this database."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from sqlalchemy import Column, Index, String, and_, bindparam, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from halfmask.service.storage.tables import Statements, numbered_column, table, text, whole
from halfmask_device.instants import Instant

Role = Literal["operator", "consumer", "producer", "node", "peer", "code", "page"]
"""``code``: a device's code for one page; ``page``: a page that a device let see its membership."""
OF_PRODUCER: tuple[Role, ...] = ("producer", "code", "page")
"""The roles of a producer's tokens."""

tokens = table(
    "tokens",
    Column("hash", String(64), primary_key=True),
    text("role", 16),
    whole("subject"),
    whole("created"),
    whole("expires", null=True),
    whole("revoked", null=True),
    Column("replaces", String(64), nullable=True),
    Index("tokens_of", "role", "subject"),
)
consumers = table("consumers", numbered_column(), text("public", 32, unique=True), text("name", 200), whole("created"))
invitations = table(
    "invitations",
    Column("hash", String(64), primary_key=True),
    whole("campaign"),
    whole("producer", null=True),
)
producers = table(
    "producers",
    numbered_column(),
    text("public", 32, unique=True),
    whole("campaign"),
    text("setting", 32),
    whole("joined"),
    whole("left_at", null=True),
    Column("group_name", String(64), nullable=True),
    Index("producers_of", "campaign"),
)
nodes = table(
    "nodes", numbered_column(), text("public", 32, unique=True), whole("campaign"), text("name", 200), whole("created")
)
facts = table("facts", Column("name", String(64), primary_key=True), text("value", 200))


class Identity(NamedTuple):
    """The holder of a token.

    ``campaign``  that of a producer or node
    ``left``      when a producer left
    ``group``     that of a producer in a campaign with groups
    ``replaces``  the hash of the token that is valid until this one is used
    """

    role: Role
    subject: int
    campaign: int | None
    left: Instant | None
    expires: Instant | None
    revoked: Instant | None
    replaces: str | None = None
    group: str | None = None


class ProducerRow(NamedTuple):
    key: int
    public: str
    campaign: int
    setting: str
    joined: Instant
    left: Instant | None
    group: str | None = None


class IdentityStatements(Statements):
    def identities(self, hashes: Sequence[str]) -> dict[str, Identity]:
        return {hash: Identity(*rest) for hash, *rest in self._do(_IDENTITIES, {"hashes": hashes})}

    def add_token(
        self, hash: str, role: Role, subject: int, now: Instant, expires: Instant | None, replaces: str | None = None
    ) -> None:
        row = {"hash": hash, "role": role, "subject": subject, "created": now, "expires": expires, "replaces": replaces}
        self._do(insert(tokens), row)

    def retire(self, hash: str, replaced: str, now: Instant) -> None:
        """Note that a token was used: revoke the one that it replaces, and all others that were to replace that one."""
        t = tokens.c
        old = or_(t.hash == replaced, and_(t.replaces == replaced, t.hash != hash))
        self._do(update(tokens).where(old, t.revoked.is_(None)).values(revoked=now))
        self._do(update(tokens).where(t.hash == hash).values(replaces=None))

    def revoke_token(self, hash: str, now: Instant) -> None:
        self._do(update(tokens).where(tokens.c.hash == hash, tokens.c.revoked.is_(None)).values(revoked=now))

    def revoke_tokens(self, role: Role, subject: int, now: Instant, but: Sequence[str] = ()) -> None:
        """Revoke all tokens of a subject, except those with the hashes ``but``."""
        t = tokens.c
        where = (t.role == role, t.subject == subject, t.revoked.is_(None), t.hash.not_in(but))
        self._do(update(tokens).where(*where).values(revoked=now))

    def has_role(self, role: Role) -> bool:
        return self._do(select(tokens.c.hash).where(tokens.c.role == role).limit(1)).first() is not None

    def add_consumer(self, public: str, name: str, now: Instant) -> int:
        return self._number(consumers, public=public, name=name, created=now)

    def consumer(self, public: str) -> int | None:
        return self._do(select(consumers.c.id).where(consumers.c.public == public)).scalar()

    def add_invitations(self, campaign: int, hashes: Sequence[str]) -> None:
        self._do(insert(invitations), [{"hash": hash, "campaign": campaign, "producer": None} for hash in hashes])

    def use_invitation(self, campaign: int, hash: str, producer: int) -> bool:
        c = invitations.c
        where = (c.hash == hash, c.campaign == campaign, c.producer.is_(None))
        return bool(self._do(update(invitations).where(*where).values(producer=producer)).rowcount == 1)

    def add_producer(self, public: str, campaign: int, setting: str, now: Instant, group: str | None = None) -> int:
        row = {
            "public": public,
            "campaign": campaign,
            "setting": setting,
            "joined": now,
            "left_at": None,
            "group_name": group,
        }
        return self._number(producers, **row)

    def producer(self, key: int) -> ProducerRow:
        c = producers.c
        columns = (c.id, c.public, c.campaign, c.setting, c.joined, c.left_at, c.group_name)
        return ProducerRow(*self._do(select(*columns).where(c.id == key)).one())

    def set_setting(self, producer: int, setting: str) -> None:
        self._do(update(producers).where(producers.c.id == producer).values(setting=setting))

    def set_left(self, producer: int, now: Instant | None) -> None:
        self._do(update(producers).where(producers.c.id == producer).values(left_at=now))

    def groups_of(self, campaign: int) -> dict[int, str]:
        """Return the group of each producer of a campaign."""
        p = producers.c
        query = select(p.id, p.group_name).where(p.campaign == campaign, p.group_name.is_not(None))
        return {row[0]: row[1] for row in self._do(query)}

    def add_node(self, public: str, campaign: int, name: str, now: Instant) -> int:
        return self._number(nodes, public=public, campaign=campaign, name=name, created=now)

    def node(self, campaign: int, public: str) -> int | None:
        return self._do(select(nodes.c.id).where(nodes.c.campaign == campaign, nodes.c.public == public)).scalar()

    def fact(self, name: str) -> str | None:
        """Return a fact that this database stores about itself, or None."""
        return self._do(select(facts.c.value).where(facts.c.name == name)).scalar()

    def first_fact(self, name: str, value: str) -> str:
        """Store a fact unless there is one. Return the value that was stored first, by any process."""
        with suppress(IntegrityError), self.connection.begin_nested():
            self._do(insert(facts).values(name=name, value=value))
        return self.fact(name) or value

    def put_fact(self, name: str, value: str) -> None:
        if not self._do(update(facts).where(facts.c.name == name).values(value=value)).rowcount:
            self.first_fact(name, value)

    def members(self, campaign: int) -> int:
        """Return how many producers are in a campaign and have not left."""
        p = producers.c
        query = select(func.count()).select_from(producers).where(p.campaign == campaign, p.left_at.is_(None))
        return int(self._do(query).scalar_one())

    def node_name(self, node: int) -> str:
        return str(self._do(select(nodes.c.public).where(nodes.c.id == node)).scalar_one())


_t, _p, _n = tokens.c, producers.c, nodes.c
_IDENTITIES = (
    select(
        *(_t.hash, _t.role, _t.subject, func.coalesce(_p.campaign, _n.campaign)),
        *(_p.left_at, _t.expires, _t.revoked, _t.replaces, _p.group_name),
    )
    .select_from(
        tokens.outerjoin(producers, and_(_t.role == "producer", _p.id == _t.subject)).outerjoin(
            nodes, and_(_t.role == "node", _n.id == _t.subject)
        )
    )
    .where(_t.hash.in_(bindparam("hashes", expanding=True)))
)
