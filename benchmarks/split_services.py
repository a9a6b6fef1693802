"""Split reports from end to end: two services over HTTP, each with a durable store of its own, on one machine.

Every report goes to both services at once, from prepared bytes. Then a period is closed: verified, summed, published
and deleted. The load and both services share the machine, so each rate comes with the processor time per report.
"""

import base64
import json
import os
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from tests.service.servers import free_port

from benchmarks.load import Seen, load, processor_seconds, request, spread
from benchmarks.service import CONNECTIONS, running
from halfmask.service.serve import initialise
from halfmask_device.split_terms import SplitTerms

DEVICES, MISSED = 2000, 14
AT_ONCE = 400
"""Connections to each service: a meter has one of its own, and reports that arrive together share a commit."""
DAYS = 2 + MISSED
"""Two days reported one by one, and a fortnight that each device sends at once."""
WIDTH = 2**20 - 1


class Street:
    """A split campaign of past days between two services, with devices that have joined."""

    def __init__(self, leader: str, helper: str, operators: list[str]) -> None:
        self.leader, self.helper = leader, helper
        self.begins = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS)
        self.consumer, token = (
            post(address, "/v1/consumers", who, {"name": "bench"})["token"]
            for address, who in zip((leader, helper), operators, strict=True)
        )
        body = {
            "name": "bench", "purpose": "bench", "unit": "kWh", "release": "total", "readings_expected": 48,
            "lattice": {"step": "1", "low": "0", "high": str(WIDTH)}, "begins": self.begins.isoformat(),
            "ends": (self.begins + timedelta(days=DAYS)).isoformat(), "grace_minutes": 60 * 24 * 100,
            "menu": {"settings": [{"id": "S", "setting": f"laplace:{WIDTH}@split"}]},
            "split": {"helper": helper, "token": token},
        }  # fmt: skip
        self.campaign = post(leader, "/v1/campaigns", self.consumer, body)["campaign"]
        offer: dict[str, Any] = {}
        while not offer.get("campaign"):
            time.sleep(0.1)
            offer = httpx.get(f"{leader}/v1/campaigns/{self.campaign}").json()["split"]
        self.held, self.prio3 = offer["campaign"], SplitTerms.read(offer["terms"]).prio3
        kept: list[bytes] = []
        joining = request("", b'{"setting": "S"}', f"/v1/campaigns/{self.campaign}/producers")
        load(leader, spread([joining] * DEVICES, CONNECTIONS), kept=kept)
        self.people = [json.loads(each) for each in kept]

    def requests(self, first: int, days: int) -> tuple[list[bytes], list[bytes]]:
        """What every device sends to the leader and to the helper: so many days in one request."""
        to_leader, to_helper = [], []
        for person in self.people:
            reports, shares = [], []
            for day in range(first, first + days):
                leader, helper = self.prio3.shard(day, os.urandom(64))
                head = {"time": (self.begins + timedelta(days=day)).isoformat(), "report": os.urandom(16).hex()}
                reports.append({**head, "setting": "S", "share": base64.b64encode(leader).decode()})
                shares.append({**head, "share": base64.b64encode(helper).decode()})
            to_leader.append(request(person["token"], json.dumps({"reports": reports}).encode()))
            path = f"/v1/split/{self.held}/shares"
            to_helper.append(request(person["ticket"], json.dumps({"shares": shares}).encode(), path))
        return to_leader, to_helper

    def close(self, day: int) -> int:
        """Close a day and wait for its sum; how many reports it counts."""
        name = (self.begins + timedelta(days=day)).date().isoformat()
        while True:
            path = f"/v1/campaigns/{self.campaign}/periods/{name}/close"
            entry = post(self.leader, path, self.consumer, None)
            if entry["state"] == "closed":
                return int(entry["split"]["counted"])
            time.sleep(0.02)


def post(address: str, path: str, token: str, body: object) -> dict[str, Any]:
    answer = httpx.post(address + path, json=body, headers={"Authorization": f"Bearer {token}"}, timeout=60)
    answer.raise_for_status()
    return dict(answer.json())


def both(street: Street, processes: tuple[int, int], first: int, days: int) -> None:
    """Send every device's reports to both services side by side, and print what it took."""
    sent = street.requests(first, days)
    seen: dict[int, Seen] = {}
    used, own = [processor_seconds(each) for each in processes], time.process_time()

    def send(holder: int, address: str) -> None:
        seen[holder] = load(address, spread(sent[holder], AT_ONCE))

    threads = [threading.Thread(target=send, args=pair) for pair in enumerate((street.leader, street.helper))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if [seen[holder].accepted for holder in (0, 1)] != [DEVICES * days] * 2:
        raise RuntimeError("some reports were not accepted")
    costs = [(processor_seconds(each) - before) / DEVICES / days for each, before in zip(processes, used, strict=True)]
    costs.append((time.process_time() - own) / DEVICES / days)
    rate = DEVICES * days / max(each.seconds for each in seen.values())
    what = "single reports" if days == 1 else f"{days} days at once"
    leader, helper, loading = (f"{1e6 * each:.0f} us" for each in costs)
    parts = f"{leader} leader, {helper} helper, {loading} the load"
    print(f"  {what:16} {rate:8,.0f} reports/s; processor time per report {parts}", flush=True)


def run() -> None:
    """Print rates of reports, and of closing."""
    ports = free_port(), free_port()
    addresses = [f"http://127.0.0.1:{port}" for port in ports]
    print(f"split services: {DEVICES:,} devices, SQLite, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        urls = [f"sqlite:///{folder}/{name}.db" for name in ("leader", "helper")]
        operators = [initialise(url) or "" for url in urls]
        common = ["--requests-per-second", "0", "--joins-per-minute", "0", "--settle", "0"]
        processes = []
        for url, port, address in zip(urls, ports, addresses, strict=True):
            more = ["--port", str(port), "--public-url", address, "--helper", addresses[1]]
            words = [sys.executable, "-m", "halfmask", "serve", *more, *common]
            processes.append(stack.enter_context(running(words, url))[1])
        street = Street(*addresses, operators)
        both(street, (processes[0], processes[1]), 0, 1)
        both(street, (processes[0], processes[1]), 1, 1)
        both(street, (processes[0], processes[1]), 2, MISSED)
        for day in (0, 1):
            began = time.perf_counter()
            counted = street.close(day)
            seconds = time.perf_counter() - began
            print(f"  closing a day of {counted:,} reports: {seconds:.2f} s, {counted / seconds:,.0f} reports/s")


if __name__ == "__main__":
    run()
