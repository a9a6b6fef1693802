"""One transaction of the SQL store."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from halfmask.service.storage import schema as s
from halfmask.service.storage.base import (
    Balance,
    CampaignRow,
    ClosedRow,
    EntryRow,
    Identity,
    KnownRow,
    LookRow,
    Plain,
    ProducerRow,
    ReportRow,
    ReportTuple,
    Role,
    Transaction,
)
from halfmask.service.storage.bulk import bulk_of
from halfmask_device.instants import Instant

CHUNK = 512
"""Keys per statement."""
FETCH = 10_000
MANY = 64


def _dump(value: Mapping[Any, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class SqlTransaction(Transaction):
    """Statements on one connection. The store begins and ends the transaction."""

    def __init__(self, connection: Connection) -> None:
        self.alone = connection.dialect.name == "sqlite"
        self._do = connection.execute
        self._connection = connection
        self._bulk = bulk_of(connection)

    def _key_of(self, statement: Any) -> int:
        (key,) = self._do(statement).inserted_primary_key or (0,)
        return int(key)

    # tokens and their holders

    def identities(self, hashes: Sequence[str]) -> dict[str, Identity]:
        found: dict[str, Identity] = {}
        for part in _chunks(list(hashes)):
            for hash, *rest in self._do(_IDENTITIES, {"hashes": part}):
                found[hash] = Identity(*rest)
        return found

    def add_token(self, hash: str, role: Role, subject: int, now: Instant, expires: Instant | None) -> None:
        row = {"hash": hash, "role": role, "subject": subject, "created": now, "expires": expires, "revoked": None}
        self._do(insert(s.tokens), row)

    def revoke_token(self, hash: str, now: Instant) -> None:
        self._do(update(s.tokens).where(s.tokens.c.hash == hash, s.tokens.c.revoked.is_(None)).values(revoked=now))

    def revoke_tokens(self, role: Role, subject: int, now: Instant) -> None:
        t = s.tokens.c
        self._do(update(s.tokens).where(t.role == role, t.subject == subject, t.revoked.is_(None)).values(revoked=now))

    def has_role(self, role: Role) -> bool:
        return self._do(select(s.tokens.c.hash).where(s.tokens.c.role == role).limit(1)).first() is not None

    # consumers and campaigns

    def add_consumer(self, public: str, name: str, now: Instant) -> int:
        return self._key_of(insert(s.consumers).values(public=public, name=name, created=now))

    def consumer(self, public: str) -> int | None:
        return self._do(select(s.consumers.c.id).where(s.consumers.c.public == public)).scalar()

    def add_campaign(self, public: str, consumer: int, terms: Plain, now: Instant) -> int:
        row = {"public": public, "consumer": consumer, "terms": _dump(terms), "created": now}
        return self._key_of(insert(s.campaigns).values(**row, budget=terms["budget"], committed=0))

    def campaign(self, key: int | str) -> CampaignRow | None:
        c = s.campaigns.c
        row = self._do(_CAMPAIGN.where(c.id == key if isinstance(key, int) else c.public == key)).first()
        return CampaignRow(row[0], row[1], row[2], json.loads(row[3])) if row else None

    def campaigns(self) -> list[CampaignRow]:
        rows = self._do(_CAMPAIGN.order_by(s.campaigns.c.id))
        return [CampaignRow(row[0], row[1], row[2], json.loads(row[3])) for row in rows]

    def lock(self, campaign: int) -> Balance:
        row = self._do(_LOCK, {"campaign": campaign}).one()
        return Balance(row[0], row[1])

    def spend(self, campaign: int, amount: int) -> bool:
        return bool(self._do(_SPEND, {"campaign": campaign, "amount": amount}).rowcount == 1)

    def schedule(self, campaign: int) -> list[tuple[Instant, dict[str, int]]]:
        return [(begins, json.loads(rewards)) for begins, rewards in self._do(_SCHEDULE, {"campaign": campaign})]

    def put_schedule(self, campaign: int, begins: Instant, rewards: Mapping[str, int]) -> None:
        c = s.schedules.c
        self._do(delete(s.schedules).where(c.campaign == campaign, c.begins == begins))
        self._do(insert(s.schedules).values(campaign=campaign, begins=begins, rewards=_dump(rewards)))

    # producers

    def add_invitations(self, campaign: int, hashes: Sequence[str]) -> None:
        self._do(insert(s.invitations), [{"hash": hash, "campaign": campaign, "producer": None} for hash in hashes])

    def use_invitation(self, campaign: int, hash: str, producer: int) -> bool:
        c = s.invitations.c
        where = (c.hash == hash, c.campaign == campaign, c.producer.is_(None))
        return bool(self._do(update(s.invitations).where(*where).values(producer=producer)).rowcount == 1)

    def add_producer(self, public: str, campaign: int, setting: str, now: Instant) -> int:
        row = {"public": public, "campaign": campaign, "setting": setting, "joined": now, "left_at": None}
        return self._key_of(insert(s.producers).values(**row))

    def producer(self, key: int) -> ProducerRow:
        c = s.producers.c
        columns = (c.id, c.public, c.campaign, c.setting, c.joined, c.left_at)
        return ProducerRow(*self._do(select(*columns).where(c.id == key)).one())

    def set_setting(self, producer: int, setting: str) -> None:
        self._do(update(s.producers).where(s.producers.c.id == producer).values(setting=setting))

    def set_left(self, producer: int, now: Instant) -> None:
        self._do(update(s.producers).where(s.producers.c.id == producer).values(left_at=now))

    # reports

    def standing(self, asked: Mapping[int, Sequence[Instant]]) -> dict[int, dict[Instant, tuple[int, str, int]]]:
        return self._bulk.standing(asked)

    def add_reports(self, rows: Sequence[ReportTuple]) -> None:
        self._bulk.insert(s.reports, rows)

    def reports(self, campaign: int, begins: Instant, ends: Instant) -> Iterator[ReportRow]:
        r, p = s.reports.c, s.producers.c
        joined = s.producers.join(s.reports, and_(r.producer == p.id, r.time >= begins, r.time < ends))
        query = select(*s.reports.c).select_from(joined).where(p.campaign == campaign)
        # streamed, since a driver may otherwise hold all reports of a period before it gives the first
        found = self._do(query.order_by(r.producer, r.time), execution_options={"yield_per": FETCH})
        yield from (ReportRow(*row) for row in found)

    def any_report(self, campaign: int, begins: Instant, ends: Instant) -> bool:
        r, p = s.reports.c, s.producers.c
        joined = s.producers.join(s.reports, and_(r.producer == p.id, r.time >= begins, r.time < ends))
        query = select(r.producer).select_from(joined).where(p.campaign == campaign).limit(1)
        return self._do(query).first() is not None

    def reports_of(self, producers: Sequence[int], begins: Instant, ends: Instant) -> list[ReportRow]:
        r = s.reports.c
        found: list[ReportRow] = []
        for part in _chunks(list(producers)):
            query = select(*r).where(r.producer.in_(part), r.time >= begins, r.time < ends)
            found += [ReportRow(*row) for row in self._do(query.order_by(r.producer, r.time))]
        return found

    def remove_reports(self, campaign: int, begins: Instant, ends: Instant) -> None:
        r = s.reports.c
        those = select(s.producers.c.id).where(s.producers.c.campaign == campaign)
        self._do(delete(s.reports).where(r.producer.in_(those), r.time >= begins, r.time < ends))

    def withdraw(self, producer: int, begins: Instant, ends: Instant) -> int:
        r = s.reports.c
        return self._do(delete(s.reports).where(r.producer == producer, r.time >= begins, r.time < ends)).rowcount

    # rewards

    def add_entries(self, rows: Sequence[EntryRow]) -> None:
        self._bulk.insert(s.entries, rows)

    def ledger_of_producer(self, producer: int) -> list[EntryRow]:
        return [EntryRow(*row) for row in self._do(_ENTRIES.where(s.entries.c.producer == producer))]

    def ledger_of_campaign(self, campaign: int, after: str | None = None, most: int | None = None) -> list[EntryRow]:
        e = s.entries.c
        query = _ENTRIES.where(e.campaign == campaign).limit(most)
        if after is not None:
            named = select(e.id).where(e.campaign == campaign, e.public == after).scalar_subquery()
            query = query.where(e.id > named)
        return [EntryRow(*row) for row in self._do(query)]

    def entry(self, campaign: int, public: str) -> EntryRow | None:
        e = s.entries.c
        row = self._do(_ENTRIES.where(e.campaign == campaign, e.public == public)).first()
        return EntryRow(*row) if row else None

    def reversal(self, campaign: int, public: str) -> EntryRow | None:
        e = s.entries.c
        row = self._do(_ENTRIES.where(e.campaign == campaign, e.reverses == public)).first()
        return EntryRow(*row) if row else None

    def owed(self, campaign: int) -> list[tuple[str, int]]:
        e, p = s.entries.c, s.producers.c
        joined = s.entries.join(s.producers, p.id == e.producer)
        query = select(p.public, func.sum(e.amount)).select_from(joined).where(e.campaign == campaign)
        return [(public, int(amount)) for public, amount in self._do(query.group_by(p.public).order_by(p.public))]

    # periods

    def closed(self, campaign: int, keys: Iterable[str] | None = None) -> dict[str, ClosedRow]:
        return self._closed(campaign, *([] if keys is None else [s.closed.c.period.in_(list(keys))]))

    def closed_between(self, campaign: int, first: Instant, last: Instant) -> dict[str, ClosedRow]:
        return self._closed(campaign, s.closed.c.begins.between(first, last))

    def _closed(self, campaign: int, *where: Any) -> dict[str, ClosedRow]:
        c = s.closed.c
        query = select(c.period, c.begins, c.closed_at, c.cells, c.entry).where(c.campaign == campaign, *where)
        rows = self._do(query.order_by(c.begins))
        return {row[0]: ClosedRow(*row[:3], json.loads(row[3]), json.loads(row[4])) for row in rows}

    def closed_keys(self, campaign: int, keys: Iterable[str] | None = None) -> set[str]:
        if keys is None:
            return set(self._do(select(s.closed.c.period).where(s.closed.c.campaign == campaign)).scalars())
        found: set[str] = set()
        for part in _chunks(sorted(keys)):
            found |= set(self._do(_CLOSED_KEYS, {"campaign": campaign, "keys": part}).scalars())
        return found

    def add_closed(self, campaign: int, rows: Sequence[ClosedRow]) -> None:
        self._bulk.insert(s.closed, [(campaign, *row[:3], _dump(row.cells), _dump(row.entry)) for row in rows])
        self._bulk.insert(s.events, [(campaign, row.period) for row in rows])

    def any_cells(self, campaign: int, periods: Iterable[str]) -> bool:
        wanted = sorted(periods)
        for table in (s.node_cells, s.known, s.looks, s.touched):
            for part in _chunks(wanted):
                where = [table.c.campaign == campaign, _among(table.c.period, part)]
                if table is s.known:
                    where.append(s.known.c.cells != _dump({}))
                found = self._do(select(table.c.period).where(*where).distinct()).scalars()
                if not set(part).isdisjoint(found):
                    return True
        return False

    def add_event(self, campaign: int, period: str) -> None:
        self._do(insert(s.events).values(campaign=campaign, period=period))

    def events(self, campaign: int, after: int) -> list[tuple[int, str]]:
        c = s.events.c
        query = select(c.id, c.period).where(c.campaign == campaign, c.id > after).order_by(c.id)
        return [(row[0], row[1]) for row in self._do(query)]

    # live campaigns

    def looks(self, campaign: int) -> dict[str, LookRow]:
        c = s.looks.c
        rows = self._do(select(c.period, c.number, c.cells, c.entry).where(c.campaign == campaign))
        return {row[0]: LookRow(row[1], json.loads(row[2]), json.loads(row[3])) for row in rows}

    def put_look(self, campaign: int, period: str, row: LookRow) -> None:
        c = s.looks.c
        self._do(delete(s.looks).where(c.campaign == campaign, c.period == period))
        texts = {"cells": _dump(row.cells), "entry": _dump(row.entry)}
        self._do(insert(s.looks).values(campaign=campaign, period=period, number=row.number, **texts))

    def touch(self, campaign: int, period: str, producers: Sequence[int]) -> int:
        known = set(self.touched(campaign, period))
        new = [each for each in dict.fromkeys(producers) if each not in known]
        if new:
            rows = [{"campaign": campaign, "period": period, "producer": each} for each in new]
            self._do(insert(s.touched), rows)
        return len(known) + len(new)

    def untouch(self, campaign: int, period: str, producers: Sequence[int]) -> None:
        c = s.touched.c
        for part in _chunks(list(producers)):
            self._do(delete(s.touched).where(c.campaign == campaign, c.period == period, c.producer.in_(part)))

    def touched(self, campaign: int, period: str) -> list[int]:
        c = s.touched.c
        return list(self._do(select(c.producer).where(c.campaign == campaign, c.period == period)).scalars())

    def shown(self, campaign: int, period: str, producers: Sequence[int]) -> dict[int, Plain]:
        c = s.shown.c
        found: dict[int, Plain] = {}
        for part in _chunks(list(producers)):
            where = (c.campaign == campaign, c.period == period, c.producer.in_(part), c.gone == 0)
            found |= {row[0]: json.loads(row[1]) for row in self._do(select(c.producer, c.cells).where(*where))}
        return found

    def put_shown(self, campaign: int, period: str, look: int, cells: Mapping[int, Plain]) -> None:
        c = s.shown.c
        before: dict[int, list[int]] = {}
        for part in _chunks(list(cells)):
            where = (c.campaign == campaign, c.period == period, c.producer.in_(part))
            before |= {row[0]: json.loads(row[1]) for row in self._do(select(c.producer, c.looks).where(*where))}
            self._do(delete(s.shown).where(*where))
        rows = [
            (campaign, period, each, _dump(own), json.dumps([*before.get(each, []), look]), int(not own))
            for each, own in cells.items()
            if own or each in before
        ]
        self._bulk.insert(s.shown, rows)

    def changes(self, campaign: int, period: str) -> dict[int, tuple[list[int], bool]]:
        c = s.shown.c
        rows = self._do(select(c.producer, c.looks, c.gone).where(c.campaign == campaign, c.period == period))
        return {row[0]: (json.loads(row[1]), bool(row[2])) for row in rows}

    def forget_live(self, campaign: int, period: str) -> None:
        for table in (s.looks, s.touched, s.shown):
            self._do(delete(table).where(table.c.campaign == campaign, table.c.period == period))

    # nodes

    def add_node(self, public: str, campaign: int, name: str, now: Instant) -> int:
        return self._key_of(insert(s.nodes).values(public=public, campaign=campaign, name=name, created=now))

    def node(self, campaign: int, public: str) -> int | None:
        return self._do(select(s.nodes.c.id).where(s.nodes.c.campaign == campaign, s.nodes.c.public == public)).scalar()

    def node_version(self, node: int, period: str) -> int | None:
        c = s.node_cells.c
        return self._do(select(c.version).where(c.node == node, c.period == period)).scalar()

    def put_node_cells(self, campaign: int, node: int, period: str, version: int, cells: Plain) -> None:
        c = s.node_cells.c
        self._do(delete(s.node_cells).where(c.node == node, c.period == period))
        row = {"node": node, "period": period, "campaign": campaign, "version": version, "cells": _dump(cells)}
        self._do(insert(s.node_cells).values(**row))

    def node_cells(self, campaign: int, period: str) -> list[Plain]:
        c = s.node_cells.c
        query = select(c.cells).where(c.campaign == campaign, c.period == period).order_by(c.node)
        return [json.loads(cells) for cells in self._do(query).scalars()]

    def forget_node_cells(self, campaign: int, period: str) -> None:
        c = s.node_cells.c
        self._do(delete(s.node_cells).where(c.campaign == campaign, c.period == period))

    def node_name(self, node: int) -> str:
        return str(self._do(select(s.nodes.c.public).where(s.nodes.c.id == node)).scalar_one())

    # campaigns that several nodes keep

    def set_consumer(self, campaign: int, consumer: int) -> None:
        self._do(update(s.campaigns).where(s.campaigns.c.id == campaign).values(consumer=consumer))

    def fact(self, name: str) -> str | None:
        return self._do(select(s.facts.c.value).where(s.facts.c.name == name)).scalar()

    def first_fact(self, name: str, value: str) -> str:
        with suppress(IntegrityError), self.savepoint():
            self._do(insert(s.facts).values(name=name, value=value))
        return self.fact(name) or value

    def known(self, campaign: int, periods: Iterable[str]) -> list[KnownRow]:
        c, wanted = s.known.c, sorted(set(periods))
        columns = (c.node, c.period, c.version, c.final, c.cells)
        query = select(*columns).where(c.campaign == campaign).order_by(*columns[:2])
        found: list[KnownRow] = []
        for part in _chunks(wanted):
            held, rows = set(part), self._do(query.where(_among(c.period, part)))
            found += [KnownRow(*row[:3], bool(row[3]), json.loads(row[4])) for row in rows if row[1] in held]
        return found

    def put_known(self, campaign: int, rows: Sequence[KnownRow]) -> None:
        c = s.known.c
        periods: dict[str, list[str]] = {}
        for row in rows:
            periods.setdefault(row.node, []).append(row.period)
        for node, own in periods.items():
            for part in _chunks(own):
                self._do(delete(s.known).where(c.campaign == campaign, c.node == node, c.period.in_(part)))
        self._bulk.insert(s.known, [(campaign, *row[:3], int(row.final), _dump(row.cells)) for row in rows])

    def newest(self, campaign: int, node: str) -> int:
        c = s.known.c
        return int(self._do(select(func.max(c.version)).where(c.campaign == campaign, c.node == node)).scalar() or 0)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        with self._connection.begin_nested():
            yield


def _among(column: Any, keys: Sequence[str]) -> Any:
    """Return a condition that sorted keys fulfil. For many it is a range: faster, but it may match other keys."""
    return column.between(keys[0], keys[-1]) if len(keys) > MANY else column.in_(keys)


def _chunks(keys: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(keys), CHUNK):
        yield keys[start : start + CHUNK]


_t, _p, _n = s.tokens.c, s.producers.c, s.nodes.c
_IDENTITIES = (
    select(_t.hash, _t.role, _t.subject, func.coalesce(_p.campaign, _n.campaign), _p.left_at, _t.expires, _t.revoked)
    .select_from(
        s.tokens.outerjoin(s.producers, and_(_t.role == "producer", _p.id == _t.subject)).outerjoin(
            s.nodes, and_(_t.role == "node", _n.id == _t.subject)
        )
    )
    .where(_t.hash.in_(bindparam("hashes", expanding=True)))
)
_CAMPAIGN = select(s.campaigns.c.id, s.campaigns.c.public, s.campaigns.c.consumer, s.campaigns.c.terms)
_LOCK = (
    select(s.campaigns.c.budget, s.campaigns.c.committed)
    .where(s.campaigns.c.id == bindparam("campaign"))
    .with_for_update()
)
_SPEND = (
    update(s.campaigns)
    .where(
        s.campaigns.c.id == bindparam("campaign"),
        s.campaigns.c.committed + bindparam("amount") <= s.campaigns.c.budget,
    )
    .values(committed=s.campaigns.c.committed + bindparam("amount"))
)
_SCHEDULE = (
    select(s.schedules.c.begins, s.schedules.c.rewards)
    .where(s.schedules.c.campaign == bindparam("campaign"))
    .order_by(s.schedules.c.begins)
)
_CLOSED_KEYS = select(s.closed.c.period).where(
    s.closed.c.campaign == bindparam("campaign"), s.closed.c.period.in_(bindparam("keys", expanding=True))
)
_e = s.entries.c
_ENTRIES = select(_e.public, _e.campaign, _e.producer, _e.amount, _e.period, _e.booked, _e.reverses).order_by(_e.id)
