"""What several areas of the tests share: one Spark for all of them."""

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A real Spark on this machine, started once; every panel opened with ``engine="spark"`` runs on it."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: `make system` installs it")
    from halfmask.data.spark_engine import session

    running = session("local[2]", None, "1g")
    running.conf.set("spark.sql.shuffle.partitions", "2")
    yield running
    running.stop()
