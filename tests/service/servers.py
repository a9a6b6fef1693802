"""Real servers of PostgreSQL and MariaDB, started on free ports; each test gets a database of its own."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

PATIENCE = 60


def free_port() -> int:
    """A port that stays free until a server takes it: below those that the system gives to connections."""
    while True:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_for_port(port: int, server: "subprocess.Popen[Any]") -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        assert server.poll() is None, "the server ended"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not listen")


def wait_for_answer(address: str, server: "subprocess.Popen[Any]") -> None:
    """Until a query is answered: one that listens may still be starting up."""
    engine, until = create_engine(address, poolclass=NullPool), time.monotonic() + PATIENCE
    while True:
        assert server.poll() is None, "the server ended"
        try:
            with engine.connect() as connection:
                connection.execute(text("SELECT 1"))
                return
        except OperationalError:
            assert time.monotonic() < until, "the server does not answer"
            time.sleep(0.1)


class Postgres:
    """A PostgreSQL server with its own settings for durability, which the service insists on."""

    def __init__(self, folder: str) -> None:
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
        if not found:
            pytest.skip("no PostgreSQL server on this machine: `make system` installs it")
        # The server refuses to run as root, and its own user could not reach into pytest's folders.
        as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if as_user:
            shutil.chown(folder, "postgres")
        data, self.port = Path(folder) / "data", free_port()
        self.address = f"postgresql://postgres:secret@127.0.0.1:{self.port}/postgres"
        self._quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        make = [*as_user, found[-1], "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8"]
        subprocess.run(make, check=True, **self._quiet)
        options = (f"port={self.port}", "listen_addresses=127.0.0.1", "unix_socket_directories=")
        self._words = [*as_user, found[-1].parent / "postgres", "-D", data, "-cmax_connections=200"]
        self._words += [f"-c{option}" for option in options]
        self._pid = data / "postmaster.pid"

    def start(self) -> None:
        self._server = subprocess.Popen(self._words, **self._quiet)
        wait_for_answer(self.address.replace("postgresql://", "postgresql+psycopg://"), self._server)

    def stop(self, how: int = signal.SIGINT) -> None:
        """SIGINT ends its sessions and then itself; SIGQUIT ends at once, as a crash would."""
        os.kill(int(self._pid.read_text().split()[0]), how)
        self._server.wait(PATIENCE)

    @classmethod
    @contextmanager
    def running(cls) -> Iterator["Postgres"]:
        with tempfile.TemporaryDirectory(prefix="halfmask-postgres-") as folder:
            server = cls(folder)
            server.start()
            try:
                yield server
            finally:
                server.stop()


@contextmanager
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server."""
    with Postgres.running() as server:
        yield server.address


@contextmanager
def mariadb_server() -> Iterator[str]:
    """The address of a MariaDB server."""
    program = shutil.which("mariadbd") or shutil.which("mariadbd", path="/usr/sbin:/usr/local/sbin")
    install = shutil.which("mariadb-install-db")
    if program is None or install is None:
        pytest.skip("no MariaDB server on this machine: `make system` installs it")
    me = "root" if os.geteuid() == 0 else os.environ.get("USER", "mysql")
    with tempfile.TemporaryDirectory(prefix="halfmask-mariadb-") as folder:
        data, temporary, port = Path(folder) / "data", Path(folder) / "temporary", free_port()
        temporary.mkdir()
        quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # A server that starts clears away what others of its kind have in the same folder for temporary tables.
        own = [f"--datadir={data}", f"--tmpdir={temporary}", f"--user={me}"]
        make = [install, "--no-defaults", *own, "--auth-root-authentication-method=normal", "--skip-test-db"]
        made = subprocess.run(make, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert made.returncode == 0, made.stdout
        where = [f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/socket", f"--pid-file={folder}/pid"]
        server = subprocess.Popen([program, "--no-defaults", *own, *where, "--skip-name-resolve"], **quiet)
        try:
            root = f"mysql+pymysql://root@127.0.0.1:{port}"
            wait_for_answer(root, server)
            with create_engine(root).begin() as connection:
                connection.execute(text("CREATE USER tests@'%' IDENTIFIED BY 'secret'"))
                connection.execute(text("GRANT ALL ON *.* TO tests@'%'"))
            yield f"mysql://tests:secret@127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(PATIENCE)


def fresh_database(server: str) -> str:
    """The address of a new, empty database on a server."""
    name = f"service_{secrets.token_hex(6)}"
    if server.startswith("postgresql"):
        engine = create_engine(server.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return server.rpartition("/")[0] + f"/{name}"
    engine = create_engine(server.replace("mysql://", "mysql+pymysql://"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return f"{server}/{name}"
