"""Deleting what has served its purpose, as long as the service runs. Published periods stay."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from starlette.concurrency import run_in_threadpool

from halfmask.service.background_tasks import BackgroundTask, repeated
from halfmask.service.campaign import Campaign
from halfmask.service.closing import LEAST_DELETED
from halfmask.service.repeated_requests import FOR
from halfmask.service.service import Service, Writer
from halfmask.service.storage.report_rows import buckets_of
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.instants import DAY, Instant

log = logging.getLogger("halfmask.service")
EVERY = 3600.0
"""Seconds between two turns."""
TOKENS = 30 * DAY
"""How long a token is kept after it was revoked or has expired."""


def forget(tx: Transaction, now: Instant) -> dict[str, int]:
    """Delete old tokens, events that newer ones replaced, and answers that are not repeated. Return how many."""
    return {
        "tokens": tx.forget_tokens(now - TOKENS),
        "events": tx.forget_events(),
        "answers": tx.forget_repeats(now - FOR),
    }


def forget_reports(tx: Transaction, campaign: Campaign) -> int:
    """Delete some reports of a past campaign. Return 0 once none was left."""
    tx.lock(campaign.key)
    return tx.clear_reports(*buckets_of(campaign.key), LEAST_DELETED)


def forget_members(tx: Transaction, campaign: Campaign) -> int:
    """Delete some producers of a past campaign, with their tokens and ledgers. Return how many."""
    tx.lock(campaign.key)
    return tx.forget_members(campaign.key)


def past(service: Service, retained: Instant) -> list[Campaign]:
    """Return the campaigns whose last period closed longer ago than ``retained``, and that still have producers."""
    with service.store.reading() as tx:
        found = (service.campaign(tx, row.key) for row in tx.campaigns())
        old = [each for each in found if each and each.ends + each.grace + retained < service.clock()]
        return [each for each in old if tx.count_of("producers", each.key)]


def background_task(retain_days: int) -> BackgroundTask:
    """Return the background task. With ``retain_days`` of 0, members of past campaigns are kept."""

    def make(service: Service, writer: Writer) -> Callable[[], Awaitable[None]]:
        async def turn() -> None:
            gone = await writer.submit(partial(forget, now=service.clock()), small=True)
            old = await run_in_threadpool(past, service, retain_days * DAY) if retain_days else []
            gone["producers"] = 0
            for campaign in old:
                while await writer.submit(partial(forget_reports, campaign=campaign), small=True):
                    pass
                while count := await writer.submit(partial(forget_members, campaign=campaign), small=True):
                    gone["producers"] += count
            if any(gone.values()):
                log.info("deleted what is old", extra=gone)

        return turn

    return repeated(make, EVERY, "what is old could not be deleted")
