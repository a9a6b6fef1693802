"""``halfmask send mqtt://... --topic``: a meter that speaks to a real Mosquitto, and what a loss of power costs."""

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from halfmask_device.instants import MINUTE, of_datetime
from halfmask_device.meter_register import MeterRegister
from halfmask_device.sharing import Sharer
from tests.commands.program import PROGRAM, piped
from tests.device.test_share_commands import post
from tests.environments import ROOT
from tests.service.process import init, served
from tests.service.test_mqtt import Device, mosquitto
from tests.service.world import CAMPAIGN, sqlite_url

TOPIC = "tele/meter/SENSOR"
NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
UNIT = ROOT / "integrations" / "systemd" / "halfmask-send.service"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service with a campaign of half-hours."""
    folder = tmp_path_factory.mktemp("service")
    url = sqlite_url(folder)
    operator = init(url)
    with served(url, folder / "log") as service:
        found = f"http://{service.host}:{service.port}"
        consumer = post(found, "/v1/consumers", operator, {"name": "utility"})["token"]
        days = {"begins": (NOW - timedelta(days=2)).isoformat(), "ends": (NOW + timedelta(days=2)).isoformat()}
        more = {"grace_minutes": 24 * 60, "every_minutes": 30, "least_producers": 1}
        post(found, "/v1/campaigns", consumer, CAMPAIGN | days | more)
        yield found


@pytest.fixture
def state(address: str, tmp_path: Path) -> Path:
    """The folder of a device that joined, unmasked so that sums can be compared."""
    words = ("join", address, "--setting", "N", "--least-producers", "1", "--budget", "inf")
    assert piped(*words, "--state", str(tmp_path / "mine")).returncode == 0
    return tmp_path / "mine"


@contextmanager
def following(url: str, state: Path) -> Iterator[subprocess.Popen[str]]:
    command = [*PROGRAM, "send", url, "--topic", TOPIC, "--state", str(state)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as program:
        try:
            yield program
        finally:
            program.kill()


def reached(holds: Callable[[], object], meter: Device, total: float) -> None:
    """Wait for what must come to hold, while the meter says its register again and again."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        meter.send({"Time": "2026-11-16T00:00:00", "ENERGY": {"Total": total}}, TOPIC)
        time.sleep(0.05)


def registers(state: Path) -> str:
    with Sharer(state, create=False).state.memory() as memory:
        rows = memory.execute("SELECT plain FROM registers").fetchall()
    return "".join(plain for (plain,) in rows)


def test_a_register_is_followed_over_a_loss_of_power(state: Path, tmp_path: Path) -> None:
    """The program is killed; what the register counted meanwhile is divided over the half-hours that were missed."""
    two_hours = NOW - timedelta(hours=2)
    device = Sharer(state, create=False)
    MeterRegister(device.state, [TOPIC], 30).take(TOPIC, of_datetime(two_hours), 1000)  # as before the loss of power
    with mosquitto(tmp_path) as port, Device(f"mqtt://127.0.0.1:{port}", "meter") as meter:
        url = f"mqtt://127.0.0.1:{port}"
        with following(url, state) as program:
            reached(lambda: device.history(device.member().campaign).accepted >= 4, meter, 1004.7)
            program.send_signal(signal.SIGKILL)
            program.wait(60)
        assert "1004.7" in registers(state)
        with following(url, state) as program:
            reached(lambda: "1000.1" in registers(state), meter, 1000.1)  # below the last state: it is kept aside
            program.send_signal(signal.SIGINT)
            said = program.communicate(timeout=60)[0]
        assert program.returncode == 130
        assert "100" not in said
    with device.state.memory() as memory:
        rows = memory.execute("SELECT time, steps FROM queue WHERE outcome = 'accepted' ORDER BY time").fetchall()
    passed = (of_datetime(datetime.fromisoformat(rows[-1][0])) - of_datetime(two_hours)) // (30 * MINUTE) + 1
    assert len(rows) == passed
    assert sum(int(steps) for _, steps in rows) == pytest.approx(4700, abs=len(rows))  # each rounded to a step


@pytest.mark.parametrize(
    "words",
    [("mqtt://127.0.0.1:9",), ("readings.csv", "--topic", "a"), ("readings.csv", "--unit", "Wh"), ("--topic", "a")],
)
def test_a_broker_and_its_topic_go_together(words: tuple[str, ...], tmp_path: Path) -> None:
    assert piped("send", *words, "--state", str(tmp_path / "mine")).returncode == 2


def test_a_topic_is_one_register(state: Path) -> None:
    ended = piped("send", "mqtt://127.0.0.1:9", "--topic", "tele/+/SENSOR", "--state", str(state))
    assert (ended.returncode, b"--topic" in ended.stderr) == (2, True)


def test_a_row_that_a_loss_of_power_cut_off_is_left_out(state: Path, tmp_path: Path) -> None:
    readings = tmp_path / "readings.csv"
    times = [(NOW - timedelta(minutes=30 * n)).isoformat() for n in range(1, 4)]
    readings.write_text(f"time,value\n{times[0]},1.5\n{times[1]},2.{times[1]},2.5\n\0\0\0\n{times[2]},3.5\n")
    command = [*PROGRAM, "send", str(readings), "--follow", "--state", str(state)]
    device = Sharer(state, create=False)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        end = time.monotonic() + 60
        while device.history(device.member().campaign).accepted < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        program.send_signal(signal.SIGINT)
        said = program.communicate(timeout=60)[1]
    assert "row 2 " in said
    assert "row 3 " in said
    assert piped("send", str(readings), "--state", str(state)).returncode == 2  # a whole file must be right


def checked(unit: str, folder: Path) -> str:
    path = folder / "halfmask-send.service"
    path.write_text(unit.replace("/opt/halfmask/.venv/bin/halfmask", "/bin/true"))
    ended = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    if subprocess.run(["which", "systemd-analyze"], capture_output=True, check=False).returncode:
        pytest.skip("no systemd on this machine")
    unit = UNIT.read_text()
    assert "halfmask-send.service" not in checked(unit, tmp_path)
    assert "halfmask-send.service" in checked(unit.replace("DynamicUser", "DynamicUzer"), tmp_path)


def test_the_units_command_is_one_that_the_program_takes() -> None:
    """Its options exist, and an error that only a person can mend ends it for good, as exit code 2 does."""
    unit = UNIT.read_text()
    given = dict(line.split("=", 1) for line in unit.splitlines() if "=" in line and line[0] != "#")
    assert given["RestartPreventExitStatus"] == "2"
    assert given["SuccessExitStatus"] == "130"
    assert given["KillSignal"] == "SIGINT"
    words = given["ExecStart"].split()[1:]
    assert piped(*words[:1], "--help").returncode == 0
    assert {word for word in words if word.startswith("--")} == {"--state"}
