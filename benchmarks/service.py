"""Durable reports a second: the service on each kind of database beside a plain FastAPI insert, on one machine.

The load comes from the same machine, which has other things to do as well: what a report costs the service's own
processes stands beside every rate. ``HALFMASK_BENCH_SECONDS`` makes the runs longer or shorter.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from benchmarks.load import Seen, bodies, endless, load, processor_seconds, request, spread
from halfmask.service.serve import initialise

CONNECTIONS = 64
SECONDS = float(os.environ.get("HALFMASK_BENCH_SECONDS", "8"))
METERS = 6_435
BATCH = 48
PLAIN = """
import hashlib, sqlite3, sys, threading, uvicorn
from fastapi import FastAPI, Header, HTTPException
from pydantic import BaseModel

app, path, own = FastAPI(), sys.argv[1], threading.local()

class Report(BaseModel):
    time: str
    steps: int
    setting: str

def connect():
    made = sqlite3.connect(path, timeout=60)
    made.execute("PRAGMA journal_mode=WAL")
    made.execute("PRAGMA synchronous=FULL")
    return made

with connect() as made:
    made.execute("CREATE TABLE tokens (hash TEXT PRIMARY KEY)")
    made.execute("CREATE TABLE reports (token TEXT, time TEXT, steps INTEGER, setting TEXT, PRIMARY KEY (token, time))")
    for number in range(64):
        made.execute("INSERT INTO tokens VALUES (?)", (hashlib.sha256(str(number).encode()).hexdigest(),))

@app.post("/v1/reports")
def post(body: dict[str, list[Report]], authorization: str = Header()):
    token = hashlib.sha256(authorization.removeprefix("Bearer ").encode()).hexdigest()
    made = own.made = getattr(own, "made", None) or connect()
    if not made.execute("SELECT 1 FROM tokens WHERE hash = ?", (token,)).fetchone():
        raise HTTPException(401)
    with made:
        for each in body["reports"]:
            made.execute("INSERT INTO reports VALUES (?, ?, ?, ?)", (token, each.time, each.steps, each.setting))
    return {"results": [{"status": "accepted"}] * len(body["reports"])}

class Told(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("http://127.0.0.1:%d" % self.servers[0].sockets[0].getsockname()[1], flush=True)

Told(uvicorn.Config(app, port=0, log_level="error")).run()
"""


@contextmanager
def running(words: list[str], db: str = "") -> Iterator[tuple[str, int]]:
    """A server's address and its process; an address of a database may hold a password."""
    env = {**os.environ, "HALFMASK_SERVE_DB": db}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def shown(name: str, what: str, seen: Seen, used: float) -> tuple[float, float]:
    """Print a line; the rate of reports, and what each costs."""
    rate = seen.accepted / seen.seconds
    cost = used / max(seen.accepted, 1) * 1e6
    p99 = seen.quantile(0.99) * 1e3
    failed = f"  {seen.failed} FAILED" if seen.failed else ""
    rates = f"{rate:9,.0f} reports/s {len(seen.took) / seen.seconds:8,.0f} requests/s"
    print(f"{name:14} {what:16} {rates}  p99 {p99:6.1f} ms  {cost:7.1f} us of processor a report{failed}", flush=True)
    return rate, cost


def measured(name: str, address: str, process: int, tokens: list[str], batch: int, first: int) -> tuple[float, float]:
    most = int(SECONDS * 4000) // batch + 1
    used = processor_seconds(process)
    seen = load(address, endless(tokens, bodies(batch, most, first)), SECONDS)
    what = "single reports" if batch == 1 else f"batches of {batch}"
    return shown(name, what, seen, processor_seconds(process) - used)


def burst(name: str, address: str, process: int, campaign: str) -> None:
    """Every meter sends its day at once."""
    joining = request("", b'{"setting": "A"}', f"/v1/campaigns/{campaign}/producers")
    kept: list[bytes] = []
    load(address, spread([joining] * METERS, CONNECTIONS), kept=kept)
    tokens = [str(json.loads(each)["token"]) for each in kept]
    (day,) = bodies(BATCH, 1)
    used = processor_seconds(process)
    seen = load(address, spread([request(token, day) for token in tokens], CONNECTIONS))
    shown(name, f"{len(tokens):,} x {BATCH}", seen, processor_seconds(process) - used)
    print(f"{name:14} the burst of {seen.accepted:,} reports was drained in {seen.seconds:.1f} s", flush=True)


def begin(address: str, operator: str) -> tuple[str, list[str]]:
    """A campaign of three days that are open, and a token per connection."""

    def post(path: str, token: str, body: object) -> dict[str, str]:
        answer = httpx.post(address + path, json=body, headers={"Authorization": f"Bearer {token}"} if token else {})
        answer.raise_for_status()
        return dict(answer.json())

    now = datetime.now(UTC)
    campaign = {
        "name": "bench", "purpose": "bench", "unit": "kWh", "lattice": {"step": "0.001", "low": "0", "high": "20"},
        "begins": (now - timedelta(days=5)).isoformat(), "ends": (now + timedelta(days=5)).isoformat(),
        "grace_minutes": 60 * 24 * 30, "menu": {"settings": [{"id": "A", "setting": "laplace:0.5"}]},
        "rewards": {"A": 1}, "budget": 10**12,
    }  # fmt: skip
    consumer = post("/v1/consumers", operator, {"name": "bench"})["token"]
    public = post("/v1/campaigns", consumer, campaign)["campaign"]
    tokens = [post(f"/v1/campaigns/{public}/producers", "", {"setting": "A"})["token"] for _ in range(CONNECTIONS)]
    return public, tokens


def service(name: str, db: str, *more: str) -> tuple[float, float]:
    """All loads on the service; the rate and the cost of single reports."""
    operator = initialise(db)
    assert operator is not None
    limits = ["--requests-per-second", "0", "--joins-per-minute", "0"]
    words = [sys.executable, "-m", "halfmask", "serve", "--port", "0", *limits, *more]
    with running(words, db) as (address, process):
        campaign, tokens = begin(address, operator)
        single = measured(name, address, process, tokens, 1, 0)
        measured(name, address, process, tokens, BATCH, 40_000)
        burst(name, address, process, campaign)
    return single


def run() -> None:
    """Print what each takes, with the load of the machine, which both share with the load's own generator."""
    from tests.service.servers import fresh_database, mariadb_server, postgres_server

    wanted = os.environ.get("HALFMASK_BENCH_STORES", "plain sqlite postgresql mariadb").split()
    print(f"service: {CONNECTIONS} connections, {SECONDS:g} s each, load average {os.getloadavg()[0]:.1f}")
    plain = None
    with tempfile.TemporaryDirectory() as folder:
        if "plain" in wanted:
            script = Path(folder) / "plain.py"
            script.write_text(PLAIN)
            with running([sys.executable, str(script), f"{folder}/plain.db"]) as (address, process):
                tokens = [str(number) for number in range(CONNECTIONS)]
                plain = measured("plain FastAPI", address, process, tokens, 1, 0)
        if "sqlite" in wanted:
            rate, cost = service("SQLite", f"sqlite:///{folder}/service.db")
            if plain:
                more, less = rate / plain[0], plain[1] / cost
                print(f"{'SQLite':14} {more:.1f} times as many single reports as plain, {less:.1f} times cheaper")
    for name, server in (("PostgreSQL", postgres_server), ("MariaDB", mariadb_server)):
        if name.lower() in wanted:
            with server() as address:
                service(name, fresh_database(address))
