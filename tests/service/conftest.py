"""Services on fresh databases: SQLite files, and servers of PostgreSQL and MariaDB that are started once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.servers import fresh_database, mariadb_server, postgres_server
from tests.service.split_pair import Pair, split_pair, two_urls
from tests.service.world import World, running, sqlite_url


@pytest.fixture(scope="session")
def postgres_address() -> Iterator[str]:
    with postgres_server() as address:
        yield address


@pytest.fixture(scope="session")
def mariadb_address() -> Iterator[str]:
    with mariadb_server() as address:
        yield address


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database of each kind."""
    if request.param == "sqlite":
        return sqlite_url(tmp_path)
    return fresh_database(request.getfixturevalue(f"{request.param}_address"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A service on SQLite."""
    with running(sqlite_url(tmp_path)) as world:
        yield world


@pytest.fixture
def any_world(database: str) -> Iterator[World]:
    """A service on each kind of database."""
    with running(database) as world:
        yield world


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """A split campaign between two services on SQLite."""
    with split_pair(*two_urls(tmp_path)) as made:
        yield made
