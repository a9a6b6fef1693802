"""The periods of a campaign: their cells here and at peers, which are due, and what the consumer is shown of them.

A node of a shared campaign knows its own cells and those of
its peers, each with a version. Each change of its own cells gets a higher version: the current instant, or one more
than the last version if the clock has not advanced. So versions grow across restarts, and even after a database was
restored from an older copy.
"""

from collections.abc import Iterable, Sequence

from halfmask.service.campaign import Campaign
from halfmask.service.cells import Cells, merge, plain_cells, read
from halfmask.service.estimates import withheld_entry
from halfmask.service.refusal import unfit
from halfmask.service.storage.period_rows import ClosedRow, KnownRow
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import DAY, SECOND, Instant, instant_text

SETTLED = 10 * SECOND
OWN = ""
"""The name under which a node's own cells are in its own database."""
Noted = tuple[Span, Cells, bool]
"""A period, the node's own cells of it, and whether they are final."""


def own_cells(tx: Transaction, campaign: Campaign, spans: Sequence[Span]) -> list[Cells]:
    """Return for each period the cells of the reports that came here and of the gateways below."""
    keys = [span.key for span in spans]
    reports, below = tx.cells(campaign.key, keys), dict[str, list[Cells]]()
    for period, cells in tx.node_cells(campaign.key, keys):
        below.setdefault(period, []).append(read(cells))
    return [merge([reports.get(key, {}), *below.get(key, [])]) for key in keys]


def others(tx: Transaction, campaign: Campaign, spans: Iterable[Span]) -> dict[str, Cells]:
    """Return the sum of the peers' cells that are known here, by period."""
    found: dict[str, Cells] = {}
    for row in tx.known(campaign.key, [span.key for span in spans]):
        if row.node != OWN:
            found[row.period] = merge([found.get(row.period, {}), read(row.cells)])
    return found


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
    return closed | closing_keys(tx, campaign)


def closing_keys(tx: Transaction, campaign: Campaign) -> set[str]:
    """Return the periods that wait for the helper's sum."""
    return {row.period for row in tx.closing(campaign.key)} if campaign.split_id else set()


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
    for span, cells in zip(still, own_cells(tx, campaign, still), strict=True):
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
    """Store cells like `note`, but read final ones again first: nothing can be added to them afterwards."""
    tx.lock(campaign.key)
    last = [span for span, _, final in noted if final]
    again = [(span, cells, True) for span, cells in zip(last, own_cells(tx, campaign, last), strict=True)]
    note(tx, campaign, [*again, *(each for each in noted if not each[2])], now)


def due(tx: Transaction, campaign: Campaign, now: Instant, since: Instant | None) -> tuple[list[Span], Instant]:
    """Return the periods to close, oldest first, and the instant before which all periods are closed.

    These have passed their deadline and are not closed yet. Only periods that end after ``since`` are considered. Pass
    the returned instant as ``since`` the next time: a closed period stays closed. A period that peers keep too is left
    out until their cells are final.
    """
    past = [span for span in campaign.spans(now - campaign.grace, since) if now >= campaign.deadline(span)]
    closed = tx.closed_keys(campaign.key, [span.key for span in past]) | closing_keys(tx, campaign)
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
    """Return periods as the consumer sees them. Those that are due must have been closed and published before."""
    closed = closed_of(tx, campaign, spans)
    snapshots = tx.snapshots(campaign.key) if campaign.live else {}
    closing = closing_keys(tx, campaign)
    entries = []
    for span in spans:
        if span.key in closed:
            entries.append(closed[span.key].entry)
        elif span.key in closing:
            entries.append(withheld_entry(span.key, "closing", "closing"))
        elif span.key in snapshots:
            entries.append(snapshots[span.key].entry)
        else:
            why = campaign.too_few if campaign.live else "open"
            nothing = {"groups": None} if campaign.groups else {}
            entries.append(withheld_entry(span.key, "open", why) | nothing)
    return [entry | {"begins": instant_text(span.begins)} for span, entry in zip(spans, entries, strict=True)]


def with_smoothed(
    tx: Transaction, campaign: Campaign, spans: Sequence[Span], entries: Sequence[Plain], group: str | None = None
) -> list[Plain]:
    """Return the entries with the best estimates of closed periods' sums as ``smoothed``.

    If a group is named, the entries keep that group alone, and it gets an estimate too: one takes some time to compute.
    """
    found = _smoothed(tx, campaign, spans, entries)
    if group is None:
        return [entry | {"smoothed": found.get(entry["period"])} for entry in entries]
    of_group = [(entry["groups"] or {}).get(group) for entry in entries]
    sums = _smoothed(tx, campaign, spans, [each for each in of_group if each], group)
    return [
        entry
        | {"smoothed": found.get(entry["period"])}
        | {"groups": own and {group: own | {"smoothed": sums.get(entry["period"])}}}
        for entry, own in zip(entries, of_group, strict=True)
    ]


def _smoothed(
    tx: Transaction, campaign: Campaign, spans: Sequence[Span], entries: Sequence[Plain], group: str | None = None
) -> dict[str, Plain]:
    """Return the best estimates of closed periods' sums by period, of all producers or of a group.

    Of very many periods only the latest get an estimate.
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
        rows = tx.closed(campaign.key, origin + (first - 2) * length, origin + (last + 2) * length).values()
        shared = ((row, row.entry if group is None else (row.entry["groups"] or {}).get(group)) for row in rows)
        placed = (
            (calendar.number_of(Span(row.period, row.begins, row.begins)), entry) for row, entry in shared if entry
        )
        near = {number: each for number, entry in placed if (each := smoothing.known(number, entry)) is not None}
        found = smoothing.best_sums(near, smoothing.SEASONS[calendar.kind], asked)
    return {key: found[numbers[key]] for key in shown if numbers[key] in found}


def closed_of(tx: Transaction, campaign: Campaign, spans: list[Span]) -> dict[str, ClosedRow]:
    """Return the closed periods from the first to the last of these, including any that are not among them."""
    begins = [span.begins for span in spans]
    return tx.closed(campaign.key, min(begins, default=0), max(begins, default=-1))
