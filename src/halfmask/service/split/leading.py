"""The leader's side: a campaign's keys and terms, its tickets, and what it publishes about its helper."""

import base64
import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

from halfmask.service.campaign import Campaign
from halfmask.service.refusal import unfit
from halfmask.service.request import Call
from halfmask.service.split.split_campaign import check_limits, led_campaign
from halfmask.service.split.split_options import not_ready
from halfmask.service.split.tickets import Ticket, issue_ticket, pseudonym
from halfmask.service.storage.identity_rows import ProducerRow
from halfmask.service.storage.split_rows import ClosingRow, LedSplit
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import Instant
from halfmask_device.prio3.turboshake import SEED_BYTES
from halfmask_device.protocol import CampaignTerms
from halfmask_device.split_terms import SplitTerms


def check_split_offer(call: Call, sent: Mapping[str, Any], terms: Mapping[str, Any]) -> None:
    """Refuse a split setting that this service cannot lead."""
    if terms["split"] is None:
        return
    if call.service.node:
        raise unfit("split", "a service with peers takes no campaign with a split setting")
    call.service.split.check(terms["split"])
    token = sent["split"].get("token")
    if not isinstance(token, str) or not 0 < len(token) <= 512 or not token.isascii() or not token.isprintable():
        raise unfit("split.token", "split.token must be a consumer's token of the helper")


def lead(call: Call, campaign: int, public: str, terms: Mapping[str, Any], token: str) -> None:
    """Make and store the keys and terms of a new campaign. The helper is asked once this is on disk."""
    helper, key = terms["split"]["helper"], os.urandom(SEED_BYTES)
    hashed = hashlib.sha256(key).hexdigest()
    text = SplitTerms.of(CampaignTerms.read(terms), call.service.split.public_url, public, helper, hashed).text()
    keys = key.hex(), os.urandom(SEED_BYTES).hex(), os.urandom(SEED_BYTES).hex()
    row = LedSplit(campaign, helper, token, *keys, text, "", "")
    check_limits(led_campaign(row), "menu")
    call.tx.add_led(row)


def public_split(tx: Transaction, campaign: Campaign) -> Plain:
    """Return what an offer says of its helper, empty for a campaign without a split setting."""
    row = tx.led(campaign.key) if campaign.split_id else None
    if row is None:
        return {}
    held = {"campaign": row.held or None, "terms": row.terms if row.held else None, "refused": row.refused or None}
    return {"split": {**campaign.terms["split"], **held}}


def ready(tx: Transaction, campaign: Campaign) -> LedSplit | None:
    """Return the campaign's split, None if it has none. Refuse as long as the helper has not answered."""
    row = tx.led(campaign.key) if campaign.split_id else None
    if row is not None and not row.held:
        raise not_ready()
    return row


def ticket(tx: Transaction, campaign: Campaign, producer: ProducerRow) -> Plain:
    """Return the producer's ticket for the helper if its setting is the split one, else nothing."""
    row = tx.led(campaign.key) if campaign.split_id and producer.setting == campaign.split_id else None
    if row is None or not row.held:
        return {}
    return {"ticket": ticket_for(row, pseudonym(bytes.fromhex(row.pseudonym_key), producer.public))}


def ticket_for(row: LedSplit, name: str) -> str:
    """Return the ticket of a producer, by its name at the helper."""
    return issue_ticket(Ticket(row.held, name, led_campaign(row).expires), bytes.fromhex(row.ticket_key))


def withdraw_split(tx: Transaction, campaign: Campaign, producer: ProducerRow, times: Sequence[Instant]) -> int:
    """Delete the split reports of a producer that leaves, of the periods that begin at these times. Return how many.

    The helper is asked to do the same, because whoever leaves by a page has no ticket.
    """
    row = tx.led(campaign.key) if campaign.split_id else None
    if row is None:
        return 0
    tx.add_leaver(campaign.key, pseudonym(bytes.fromhex(row.pseudonym_key), producer.public))
    return tx.withdraw_shares(led_campaign(row).holding, str(producer.key), times)


def start_closing(tx: Transaction, campaign: Campaign, spans: Sequence[Span], now: Instant) -> list[Span]:
    """Let the periods that have split reports wait for the helper's sum. Return the others, to be closed at once."""
    led = tx.led(campaign.key) if campaign.split_id else None
    if led is None:
        return list(spans)
    begun = {row.period for row in tx.closing(campaign.key)}
    waiting = tx.split_times(led_campaign(led).holding, [span.begins for span in spans])
    for span in spans:
        if span.begins in waiting and span.key not in begun:
            tx.put_closing(ClosingRow(campaign.key, span.key, span.begins, now, 0))
    return [span for span in spans if span.begins not in waiting]


def first_message(row: LedSplit) -> Plain:
    """Return the request by which the helper learns of a campaign."""
    terms = led_campaign(row).terms
    keys = {"verify_key": row.verify_key, "ticket_key": row.ticket_key}
    sent = {name: base64.b64encode(bytes.fromhex(key)).decode() for name, key in keys.items()}
    return {"leader": terms.leader, "campaign": terms.campaign, "terms": row.terms, **sent}
