"""Closing periods that have split reports: verify with the helper, fix the set, ask for its sum, publish.

Each step is one transaction, and can be repeated: a service that was killed goes on where it was. The set is fixed
before the helper is asked for its sum, because the helper gives one sum per period.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool

from halfmask.errors import RunError
from halfmask.service.background_tasks import BackgroundTask, repeated
from halfmask.service.campaign import Campaign
from halfmask.service.closing import close_all, publish_closed
from halfmask.service.report_decisions import take_back
from halfmask.service.service import Service, Writer
from halfmask.service.split.helper_requests import forget_shares
from halfmask.service.split.leading import first_message, ticket_for
from halfmask.service.split.sent_shares import read_bytes
from halfmask.service.split.split_campaign import (
    HELD_NAME,
    KEPT,
    Draws,
    SplitCampaign,
    ValidShares,
    centred,
    led_campaign,
    stored_number,
)
from halfmask.service.split.split_part import SplitPart
from halfmask.service.storage.split_rows import INVALID, VALID, ClosingRow, HeldShare, LedSplit
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.campaign_calendar import Span
from halfmask_device.http_client import ServiceError
from halfmask_device.instants import MINUTE, Instant
from halfmask_device.prio3.field64 import ELEMENT_BYTES, MODULUS

log = logging.getLogger("halfmask.service")
EVERY = 1.0
"""Seconds between two turns."""
VERIFIED_AT_ONCE = 2000
"""Reports in one request for verification, so that what else is written at either service does not wait long."""
MOST_ASKED = 8
"""Campaigns whose helpers are asked at the same time."""
FINAL = (401, 403, 404, 409, 422)
"""Statuses with which a helper refuses a campaign for good."""
VERDICTS = {"valid": VALID, "invalid": INVALID}


class SplitClosing:
    """Asks helpers to take part in new campaigns, and takes closing periods as far as their helpers allow."""

    def __init__(self, service: Service, writer: Writer) -> None:
        self.service, self.writer = service, writer
        self._side_by_side = asyncio.Semaphore(MOST_ASKED)

    async def turn(self) -> None:
        """Take one step with each campaign and period that waits for a helper, campaigns side by side."""
        if not self.service.unsettled():  # first: no helper can keep old shares from being deleted
            await self.writer.submit(partial(forget_shares, now=self.service.clock()))
        read = self.service.store.read
        steps: dict[int, list[Callable[[], Awaitable[None]]]] = {}
        for row in await run_in_threadpool(read, lambda tx: tx.unmet()):
            steps.setdefault(row.campaign, []).append(partial(self._meet, row))
        for closing in await run_in_threadpool(read, lambda tx: tx.closing()):
            steps.setdefault(closing.campaign, []).append(partial(self._advance, closing))
        for campaign, name in await run_in_threadpool(read, lambda tx: tx.leavers(list(steps))):
            steps.setdefault(campaign, []).append(partial(self._withdraw, campaign, name))
        ended = await asyncio.gather(*(self._each(*pair) for pair in steps.items()), return_exceptions=True)
        for error in ended:
            if error is not None:
                raise error

    async def _each(self, campaign: int, steps: Sequence[Callable[[], Awaitable[None]]]) -> None:
        """Take a campaign's steps in order. If its helper fails, log that and leave the rest to the next turn."""
        async with self._side_by_side:
            try:
                for step in steps:
                    await step()
            except RunError as error:
                code = getattr(error, "said", error.code)
                log.warning("a helper did not help", extra={"campaign": campaign, "code": code})

    async def _ask(self, led: LedSplit, path: str, body: object) -> Any:
        helper = self.service.split.helper(led.helper)
        return await run_in_threadpool(helper.ask, "POST", f"/v1/split{path}", led.token, body)

    async def _withdraw(self, campaign: int, name: str) -> None:
        """Let the helper withdraw the shares of a producer that has left, as its device does too if it can.

        That waits while a period of the campaign is closing, because such a period takes no withdrawals.
        """
        led, _ = await run_in_threadpool(self.service.store.read, partial(self._found, key=campaign))
        if led.held:
            helper, path = self.service.split.helper(led.helper), f"/v1/split/{led.held}/shares"
            try:
                await run_in_threadpool(helper.ask, "DELETE", path, ticket_for(led, name))
            except ServiceError as error:
                if error.status not in FINAL:
                    raise
        await self.writer.submit(lambda tx: tx.end_leaver(campaign, name))

    async def _meet(self, led: LedSplit) -> None:
        """Tell the helper of a campaign, and store the id that it has there, or that the helper refused it."""
        held = refused = ""
        try:
            answer = await self._ask(led, "", first_message(led))
            named = answer.get("campaign") if isinstance(answer, dict) else None
            held = named if isinstance(named, str) else ""
        except ServiceError as error:
            if error.status not in FINAL:
                raise
            refused = error.said if HELD_NAME.fullmatch(error.said) else str(error.status)
        if not refused and not HELD_NAME.fullmatch(held):
            raise _odd()
        await self.writer.submit(lambda tx: tx.set_held(led.campaign, held, refused))
        log.info("a helper answered", extra={"campaign": led.campaign, "refused": refused})

    async def _advance(self, closing: ClosingRow) -> None:
        """Take a closing period as far as its helper allows."""
        led, campaign = await run_in_threadpool(self.service.store.read, partial(self._found, key=closing.campaign))
        split, span, now = led_campaign(led), campaign.named_span(closing.period, "period"), self.service.clock()
        draws = self.service.draws
        if now >= span.ends + KEPT and not self.service.unsettled():
            await self._publish(partial(publish_split, campaign=campaign, split=split, span=span, now=now), campaign)
            return
        if not closing.frozen:
            missing = await self._verify(led, split, span)
            wait = int(campaign.terms["split"]["wait_minutes"]) * MINUTE
            if missing and now < closing.since + wait:
                return
            await self.writer.submit(partial(fix_set, campaign=campaign, period=span.key))
        valid = await run_in_threadpool(self.service.store.read, partial(_added_up, split=split, span=span))
        nonces = counted_set(split, valid)
        try:
            answer = await self._ask(led, f"/{led.held}/periods/{span.key}/sum", {"reports": nonces})
        except ServiceError as error:
            if error.status != 409:
                raise
            await self._corrected(error, campaign, split, span, valid)
            return
        share = _read_sum(answer, len(nonces))
        job = partial(publish_split, campaign=campaign, split=split, span=span, now=now, draws=draws)
        await self._publish(partial(job, valid=valid, share=share), campaign)

    async def _publish(self, job: Callable[[Transaction], None], campaign: Campaign) -> None:
        """Close a period by ``job``, and publish it. After a crash in between, the task that closes publishes it."""
        await self.writer.submit(job)
        await publish_closed(self.service, self.writer, campaign.key)

    def _found(self, tx: Transaction, key: int) -> tuple[LedSplit, Campaign]:
        led = tx.led(key)
        if led is None:
            raise RuntimeError("a closing period's campaign is missing")
        return led, self.service.campaign_of(tx, key)

    async def _verify(self, led: LedSplit, split: SplitCampaign, span: Span) -> int:
        """Verify the reports without a verdict. Return how many the helper does not have."""
        after, missing = "", 0
        while True:
            ask = partial(_undecided, split=split, span=span, after=after)
            rows: list[HeldShare] = await run_in_threadpool(self.service.store.read, ask)
            if not rows:
                return missing
            after = rows[-1].owner
            nonces, shares = [bytes.fromhex(row.nonce) for row in rows], [row.share for row in rows]
            mine = await run_in_threadpool(split.verifier.leader, nonces, shares)
            verifiers = [base64.b64encode(each).decode() for each in mine.verifier_bytes()]
            sent = [{"report": row.nonce, "verifier": each} for row, each in zip(rows, verifiers, strict=True)]
            answer = await self._ask(led, f"/{led.held}/periods/{span.key}/verify", {"reports": sent})
            results = _read_results(answer, len(rows))
            missing += results.count("missing")
            decided = [
                (row.nonce, VERDICTS[word], stored_number(int(number)))
                for row, word, number in zip(rows, results, mine.numbers, strict=True)
                if word in VERDICTS
            ]
            await self.writer.submit(partial(store_verdicts, split=split, span=span, decided=decided))

    async def _corrected(
        self, error: ServiceError, campaign: Campaign, split: SplitCampaign, span: Span, valid: ValidShares
    ) -> None:
        """Leave out reports that the helper does not have, or give the sum up if the helper has given another one."""
        if error.said == "not_valid":
            named = error.answer.get("reports")
            wrong = [each for each in named if isinstance(each, str)] if isinstance(named, list) else []
            await self.writer.submit(partial(leave_out, split=split, span=span, nonces=wrong))
        elif error.said in ("other_set", "restored", "too_few"):
            log.warning("a period has no split sum", extra={"campaign": campaign.public, "code": error.said})
            job = partial(publish_split, campaign=campaign, split=split, span=span, now=self.service.clock())
            await self._publish(partial(job, valid=valid), campaign)
        else:
            raise error


def _odd() -> RunError:
    return RunError("the helper's answer is not what the protocol says", kind="answer")


def _read_results(answer: Any, count: int) -> list[str]:
    results = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(results, list) or len(results) != count:
        raise _odd()
    if not all(word in ("valid", "invalid", "missing") for word in results):
        raise _odd()
    return results


def _read_sum(answer: Any, count: int) -> int | None:
    """Return the helper's noisy sum of a set, None for an empty set."""
    if not isinstance(answer, dict) or answer.get("reports") != count:
        raise _odd()
    share = read_bytes(answer.get("share"), ELEMENT_BYTES)
    number = int.from_bytes(share or b"", "little")
    if (count > 0) != (share is not None) or number >= MODULUS:
        raise _odd()
    return number if count else None


def _undecided(tx: Transaction, split: SplitCampaign, span: Span, after: str) -> list[HeldShare]:
    return tx.undecided(split.holding, span.begins, after, VERIFIED_AT_ONCE)


def _row(tx: Transaction, campaign: int, period: str) -> ClosingRow | None:
    """Return the closing period; the campaign must be locked."""
    return next((row for row in tx.closing(campaign) if row.period == period), None)


def store_verdicts(tx: Transaction, split: SplitCampaign, span: Span, decided: Sequence[tuple[str, int, int]]) -> None:
    """Store verdicts, unless the set is fixed already."""
    tx.lock(split.holding.split)
    row = _row(tx, split.holding.split, span.key)
    if row is not None and not row.frozen:
        tx.decide(split.holding, span.begins, decided)


def fix_set(tx: Transaction, campaign: Campaign, period: str) -> None:
    """Fix the set: from now on no verdict is added."""
    tx.lock(campaign.key)
    row = _row(tx, campaign.key, period)
    if row is not None and not row.frozen:
        tx.put_closing(row._replace(frozen=1))


def leave_out(tx: Transaction, split: SplitCampaign, span: Span, nonces: Sequence[str]) -> None:
    tx.lock(split.holding.split)
    tx.drop_shares(split.holding, span.begins, nonces)


def _added_up(tx: Transaction, split: SplitCampaign, span: Span) -> ValidShares:
    valid = split.valid_shares(tx, span)
    valid.total  # noqa: B018 - added up here, where others need not wait, and kept
    return valid


def counted_set(split: SplitCampaign, valid: ValidShares) -> list[str]:
    """Return the nonces of the fixed set; none if it is smaller than the least cohort."""
    nonces = list(valid.numbers)
    return nonces if len(nonces) >= split.terms.least_producers else []


def publish_split(
    tx: Transaction,
    campaign: Campaign,
    split: SplitCampaign,
    span: Span,
    now: Instant,
    valid: ValidShares | None = None,
    share: int | None = None,
    draws: Draws | None = None,
) -> None:
    """Close a period: add this service's noisy sum to the helper's, or leave the split part out without one.

    ``valid``  the shares of the set that the helper was asked for; if they are others by now, nothing is done.
               None if the helper has not been heard for so long that the period ends without it
    """
    tx.lock(campaign.key)
    if _row(tx, campaign.key, span.key) is None:
        return
    if valid is not None and not split.unchanged(tx, span, valid):
        return
    valid = valid or split.valid_shares(tx, span)
    counted, invalid = len(valid.numbers), sum(verdict == INVALID for _, verdict in valid.others)
    part = SplitPart(counted, None, invalid, len(valid.others) - invalid)
    if share is not None and draws is not None:
        total = centred((split.noisy(valid.total, draws) + share) % MODULUS)
        part = SplitPart(counted, total + counted * split.lattice.ends[0], invalid, part.missing)
    take_back(tx, campaign.key, [int(owner) for owner, _ in valid.others], [span.key], now)
    tx.erase_shares(split.holding, span.begins)
    tx.end_closing(campaign.key, span.key)
    close_all(tx, campaign, [span], now, {span.key: part})


def make_turn(service: Service, writer: Writer) -> Callable[[], Awaitable[None]]:
    return SplitClosing(service, writer).turn


def background_task(every: float = EVERY) -> BackgroundTask:
    """Return the background task that closes periods with their helpers, a turn every ``every`` seconds."""
    return repeated(make_turn, every, "split sums could not be closed", spare=0)
