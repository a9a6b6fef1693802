"""The integration for Home Assistant: its tests run in an environment with Home Assistant, against a real service."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.commands.program import PROGRAM
from tests.environments import ROOT
from tests.test_pythons import pythons

FOLDER = ROOT / "integrations" / "home-assistant"
LOCK = ROOT / "requirements" / "home-assistant.txt"
PYTHON = (3, 13)
"""Python for which the lock was made: Home Assistant 2025.4, the least that hacs.json asks for, needs it."""


def environment() -> Path:
    """The interpreter of an environment with the Home Assistant of the lock; it is made once."""
    if PYTHON not in pythons():
        pytest.skip(f"Home Assistant needs Python {'.'.join(map(str, PYTHON))}, and this machine has none")
    place = Path(os.environ.get("HALFMASK_HOME_ASSISTANT", ROOT / ".home-assistant"))
    python = place / "bin" / "python"
    if not python.exists():
        subprocess.run([pythons()[PYTHON], "-m", "venv", place], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--require-hashes", "-r", LOCK], check=True, timeout=1800)
    device = ROOT / "packages" / "halfmask-device"
    subprocess.run([*pip, "--force-reinstall", device], check=True, timeout=600)
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
