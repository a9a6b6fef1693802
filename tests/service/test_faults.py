"""Faults for real: processes killed, a full disk, a database that goes away, slow and idle clients, several workers.

What was acknowledged counts exactly once, every time; ``HALFMASK_KILLS`` makes the longest of them shorter.
"""

import contextlib
import http.client
import os
import random
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from halfmask.service.serve import initialise
from tests.service.fleet import Fleet, wait_until
from tests.service.process import COMMAND, PATIENCE, Served, children, env_of, served
from tests.service.servers import Postgres, free_port, fresh_database, wait_for_port
from tests.service.test_serve import begin
from tests.service.world import sqlite_url

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("HALFMASK_KILLS", "200"))
NO_LIMIT = ("--requests-per-second", "0")


def database_of(kind: str, folder: Path, request: pytest.FixtureRequest) -> str:
    return sqlite_url(folder) if kind == "sqlite" else fresh_database(request.getfixturevalue(f"{kind}_address"))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_kill_9_at_random_moments_loses_and_doubles_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, log, port, chance = database_of(kind, tmp_path, request), tmp_path / "log", free_port(), random.Random(5)
    operator = initialise(url)
    assert operator is not None
    service = Served(url, log, *NO_LIMIT, port=port)
    fleet = Fleet(service, operator, 8)
    ups = []
    with fleet.sending():
        for number in range(KILLS):
            before = fleet.acknowledged
            wait_until(lambda before=before: fleet.acknowledged > before, "nothing was acknowledged")
            time.sleep(chance.uniform(0, 0.3))
            service.stop(signal.SIGKILL)
            if number % 10 == 0:  # once more, while it starts
                words = [*COMMAND, "serve", "--settle", "0", "--port", str(port)]
                quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env_of(url)}
                starting = subprocess.Popen(words, **quiet)
                time.sleep(chance.uniform(0, 2))
                starting.kill()
                starting.wait(PATIENCE)
            began = time.monotonic()
            service = fleet.service = Served(url, log, *NO_LIMIT, port=port)
            ups.append(time.monotonic() - began)
    counted = fleet.check()
    service.stop()
    ups.sort()
    print(
        f"{kind}: {KILLS} kills, {counted} reports, each once; up again after {statistics.median(ups):.2f} s, "
        f"at most {ups[-1]:.2f} s"
    )
    assert counted > KILLS


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 72 MiB: the service stops taking reports where 64 MiB are left."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=72m", "tmpfs", folder], capture_output=True)
    if made.returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_disk_that_fills_up_is_told_of_and_waited_for(small_disk: Path, tmp_path: Path) -> None:
    url = sqlite_url(small_disk)
    operator = initialise(url)
    assert operator is not None
    with served(url, tmp_path / "log", *NO_LIMIT) as service:
        fleet = Fleet(service, operator, 4)
        with fleet.sending():
            wait_until(lambda: fleet.acknowledged > 20, "nothing was acknowledged")
            ballast = small_disk / "ballast"
            ballast.write_bytes(b"x" * 12 * 2**20)
            wait_until(lambda: fleet.seen(507) > 3, "the disk was not found to be full")
            status, told = service.send("GET", "/v1/me", fleet.meters[0].token)
            assert (status, told["campaign"]) == (200, fleet.campaign)  # what is there can still be read
            before = fleet.acknowledged
            ballast.unlink()
            wait_until(lambda: fleet.acknowledged > before + 20, "it did not recover")
        fleet.check()


def test_a_disk_without_a_byte_left_spoils_nothing(small_disk: Path) -> None:
    """Where the guard is off, the database itself meets the end of the disk, within a transaction."""
    from halfmask.service.rate_limits import Limits
    from tests.service.world import running

    with running(sqlite_url(small_disk), Limits(None, None)) as world:
        producer = world.join(world.campaign(world.consumer()))
        world.report(producer, ("2026-11-16T10:00:00Z", 5, "A"))
        room = shutil.disk_usage(small_disk).free
        (small_disk / "ballast").write_bytes(b"x" * (room - 20_000))
        times = [f"2026-11-16T{place // 3600 + 1:02}:{place // 60 % 60:02}:{place % 60:02}Z" for place in range(9000)]
        body = {"reports": [{"time": each, "steps": 7, "setting": "A"} for each in times]}
        assert world.refused(507, "POST", "/v1/reports", producer, body)["code"] == "storage_full"
        (small_disk / "ballast").unlink()
        results = world.ok("POST", "/v1/reports", producer, body)["results"]
        assert {each["status"] for each in results} == {"accepted"}


def test_a_database_that_goes_away_is_waited_for(tmp_path: Path) -> None:
    """PostgreSQL is stopped at once, twice, and started again."""
    with Postgres.running() as server:
        url = fresh_database(server.address)
        operator = initialise(url)
        assert operator is not None
        with served(url, tmp_path / "log", *NO_LIMIT) as service:
            fleet = Fleet(service, operator, 4)
            with fleet.sending():
                for how in (signal.SIGINT, signal.SIGQUIT):
                    before = fleet.acknowledged
                    wait_until(lambda before=before: fleet.acknowledged > before + 20, "nothing was acknowledged")
                    server.stop(how)
                    refused = fleet.seen(503)
                    wait_until(lambda refused=refused: fleet.seen(503) > refused, "nobody was told")
                    assert service.send("GET", "/v1/health")[0] == 503
                    server.start()
            fleet.check()
            assert service.ok("GET", "/v1/health") == {"status": "ok"}


@pytest.mark.parametrize("kind", ["postgres", "mariadb"])
def test_several_workers_count_each_report_once(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Three processes on one database; one of them is killed now and then, and its master starts another."""
    url = database_of(kind, tmp_path, request)
    operator = initialise(url)
    assert operator is not None
    port = free_port()
    with served(url, tmp_path / "log", *NO_LIMIT, "--workers", "3", port=port) as service:
        wait_for_port(port, service.process)
        fleet = Fleet(service, operator, 12, budget=2000)
        twins = [type(meter)(fleet.where, meter.token, fleet.day, seed, 0.0) for seed, meter in enumerate(fleet.meters)]
        for twin in twins:  # each sends the same as its meter, over a connection of its own
            twin.start()
        with fleet.sending():
            for _ in range(3):
                before = fleet.acknowledged
                wait_until(lambda before=before: fleet.acknowledged > before + 300, "nothing was acknowledged")
                workers = children(service.process.pid)
                assert len(workers) >= 3
                os.kill(workers[-1], signal.SIGKILL)
                wait_until(
                    lambda workers=workers: len(set(children(service.process.pid)) - set(workers)) > 0,
                    "no new worker was started",
                )
        for twin in twins:
            twin.stopping.set()
            twin.join(PATIENCE)
            assert twin.wrong == []
        values = {(meter.token, *each) for meter in (*fleet.meters, *twins) for each in meter.acknowledged}
        path = f"/v1/campaigns/{fleet.campaign}"
        paid = sum(fleet.booked(meter) for meter in fleet.meters)
        assert paid == service.ok("GET", f"{path}/ledger", fleet.consumer)["expected"] == min(len(values), 2000)
        closed = service.ok("POST", f"{path}/periods/{fleet.day}/close", fleet.consumer)
        assert closed["reports"] == len(values)
        assert closed["sum"]["estimate"] == sum(value for _, _, value in values)
        with contextlib.closing(service.connect()) as connection:
            connection.request("GET", f"{path}/stream", headers={"Authorization": f"Bearer {fleet.consumer}"})
            stream = connection.getresponse()
            assert stream.readline().startswith(b":")
            assert service.stop() == 0
            stream.read()  # to its end, which a cancelled stream does not have


def answer_on(connection: socket.socket) -> bytes:
    with http.client.HTTPResponse(connection) as answer:
        answer.begin()
        assert answer.status == 200
        return answer.read()


def test_streams_of_several_workers_end_when_the_service_is_told_to_stop(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url, log = database_of("postgres", tmp_path, request), tmp_path / "log"
    operator = initialise(url)
    assert operator is not None
    service = Served(url, log, "--workers", "2", port=free_port())
    wait_until(lambda: answers(service), "the workers do not answer")
    consumer, campaign = begin(service, operator)
    with contextlib.ExitStack() as stack:
        streams = []
        for _ in range(8):  # some at each of the workers, most likely
            connection = stack.enter_context(contextlib.closing(service.connect()))
            headers = {"Authorization": f"Bearer {consumer}"}
            connection.request("GET", f"/v1/campaigns/{campaign}/stream", headers=headers)
            streams.append(connection.getresponse())
            assert streams[-1].readline().startswith(b":")
        assert service.stop() == 0
        for stream in streams:
            stream.read()  # to its end, which a cancelled stream does not have
    assert '"level": "error"' not in log.read_text()


def test_workers_end_with_their_master(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    url = database_of("postgres", tmp_path, request)
    initialise(url)
    service = Served(url, tmp_path / "log", "--workers", "2", port=free_port())
    wait_until(lambda: answers(service), "the workers do not answer")
    workers = children(service.process.pid)
    assert len(workers) >= 2
    service.stop(signal.SIGKILL)
    wait_until(lambda: not any(runs(each) for each in workers), "a worker is still there")


def runs(process: int) -> bool:
    """Whether a process is there and has not ended: one that nobody waits for stays in the list."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def answers(service: Served) -> bool:
    try:
        return service.send("GET", "/v1/health")[0] == 200
    except OSError:
        return False


def test_slow_and_idle_clients_hold_up_nobody(tmp_path: Path) -> None:
    """10,000 connections that say nothing, and a hundred that say a byte now and then."""
    wanted, slow = 10_000, 100
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted + 1000:
        pytest.skip(f"this machine allows {hard} open files")
    url = sqlite_url(tmp_path)
    operator = initialise(url)
    assert operator is not None
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    held: list[socket.socket] = []
    try:
        with served(url, tmp_path / "log", *NO_LIMIT) as service:
            fleet = Fleet(service, operator, 4)
            for _ in range(wanted):
                held.append(socket.create_connection(fleet.where(), timeout=PATIENCE))  # noqa: PERF401 - one by one
            body = b'{"reports": [{"time": "%sT10:00:00.5Z", "steps": 3, "setting": "N"}]}' % fleet.day.encode()
            token = fleet.meters[0].token.encode()
            head = b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n" % token
            head += b"Content-Length: %d\r\n\r\n" % len(body)
            said = head + body
            with fleet.sending():
                before = fleet.acknowledged
                for place in range(len(said) - 1):
                    for each in held[:slow]:
                        each.sendall(said[place : place + 1])
                wait_until(lambda: fleet.acknowledged > before + 200, "slow clients hold up the others")
                for each in held[:slow]:
                    each.sendall(said[-1:])
                answers = [answer_on(each) for each in held[:slow]]
            assert sum(b'"accepted"' in answer for answer in answers) == 1  # all said the same
            assert sum(b'"known"' in answer for answer in answers) == slow - 1
            fleet.meters[0].sent.append(("", 3))
            fleet.meters[0].acknowledged.append(("", 3))
            fleet.check()
            for each in held:
                each.close()
            assert service.ok("GET", "/v1/health") == {"status": "ok"}
            assert service.stop() == 0
    finally:
        for each in held:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
