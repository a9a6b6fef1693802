"""A running service whose pages a real browser opens, with campaigns at today's time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser import PATIENCE
from tests.service.process import Served, init

MENU = [
    {"id": "A", "name": "light blur", "setting": "laplace:0.5"},
    {"id": "B", "name": "heavy blur", "setting": "laplace:5"},
    {"id": "N", "name": "open", "setting": "none"},
]


def midnight(days: int = 0) -> datetime:
    return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)


class Hosted:
    """A service of its own process with one consumer."""

    def __init__(self, folder: Path) -> None:
        url = f"sqlite:///{folder / 'service.db'}"
        self.operator = init(url)
        self.served = Served(url, folder / "service.log", "--requests-per-second", "0", "--joins-per-minute", "0")
        self.address = f"http://{self.served.host}:{self.served.port}"
        self.ok = self.served.ok
        self.consumer = self.ok("POST", "/v1/consumers", self.operator, {"name": "utility"})["token"]

    def campaign(self, **changed: Any) -> str:
        terms = {
            "name": "Elm Street", "purpose": "size the transformer", "unit": "kWh",
            "lattice": {"step": "0.001", "low": "0", "high": "20"}, "period": "day", "time_zone": "UTC",
            "begins": midnight(-1).isoformat(), "ends": midnight(30).isoformat(), "grace_minutes": 2880,
            "menu": {"settings": MENU, "question": {"change": 0.5}}, "readings_expected": 48, "every_minutes": 30,
            "rewards": {"A": 2, "B": 1, "N": 5}, "budget": 1_000_000, "least_producers": 3,
        }  # fmt: skip
        return str(self.ok("POST", "/v1/campaigns", self.consumer, terms | changed)["campaign"])


@contextmanager
def hosted(folder: Path) -> Iterator[Hosted]:
    made = Hosted(folder)
    try:
        yield made
    finally:
        made.served.stop()


class Visit:
    """A page with all that it asked of the network, and all that went wrong in it."""

    def __init__(self, browser: Browser | BrowserContext, **options: Any) -> None:
        self.page: Page = browser.new_page(**options)
        self.page.set_default_timeout(PATIENCE)
        self.asked: list[str] = []
        self.bodies: list[str] = []
        self.wrong: list[str] = []
        self.page.on("request", self._note)
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))

    def _note(self, request: Any) -> None:
        self.asked.append(request.url)
        self.bodies.append(request.post_data or "")
