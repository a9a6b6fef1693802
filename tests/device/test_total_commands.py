"""``halfmask join``, ``send``, ``status`` and ``ledger`` in a campaign of totals, with a service run as a program."""

import json
import signal
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.commands.program import PROGRAM
from tests.device.test_share_commands import FREE, RAW, done, post, run
from tests.service.test_totals import TOTALS
from tests.service.world import CAMPAIGN

HOUR = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
FIRST = HOUR - timedelta(hours=2)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, str]]:
    """A service with a campaign of quarter-hours of five readings each; its address, the consumer, the campaign."""
    db = f"sqlite:///{tmp_path_factory.mktemp('service') / 'service.db'}"
    made = subprocess.run([*PROGRAM, "serve", "--init", "--db", db, "--json"], capture_output=True, check=True)
    command = [*PROGRAM, "serve", "--db", db, "--port", "0", "--settle", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        found = server.stdout.readline().strip()
        name = {"name": "utility"}
        consumer = post(found, "/v1/consumers", json.loads(made.stdout)["token"], name)["token"]
        bounds = {
            "begins": (HOUR - timedelta(hours=24)).isoformat(), "ends": (HOUR + timedelta(hours=24)).isoformat(),
            "period": "quarter_hour", "readings_expected": 5, "grace_minutes": 24 * 60, "least_producers": 1,
        }  # fmt: skip
        campaign = post(found, "/v1/campaigns", consumer, CAMPAIGN | TOTALS | bounds)["campaign"]
        yield found, consumer, campaign
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def test_quarter_hours_are_sent_as_totals(service: tuple[str, str, str], tmp_path: Path) -> None:
    address, consumer, campaign = service
    state = ("--state", str(tmp_path / "state"))
    joined = run("join", address, "--setting", "N", *FREE, *state, "--explain")
    assert joined.returncode == 0
    assert "one report per quarter hour" in joined.stderr
    assert "totals are sent as they are" in joined.stderr
    times = [FIRST + timedelta(minutes=3 * n) for n in range(20) if n >= 3]  # the first quarter-hour has two of five
    readings = tmp_path / "readings.csv"
    readings.write_text("time,value\n" + "".join(f"{when.isoformat()},{RAW}\n" for when in times))
    sent = run("send", str(readings), *state)
    assert sent.stdout == "sent: 3 accepted; rewards expected: 0.015 EUR\n"
    assert "17 reading(s) count in the totals" in sent.stderr
    assert "has 2 of 5 readings" in sent.stderr
    assert "--partial" in sent.stderr
    key = f"{FIRST:%Y-%m-%dT%H%M}Z"
    assert f"{key}: 2 of 5 readings, no total yet" in done("status", *state)
    assert done("send", *state).startswith("queued 0 report(s); sent: nothing")
    assert "1 accepted" in done("send", "--partial", *state)
    late = run("send", "-", *state, text=f"time,value\n{FIRST.isoformat()},{RAW}\n")
    assert "too late for the total of their period" in late.stderr
    ledger = run("ledger", *state, "--explain")
    assert "4 report(s) are of totals" in ledger.stderr
    sums = []
    for minutes in (0, 15, 30, 45):
        name = f"{FIRST + timedelta(minutes=minutes):%Y-%m-%dT%H%M}Z"
        sums.append(post(address, f"/v1/campaigns/{campaign}/periods/{name}/close", consumer, {})["sum"]["estimate"])
    assert sums == [15.5, 38.9, 38.9, 38.9]
    assert RAW not in done("status", *state)
