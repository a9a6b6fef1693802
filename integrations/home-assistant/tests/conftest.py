"""A real halfmask service on this machine, a Home Assistant with a recorder, and a meter with statistics."""

import json
import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_socket
from homeassistant.components.recorder.models import StatisticData, StatisticMeanType, StatisticMetaData
from homeassistant.components.recorder.statistics import async_import_statistics
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
from pytest_homeassistant_custom_component.components.recorder.common import async_wait_recording_done

PROGRAM = os.environ.get("HALFMASK", "halfmask").split()
METER = "sensor.meter"
PERIOD = {"period": "day", "time_zone": "UTC", "grace_minutes": 3 * 24 * 60}
MENU = [{"id": "A", "name": "strong", "setting": "laplace:2.5@total"}, {"id": "B", "setting": "none@total"}]


@dataclass
class Service:
    """A service that runs as a program, and the token of a consumer."""

    address: str
    consumer: str
    process: subprocess.Popen[str]

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.consumer}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def campaign(self, **changed: Any) -> str:
        """A campaign of daily totals that began three days ago."""
        today = dt_util.utcnow().replace(hour=0, minute=0, second=0, microsecond=0)
        body = {
            "name": "street", "purpose": "size the transformer", "unit": "kWh",
            "lattice": {"step": "0.1", "low": "0", "high": "40"}, "release": "total", "readings_expected": 24,
            "begins": (today - timedelta(days=3)).isoformat(), "ends": (today + timedelta(days=30)).isoformat(),
            "menu": {"settings": MENU}, "rewards": {"A": 20, "B": 40}, "currency": "EUR/1000", "budget": 1_000_000,
            "least_producers": 1, **PERIOD, **changed,
        }  # fmt: skip
        return str(self.ask("POST", "/v1/campaigns", body)["campaign"])

    def closed(self, campaign: str, day: str) -> Any:
        """The period as the consumer sees it, closed early."""
        return self.ask("POST", f"/v1/campaigns/{campaign}/periods/{day}/close", {})


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    db = f"sqlite:///{tmp_path_factory.mktemp('service') / 'service.db'}"
    made = subprocess.run([*PROGRAM, "serve", "--init", "--db", db, "--json"], capture_output=True, check=True)
    operator = json.loads(made.stdout)["token"]
    words = [*PROGRAM, "serve", "--db", db, "--port", "0", "--settle", "0"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            found = Service(process.stdout.readline().strip(), operator, process)
            pytest_socket.enable_socket()
            found.consumer = found.ask("POST", "/v1/consumers", {"name": "utility"})["token"]
            yield found
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.fixture(autouse=True)
def meter(_own_integration: None, hass: HomeAssistant) -> str:
    """The id in the entity registry of a meter that an integration made."""
    made = er.async_get(hass).async_get_or_create("sensor", "meters", "no 7", suggested_object_id="meter")
    assert made.entity_id == METER
    return made.id


@pytest.fixture
def _own_integration(
    recorder_mock: Any, hass: HomeAssistant, enable_custom_integrations: Any, socket_enabled: Any, tmp_path: Path
) -> None:
    """Take this integration, with a recorder, this machine's network, and a folder for the device of each test.

    The recorder must be asked for before Home Assistant.
    """
    del recorder_mock, enable_custom_integrations, socket_enabled
    hass.config.config_dir = str(tmp_path)
    (tmp_path / ".storage").mkdir()


async def record(hass: HomeAssistant, begins: datetime, changes: list[float | None], sensor: str = METER) -> None:
    """Write hourly statistics of a register: its change in each hour; None for an hour without a row."""
    rows, total = list[StatisticData](), 1000.0
    for hour, change in enumerate(changes):
        if change is not None:
            total += change
            rows.append(StatisticData(start=begins + timedelta(hours=hour), state=total, sum=total))
    about = StatisticMetaData(
        mean_type=StatisticMeanType.NONE, has_mean=False, has_sum=True, name=None, source="recorder",
        statistic_id=sensor, unit_of_measurement="kWh",
    )  # fmt: skip
    async_import_statistics(hass, about, rows)
    await async_wait_recording_done(hass)
