"""The integration for Home Assistant: its tests run in an environment with Home Assistant, against a real service."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.commands.program import PROGRAM
from tests.environments import ROOT
from tests.test_pythons import pythons

FOLDER = ROOT / "integrations" / "home-assistant"
LEAST = (3, 13)
"""Home Assistant 2025.4, which hacs.json asks for, needs this Python."""


def environment() -> Path:
    """The interpreter of an environment with the newest Home Assistant that installs here; it is made once."""
    found = max(pythons())
    if found < LEAST:
        pytest.skip(f"Home Assistant needs Python {'.'.join(map(str, LEAST))}, and this machine has none")
    place = Path(os.environ.get("HALFMASK_HOME_ASSISTANT", ROOT / ".home-assistant"))
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([pythons()[found], "-m", "venv", place], check=True)
    pip = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "pytest-homeassistant-custom-component"], check=True, timeout=1800)
    device = ROOT / "packages" / "halfmask-device"
    subprocess.run([*pip, "--force-reinstall", "--no-deps", device], check=True, timeout=600)
    return python


@pytest.mark.slow
def test_home_assistant_shares_a_sensor_with_a_service() -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    program = " ".join(PROGRAM)
    ended = subprocess.run(
        [environment(), "-m", "pytest", "-q", "--show-capture=no", "-p", "no:cacheprovider"],
        cwd=FOLDER, env=own | {"HALFMASK": program}, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert "passed" in ended.stdout
