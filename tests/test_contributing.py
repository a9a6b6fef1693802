"""What CONTRIBUTING.md says: parts are added in two source files, as commits show; the command line only phrases."""

import re
import subprocess
from pathlib import Path

import pytest

from halfmask.commands import names

ROOT = Path(__file__).parents[1]
KINDS = ("a mechanism", "an attack", "an aggregate", "a figure", "a command", "a file format")
MOST = 2


def git(*words: str) -> list[str]:
    """The lines that git answers; none where this is no repository."""
    ended = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return ended.stdout.splitlines() if ended.returncode == 0 else []


def examples(text: str) -> dict[str, str]:
    """The kinds of part that a page tells how to add, each with the title of the commit that did."""
    rows = re.findall(r'^\| (an? [^|]+?) \|.*\| commit "([^"]+)" \|$', text, flags=re.MULTILINE)
    return {next((kind for kind in KINDS if what.startswith(kind)), what): title for what, title in rows}


def sources(title: str) -> list[str]:
    """The source files of the first commit with that title."""
    found = git("log", "--reverse", "--format=%H", "--fixed-strings", f"--grep={title}")
    return (
        [path for path in git("show", "--name-only", "--format=", found[0]) if path.startswith("src/")] if found else []
    )


def test_every_kind_of_part_has_a_commit_that_added_one() -> None:
    assert set(examples((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))) == set(KINDS)


@pytest.mark.skipif(git("rev-parse", "--is-shallow-repository") != ["false"], reason="the history is not here")
@pytest.mark.parametrize("kind", KINDS)
def test_that_commit_touches_two_source_files_at_the_most(kind: str) -> None:
    title = examples((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))[kind]
    assert 1 <= len(sources(title)) <= MOST, title


@pytest.mark.skipif(git("rev-parse", "--is-shallow-repository") != ["false"], reason="the history is not here")
def test_a_commit_of_more_files_would_be_noticed() -> None:
    assert len(sources("Bargaining: offers in turn")) > MOST
    assert sources("A title that no commit has") == []


def test_a_command_loads_no_room_with_itself() -> None:
    """The list of commands and ``--help`` import command modules: what they work with is imported when they run."""
    for name in names():
        text = (ROOT / "src" / "halfmask" / "commands" / f"{name}.py").read_text(encoding="utf-8")
        rooms = re.findall(r"^from halfmask\.(\w+)", text, flags=re.MULTILINE)
        assert set(rooms) <= {"commands", "errors", "extras"}, name


def long_files(makefile: str) -> list[str]:
    """The files that `make quick` leaves out."""
    (words,) = re.findall(r"^LONG := ((?:.*\\\n)*.*)$", makefile, flags=re.MULTILINE)
    return [f"tests/{each.replace('/', '/test_')}.py" for each in words.replace("\\\n", " ").split()]


@pytest.mark.skipif(git("rev-parse", "--is-shallow-repository") != ["false"], reason="the history is not here")
def test_the_other_commits_that_it_names_are_there() -> None:
    titles = re.findall(r'from commit "([^"]+)"', (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(titles) > 2
    assert [title for title in titles if not sources(title)] == []


def test_the_habits_are_set_up() -> None:
    for package in ("halfmask", "halfmask_device"):
        assert (ROOT / "src" / package / "py.typed").exists()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert "ruff" in hooks
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = dict(re.findall(r"^(\w[\w-]*):.*\n((?:\t.*\n)+)", makefile, flags=re.MULTILINE))
    assert "--cov halfmask --cov halfmask_device" in targets["coverage"]
    assert "mkdocs build" in targets["docs"]
    assert "--strict" in targets["docs"]
    assert all(
        word in targets["check"] for word in ("ruff check", "ruff format --check", "mypy", "tests/test_imports.py")
    )
    assert "quick: check" in makefile
    assert [file for file in long_files(makefile) if not (ROOT / file).exists()] == []
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert "make quick" in page
    assert {"Set-up", "Rooms", "How to add", "Words"} <= set(re.findall(r"^## (.+)$", page, flags=re.MULTILINE))
