"""A leader and a helper in this process, each with a store and a clock of its own, and devices that split totals."""

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from halfmask.service.split.split_closing import SplitClosing
from halfmask.service.split.split_options import SplitOptions
from halfmask_device.canonical import canonical_json
from halfmask_device.http_client import Answer
from halfmask_device.random_bits import Bits
from halfmask_device.split_terms import SplitTerms
from tests.service.world import CAMPAIGN, World, running, sqlite_url

LEADER, HELPER = "https://leader.example", "https://helper.example"
DAY = "2026-11-16"
AFTER = "2026-11-17T00:10:00Z"
"""After the end of the day, within its grace."""
CLOSED = "2026-11-17T01:00:01Z"
SPLIT_CAMPAIGN: dict[str, Any] = CAMPAIGN | {
    "lattice": {"step": "0.01", "low": "0", "high": "40"},
    "time_zone": "UTC",
    "release": "total",
    "readings_expected": 48,
    "menu": {"settings": [{"id": "T", "setting": "laplace:5@total"}, {"id": "S", "setting": "laplace:40@split"}]},
    "rewards": {"T": 2, "S": 3},
}
STEPS = 4000
"""The largest total, in steps."""


def split_request(campaign: str = "0123456789abcdef", **changed: Any) -> dict[str, Any]:
    """What a leader sends to its helper to agree on a campaign; ``changed`` are other terms."""
    keys = {"verify_key": bytes(range(32)), "ticket_key": bytes(range(32, 64))}
    terms = {
        "leader": LEADER, "campaign": campaign, "helper": HELPER,
        "lattice": {"step": "0.01", "low": "0.00", "high": "40.00"}, "period": "day", "time_zone": "UTC",
        "begins": "2026-11-15T00:00:00Z", "ends": "2026-12-01T00:00:00Z", "grace_minutes": 60, "least_producers": 3,
        "setting": "laplace:40@split", "verify_key_hash": hashlib.sha256(keys["verify_key"]).hexdigest(),
    } | changed  # fmt: skip
    words = canonical_json(terms).decode()
    return {"leader": terms["leader"], "campaign": campaign, "terms": words} | {
        name: text(key) for name, key in keys.items()
    }


class Draws:
    """A fixed stream of noise, one source per draw, which tests can draw again."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def __call__(self) -> Bits:
        self.count += 1
        return self.source(self.count)

    def source(self, number: int) -> Bits:
        return Bits(b"test", f"{self.name} {number}".encode())


@dataclass
class Device:
    """A producer of a split campaign: its token, its ticket, and the reports that it has made, by time."""

    pair: "Pair"
    token: str
    ticket: str
    made: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Nonce, the leader's share and the helper's share."""

    def cut(self, time: str, steps: int) -> tuple[str, str, str]:
        """Split a total once; the same shares are sent again."""
        if time not in self.made:
            leader, helper = self.pair.terms.prio3.shard(steps, os.urandom(64))
            self.made[time] = os.urandom(16).hex(), text(leader), text(helper)
        return self.made[time]

    def to_helper(self, time: str, steps: int) -> dict[str, Any]:
        nonce, _, share = self.cut(time, steps)
        body = {"shares": [{"time": time, "report": nonce, "share": share}]}
        path = f"/v1/split/{self.pair.held}/shares"
        return dict(self.pair.helper.ok("POST", path, self.ticket, body)["results"][0])

    def to_leader(self, time: str, steps: int, **changed: Any) -> dict[str, Any]:
        nonce, share, _ = self.cut(time, steps)
        report = {"time": time, "setting": "S", "report": nonce, "share": share} | changed
        return dict(self.pair.leader.ok("POST", "/v1/reports", self.token, {"reports": [report]})["results"][0])

    def report(self, time: str, steps: int) -> None:
        """Report to both, the helper first."""
        assert self.to_helper(time, steps)["status"] in ("accepted", "known")
        assert self.to_leader(time, steps)["status"] in ("accepted", "known")


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


class Pair:
    """A split campaign that both services have agreed on."""

    def __init__(self, leader: World, helper: World, consumer: str, token: str, **changed: Any) -> None:
        self.leader, self.helper, self.consumer, self.token = leader, helper, consumer, token
        split = {"helper": HELPER, "token": token} | changed.pop("split", {})
        self.campaign = leader.ok("POST", "/v1/campaigns", consumer, SPLIT_CAMPAIGN | {"split": split} | changed)[
            "campaign"
        ]
        self.turn()
        offer = leader.ok("GET", f"/v1/campaigns/{self.campaign}")["split"]
        self.held, self.refused = offer["campaign"], offer["refused"]
        if offer["terms"]:
            self.terms = SplitTerms.read(offer["terms"])

    def turn(self) -> None:
        """Let the leader take one step with its helper."""
        leader = self.leader
        leader.wait(SplitClosing(leader.service, leader.app.state.writer).turn())

    def helper_turn(self) -> None:
        """Let the helper delete what is old."""
        helper = self.helper
        helper.wait(SplitClosing(helper.service, helper.app.state.writer).turn())

    def reach(self, transport: Any) -> None:
        """Let the leader reach its helper in another way."""
        self.leader.service.split = SplitOptions(LEADER, (HELPER,), transport=transport)

    def join(self, setting: str = "S") -> Device:
        path = f"/v1/campaigns/{self.campaign}/producers"
        made = self.leader.ok("POST", path, None, {"setting": setting})
        return Device(self, made["token"], made.get("ticket", ""))

    def set(self, clock: str) -> None:
        for world in (self.leader, self.helper):
            world.clock.set(clock)

    def period(self, key: str = DAY) -> dict[str, Any]:
        return self.leader.periods(self.campaign, self.consumer)[key]

    def close(self, key: str = DAY, turns: int = 3) -> dict[str, Any]:
        """Close a period early, with as many turns as it takes at most."""
        self.leader.send("POST", f"/v1/campaigns/{self.campaign}/periods/{key}/close", self.consumer)
        for _ in range(turns):
            self.turn()
        return self.period(key)

    def ask(self, path: str, body: Any, status: int = 200) -> dict[str, Any]:
        """Ask the helper as the leader does."""
        answer = self.helper.send("POST", f"/v1/split/{self.held}{path}", self.token, body)
        assert answer.status_code == status, (answer.status_code, answer.text)
        return dict(answer.json())


def two_urls(folder: Path) -> tuple[str, str]:
    """Addresses of two new SQLite files."""
    for name in ("leader", "helper"):
        (folder / name).mkdir()
    return sqlite_url(folder / "leader"), sqlite_url(folder / "helper")


def link_to(world: World) -> Any:
    """A transport that reaches the helper, at its public address."""

    def send(method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        answer = world.send(method, urlsplit(address).path, headers=dict(headers), content=body)
        return answer.status_code, dict(answer.headers), answer.content

    return send


@contextmanager
def two_services(leader_url: str, helper_url: str, transport: Any = None) -> Iterator[tuple[World, World]]:
    """A leader that may ask the helper, with noise from fixed streams."""
    with running(leader_url) as leader, running(helper_url) as helper:
        leader.service.split = SplitOptions(LEADER, (HELPER,), transport=transport or link_to(helper))
        helper.service.split = SplitOptions(HELPER, ())
        leader.service.draws, helper.service.draws = Draws("leader"), Draws("helper")
        yield leader, helper


@contextmanager
def split_pair(leader_url: str, helper_url: str, transport: Any = None, **changed: Any) -> Iterator[Pair]:
    with two_services(leader_url, helper_url, transport) as (leader, helper):
        yield Pair(leader, helper, leader.consumer(), helper.consumer(), **changed)
