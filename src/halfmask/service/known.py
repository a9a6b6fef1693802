"""What a node knows of shared campaigns: its own cells, each change under a higher version, and those of its peers.

Versions are instants, or one more than the last where the clock has not moved on: they grow across restarts, and even
where a database was put back from an older copy.
"""

from collections.abc import Iterable, Sequence

from halfmask.service.calendars import Span
from halfmask.service.campaign import Campaign
from halfmask.service.cells import Cells, count, merge, plain, read
from halfmask.service.instants import DAY, SECOND
from halfmask.service.storage.base import KnownRow, Transaction
from halfmask_device.instants import Instant

SETTLED = 10 * SECOND
OWN = ""
"""The name of a node's own cells in its own database."""
Noted = tuple[Span, Cells, bool]
"""A period, the node's own cells of it, and whether they are final."""


def own_cells(tx: Transaction, campaign: Campaign, span: Span) -> Cells:
    """The cells of the reports that came here, and of the gateways below."""
    reports = count(tx.reports(campaign.key, span.begins, span.ends))
    return merge([reports, *map(read, tx.node_cells(campaign.key, span.key))])


def others(tx: Transaction, campaign: Campaign, span: Span) -> list[Cells]:
    """The cells of the peers, as far as they are known here."""
    return [read(row.cells) for row in tx.known(campaign.key, [span.key]) if row.node != OWN]


def agreed(tx: Transaction, campaign: Campaign, span: Span) -> bool:
    """Whether everybody who has cells of a period, this node among them, has said its last."""
    if not campaign.peered:
        return True
    rows = tx.known(campaign.key, [span.key])
    return any(row.node == OWN for row in rows) and all(row.final for row in rows)


def recent(campaign: Campaign, now: Instant) -> list[Span]:
    """The periods that have begun, by the fastest clock, and whose deadline is not longer past than a day."""
    first = max(campaign.begins, now - campaign.grace - DAY)
    return list(campaign.calendar.spans(first, min(campaign.ends, now + campaign.skew + 1)))


def own_rows(tx: Transaction, campaign: Campaign, spans: Iterable[Span]) -> dict[str, KnownRow]:
    """The node's own cells as they were last noted, by period."""
    return {row.period: row for row in tx.known(campaign.key, [span.key for span in spans]) if row.node == OWN}


def shut(tx: Transaction, campaign: Campaign, spans: Iterable[Span]) -> set[str]:
    """Periods that take nothing more and give nothing back: closed, or told to the peers as this node's last."""
    keys = [span.key for span in spans]
    closed = tx.closed_keys(campaign.key, keys)
    if campaign.peered:
        closed |= {row.period for row in tx.known(campaign.key, keys) if row.node == OWN and row.final}
    return closed


def changed(
    tx: Transaction, campaign: Campaign, now: Instant, heard: Instant | None = None, settled: Instant | None = None
) -> list[Noted]:
    """Open periods whose cells are not as they were last noted; before ``settled`` none is open.

    They are final once a peer was ``heard`` a moment after the deadline: what was asked before it may be written within
    that moment, and who was away comes to know who else has cells. Without peers they are final when closed.
    """
    spans = campaign.spans(now + campaign.skew, settled) if campaign.peered else recent(campaign, now)
    closed = tx.closed_keys(campaign.key, [span.key for span in spans])
    noted = own_rows(tx, campaign, spans)
    found: list[Noted] = []
    for span in spans:
        row = noted.get(span.key)
        if span.key in closed or (row is not None and row.final):
            continue
        cells = own_cells(tx, campaign, span)
        final = heard is not None and heard >= campaign.deadline(span) + SETTLED
        if row is None or (read(row.cells), row.final) != (cells, final):
            found.append((span, cells, final))
    return found


def note(tx: Transaction, campaign: Campaign, noted: Sequence[Noted], now: Instant) -> None:
    """Keep the node's own cells, where they changed, under a version above all before."""
    tx.lock(campaign.key)
    before = own_rows(tx, campaign, [span for span, _, _ in noted])
    version = max(now, tx.newest(campaign.key, OWN) + 1)
    for span, cells, final in noted:
        row = KnownRow(OWN, span.key, version, final, plain(cells))
        old = before.get(span.key)
        if old is None or old._replace(version=version) != row:
            tx.put_known(campaign.key, row)


def note_last(tx: Transaction, campaign: Campaign, noted: Sequence[Noted], now: Instant) -> None:
    """`note` what was seen before; what is final is counted again, since nothing can be added to it afterwards."""
    tx.lock(campaign.key)
    again = [(span, own_cells(tx, campaign, span) if last else cells, last) for span, cells, last in noted]
    note(tx, campaign, again, now)
