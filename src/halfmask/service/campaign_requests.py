"""Requests about campaigns: consumers offer, list, pay, read and close; nodes send their cells."""

import re
from collections.abc import Mapping
from math import ceil
from typing import Any

from halfmask.service.campaign import Campaign, check_campaign, check_rewards, check_whole
from halfmask.service.campaign_periods import chosen, closed_of, periods, shut, with_smoothed
from halfmask.service.cells import check_cells, plain_cells
from halfmask.service.closing import close_on_request
from halfmask.service.estimates import parse_question
from halfmask.service.refusal import Refusal, forbidden, not_found, unfit
from halfmask.service.report_decisions import book_reversal
from halfmask.service.request import Call, Request, new_name, parse_json
from halfmask.service.split.leading import check_split_offer, lead, public_split
from halfmask.service.storage.campaign_rows import UPSTREAM, EntryRow
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import instant_text
from halfmask_device.setting import TOTAL

ALWAYS = -(2**62)
"""The instant from which a campaign's first rewards apply."""
MOST_VERSION = 2**63 - 1
MOST_ENTRIES = 10_000
"""Entries of a ledger in one answer, unless another limit is asked for."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,32}", re.ASCII)
_BESIDE = ("campaign", "later_rewards")
"""Fields of an offer that are not terms."""


def read_campaign(request: Request) -> dict[str, Any]:
    """Return the checked terms of the campaign that was sent. The laws of its noise are computed once and cached."""
    return check_campaign(parse_json(request.raw))


def add_campaign(call: Call) -> Plain:
    terms = read_campaign(call.request)
    call.service.floors.check(terms)
    sent = call.body()
    check_split_offer(call, sent, terms)
    public = new_name()
    key = call.tx.add_campaign(public, call.subject, terms, call.now)
    call.tx.put_schedule(key, ALWAYS, terms["rewards"])
    if terms["split"] is not None:
        lead(call, key, public, terms, sent["split"]["token"])
    warnings = warnings_about(terms)
    return {"campaign": public} | ({"warnings": warnings} if warnings else {})


def warnings_about(terms: Mapping[str, Any]) -> list[str]:
    """Return what a consumer should know about a campaign that is taken: what one producer could take of the budget."""
    most = max(terms["rewards"].values(), default=0)
    if not most or terms["every_minutes"] is not None or terms["most_per_period"] is not None:
        return []
    if terms["release"] == TOTAL:
        taken = f"one producer could take {most} of each period, for its one report"
    else:
        taken = "one producer could take the whole budget, because reports of any number of times are paid"
    return [f"{taken}; every_minutes or most_per_period limits it"]


def mirror(tx: Transaction, offer: Mapping[str, Any], consumer: int, now: int, sooner: int = 0) -> int:
    """Return the key of a copy of another node's campaign, with the same id and terms. Make it if it does not exist.

    ``sooner``  minutes that are taken off its grace

    Nothing is earned here, because a budget that two nodes spend could be spent twice.
    """
    public = offer.get("campaign")
    if not isinstance(public, str) or not _ID.fullmatch(public):
        raise unfit("campaign", "the campaign's id is not valid")
    found = tx.campaign(public)
    if found is not None:
        if (found.consumer == UPSTREAM) != (consumer == UPSTREAM):
            raise Refusal(409, "own_campaign", "the campaign is in this database in another way: take a new one")
        return found.key
    if offer.get("split") is not None:
        raise unfit(
            "split", "a campaign with a split setting has no gateways and peers: devices reach both its services"
        )
    plain = {name: value for name, value in offer.items() if name not in _BESIDE}
    grace = check_whole(plain.get("grace_minutes"), "grace_minutes", 0, 10**6) - sooner
    terms = check_campaign(plain | {"rewards": {}, "budget": 0, "grace_minutes": max(grace, 0)})
    key = tx.add_campaign(public, consumer, terms, now)
    tx.put_schedule(key, ALWAYS, {})
    return key


def health(call: Call) -> Plain:
    """Answer if the store does."""
    call.tx.campaign(0)
    return {"status": "ok"}


def list_campaigns(call: Call) -> Plain:
    found = (call.service.campaign(call.tx, row.key) for row in call.tx.campaigns())
    return {"campaigns": [offer_of(call.tx, each) for each in found if each]}


def show_campaign(call: Call) -> Plain:
    return offer_of(call.tx, call.campaign())


def offer_of(tx: Transaction, campaign: Campaign) -> Plain:
    """Return the offer as it was made, and the rewards of later periods. It says nothing about producers."""
    later = [
        {"from": campaign.calendar.span_of(begins).key, "rewards": rewards}
        for begins, rewards in tx.schedule(campaign.key)
        if begins != ALWAYS
    ]
    return {"campaign": campaign.public, **campaign.terms, "later_rewards": later, **public_split(tx, campaign)}


def put_rewards(call: Call) -> Plain:
    """Set other rewards from a period on that has not begun."""
    campaign, body = call.own_campaign(), call.body()
    rewards = check_rewards(body.get("rewards"), set(campaign.noises))
    span = campaign.named_span(body.get("from"), "from")
    call.tx.lock(campaign.key)
    if max(span.begins, campaign.begins) <= call.now:
        raise Refusal(409, "begun", "rewards change only for periods that have not begun", "from")
    call.tx.put_schedule(campaign.key, span.begins, rewards)
    return offer_of(call.tx, campaign)


def list_periods(call: Call) -> Plain:
    """List the periods that have begun. Those past their deadline were closed before (see `Service.due`)."""
    campaign = call.own_campaign()
    query = call.request.query
    question, group = parse_question(query), query.get("group") or None
    if group is not None and group not in campaign.groups:
        raise unfit("group", "group must be one of the campaign's groups")
    spans, after = _page(chosen(campaign, call.now, query.get("from") or None, query.get("to") or None), query)
    entries = with_smoothed(call.tx, campaign, spans, periods(call.tx, campaign, spans), group)
    if question is not None:
        cells = closed_of(call.tx, campaign, spans)
        entries = [question.answer(campaign, entry, cells.get(entry["period"])) for entry in entries]
    return {"periods": entries} | after


def _page(spans: list[Span], query: Mapping[str, str]) -> tuple[list[Span], Plain]:
    """Return the first ``limit`` periods and the name of the next one. Without a limit return all, and no name."""
    most = _limit(query)
    if most is None:
        return spans, {}
    return spans[:most], {"next": spans[most].key if len(spans) > most else None}


def _limit(query: Mapping[str, str]) -> int | None:
    text = query.get("limit") or None
    if text is not None and not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) > 0):
        raise unfit("limit", "limit must be a whole number above 0")
    return int(text) if text else None


def close_period(call: Call) -> Plain:
    seconds = call.service.unsettled()
    if seconds:
        message = f"the service's clock has not run steadily for long enough: ask again in {ceil(seconds)} seconds"
        raise Refusal(503, "clock", message, after=seconds)
    return {"period": close_on_request(call.tx, call.own_campaign(), call.request.path["p"], call.now).key}


def show_closed(call: Call) -> Plain:
    """Return the period that was closed."""
    campaign = call.own_campaign()
    spans = [campaign.named_span(call.request.path["p"], "period")]
    (entry,) = periods(call.tx, campaign, spans)
    return entry


def ledger(call: Call) -> Plain:
    """List the entries of published periods, without producers, times or settings; all others are one sum."""
    campaign = call.own_campaign()
    after, most = _after(call, campaign.key), _limit(call.request.query)
    rows = call.tx.shown_entries(campaign.key, after, most or MOST_ENTRIES)
    entries = [{"entry": row.public, "amount": row.amount, **_reverses(row)} for row in rows]
    return {"entries": entries, "expected": call.tx.hidden_spending(campaign.key), **_next(rows, most)}


def my_ledger(call: Call) -> Plain:
    after, most = _after(call, call.who.campaign or 0 if call.who else 0), _limit(call.request.query)
    rows = call.tx.entries_of(call.subject, after, most or MOST_ENTRIES)
    closed = call.tx.closed_keys(rows[0].campaign, {row.period for row in rows}) if rows else set()
    return {"entries": [_entry(row, earned=row.period in closed) for row in rows], **_next(rows, most)}


def _entry(row: EntryRow, *, earned: bool) -> Plain:
    state, booked = "earned" if earned else "expected", instant_text(row.booked)
    shown = {"entry": row.public, "amount": row.amount, "period": row.period, "state": state, "booked": booked}
    return shown | _reverses(row)


def _after(call: Call, campaign: int) -> str | None:
    """Return the name of the entry after which a page begins."""
    after = call.request.query.get("after") or None
    if after is not None and (not _ID.fullmatch(after) or call.tx.entry(campaign, after) is None):
        raise unfit("after", "after must be an entry of this ledger")
    return after


def _next(rows: list[EntryRow], most: int | None) -> Plain:
    return {"next": rows[-1].public if len(rows) == (most or MOST_ENTRIES) else None}


def _reverses(row: EntryRow) -> Plain:
    return {"reverses": row.reverses} if row.reverses else {}


def reverse(call: Call) -> Plain:
    """Take back an entry by a new one. This is for the operator, whom both sides can ask."""
    campaign = call.campaign()
    entry = call.tx.entry(campaign.key, call.request.path["entry"])
    if entry is None:
        raise not_found("entry")
    row = book_reversal(call.tx, entry, call.now)
    return {"entry": row.public, "amount": row.amount, "reverses": row.reverses}


def put_cells(call: Call) -> Plain:
    """Store a node's whole state of some periods, if its version is above the stored one and the period is open."""
    campaign = call.own_campaign()
    node = call.tx.node(campaign.key, call.request.path["node"])
    if node is None:
        raise not_found("node")
    if node != call.subject:
        raise forbidden("a node sends its own cells alone")
    body = call.body()
    version = check_whole(body.get("version"), "version", 0, MOST_VERSION)
    sent = body.get("periods")
    if not isinstance(sent, dict):
        raise unfit("periods", "periods must be an object from periods to cells")
    checked = [(campaign.named_span(key, "periods"), check_cells(value, campaign)) for key, value in sent.items()]
    call.tx.lock(campaign.key)
    done: dict[str, Any] = {}
    for span, cells in checked:
        stored = call.tx.node_version(node, span.key)
        if shut(call.tx, campaign, [span]) or call.now >= campaign.deadline(span):
            done[span.key] = "closed"
        elif stored is not None and version <= stored:
            done[span.key] = "not_newer"
        else:
            call.tx.put_node_cells(campaign.key, node, span.key, version, plain_cells(cells))
            done[span.key] = "stored"
    return {"periods": done}
