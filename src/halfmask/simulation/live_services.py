"""Two real services in this process, a leader and its helper, with one clock that the demo sets."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import socket

import uvicorn
from fastapi import FastAPI

from halfmask.errors import RunError
from halfmask.service.http.app import create_app
from halfmask.service.rate_limits import Limits
from halfmask.service.serve import initialise
from halfmask.service.service import Service
from halfmask.service.split import split_closing
from halfmask.service.split.split_options import SplitOptions
from halfmask.service.storage.sql_store import open_store

PATIENCE = 60
"""Seconds that a service has to start or to end."""


@dataclass
class DemoClock:
    """The time of both services, in microseconds."""

    now: int

    def __call__(self) -> int:
        return self.now


@dataclass(frozen=True)
class Pair:
    """The addresses of both services, and the tokens of their operators."""

    leader: str
    helper: str
    leader_operator: str
    helper_operator: str
    clock: DemoClock


@contextmanager
def two_services(folder: Path, clock: DemoClock, extend: Callable[[FastAPI], None]) -> Iterator[Pair]:
    """Run both services until the block ends.

    ``extend``  adds the demo's own page to the leader
    """
    with ExitStack() as stack:
        sockets = [stack.enter_context(_listening()) for _ in range(2)]
        leader, helper = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in sockets)
        operators: list[str] = []
        for address, own, helpers in ((leader, sockets[0], (helper,)), (helper, sockets[1], ())):
            url = f"sqlite:///{folder / ('leader.db' if helpers else 'helper.db')}"
            operators.append(initialise(url) or "")
            service = Service(open_store(url), clock, Limits(None, None), split=SplitOptions(address, helpers))
            app = create_app(service, close_every=None, tasks=[split_closing.background_task()])
            if helpers:
                extend(app)
            stack.enter_context(_running(app, own, service))
        yield Pair(leader, helper, operators[0], operators[1], clock)


@contextmanager
def _listening() -> Iterator[socket]:
    with socket() as found:
        found.bind(("127.0.0.1", 0))
        yield found


@contextmanager
def _running(app: FastAPI, own: socket, service: Service) -> Iterator[None]:
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, args=([own],), daemon=True)
    thread.start()
    until = time.monotonic() + PATIENCE
    while not server.started:
        if time.monotonic() > until or not thread.is_alive():
            raise RunError("the demo's service did not start")
        time.sleep(0.01)
    try:
        yield
    finally:
        service.stopping = server.should_exit = True
        thread.join(PATIENCE)
        service.store.close()
