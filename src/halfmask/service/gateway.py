"""A gateway: a service of its own producers that sends its cells to the service above it, and nothing else.

It keeps the campaign that its token is for under the same id and terms. Its own producers' reports and the cells of
gateways below it are its state of a period; the whole state goes up whenever it has changed, under a growing version.
The service above keeps the highest, so that losing, repeating or reordering what is sent changes no total.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool

from halfmask.service.campaign import Campaign
from halfmask.service.known import Noted, changed, note, own_rows, recent
from halfmask.service.mirror import mirror
from halfmask.service.service import Service
from halfmask.service.storage.base import UPSTREAM, KnownRow
from halfmask.service.writer import Writer
from halfmask_device.transport import ServiceClient as Upstream
from halfmask_device.transport import Transport, urllib_transport

log = logging.getLogger("halfmask.service")
EVERY = 2.0
"""Seconds between two looks for what has changed."""
LONGEST = 60.0
"""Seconds between two attempts while the service above does not answer."""
SPARE = 9
"""A look is followed by a pause that is so many times as long: counting stays a small part of the work."""
SOONER = 5
"""Minutes, at most, by which a gateway closes its periods before the service above does."""
MOST_PERIODS = 50
"""Periods in one message, so that it stays below the largest body."""


def sooner(grace: int) -> int:
    """Minutes that are taken off the grace: half of it, rounded up, and not more than needed for the last cells."""
    return min(SOONER, (grace + 1) // 2)


class Gateway:
    """Sends what changed, one `look` at a time."""

    def __init__(self, service: Service, writer: Writer, upstream: Upstream, token: str) -> None:
        self.service, self.writer, self.upstream, self.token = service, writer, upstream, token
        self.node = ""
        self.campaign: Campaign | None = None
        self._arrived: dict[str, int] = {}
        """The version of each period that the service above has."""

    async def look(self) -> int:
        """Note what changed and send what has not arrived; how many periods that were. Fails where nobody answers."""
        campaign = self.campaign or await self._meet()
        found = await run_in_threadpool(self._changed, campaign)
        if found:
            await self.writer.submit(partial(note, campaign=campaign, noted=found, now=self.service.clock()))
        rows = await run_in_threadpool(self._waiting, campaign)
        for start in range(0, len(rows), MOST_PERIODS):
            await self._send(campaign, rows[start : start + MOST_PERIODS])
        return len(rows)

    async def _meet(self) -> Campaign:
        """Ask what the token is for, and keep that campaign here."""
        me = await run_in_threadpool(self.upstream.ask, "GET", "/v1/node", self.token)
        offer = await run_in_threadpool(self.upstream.ask, "GET", f"/v1/campaigns/{me['campaign']}")
        earlier = sooner(int(offer["grace_minutes"]))
        if not earlier:
            log.warning("the campaign has no grace: last cells of a period will come too late for it")
        now = self.service.clock()
        row = await self.writer.submit(
            lambda tx: mirror(tx, offer, UPSTREAM, now, earlier),
        )
        with self.service.store.reading() as tx:
            self.campaign = self.service.campaign_of(tx, row.key)
        self.node = str(me["node"])
        log.info("gateway of a campaign", extra={"campaign": row.public, "node": self.node})
        return self.campaign

    def _changed(self, campaign: Campaign) -> list[Noted]:
        with self.service.store.reading() as tx:
            return changed(tx, campaign, self.service.clock())

    def _waiting(self, campaign: Campaign) -> list[KnownRow]:
        with self.service.store.reading() as tx:
            rows = own_rows(tx, campaign, recent(campaign, self.service.clock()))
        return [row for row in rows.values() if row.version > self._arrived.get(row.period, -1)]

    async def _send(self, campaign: Campaign, rows: list[KnownRow]) -> None:
        """One message's version is its rows' highest: what it says of each period is newer than all sent before."""
        body = {"version": max(row.version for row in rows), "periods": {row.period: row.cells for row in rows}}
        path = f"/v1/campaigns/{campaign.public}/cells/{self.node}"
        await run_in_threadpool(self.upstream.ask, "PUT", path, self.token, body)
        self._arrived |= {row.period: row.version for row in rows}


Made = Callable[[Service, Writer], AbstractAsyncContextManager[Any]]


def beside(address: str, token: str, transport: Transport = urllib_transport) -> Made:
    """A task that sends as long as the service runs."""
    upstream = Upstream(address, transport, tries=1)

    @asynccontextmanager
    async def run(service: Service, writer: Writer) -> AsyncIterator[None]:
        task = asyncio.create_task(_for_ever(Gateway(service, writer, upstream, token)))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    return run


async def _for_ever(gateway: Gateway) -> None:
    pause = EVERY
    while True:
        began = time.monotonic()
        try:
            count = await gateway.look()
            pause = max(EVERY, SPARE * (time.monotonic() - began))
            if count:
                log.info("cells sent up", extra={"periods": count})
        except Exception as error:  # whatever came from above, the next look tries again
            pause = min(pause * 2, LONGEST)
            said = getattr(error, "said", getattr(error, "code", ""))
            log.warning("cells could not be sent up", extra={"kind": type(error).__name__, "code": said})
        await asyncio.sleep(pause * random.uniform(0.75, 1.0))
