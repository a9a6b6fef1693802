"""A leader or a helper is killed between any two requests, again and again: every period closes, every sum is exact.

The noise is small beside a thousand steps, and all totals are whole thousands: so the exact sum can be read off.
"""

import base64
import http.client
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from halfmask_device.split_terms import SplitTerms
from tests.service.process import PATIENCE, Served, init
from tests.service.servers import free_port, fresh_database
from tests.service.split_pair import SPLIT_CAMPAIGN, two_urls

UNIT = 1000
"""Steps of which all totals are multiples; two draws of laplace:10 stay below half of it."""
MOMENTS = ("before", "after")
PEOPLE = 3


class Between:
    """What passes from the leader to its helper, with something that happens before a request or after its answer."""

    def __init__(self, helper: int) -> None:
        self.helper, self.moment, self.path = helper, "before", "/sum"
        self.fault: Callable[[], None] | None = None
        outer = self

        class Passing(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.happen("before", self.path)
                try:
                    status, answer = outer.pass_on(self.command, self.path, dict(self.headers), body)
                except OSError:
                    status, answer = 503, b"{}"
                outer.happen("after", self.path)
                with suppress(OSError):  # the leader was killed
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)

            do_DELETE = do_POST  # noqa: N815

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Passing)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def happen(self, moment: str, path: str) -> None:
        if self.fault is not None and moment == self.moment and path.endswith(self.path):
            fault, self.fault = self.fault, None
            fault()

    def pass_on(self, method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        with closing(http.client.HTTPConnection("127.0.0.1", self.helper, timeout=PATIENCE)) as connection:
            connection.request(method, path, body, {"Authorization": headers["Authorization"]})
            answer = connection.getresponse()
            return answer.status, answer.read()


class Deployment:
    """A leader and a helper as processes that can be killed and started again."""

    def __init__(self, folder: Path, urls: tuple[str, str]) -> None:
        self.folder, self.urls, self.ports = folder, urls, (free_port(), free_port())
        self.operators = [init(url) for url in urls]
        self.between = Between(self.ports[1])
        self.addresses = f"http://127.0.0.1:{self.ports[0]}", self.between.address
        self.options = (
            ("--public-url", self.addresses[0], "--helper", self.addresses[1]),
            ("--public-url", self.addresses[1], "--most-epsilon", "1e9"),
        )
        self.served = [self.started(0), self.started(1)]

    def started(self, which: int) -> Served:
        common = ("--settle", "0", "--requests-per-second", "0")
        log = self.folder / f"{which}.log"
        return Served(self.urls[which], log, *self.options[which], *common, port=self.ports[which])

    def kill(self, which: int) -> None:
        self.served[which].stop(signal.SIGKILL)

    def restart(self, which: int) -> None:
        self.served[which] = self.started(which)

    def consumer(self, which: int) -> str:
        return str(self.served[which].ok("POST", "/v1/consumers", self.operators[which], {"name": "n"})["token"])

    def close(self) -> None:
        for each in self.served:
            each.stop(signal.SIGKILL)
        self.between.server.shutdown()
        self.between.server.server_close()


@contextmanager
def deployment(folder: Path, urls: tuple[str, str]) -> Iterator[Deployment]:
    made = Deployment(folder, urls)
    try:
        yield made
    finally:
        made.close()


def until(found: Callable[[], Any], what: str) -> Any:
    """The first true answer, for which it waits up to a minute."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if answer := found():
                return answer
        except (OSError, AssertionError, http.client.HTTPException):
            pass  # killed, or starting
        time.sleep(0.05)
    raise AssertionError(what)


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Street:
    """A split campaign of past quarter-hours, so that each period can be closed at once."""

    def __init__(self, both: Deployment) -> None:
        self.both = both
        ends = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
        self.begins = ends - timedelta(days=2)
        self.consumer = both.consumer(0)
        body = SPLIT_CAMPAIGN | {
            "period": "quarter_hour", "begins": self.begins.isoformat(), "ends": ends.isoformat(),
            "grace_minutes": 60 * 24 * 30, "lattice": {"step": "1", "low": "0", "high": "1000000"},
            "menu": {"settings": [{"id": "S", "setting": "laplace:10@split"}]}, "rewards": {},
            "split": {"helper": both.addresses[1], "token": both.consumer(1), "wait_minutes": 0},
        }  # fmt: skip
        self.campaign = both.served[0].ok("POST", "/v1/campaigns", self.consumer, body)["campaign"]
        offer = until(self._agreed, "the helper did not agree")
        self.held, self.terms = offer["campaign"], SplitTerms.read(offer["terms"])
        path = f"/v1/campaigns/{self.campaign}/producers"
        self.people = [both.served[0].ok("POST", path, None, {"setting": "S"}) for _ in range(PEOPLE)]

    def _agreed(self) -> Any:
        offer = self.both.served[0].ok("GET", f"/v1/campaigns/{self.campaign}")["split"]
        return offer if offer["campaign"] else None

    def report(self, number: int, person: int, steps: int) -> tuple[Callable[[], bool], Callable[[], bool]]:
        """Two functions that send one report: to the helper and to the leader. They may be called again."""
        time = (self.begins + timedelta(minutes=15 * number)).isoformat()
        leader, helper = self.terms.prio3.shard(steps, os.urandom(64))
        nonce, who, served = os.urandom(16).hex(), self.people[person], self.both.served
        share = {"time": time, "report": nonce, "share": text(helper)}
        report = {"time": time, "setting": "S", "report": nonce, "share": text(leader)}

        def to_helper() -> bool:
            path = f"/v1/split/{self.held}/shares"
            return fine(served[1].ok("POST", path, who["ticket"], {"shares": [share]}))

        def to_leader() -> bool:
            return fine(served[0].ok("POST", "/v1/reports", who["token"], {"reports": [report]}))

        return to_helper, to_leader

    def name(self, number: int) -> str:
        return (self.begins + timedelta(minutes=15 * number)).strftime("%Y-%m-%dT%H%MZ")

    def close(self, number: int) -> Any:
        """Ask for the period to be closed; the closed period, or None while it is closing."""
        path = f"/v1/campaigns/{self.campaign}/periods/{self.name(number)}/close"
        entry = self.both.served[0].ok("POST", path, self.consumer)
        return entry if entry["state"] == "closed" else None


def fine(answer: dict[str, Any]) -> bool:
    return bool(answer["results"][0]["status"] in ("accepted", "known"))


def trial(street: Street, number: int, chance: random.Random) -> None:
    """Report, close and kill at one moment; the sum must be exact."""
    both, between = street.both, street.both.between
    which, moment = chance.choice((0, 1)), chance.choice((*MOMENTS, "while reporting"))
    totals = [UNIT * chance.randrange(1000) for _ in range(PEOPLE)]
    reports = [street.report(number, person, total) for person, total in enumerate(totals)]
    steps = [step for pair in reports for step in pair]
    struck = threading.Event()

    def strike() -> None:
        both.kill(which)
        struck.set()

    if moment == "while reporting":
        for place, step in enumerate(steps):
            if place == len(steps) // 2:
                strike()
                both.restart(which)
            until(step, "a report was not taken")
    else:
        for step in steps:
            assert step()
        between.moment, between.path, between.fault = moment, chance.choice(("/verify", "/sum")), strike
        until(lambda: struck.is_set() or street.close(number), "the helper was asked nothing")
        assert struck.is_set()
        both.restart(which)
    entry = until(lambda: street.close(number), "the period stays open")
    assert entry["split"] == {"counted": PEOPLE, "invalid": 0, "missing": 0}, (which, moment)
    assert round(entry["sum"]["estimate"] / UNIT) * UNIT == sum(totals), (which, moment)


def kills(both: Deployment, count: int, seed: int) -> None:
    street, chance = Street(both), random.Random(seed)
    for number in range(count):
        trial(street, number, chance)


def test_killed_services_go_on_where_they_were(tmp_path: Path) -> None:
    """Both are killed at moments around the helper's only sum: it takes seconds, because processes start again."""
    with deployment(tmp_path, two_urls(tmp_path)) as both:
        kills(both, 3, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres", "mariadb"])
def test_kill_9_between_any_two_requests(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """100 kills, most of them on SQLite."""
    urls = two_urls(tmp_path)
    if kind != "sqlite":
        address = request.getfixturevalue(f"{kind}_address")
        urls = fresh_database(address), fresh_database(address)
    with deployment(tmp_path, urls) as both:
        kills(both, 60 if kind == "sqlite" else 20, seed=2)
