"""Services on fresh databases."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.world import World, running, sqlite_url


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path)) as world:
        yield world
