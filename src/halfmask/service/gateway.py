"""A gateway: a service for a group of producers that sends only their cells to the service above it.

It keeps the campaign of its token under the same id and terms. Its state of a period is made of the reports of its
producers and the cells of gateways below it. Whenever that state changes, the whole state is sent up under a higher
version. The service above keeps the highest version, so lost, repeated or reordered messages do not change a total.
"""

import logging
import math
from functools import partial

from starlette.concurrency import run_in_threadpool

from halfmask.service.background_tasks import BackgroundTask, repeated
from halfmask.service.campaign import Campaign
from halfmask.service.campaign_periods import changed_cells, note, own_rows, recent
from halfmask.service.campaign_requests import mirror
from halfmask.service.service import Service, Writer
from halfmask.service.storage.campaign_rows import UPSTREAM
from halfmask.service.storage.period_rows import KnownRow
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.http_client import ServiceClient as Upstream
from halfmask_device.http_client import Transport, urllib_transport
from halfmask_device.instants import MINUTE, SECOND

log = logging.getLogger("halfmask.service")
BRIEF: Transport = partial(urllib_transport, timeout=10.0)
"""Gives a service above that hangs up soon enough to try again before the deadline."""
EVERY = 2.0
"""Seconds between two checks for changes."""
SOONER = 5
"""Most minutes by which a gateway closes its periods before the service above does."""
MOST_PERIODS = 50
"""Most periods in one message, so that it stays below the largest body."""


def sooner(grace: int) -> int:
    """Return the minutes taken off the grace, so that the last cells arrive in time.

    It is half of the grace, rounded up, and at most `SOONER`.
    """
    return min(SOONER, (grace + 1) // 2)


class Gateway:
    """Sends the cells that changed, once per `round`."""

    def __init__(self, service: Service, writer: Writer, upstream: Upstream, token: str) -> None:
        self.service, self.writer, self.upstream, self.token = service, writer, upstream, token
        self.node = ""
        self.campaign: Campaign | None = None
        self._arrived: dict[str, int] = {}
        """The version of each period that the service above has."""

    async def round(self) -> int:
        """Store what changed and send what has not arrived. Return the number of periods sent.

        Raise an error if the service above does not answer.
        """
        campaign = self.campaign or await self._meet()
        read = self.service.store.read
        found = await run_in_threadpool(read, lambda tx: changed_cells(tx, campaign, self.service.clock()))
        if found:
            await self.writer.submit(partial(note, campaign=campaign, noted=found, now=self.service.clock()))
        rows = await run_in_threadpool(read, lambda tx: self._waiting(tx, campaign))
        for start in range(0, len(rows), MOST_PERIODS):
            await self._send(campaign, rows[start : start + MOST_PERIODS])
        if rows:
            log.info("cells sent up", extra={"periods": len(rows)})
        return len(rows)

    async def _meet(self) -> Campaign:
        """Ask which campaign the token is for, and keep that campaign here."""
        me = await run_in_threadpool(self.upstream.ask, "GET", "/v1/node", self.token)
        offer = await run_in_threadpool(self.upstream.ask, "GET", f"/v1/campaigns/{me['campaign']}")
        earlier = sooner(int(offer["grace_minutes"]))
        if not earlier:
            log.warning("the campaign has no grace: last cells of a period will come too late for it")
        now = self.service.clock()
        key = await self.writer.submit(lambda tx: mirror(tx, offer, UPSTREAM, now, earlier))
        campaign = await run_in_threadpool(self.service.store.read, lambda tx: self.service.campaign_of(tx, key))
        self.campaign = campaign
        self.node = str(me["node"])
        log.info("gateway of a campaign", extra={"campaign": campaign.public, "node": self.node})
        return campaign

    def _waiting(self, tx: Transaction, campaign: Campaign) -> list[KnownRow]:
        rows = own_rows(tx, campaign, recent(campaign, self.service.clock()))
        return [row for row in rows.values() if row.version > self._arrived.get(row.period, -1)]

    async def _send(self, campaign: Campaign, rows: list[KnownRow]) -> None:
        """Send the cells of some periods. The version is the highest of the rows, so it is above all sent before."""
        body = {"version": max(row.version for row in rows), "periods": {row.period: row.cells for row in rows}}
        path = f"/v1/campaigns/{campaign.public}/cells/{self.node}"
        await run_in_threadpool(self.upstream.ask, "PUT", path, self.token, body)
        self._arrived |= {row.period: row.version for row in rows}


def next_turn(service: Service) -> float:
    """Return the seconds until a gateway must send again at the latest: at its deadlines, and often after one.

    What it sends later than the deadline above does not count there.
    """
    now = service.clock()
    with service.store.reading() as tx:
        campaigns = [service.campaign_of(tx, row.key) for row in tx.campaigns() if row.consumer == UPSTREAM]
    passed = [now - each.deadline(span) for each in campaigns for span in recent(each, now)]
    if any(0 <= since < SOONER * MINUTE for since in passed):
        return EVERY
    return min((-since / SECOND for since in passed if since < 0), default=math.inf)


def background_task(address: str, token: str, transport: Transport = BRIEF) -> BackgroundTask:
    """Return the background task that sends cells as long as the service runs."""
    upstream = Upstream(address, transport, tries=1)
    return repeated(
        lambda service, writer: Gateway(service, writer, upstream, token).round,
        EVERY,
        "cells could not be sent up",
        spare=1,
        within=next_turn,
    )
