"""How long a post to another campaign waits while a period closes and its reports are deleted, by size of the period.

``HALFMASK_BENCH_REPORTS`` names other sizes, ``HALFMASK_BENCH_STORES`` other databases. The service and its client run
in one process, as one worker and a meter on the same machine.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
from sqlalchemy import text

from halfmask.service.campaign import check_campaign
from halfmask.service.cells import count_reports
from halfmask.service.closing import close_due, delete_closed
from halfmask.service.http.app import create_app
from halfmask.service.rate_limits import Limits
from halfmask.service.report_decisions import Post
from halfmask.service.request import digest, issue, system_clock
from halfmask.service.serve import initialise
from halfmask.service.service import Service
from halfmask.service.storage.database_kinds import file_of
from halfmask.service.storage.identity_rows import producers
from halfmask.service.storage.report_rows import ReportRow
from halfmask.service.storage.sql_store import Store, open_store
from halfmask_device.campaign_calendar import Span
from halfmask_device.instants import DAY, MINUTE, instant_text

SIZES = tuple(int(each) for each in os.environ.get("HALFMASK_BENCH_REPORTS", "100000 1000000 5000000").split())
READINGS = 48
AT_ONCE = 960
"""Producers whose reports are stored in one transaction."""
IDLE = 5.0
"""Seconds for which posts are measured while nothing else happens."""
PAUSE = 0.01
WAITING = 50
"""Posts of ten reports per batch of a worker, when two of them work."""


@dataclass
class Posts:
    """Posts of one report each to a small campaign, one after the other; the seconds that each took."""

    client: httpx.AsyncClient
    token: str
    first: int
    took: list[float] = field(default_factory=list)
    sent: int = 0

    async def send(self) -> None:
        self.sent += 1
        report = {"time": instant_text(self.first + self.sent), "steps": 5, "setting": "A"}
        began = time.perf_counter()
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = await self.client.post("/v1/reports", json={"reports": [report]}, headers=headers)
        self.took.append(time.perf_counter() - began)
        if answer.json()["results"][0]["status"] != "accepted":
            raise RuntimeError(answer.text)

    async def during(self, work: Awaitable[Any]) -> tuple[list[float], float]:
        """Return the seconds of the posts that were sent while something was done, and how long that took."""
        began, self.took = time.perf_counter(), []
        task = asyncio.ensure_future(work)
        while not task.done():
            await self.send()
            await asyncio.sleep(PAUSE)
        await task
        return self.took, time.perf_counter() - began


def terms(now: int, **more: Any) -> dict[str, Any]:
    return check_campaign(
        {
            "name": "bench", "purpose": "bench", "unit": "kWh", "lattice": {"step": "0.001", "low": "0", "high": "20"},
            "begins": instant_text(now - 9 * DAY), "ends": instant_text(now + 9 * DAY), "grace_minutes": 1440 * 3,
            "menu": {"settings": [{"id": "A", "setting": "laplace:0.5"}, {"id": "N", "setting": "none"}]}, **more,
        }
    )  # fmt: skip


def fill(store: Store, service: Service, campaign: int, span: Span, reports: int) -> float:
    """Store a day of half-hours of as many meters as it takes. Return the seconds."""
    began, members = time.perf_counter(), max(1, reports // READINGS)
    with store.transaction() as tx:
        found = service.campaign_of(tx, campaign)
        tx.make_room(*found.room(span))
        tx._insert(producers, [(f"b{each}", campaign, "A", 0, None, None) for each in range(members)])
        query = text("SELECT min(id) FROM producers WHERE public LIKE 'b%'")
        first = int(tx.connection.execute(query).scalar_one())
    for start in range(first, first + members, AT_ONCE):
        rows = [
            ReportRow(member, span.begins + 30 * MINUTE * half, (member * 7 + half) % 5000, "A", 0)
            for member in range(start, min(start + AT_ONCE, first + members))
            for half in range(READINGS)
        ]
        with store.transaction() as tx:
            tx.add_reports(found.bucket(span), rows)
            tx.add_to_cells(campaign, span.key, count_reports(rows))
    return time.perf_counter() - began


def size_of(store: Store) -> int:
    """Return the bytes of the stored reports with their index: of the file, or of the tables of PostgreSQL."""
    file = file_of(store.engine.url)
    with store.engine.connect() as connection:
        if file is not None:
            connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
            pages, free, page = (
                connection.execute(text(f"PRAGMA {name}")).scalar_one()
                for name in ("page_count", "freelist_count", "page_size")
            )
            return int((pages - free) * page)
        query = "SELECT sum(pg_total_relation_size(inhrelid)) FROM pg_inherits WHERE inhparent = 'reports'::regclass"
        return int(connection.execute(text(query)).scalar() or 0)


async def measure(name: str, address: str, reports: int) -> None:
    """Print one row: waits of posts while idle, while the period closes and while its reports are deleted."""
    store, later = open_store(address), [0]
    service = Service(store, lambda: system_clock() + later[0], Limits(requests_per_second=None))
    app, now = create_app(service, close_every=None), system_clock()
    with store.transaction() as tx:
        keys = [
            tx.add_campaign(each, 1, terms(now, period=kind), now)
            for each, kind in (("big", "day"), ("small", "month"))
        ]
        token = issue(tx, "producer", tx.add_producer("small", keys[1], "A", now), now)
        campaign = service.campaign_of(tx, keys[0])
    span = campaign.calendar.span_of(now - 3 * DAY)
    before = size_of(store)
    filled = fill(store, service, keys[0], span, reports)
    each = (size_of(store) - before) / reports
    later[0] = campaign.deadline(span) - now if campaign.deadline(span) > now else 0
    transport = httpx.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx.AsyncClient(transport=transport, base_url="http://s") as client:
        posts = Posts(client, token, now - MINUTE)
        await posts.during(asyncio.sleep(1.0))
        idle, _ = await posts.during(asyncio.sleep(IDLE))
        later[0] += MINUTE
        writer = app.state.writer
        closing, closed = await posts.during(close_due(service, writer, service.clock()))
        with store.reading() as tx:
            found = tx.closed(keys[0], span.begins, span.begins)[span.key].entry
        if found["reports"] != reports // READINGS * READINGS:
            raise RuntimeError("the period did not close with all reports")
        deleting, deleted = await posts.during(delete_closed(service, writer, service.clock()))
        with store.reading() as tx:
            if next(tx.reports_in(campaign.bucket(span)), None) is not None:
                raise RuntimeError("reports were left")
    median = sorted(idle)[len(idle) // 2]
    cells = [median, max(idle), max(closing), max(deleting)]
    waits = " ".join(f"{1e3 * wait:9.1f}" for wait in cells)
    most = max(max(closing), max(deleting)) / median
    print(
        f"{name:11} {reports:9,} {filled:8.0f} s {each:6.0f} {waits} {most:8.1f} {closed:8.2f} s {deleted:8.1f} s",
        flush=True,
    )
    store.close()


def taken_by_two(address: str, campaigns: int) -> float:
    """Return the reports per second that two workers take together, on one campaign or each on its own."""
    store, now, taken = open_store(address), system_clock(), [0, 0]
    services = [Service(open_store(address)) for _ in taken]
    with store.transaction() as tx:
        keys = [tx.add_campaign(f"{campaigns}-{each}", 1, terms(now, period="month"), now) for each in range(campaigns)]
        tokens = [
            [
                digest(issue(tx, "producer", tx.add_producer(f"{campaigns}-{worker}-{each}", key, "A", now), now))
                for each in range(WAITING)
            ]
            for worker, key in enumerate((keys * 2)[:2])
        ]
    until = time.monotonic() + IDLE

    def work(worker: int) -> None:
        for turn in count():
            if time.monotonic() >= until:
                return
            times = [now - MINUTE - turn * 10 - each for each in range(10)]
            posts = [Post(token, now, times, [5] * 10, ["A"] * 10) for token in tokens[worker]]
            with services[worker].store.transaction() as tx:
                services[worker].accept(tx, posts)
            taken[worker] += 10 * len(posts)

    threads = [Thread(target=work, args=(worker,)) for worker in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in (store, *(service.store for service in services)):
        each.close()
    return sum(taken) / IDLE


@contextmanager
def databases() -> Iterator[dict[str, Any]]:
    """Functions that make the address of a new database, by the name of the kind."""
    from tests.service.servers import fresh_database, postgres_server

    wanted = os.environ.get("HALFMASK_BENCH_STORES", "SQLite PostgreSQL").split()
    with tempfile.TemporaryDirectory() as folder, postgres_server() as server:
        names = iter(range(100))
        known = {
            "SQLite": lambda: f"sqlite:///{Path(folder) / f'{next(names)}.db'}",
            "PostgreSQL": lambda: fresh_database(server),
        }
        yield {name: known[name] for name in wanted}


def run() -> None:
    """Print a row per database and size of the period. Waits are in milliseconds."""
    print(f"closing: load average {os.getloadavg()[0]:.1f}", flush=True)
    print("database      reports   filled  bytes  idle median   longest   closing  deleting  ratio    closed   deleted")
    with databases() as known:
        for name, make in known.items():
            for reports in SIZES:
                address = make()
                initialise(address)
                asyncio.run(measure(name, address, reports))
            if name != "SQLite":
                one, two = (taken_by_two(address, campaigns) for campaigns in (1, 2))
                print(f"{name}: two workers take {one:,.0f} reports/s of one campaign, {two:,.0f} of one each")
