"""Open periods of live campaigns: shown in steps of at least the least cohort, so that no two looks tell of fewer.

A look is replaced when at least ``least_producers`` producers have changed the period since: added a report, or
withdrawn what was shown. One who added and withdrew between two looks changed nothing and is not counted. Withdrawals
could bring a period back near an older look; then the new one waits until it equals each look before it or differs from
it by at least so many producers.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from halfmask.service.calendars import Span
from halfmask.service.campaign import Campaign
from halfmask.service.cells import count, merge, negated, plain, read
from halfmask.service.estimates import period_entry
from halfmask.service.storage.base import LookRow, Transaction


def changed(tx: Transaction, campaign: Campaign, span: Span, producers: Sequence[int]) -> None:
    """Note that producers added to an open period; renew its look once enough have."""
    if tx.touch(campaign.key, span.key, producers) >= campaign.least:
        _look(tx, campaign, span)


def withdrew(tx: Transaction, campaign: Campaign, span: Span, producer: int) -> None:
    """Note that a producer's reports of an open period are gone."""
    if tx.shown(campaign.key, span.key, [producer]):
        changed(tx, campaign, span, [producer])
    else:
        tx.untouch(campaign.key, span.key, [producer])


def _look(tx: Transaction, campaign: Campaign, span: Span) -> None:
    """The look before, less what it shows of those who changed, and more what they have now."""
    producers = tx.touched(campaign.key, span.key)
    old = tx.looks(campaign.key).get(span.key)
    before = tx.shown(campaign.key, span.key, producers)
    rows = tx.reports_of(producers, span.begins, span.ends)
    now = {producer: count(own) for producer, own in groupby(rows, key=lambda row: row.producer)}
    number = old.number + 1 if old else 1
    gone = set(producers) - now.keys()
    if not _apart(tx.changes(campaign.key, span.key), number, set(producers), gone, campaign.least):
        return
    kept = read(old.cells) if old else {}
    cells = merge([kept, *now.values(), *(negated(read(each)) for each in before.values())])
    entry = period_entry(campaign, span.key, "open", cells)
    tx.put_look(campaign.key, span.key, LookRow(number, plain(cells), entry))
    tx.put_shown(campaign.key, span.key, number, {each: plain(now.get(each, {})) for each in producers})
    tx.untouch(campaign.key, span.key, producers)
    tx.add_event(campaign.key, span.key)


def _apart(
    changes: Sequence[tuple[int, int, int, bool]], number: int, changing: set[int], going: set[int], least: int
) -> bool:
    """Whether a new look differs from each one before by no producer, or by at least ``least``.

    A producer differs from look k if it last changed after it, unless it came after it and is gone: reports are added
    until all are withdrawn, and who has left does not come back.
    """
    known = {producer: (first, last, gone) for producer, first, last, gone in changes}
    for producer in changing:
        first = known[producer][0] if producer in known else number
        known[producer] = (first, number, producer in going)
    if not any(gone for _, _, gone in known.values()):
        return True  # nothing was withdrawn: differences only grow
    differing = Counter[int]()
    for first, last, gone in known.values():
        differing.update(range(0 if not gone else first, last))
    return all(not 0 < differing[look] < least for look in range(1, number))
