"""Campaigns, their budgets and rewards."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import CheckConstraint, PrimaryKeyConstraint, bindparam, select, update

from halfmask.service.storage.tables import Plain, Statements, dump, long_text, numbered_column, table, text, whole
from halfmask_device.instants import Instant

UNGIVEN, UPSTREAM = 0, -1
"""Values of ``consumer`` in campaigns of other nodes: a peer's until the operator assigns a consumer, and a gateway's.
"""

campaigns = table(
    "campaigns",
    numbered_column(),
    text("public", 32, unique=True),
    whole("consumer"),
    long_text("terms"),
    whole("created"),
    whole("budget"),
    whole("committed"),
    CheckConstraint("committed >= 0 AND committed <= budget", name="within_budget"),
)
schedules = table(
    "schedules",
    whole("campaign"),
    whole("begins"),
    long_text("rewards"),
    PrimaryKeyConstraint("campaign", "begins"),
)


class CampaignRow(NamedTuple):
    key: int
    public: str
    consumer: int
    terms: Plain


class CampaignStatements(Statements):
    def add_campaign(self, public: str, consumer: int, terms: Plain, now: Instant) -> int:
        row = {"public": public, "consumer": consumer, "terms": dump(terms), "created": now}
        return self._number(campaigns, **row, budget=terms["budget"], committed=0)

    def campaign(self, key: int | str) -> CampaignRow | None:
        c = campaigns.c
        return next(iter(self._campaigns(c.id == key if isinstance(key, int) else c.public == key)), None)

    def campaigns(self) -> list[CampaignRow]:
        return self._campaigns()

    def _campaigns(self, *where: Any) -> list[CampaignRow]:
        c = campaigns.c
        rows = self._do(select(c.id, c.public, c.consumer, c.terms).where(*where).order_by(c.id))
        return [CampaignRow(*row[:3], json.loads(row[3])) for row in rows]

    def set_consumer(self, campaign: int, consumer: int) -> None:
        self._do(update(campaigns).where(campaigns.c.id == campaign).values(consumer=consumer))

    def lock(self, campaign: int) -> tuple[int, int]:
        """Return the budget and what is committed of it. Other transactions that call this wait until this one ends."""
        budget, committed = self._do(_LOCK, {"campaign": campaign}).one()
        return budget, committed

    def spend(self, campaign: int, amount: int) -> bool:
        """Commit ``amount`` more of the budget, if it fits. Return whether it did."""
        return bool(self._do(_SPEND, {"campaign": campaign, "amount": amount}).rowcount == 1)

    def schedule(self, campaign: int) -> list[tuple[Instant, dict[str, int]]]:
        """Return pairs of the instant from which rewards apply and the rewards, in order."""
        return [(begins, json.loads(rewards)) for begins, rewards in self._do(_SCHEDULE, {"campaign": campaign})]

    def put_schedule(self, campaign: int, begins: Instant, rewards: Mapping[str, int]) -> None:
        self._replace(schedules, campaign=campaign, begins=begins, rewards=dump(rewards))


_LOCK = (
    select(campaigns.c.budget, campaigns.c.committed).where(campaigns.c.id == bindparam("campaign")).with_for_update()
)
_SPEND = (
    update(campaigns)
    .where(
        campaigns.c.id == bindparam("campaign"),
        campaigns.c.committed + bindparam("amount") <= campaigns.c.budget,
    )
    .values(committed=campaigns.c.committed + bindparam("amount"))
)
_SCHEDULE = (
    select(schedules.c.begins, schedules.c.rewards)
    .where(schedules.c.campaign == bindparam("campaign"))
    .order_by(schedules.c.begins)
)
