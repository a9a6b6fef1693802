"""Durable reports a second: the service beside a plain FastAPI insert, both on SQLite, 64 connections, one machine."""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from halfmask.service.serve import initialise

CONNECTIONS = 64
SECONDS = 8.0
PLAIN = """
import hashlib, sqlite3, sys, uvicorn
from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel

app, path = FastAPI(), sys.argv[1]

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
    made = connect()
    try:
        if not made.execute("SELECT 1 FROM tokens WHERE hash = ?", (token,)).fetchone():
            raise HTTPException(401)
        for each in body["reports"]:
            made.execute("INSERT INTO reports VALUES (?, ?, ?, ?)", (token, each.time, each.steps, each.setting))
        made.commit()
    finally:
        made.close()
    return {"results": [{"status": "accepted"}] * len(body["reports"])}

class Told(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print("http://127.0.0.1:%d" % self.servers[0].sockets[0].getsockname()[1], flush=True)

Told(uvicorn.Config(app, port=0, log_level="error")).run()
"""


async def load(address: str, tokens: list[str], batch: int, first: int) -> tuple[int, list[float]]:
    """Reports accepted, and seconds per request; each connection sends its next request when it has its answer."""
    host, port = address.removeprefix("http://").split(":")
    base = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=3)
    until, took, accepted = time.monotonic() + SECONDS, [], 0

    async def client(token: str) -> None:
        nonlocal accepted
        reader, writer = await asyncio.open_connection(host, int(port))
        number = first
        while time.monotonic() < until:
            moments = [(base + timedelta(seconds=number + place)).isoformat() for place in range(batch)]
            number += batch
            reports = [{"time": moment, "steps": number % 20_000, "setting": "A"} for moment in moments]
            body = json.dumps({"reports": reports}).encode()
            head = f"POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            began = time.perf_counter()
            kind = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            writer.write((head + kind).encode() + body)
            answer = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0])
            text = await reader.readexactly(length)
            took.append(time.perf_counter() - began)
            accepted += text.count(b'"accepted"')
        writer.close()

    await asyncio.gather(*map(client, tokens))
    return accepted, sorted(took)


def measure(name: str, words: list[str], make: Callable[[str], list[str]], batches: tuple[int, ...]) -> None:
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            tokens = make(address)
            for place, batch in enumerate(batches):
                accepted, took = asyncio.run(load(address, tokens, batch, place * 80_000))
                shown = f"{accepted / SECONDS:9,.0f} reports/s  {len(took) / SECONDS:7,.0f} requests/s"
                print(f"{name:14} batches of {batch:3}: {shown}  p99 {took[int(0.99 * len(took))] * 1e3:6.1f} ms")
        finally:
            process.terminate()


def begin(address: str, operator: str) -> list[str]:
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
    return [post(f"/v1/campaigns/{public}/producers", "", {"setting": "A"})["token"] for _ in range(CONNECTIONS)]


def run() -> None:
    """Print what each takes, with the load of the machine, which both share with the load's own generator."""
    print(f"service: {CONNECTIONS} connections, {SECONDS:g} s each, load average {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "plain.py"
        script.write_text(PLAIN)
        plain = [sys.executable, str(script), f"{folder}/plain.db"]
        measure("plain FastAPI", plain, lambda _: [str(number) for number in range(CONNECTIONS)], (1,))
        db = f"sqlite:///{folder}/service.db"
        operator = initialise(db)
        assert operator is not None
        limits = ["--requests-per-second", "0", "--joins-per-minute", "0"]
        words = [sys.executable, "-m", "halfmask.cli", "serve", "--db", db, "--port", "0", *limits]
        measure("halfmask serve", words, lambda address: begin(address, operator), (1, 48))
