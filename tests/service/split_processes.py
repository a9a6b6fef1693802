"""A leader and a helper as programs, each in a process of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.service.process import Served, init, served
from tests.service.servers import free_port
from tests.service.world import sqlite_url


@dataclass
class Service:
    """A running service, its address and its operator's token."""

    served: Served
    address: str
    operator: str


@contextmanager
def two_services(folder: Path, *helper_options: str) -> Iterator[tuple[Service, Service]]:
    """Start the helper and a leader that may ask it. Their own addresses are among their options."""
    ports = free_port(), free_port()
    leader, helper = (f"http://127.0.0.1:{port}" for port in ports)
    urls = []
    for name in ("leader", "helper"):
        (folder / name).mkdir()
        urls.append(sqlite_url(folder / name))
    operators = [init(url) for url in urls]
    with (
        served(urls[1], folder / "helper.log", "--public-url", helper, *helper_options, port=ports[1]) as second,
        served(urls[0], folder / "leader.log", "--public-url", leader, "--helper", helper, port=ports[0]) as first,
    ):
        yield Service(first, leader, operators[0]), Service(second, helper, operators[1])
