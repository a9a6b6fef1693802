"""The tutorial makes every file that it uses, and all its commands run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"
ELSEWHERE = ("git clone", "halfmask explore .\n")
"""Blocks that set up the program, or serve a page until they are stopped: `tests/explore` runs that."""


def blocks(text: str) -> list[tuple[str, str]]:
    """Kind and content of the blocks that are to be typed, in order."""
    found = re.findall(r"^```(sh|python)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [(kind, block) for kind, block in found if not any(word in block for word in ELSEWHERE)]


READ = r"(?<![\w/>])[\w-]+\.(?:csv|profile|parquet|json)\b"


def missing(text: str) -> list[str]:
    """Files that a block reads though no block before it, nor itself, writes them."""
    made: set[str] = set()
    wanted: set[str] = set()
    for kind, block in blocks(text):
        if kind == "python":
            made |= set(re.findall(r'"([\w.]+)"', block))
            continue
        for line in block.splitlines():
            written = set(re.findall(r"(?:-o|>) ?([\w.-]+)", line))
            wanted |= set(re.findall(READ, line)) - made - written
            made |= written
    return sorted(wanted)


def test_every_file_that_is_used_was_made_before() -> None:
    text = TUTORIAL.read_text()
    assert len(blocks(text)) >= 10
    assert missing(text) == []
    assert missing(text.replace("> prefs.csv", "> other.csv")) == ["prefs.csv"]


def shown(text: str) -> list[str]:
    """Lines of the outputs that the text shows, blanks as one; what is set in further goes on a line of its block."""
    lines: list[str] = []
    for kind, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        for place, line in enumerate(block.splitlines() if not kind else ()):
            if place and line.startswith("     ") and lines and lines[-1].startswith("!"):
                lines[-1] += " " + " ".join(line.split())
            elif line.strip() not in ("", "..."):
                lines.append(" ".join(line.split()))
    return lines


def unsaid(text: str, said: str) -> list[str]:
    """Lines that are shown and were not printed; dots stand for the rest of a line."""
    printed = [" ".join(line.split()) for line in said.splitlines()]
    return [
        line
        for line in shown(text)
        if not any(each == line or (line.endswith(" ...") and each.startswith(line[:-4])) for each in printed)
    ]


def test_an_output_of_another_run_would_be_noticed() -> None:
    text = "```\nid  setting\nA   laplace:1  0.5 ...\n   ! a warning that\n     goes on\n...\n```\n"
    assert unsaid(text, "id setting\nA  laplace:1   0.5  0.7\n! a warning that goes on\n") == []
    assert unsaid(text, "id setting\nA  sine:1   0.5  0.7\n! a warning that goes\n") == [
        "A laplace:1 0.5 ...",
        "! a warning that goes on",
    ]


@pytest.mark.slow
def test_every_command_runs_in_a_clean_folder_and_prints_what_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "halfmask"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m halfmask "$@"\n')
    program.chmod(0o755)
    folder = tmp_path / "clean"
    folder.mkdir()
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "COLUMNS": "200", "NO_COLOR": "1"}
    said = ""
    for kind, block in [("sh", "halfmask demo -o demo"), *blocks(TUTORIAL.read_text())]:
        command = [sys.executable, "-c", block] if kind == "python" else ["bash", "-e", "-o", "pipefail", "-c", block]
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, f"{block}\n{ended.stderr}"
        said += ended.stdout + ended.stderr
    assert unsaid(TUTORIAL.read_text(), said) == []
    made = {path.name for path in folder.iterdir()}
    assert {"meters.csv", "meters.profile", "study.parquet", "menu.json", "mix.parquet", "masked.csv"} <= made
