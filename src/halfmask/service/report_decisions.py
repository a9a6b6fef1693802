"""Taking in reports: each is decided in the protocol's order, and everything is stored in one transaction."""

import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from halfmask.service import snapshots
from halfmask.service.campaign import Campaign
from halfmask.service.campaign_periods import shut
from halfmask.service.cells import added_cells, cell_name
from halfmask.service.refusal import Refusal, forbidden, unauthenticated
from halfmask.service.split.leader_intake import LeaderIntake
from halfmask.service.storage.campaign_rows import EntryRow
from halfmask.service.storage.database_kinds import Range
from halfmask.service.storage.identity_rows import Identity, Role
from halfmask.service.storage.report_rows import ReportTuple
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import Instant
from halfmask_device.protocol import ReportResult, Status

Value = int | tuple[str, bytes]
"""What a report says: its steps, or the nonce and the leader's share of a split report."""


@dataclass(frozen=True)
class Post:
    """One request, with its reports as columns. The time of a report that could not be parsed is None.

    ``refusal`` is set if the whole body is refused. It is raised once the token is known to be a producer's.
    """

    token: str
    now: Instant
    times: Sequence[Instant | None] = ()
    steps: Sequence[Value] = ()
    settings: Sequence[str] = ()
    refusal: Refusal | None = None


Results = list[Plain]


@lru_cache(maxsize=4096)
def result(status: Status, code: str | None = None, reward: int | None = None) -> Plain:
    """Return one entry of an answer. It is cached and shared, so it must not be changed."""
    return ReportResult(status, code, reward).plain()


def valid(identity: Identity | None, now: Instant, roles: tuple[Role, ...]) -> Identity:
    """Return the identity. Refuse a token that is unknown, expired or revoked, or of another role."""
    if identity is None or identity.revoked is not None or (identity.expires is not None and identity.expires <= now):
        raise unauthenticated()
    if identity.role not in roles:
        raise forbidden(f"this is for another role: {' or '.join(roles)}")
    return identity


def admit(identity: Identity | None, now: Instant) -> Identity:
    """Return the identity if it is a producer's who may report. Refuse all others."""
    who = valid(identity, now, ("producer",))
    if who.left is not None:
        raise Refusal(403, "left", "this producer has left the campaign; join again to report")
    return who


def ingest(
    tx: Transaction,
    posts: Sequence[Post],
    campaign_of: Callable[[Transaction, int], Campaign],
    count: Callable[[str, Results], None],
) -> list[Results | Refusal]:
    """Decide on posts in order and store what is accepted. Return each post's results or refusal.

    Campaigns are locked one after the other, in order of their keys.
    """
    answers: list[Results | Refusal] = [[] for _ in posts]
    groups: dict[int, list[Asked]] = {}
    for asked in _admitted(tx, list(enumerate(posts)), answers):
        groups.setdefault(asked[2].campaign or 0, []).append(asked)
    for key in sorted(groups):
        batch, group = _Batch(tx, campaign_of(tx, key)), groups[key]
        if not tx.alone:  # some may have left, and withdrawn their reports, while we waited for the lock
            group = _admitted(tx, [(place, post) for place, post, _ in group], answers)
        for (place, _, _), results in zip(group, batch.decide(group), strict=True):
            answers[place] = results
            count(batch.campaign.public, results)
    return answers


Asked = tuple[int, Post, Identity]
"""The place of a post among all posts, the post, and its sender."""


def _admitted(tx: Transaction, posts: Sequence[tuple[int, Post]], answers: list[Results | Refusal]) -> list[Asked]:
    """Return the posts of those who may report. The others' refusals are written to ``answers``."""
    known = tx.identities(list({post.token for _, post in posts}))
    found: list[Asked] = []
    for place, post in posts:
        try:
            who = admit(known.get(post.token), post.now)
            if who.replaces is not None:
                tx.retire(post.token, who.replaces, post.now)
            if post.refusal is not None:
                raise post.refusal
            found.append((place, post, who))
        except Refusal as refusal:
            answers[place] = refusal
    return found


@dataclass(slots=True, eq=False)
class _Period:
    """The state of a period within one transaction."""

    span: Span
    rewards: dict[str, int]
    deadline: Instant
    closed: bool = False
    asked: dict[int, list[Instant]] = field(default_factory=dict)
    """The times of reports that came for it, by producer."""
    rows: list[ReportTuple] = field(default_factory=list)
    """The reports that are accepted."""


Found = Sequence["_Period | str"]
"""Per report of a post: its period, or the code of a refusal."""


class _Batch:
    """Decides on one campaign's reports in one transaction. The campaign is locked, so what is read here stays true."""

    def __init__(self, tx: Transaction, campaign: Campaign) -> None:
        self.tx, self.campaign = tx, campaign
        budget, committed = tx.lock(campaign.key)
        self.room = self.before = budget - committed
        self.schedule = tx.schedule(campaign.key)
        self.keeps = campaign.keeps
        self.begins, self.ends, self.skew = campaign.begins, campaign.ends, campaign.skew
        self.plausible, self.every = campaign.plausible, 0 if campaign.totals else campaign.every
        self.totals, self.calendar = campaign.totals, campaign.calendar
        self.periods: dict[str, _Period] = {}
        self.standing: dict[int, dict[Instant, tuple[Value, str, int]]] = {}
        self.taken: dict[tuple[int, Instant], Instant] = {}
        """The time of the first report in a slot, by producer and slot, if the campaign has slots."""
        self.split = LeaderIntake.of(tx, campaign)
        self.earned: list[tuple[int, int, str, Instant]] = []
        self.groups: dict[int, str | None] = {}
        """The group of each producer who posts."""
        self.cap: int | None = campaign.terms.get("most_per_period")
        self.had: dict[tuple[int, str], int] = {}
        """What producers earn in periods, if there is a cap."""

    def decide(self, posts: Sequence[Asked]) -> list[Results]:
        seen = [self._first(post) for _, post, _ in posts]
        self.groups = {who.subject: who.group for _, _, who in posts}
        for key in shut(self.tx, self.campaign, [each.span for each in self.periods.values()]):
            self.periods[key].closed = True
        for (_, post, who), found in zip(posts, seen, strict=True):
            for time, period in zip(post.times, found, strict=True):
                if type(period) is _Period:
                    period.asked.setdefault(who.subject, []).append(time)  # type: ignore[arg-type]
        for period in self.periods.values():
            self._read(period)
        if self.split is not None:
            asked: dict[int, list[Instant]] = {}
            for period in self.periods.values():
                for producer, times in period.asked.items():
                    asked.setdefault(producer, []).extend(times)
            self.split.read(asked, self.standing, [value for _, post, _ in posts for value in post.steps])
        if self.cap is not None:
            self.had = self.tx.earnings(sorted({who.subject for _, _, who in posts}), sorted(self.periods))
        answers = [self._each(post, found, who.subject) for (_, post, who), found in zip(posts, seen, strict=True)]
        self._store()
        return answers

    def _read(self, period: _Period) -> None:
        """Find the stored reports at the times that came for a period, or in their slots."""
        bucket, span = self.campaign.bucket(period.span), period.span
        if self.every:
            stored = self.tx.standing_within(bucket, slot_ranges(period.asked, self.every, span.begins))
        else:
            stored = self.tx.standing(bucket, period.asked)
        for producer, reports in stored.items():
            self.standing.setdefault(producer, {}).update(reports)
            if self.every:
                self.taken.update(((producer, self._slot(time, span)), time) for time in reports)

    def _slot(self, time: Instant, span: Span) -> Instant:
        """Return when the slot of a time begins. Slots are counted from the beginning of the period."""
        return time - (time - span.begins) % self.every

    def _first(self, post: Post) -> Found:
        """Return for each report its period or why it is refused. Usually all are of one period."""
        times = post.times
        if times and not self.totals and None not in times and self.plausible.keys() >= set(post.settings):
            first, last = min(times), max(times)  # type: ignore[type-var]
            if first >= self.begins and last < self.ends and last <= post.now + self.skew:  # type: ignore[operator]
                span = self.calendar.span_of(first)  # type: ignore[arg-type]
                if last < span.ends:  # type: ignore[operator]
                    return [self._period(span)] * len(times)
        return [self._place(*each, post.now) for each in zip(times, post.steps, post.settings, strict=True)]

    def _place(self, time: Instant | None, value: Value, setting: str, now: Instant) -> _Period | str:
        if time is None or (self.totals and not self.calendar.begins_at(time)):
            return "malformed"
        if isinstance(value, tuple) and (self.split is None or not self.split.fits(value)):
            return "malformed"
        if setting not in self.plausible:
            return "unknown_setting"
        if isinstance(value, tuple) != (setting == self.campaign.split_id):
            return "malformed"
        if not self.begins <= time < self.ends:
            return "outside_campaign"
        span = self.calendar.span_of(time)
        if now < span.ends if self.totals else time > now + self.skew:
            return "future"
        return self._period(span)

    def _period(self, span: Span) -> _Period:
        """Return the state of a period. Its rewards are by the last schedule that began no later than the period."""
        found = self.periods.get(span.key)
        if found is None:
            rewards: dict[str, int] = {}
            for begins, scheduled in self.schedule:
                if begins <= span.begins:
                    rewards = scheduled
            found = self.periods[span.key] = _Period(span, rewards, self.campaign.deadline(span))
        return found

    def _each(self, post: Post, found: Found, producer: int) -> Results:
        """Return the decisions on a post: known or conflict, closed, implausible, or accepted; or the first refusal."""
        own = self.standing.setdefault(producer, {})
        earned: Counter[str] = Counter()
        results = []
        for time, steps, setting, period in zip(post.times, post.steps, post.settings, found, strict=True):
            if time is None or isinstance(period, str):
                results.append(result("refused", str(period)))
                continue
            closed = period.closed or post.now >= period.deadline
            due, (low, high) = period.rewards.get(setting, 0), self.plausible[setting]
            slot = (producer, self._slot(time, period.span)) if self.every else None
            at = self.taken.get(slot, time) if slot else time
            stands = own.get(at)
            if closed and (stands is None or not self.keeps):  # stored reports are deleted, or will be before anyone
                answer = result("refused", "closed")  # reads them
            elif stands is not None and (at != time or stands[0] != steps or stands[1] != setting):
                answer = result("refused", "conflict")
            elif stands is not None:
                answer = result("known", self._unpaid(due, stands[2], producer, period), stands[2])
            elif isinstance(steps, tuple) and self.split is not None and not self.split.free(steps):
                answer = result("refused", "conflict")
            elif isinstance(steps, int) and not low <= steps <= high:
                answer = result("refused", "implausible")
            else:
                capped = self._capped(due, producer, period)
                reward = due if due <= self.room and not capped else 0
                self.room -= reward
                earned[period.span.key] += reward
                own[time] = (steps, setting, reward)
                if slot:
                    self.taken[slot] = time
                if isinstance(steps, int):
                    period.rows.append((producer, time, steps, setting, reward))
                elif self.split is not None:
                    self.split.take(producer, time, steps, reward)
                answer = result("accepted", self._unpaid(due, reward, producer, period), reward)
                if self.cap is not None:
                    key = producer, period.span.key
                    self.had[key] = self.had.get(key, 0) + reward
            results.append(answer)
        self.earned += [(producer, amount, period, post.now) for period, amount in earned.items() if amount]
        return results

    def _capped(self, due: int, producer: int, period: _Period) -> bool:
        """Return whether a reward exceeds what one producer can earn in the period."""
        return self.cap is not None and self.had.get((producer, period.span.key), 0) + due > self.cap

    def _unpaid(self, due: int, reward: int, producer: int, period: _Period) -> str | None:
        """Return why a report earned nothing, or None if it earned what is due."""
        if reward or not due:
            return None
        return "capped" if self._capped(due, producer, period) else "budget_spent"

    def _store(self) -> None:
        for period in self.periods.values():
            if period.rows:
                self._add(period)
        if self.split is not None:
            self.split.store()
        names, campaign = secrets.token_hex(8 * len(self.earned)), self.campaign.key
        self.tx.add_entries(
            [
                EntryRow(names[16 * place : 16 * place + 16], campaign, producer, amount, period, now)
                for place, (producer, amount, period, now) in enumerate(self.earned)
            ]
        )
        spent = self.before - self.room
        if spent and not self.tx.spend(self.campaign.key, spent):
            raise RuntimeError("the budget changed under a lock")
        if self.campaign.live:
            for period in self.periods.values():
                if period.rows:
                    snapshots.record_change(
                        self.tx, self.campaign, period.span, sorted({row[0] for row in period.rows})
                    )

    def _add(self, period: _Period) -> None:
        """Store accepted reports of a period and add them to its cells."""
        tx, campaign, bucket = self.tx, self.campaign, self.campaign.bucket(period.span)
        first = tx.first_reports(bucket, sorted({row[0] for row in period.rows}))
        rows = period.rows
        if campaign.groups:
            rows = [(*row[:3], cell_name(row[3], self.groups[row[0]]), row[4]) for row in rows]
            first = {each: (time, cell_name(of, self.groups[each])) for each, (time, of) in first.items()}
        if not tx.add_to_cells(campaign.key, period.span.key, added_cells(rows, first)):
            tx.make_room(*campaign.room(period.span))
        tx.add_reports(bucket, period.rows)


def slot_ranges(asked: Mapping[int, Sequence[Instant]], every: int, begins: Instant) -> list[Range]:
    """Return the ranges of times that the slots of these times cover, by producer. Adjacent slots are one range."""
    found: list[Range] = []
    for producer, times in asked.items():
        own: list[Range] = []
        for slot in sorted({(time - begins) // every for time in times}):
            first, last = begins + slot * every, begins + (slot + 1) * every - 1
            if own and own[-1][2] == first - 1:
                first = own.pop()[1]
            own.append((producer, first, last))
        found += own
    return found


def book_reversal(tx: Transaction, entry: EntryRow, now: Instant) -> EntryRow:
    """Take an entry back by booking a new one, which is returned. Its amount is free again in the budget.

    An entry is taken back once: a second call returns the same reversal.
    """
    tx.lock(entry.campaign)
    done = tx.reversal(entry)
    if done is not None:
        return done
    if entry.amount <= 0:
        raise Refusal(409, "reversal", "a reversal is not reversed", "entry")
    return _take_back(tx, entry.campaign, [entry], now)[0]


def take_back(tx: Transaction, campaign: int, producers: Sequence[int], periods: Sequence[str], now: Instant) -> None:
    """Take back all that some producers were to get for some periods. The campaign must be locked."""
    _take_back(tx, campaign, tx.standing_entries(producers, periods), now)


def _take_back(tx: Transaction, campaign: int, rows: Sequence[EntryRow], now: Instant) -> list[EntryRow]:
    back = [
        row._replace(public=secrets.token_hex(8), amount=-row.amount, booked=now, reverses=row.public) for row in rows
    ]
    tx.add_entries(back)
    if back and not tx.spend(campaign, sum(row.amount for row in back)):
        raise RuntimeError("the budget changed under a lock")
    return back
