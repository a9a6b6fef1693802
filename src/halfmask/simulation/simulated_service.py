"""The real service for a simulation, in a separate process, with a clock that the simulation sets.

Many devices in one process share `Connections` to it.
"""

import http.client
import logging
import math
import multiprocessing as mp
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import SplitResult, urlsplit

from halfmask.errors import RunError
from halfmask_device.http_client import CUT_OFF, MOST_BYTES, TIMEOUT, Answer

TURN = 0.1
"""Seconds between two turns of the service in which it asks its helper."""
PATIENCE = 60
"""Seconds that the service has to start or to end."""


@dataclass(frozen=True)
class Host:
    """A running service: its address, its operator's token and its database.

    ``clock``  its time, which ``set_clock`` sets; None if the service uses its own clock
    ``helper`` the second service of a split campaign, on the same clock
    """

    address: str
    operator: str
    db: str | None = None
    clock: Any = None
    helper: "Host | None" = None

    @property
    def moves(self) -> bool:
        """Return whether the simulation sets the service's clock."""
        return self.clock is not None

    def set_clock(self, instant: int) -> None:
        if self.clock is not None:
            self.clock.value = instant


@contextmanager
def no_script() -> Iterator[None]:
    """Prevent processes that start within the block from running the calling script again.

    They import only what they run. Otherwise a script without a ``__main__`` guard would start again in each of them.
    """
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


@contextmanager
def hosted(folder: Path, now: int, *, split: bool = False) -> Iterator[Host]:
    """Run a service on a database in ``folder`` until the block ends.

    ``split``  also run its helper, in a process and on another database
    """
    clock: Any = mp.get_context("spawn").Value("q", now)
    with ExitStack() as stack:
        helper = stack.enter_context(_running(folder / "helper.db", clock)) if split else None
        yield stack.enter_context(_running(folder / "service.db", clock, helper))


@contextmanager
def _running(file: Path, clock: Any, helper: Host | None = None) -> Iterator[Host]:
    from halfmask.service.serve import initialise

    db = f"sqlite:///{file}"
    operator = initialise(db)
    context = mp.get_context("spawn")
    here, there = context.Pipe()
    helpers = () if helper is None else (helper.address,)
    process = context.Process(target=_serve, args=(db, clock, there, helpers), daemon=True)
    with no_script():
        process.start()
    try:
        if not here.poll(PATIENCE):
            raise RunError("the simulation's service did not start")
        yield Host(str(here.recv()), operator or "", db, clock, helper)
    finally:
        process.terminate()
        process.join(PATIENCE)


def _serve(db: str, clock: Any, told: Connection, helpers: tuple[str, ...]) -> None:
    import uvicorn

    from halfmask.service.http.app import create_app
    from halfmask.service.rate_limits import Limits
    from halfmask.service.serve import SayingServer, set_up_logs
    from halfmask.service.service import Service
    from halfmask.service.split.split_closing import background_task
    from halfmask.service.split.split_options import SplitOptions
    from halfmask.service.storage.sql_store import open_store

    def listening(address: str) -> None:
        service.split = SplitOptions(address, helpers, math.inf)  # a simulated helper has no floor
        told.send(address)

    set_up_logs()
    logging.getLogger("halfmask.service").setLevel(logging.WARNING)
    service = Service(open_store(db), lambda: int(clock.value), Limits(None, None))
    config = uvicorn.Config(
        create_app(service, close_every=None, tasks=[background_task(TURN)]),
        host="127.0.0.1",
        port=0,
        log_config=None,
        access_log=False,
    )
    SayingServer(config, listening, service).run()


class Connections:
    """A transport of `halfmask_device.http_client` for any number of threads. It raises an OSError if nobody answers.

    It cannot distinguish a reused connection that the service has closed from a request that failed. Both are errors
    for the client, which tries again.
    """

    def __init__(self) -> None:
        self._idle: dict[str, list[http.client.HTTPConnection]] = {}

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        parts = urlsplit(address)
        idle = self._idle.setdefault(f"{parts.scheme}://{parts.netloc}", [])
        try:
            connection = idle.pop()
        except IndexError:
            connection = _new(parts)
        try:
            connection.request(method, parts._replace(scheme="", netloc="").geturl(), body, dict(headers))
            answer = connection.getresponse()
            found = answer.status, dict(answer.headers), answer.read(MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise error if isinstance(error, OSError) else OSError(0, CUT_OFF) from error
        idle.append(connection)
        return found

    def close(self) -> None:
        """Close idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()


def _new(parts: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.netloc, timeout=TIMEOUT)
