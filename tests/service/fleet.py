"""Meters that send reports of unique values, again and again until they are acknowledged: the sum tells of each."""

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from tests.service.process import Served
from tests.service.test_serve import begin, days, ended

PATIENCE = 120
WAITING = (429, 503, 507)
"""Answers after which a meter sends the same again."""
FAR: dict[str, Any] = {
    "lattice": {"step": "1", "low": "0", "high": str(2**32)},
    "menu": {"settings": [{"id": "N", "setting": "none"}]},
    "rewards": {"N": 1},
    "budget": 10**9,
    "least_producers": 1,
}
"""A campaign that takes any value of 32 bits as it is: sums of two million of them are exact as floating point."""


class Meter(threading.Thread):
    """One producer. ``sent`` and ``acknowledged`` hold (time, value); it stops after the report that it is at."""

    sizes: tuple[int, ...] = (1, 1, 1, 5, 20)

    def __init__(self, where: Callable[[], tuple[str, int]], token: str, day: str, seed: int, pause: float) -> None:
        super().__init__(daemon=True)
        self.where, self.token, self.pause = where, token, pause
        self.begins = datetime.fromisoformat(f"{day}T00:00:00+00:00")
        self.chance = random.Random(seed)
        self.sent: list[tuple[str, int]] = []
        self.acknowledged: list[tuple[str, int]] = []
        self.answers: dict[int, int] = {}
        self.wrong: list[Any] = []
        self.stopping = threading.Event()
        self._connection: http.client.HTTPConnection | None = None

    def run(self) -> None:
        while not self.stopping.is_set():
            size, first = self.chance.choice(self.sizes), len(self.sent)
            moments = [(self.begins + timedelta(milliseconds=first + place)).isoformat() for place in range(size)]
            batch = [(moment, self.chance.getrandbits(32)) for moment in moments]
            self.sent += batch
            self.deliver(batch)
            time.sleep(self.pause)
        self.hang_up()

    def deliver(self, batch: Sequence[tuple[str, int]]) -> None:
        """Send until the service's own receipt is there."""
        body = json.dumps({"reports": [{"time": at, "steps": value, "setting": "N"} for at, value in batch]})
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            status, plain = self._ask(body)
            self.answers[status] = self.answers.get(status, 0) + 1
            if status == 200:
                states = [each["status"] for each in plain["results"]]
                self.wrong += [each for each in plain["results"] if each["status"] not in ("accepted", "known")]
                self.acknowledged += [one for one, state in zip(batch, states, strict=True) if state != "refused"]
                return
            if status not in (0, *WAITING):
                self.wrong.append((status, plain))
                return
            time.sleep(random.uniform(0.02, 0.2))  # the values must not depend on how often
        self.wrong.append("nobody answered in time")

    def _ask(self, body: str) -> tuple[int, Any]:
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(*self.where(), timeout=PATIENCE)
            self._connection.request("POST", "/v1/reports", body, {"Authorization": f"Bearer {self.token}"})
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            self.hang_up()
            return 0, None

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class Fleet:
    """Meters of one campaign, and what must come of what they sent."""

    def __init__(self, service: Served, operator: str, size: int, pause: float = 0.0, **changed: Any) -> None:
        self.consumer, campaign = begin(service, operator, **FAR | changed)
        self._join(service, campaign, size, pause)

    @classmethod
    def of(cls, service: Served, campaign: str, size: int) -> "Fleet":
        """Meters of a campaign that is there."""
        made = cls.__new__(cls)
        made._join(service, campaign, size, 0.0)
        return made

    def _join(self, service: Served, campaign: str, size: int, pause: float) -> None:
        self.service, self.campaign, self.day = service, campaign, days(ended())[0]
        path = f"/v1/campaigns/{campaign}"
        tokens = [service.ok("POST", f"{path}/producers", None, {"setting": "N"})["token"] for _ in range(size)]
        self.meters = [Meter(self.where, token, self.day, seed, pause) for seed, token in enumerate(tokens)]

    def where(self) -> tuple[str, int]:
        return self.service.host, self.service.port

    @property
    def acknowledged(self) -> int:
        return sum(len(meter.acknowledged) for meter in self.meters)

    def seen(self, status: int) -> int:
        return sum(meter.answers.get(status, 0) for meter in self.meters)

    @contextmanager
    def sending(self) -> Iterator[None]:
        """The meters send meanwhile; at the end each has a receipt for all that it sent."""
        for meter in self.meters:
            meter.start()
        try:
            yield
        finally:
            for meter in self.meters:
                meter.stopping.set()
            for meter in self.meters:
                meter.join(2 * PATIENCE)

    def replay(self) -> None:
        """Send everything again, as a device does that has lost its receipts."""
        for meter in self.meters:
            again, meter.acknowledged = list(meter.sent), []
            for start in range(0, len(again), 1000):
                meter.deliver(again[start : start + 1000])
            meter.hang_up()

    def booked(self, meter: Meter) -> int:
        """What a meter's ledger adds up to, page by page."""
        path, found = "/v1/me/ledger", 0
        while True:
            page = self.service.ok("GET", path, meter.token)
            found += sum(entry["amount"] for entry in page["entries"])
            if page["next"] is None:
                return found
            path = f"/v1/me/ledger?after={page['next']}"

    def check(self) -> int:
        """Everything sent was acknowledged, and counts exactly once; its number."""
        for meter in self.meters:
            assert meter.wrong == []
            assert meter.acknowledged == meter.sent
        values = [value for meter in self.meters for _, value in meter.acknowledged]
        service, path = self.service, f"/v1/campaigns/{self.campaign}"
        for meter in self.meters:
            assert self.booked(meter) == len(meter.acknowledged)
        closed = service.ok("POST", f"{path}/periods/{self.day}/close", self.consumer)
        assert closed["reports"] == len(values)
        assert closed["sum"]["estimate"] == sum(values)
        return len(values)


def wait_until(condition: Callable[[], bool], why: str) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, why
        time.sleep(0.02)
