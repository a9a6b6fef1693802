"""``halfmask explore`` as a user runs it."""

import os
import select
import shutil
import signal
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from halfmask.commands._app import app
from halfmask.menus.optimize import optimize
from tests.commands.program import PROGRAM, halfmask, refused


def test_it_serves_until_it_is_interrupted(folder: Path) -> None:
    command = [*PROGRAM, "explore", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        with urlopen(address, timeout=60) as answer:
            assert b"<h1>homes</h1>" in answer.read()
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 0
    assert said == "stopped\n"


def test_it_opens_the_browser_unless_told_not_to(folder: Path, tmp_path: Path) -> None:
    told, browser = tmp_path / "told", tmp_path / "browser"
    os.mkfifo(told)
    browser.write_text(f'#!/bin/sh\necho "$1" > {told}\n')
    browser.chmod(0o755)
    hears = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    environment = os.environ | {"BROWSER": f"{browser} %s"}
    command = [*PROGRAM, "explore", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as one:
        assert one.stdout is not None
        address = one.stdout.readline()
        ready, _, _ = select.select([hears], [], [], 60)
        opened = os.read(hears, 1000).decode() if ready else ""
        one.send_signal(signal.SIGINT)
        one.communicate(timeout=60)
    os.close(hears)
    assert opened == address


def test_it_writes_one_file_and_ends(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "explore.html"
    ended = halfmask("explore", folder, "-o", target)
    assert (ended.returncode, ended.stdout) == (0, "")
    assert f"wrote {target}" in ended.stderr
    page = target.read_text()
    assert "live controls are left out" in page
    assert "src=" not in page[: page.index("plotly.js v")]
    first = target.read_bytes()
    assert halfmask("explore", folder, "-o", target).returncode == 0
    assert target.read_bytes() == first


def test_a_profile_alone_can_be_explored(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "homes.profile", tmp_path)
    assert halfmask("explore", tmp_path, "-o", tmp_path / "explore.html").returncode == 0
    page = (tmp_path / "explore.html").read_text()
    assert 'id="figure-readings"' in page
    assert 'id="figure-users"' not in page
    assert "halfmask evaluate" in page


def test_a_study_without_a_menu_shows_the_menu_it_gives(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "homes.profile", tmp_path)
    shutil.copy(folder / "study.parquet", tmp_path)
    assert halfmask("explore", tmp_path, "-o", tmp_path / "explore.html").returncode == 0
    page = (tmp_path / "explore.html").read_text()
    assert "the folder holds no menu: this one is chosen now" in page
    for each in optimize(folder / "study.parquet").menu.settings:
        assert f"<code>{each.setting}</code>" in page
    assert 'id="figure-users"' in page


def test_bad_input_is_refused(folder: Path, tmp_path: Path) -> None:
    assert "is not a folder" in refused("explore", tmp_path / "nowhere")
    assert "holds no profile, study or menu" in refused("explore", tmp_path)
    ended = halfmask("explore", folder, "--port", "99999", "--no-browser")
    assert ended.returncode == 1
    assert "take another --host or --port" in ended.stderr
    assert "there is no folder" in refused("explore", folder, "-o", tmp_path / "missing" / "explore.html")


@pytest.mark.parametrize("option", ["--host", "--port", "--no-browser", "--output", "-o"])
def test_the_options_are_there(option: str) -> None:
    assert option in {name for each in app["explore"].assemble_argument_collection() for name in each.names}
