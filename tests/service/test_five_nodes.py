"""Five nodes, each a process of its own: faulty links, kill -9, a cut; then every node knows every accepted report."""

import random
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from halfmask.service.campaign_periods import others, own_cells
from halfmask.service.cells import merge
from halfmask.service.request import system_clock
from halfmask.service.service import Service
from halfmask.service.storage.sql_store import open_store
from halfmask_device.http_client import urllib_transport
from tests.service.links import Faulty
from tests.service.process import Served, init
from tests.service.test_peers import secret_of
from tests.service.world import CAMPAIGN

COUNT = 5
ROUNDS = 2
"""Where all speak to all: the round that was under way when the last fault ended, and a whole one."""
PATIENCE = 300


class Link:
    """The way from one node to another: a proxy that can lose, double and delay what passes, or be cut."""

    def __init__(self, nodes: "list[Served | None]", to: int, rng: random.Random) -> None:
        self.begun, self.cut = 0, False
        self.faulty = Faulty(urllib_transport, rng)
        link = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                link.begun += 1  # a node begins with a peer by asking for its campaigns
                self.pass_on()

            def do_POST(self) -> None:
                self.pass_on()

            def pass_on(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
                node = nodes[to]
                self.close_connection = True
                if node is None or link.cut:
                    return  # no answer
                kept = {name: self.headers[name] for name in ("Authorization", "Content-Type") if self.headers[name]}
                try:
                    status, _, content = link.faulty(
                        self.command, f"http://127.0.0.1:{node.port}{self.path}", kept, body
                    )
                except OSError:
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"


class Cluster:
    def __init__(self, folder: Path, rng: random.Random) -> None:
        self.nodes: list[Served | None] = [None] * COUNT
        self.folder, self.accepted, self.rng = folder, 0, rng
        self.producers: list[str] = [""] * COUNT
        pairs = [(one, two) for one in range(COUNT) for two in range(COUNT) if one != two]
        self.links = {pair: Link(self.nodes, pair[1], rng) for pair in pairs}
        self.operators = [init(self.url(place)) for place in range(COUNT)]

    def url(self, place: int) -> str:
        return f"sqlite:///{self.folder / f'node{place}.db'}"

    def start(self, place: int) -> None:
        others = [other for one, other in self.links if one == place]
        options = [word for other in others for word in ("--peer", self.links[place, other].address)]
        secrets = " ".join(secret_of(place, other) for other in others)
        log = self.folder / f"node{place}.log"
        self.nodes[place] = Served(self.url(place), log, *options, secrets={"PEER_TOKEN": secrets})

    def node(self, place: int) -> Served:
        found = self.nodes[place]
        assert found is not None
        return found

    def kill(self, place: int) -> None:
        self.node(place).stop(signal.SIGKILL)
        self.nodes[place] = None

    def close(self) -> None:
        for place, node in enumerate(self.nodes):
            if node is not None:
                self.kill(place)
        for link in self.links.values():
            link.server.shutdown()
            link.server.server_close()

    def report(self, campaign: str, place: int, count: int) -> None:
        """Reports of unique values to one node, and what they add up to."""
        node = self.node(place)
        if not self.producers[place]:
            made = node.ok("POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "N"})
            self.producers[place] = made["token"]
        now = datetime.now(UTC)
        reports = []
        for _ in range(count):
            at = now - timedelta(microseconds=self.rng.randrange(1, 10**9))
            reports.append({"time": at.isoformat(), "steps": self.rng.randrange(1, 20_000), "setting": "N"})
        results = node.ok("POST", "/v1/reports", self.producers[place], {"reports": reports})["results"]
        for report, result in zip(reports, results, strict=True):
            assert result["status"] == "accepted"
            self.accepted += report["steps"]

    def rounds(self, count: int) -> None:
        """Wait until every node has ended so many rounds: it has begun one more with every peer."""
        before = {pair: link.begun for pair, link in self.links.items()}
        end = time.monotonic() + PATIENCE
        while any(link.begun <= before[pair] + count for pair, link in self.links.items()):
            assert time.monotonic() < end, "a node does not speak to its peers"
            time.sleep(0.1)

    def totals(self, campaign: str) -> list[int]:
        """All that each node knows, in steps, read from its database."""
        found = []
        for place in range(COUNT):
            store = open_store(self.url(place))
            service = Service(store)
            with store.reading() as tx:
                mine = service.campaign(tx, campaign)
                cells = [
                    part
                    for span in (mine.spans(system_clock()) if mine else [])
                    for part in (*own_cells(tx, mine, [span]), others(tx, mine, [span]).get(span.key, {}))
                    if mine
                ]
            store.close()
            found.append(sum(cell.sum for cell in merge(cells).values()))
        return found


@contextmanager
def cluster(folder: Path, rng: random.Random) -> Iterator[Cluster]:
    made = Cluster(folder, rng)
    with ExitStack() as stack:
        stack.callback(made.close)
        for place in range(COUNT):
            made.start(place)
        yield made


@pytest.mark.slow
def test_five_processes_agree_two_rounds_after_the_last_fault(tmp_path: Path) -> None:
    with cluster(tmp_path, random.Random(7)) as net:
        first = net.node(0)
        consumer = first.ok("POST", "/v1/consumers", net.operators[0], {"name": "utility"})["token"]
        now = datetime.now(UTC)
        times = {"begins": (now - timedelta(days=1)).isoformat(), "ends": (now + timedelta(days=2)).isoformat()}
        offer = CAMPAIGN | times | {"grace_minutes": 2000}
        campaign = first.ok("POST", "/v1/campaigns", consumer, offer)["campaign"]
        end = time.monotonic() + PATIENCE
        while any(net.node(place).send("GET", f"/v1/campaigns/{campaign}")[0] != 200 for place in range(COUNT)):
            assert time.monotonic() < end, "the campaign did not reach every node"
            time.sleep(0.1)
        for place in range(COUNT):
            net.report(campaign, place, 20)
        net.rounds(1)
        for pair, link in net.links.items():
            link.cut = (pair[0] < 2) != (pair[1] < 2)  # two groups, and faults within each
        for place in range(COUNT):
            net.report(campaign, place, 20)
        for place in (1, 3):
            net.kill(place)
        for place in (0, 2, 4):
            net.report(campaign, place, 20)
        for place in (1, 3):
            net.start(place)
            net.report(campaign, place, 20)
        net.rounds(1)
        assert len(set(net.totals(campaign))) > 1  # the cut is real: they do not agree
        assert sum(link.faulty.faults for link in net.links.values()) > 20
        for link in net.links.values():
            link.cut = link.faulty.broken = False
        net.rounds(ROUNDS)
        assert net.totals(campaign) == [net.accepted] * COUNT
