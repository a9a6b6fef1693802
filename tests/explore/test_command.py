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
from halfmask.pages.explore.explorer import Explorer
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


def test_a_profile_alone_can_be_explored(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "homes.profile", tmp_path)
    explorer = Explorer(tmp_path)
    answer = explorer.answer(explorer.default)
    assert [each["id"] for each in answer["levels"]] == ["L1", "L2", "L3", "L4"]
    assert answer["paper"] == []
    assert explorer.settings(explorer.default)["limit"] is None


def test_bad_input_is_refused(folder: Path, tmp_path: Path) -> None:
    assert "is not a folder" in refused("explore", tmp_path / "nowhere", "--no-browser")
    assert "holds no profile" in refused("explore", tmp_path, "--no-browser")
    shutil.copy(folder / "menu.json", tmp_path)
    assert "halfmask profile" in refused("explore", tmp_path, "--no-browser")
    ended = halfmask("explore", folder, "--port", "99999", "--no-browser")
    assert ended.returncode == 1
    assert "take another --host or --port" in ended.stderr


@pytest.mark.parametrize("option", ["--host", "--port", "--no-browser"])
def test_the_options_are_there(option: str) -> None:
    assert option in {name for each in app["explore"].assemble_argument_collection() for name in each.names}
