"""Open periods of live campaigns: shown in steps of at least the least cohort, so that no two looks tell of fewer.

A look is replaced when at least ``least_producers`` producers have changed the period since: added a report, or
withdrawn what was shown. One who added and withdrew between two looks changed nothing and is not counted.
"""

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
    kept = read(old.cells) if old else {}
    cells = merge([kept, *now.values(), *(negated(read(each)) for each in before.values())])
    entry = period_entry(campaign, span.key, "open", cells)
    tx.put_look(campaign.key, span.key, LookRow(plain(cells), entry))
    tx.put_shown(campaign.key, span.key, {each: plain(now.get(each, {})) for each in producers})
    tx.untouch(campaign.key, span.key, producers)
    tx.add_event(campaign.key, span.key)
