"""Consumers, producers and nodes, and invitations of producers."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Column, Index, String, insert, select, update

from halfmask.service.storage.statements import Statements
from halfmask.service.storage.tables import numbered, table, text, whole
from halfmask_device.instants import Instant

consumers = table("consumers", numbered(), text("public", 32, unique=True), text("name", 200), whole("created"))
invitations = table(
    "invitations",
    Column("hash", String(64), primary_key=True),
    whole("campaign"),
    whole("producer", null=True),
)
producers = table(
    "producers",
    numbered(),
    text("public", 32, unique=True),
    whole("campaign"),
    text("setting", 32),
    whole("joined"),
    whole("left_at", null=True),
    Index("producers_of", "campaign"),
)
nodes = table(
    "nodes", numbered(), text("public", 32, unique=True), whole("campaign"), text("name", 200), whole("created")
)


class ProducerRow(NamedTuple):
    key: int
    public: str
    campaign: int
    setting: str
    joined: Instant
    left: Instant | None


class ParticipantStatements(Statements):
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

    def add_producer(self, public: str, campaign: int, setting: str, now: Instant) -> int:
        row = {"public": public, "campaign": campaign, "setting": setting, "joined": now, "left_at": None}
        return self._number(producers, **row)

    def producer(self, key: int) -> ProducerRow:
        c = producers.c
        columns = (c.id, c.public, c.campaign, c.setting, c.joined, c.left_at)
        return ProducerRow(*self._do(select(*columns).where(c.id == key)).one())

    def set_setting(self, producer: int, setting: str) -> None:
        self._do(update(producers).where(producers.c.id == producer).values(setting=setting))

    def set_left(self, producer: int, now: Instant) -> None:
        self._do(update(producers).where(producers.c.id == producer).values(left_at=now))

    def add_node(self, public: str, campaign: int, name: str, now: Instant) -> int:
        return self._number(nodes, public=public, campaign=campaign, name=name, created=now)

    def node(self, campaign: int, public: str) -> int | None:
        return self._do(select(nodes.c.id).where(nodes.c.campaign == campaign, nodes.c.public == public)).scalar()

    def node_name(self, node: int) -> str:
        return str(self._do(select(nodes.c.public).where(nodes.c.id == node)).scalar_one())
