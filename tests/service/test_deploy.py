"""The files of `deploy`: what can be checked of them without root and without a container's daemon."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.commands.program import halfmask
from tests.service.world import fresh, sqlite_url

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    unit = (DEPLOY / "halfmask.service").read_text().replace("/opt/halfmask/.venv/bin/halfmask", sys.executable)
    unit = unit.replace("User=halfmask", "User=root")
    (tmp_path / "halfmask.service").write_text(unit)
    done = subprocess.run(["systemd-analyze", "verify", tmp_path / "halfmask.service"], capture_output=True, text=True)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "halfmask.service" in line]) == (0, [])


def test_the_options_are_those_of_serve(tmp_path: Path) -> None:
    fresh(sqlite_url(tmp_path))
    text = (DEPLOY / "serve.toml").read_text().replace("sqlite:////var/lib/halfmask/halfmask.db", sqlite_url(tmp_path))
    (tmp_path / "serve.toml").write_text(text)
    assert halfmask("serve", "--config", str(tmp_path / "serve.toml"), "--check-config").returncode == 0
    (tmp_path / "serve.toml").write_text(text + "lest_producers = 3\n")
    assert halfmask("serve", "--config", str(tmp_path / "serve.toml"), "--check-config").returncode != 0


def test_the_image_copies_what_is_there_and_compose_names_it() -> None:
    lines = (DEPLOY / "Containerfile").read_text().splitlines()
    sources = [source for line in lines if line.startswith("COPY") for source in line.split()[1:-1]]
    assert sources
    assert all((ROOT / source).exists() for source in sources)
    made = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service = made["services"]["halfmask"]
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).samefile(DEPLOY / "Containerfile")
    used = {each.split(":")[0] for each in (*service["volumes"], *made["services"]["proxy"]["volumes"])}
    assert {name for name in used if not name.startswith(".")} == set(made["volumes"])
    assert all((DEPLOY / name).exists() for name in used if name.startswith("."))
    assert set(re.findall(r"HALFMASK_[A-Z]+", (DEPLOY / "Caddyfile").read_text())) == set(
        made["services"]["proxy"]["environment"]
    )
