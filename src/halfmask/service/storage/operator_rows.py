"""What operators read and change directly: lists of all that the service holds, erasure, and the log of their actions.

A deleted campaign and an erased producer leave an empty row under a new random name. So no number is used again, and
workers that still have the campaign in memory find nothing of another one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Column, String, Table, and_, case, delete, func, insert, literal, select, update

from halfmask.service.storage.campaign_rows import DELETED, campaigns, entries
from halfmask.service.storage.identity_rows import OF_PRODUCER, Role, consumers, invitations, nodes, producers, tokens
from halfmask.service.storage.report_rows import buckets_of, reports
from halfmask.service.storage.split_rows import LEADER, closing_periods, led_by, split_periods, split_shares
from halfmask.service.storage.tables import Plain, Statements, dump, long_text, metadata, numbered_column, table, whole
from halfmask_device.instants import Instant

actions = table(
    "actions",
    numbered_column(),
    whole("done"),
    Column("actor", String(64), nullable=False),
    Column("action", String(16), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("name", String(64), nullable=False),
    Column("reason", String(200), nullable=False),
    long_text("detail"),
)
AT_ONCE = 100_000
"""Reports that one statement deletes."""
LAST = ("producers", "nodes")
"""Tables whose rows are deleted last, because others refer to them."""


class OperatorStatements(Statements):
    def log_action(
        self, now: Instant, actor: str, action: str, kind: str, name: str, reason: str, detail: Plain
    ) -> None:
        row = {"done": now, "actor": actor, "action": action, "kind": kind, "name": name, "reason": reason}
        self._do(insert(actions).values(row | {"detail": dump(detail)}))

    def last_action(self) -> int:
        """Return the number of the newest action, 0 if there is none."""
        return int(self._do(select(func.max(actions.c.id))).scalar() or 0)

    def held(self, kind: str, campaign: int | None, after: str, most: int) -> list[Mapping[str, Any]]:
        """Return rows of a kind in order of their numbers, at most ``most`` after the row named ``after``."""
        source, columns, name = _LISTS[kind]
        number = source.c.id if "id" in source.c else source.c.hash
        query = select(number.label("_"), *columns).order_by(number).limit(most)
        if kind == "campaigns":
            query = query.where(campaigns.c.consumer != DELETED)
        if campaign is not None and "campaign" in source.c:
            query = query.where(source.c.campaign == campaign)
        if after:
            query = query.where(number > select(number).where(name == after).scalar_subquery())
        return [{key: value for key, value in row.items() if key != "_"} for row in self._do(query).mappings()]

    def found(self, name: str) -> tuple[str, int] | None:
        """Return the kind and the number of the consumer, campaign, producer or node of this name."""
        for kind in ("consumers", "campaigns", "producers", "nodes"):
            source = _LISTS[kind][0]
            number = self._do(select(source.c.id).where(source.c.public == name)).scalar()
            if number is not None:
                return kind, int(number)
        return None

    def tokens_of(self, role: Role, subject: int) -> list[Mapping[str, Any]]:
        """Return when the tokens of a holder were made, expire and were revoked; never the tokens themselves."""
        t = tokens.c
        query = select(t.created, t.expires, t.revoked).where(t.role == role, t.subject == subject)
        return [dict(row) for row in self._do(query.order_by(t.created)).mappings()]

    def count_of(self, kind: str, campaign: int) -> int:
        """Return how many rows of a kind a campaign has."""
        source = metadata.tables[kind]
        return int(self._do(select(func.count()).select_from(source).where(source.c.campaign == campaign)).scalar_one())

    def entry_campaign(self, public: str) -> int | None:
        return self._do(select(entries.c.campaign).where(entries.c.public == public)).scalar()

    def revoke_invitations(self, campaign: int) -> int:
        """Delete the invitations of a campaign that nobody used. Return how many."""
        where = (invitations.c.campaign == campaign, invitations.c.producer.is_(None))
        return int(self._do(delete(invitations).where(*where)).rowcount)

    def set_terms(self, campaign: int, terms: Plain) -> None:
        self._do(update(campaigns).where(campaigns.c.id == campaign).values(terms=dump(terms)))

    def delete_campaign(self, campaign: int, public: str) -> dict[str, int]:
        """Delete everything of a campaign. Return how many rows of which tables.

        ``public``  the random name of the empty row that is left
        """
        own = select(producers.c.id).where(producers.c.campaign == campaign)
        members = {
            **dict.fromkeys(OF_PRODUCER, own),
            "node": select(nodes.c.id).where(nodes.c.campaign == campaign),
        }
        gone = {"tokens": 0}
        for role, those in members.items():
            gone["tokens"] += self._do(
                delete(tokens).where(tokens.c.role == role, tokens.c.subject.in_(those))
            ).rowcount
        low, high = buckets_of(campaign)
        stored = select(func.count()).select_from(reports).where(reports.c.bucket >= low, reports.c.bucket < high)
        gone["reports"] = int(self._do(stored).scalar_one())
        while self._database.clear(self.connection, low, high, AT_ONCE):
            pass
        for each in reversed(metadata.sorted_tables):
            if each is reports:
                continue
            column = next((each.c[name] for name in ("producer", "node") if name in each.c), None)
            if "campaign" in each.c and each.name not in LAST:
                gone[each.name] = self._do(delete(each).where(each.c.campaign == campaign)).rowcount
            elif column is not None and "campaign" not in each.c:
                gone[each.name] = self._do(delete(each).where(column.in_(members[column.name]))).rowcount
        for each in (producers, nodes):
            gone[each.name] = self._do(delete(each).where(each.c.campaign == campaign)).rowcount
        gone["split_shares"] = self._do(delete(split_shares).where(led_by(campaign))).rowcount
        p = split_periods.c
        self._do(delete(split_periods).where(p.holder == LEADER, p.split == campaign))
        empty = {"public": public, "consumer": DELETED, "terms": "{}", "budget": 0, "committed": 0}
        self._do(update(campaigns).where(campaigns.c.id == campaign).values(empty))
        return {name: count for name, count in gone.items() if count}

    def erase_producer(self, producer: int, public: str, buckets: Sequence[int]) -> dict[str, int]:
        """Delete a producer's tokens, reports and name. Bookings stay, under a random name that nobody knows.

        ``buckets``  where the producer may have reports
        """
        where = (tokens.c.role.in_(OF_PRODUCER), tokens.c.subject == producer)
        gone = {"tokens": self._do(delete(tokens).where(*where)).rowcount}
        r = reports.c
        gone["reports"] = sum(
            self._do(delete(reports).where(r.bucket == bucket, r.producer == producer)).rowcount for bucket in buckets
        )
        own = select(producers.c.campaign).where(producers.c.id == producer).scalar_subquery()
        shares = and_(led_by(own), split_shares.c.owner == str(producer))
        closing = select(closing_periods.c.begins).where(closing_periods.c.campaign == own)
        gone["split_shares"] = self._do(
            delete(split_shares).where(shares, split_shares.c.time.not_in(closing))
        ).rowcount
        self._do(update(invitations).where(invitations.c.producer == producer).values(producer=0))
        self._do(update(producers).where(producers.c.id == producer).values(public=public, joined=0))
        return gone


def _lists() -> dict[str, tuple[Table, tuple[Any, ...], Any]]:
    """Return for each kind its table, the columns that are shown, and the column of its name."""
    p, c, n, i, a = producers.c, campaigns.c, nodes.c, invitations.c, actions.c
    owner = select(consumers.c.public).where(consumers.c.id == c.consumer).scalar_subquery()
    used = case((i.producer.is_(None), literal("unused")), else_=literal("used")).label("state")
    return {
        "consumers": (
            consumers,
            (consumers.c.public.label("consumer"), consumers.c.name, consumers.c.created),
            consumers.c.public,
        ),
        "campaigns": (
            campaigns,
            (c.public.label("campaign"), owner.label("consumer"), c.terms, c.created, c.budget, c.committed),
            c.public,
        ),
        "producers": (producers, (p.public.label("producer"), p.campaign, p.setting, p.joined, p.left_at), p.public),
        "nodes": (nodes, (n.public.label("node"), n.campaign, n.name, n.created), n.public),
        "invitations": (invitations, (i.hash.label("invitation"), i.campaign, used), i.hash),
        "log": (actions, (a.id.label("number"), a.done, a.actor, a.action, a.kind, a.name, a.reason, a.detail), a.id),
    }


_LISTS = _lists()
