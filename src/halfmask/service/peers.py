"""Peers: nodes without a centre that exchange what they know and arrive at the same exact total.

Per campaign a node keeps a map from node and period to (version, cells). The highest version stays, and the total is
the sum over nodes. So the path, the number and the order of messages do not matter. A period closes at a node when its
deadline has passed and every node that has cells of it has sent its final cells. Then all close with the same total. A
node that is cut off keeps the period open until it hears from the others again.
"""

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from typing import Any, NamedTuple

from starlette.concurrency import run_in_threadpool

from halfmask.errors import HalfmaskError, OptionError
from halfmask.service.background_tasks import LONGEST, BackgroundTask, repeated
from halfmask.service.campaign import Campaign, check_text, check_whole
from halfmask.service.campaign_periods import OWN, Noted, changed_cells, note_last, recent
from halfmask.service.campaign_requests import MOST_VERSION, mirror, offer_of
from halfmask.service.cells import check_cells, plain_cells
from halfmask.service.refusal import Refusal, forbidden, not_found, unfit
from halfmask.service.request import Call, digest
from halfmask.service.service import Service, Writer
from halfmask.service.storage.campaign_rows import UNGIVEN, UPSTREAM
from halfmask.service.storage.period_rows import KnownRow
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.http_client import ServiceClient as Peer
from halfmask_device.http_client import Transport, urllib_transport

log = logging.getLogger("halfmask.service")
EVERY = 2.0
"""Seconds between two rounds. In a round a node speaks to each of its peers once."""
LEAST_SECRET = 32
PEER = 0
MOST_CELLS, MOST_TOLD = 2000, 20_000
"""Most cells in a message, so that it stays below the largest body, and in an answer, which may be longer."""
PATIENCE = 2.0
"""Seconds for which a round waits for the answers of its peers."""
SLOW = 1.0
"""Seconds from which on a failure is slow, so that the peer is left alone for a while."""
BRIEF: Transport = partial(urllib_transport, timeout=5.0)
MANY = 2000
"""Most periods whose cells are stored at once."""
SOME = 100
"""Periods that are read from the database at once."""
_NODE = re.compile(r"[0-9a-f]{16}", re.ASCII)
Map = dict[str, dict[str, Plain]]
"""Node to period to an object with version, final and cells."""


class Window(NamedTuple):
    """The periods after the one named ``after`` up to the one named ``to``. None means without a bound."""

    after: str | None = None
    to: str | None = None

    def __contains__(self, key: object) -> bool:
        return (self.after or "") < str(key) and (self.to is None or str(key) <= self.to)

    def instants(self, campaign: Campaign) -> tuple[int | None, int]:
        """Return the first and the last instant at which its periods may begin. The first is None without a bound."""
        after, to = (campaign.span(key) if key else None for key in self)
        return (after.ends if after else None), (to.begins if to else campaign.ends)


EVER = Window()


class Part(NamedTuple):
    """One message: which periods of a window are open here, and what is known of them.

    It asks the peer for the same.
    """

    open: list[str]
    cells: Map
    window: Window

    @property
    def body(self) -> Plain:
        return {"open": self.open, "cells": self.cells, **self.window._asdict()}

    def rest(self, told: str | None) -> "Part | None":
        """Return the rest to ask for if an answer ends with the period ``told``; None if nothing is left."""
        if told is None or told == self.window.to:
            return None
        if told not in self.window:
            raise ValueError("an answer ends outside of what was asked for")
        return Part([key for key in self.open if key > told], {}, Window(told, self.window.to))


def join_peers(service: Service, secrets: Sequence[str]) -> None:
    """Give the database a name among its peers, once, and let in the peers that know these secrets: one of each.

    A secret that was valid and is not among them is revoked.
    """
    if any(len(secret) < LEAST_SECRET for secret in secrets):
        raise OptionError(
            f"a peer's token is short: take {LEAST_SECRET} random characters or more, the same at both ends",
            kind="short",
        )
    hashes = [digest(secret) for secret in secrets]
    if len(set(hashes)) < len(hashes):
        raise OptionError("two peers have the same token: take another one for each", kind="same")
    service.node = service.name
    with service.store.transaction() as tx:
        now, known = service.clock(), tx.identities(hashes)
        if any(each.role != "peer" or each.revoked is not None for each in known.values()):
            raise OptionError("a peer's token was used before and is no longer valid: take a new one", kind="used")
        tx.revoke_tokens("peer", PEER, now, but=hashes)
        for hashed in hashes:
            if hashed not in known:
                tx.add_token(hashed, "peer", PEER, now, None)


def knowledge(
    tx: Transaction, campaign: Campaign, own: str, periods: Sequence[str]
) -> Iterator[tuple[str, dict[str, Plain]]]:
    """Yield periods with what is known of each, by node, in the form that is sent."""
    for start in range(0, len(periods), SOME):
        found: dict[str, dict[str, Plain]] = {period: {} for period in periods[start : start + SOME]}
        for row in tx.known(campaign.key, found):
            entry = {"version": row.version, "final": row.final, "cells": row.cells}
            found[row.period][own if row.node == OWN else row.node] = entry
        yield from found.items()


def portions(
    known: Iterable[tuple[str, Mapping[str, Plain]]], most: int
) -> Iterator[tuple[list[str], Map, str | None]]:
    """Yield periods in portions of at most ``most`` cells, with what is known of them; at least one portion.

    The last period of a portion comes with it; None for the last portion.
    """
    keys, part, size = list[str](), Map(), 0
    for period, entries in known:
        more = 1 + sum(1 + len(entry["cells"]) for entry in entries.values())
        if size and size + more > most:
            yield keys, part, keys[-1]
            keys, part, size = [], {}, 0
        for node, entry in entries.items():
            part.setdefault(node, {})[period] = entry
        keys.append(period)
        size += more
    yield keys, part, None


def learn(tx: Transaction, campaign: Campaign, own: str, sent: Any) -> int:
    """Store the entries that are newer than the known ones. Return how many there were.

    What others say about this node's own cells is ignored, because it knows them better.
    """
    rows = [row for row in _checked(campaign, sent) if row.node != own]
    tx.lock(campaign.key)
    versions = {(row.node, row.period): row.version for row in tx.known(campaign.key, {row.period for row in rows})}
    newer = [row for row in rows if row.version > versions.get((row.node, row.period), -1)]
    tx.put_known(campaign.key, newer)
    return len(newer)


def _checked(campaign: Campaign, sent: Any) -> list[KnownRow]:
    if not isinstance(sent, dict) or not all(isinstance(each, dict) for each in sent.values()):
        raise unfit("cells", "cells must be an object from nodes to periods to cells")
    rows = []
    for node, periods in sent.items():
        if not _NODE.fullmatch(node):
            raise unfit("cells", "a key is not a node's name")
        for key, entry in periods.items():
            if campaign.span(key) is None or not isinstance(entry, dict) or not isinstance(entry.get("final"), bool):
                raise unfit("cells", "a node's entry is not a period of the campaign with version, final and cells")
            version = check_whole(entry.get("version"), "version", 0, MOST_VERSION)
            cells = plain_cells(check_cells(entry.get("cells"), campaign))
            rows.append(KnownRow(node, key, version, entry["final"], cells))
    return rows


def open_periods(
    tx: Transaction, campaign: Campaign, now: int, settled: int | None, window: Window = EVER
) -> list[str]:
    """Return the periods that have begun and are not closed here, in order. All before ``settled`` are closed."""
    after, to = window.instants(campaign)
    since = max((each for each in (settled, after) if each is not None), default=None)
    begun = [span.key for span in campaign.spans(min(now + campaign.skew, to), since)]
    closed = tx.closed_keys(campaign.key, begun)
    return [key for key in begun if key not in closed]


def exchange(call: Call) -> Plain:
    """Store what a peer knows, and answer with what is known here of the periods that are open here or there."""
    body, service, tx = call.body(), call.service, call.tx
    if not service.node:
        raise forbidden("this service has no peers")
    offer, asked = body.get("offer"), body.get("open")
    if not isinstance(asked, list) or not all(isinstance(each, str) for each in asked):
        raise unfit("open", "open must be a list of periods")
    name = call.request.path["c"]
    if service.campaign(tx, name) is None and isinstance(offer, dict) and offer.get("campaign") == name:
        mirror(tx, offer, UNGIVEN, call.now)
    campaign = call.campaign()
    if campaign.consumer == UPSTREAM:
        raise not_found("campaign")
    window = Window(_key(campaign, body, "after"), _key(campaign, body, "to"))
    learn(tx, campaign, service.node, body.get("cells"))
    mine = open_periods(tx, campaign, call.now, service.settled.get(campaign.key), window)
    theirs = {each for each in asked if campaign.span(each) is not None and each in window}
    _, cells, told = next(portions(knowledge(tx, campaign, service.node, sorted({*mine, *theirs})), MOST_TOLD))
    return {"open": [each for each in mine if told is None or each <= told], "cells": cells, "to": told or window.to}


def _key(campaign: Campaign, body: Plain, field: str) -> str | None:
    found = body.get(field)
    return None if found is None else campaign.named_span(found, field).key


def drop(call: Call) -> Plain:
    """Stop waiting for a peer that is gone for good: its last cells of open periods become final."""
    campaign, node = call.campaign(), call.request.path["node"]
    mine = open_periods(call.tx, campaign, call.now, call.service.settled.get(campaign.key))
    rows = [row for row in call.tx.known(campaign.key, mine) if row.node == node]
    if not rows or node == OWN:
        raise not_found("node")
    call.tx.put_known(campaign.key, [row._replace(version=row.version + 1, final=True) for row in rows])
    return {"periods": [row.period for row in rows]}


def give(call: Call) -> Plain:
    """Let a consumer of this node read a campaign that came from a peer."""
    campaign, name = call.campaign(), check_text(call.body().get("consumer"), "consumer", 64)
    key = call.tx.consumer(name)
    if key is None:
        raise unfit("consumer", "consumer must be the id of one at this service")
    call.tx.lock(campaign.key)
    row = call.tx.campaign(campaign.key)
    if row is None or row.consumer not in (UNGIVEN, key):
        raise Refusal(409, "given", "this campaign has a consumer, or is a gateway's and can have none", "consumer")
    call.tx.set_consumer(campaign.key, key)
    return {"campaign": campaign.public, "consumer": name}


@dataclass
class Turn:
    """What is going on with one peer.

    ``task``   the conversation that is going on, or the last one
    ``slow``   how many conversations failed slowly in a row
    ``pause``  the peer is left alone until this moment of the monotonic clock
    """

    task: "asyncio.Task[bool] | None" = None
    slow: int = 0
    pause: float = 0.0


class Peers:
    """Speaks to each peer once per `round`, to all at the same time.

    ``peers``  the peers, each with the secret that it and this node share
    """

    def __init__(self, service: Service, writer: Writer, peers: Mapping[Peer, str]) -> None:
        self.service, self.writer, self.peers = service, writer, peers
        self._open: dict[tuple[str, int], list[str]] = {}
        """Periods that were open at a peer when it last answered, by the peer's address and the campaign's key."""
        self._turns = {peer.address: Turn() for peer in peers}

    async def round(self) -> int:
        """Store what changed here, then exchange with every peer. Return how many could be reached.

        A peer that does not answer for `PATIENCE` is not waited for. The next rounds leave it alone until its
        conversation has ended, and longer each time that it fails slowly.
        """
        for campaign in await run_in_threadpool(self.service.store.read, self._campaigns):
            found = await run_in_threadpool(self.service.store.read, partial(self._changed, campaign=campaign))
            for start in range(0, len(found), MANY):
                noted, now = found[start : start + MANY], self.service.clock()
                await self.writer.submit(partial(note_last, campaign=campaign, noted=noted, now=now))
        begun = []
        for peer in self.peers:
            turn = self._turns[peer.address]
            if (turn.task is None or turn.task.done()) and time.monotonic() >= turn.pause:
                turn.task = asyncio.create_task(self._speak(peer, turn))
                begun.append(turn.task)
        done = (await asyncio.wait(begun, timeout=PATIENCE))[0] if begun else set()
        return sum(task.result() for task in done)

    async def _speak(self, peer: Peer, turn: Turn) -> bool:
        """Exchange all campaigns with a peer. Return whether it could be reached."""
        began = time.monotonic()
        try:
            await self._meet(peer)
            for campaign in await run_in_threadpool(self.service.store.read, self._campaigns):
                await self._exchange(peer, campaign)
            turn.slow = 0
            return True
        except (HalfmaskError, HTTPException, Refusal, KeyError, TypeError, ValueError) as error:
            said = getattr(error, "said", getattr(error, "code", ""))
            extra = {"kind": type(error).__name__, "code": said, "peer": peer.address}
            log.warning("a peer could not be spoken to", extra=extra)
            took = time.monotonic() - began
            if took >= SLOW:
                turn.slow += 1
                turn.pause = time.monotonic() + min(LONGEST, took * 2**turn.slow)
            return False

    def _campaigns(self, tx: Transaction) -> list[Campaign]:
        """Return the campaigns that have recent or open periods, except those kept for an upstream service."""
        now = self.service.clock()
        found = [self.service.campaign_of(tx, row.key) for row in tx.campaigns() if row.consumer != UPSTREAM]
        settled = self.service.settled
        return [each for each in found if recent(each, now) or open_periods(tx, each, now, settled.get(each.key))]

    def _changed(self, tx: Transaction, campaign: Campaign) -> list[Noted]:
        heard = None if self.service.unsettled() else self.service.heard.get(campaign.key)
        settled = self.service.settled.get(campaign.key)
        return changed_cells(tx, campaign, self.service.clock(), heard, settled)

    async def _meet(self, peer: Peer) -> None:
        """Copy the peer's campaigns that are not here yet."""
        offers = await run_in_threadpool(peer.ask, "GET", "/v1/campaigns")
        read = self.service.store.read
        here = {row.public for row in await run_in_threadpool(read, Transaction.campaigns)}
        for offer in offers["campaigns"]:
            if str(offer["campaign"]) in here:
                continue
            now = self.service.clock()
            await self.writer.submit(partial(mirror, offer=offer, consumer=UNGIVEN, now=now))

    def _said(self, tx: Transaction, peer: Peer, campaign: Campaign) -> tuple[Plain, list[Part]]:
        """Return the offer, and in parts what is open here and what is known of periods that are open here or there."""
        there = self._open.get((peer.address, campaign.key), [])
        mine = set(open_periods(tx, campaign, self.service.clock(), self.service.settled.get(campaign.key)))
        known = knowledge(tx, campaign, self.service.node, sorted({*mine, *there}))
        after, said = None, list[Part]()
        for keys, cells, last in portions(known, MOST_CELLS):
            said.append(Part([key for key in keys if key in mine], cells, Window(after, last)))
            after = last
        return offer_of(tx, campaign), said

    async def _exchange(self, peer: Peer, campaign: Campaign) -> None:
        read = self.service.store.read
        offer, said = await run_in_threadpool(read, lambda tx: self._said(tx, peer, campaign))
        now, there = self.service.clock(), list[str]()
        path = f"/v1/campaigns/{campaign.public}/exchange"
        for part in said:
            rest: Part | None = part
            while rest is not None:
                answer = await run_in_threadpool(
                    peer.ask, "POST", path, self.peers[peer], {"offer": offer, **rest.body}
                )
                await self.writer.submit(partial(learn, campaign=campaign, own=self.service.node, sent=answer["cells"]))
                there += answer["open"]
                rest = rest.rest(answer.get("to"))
        self._open[peer.address, campaign.key] = there
        self.service.heard[campaign.key] = now


def background_task(secrets: Mapping[str, str], transport: Transport = BRIEF) -> BackgroundTask:
    """Return the background task that speaks to the peers, by address, as long as the service runs."""
    peers = {Peer(address, transport, tries=1): secret for address, secret in secrets.items()}
    return repeated(
        lambda service, writer: Peers(service, writer, peers).round,
        EVERY,
        "a round with the peers failed",
        spare=1,
    )
