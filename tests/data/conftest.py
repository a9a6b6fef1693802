"""A real PostgreSQL server for the tests that read from one."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.servers import free_port, fresh_database, mariadb_server


def binaries() -> Path | None:
    """The newest PostgreSQL on this machine, in Debian's place or on the path."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a server that lives as long as the tests, on a free port of this machine alone."""
    programs = binaries()
    if programs is None:
        pytest.skip("no PostgreSQL server on this machine: `make system` installs it")
    # The server refuses to run as root, and its own user could not reach into pytest's folders.
    as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="halfmask-postgres-") as name:
        if as_user:
            shutil.chown(name, "postgres")
        yield from serve(programs, as_user, Path(name))


def serve(programs: Path, as_user: list[str], folder: Path) -> Iterator[str]:
    """Start a server in a folder, give its URL, stop it."""
    port, data = free_port(), folder / "data"
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
    subprocess.run([*as_user, programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8"], **quiet)
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    control = [*as_user, programs / "pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-o", options, "-l", folder / "log", "start"], **quiet)
    try:
        yield f"postgresql://postgres:secret@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], **quiet)


@pytest.fixture(scope="session")
def mariadb() -> Iterator[str]:
    """The address of a database of a MariaDB server that lives as long as the tests."""
    with mariadb_server() as server:
        yield fresh_database(server)
