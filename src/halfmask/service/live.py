"""Open periods of live campaigns: shown in steps of at least the least cohort, so that no two looks tell of fewer.

A look is replaced when at least ``least_producers`` producers have changed the period since: added a report, or
withdrawn what was shown. One who added and withdrew between two looks changed nothing and is not counted. Withdrawals
could bring a period back near an older look, or let several looks be added and subtracted until few are left; then the
new one waits until no such sum tells of fewer producers (see `apart`).
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, combinations, groupby

from halfmask.service.calendars import Span
from halfmask.service.campaign import Campaign
from halfmask.service.cells import count, merge, negated, plain, read
from halfmask.service.estimates import period_entry
from halfmask.service.storage.base import LookRow, Transaction

STAYS = 0
"""Stands for the look that will withdraw what none has withdrawn yet; looks are numbered from 1."""
MOST_POINTS = 12


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
    if not apart(_ties(tx.changes(campaign.key, span.key), number, set(producers), gone), campaign.least):
        return
    kept = read(old.cells) if old else {}
    cells = merge([kept, *now.values(), *(negated(read(each)) for each in before.values())])
    entry = period_entry(campaign, span.key, "open", cells)
    tx.put_look(campaign.key, span.key, LookRow(number, plain(cells), entry))
    tx.put_shown(campaign.key, span.key, number, {each: plain(now.get(each, {})) for each in producers})
    tx.untouch(campaign.key, span.key, producers)
    tx.add_event(campaign.key, span.key)


def _ties(
    changes: Mapping[int, tuple[list[int], bool]], number: int, changing: set[int], going: set[int]
) -> list[frozenset[int]]:
    """For each producer the looks that changed it, the new one of this ``number`` too, and `STAYS` where it stays.

    One who came after the last look and is gone is in no look. Who has left does not come back.
    """
    stays: dict[bool, set[int]] = {False: {STAYS}, True: set()}
    looks = {producer: stays[gone].union(held) for producer, (held, gone) in changes.items()}
    for producer in changing:
        before = looks.get(producer, set()) - {STAYS}
        looks[producer] = before | {number} | stays[producer in going]
    return [frozenset(each) for each in looks.values()]


def apart(ties: Sequence[frozenset[int]], least: int) -> bool:
    """Whether no combination of looks tells of some producers, but of fewer than ``least``.

    A look less the one before it is what was added in it, less what was withdrawn in it. Weigh these differences: a
    producer's reports fall out of the sum where the looks that added and withdrew them have one weight (0 for reports
    that stay). So a combination is a cut: looks are points, `STAYS` is one too, a producer ties the points of its own
    together, and what is told is of those whose ties are cut. No cut may be of 1 to ``least`` - 1 ties.

    Points that ``least`` producers tie together are one point for such a cut. Of what is left all cuts are tried; where
    that is too much, the answer is no.
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
    """Pairs of a tie's points, the smaller first; with `STAYS` alone where it is one: the others meet there."""
    if STAYS in tie:
        return ((STAYS, each) for each in tie if each != STAYS)
    return combinations(sorted(tie), 2)
