"""Readings that are not files of this machine: a web server, a MariaDB server."""

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pymysql
import pytest

from halfmask.data.open_panel import open_panel
from tests.data.panels import CSV, READINGS, rows, write
from tests.refusals import refused


class Silent(SimpleHTTPRequestHandler):
    """A web server that does not tell the terminal."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The address of a web server of a folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(tmp_path))) as server:
        running = threading.Thread(target=server.serve_forever)
        running.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        running.join()


def test_a_file_of_a_web_server(web: str, tmp_path: Path) -> None:
    write(tmp_path / "x.csv", CSV)
    panel = open_panel(f"{web}/x.csv?token=secret")
    assert rows(panel) == READINGS
    assert panel.source == f"{web.rpartition(':')[0]}/x.csv"
    with refused("source.fetch", place=f"{web.rpartition(':')[0]}/y.csv") as caught:
        open_panel(f"{web}/y.csv?token=secret")
    assert "secret" not in str(caught.value)


def test_an_address_of_no_known_kind() -> None:
    with refused("source.address"):
        open_panel("gopher://somewhere/x.csv")


def filled(address: str) -> None:
    parts = urlsplit(address)
    with pymysql.connect(
        host=parts.hostname,
        port=parts.port or 0,
        user=parts.username,
        password=parts.password or "",
        database=parts.path[1:],
    ) as database:
        with database.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS readings")
            cursor.execute("CREATE TABLE readings (`user` VARCHAR(9), `time` DATETIME(6), `value` DECIMAL(9, 3))")
            cursor.execute(
                "INSERT INTO readings VALUES ('a', '2026-01-01 00:00:00', 1.5), ('b', '2026-01-01 00:30:00', NULL), "
                "('a', '2026-01-01 01:00:00.25', -2)"
            )
        database.commit()


def test_mariadb_table_and_query(mariadb: str) -> None:
    filled(mariadb)
    panel = open_panel(mariadb)
    assert rows(panel) == rows(panel) == READINGS
    assert panel.notes[0] == "table = readings"
    asked = open_panel(mariadb, sql="select `user`, `time`, `value` * 1000 as wh from readings where `user` = 'a';")
    assert [row[2] for row in rows(asked)] == [1500.0, -2000.0]
    assert asked.unit == "Wh"


def test_mariadb_faults(mariadb: str) -> None:
    filled(mariadb)
    with refused("option.missing", "table"):
        open_panel(mariadb, table="w")
    with refused("source.database") as caught:
        open_panel(mariadb, sql="select nothing from nowhere")
    assert "secret" not in str(caught.value)
