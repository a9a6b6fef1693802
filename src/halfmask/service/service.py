"""The service itself, without a network: a store, a clock, limits, and the functions that work on them.

Its `Writer` is one thread that takes all waiting jobs, commits once, and answers after the commit.
"""

import asyncio
import logging
import re
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeVar

from halfmask.service.campaign import Campaign
from halfmask.service.campaign_periods import due
from halfmask.service.counters import SETTLING, STEPS, WAITING, Counters
from halfmask.service.floors import NO_FLOORS, Floors
from halfmask.service.rate_limits import Buckets, Limits
from halfmask.service.refusal import Refusal, not_found, unauthenticated
from halfmask.service.repeated_requests import answer_once
from halfmask.service.report_decisions import Post, Results, ingest, valid
from halfmask.service.request import Call, Clock, Request, new_name, system_clock
from halfmask.service.split.share_intake import SharePost, take_shares
from halfmask.service.split.split_options import NO_SPLIT, SplitOptions
from halfmask.service.steady_clock import SteadyClock
from halfmask.service.storage.campaign_rows import UPSTREAM
from halfmask.service.storage.identity_rows import Identity, Role
from halfmask.service.storage.sql_store import Store, StoreConflictError, StoreFullError, StoreGoneError, Transaction
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import SECOND, Instant
from halfmask_device.random_bits import Bits

T = TypeVar("T")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
"""The form of all names in a path."""


class Service:
    """The operations of the protocol. HTTP, MQTT and nodes are shells around it. Several may share one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock = system_clock,
        limits: Limits | None = None,
        floors: Floors = NO_FLOORS,
        counters: Counters | None = None,
        split: SplitOptions = NO_SPLIT,
    ) -> None:
        self.store, self.clock, self.limits, self.floors = store, clock, limits or Limits(), floors
        self.split = split
        self.draws: Callable[[], Bits] = Bits.fresh
        """The source of each draw of noise for a split sum. Tests set a fixed stream."""
        self.requests = Buckets("requests of one token", self.limits.requests_per_second, 1)
        self.joins = Buckets("joins of one campaign", self.limits.joins_per_minute, 60)
        self.counters = counters or Counters()
        """What is counted for the operator, among it the results of reports by campaign, status and code."""
        self.node = ""
        """The service's name among its peers, empty without peers."""
        self.heard: dict[int, Instant] = {}
        """When a peer last answered a request, by campaign. Messages that come unasked do not count: they can be old.
        """
        self.settled: dict[int, Instant] = {}
        """The instant before which all periods of a campaign are closed, so that they are not checked again."""
        self.stopping = False
        """Whether the process is stopping, so that streams must end."""
        self.steady = clock if isinstance(clock, SteadyClock) else None
        """The clock if it is watched. The clocks of simulations and tests are not."""
        self._campaigns: dict[int | str, Campaign] = {}
        self._newest_action = 0

    @cached_property
    def name(self) -> str:
        """Return a random name that distinguishes this database from all others; it is stored in the database."""
        with self.store.reading() as tx:
            found = tx.fact("node")
        if found is None:
            with self.store.transaction() as tx:
                found = tx.first_fact("node", new_name())
        return found

    def campaign(self, tx: Transaction, key: int | str) -> Campaign | None:
        """Return a campaign by its key or its name, or None. Its terms never change, so it is cached."""
        found = self._campaigns.get(key)
        if found is None and (row := tx.campaign(key)) is not None:
            found = Campaign(*row, peered=bool(self.node) and row.consumer != UPSTREAM)
            self._campaigns[row.key] = self._campaigns[row.public] = found
        return found

    def undone(self) -> None:
        """Forget the cached campaigns: one of them may have been made in the transaction that was undone."""
        self._campaigns.clear()

    def notice_actions(self, tx: Transaction) -> None:
        """Forget what is in memory of campaigns if an operator has acted since the last call."""
        newest = tx.last_action()
        if newest != self._newest_action:
            self._newest_action = newest
            self.undone()
            self.settled.clear()

    def unsettled(self) -> float:
        """Return the seconds until the clock has run steadily for long enough that periods may close; 0 if it has."""
        if self.steady is None:
            return 0.0
        return max(0.0, (self.steady.settle - self.steady.steady_for()) / SECOND)

    def settled_for(self, least: Instant) -> bool:
        """Return whether the clock has run steadily for at least so long."""
        return self.steady is None or self.steady.steady_for() >= least

    def _compare_clocks(self, tx: Transaction) -> None:
        """Compare the clock with the database's, and count what the operator needs to know of it."""
        if self.steady is not None:
            self.steady.compare(tx.clock())
            self.counters.put(SETTLING, float(self.unsettled() > 0))
            self.counters.put(STEPS, self.steady.steps)

    def campaign_of(self, tx: Transaction, key: int) -> Campaign:
        found = self.campaign(tx, key)
        if found is None:
            raise RuntimeError("a producer's campaign is missing")
        return found

    def accept(self, tx: Transaction, posts: Sequence[Post]) -> list[Results | Refusal]:
        """Decide on reports, as `ingest` does."""
        return ingest(tx, posts, self.campaign_of, self.count)

    def count(self, campaign: str, results: Results) -> None:
        """Count results by kind for the operator. No values are kept."""
        if not results:
            return
        first = results[0]
        groups: Mapping[tuple[str, str], int] = {(first["status"], first.get("code", "")): len(results)}
        if results.count(first) != len(results):
            groups = Counter((each["status"], each.get("code", "")) for each in results)
        for (status, code), number in groups.items():
            labels = f'campaign="{campaign}",status="{status}",code="{code}"'
            self.counters.add(f"halfmask_reports_total{{{labels}}}", number)

    def identify(self, tx: Transaction, request: Request, roles: tuple[Role, ...]) -> Identity | None:
        """Return the caller, or None if anyone may ask. Refuse a caller without one of the roles."""
        if not roles:
            return None
        if request.token is None:
            raise unauthenticated()
        who = valid(tx.identities([request.token]).get(request.token), request.now, roles)
        if who.replaces is not None:
            self._retire(tx, request.token, who.replaces, request.now)
        return who

    def _retire(self, tx: Transaction, token: str, replaced: str, now: Instant) -> None:
        """Revoke the token that one in use replaces. While nothing can be written, both stay valid."""
        if tx.writes:
            tx.retire(token, replaced, now)
        else:
            with suppress(StoreGoneError, StoreFullError), self.store.transaction() as writing:
                writing.retire(token, replaced, now)

    def answer(
        self,
        tx: Transaction,
        request: Request,
        roles: tuple[Role, ...],
        work: Callable[[Call], T],
        prepared: object = None,
    ) -> T:
        """Do a route's work for a caller who may ask for it."""
        who = self.identify(tx, request, roles)
        if not all(map(_NAME.fullmatch, request.path.values())):  # such a name cannot be in a store
            raise not_found("path")
        call = Call(self, tx, who, request, prepared=prepared)
        return work(call) if request.key is None else answer_once(call, request.key, work)

    def due(self, now: Instant, key: int | str | None = None) -> list[tuple[Campaign, Sequence[Span]]]:
        """Return the periods to close, of all campaigns or the one named; none until the clock has settled."""
        with self.store.reading() as tx:
            self._compare_clocks(tx)
            if self.unsettled():
                return []
            keys = [row.key for row in tx.campaigns()] if key is None else [key]
            found = [each for each in (self.campaign(tx, key) for key in keys) if each]
            return [(each, spans) for each in found if (spans := self._due(tx, each, now))]

    def _due(self, tx: Transaction, campaign: Campaign, now: Instant) -> list[Span]:
        spans, self.settled[campaign.key] = due(tx, campaign, now, self.settled.get(campaign.key))
        return spans


log = logging.getLogger("halfmask.service")

MOST_JOBS = 512
MOST_REPORTS = 20_000
"""Most jobs and reports per commit, so that nobody waits long for the rest of a batch."""
MOST_WAITING = 1_000_000
"""Most reports that may wait, so that requests with many reports do not fill the memory."""
MOST_OF_ONE = 100_000
"""Most reports of one producer that may wait, so that it does not take the room of all others."""
CONFLICTS = 4
"""How often jobs are tried again after the store gave them up in favour of another process."""

Work = Callable[[Transaction], Any]
Batched = (Post, SharePost)
"""Jobs that are decided together in one transaction."""
Job = Post | SharePost | Work
Waiting = tuple[Job, asyncio.AbstractEventLoop, "asyncio.Future[Any]", bool]


class Writer:
    """Runs jobs in batches: first other work, in order, then all posts of reports together.

    A job that is refused is undone alone.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self._waiting: deque[Waiting] = deque()
        self._reports: Counter[str] = Counter()
        """Number of waiting reports, by the token that sent them."""
        self._size = 0
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="writer", daemon=True)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Finish all waiting jobs, then end."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    async def submit(self, job: Job, *, small: bool = False) -> Any:
        """Return the job's result once it is on disk. Raise its refusal if it is refused.

        ``small``  whether it is also done while the disk is nearly full: what closes, leaves and deletes is, because
                   it needs little and makes room
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        with self._wake:
            if self._stopping:
                raise Refusal(503, "stopping", "the service is stopping; nothing was taken, send it again", after=2)
            self._let_in(job)
            self._waiting.append((job, loop, future, small))
            self.service.counters.put(WAITING, len(self._waiting))
            self._wake.notify()
        return await future

    def _let_in(self, job: Job) -> None:
        """Count a job among those that wait, or refuse it if too many do."""
        number = len(job.times) if isinstance(job, Post) else 0
        if isinstance(job, Post) and self._reports[job.token] + number > MOST_OF_ONE:
            message = (
                f"more than {MOST_OF_ONE} reports of one producer wait: these were not taken; come back in 1 second"
            )
            raise Refusal(429, "rate_limited", message, "waiting reports of one producer", after=1)
        if len(self._waiting) >= self.service.limits.waiting or self._size + number > MOST_WAITING:
            message = "too many requests wait to be written; nothing was taken, send it again"
            raise Refusal(503, "busy", message, after=1)
        if isinstance(job, Post) and number:
            self._reports[job.token] += number
            self._size += number

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._stopping:
                    self._wake.wait()
                if not self._waiting:
                    return
                batch = self._take()
                self.service.counters.put(WAITING, len(self._waiting))
            results = self._write_if_room(batch)
            loops: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
            for (_, loop, future, _), result in zip(batch, results, strict=True):
                loops.setdefault(loop, []).append((future, result))
            for loop, pairs in loops.items():
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(_answer, pairs)

    def _take(self) -> list[Waiting]:
        batch: list[Waiting] = []
        reports = 0
        while self._waiting and len(batch) < MOST_JOBS and reports < MOST_REPORTS:
            item = self._waiting.popleft()
            batch.append(item)
            if isinstance(item[0], Post):
                reports += self._let_out(item[0])
        return batch

    def _let_out(self, post: Post) -> int:
        number = len(post.times)
        self._reports[post.token] -= number
        self._size -= number
        if not self._reports[post.token]:
            del self._reports[post.token]
        return number

    def _write_if_room(self, batch: Sequence[Waiting]) -> list[Any]:
        """Return each job's result or error. While the disk is nearly full, only small jobs are done."""
        if self.service.store.has_room():
            return self._write([job for job, _, _, _ in batch])
        done = iter(self._write([job for job, _, _, small in batch if small]))
        return [next(done) if small else StoreFullError() for _, _, _, small in batch]

    def _write(self, jobs: Sequence[Job]) -> list[Any]:
        """Return each job's result or error. After a bug each job is tried alone, so that only the faulty one fails."""
        try:
            for _ in range(CONFLICTS):
                with suppress(StoreConflictError):
                    return self._commit(jobs)
            return self._commit(jobs)
        except (StoreGoneError, StoreFullError) as refusal:
            return [refusal] * len(jobs)
        except Exception as error:
            if len(jobs) > 1:
                return [result for job in jobs for result in self._write([job])]
            log.exception("a job of the writer failed", extra={"kind": type(error).__name__})
            return [error]

    def _commit(self, jobs: Sequence[Job]) -> list[Any]:
        results: list[Any] = [None] * len(jobs)
        posts = [(place, job) for place, job in enumerate(jobs) if isinstance(job, Post)]
        shares = [(place, job) for place, job in enumerate(jobs) if isinstance(job, SharePost)]
        try:
            with self.service.store.transaction() as tx:
                for place, job in enumerate(jobs):
                    if not isinstance(job, Batched):
                        results[place] = self._alone(tx, job)
                answers = self.service.accept(tx, [post for _, post in posts]) if posts else []
                for (place, _), answer in zip(posts, answers, strict=True):
                    results[place] = answer
                taken = take_shares(tx, [post for _, post in shares], self.service.count) if shares else []
                for (place, _), decided in zip(shares, taken, strict=True):
                    results[place] = decided
        except BaseException:
            self.service.undone()
            raise
        return results

    def _alone(self, tx: Transaction, work: Work) -> Any:
        try:
            with tx.connection.begin_nested():  # undone alone if the work is refused
                return work(tx)
        except Refusal as refusal:
            self.service.undone()
            return refusal


def _answer(pairs: list[tuple["asyncio.Future[Any]", Any]]) -> None:
    for future, result in pairs:
        if future.done():  # the client went away
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
