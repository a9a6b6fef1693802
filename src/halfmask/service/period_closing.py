"""Closing periods, at their deadline or when the consumer asks, and showing open and closed periods to the consumer."""

from collections.abc import Iterator, Sequence

from halfmask.service.campaign import Campaign
from halfmask.service.cells import merge, plain_cells
from halfmask.service.merged_cells import FEW, MANY, agreed, empty, note, others, own_cells
from halfmask.service.period_calendar import Span
from halfmask.service.period_entry import period_entry, withheld_entry
from halfmask.service.refusal import Refusal, not_found, unfit
from halfmask.service.storage.period_rows import ClosedRow
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.instants import Instant


def close(tx: Transaction, campaign: Campaign, span: Span, now: Instant) -> Plain:
    """Close a period and return its entry. Return the stored entry if the period was closed before.

    Its reports and the nodes' last cells are added up once, and never again.
    """
    tx.lock(campaign.key)
    known = tx.closed(campaign.key, [span.key])
    if known:
        return known[span.key].entry
    own = own_cells(tx, campaign, span)
    if campaign.shared:
        note(tx, campaign, [(span, own, True)], now)
    cells = merge([own, *others(tx, campaign, span)])
    entry = period_entry(campaign, span.key, "closed", cells)
    tx.add_closed(campaign.key, [ClosedRow(span.key, span.begins, now, plain_cells(cells), entry)])
    tx.forget_live(campaign.key, span.key)
    tx.forget_node_cells(campaign.key, span.key)
    if not campaign.keeps:
        tx.remove_reports(campaign.key, span.begins, span.ends)
    return entry


def close_all(tx: Transaction, campaign: Campaign, spans: Sequence[Span], now: Instant) -> None:
    """Close periods in order. If nobody reported in any of them, all are written at once."""
    tx.lock(campaign.key)
    if not empty(tx, campaign, spans):
        for span in spans:
            close(tx, campaign, span, now)
        return
    closed = tx.closed_keys(campaign.key, [span.key for span in spans])
    new = [span for span in spans if span.key not in closed]
    if campaign.shared:
        note(tx, campaign, [(span, {}, True) for span in new], now)
    entries = [period_entry(campaign, span.key, "closed", {}) for span in new]
    rows = [ClosedRow(span.key, span.begins, now, {}, entry) for span, entry in zip(new, entries, strict=True)]
    tx.add_closed(campaign.key, rows)


def closing_groups(tx: Transaction, campaign: Campaign, spans: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """Yield the periods in groups to close together: few, so that reports need not wait, or many that are all empty."""
    for start in range(0, len(spans), MANY):
        yield from _halves(tx, campaign, spans[start : start + MANY])


def _halves(tx: Transaction, campaign: Campaign, spans: Sequence[Span]) -> Iterator[Sequence[Span]]:
    if len(spans) <= FEW or empty(tx, campaign, spans):
        yield spans
    else:
        half = len(spans) // 2
        yield from _halves(tx, campaign, spans[:half])
        yield from _halves(tx, campaign, spans[half:])


def close_on_request(tx: Transaction, campaign: Campaign, key: str, now: Instant) -> Plain:
    """Close a period that has ended, without waiting until its grace is over."""
    span = campaign.span(key)
    if span is None:
        raise not_found("period")
    if now < min(span.ends, campaign.ends):
        raise Refusal(409, "not_ended", "the period has not ended yet", "period")
    if campaign.peered and not tx.closed_keys(campaign.key, [key]):
        raise Refusal(409, "peers", "peers close their periods together, some time after the deadline", "period")
    return close(tx, campaign, span, now)


def due(tx: Transaction, campaign: Campaign, now: Instant, since: Instant | None) -> tuple[list[Span], Instant]:
    """Return the periods to close, oldest first, and the instant before which all periods are closed.

    These have passed their deadline and are not closed yet. Only periods that end after ``since`` are considered. Pass
    the returned instant as ``since`` the next time: a closed period stays closed. A period that peers keep too is left
    out until their cells are final.
    """
    past = [span for span in campaign.spans(now - campaign.grace, since) if now >= campaign.deadline(span)]
    closed = tx.closed_keys(campaign.key, [span.key for span in past])
    still = [span for span in past if span.key not in closed]
    settled = still[0].begins if still else past[-1].ends if past else since or campaign.begins
    return agreed(tx, campaign, still), settled


def chosen(campaign: Campaign, now: Instant, first: str | None, last: str | None) -> list[Span]:
    """Return the periods that have begun, from the one named ``first`` to the one named ``last``, both included."""
    begins, until = campaign.begins, now
    for field, key in (("from", first), ("to", last)):
        named = campaign.calendar.named(key) if key is not None else None
        if key is not None and named is None:
            raise unfit(field, f"'{field}' is not a period of this campaign: write it like the periods that are listed")
        if named is not None and field == "from":
            begins = named.begins
        elif named is not None:
            until = min(until, named.ends - 1)
    return campaign.spans(until, begins)


def periods(tx: Transaction, campaign: Campaign, spans: list[Span]) -> list[Plain]:
    """Return periods as the consumer sees them. Periods past their deadline must have been closed before."""
    closed = closed_of(tx, campaign, spans)
    snapshots = tx.snapshots(campaign.key) if campaign.live else {}
    entries = []
    for span in spans:
        if span.key in closed:
            entries.append(closed[span.key].entry)
        elif span.key in snapshots:
            entries.append(snapshots[span.key].entry)
        else:
            why = f"fewer than {campaign.least} producers" if campaign.live else "open"
            entries.append(withheld_entry(span.key, "open", why))
    return entries


def with_smoothed(tx: Transaction, campaign: Campaign, spans: Sequence[Span], entries: Sequence[Plain]) -> list[Plain]:
    """Return the entries with the best estimates of closed periods' sums as ``smoothed``.

    It is None for all other periods; of very many periods only the latest get an estimate.
    """
    from halfmask.service import smoothing  # a service starts without it

    calendar = campaign.calendar
    numbers = {span.key: calendar.number_of(span) for span in spans}
    shown = {entry["period"] for entry in entries if entry["state"] == "closed" and entry["sum"]}
    asked = smoothing.blocks(numbers[key] for key in shown)
    found = dict[int, Plain]()
    if asked:
        length = smoothing.LENGTHS[calendar.kind]
        origin = spans[0].begins - length * numbers[spans[0].key]
        first, last = asked[0].start - smoothing.MARGIN, asked[-1].stop + smoothing.MARGIN
        rows = tx.closed_between(campaign.key, origin + (first - 2) * length, origin + (last + 2) * length).values()
        placed = ((calendar.number_of(Span(row.period, row.begins, row.begins)), row.entry) for row in rows)
        near = {number: each for number, entry in placed if (each := smoothing.known(number, entry)) is not None}
        found = smoothing.best_sums(near, smoothing.SEASONS[calendar.kind], asked)
    return [
        entry | {"smoothed": found.get(numbers[entry["period"]]) if entry["period"] in shown else None}
        for entry in entries
    ]


def closed_of(tx: Transaction, campaign: Campaign, spans: list[Span]) -> dict[str, ClosedRow]:
    """Return the closed periods from the first to the last of these, including any that are not among them."""
    if not spans:
        return {}
    begins = [span.begins for span in spans]
    return tx.closed_between(campaign.key, min(begins), max(begins))
