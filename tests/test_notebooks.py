"""The notebooks of the documents run, and show what they say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = ROOT / "docs" / "notebooks"


def shown(notebook: Path) -> list[str]:
    """The outputs of a notebook, as plain text."""
    cells: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return [each["text"] if "text" in each else each["data"]["text/plain"] for each in outputs]


def run(notebook: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """Run a notebook in a process of its own, so that what it registers stays there."""
    command = [sys.executable, str(ROOT / "scripts" / "notebooks.py"), str(into), str(notebook)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_a_mechanism_of_ones_own_against_the_menu(tmp_path: Path) -> None:
    name = "mechanism-of-your-own.ipynb"
    ended = run(NOTEBOOKS / name, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert shown(tmp_path / name) == shown(NOTEBOOKS / name)
    assert any("tent:" in text for text in shown(tmp_path / name) if text.startswith("<Menu"))


@pytest.mark.slow  # it evaluates a whole grid
def test_from_a_csv_to_a_signed_offer(tmp_path: Path) -> None:
    name = "from-csv-to-signed-offer.ipynb"
    ended = run(NOTEBOOKS / name, tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert len(shown(tmp_path / name)) == len(shown(NOTEBOOKS / name)) == 5
    assert [text for text in shown(tmp_path / name) if text.startswith("SignedOffer")]


def test_a_cell_that_fails_would_be_noticed(tmp_path: Path) -> None:
    cells = [{"cell_type": "code", "metadata": {}, "source": "1 / 0"}]
    (tmp_path / "broken.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "ran").mkdir()
    ended = run(tmp_path / "broken.ipynb", tmp_path / "ran")
    assert ended.returncode != 0
    assert "ZeroDivisionError" in ended.stderr
    assert not list((tmp_path / "ran").iterdir())
