"""A service in this process, with a clock of its own and a client that speaks the protocol and nothing else."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from halfmask.service.http.app import create_app
from halfmask.service.rate_limits import Limits
from halfmask.service.serve import initialise
from halfmask.service.service import Service
from halfmask.service.storage.sql_store import Store, open_store
from halfmask_device.instants import Instant, parse_instant

NOON = "2026-11-16T12:00:00Z"
CAMPAIGN: dict[str, Any] = {
    "name": "street",
    "purpose": "size the transformer",
    "unit": "kWh",
    "lattice": {"step": "0.001", "low": "0", "high": "20"},
    "period": "day",
    "time_zone": "Europe/Dublin",
    "begins": "2026-11-15T00:00:00Z",
    "ends": "2026-12-01T00:00:00Z",
    "grace_minutes": 60,
    "menu": {
        "settings": [
            {"id": "A", "setting": "laplace:0.5"},
            {"id": "B", "setting": "sine:0.9,0.3,0.6,0.6,0.3"},
            {"id": "N", "setting": "none"},
        ]
    },
    "rewards": {"A": 2, "B": 3, "N": 5},
    "currency": "EUR/1000",
    "budget": 1_000_000,
    "least_producers": 3,
    "join": "open",
    "keep_reports": "until_closed",
    "live": False,
}
NO_LIMITS = Limits(requests_per_second=None, joins_per_minute=None)


def instant(text: str) -> Instant:
    found = parse_instant(text)
    assert found is not None
    return found


class Clock:
    """Stands still until told."""

    def __init__(self, text: str = NOON) -> None:
        self.now = instant(text)

    def __call__(self) -> Instant:
        return self.now

    def set(self, text: str) -> None:
        self.now = instant(text)


class World:
    """One service process and whoever talks to it; ``app`` runs on a loop in a thread of its own."""

    def __init__(self, store: Store, clock: Clock, operator: str, limits: Limits = NO_LIMITS) -> None:
        self.store, self.clock, self.operator = store, clock, operator
        self.service = Service(store, clock, limits)
        self.app = create_app(self.service, close_every=None)
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://service")
        self._life = self.app.router.lifespan_context(self.app)
        self.wait(self._life.__aenter__())

    def wait(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def close(self) -> None:
        self.wait(self._client.aclose())
        self.wait(self._life.__aexit__(None, None, None))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def send(self, method: str, path: str, token: str | None = None, json: Any = None, **more: Any) -> httpx.Response:
        return self.wait(self.sending(method, path, token, json, **more))

    async def sending(
        self, method: str, path: str, token: str | None = None, json: Any = None, **more: Any
    ) -> httpx.Response:
        headers = {**more.pop("headers", {}), **({"Authorization": f"Bearer {token}"} if token else {})}
        return await self._client.request(method, path, json=json, headers=headers, **more)

    def ok(self, method: str, path: str, token: str | None = None, json: Any = None, **more: Any) -> Any:
        """The body of an answer that must be a success."""
        answer = self.send(method, path, token, json, **more)
        assert answer.is_success, (answer.status_code, answer.text)
        return answer.json()

    def refused(
        self, status: int, method: str, path: str, token: str | None = None, json: Any = None, **more: Any
    ) -> Any:
        """The error of an answer that must be of this status, in the protocol's form."""
        answer = self.send(method, path, token, json, **more)
        assert answer.status_code == status, (answer.status_code, answer.text)
        error = answer.json()["error"]
        assert error.keys() == {"code", "message", "field"}
        return error

    def consumer(self) -> str:
        return str(self.ok("POST", "/v1/consumers", self.operator, {"name": "utility"})["token"])

    def campaign(self, consumer: str, **changed: Any) -> str:
        return str(self.ok("POST", "/v1/campaigns", consumer, CAMPAIGN | changed)["campaign"])

    def join(self, campaign: str, setting: str = "A", **more: Any) -> str:
        body = {"setting": setting, **more}
        return str(self.ok("POST", f"/v1/campaigns/{campaign}/producers", None, body)["token"])

    def report(self, producer: str, *reports: tuple[str, int, str]) -> list[dict[str, Any]]:
        body = {"reports": [{"time": time, "steps": steps, "setting": setting} for time, steps, setting in reports]}
        return list(self.ok("POST", "/v1/reports", producer, body)["results"])

    def periods(self, campaign: str, consumer: str, **query: str) -> dict[str, dict[str, Any]]:
        found = self.ok("GET", f"/v1/campaigns/{campaign}/periods", consumer, params=query)["periods"]
        return {each["period"]: each for each in found}

    def close_period(self, campaign: str, consumer: str, period: str) -> dict[str, Any]:
        return dict(self.ok("POST", f"/v1/campaigns/{campaign}/periods/{period}/close", consumer))

    def amounts(self, path: str, token: str) -> list[int]:
        return [entry["amount"] for entry in self.ok("GET", path, token)["entries"]]


_made: dict[str, tuple[bytes, str]] = {}
"""A new SQLite file and its operator's token: made once, then copied, since making the tables takes longest."""


def fresh(url: str) -> str:
    """Make a database; its operator's token."""
    file = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:") else None
    if file is not None and _made:
        content, token = _made["new"]
        file.write_bytes(content)
        return token
    made = initialise(url)
    assert made is not None
    if file is not None and not file.with_name(f"{file.name}-wal").exists():
        _made["new"] = (file.read_bytes(), made)
    return made


@contextmanager
def running(url: str, limits: Limits = NO_LIMITS, clock: Clock | None = None) -> Iterator[World]:
    """A service on a fresh database."""
    token = fresh(url)
    store = open_store(url, least_room=0)
    world = World(store, clock or Clock(), token, limits)
    try:
        yield world
    finally:
        world.close()
        store.close()


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'service.db'}"
