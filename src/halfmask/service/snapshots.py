"""Snapshots of open periods in live campaigns. No two reveal fewer producers than the least cohort.

A snapshot is replaced when at least ``least_producers`` producers have changed the period since: added a report, or
withdrawn reports that were shown. A producer who added and withdrew between two snapshots changed nothing and is not
counted. Withdrawals could bring a period back near an older snapshot, or allow several snapshots to be added and
subtracted until few producers are left. Then the new snapshot waits until no such sum reveals fewer producers than the
least cohort (see `apart`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, combinations, groupby

from halfmask.service.campaign import Campaign
from halfmask.service.cells import count_reports, merge, negated, plain_cells, read
from halfmask.service.estimates import period_entry
from halfmask.service.storage.period_rows import SnapshotRow
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.campaign_calendar import Span

STAYS = 0
"""Represents the future snapshot that will withdraw reports not withdrawn yet. Snapshots are numbered from 1."""
MOST_POINTS = 12


def record_change(tx: Transaction, campaign: Campaign, span: Span, producers: Sequence[int]) -> None:
    """Record that producers changed an open period. Take a new snapshot once enough have."""
    if tx.touch(campaign.key, span.key, producers) >= campaign.least:
        _take_snapshot(tx, campaign, span)


def withdrew(tx: Transaction, campaign: Campaign, span: Span, producer: int) -> None:
    """Record that a producer's reports of an open period are withdrawn."""
    if tx.shown(campaign.key, span.key, [producer]):
        record_change(tx, campaign, span, [producer])
    else:
        tx.untouch(campaign.key, span.key, [producer])


def _take_snapshot(tx: Transaction, campaign: Campaign, span: Span) -> None:
    """Replace the snapshot: subtract what it shows of the producers who changed, and add what they have now.

    Keep the old snapshot if sums of snapshots would reveal too few producers.
    """
    producers = tx.touched(campaign.key, span.key)
    old = tx.snapshots(campaign.key).get(span.key)
    before = tx.shown(campaign.key, span.key, producers)
    rows = tx.reports_of(campaign.bucket(span), producers)
    now = {producer: count_reports(own) for producer, own in groupby(rows, key=lambda row: row.producer)}
    number = old.number + 1 if old else 1
    gone = set(producers) - now.keys()
    if not apart(_ties(tx.changes(campaign.key, span.key), number, set(producers), gone), campaign.least):
        return
    kept = read(old.cells) if old else {}
    cells = merge([kept, *now.values(), *(negated(read(each)) for each in before.values())])
    entry = period_entry(campaign, span.key, "open", cells)
    tx.put_snapshot(campaign.key, span.key, SnapshotRow(number, plain_cells(cells), entry))
    tx.put_shown(campaign.key, span.key, number, {each: plain_cells(now.get(each, {})) for each in producers})
    tx.untouch(campaign.key, span.key, producers)
    tx.add_event(campaign.key, span.key)


def _ties(
    changes: Mapping[int, tuple[list[int], bool]], number: int, changing: set[int], going: set[int]
) -> list[frozenset[int]]:
    """Return for each producer the snapshots that changed it, including the new one, ``number``.

    `STAYS` is added if the producer's reports stay. A producer who came after the last snapshot and has gone is in
    none. A producer who has left does not come back.
    """
    stays: dict[bool, set[int]] = {False: {STAYS}, True: set()}
    numbers = {producer: stays[gone].union(held) for producer, (held, gone) in changes.items()}
    for producer in changing:
        before = numbers.get(producer, set()) - {STAYS}
        numbers[producer] = before | {number} | stays[producer in going]
    return [frozenset(each) for each in numbers.values()]


def apart(ties: Sequence[frozenset[int]], least: int) -> bool:
    """Return whether every combination of snapshots reveals either no producers or at least ``least``.

    A snapshot minus the one before it is what was added minus what was withdrawn in between. Give each such difference
    a weight. A producer's reports cancel in the weighted sum if the snapshots that added and withdrew them have the
    same weight (0 for reports that stay). So a combination is a cut: the snapshots and `STAYS` are points, a producer
    ties its own points together (see `_ties`), and the producers that are revealed are those whose ties are cut. No cut
    may be of 1 to ``least`` - 1 ties.

    Points that at least ``least`` producers tie together act as one point for such a cut. All cuts of the remaining
    points are tried. If there are more than `MOST_POINTS`, the answer is False.
    """
    ties = [tie for tie in ties if len(tie) > 1]
    while strong := [pair for pair, number in Counter(chain(*map(_pairs, ties))).items() if number >= least]:
        into = {other: one for one, other in sorted(strong, reverse=True)}
        for other in sorted(into):
            into[other] = into.get(into[other], into[other])
        ties = [tie for tie in (frozenset(into.get(each, each) for each in old) for old in ties) if len(tie) > 1]
    points = sorted({each for tie in ties for each in tie} - {STAYS})
    if len(points) > MOST_POINTS:
        return False
    sides = chain.from_iterable(combinations(points, size) for size in range(1, len(points) + 1))
    cuts = (sum(0 < len(tie & side) < len(tie) for tie in ties) for side in map(frozenset, sides))
    return all(cut == 0 or cut >= least for cut in cuts)


def _pairs(tie: Collection[int]) -> Iterable[tuple[int, int]]:
    """Return the pairs of a tie's points, the smaller first.

    If `STAYS` is a point, only the pairs with it are returned: they connect all others.
    """
    if STAYS in tie:
        return ((STAYS, each) for each in tie if each != STAYS)
    return combinations(sorted(tie), 2)
