"""What several areas of the tests share: one Spark for all of them."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from tests.generated import cases

settings.register_profile("cases", cases())
settings.load_profile("cases")

SHARED = ("spark", "postgres", "mariadb")
"""What is started once and serves many tests: a test whose name, file or parameter says it uses it."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send all tests of a shared server to one worker, so that it is started once.

    This is what the mark ``xdist_group`` is for, but with pytest 9.2 it has no effect (pytest-xdist issue 1386).
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class OneServer(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((server for server in SHARED if server in nodeid), super()._split_scope(nodeid))

    return OneServer(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A real Spark on this machine, started once; every panel opened with ``engine="spark"`` runs on it."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: `make system` installs it")
    from halfmask.data.engines.spark import session

    running = session("local[2]", None, "1g")
    running.conf.set("spark.sql.shuffle.partitions", "2")
    yield running
    running.stop()
