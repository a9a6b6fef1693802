"""What several areas of the tests share: one Spark, and one folder with all results, for all of them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.generated import cases

settings.register_profile("cases", cases())
settings.load_profile("cases")

SHARED = ("spark", "postgres", "mariadb")
"""What is started once and serves many tests: a test whose name, file or parameter says it uses it."""
WHOLE = ("tests/pages/", "tests/reproduction/", "tests/explore/", "tests/commands/test_audit.py")
"""Tests of the one folder `whole`."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Send all tests of a shared server or folder to one worker, so that it is started or made once; so with a file's.

    This is what the mark ``xdist_group`` is for, but with pytest 9.2 it has no effect (pytest-xdist issue 1386).
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class OnceEach(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith(WHOLE):
                return "whole"
            return next((server for server in SHARED if server in nodeid), nodeid.split("::")[0])

    return OnceEach(config, log)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all results of a small panel, which lies beside it; tests that write copy it."""
    from tests.pages.studies import whole_folder

    return whole_folder(tmp_path_factory.mktemp("whole") / "homes")


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A real Spark on this machine, started once; every panel opened with ``engine="spark"`` runs on it.

    The quick tests interpret expressions: compiling each of many small queries takes longer than running it. The slow
    ones compile them, as users' Sparks do.
    """
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: `make system` installs it")
    from halfmask.data.engines.spark import session

    # Sessions of their own start from what Spark itself was started with; small queries are not worth compiling well.
    quick = "--conf spark.sql.shuffle.partitions=2 --driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'"
    if request.config.getoption("markexpr") == "not slow":
        quick += " --conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN"
        quick += " --conf spark.sql.adaptive.enabled=false"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_SUBMIT_ARGS", f"{quick} pyspark-shell")
        running = session("local[2]", None, "1g")
    yield running
    running.stop()
