"""The example device of docs/protocol.md runs against a service that knows nothing of it."""

import json
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.service.process import init, served
from tests.service.world import CAMPAIGN, sqlite_url

TEXT = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text(encoding="utf-8")
(DEVICE,) = re.findall(r'```python\n("""A device that joins.*?)```', TEXT, re.DOTALL)


def test_the_example_is_short() -> None:
    assert len([line for line in DEVICE.splitlines() if line.strip()]) <= 60


def test_the_example_device_joins_masks_and_reports_once(tmp_path: Path) -> None:
    (tmp_path / "device.py").write_text(DEVICE)
    begins = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=30)
    times = [(begins + timedelta(minutes=30 * each)).isoformat() for each in range(48)]
    rows = "time,value\n" + "".join(f"{time},0.25\n" for time in times)
    url = sqlite_url(tmp_path)
    operator = init(url)
    with served(url, tmp_path / "log") as service:
        consumer = service.ok("POST", "/v1/consumers", operator, {"name": "utility"})["token"]
        ends = begins + timedelta(days=30)
        terms = CAMPAIGN | {"begins": begins.isoformat(), "ends": ends.isoformat(), "period": "month"}
        terms |= {"least_producers": 1, "grace_minutes": 60 * 24 * 40}
        campaign = service.ok("POST", "/v1/campaigns", consumer, terms)["campaign"]
        words = [
            sys.executable,
            tmp_path / "device.py",
            f"http://{service.host}:{service.port}",
            campaign,
            "A",
            tmp_path,
        ]
        for _ in range(2):
            done = subprocess.run(words, input=rows, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            assert json.loads(done.stdout)["expected"] == 48 * 2
    stored = json.loads((tmp_path / "device.json").read_text())["reports"]
    assert {report["outcome"] for report in stored.values()} == {"accepted"}
    assert len({report["steps"] for report in stored.values()}) > 24
