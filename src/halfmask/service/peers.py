"""Peers: nodes without a centre that tell each other what they know, and come to the same exact total.

Per campaign a node knows a map from node and period to (version, cells); the higher version stays, and the total adds
over nodes. So it does not matter which way, how often and in which order anything comes. A period closes at a node
when its deadline has passed and everybody who has cells of it has said its last: then all close with the same total. A
node that is cut off keeps the period open until it hears of the others again.
"""

import logging
import re
from collections.abc import Iterable, Sequence
from functools import partial
from http.client import HTTPException
from typing import Any

from starlette.concurrency import run_in_threadpool

from halfmask.errors import HalfmaskError, OptionError
from halfmask.service.beside import Beside, repeated
from halfmask.service.call import Call
from halfmask.service.campaign import Campaign, check_text, check_whole
from halfmask.service.cells import check_cells, plain
from halfmask.service.known import OWN, Noted, changed, note_last, recent
from halfmask.service.mirror import mirror
from halfmask.service.offers import MOST_VERSION, offer_of
from halfmask.service.refusal import Refusal, forbidden, not_found, unfit
from halfmask.service.service import Service
from halfmask.service.storage.base import (
    UNGIVEN,
    UPSTREAM,
    KnownRow,
    Plain,
    Transaction,
)
from halfmask.service.tokens import digest, new_name
from halfmask.service.writer import Writer
from halfmask_device.transport import ServiceClient as Peer
from halfmask_device.transport import Transport, urllib_transport

log = logging.getLogger("halfmask.service")
EVERY = 2.0
"""Seconds between two rounds: in one a node speaks to each of its peers once."""
LEAST_SECRET = 32
PEER = 0
MOST_CELLS = 2000
"""Cells in one message, so that it stays below the largest body."""
_NODE = re.compile(r"[0-9a-f]{16}", re.ASCII)
Map = dict[str, dict[str, Plain]]
"""Node to period to version, final and cells."""


def prepare(service: Service, secret: str) -> None:
    """Give the database a name among its peers, once, and let in who knows their secret."""
    if len(secret) < LEAST_SECRET:
        raise OptionError(f"the peers' token is short: take {LEAST_SECRET} random characters or more, the same at all")
    hashed = digest(secret)
    with service.store.transaction() as tx:
        now = service.clock()
        if tx.fact("node") is None:
            tx.put_fact("node", new_name())
        service.node = tx.fact("node") or ""
        known = tx.identities([hashed]).get(hashed)
        if known is None:
            tx.revoke_tokens("peer", PEER, now)
            tx.add_token(hashed, "peer", PEER, now, None)
        elif known.role != "peer" or known.revoked is not None:
            raise OptionError("the peers' token was used before and is no longer valid: take a new one")


def knowledge(tx: Transaction, campaign: Campaign, own: str, periods: Iterable[str]) -> Map:
    """What is known of some periods, as it is sent."""
    found: Map = {}
    for row in tx.known(campaign.key, periods):
        entry = {"version": row.version, "final": row.final, "cells": row.cells}
        found.setdefault(own if row.node == OWN else row.node, {})[row.period] = entry
    return found


def learn(tx: Transaction, campaign: Campaign, own: str, sent: Any) -> int:
    """Keep what is newer than what was known; how much that was. What others say of this node it knows better."""
    rows = [row for row in _checked(campaign, sent) if row.node != own]
    tx.lock(campaign.key)
    versions = {(row.node, row.period): row.version for row in tx.known(campaign.key, {row.period for row in rows})}
    newer = [row for row in rows if row.version > versions.get((row.node, row.period), -1)]
    for row in newer:
        tx.put_known(campaign.key, row)
    return len(newer)


def _checked(campaign: Campaign, sent: Any) -> list[KnownRow]:
    if not isinstance(sent, dict) or not all(isinstance(each, dict) for each in sent.values()):
        raise unfit("cells", "cells must be an object from nodes to periods to cells")
    rows = []
    for node, periods in sent.items():
        if not _NODE.fullmatch(node):
            raise unfit("cells", "a key is no node's name")
        for key, entry in periods.items():
            if campaign.span(key) is None or not isinstance(entry, dict) or not isinstance(entry.get("final"), bool):
                raise unfit("cells", "a node's entry is no period of the campaign with version, final and cells")
            version = check_whole(entry.get("version"), "version", 0, MOST_VERSION)
            cells = plain(check_cells(entry.get("cells"), campaign))
            rows.append(KnownRow(node, key, version, entry["final"], cells))
    return rows


def open_periods(tx: Transaction, campaign: Campaign, now: int, settled: int | None) -> list[str]:
    """Periods that have begun and are not closed here; before ``settled`` all are."""
    begun = [span.key for span in campaign.spans(now + campaign.skew, settled)]
    closed = tx.closed_keys(campaign.key, begun)
    return [key for key in begun if key not in closed]


def exchange(call: Call) -> Plain:
    """A peer says what it knows and which periods are open there, and hears the same from here."""
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
    learn(tx, campaign, service.node, body.get("cells"))
    mine = open_periods(tx, campaign, call.now, service.settled.get(campaign.key))
    theirs = {each for each in asked if campaign.span(each) is not None}
    return {"open": mine, "cells": knowledge(tx, campaign, service.node, {*mine, *theirs})}


def drop(call: Call) -> Plain:
    """Wait no longer for a peer that is gone for good: what it last said of open periods is its last."""
    campaign, node = call.campaign(), call.request.path["node"]
    mine = open_periods(call.tx, campaign, call.now, call.service.settled.get(campaign.key))
    rows = [row for row in call.tx.known(campaign.key, mine) if row.node == node]
    if not rows or node == OWN:
        raise not_found("node")
    for row in rows:
        call.tx.put_known(campaign.key, row._replace(version=row.version + 1, final=True))
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


class Peers:
    """Speaks to each peer once a `round`."""

    def __init__(self, service: Service, writer: Writer, peers: Sequence[Peer], token: str) -> None:
        self.service, self.writer, self.peers, self.token = service, writer, peers, token
        self._open: dict[tuple[str, int], list[str]] = {}
        """What was last known to be open at a peer."""

    async def round(self) -> int:
        """Note what changed here, then exchange with every peer; how many could be reached."""
        for campaign in await run_in_threadpool(self._campaigns):
            found = await run_in_threadpool(self._changed, campaign)
            if found:
                now = self.service.clock()
                await self.writer.submit(partial(note_last, campaign=campaign, noted=found, now=now))
        reached = 0
        for peer in self.peers:
            try:
                await self._meet(peer)
                for campaign in await run_in_threadpool(self._campaigns):
                    await self._exchange(peer, campaign)
                reached += 1
            except (HalfmaskError, HTTPException, Refusal, KeyError, TypeError, ValueError) as error:
                said = getattr(error, "said", getattr(error, "code", ""))
                extra = {"kind": type(error).__name__, "code": said, "peer": peer.address}
                log.warning("a peer could not be spoken to", extra=extra)
        return reached

    def _campaigns(self) -> list[Campaign]:
        """Campaigns that have periods to speak of."""
        now = self.service.clock()
        with self.service.store.reading() as tx:
            found = [self.service.campaign_of(tx, row.key) for row in tx.campaigns() if row.consumer != UPSTREAM]
            settled = self.service.settled
            return [each for each in found if recent(each, now) or open_periods(tx, each, now, settled.get(each.key))]

    def _changed(self, campaign: Campaign) -> list[Noted]:
        with self.service.store.reading() as tx:
            heard, settled = self.service.heard.get(campaign.key), self.service.settled.get(campaign.key)
            return changed(tx, campaign, self.service.clock(), heard, settled)

    async def _meet(self, peer: Peer) -> None:
        """Keep the peer's campaigns that are not here; gateways' campaigns are their upstream's, not the peer's."""
        offers = await run_in_threadpool(peer.ask, "GET", "/v1/campaigns")
        with self.service.store.reading() as tx:
            new = [each for each in offers["campaigns"] if tx.campaign(str(each["campaign"])) is None]
        for offer in new:
            now = self.service.clock()
            await self.writer.submit(partial(mirror, offer=offer, consumer=UNGIVEN, now=now))

    def _said(self, peer: Peer, campaign: Campaign) -> tuple[Plain, list[str], list[Map]]:
        """The offer, what is open here, and what is known of what is open here or there, in parts."""
        there = self._open.get((peer.address, campaign.key), [])
        with self.service.store.reading() as tx:
            mine = open_periods(tx, campaign, self.service.clock(), self.service.settled.get(campaign.key))
            whole = knowledge(tx, campaign, self.service.node, {*mine, *there})
            return offer_of(tx, campaign), mine, list(_parts(whole))

    async def _exchange(self, peer: Peer, campaign: Campaign) -> None:
        offer, mine, parts = await run_in_threadpool(self._said, peer, campaign)
        now = self.service.clock()
        for part in parts:
            body = {"offer": offer, "open": mine, "cells": part}
            path = f"/v1/campaigns/{campaign.public}/exchange"
            answer = await run_in_threadpool(peer.ask, "POST", path, self.token, body)
            told = partial(learn, campaign=campaign, own=self.service.node, sent=answer["cells"])
            await self.writer.submit(told)
            self._open[peer.address, campaign.key] = list(answer["open"])
        self.service.heard[campaign.key] = now


def _parts(whole: Map) -> Iterable[Map]:
    """A map in maps of a bounded number of cells, at least one."""
    part: Map = {}
    size = 0
    for node, periods in whole.items():
        for period, entry in periods.items():
            if size and size + len(entry["cells"]) > MOST_CELLS:
                yield part
                part, size = {}, 0
            part.setdefault(node, {})[period] = entry
            size += 1 + len(entry["cells"])
    yield part


def beside(addresses: Sequence[str], token: str, transport: Transport = urllib_transport) -> Beside:
    """A task that speaks to the peers as long as the service runs."""
    peers = [Peer(address, transport, tries=1) for address in addresses]
    return repeated(
        lambda service, writer: Peers(service, writer, peers, token).round, EVERY, "a round with the peers failed"
    )
