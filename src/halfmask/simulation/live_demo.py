"""The live demo: a thousand simulated homes report three days to real services, and a page shows both sides of it.

On the first day the homes hide a little, on the second all of them hide more, on the third they split their totals
between two services at the same promise. Only the demo knows the truth. The homes' noise and shares are the device's.
"""

import base64
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from halfmask.service.http.page_files import page_endpoint
from halfmask.service.http.read_request import headers_of
from halfmask.service.http.session_cookie import check_same_site
from halfmask.simulation.live_services import DemoClock, Pair, two_services
from halfmask.simulation.simulated_service import Connections
from halfmask.streams import stream
from halfmask_device.http_client import ServiceClient
from halfmask_device.instants import DAY, MINUTE, instant_text
from halfmask_device.lattice import Lattice
from halfmask_device.random_bits import Bits
from halfmask_device.setting import DeviceSetting, law
from halfmask_device.split_services import cut_total
from halfmask_device.split_terms import SplitTerms

LATTICE = Lattice("0.1", "0", "60")
LEAST = 20
THREADS = 8
LOOK_EVERY = 20
"""Homes between two looks at what the service publishes."""
CHECKS = 600
"""Most looks for a period's total, a tenth of a second apart."""
SETTINGS = {
    "A": ("a little hidden", "laplace:5@total"),
    "B": ("well hidden", "laplace:60@total"),
    "S": ("split between two services", "laplace:60@split"),
    "N": ("open", "none@total"),
}
LAST_LINE = "You saw the town. You never saw a home."


@dataclass(frozen=True)
class DayPlan:
    """One day of the demo: what is done, and by which setting all homes report."""

    title: str
    setting: str


PLAN = (
    DayPlan("A little hidden", "A"),
    DayPlan("Everyone hides more", "B"),
    DayPlan("Split", "S"),
)


@dataclass
class LiveState:
    """What the page shows: looks at the service's total per home, and the truth that only the demo knows."""

    homes: int
    campaign: str = ""
    points: list[dict[str, Any]] = field(default_factory=list)
    days: list[dict[str, Any]] = field(default_factory=list)
    waiting: bool = False
    done: bool = False
    go: threading.Event = field(default_factory=threading.Event)

    def plain(self) -> dict[str, Any]:
        named = ("homes", "campaign", "points", "days", "waiting", "done")
        plan = [{"title": each.title, "setting": each.setting} for each in PLAN]
        return {name: getattr(self, name) for name in named} | {"plan": plan, "last": LAST_LINE}

    def add_page(self, app: FastAPI) -> None:
        """Add the demo's page, its state, and the button that goes on."""
        from msgspec import json

        async def state(_: HttpRequest) -> Response:
            return Response(json.encode(self.plain()), media_type="application/json")

        async def go_on(request: HttpRequest) -> Response:
            check_same_site(headers_of(request.scope), "POST")
            self.go.set()
            return Response(b"{}", media_type="application/json")

        app.add_api_route("/demo", page_endpoint("served/demo.html"), methods=["GET"], response_class=Response)
        app.add_api_route("/demo/state", state, methods=["GET"], response_class=Response)
        app.add_api_route("/demo/on", go_on, methods=["POST"], response_class=Response)


class Town:
    """The homes, their campaign and the clock."""

    def __init__(self, pair: Pair, state: LiveState, seed: int) -> None:
        self.pair, self.state = pair, state
        self.link = Connections()
        self.leader, self.helper = (ServiceClient(each, self.link) for each in (pair.leader, pair.helper))
        rng = stream(seed, "simulation.live_demo")
        weekly = rng.lognormal(2.4, 0.5, state.homes)
        drawn = weekly[:, None] * rng.uniform(0.7, 1.3, (state.homes, len(PLAN)))
        self.totals = np.clip(np.round(drawn / float(LATTICE.unit)), 0, 600).astype(int)
        self.start = pair.clock.now // DAY * DAY
        self.consumer = str(self._new_consumer(self.leader, pair.leader_operator))
        self.campaign = self._open()
        self.pool = ThreadPoolExecutor(THREADS)
        self.tokens = list(self.pool.map(self._join, ["A"] * state.homes))

    def close(self) -> None:
        """End the threads and connections."""
        self.pool.shutdown()
        self.link.close()

    @staticmethod
    def _new_consumer(service: ServiceClient, operator: str) -> Any:
        return service.ask("POST", "/v1/consumers", operator, {"name": "utility"})["token"]

    def _open(self) -> str:
        """Make the campaign, and wait until the helper has agreed to it."""
        settings = [{"id": id, "name": name, "setting": text} for id, (name, text) in SETTINGS.items()]
        terms = {
            "name": "The utility",
            "purpose": "to know how much the town uses",
            "unit": "kWh",
            "lattice": {"step": LATTICE.step, "low": LATTICE.low, "high": LATTICE.high},
            "period": "day",
            "begins": instant_text(self.start),
            "ends": instant_text(self.start + 30 * DAY),
            "grace_minutes": 1440,
            "release": "total",
            "readings_expected": 48,
            "menu": {"settings": settings},
            "rewards": {"A": 30, "B": 20, "S": 20, "N": 40},
            "budget": 10**9,
            "least_producers": LEAST,
            "live": True,
            "split": {
                "helper": self.pair.helper,
                "token": self._new_consumer(self.helper, self.pair.helper_operator),
            },
        }
        id = str(self.leader.ask("POST", "/v1/campaigns", self.consumer, terms)["campaign"])
        self.terms = SplitTerms.read(_until(lambda: self.leader.ask("GET", f"/v1/campaigns/{id}")["split"]["terms"]))
        self.held = self.leader.ask("GET", f"/v1/campaigns/{id}")["split"]["campaign"]
        return id

    def _join(self, setting: str) -> str:
        path = f"/v1/campaigns/{self.campaign}/producers"
        return str(self.leader.ask("POST", path, None, {"setting": setting})["token"])

    def live(self, number: int) -> dict[str, Any]:
        """Let all homes report one day, looking at the service meanwhile. Return the day as it is at the end."""
        plan, begins = PLAN[number], self.start + number * DAY
        tickets = self._all_take(plan.setting) if number else {}
        self.pair.clock.now = begins + DAY + MINUTE
        report = partial(self._report, day=number, time=instant_text(begins), setting=plan.setting, tickets=tickets)
        for first in range(0, self.state.homes, LOOK_EVERY):
            arrived = min(first + LOOK_EVERY, self.state.homes)
            deque(self.pool.map(report, range(first, arrived)), maxlen=0)
            self._look(number, arrived)
        return self._close(number)

    def _all_take(self, setting: str) -> dict[int, str]:
        take = partial(self.leader.ask, "PATCH", "/v1/me", body={"setting": setting})
        answers = self.pool.map(lambda token: take(token=token), self.tokens)
        return {home: answer["ticket"] for home, answer in enumerate(answers) if "ticket" in answer}

    def _report(self, home: int, day: int, time: str, setting: str, tickets: dict[int, str]) -> None:
        steps = int(self.totals[home, day])
        report: dict[str, Any] = {"time": time, "setting": setting}
        if setting == "S":
            nonce, leader, helper = cut_total(self.terms, steps)
            share = {"time": time, "report": nonce.hex(), "share": _text(helper)}
            self.helper.ask("POST", f"/v1/split/{self.held}/shares", tickets[home], {"shares": [share]})
            report |= {"report": nonce.hex(), "share": _text(leader)}
        else:
            noise = law(DeviceSetting.parse(SETTINGS[setting][1]), LATTICE.unit).draw(Bits.fresh())
            report["steps"] = steps + noise
        self.leader.ask("POST", "/v1/reports", self.tokens[home], {"reports": [report]})

    def _period(self, number: int) -> dict[str, Any]:
        key = datetime.fromtimestamp((self.start + number * DAY) / 1e6, UTC).date().isoformat()
        path = f"/v1/campaigns/{self.campaign}/periods?from={key}&to={key}"
        return dict(self.leader.ask("GET", path, self.consumer)["periods"][0])

    def _look(self, number: int, arrived: int) -> None:
        """Record what the service shows of these homes. Of totals that are split it shows nothing before the end."""
        entry = self._period(number)
        if not entry["sum"]:
            self._note(number, None, arrived)
        elif entry["reports"] == arrived:
            self._note(number, entry, arrived)

    def _note(self, number: int, entry: dict[str, Any] | None, arrived: int) -> dict[str, Any]:
        """Record what is published per home so far, and the truth about the same homes."""
        truth = float(self.totals[:arrived, number].mean() * float(LATTICE.unit))
        found = None if entry is None else {name: entry["sum"][name] / arrived for name in ("estimate", "low", "high")}
        point = {"day": number, "arrived": arrived, "truth": truth, "found": found}
        self.state.points.append(point)
        return point

    def _close(self, number: int) -> dict[str, Any]:
        """Close the day and wait for its total."""
        key = self._period(number)["period"]
        self.leader.ask("POST", f"/v1/campaigns/{self.campaign}/periods/{key}/close", self.consumer)
        entry = _until(lambda: each if (each := self._period(number))["sum"] and each["state"] == "closed" else None)
        point = self._note(number, entry, self.state.homes)
        day = {"title": PLAN[number].title, "setting": PLAN[number].setting} | point
        self.state.days.append(day)
        return day


def _until(found: Callable[[], Any]) -> Any:
    """Return the first answer that is not None."""
    pause = threading.Event()
    for _ in range(CHECKS):
        answer = found()
        if answer is not None:
            return answer
        pause.wait(0.1)
    raise TimeoutError("the services did not agree in time")


def _text(share: bytes) -> str:
    return base64.b64encode(share).decode()


def run_live_demo(
    homes: int,
    seed: int,
    opened: Callable[[str], None],
    told: Callable[[dict[str, Any]], None],
    wait: float = 0,
    stay: Callable[[], None] = lambda: None,
) -> LiveState:
    """Run the three days and return what was seen.

    ``opened``  callback, called with the page's address once it can be opened
    ``told``    callback, called with each day when it is closed
    ``wait``    seconds to wait for the page's button before each further day
    ``stay``    callback, called at the end, while the page can still be used
    """
    state = LiveState(homes)
    now = int(datetime.now(UTC).timestamp()) * 1_000_000
    clock = DemoClock(now // DAY * DAY - len(PLAN) * DAY)
    with TemporaryDirectory() as folder, two_services(Path(folder), clock, state.add_page) as pair:
        town = Town(pair, state, seed)
        state.campaign = town.campaign
        opened(f"{pair.leader}/demo")
        for number in range(len(PLAN)):
            if number:
                state.waiting = True
                state.go.wait(wait)
                state.waiting = False
                state.go.clear()
            told(town.live(number))
        town.close()
        state.done = True
        stay()
    return state
