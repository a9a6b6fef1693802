"""What a node knows of shared campaigns: its own cells and those of its peers, each with a version.

Each change of a node's own cells gets a higher version: the current instant, or one more than the last version if the
clock has not advanced. So versions grow across restarts, and even after a database was restored from an older copy.
"""

from collections.abc import Iterable, Iterator, Sequence

from halfmask.service.campaign import Campaign
from halfmask.service.cells import Cells, count_reports, merge, plain_cells, read
from halfmask.service.clock import DAY, SECOND
from halfmask.service.period_calendar import Span
from halfmask.service.storage.node_cell_rows import KnownRow
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.instants import Instant

SETTLED = 10 * SECOND
OWN = ""
"""The name under which a node's own cells are in its own database."""
FEW, MANY = 50, 2000
"""Most periods that one transaction writes: FEW with reports, MANY if nobody reported in any of them."""
Noted = tuple[Span, Cells, bool]
"""A period, the node's own cells of it, and whether they are final."""


def own_cells(tx: Transaction, campaign: Campaign, span: Span) -> Cells:
    """Return the cells of the reports that came here and of the gateways below."""
    reports = count_reports(tx.reports(campaign.key, span.begins, span.ends))
    return merge([reports, *map(read, tx.node_cells(campaign.key, span.key))])


def empty(tx: Transaction, campaign: Campaign, spans: Sequence[Span]) -> bool:
    """Return whether the periods, which are in order, have neither reports, nor cells of any node, nor snapshots."""
    if tx.any_report(campaign.key, spans[0].begins, spans[-1].ends):
        return False
    return not tx.any_cells(campaign.key, [span.key for span in spans])


def all_own_cells(tx: Transaction, campaign: Campaign, spans: Sequence[Span]) -> Iterator[Cells]:
    """Yield `own_cells` of periods in order. They are halved repeatedly, so that runs without a report cost little."""
    if len(spans) > 2 and empty(tx, campaign, spans):
        yield from ({} for _ in spans)
    elif len(spans) > 2:
        half = len(spans) // 2
        yield from all_own_cells(tx, campaign, spans[:half])
        yield from all_own_cells(tx, campaign, spans[half:])
    else:
        yield from (own_cells(tx, campaign, span) for span in spans)


def others(tx: Transaction, campaign: Campaign, span: Span) -> list[Cells]:
    """Return the peers' cells of a period that are known here."""
    return [read(row.cells) for row in tx.known(campaign.key, [span.key]) if row.node != OWN]


def agreed(tx: Transaction, campaign: Campaign, spans: Sequence[Span]) -> list[Span]:
    """Return the periods whose cells are final here and at all nodes that have cells; without peers, all periods."""
    if not campaign.peered:
        return list(spans)
    rows = tx.known(campaign.key, [span.key for span in spans])
    own, waiting = {row.period for row in rows if row.node == OWN}, {row.period for row in rows if not row.final}
    return [span for span in spans if span.key in own and span.key not in waiting]


def recent(campaign: Campaign, now: Instant) -> list[Span]:
    """Return the periods that have begun, by the fastest clock allowed, and whose deadline passed at most a day ago."""
    first = max(campaign.begins, now - campaign.grace - DAY)
    return list(campaign.calendar.spans(first, min(campaign.ends, now + campaign.skew + 1)))


def own_rows(tx: Transaction, campaign: Campaign, spans: Iterable[Span]) -> dict[str, KnownRow]:
    """Return the node's own cells, by period, as they were last stored."""
    return {row.period: row for row in tx.known(campaign.key, [span.key for span in spans]) if row.node == OWN}


def shut(tx: Transaction, campaign: Campaign, spans: Iterable[Span]) -> set[str]:
    """Return the periods that take no more reports and withdrawals: closed, or sent to the peers as final."""
    keys = [span.key for span in spans]
    closed = tx.closed_keys(campaign.key, keys)
    if campaign.peered:
        closed |= {row.period for row in tx.known(campaign.key, keys) if row.node == OWN and row.final}
    return closed


def changed_cells(
    tx: Transaction, campaign: Campaign, now: Instant, heard: Instant | None = None, settled: Instant | None = None
) -> list[Noted]:
    """Return the open periods whose cells differ from those last stored. All periods before ``settled`` are closed.

    With peers, cells are final once a peer was ``heard`` at least `SETTLED` after the deadline. Requests from before
    the deadline may be written within that time, and a node that was away learns which others have cells. Without
    peers, cells are final when the period closes.
    """
    spans = campaign.spans(now + campaign.skew, settled) if campaign.peered else recent(campaign, now)
    closed = tx.closed_keys(campaign.key, [span.key for span in spans])
    noted = own_rows(tx, campaign, spans)
    said = {period for period, row in noted.items() if row.final}
    still = [span for span in spans if span.key not in closed and span.key not in said]
    found: list[Noted] = []
    for span, cells in zip(still, all_own_cells(tx, campaign, still), strict=True):
        row = noted.get(span.key)
        final = heard is not None and heard >= campaign.deadline(span) + SETTLED
        if row is None or (read(row.cells), row.final) != (cells, final):
            found.append((span, cells, final))
    return found


def note(tx: Transaction, campaign: Campaign, noted: Sequence[Noted], now: Instant) -> None:
    """Store the node's own cells, if they changed, under a version above all earlier ones."""
    tx.lock(campaign.key)
    before = own_rows(tx, campaign, [span for span, _, _ in noted])
    version = max(now, tx.newest(campaign.key, OWN) + 1)
    rows = [KnownRow(OWN, span.key, version, final, plain_cells(cells)) for span, cells, final in noted]
    same = {key: row._replace(version=version) for key, row in before.items()}
    tx.put_known(campaign.key, [row for row in rows if same.get(row.period) != row])


def note_last(tx: Transaction, campaign: Campaign, noted: Sequence[Noted], now: Instant) -> None:
    """Store cells like `note`, but count final ones again first: nothing can be added to them afterwards."""
    tx.lock(campaign.key)
    last = [span for span, _, final in noted if final]
    again = [(span, cells, True) for span, cells in zip(last, all_own_cells(tx, campaign, last), strict=True)]
    note(tx, campaign, [*again, *(each for each in noted if not each[2])], now)
