"""Periods out: closed for good at their deadline or when the consumer asks; what is shown of them, and when."""

from halfmask.service.calendars import Span
from halfmask.service.campaign import Campaign
from halfmask.service.cells import merge, plain
from halfmask.service.estimates import period_entry, withheld_entry
from halfmask.service.instants import Instant
from halfmask.service.known import agreed, note, others, own_cells
from halfmask.service.refusal import Refusal, not_found, unfit
from halfmask.service.storage.base import ClosedRow, Plain, Transaction


def close(tx: Transaction, campaign: Campaign, span: Span, now: Instant) -> Plain:
    """The closed period: its reports and the nodes' last cells are added up once, and never again."""
    tx.lock(campaign.key)
    known = tx.closed(campaign.key, [span.key])
    if known:
        return known[span.key].entry
    own = own_cells(tx, campaign, span)
    if campaign.shared:
        note(tx, campaign, [(span, own, True)], now)
    cells = merge([own, *others(tx, campaign, span)])
    entry = period_entry(campaign, span.key, "closed", cells)
    tx.add_closed(campaign.key, ClosedRow(span.key, span.begins, now, plain(cells), entry))
    tx.forget_live(campaign.key, span.key)
    tx.forget_node_cells(campaign.key, span.key)
    if not campaign.keeps:
        tx.remove_reports(campaign.key, span.begins, span.ends)
    tx.add_event(campaign.key, span.key)
    return entry


def close_on_request(tx: Transaction, campaign: Campaign, key: str, now: Instant) -> Plain:
    """Close a period that has ended, before its grace is over."""
    span = campaign.span(key)
    if span is None:
        raise not_found("period")
    if now < min(span.ends, campaign.ends):
        raise Refusal(409, "not_ended", "the period has not ended yet", "period")
    if campaign.peered and not tx.closed_keys(campaign.key, [key]):
        raise Refusal(409, "peers", "peers close their periods together, some time after the deadline", "period")
    return close(tx, campaign, span, now)


def due(tx: Transaction, campaign: Campaign, now: Instant) -> list[Span]:
    """Periods whose deadline has passed and that are not closed yet, oldest first."""
    past = campaign.spans(now - campaign.grace)
    closed = tx.closed_keys(campaign.key)
    ended = [span for span in past if now >= campaign.deadline(span) and span.key not in closed]
    return [span for span in ended if agreed(tx, campaign, span)]


def chosen(campaign: Campaign, now: Instant, first: str | None, last: str | None) -> list[Span]:
    """The periods that have begun, from ``first`` to ``last``, both included."""
    spans = campaign.spans(now)
    for field, key in (("from", first), ("to", last)):
        named = campaign.calendar.named(key) if key is not None else None
        if key is not None and named is None:
            raise unfit(field, f"'{field}' is no period of this campaign: write it like the periods that are listed")
        if named is not None:
            spans = [
                span for span in spans if (span.begins >= named.begins if field == "from" else span.ends <= named.ends)
            ]
    return spans


def periods(tx: Transaction, campaign: Campaign, spans: list[Span]) -> list[Plain]:
    """Periods as the consumer sees them; what is due has been closed before."""
    closed = tx.closed(campaign.key)
    looks = tx.looks(campaign.key) if campaign.live else {}
    entries = []
    for span in spans:
        if span.key in closed:
            entries.append(closed[span.key].entry)
        elif span.key in looks:
            entries.append(looks[span.key].entry)
        else:
            why = f"fewer than {campaign.least} producers" if campaign.live else "open"
            entries.append(withheld_entry(span.key, "open", why))
    return entries
