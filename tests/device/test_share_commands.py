"""``halfmask join``, ``send``, ``status``, ``ledger`` and ``leave`` against a service that runs as a program."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from halfmask_device import Lattice, Producer
from tests.commands.program import PROGRAM, piped
from tests.service.test_mqtt import mosquitto
from tests.service.world import CAMPAIGN

NOW = datetime.now(UTC).replace(microsecond=0)
RAW = "7.771"
FREE = ("--least-producers", "1", "--budget", "inf")


def post(address: str, path: str, token: str, body: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(address + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service on a free port with one campaign."""
    db = f"sqlite:///{tmp_path_factory.mktemp('service') / 'service.db'}"
    made = subprocess.run([*PROGRAM, "serve", "--init", "--db", db, "--json"], capture_output=True, check=True)
    operator = json.loads(made.stdout)["token"]
    command = [*PROGRAM, "serve", "--db", db, "--port", "0", "--settle", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        found = server.stdout.readline().strip()
        consumer = post(found, "/v1/consumers", operator, {"name": "utility"})["token"]
        days = {"begins": (NOW - timedelta(days=2)).isoformat(), "ends": (NOW + timedelta(days=2)).isoformat()}
        late = {
            "grace_minutes": 24 * 60
        }  # readings of the last minutes count, whatever the hour and however slow the run
        post(found, "/v1/campaigns", consumer, CAMPAIGN | days | late)
        yield found
        server.send_signal(signal.SIGTERM)
        server.wait(60)


def run(*words: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    ended = piped(*words, given=(text or "").encode())
    return subprocess.CompletedProcess([], ended.returncode, ended.stdout.decode(), ended.stderr.decode())


def done(*words: str, text: str | None = None) -> str:
    ended = run(*words, text=text)
    assert ended.returncode == 0, ended.stderr
    assert RAW not in ended.stdout + ended.stderr
    return ended.stdout


def rows(first: int, count: int) -> str:
    times = (NOW - timedelta(minutes=each) for each in range(first, first + count))
    return "".join(f"{when.isoformat()},{RAW}\n" for when in times)


def test_a_device_joins_sends_and_leaves(address: str, tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "state"))
    few = run("join", address, "--setting", "A", *state)
    assert few.returncode == 2
    assert "--least-producers lowers" in few.stderr
    refused = run("join", address, *FREE, *state)
    assert refused.returncode == 2
    assert "name a --setting of the campaign's menu: A (laplace:0.5; 0.002 EUR a report), B (" in refused.stderr
    assert not (tmp_path / "state").exists()
    assert "by setting A (laplace:0.5; 0.002 EUR a report)" in done("join", address, "--setting", "A", *FREE, *state)
    readings = tmp_path / "readings.csv"
    readings.write_text("time,value\n" + rows(1, 20))
    said = done("send", str(readings), *state)
    assert said == "queued 20 report(s); sent: 20 accepted; rewards expected: 0.040 EUR\n"
    again = run("send", str(readings), *state)
    assert (again.stdout, again.returncode) == ("queued 0 report(s); sent: nothing; rewards expected: nothing\n", 0)
    assert again.stderr.startswith("20 report(s) were queued or sent before")
    given = "time,value\n" + rows(21, 5)
    ignored = subprocess.run(
        [*PROGRAM, "send", *state], input=given, capture_output=True, text=True, check=True, timeout=120
    )
    assert "'halfmask send -'" in ignored.stderr
    assert "5 accepted" in done("send", "-", *state, text="time,value\n" + rows(21, 5))
    assert re.search(r"25 accepted +0\.050 EUR", done("status", *state))
    ledger = done("ledger", *state, "--change", "1", "--budget", "60", "--window", "week", "--then", "warn")
    assert "Upper bounds on epsilon for a change of 1 kWh: in every reading of the window" in ledger
    total = ledger.splitlines()[1].split()
    assert (total[:2], *total[-2:]) == (["all", "25"], "50", "1000")
    assert "left campaign" in done("leave", *state)
    assert "(left)" in done("status", *state)
    assert run("send", str(readings), *state).returncode == 2


@pytest.mark.parametrize("words", [("ledger",), ("ledger", "--budget", "5"), ("status",), ("leave",), ("send",)])
def test_a_folder_without_a_device_is_refused_and_none_is_begun(words: tuple[str, ...], tmp_path: Path) -> None:
    ended = run(*words, "--state", str(tmp_path / "typo"))
    assert ended.returncode == 2
    assert f"there is no device in {tmp_path / 'typo'}: --state is the folder" in ended.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_device_whose_folder_was_emptied_goes_on_by_the_secret_beside_it(tmp_path: Path) -> None:
    Producer("laplace:1", Lattice("0.1", "0", "10"), tmp_path / "state")
    shutil.rmtree(tmp_path / "state")
    assert "all" in done("ledger", "--state", str(tmp_path / "state"))


def test_a_growing_file_is_followed(address: str, tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "state"))
    done("join", address, "--setting", "B", *FREE, *state)
    readings = tmp_path / "readings.csv"
    readings.write_text("time,value\n" + rows(1, 3))
    command = [*PROGRAM, "send", str(readings), "--follow", *state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as follower:
        reached(state, 3)
        with readings.open("a") as file:
            file.write(rows(4, 2)[:40])  # half a line waits for its end
            file.flush()
            file.write(rows(4, 2)[40:])
        reached(state, 5)
        follower.send_signal(signal.SIGINT)
        said = "".join(follower.communicate(timeout=60))
        assert follower.returncode == 130
    assert RAW not in said


def reached(state: tuple[str, ...], reports: int) -> None:
    """Wait until so many reports are accepted."""
    end = time.monotonic() + 60
    while f"{reports} accepted" not in (said := done("status", *state)):
        assert time.monotonic() < end, said


def documented(name: str) -> str:
    """The command that docs/device.md gives for a source of readings."""
    page = (Path(__file__).parents[2] / "docs" / "device.md").read_text()
    return page.partition(f"**{name}.**")[2].partition("```\n")[2].partition("```")[0]


def shell(folder: Path, **ports: int) -> dict[str, Any]:
    """How the documented commands are run: in a folder, with the program, and tools at a port that is not the usual."""
    words = {"halfmask": " ".join(PROGRAM)} | {name: f"/usr/bin/{name} -p {port}" for name, port in ports.items()}
    for name, command in words.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return {"cwd": folder, "env": os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}, "text": True}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Home Assistant", "emoncms"])
def test_exports_of_meters_that_people_have_are_fed_as_documented(name: str, address: str, tmp_path: Path) -> None:
    """The documented command, as it stands, in a folder with an export as the program makes it."""
    done("join", address, "--setting", "A", *FREE, "--state", str(tmp_path / "mine"))
    times = [NOW - timedelta(minutes=each) for each in range(30)]
    history = "".join(f"sensor.meter,{RAW},{when.isoformat(timespec='milliseconds')}\n" for when in times)
    (tmp_path / "history.csv").write_text("entity_id,state,last_changed\n" + history.replace("+00:00", "Z"))
    (tmp_path / "feed.csv").write_text("".join(f"{int(when.timestamp())},{RAW}\n" for when in times))
    said = subprocess.run(["bash", "-c", documented(name)], capture_output=True, **shell(tmp_path))
    assert said.returncode == 0, said.stderr
    assert said.stdout == "queued 30 report(s); sent: 30 accepted; rewards expected: 0.060 EUR\n"
    assert RAW not in said.stdout + said.stderr


@pytest.mark.slow
def test_a_meters_topic_is_fed_as_documented(address: str, tmp_path: Path) -> None:
    """Mosquitto's own clients and jq, by the documented lines; the meter speaks until three reports are accepted."""
    if not (shutil.which("mosquitto_sub") and shutil.which("jq")):
        pytest.skip("no Mosquitto clients or jq on this machine: `make system` installs them")
    state = ("--state", str(tmp_path / "mine"))
    done("join", address, "--setting", "A", *FREE, *state)
    with mosquitto(tmp_path) as port:
        how = shell(tmp_path, mosquitto_sub=port)
        script = ["bash", "-c", documented("MQTT")]
        fed = subprocess.Popen(script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, **how)
        try:
            end, message = time.monotonic() + 60, json.dumps({"power": float(RAW), "voltage": 231})
            while not re.search(r"\b([3-9]|\d\d) accepted", said := done("status", *state)):
                assert time.monotonic() < end, said
                speak = ["mosquitto_pub", "-p", str(port), "-t", "zigbee2mqtt/meter", "-m", message]
                subprocess.run(speak, check=True)
        finally:
            os.killpg(fed.pid, signal.SIGINT)
            output = "".join(fed.communicate(timeout=60))
        assert RAW not in output
    assert (tmp_path / "meter.csv").read_text().count(RAW) >= 3  # here alone
