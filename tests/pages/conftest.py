"""One real folder for all tests of the report."""

import shutil
from pathlib import Path

import pytest

from halfmask.commands.report import report


@pytest.fixture(scope="session")
def made(whole: Path) -> Path:
    """A folder with profile, study, menu and mixes; tests that write copy it."""
    return whole


@pytest.fixture(scope="session")
def reported(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same folder with its report, drawn once for all tests that only look at it."""
    folder = Path(shutil.copytree(made, tmp_path_factory.mktemp("reported") / "demo"))
    report(folder)
    return folder
