"""Closing periods in three steps, so that nobody waits for a period that had many reports.

A period is *closed* by a decision: one transaction of the writer stores its cells for good. From then on it takes no
reports and no withdrawals. It is *published* after that: what the consumer sees is worked out on a snapshot, outside
the writer, and stored once. The reports are still there, so what needs all of them can be worked out too. They are
*deleted* later, in small steps.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType

from starlette.concurrency import run_in_threadpool

from halfmask.service.background_tasks import BackgroundTask, repeated
from halfmask.service.campaign import Campaign
from halfmask.service.campaign_periods import note, others, own_cells
from halfmask.service.cells import merge, plain_cells, read
from halfmask.service.groups import grouped_entry
from halfmask.service.influence import details
from halfmask.service.refusal import Refusal, not_found
from halfmask.service.service import Service, Writer
from halfmask.service.split.leading import start_closing
from halfmask.service.split.split_part import SplitPart, combined_entry
from halfmask.service.storage.period_rows import ClosedRow
from halfmask.service.storage.sql_store import StoreGoneError, Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import HOUR, Instant

log = logging.getLogger("halfmask.service")
MOST_PERIODS, MOST_CELLS = 500, 20_000
"""Most periods, and most cells that they may have, that one transaction closes."""
PUBLISHED_AT_ONCE = 50
"""Periods that are worked out and stored together."""
NO_PARTS: Mapping[str, SplitPart] = MappingProxyType({})
DELETE_EVERY = 10.0
"""Seconds between two looks for reports to delete."""
KEPT = HOUR
"""How long reports are kept after their period was closed, with the clock running steadily."""
LEAST_DELETED, MOST_DELETED = 1000, 30_000
"""Fewest and most reports that one transaction deletes, if there are so many."""
DELETING = 0.004
"""Seconds in which a transaction that deletes should have done its work, besides the commit."""


def closing_groups(campaign: Campaign, spans: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """Yield the periods in groups to close together, so small that reports need not wait."""
    size = max(1, min(MOST_PERIODS, MOST_CELLS // (len(campaign.noises) * max(1, len(campaign.groups)))))
    for start in range(0, len(spans), size):
        yield spans[start : start + size]


def close_all(
    tx: Transaction, campaign: Campaign, spans: Sequence[Span], now: Instant, parts: Mapping[str, SplitPart] = NO_PARTS
) -> None:
    """Close periods in order, except those that are closed already. Their cells are read once, and never again.

    A period that has split reports waits for its split part, which ``parts`` has by period.
    """
    tx.lock(campaign.key)
    closed = tx.closed_keys(campaign.key, [span.key for span in spans])
    new = start_closing(tx, campaign, [span for span in spans if span.key not in closed], now)
    own = own_cells(tx, campaign, new)
    if campaign.shared:
        note(tx, campaign, [(span, cells, True) for span, cells in zip(new, own, strict=True)], now)
    peers = others(tx, campaign, new)
    totals = [merge([cells, peers.get(span.key, {})]) for span, cells in zip(new, own, strict=True)]
    drafts = [
        combined_entry(campaign, span.key, total, parts.get(span.key, SplitPart())) if campaign.split_id else {}
        for span, total in zip(new, totals, strict=True)
    ]
    tx.add_closed(
        campaign.key,
        [
            ClosedRow(span.key, span.begins, now, plain_cells(total), draft)
            for span, total, draft in zip(new, totals, drafts, strict=True)
        ],
    )


def close_on_request(tx: Transaction, campaign: Campaign, key: str, now: Instant) -> Span:
    """Close a period that has ended, without waiting until its grace is over. Return it."""
    span = campaign.span(key)
    if span is None:
        raise not_found("period")
    if now < min(span.ends, campaign.ends):
        raise Refusal(409, "not_ended", "the period has not ended yet", "period")
    if campaign.peered and not tx.closed_keys(campaign.key, [key]):
        raise Refusal(409, "peers", "peers close their periods together, some time after the deadline", "period")
    close_all(tx, campaign, [span], now)
    return span


def _entries(tx: Transaction, campaign: Campaign, rows: Sequence[ClosedRow]) -> dict[str, Plain]:
    """Return what the consumer will see of closed periods."""
    found: dict[str, Plain] = {}
    for row in rows:
        entry = row.entry or grouped_entry(campaign, row.period, read(row.cells))
        found[row.period] = entry if entry["withheld"] else entry | details(tx, campaign, entry)
    return found


async def publish_closed(service: Service, writer: Writer, key: int | None = None) -> int:
    """Publish the closed periods of a campaign, or of all. Return how many."""
    waiting: dict[int, list[ClosedRow]] = {}
    for number, row in await run_in_threadpool(service.store.read, lambda tx: tx.unpublished(key)):
        waiting.setdefault(number, []).append(row)
    count = 0
    for number, rows in waiting.items():
        campaign = await run_in_threadpool(service.store.read, partial(service.campaign_of, key=number))
        for start in range(0, len(rows), PUBLISHED_AT_ONCE):
            work = partial(_entries, campaign=campaign, rows=rows[start : start + PUBLISHED_AT_ONCE])
            entries = await run_in_threadpool(service.store.read, work)
            await writer.submit(partial(_publish, key=number, entries=entries), small=True)
            count += len(entries)
    return count


def _publish(tx: Transaction, key: int, entries: dict[str, Plain]) -> None:
    tx.lock(key)
    tx.publish(key, entries)
    tx.show_entries(key, [period for period, entry in entries.items() if entry["withheld"] is None])
    tx.forget_open(key, entries)


async def close_due(service: Service, writer: Writer, now: Instant, name: str | None = None) -> None:
    """Close and publish the periods that are due, of all campaigns or the one named."""
    for campaign, spans in await run_in_threadpool(service.due, now, name):
        for group in closing_groups(campaign, spans):
            await writer.submit(partial(close_all, campaign=campaign, spans=group, now=now), small=True)
            log.info("periods closed", extra={"campaign": campaign.public, "count": len(group)})
    key = None
    if name is not None:
        found = await run_in_threadpool(service.store.read, partial(service.campaign, key=name))
        key = found.key if found else 0
    await publish_closed(service, writer, key)


def delete_some(tx: Transaction, campaign: Campaign, period: str, most: int = LEAST_DELETED) -> bool:
    """Delete some of the reports of a closed period, or the rest of what is stored of it. Return whether it is done."""
    span = campaign.span(period)
    if span is not None and not campaign.keeps and tx.clear_reports(*campaign.room(span), most):
        return False
    if tx.forget_changes(campaign.key, period, LEAST_DELETED):
        return False
    tx.remove_cells(campaign.key, period)
    return True


def _delete_step(tx: Transaction, campaign: Campaign, period: str, most: int) -> tuple[bool, int]:
    """Delete some of a period. Return whether it is done, and how many the next step may delete."""
    began = time.monotonic()
    done = delete_some(tx, campaign, period, most)
    fitting = round(most * min(2.0, DELETING / max(time.monotonic() - began, 1e-6)))
    return done, min(max(fitting, LEAST_DELETED), MOST_DELETED)


async def delete_closed(service: Service, writer: Writer, before: Instant) -> int:
    """Delete the reports of all periods that were closed before an instant, in steps. Return how many periods.

    A step deletes as many as its time allows: each costs others the wait for a commit, however few it deletes. A
    database that lets several write at once is cleared by its own connection, because what locks few rows there may
    take long to commit.
    """

    def apart(work: Callable[[Transaction], tuple[bool, int]]) -> tuple[bool, int]:
        with service.store.transaction() as tx:
            return work(tx)

    gone, most, alone = 0, LEAST_DELETED, service.store.one_writer
    for key, period in await run_in_threadpool(service.store.read, lambda tx: tx.deletable(before)):
        campaign = await run_in_threadpool(service.store.read, partial(service.campaign_of, key=key))
        with suppress(StoreGoneError):  # somebody reads them: the next turn tries again
            done = False
            while not done:
                began, work = time.monotonic(), partial(_delete_step, campaign=campaign, period=period, most=most)
                done, most = await (writer.submit(work, small=True) if alone else run_in_threadpool(apart, work))
                await asyncio.sleep(time.monotonic() - began)  # half of the time is for others
            gone += 1
    if gone:
        log.info("reports of closed periods deleted", extra={"count": gone})
    return gone


def background_tasks(close_every: float) -> list[BackgroundTask]:
    """Return the tasks that close, publish and delete as long as the service runs."""

    def closing(service: Service, writer: Writer) -> Callable[[], Awaitable[None]]:
        async def turn() -> None:
            await run_in_threadpool(service.store.read, service.notice_actions)
            await close_due(service, writer, service.clock())

        return turn

    def deleting(service: Service, writer: Writer) -> Callable[[], Awaitable[None]]:
        async def turn() -> None:
            if service.settled_for(KEPT):
                await delete_closed(service, writer, service.clock() - KEPT)

        return turn

    return [
        repeated(closing, close_every, "periods could not be closed"),
        repeated(deleting, DELETE_EVERY, "reports of closed periods could not be deleted"),
    ]
