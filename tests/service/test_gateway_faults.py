"""A gateway as a process of its own that is killed with -9: the service above comes to its exact total."""

import json
import random
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.service.fleet import FAR, Fleet, wait_until
from tests.service.process import Served, init, served
from tests.service.servers import free_port
from tests.service.test_serve import begin
from tests.service.world import sqlite_url


@pytest.mark.slow
def test_a_gateway_that_is_killed_sends_its_exact_cells_up(tmp_path: Path) -> None:
    for name in ("above", "below"):
        (tmp_path / name).mkdir()
    above, below, port = sqlite_url(tmp_path / "above"), sqlite_url(tmp_path / "below"), free_port()
    operator, chance = init(above), random.Random(3)
    init(below)
    with served(above, tmp_path / "log-above", "--requests-per-second", "0") as top:
        consumer, campaign = begin(top, operator, **FAR)
        path = f"/v1/campaigns/{campaign}"
        node = top.ok("POST", f"{path}/nodes", operator, {"name": "street"})["token"]
        options = (
            "--requests-per-second",
            "0",
            "--upstream",
            f"http://{top.host}:{top.port}",
        )
        log = tmp_path / "log-below"
        gateway = Served(below, log, *options, port=port, secrets={"UPSTREAM_TOKEN": node})
        wait_until(lambda: gateway.send("GET", path)[0] == 200, "the gateway does not keep the campaign")
        fleet = Fleet.of(gateway, campaign, 4)
        with fleet.sending():
            for _ in range(4):
                before = fleet.acknowledged
                wait_until(lambda before=before: fleet.acknowledged > before + 50, "nothing was acknowledged")
                time.sleep(chance.uniform(0, 2))
                gateway.stop(signal.SIGKILL)
                gateway = fleet.service = Served(below, log, *options, port=port, secrets={"UPSTREAM_TOKEN": node})
        values = [value for meter in fleet.meters for _, value in meter.acknowledged]
        assert [meter.wrong for meter in fleet.meters] == [[]] * 4
        wait_until(lambda: _arrived(tmp_path / "above") == len(values), "the last reports were not sent up")
        closed = top.ok("POST", f"{path}/periods/{fleet.day}/close", consumer)
        gateway.stop()
    assert closed["reports"] == len(values)
    assert closed["producers"] == 4
    assert closed["sum"]["estimate"] == sum(values)


def _arrived(folder: Path) -> int:
    """The reports in the cells that a service has of its nodes."""
    with closing(sqlite3.connect(folder / "service.db", timeout=60)) as store:
        rows = store.execute("SELECT cells FROM node_cells").fetchall()
    return sum(cell["reports"] for (cells,) in rows for cell in json.loads(cells).values())
