"""The program: made once, started, stopped, killed; its streams, its log, and a store that goes away and comes back."""

import asyncio
import http.client
import json
import random
import signal
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import halfmask
from halfmask.service.closing import delete_closed
from halfmask.service.http.app import create_app
from halfmask.service.refusal import Refusal
from halfmask.service.serve import ServeOptions, initialise, run
from halfmask.service.storage.sql_store import StoreConflictError, StoreFullError, StoreGoneError, open_store
from tests.refusals import refused
from tests.service.process import Served, init, served
from tests.service.world import CAMPAIGN, World, running, sqlite_url

TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
"""Of all tests here: the day may end while they run."""


def begin(service: Served, operator: str, **changed: Any) -> tuple[str, str]:
    consumer = service.ok("POST", "/v1/consumers", operator, {"name": "utility"})["token"]
    return consumer, service.ok("POST", "/v1/campaigns", consumer, ended(**changed))["campaign"]


def ended(**changed: Any) -> dict[str, Any]:
    """A campaign whose days have just ended, by the real clock, and are open for another year."""
    begins, ends = TODAY - timedelta(days=4), TODAY - timedelta(days=1)
    times = {"begins": begins.isoformat(), "ends": ends.isoformat(), "time_zone": "UTC", "grace_minutes": 60 * 24 * 365}
    return CAMPAIGN | times | changed


def days(campaign: dict[str, Any]) -> list[str]:
    first = datetime.fromisoformat(campaign["begins"])
    return [(first + timedelta(days=number)).date().isoformat() for number in range(3)]


def events(service: Served, path: str, token: str, wanted: int, last: str | None = None) -> list[tuple[str, Any]]:
    """So many events of a stream: their ids and entries."""
    found: list[tuple[str, Any]] = []
    with closing(service.connect()) as connection:
        headers = {"Authorization": f"Bearer {token}"} | ({"Last-Event-ID": last} if last else {})
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        while len(found) < wanted:
            line = answer.readline().decode().rstrip("\n")
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
            elif "data" in fields:
                assert fields["event"] == "period"
                found.append((fields["id"], json.loads(fields["data"])))
                fields = {}
    return found


def test_from_init_to_stop(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path)
    with refused("option.missing", "init", "db"):
        open_store(url)
    operator = init(url)
    with refused("option.initialised", "init", "rotate"):
        initialise(url)
    with served(url, tmp_path / "log") as service:
        consumer, campaign = begin(service, operator)
        first, second, _ = days(ended())
        path = f"/v1/campaigns/{campaign}"
        for number in range(3):
            token = service.ok("POST", f"{path}/producers", None, {"setting": "A"})["token"]
            body = {"reports": [{"time": f"{first}T10:00:00Z", "steps": 1000 + number, "setting": "N"}]}
            assert service.ok("POST", "/v1/reports", token, body)["results"][0]["status"] == "accepted"
        shut = [service.ok("POST", f"{path}/periods/{day}/close", consumer) for day in (first, second)]
        told = events(service, f"{path}/stream", consumer, 2)
        assert [entry for _, entry in told] == shut
        assert events(service, f"{path}/stream", consumer, 1, last=told[0][0]) == told[1:]
        assert service.stop() == 0
    log = (tmp_path / "log").read_text()
    assert "what to do next" in log
    assert "stopped; what was accepted is on disk" in log
    assert operator not in log
    rotated = initialise(url, rotate=True)
    with served(url, tmp_path / "log") as service:
        assert service.send("POST", "/v1/consumers", operator, {"name": "n"})[0] == 401
        service.ok("POST", "/v1/consumers", rotated, {"name": "n"})
        assert service.stop(signal.SIGINT) == 0
    owed = halfmask.payout(tmp_path / "payout.csv", db=url)
    assert [(row.campaign, row.amount, row.currency) for row in owed] == [(campaign, 5, "EUR/1000")] * 3
    header, *rows = (tmp_path / "payout.csv").read_text().splitlines()
    assert header == "campaign,producer,amount,currency"
    assert rows == [f"{campaign},{row.producer},5,EUR/1000" for row in owed]
    found, _ = halfmask.suspects(campaign, db=url)
    assert (found.tested, found.suspects) == (0, ())


def test_what_was_acknowledged_survives_kill_9_and_counts_once(tmp_path: Path) -> None:
    """Killed while a client sends; what has no answer is sent again to the next process."""
    rounds = 1
    url, chance = sqlite_url(tmp_path), random.Random(1)
    operator, log = initialise(url), tmp_path / "log"
    assert operator is not None
    options = ("--requests-per-second", "0")
    with served(url, log, *options) as service:
        consumer, campaign = begin(service, operator, menu={"settings": [{"id": "N", "setting": "none"}]}, rewards={})
        path = f"/v1/campaigns/{campaign}"
        producers = [service.ok("POST", f"{path}/producers", None, {"setting": "N"})["token"] for _ in range(3)]
        service.stop(signal.SIGKILL)
    first, sent = days(ended())[0], 0
    for round_ in range(rounds):
        with served(url, log, *options) as service:
            until = sent + chance.randrange(10, 60)
            killed = False
            while sent < until or not killed:
                time = f"{first}T{sent // 60 % 24:02}:{sent % 60:02}:00Z"
                body = {"reports": [{"time": time, "steps": 1 + sent, "setting": "N"}]}
                if sent >= until:
                    service.process.send_signal(signal.SIGKILL)  # perhaps before, perhaps after the commit
                    killed = True
                try:
                    results = service.ok("POST", "/v1/reports", producers[sent % 3], body)["results"]
                except (OSError, http.client.HTTPException, ValueError):
                    break
                assert results[0]["status"] in ("accepted", "known"), (round_, results)
                sent += 1
            service.stop(signal.SIGKILL)
    with served(url, log, *options) as service:
        closed = service.ok("POST", f"{path}/periods/{first}/close", consumer)
        status, _ = service.send("GET", "/v1/health")
        assert status == 200
    extra = closed["reports"] - sent  # the very last may be on disk without an answer
    assert extra in (0, 1)
    expected = sum(range(1, closed["reports"] + 1))
    assert round(closed["sum"]["estimate"] * 1000) == expected


def test_a_stream_that_is_open_ends_when_the_service_is_told_to_stop(tmp_path: Path) -> None:
    url, log = sqlite_url(tmp_path), tmp_path / "log"
    operator = init(url)
    assert [oct(path.stat().st_mode & 0o777) for path in tmp_path.glob("*.db*")] == ["0o600"]  # its owner's alone
    service = Served(url, log)
    consumer, campaign = begin(service, operator)
    with closing(service.connect()) as connection:
        headers = {"Authorization": f"Bearer {consumer}"}
        connection.request("GET", f"/v1/campaigns/{campaign}/stream", headers=headers)
        stream = connection.getresponse()
        assert stream.readline().startswith(b":")
        assert service.stop() == 0
        stream.read()  # to its end, which a cancelled stream does not have
    assert '"level": "error"' not in log.read_text()


def test_workers_need_a_server(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path)
    initialise(url)
    with refused("option.workers", "workers", "db"):
        run(ServeOptions(url, workers=2), tell=lambda _: None)


@pytest.mark.parametrize(
    ("fault", "status", "code"), [(StoreGoneError, 503, "store_unavailable"), (StoreFullError, 507, "storage_full")]
)
def test_a_store_that_fails_is_told_and_waited_for(
    world: World, monkeypatch: pytest.MonkeyPatch, fault: type[Exception], status: int, code: str
) -> None:
    producer = world.join(world.campaign(world.consumer()))
    body = {"reports": [{"time": "2026-11-16T11:00:00Z", "steps": 5, "setting": "A"}]}

    def fail(*_: object) -> Any:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(world.store, "transaction", fail)
        patched.setattr(world.store, "reading", fail)
        assert world.refused(status, "POST", "/v1/reports", producer, body)["code"] == code
        assert world.refused(status, "GET", "/v1/me", producer)["code"] == code
        assert world.refused(status, "GET", "/v1/health")["code"] == code
    assert world.ok("GET", "/v1/health") == {"status": "ok"}
    assert world.ok("POST", "/v1/reports", producer, body)["results"][0]["status"] == "accepted"


def test_jobs_that_lose_a_deadlock_are_done_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = world.join(world.campaign(world.consumer()))
    real, lost = world.store.transaction, [StoreConflictError] * 3

    def losing() -> Any:
        if lost:
            raise lost.pop()
        return real()

    monkeypatch.setattr(world.store, "transaction", losing)
    assert world.report(producer, ("2026-11-16T11:00:00Z", 5, "A"))[0]["status"] == "accepted"
    assert not lost


def test_a_campaign_of_a_transaction_that_failed_is_not_remembered(world: World) -> None:
    """Its key is another campaign's later."""
    token = world.consumer()

    def add(tx: Any) -> None:
        key = tx.add_campaign("phantom", 1, CAMPAIGN | {"clock_skew_minutes": 5}, 0)
        assert world.service.campaign(tx, key) is not None
        raise Refusal(422, "unfit", "undone")

    with pytest.raises(Refusal):
        world.wait(world.app.state.writer.submit(add))
    campaign = world.campaign(token)
    with world.store.reading() as tx:
        row: Any = tx.campaign(campaign)
        assert world.service.campaign_of(tx, row.key).public == campaign
        assert world.service.campaign(tx, "phantom") is None


def test_closing_goes_on_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(sqlite_url(tmp_path)) as world:
        real, failures, again = world.service.due, [RuntimeError("a bug")], threading.Event()

        def due(*asked: Any) -> Any:
            if failures:
                raise failures.pop()
            again.set()
            return real(*asked)

        monkeypatch.setattr(world.service, "due", due)
        app = create_app(world.service, close_every=0.01)

        async def live() -> bool:
            async with app.router.lifespan_context(app):
                return await asyncio.to_thread(again.wait, 60)

        assert world.wait(live())


def test_deleted_reports_are_gone_from_the_file(tmp_path: Path) -> None:
    """Every report has a number of its own that would be found in the file; after the deletion none is."""
    url = sqlite_url(tmp_path)
    with running(url) as world:
        consumer = world.consumer()
        wide = {"step": "1", "low": "0", "high": "100000000000000"}
        campaign = world.campaign(consumer, lattice=wide, least_producers=1)
        numbers = [0x112233445566 + place for place in range(3000)]
        for producer in range(3):
            token = world.join(campaign, "N")
            times = [f"2026-11-16T{k // 3600 % 12:02}:{k // 60 % 60:02}:{k % 60:02}Z" for k in range(0, 36_000, 36)]
            own = numbers[1000 * producer : 1000 * producer + 1000]
            told = world.report(token, *zip(times, own, ["N"] * 1000, strict=True))
            assert {each["status"] for each in told} == {"accepted"}
        assert left_in(tmp_path, numbers) == 3000
        world.clock.set("2026-11-17T12:00:00Z")
        shown = world.periods(campaign, consumer)["2026-11-16"]
        assert shown["reports"] == 3000
        writer, now = world.app.state.writer, world.clock()
        assert world.wait(delete_closed(world.service, writer, now - 1)) == 0
        assert left_in(tmp_path, numbers) == 3000
        assert world.wait(delete_closed(world.service, writer, now)) == 1
        assert world.wait(delete_closed(world.service, writer, now)) == 0
        assert world.periods(campaign, consumer)["2026-11-16"] == shown
    assert left_in(tmp_path, numbers) == 0


def left_in(folder: Path, numbers: list[int]) -> int:
    """How many of the numbers stand in the database, its log merged into it."""
    (file,) = folder.glob("*.db")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    held = b"".join(each.read_bytes() for each in folder.glob("*.db*"))
    return sum(number.to_bytes(6, "big") in held for number in numbers)


def test_a_disk_that_is_nearly_full_is_refused_before_it_is(world: World) -> None:
    producer = world.join(world.campaign(world.consumer()))
    body = {"reports": [{"time": "2026-11-16T11:00:00Z", "steps": 5, "setting": "A"}]}
    world.store.least_room = 2**62
    assert world.refused(507, "POST", "/v1/reports", producer, body)["code"] == "storage_full"
    world.ok("GET", "/v1/me", producer)
    world.store.least_room = 0
    assert world.ok("POST", "/v1/reports", producer, body)["results"][0]["status"] == "accepted"


def test_a_bug_in_one_request_spoils_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A post that breaks the writer's batch is tried alone; its answer repeats nothing, and the next is served."""
    from halfmask.service import report_decisions

    campaign = world.campaign(world.consumer())
    producers = [world.join(campaign) for _ in range(2)]
    real = report_decisions._Batch._each

    def broken(self: Any, post: Any, *rest: Any) -> Any:
        if 666 in post.steps:
            raise KeyError("secret 666")
        return real(self, post, *rest)

    monkeypatch.setattr(report_decisions._Batch, "_each", broken)
    bad = {"reports": [{"time": "2026-11-16T11:00:00Z", "steps": 666, "setting": "A"}]}
    answer = world.send("POST", "/v1/reports", producers[0], bad)
    assert answer.status_code == 500
    assert "666" not in answer.text
    assert world.report(producers[1], ("2026-11-16T11:00:00Z", 5, "A"))[0]["status"] == "accepted"
