"""The way from a device to both services of a split campaign: remembers what was sent, and fails as told."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from halfmask_device.http_client import Answer, ServiceClient
from halfmask_device.setting import law_of
from tests.service.split_pair import HELPER, LEADER, Draws, Pair, split_pair
from tests.service.world import sqlite_url

ONE = {"least_producers": 1, "menu": {"settings": [
    {"id": "T", "setting": "laplace:5@total"}, {"id": "S", "setting": "laplace:40@split"},
]}}  # fmt: skip


class SplitWire:
    """A transport to both services. ``log`` has all requests, ``faults`` what happens to the next ones.

    ``changed`` replaces answers, by method and address.
    """

    def __init__(self, pair: Pair) -> None:
        self.pair, self.campaign = pair, pair.campaign
        self.log: list[tuple[str, str, bytes]] = []
        self.faults: list[Callable[[], Answer | None] | None] = []
        self.changed: dict[tuple[str, str], Callable[[Any], Any]] = {}

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        self.log.append((method, address, body or b""))
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None and (answer := fault()) is not None:
            return answer
        world = self.pair.helper if address.startswith(HELPER) else self.pair.leader
        path = address.removeprefix(HELPER).removeprefix(LEADER).removeprefix("http://leader.example")
        said = world.send(method, path, content=body, headers=dict(headers))
        if fault is not None:
            raise ConnectionResetError("after it was handled")
        if change := self.changed.get((method, path)):
            return said.status_code, dict(said.headers), json.dumps(change(said.json())).encode()
        return said.status_code, dict(said.headers), said.content

    def service(self, address: str) -> ServiceClient:
        return ServiceClient(address, self, tries=3, sleep=lambda _: None)

    def clock(self) -> float:
        return self.pair.leader.clock.now / 1e6

    def posted(self) -> list[str]:
        """Where reports and shares were sent, in order."""
        return [
            address for method, address, _ in self.log if method == "POST" and address.endswith(("reports", "shares"))
        ]

    def exact_sum(self, key: str) -> tuple[int, int]:
        """Close a period: its split sum in steps without the two draws of noise, which are known, and its reports."""
        services = self.pair.leader.service, self.pair.helper.service
        drawn = [each.draws.count for each in services]  # type: ignore[attr-defined]
        entry = self.pair.close(key)
        if not entry["split"] or not entry["split"]["counted"]:
            return 0, 0
        law, step = law_of("laplace:40", self.pair.terms.lattice["step"]), float(self.pair.terms.lattice["step"])
        noise = sum(
            law.draw(Draws(name).source(count + 1)) for name, count in zip(("leader", "helper"), drawn, strict=True)
        )
        return round(entry["sum"]["estimate"] / step) - noise, entry["split"]["counted"]


@contextmanager
def split_wire(folder: Path, **changed: Any) -> Iterator[SplitWire]:
    """Two services in this process, whose clocks are at the beginning of the first day."""
    for name in ("leader", "helper"):
        (folder / name).mkdir()
    urls = [sqlite_url(folder / name) for name in ("leader", "helper")]
    with split_pair(*urls, **ONE | changed) as pair:
        pair.set("2026-11-15T00:00:00Z")
        yield SplitWire(pair)
