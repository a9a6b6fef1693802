"""Readings in an object store, over the store's own protocol: moto's server, where one is named."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from halfmask.data.open_panel import open_panel
from tests.data.panels import CSV, READINGS, rows
from tests.refusals import refused
from tests.service.servers import free_port, wait_for_port

SERVER = os.environ.get("HALFMASK_MOTO_SERVER", "")
pytestmark = pytest.mark.skipif(
    not SERVER, reason="no object store is named: HALFMASK_MOTO_SERVER, see docs/readings.md"
)


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The query that names a store on a free port of this machine; bucket ``meters`` holds the panel in two places."""
    port = free_port()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        server = subprocess.Popen(
            [SERVER, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            wait_for_port(port, server)
            named = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
            bucket, _ = fs.FileSystem.from_uri(f"s3://meters?{named}&allow_bucket_creation=true")
            bucket.create_dir("meters")
            head, *lines = CSV.splitlines()
            _put(bucket, "meters/x.csv", CSV)
            for i, line in enumerate(lines):
                _put(bucket, f"meters/days/{i}.csv", f"{head}\n{line}\n")
            yield named
        finally:
            server.terminate()
            server.wait()


def _put(bucket: fs.FileSystem, path: str, text: str) -> None:
    with bucket.open_output_stream(path) as written:
        written.write(text.encode())


def test_a_file_and_a_folder_of_a_store(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    panel = open_panel(f"s3://meters/x.csv?{store}")
    assert rows(panel) == READINGS
    assert panel.source == "s3://meters/x.csv"
    assert rows(open_panel(f"s3://meters/days?{store}")) == READINGS
    del panel
    assert not list(tmp_path.glob("halfmask-*/**/*.csv"))


def test_what_is_not_there_is_named_without_the_query(store: str) -> None:
    with refused("source.fetch", place="s3://meters/nothing") as missing:
        open_panel(f"s3://meters/nothing?{store}")
    assert "endpoint" not in str(missing.value)
    with refused("source.fetch"):
        open_panel(f"s3://elsewhere/x.csv?{store}")
