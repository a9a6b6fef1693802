"""Reports in: each is decided on in the protocol's order, and everything that follows is one transaction."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from halfmask.service import live
from halfmask.service.calendars import Span
from halfmask.service.campaign import Campaign
from halfmask.service.instants import Instant
from halfmask.service.refusal import Refusal, forbidden, unauthenticated
from halfmask.service.storage.base import EntryRow, Identity, Plain, ReportRow, Transaction

CODES = (
    *("malformed", "unknown_setting", "outside_campaign", "future", "conflict", "closed", "implausible"),
    "budget_spent",
)


class Report(NamedTuple):
    """A report as it was sent and understood."""

    time: Instant
    steps: int
    setting: str


@dataclass(frozen=True)
class Post:
    """One request: reports, None for one that could not be understood; or why the whole could not be."""

    token: str
    reports: Sequence[Report | None]
    now: Instant
    refusal: Refusal | None = None


Results = list[Plain]


@lru_cache(maxsize=4096)
def result(status: str, code: str | None = None, reward: int | None = None) -> Plain:
    """One entry of an answer. It is shared, so nobody may change it."""
    entry: Plain = {"status": status}
    if code is not None:
        entry["code"] = code
    if reward is not None:
        entry["reward"] = reward
    return entry


def refused(code: str) -> Plain:
    return result("refused", code)


def valid(identity: Identity | None, now: Instant) -> Identity:
    """The identity, unless its token is unknown, expired or revoked."""
    if identity is None or identity.revoked is not None or (identity.expires is not None and identity.expires <= now):
        raise unauthenticated()
    return identity


def admit(identity: Identity | None, now: Instant) -> Identity:
    """Whether who posts may report at all."""
    who = valid(identity, now)
    if who.role != "producer":
        raise forbidden("only a producer sends reports")
    if who.left is not None:
        raise Refusal(403, "left", "this producer has left the campaign; join again to report")
    return who


def ingest(
    tx: Transaction,
    posts: Sequence[Post],
    campaign_of: Callable[[Transaction, int], Campaign],
    count: Callable[[str, Results], None],
) -> list[Results | Refusal]:
    """Decide on posts in their order and store what is accepted; one campaign at a time, locked in order of key."""
    known = tx.identities(list({post.token for post in posts}))
    answers: list[Results | Refusal] = [[] for _ in posts]
    groups: dict[int, list[tuple[int, Post, Identity]]] = {}
    for place, post in enumerate(posts):
        try:
            who = admit(known.get(post.token), post.now)
            if post.refusal is not None:
                raise post.refusal
        except Refusal as refusal:
            answers[place] = refusal
        else:
            groups.setdefault(who.campaign or 0, []).append((place, post, who))
    for key in sorted(groups):
        batch = _Batch(tx, campaign_of(tx, key))
        for (place, _, _), results in zip(groups[key], batch.decide(groups[key]), strict=True):
            answers[place] = results
            count(batch.campaign.public, results)
    return answers


@dataclass(slots=True, eq=False)
class _Period:
    """A period as one transaction finds it."""

    span: Span
    rewards: dict[str, int]
    deadline: Instant
    closed: bool = False
    producers: set[int] = field(default_factory=set)
    """Who added to it."""


class _Batch:
    """What one transaction decides for one campaign. The campaign is locked, so that what is read here holds."""

    def __init__(self, tx: Transaction, campaign: Campaign) -> None:
        self.tx, self.campaign = tx, campaign
        budget, committed = tx.lock(campaign.key)
        self.room = self.before = budget - committed
        self.schedule = tx.schedule(campaign.key)
        self.keeps = campaign.keeps
        self.begins, self.ends, self.skew = campaign.begins, campaign.ends, campaign.skew
        self.plausible, self.span_of = campaign.plausible, campaign.calendar.span_of
        self.periods: dict[str, _Period] = {}
        self.standing: dict[tuple[int, Instant], tuple[int, str, int]] = {}
        self.rows: list[ReportRow] = []
        self.entries: list[EntryRow] = []

    def decide(self, posts: Sequence[tuple[int, Post, Identity]]) -> list[Results]:
        seen = [[self._first(report, post.now) for report in post.reports] for _, post, _ in posts]
        for key in self.tx.closed_keys(self.campaign.key, self.periods):
            self.periods[key].closed = True
        keys = [
            (who.subject, report.time)
            for (_, post, who), found in zip(posts, seen, strict=True)
            for report, each in zip(post.reports, found, strict=True)
            if report is not None and type(each) is not str
        ]
        self.standing = self.tx.standing(list(dict.fromkeys(keys)))
        answers = [self._post(post, who, found) for (_, post, who), found in zip(posts, seen, strict=True)]
        self._store()
        return answers

    def _first(self, report: Report | None, now: Instant) -> _Period | str:
        """What can be said without the store: the code of a refusal, or the period."""
        if report is None:
            return "malformed"
        time, _, setting = report
        if setting not in self.plausible:
            return "unknown_setting"
        if not self.begins <= time < self.ends:
            return "outside_campaign"
        if time > now + self.skew:
            return "future"
        span = self.span_of(time)
        return self.periods.get(span.key) or self._period(span)

    def _period(self, span: Span) -> _Period:
        """Rewards are by the last schedule that began no later than the period."""
        rewards: dict[str, int] = {}
        for begins, scheduled in self.schedule:
            if begins <= span.begins:
                rewards = scheduled
        made = self.periods[span.key] = _Period(span, rewards, self.campaign.deadline(span))
        return made

    def _post(self, post: Post, who: Identity, seen: Sequence[_Period | str]) -> Results:
        earned: dict[str, int] = {}
        results = [
            refused(str(period))
            if report is None or isinstance(period, str)
            else self._second(report, period, who.subject, post.now, earned)
            for report, period in zip(post.reports, seen, strict=True)
        ]
        for period, amount in earned.items():
            entry = EntryRow(secrets.token_hex(8), self.campaign.key, who.subject, amount, period, post.now)
            self.entries.append(entry)
        return results

    def _second(self, report: Report, period: _Period, producer: int, now: Instant, earned: dict[str, int]) -> Plain:
        """What the store says: known or conflict, closed, implausible, accepted."""
        time, steps, setting = report
        closed = period.closed or now >= period.deadline
        if closed and not self.keeps:
            return refused("closed")  # what stood is deleted, or will be before anyone looks
        due = period.rewards.get(setting, 0)
        stands = self.standing.get((producer, time))
        if stands is not None:
            if stands[0] != steps or stands[1] != setting:
                return refused("conflict")
            return result("known", "budget_spent" if due and not stands[2] else None, stands[2])
        if closed:
            return refused("closed")
        low, high = self.plausible[setting]
        if not low <= steps <= high:
            return refused("implausible")
        reward = due if due <= self.room else 0
        if reward:
            self.room -= reward
            key = period.span.key
            earned[key] = earned.get(key, 0) + reward
        self.standing[producer, time] = (steps, setting, reward)
        self.rows.append(ReportRow(producer, time, steps, setting, reward))
        period.producers.add(producer)
        return result("accepted", "budget_spent" if due and not reward else None, reward)

    def _store(self) -> None:
        self.tx.add_reports(self.rows)
        self.tx.add_entries(self.entries)
        spent = self.before - self.room
        if spent and not self.tx.spend(self.campaign.key, spent):
            raise RuntimeError("the budget changed under a lock")
        if self.campaign.live:
            for period in self.periods.values():
                if period.producers:
                    live.changed(self.tx, self.campaign, period.span, sorted(period.producers))


def book_reversal(tx: Transaction, entry: EntryRow, now: Instant) -> EntryRow:
    """Take an entry back by a new one, once; what it had committed of the budget is free again."""
    tx.lock(entry.campaign)
    done = tx.reversal(entry.campaign, entry.public)
    if done is not None:
        return done
    if entry.amount <= 0:
        raise Refusal(409, "reversal", "a reversal is not reversed", "entry")
    row = entry._replace(public=secrets.token_hex(8), amount=-entry.amount, booked=now, reverses=entry.public)
    tx.add_entries([row])
    if not tx.spend(entry.campaign, row.amount):
        raise RuntimeError("the budget changed under a lock")
    return row
