"""Server-sent events: a `period` event when a period closes or a live one has a new snapshot. Clients can resume."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response, StreamingResponse

from halfmask.service.campaign import Campaign
from halfmask.service.campaign_periods import periods
from halfmask.service.http.read_request import read_request
from halfmask.service.refusal import Refusal, unfit
from halfmask.service.request import Call, Request
from halfmask.service.service import Service
from halfmask.service.storage.sql_store import StoreGoneError
from halfmask.service.storage.tables import Plain

POLL = 0.25
"""Seconds between two checks for new events."""
SILENCE = 15.0
"""Seconds after which a comment shows that the stream is alive."""
_encode = msgspec.json.Encoder().encode


def make_stream(service: Service) -> Any:
    """Return the endpoint for event streams. Without ``Last-Event-ID`` a stream starts with all published periods."""
    open_streams = [0]

    async def stream(request: HttpRequest) -> Response:
        asked = await read_request(request, service.clock)
        campaign = await run_in_threadpool(
            service.store.read, lambda tx: service.answer(tx, asked, ("consumer",), Call.own_campaign)
        )
        last = request.headers.get("last-event-id", "0").strip() or "0"
        if not (last.isascii() and last.isdigit() and len(last) < 19):
            raise unfit("Last-Event-ID", "Last-Event-ID must be the id of an event of this stream")
        if open_streams[0] >= service.limits.streams:
            raise Refusal(503, "busy", "too many streams are open", after=5)
        told = _events(service, campaign, int(last), request, asked, open_streams)
        return StreamingResponse(told, media_type="text/event-stream", headers={"Cache-Control": "no-store"})

    return stream


async def _events(
    service: Service, campaign: Campaign, last: int, request: HttpRequest, asked: Request, open_streams: list[int]
) -> AsyncIterator[bytes]:
    """Yield events until the client disconnects, its token is no longer valid, or the service stops."""
    open_streams[0] += 1
    quiet = 0.0
    try:
        yield b": periods of the campaign as they are published\n\n"
        while not service.stopping and not await request.is_disconnected():
            try:
                found = await run_in_threadpool(_new, service, campaign, last, replace(asked, now=service.clock()))
            except StoreGoneError:
                found = []
            except Refusal:  # its token has expired, or was revoked
                return
            for last, entry in found:
                yield b"event: period\nid: %d\ndata: %b\n\n" % (last, _encode(entry))
            quiet = 0.0 if found else quiet + POLL
            if quiet >= SILENCE:
                yield b": still here\n\n"
                quiet = 0.0
            await asyncio.sleep(POLL)
    finally:
        open_streams[0] -= 1


def _new(service: Service, campaign: Campaign, last: int, asked: Request) -> list[tuple[int, Plain]]:
    """Return the events after ``last``, only the newest one per period, with the period as it is shown now."""
    with service.store.reading() as tx:
        service.identify(tx, asked, ("consumer",))
        newest = {period: number for number, period in tx.events(campaign.key, last)}
        if not newest:
            return []
        spans = [span for key in newest if (span := campaign.span(key)) is not None]
        entries = periods(tx, campaign, spans)
    return sorted(((newest[entry["period"]], entry) for entry in entries), key=lambda each: each[0])
