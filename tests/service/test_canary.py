"""A raw reading is looked for everywhere outside the device: wire, database, logs, errors, metrics, Parquet files."""

import socket
import sqlite3
import struct
import subprocess
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from halfmask.service.serve import initialise
from tests.service.process import COMMAND, PATIENCE, served
from tests.service.world import CAMPAIGN, sqlite_url

READING = "13.371337"
STEPS = 13_371_337
"""The reading on the campaign's lattice, before noise."""
FORMS = (
    *(READING.encode(), str(STEPS).encode(), READING.replace(".", ",").encode(), f"{STEPS:x}".encode()),
    *(struct.pack(form, STEPS) for form in ("<i", ">i", "<q", ">q")),
    *(struct.pack(form, float(READING)) for form in ("<d", ">d", "<f", ">f")),
)


def hits(content: bytes) -> list[bytes]:
    return [form for form in FORMS if form in content]


class Tap:
    """A way to the service that keeps every byte that passes, both ways."""

    def __init__(self, host: str, port: int) -> None:
        self.heard, self._to = bytearray(), (host, port)
        self._held: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._server.accept()
            except OSError:
                return
            two = socket.create_connection(self._to)
            self._held += [one, two]
            for source, target in ((one, two), (two, one)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while part := source.recv(65536):
                self.heard += part
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        for each in (self._server, *self._held):
            each.close()


@pytest.mark.slow
def test_a_raw_reading_is_nowhere_outside_the_device(tmp_path: Path) -> None:
    url, log, lake = sqlite_url(tmp_path), tmp_path / "log", tmp_path / "lake"
    operator = initialise(url)
    assert operator is not None
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    begins, ends = today - timedelta(days=3), today - timedelta(days=1)
    terms = CAMPAIGN | {
        "lattice": {"step": "0.000001", "low": "0", "high": "20"},
        "menu": {"settings": [{"id": "A", "setting": "laplace:0.5"}]},
        **{"rewards": {"A": 1}, "time_zone": "UTC", "keep_reports": "always", "least_producers": 1},
        **{"begins": begins.isoformat(), "ends": ends.isoformat(), "grace_minutes": 60 * 24 * 30},
    }
    said = b""

    def run(*words: str, text: str | None = None) -> None:
        nonlocal said
        done = subprocess.run([*COMMAND, *words], input=text, capture_output=True, text=True, timeout=PATIENCE)
        said += (done.stdout + done.stderr).encode()

    with served(url, log, "--lake", str(lake)) as service:
        tap = Tap(service.host, service.port)
        consumer = service.ok("POST", "/v1/consumers", operator, {"name": "n"})["token"]
        campaign = service.ok("POST", "/v1/campaigns", consumer, terms)["campaign"]
        device = ("--state", str(tmp_path / "device"))
        run("join", tap.address, "--setting", "A", "--least-producers", "1", *device)
        rows = [f"{(begins + timedelta(minutes=place)).isoformat()},{READING}" for place in range(100)]
        run("send", "-", *device, text="\n".join(["time,value", *rows]) + "\n")
        wrong = [f"no time,{READING}", f"{begins.isoformat()},{READING}x", f"{ends.isoformat()},{READING}"]
        for row in wrong:  # a row that cannot be read is told of without what stands in it
            run("send", "-", *device, text=f"time,value\n{row}\n")
        run("status", *device)
        path = f"/v1/campaigns/{campaign}"
        closed = service.ok("POST", f"{path}/periods/{begins.date().isoformat()}/close", consumer)
        assert closed["reports"] == 100
        until = time.monotonic() + PATIENCE
        while not (files := sorted(lake.rglob("*.parquet"))):
            assert time.monotonic() < until, "the lake stays empty"
            time.sleep(0.1)
        metrics = service.connect()
        metrics.request("GET", "/metrics", headers={"Authorization": f"Bearer {operator}"})
        counted = metrics.getresponse().read()
        metrics.close()
        with closing(sqlite3.connect(tmp_path / "service.db")) as held:
            kept = held.execute("SELECT steps FROM reports").fetchall()
            everything = "\n".join(held.iterdump()).encode()
        service.stop()
        tap.close()
    steps = [row["steps"] for file in files for row in pq.read_table(file).to_pylist()]
    assert sorted(steps) == sorted(step for (step,) in kept)
    assert b"/v1/reports" in bytes(tap.heard)
    assert b"halfmask_reports_total" in counted
    assert b"cannot be read" in said
    places = {"wire": bytes(tap.heard), "log": log.read_bytes(), "device's words": said, "metrics": counted}
    places |= {"dump": everything, "cells": repr(closed).encode(), "steps": repr(steps).encode()}
    places |= {str(file): file.read_bytes() for file in [*files, *tmp_path.glob("service.db*")]}
    assert {name: found for name, content in places.items() if (found := hits(content))} == {}
    assert hits(f"x{READING}y".encode()) == [READING.encode()]  # the search itself finds it
