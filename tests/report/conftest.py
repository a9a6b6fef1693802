"""One real folder for all tests of the report."""

from pathlib import Path

import pytest

from tests.report.studies import whole_folder


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with profile, study, menu and mixes; tests that write copy it."""
    return whole_folder(tmp_path_factory.mktemp("report") / "demo")
