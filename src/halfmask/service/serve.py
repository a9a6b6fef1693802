"""Starting the service: making the database, running the server, stopping it cleanly."""

import json
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI

from halfmask.errors import OptionError, RunError
from halfmask.service import gateway, mqtt_intake, peers, retention
from halfmask.service.background_tasks import BackgroundTask
from halfmask.service.counters import Counters
from halfmask.service.floors import Floors
from halfmask.service.http.app import EdgeOptions, create_app
from halfmask.service.http.header_limit import BoundedProtocol
from halfmask.service.mqtt import Broker
from halfmask.service.rate_limits import Limits
from halfmask.service.repeated_requests import SECRET
from halfmask.service.request import issue, new_secret, system_clock
from halfmask.service.service import Service
from halfmask.service.split import split_closing
from halfmask.service.split.helper_requests import RESTORED
from halfmask.service.split.split_options import MOST_EPSILON, SplitOptions, plain_address
from halfmask.service.steady_clock import SteadyClock
from halfmask.service.storage.database_kinds import read_url
from halfmask.service.storage.sql_store import open_store, prepare_database
from halfmask.service.storage.tables import newest_version
from halfmask_device.http_client import ServiceClient
from halfmask_device.instants import MINUTE

DEFAULT_DB = "sqlite:///halfmask.db"
PORT = 8080
OPTIONS = "HALFMASK_SERVE"
"""The environment variable from which worker processes read their options."""
OPERATOR = 0
PATIENCE = 10
"""Seconds that open requests have to end when the service stops."""


@dataclass(frozen=True)
class ServeOptions:
    """How a service runs. A rate of None means no limit."""

    db: str = DEFAULT_DB
    host: str = "127.0.0.1"
    port: int = PORT
    workers: int = 1
    requests_per_second: float | None = 100
    joins_per_minute: float | None = 1000
    lake: str | None = None
    upstream: str | None = None
    upstream_token: str | None = None
    peers: tuple[str, ...] = ()
    peer_token: tuple[str, ...] = ()
    """The secrets of the peers, in their order."""
    mqtt: str | None = None
    least_producers: int = 1
    refuse_open: bool = False
    refuse_live: bool = False
    origins: tuple[str, ...] = ()
    access_log: bool = False
    retain_days: int = 0
    settle: float = 5
    helpers: tuple[str, ...] = ()
    public_url: str | None = None
    most_epsilon: float = MOST_EPSILON
    counters: str | None = None
    """The folder in which worker processes count together."""

    @property
    def edge(self) -> EdgeOptions:
        return EdgeOptions(tuple(self.origins), self.access_log)

    @property
    def split(self) -> SplitOptions:
        helpers = tuple(plain_address(each, "helper") for each in self.helpers)
        own = plain_address(self.public_url, "public_url") if self.public_url else ""
        return SplitOptions(own, helpers, self.most_epsilon)

    @property
    def floors(self) -> Floors:
        return Floors(self.least_producers, not self.refuse_open, not self.refuse_live)

    @property
    def tasks(self) -> "list[BackgroundTask]":
        """Return the background tasks of the application."""
        found: list[BackgroundTask] = []
        if self.lake is not None:
            from halfmask.service import lake_writer

            found.append(lake_writer.background_task(Path(self.lake)))
        if self.upstream is not None:
            found.append(gateway.background_task(self.upstream, self.upstream_token or ""))
        if self.peers:
            found.append(peers.background_task(dict(zip(self.peers, self.peer_token, strict=True))))
        if self.mqtt is not None:
            found.append(mqtt_intake.background_task(self.mqtt))
        if self.public_url is not None:
            found.append(split_closing.background_task())
        return [*found, retention.background_task(self.retain_days)]


def initialise(db: str, *, rotate: bool = False, restored: bool = False) -> str | None:
    """Make the tables and return the operator's token, or None if there was one and only the tables were updated.

    ``rotate``    revoke the operator's tokens and make a new one
    ``restored``  note that the database came from a backup: split sums may have been given since that it does not know

    Raise OptionError if the tables are up to date and there is a token already.
    """
    store, before = prepare_database(db)
    with closing(store), store.transaction() as tx:
        now = system_clock()
        tx.first_fact(SECRET, new_secret())
        if restored:
            tx.put_fact(RESTORED, str(now))
        if tx.has_role("operator"):
            if rotate:
                tx.revoke_tokens("operator", OPERATOR, now)
            elif before == newest_version() and not restored:
                raise OptionError(
                    "the database is initialised and up to date, and its operator's token was shown then; "
                    "start once with `init` and `rotate`: that makes a new one and revokes the old",
                    kind="initialised",
                )
            else:
                return None
        return issue(tx, "operator", OPERATOR, now)


def make_service(options: ServeOptions) -> Service:
    limits = Limits(options.requests_per_second, options.joins_per_minute)
    counters = Counters(Path(options.counters)) if options.counters else None
    clock = SteadyClock(round(options.settle * MINUTE))
    store = open_store(options.db)
    service = Service(store, clock, limits, floors=options.floors, counters=counters, split=options.split)
    if options.peer_token:
        peers.join_peers(service, options.peer_token)
    return service


def worker_app() -> FastAPI:
    """Return the application of one worker process, by the options in its environment."""
    options = ServeOptions(**json.loads(os.environ[OPTIONS]))
    set_up_logs()
    service = make_service(options)
    _end_streams_first(service)
    threading.Thread(target=_end_with_the_master, daemon=True).start()
    return create_app(service, tasks=options.tasks, edge=options.edge)


def _end_with_the_master() -> None:
    """Stop this worker once its parent process is gone: nobody else would stop it."""
    master = multiprocessing.parent_process()
    if master is not None:
        master.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _end_streams_first(service: Service) -> None:
    """End the streams when this process gets a signal to stop, before the server waits for open requests."""
    for each in (signal.SIGINT, signal.SIGTERM):
        before = signal.getsignal(each)

        def stop(number: int, frame: FrameType | None, before: Any = before) -> None:
            service.stopping = True
            if callable(before):
                before(number, frame)

        signal.signal(each, stop)


def run(options: ServeOptions, tell: Callable[[str], None]) -> None:
    """Run until SIGTERM or Ctrl-C. Then open requests are finished, and what was accepted is on disk.

    ``tell``  callback, called with the service's address
    """
    _check_workers(options)
    set_up_logs()
    tasks = options.tasks
    service = make_service(options)
    common: dict[str, Any] = {
        "host": options.host,
        "port": options.port,
        "http": BoundedProtocol,
        "log_config": None,
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": PATIENCE,
        "timeout_keep_alive": 75,
        "backlog": 4096,
    }
    try:
        if options.workers == 1:
            config = uvicorn.Config(create_app(service, tasks=tasks, edge=options.edge), **common)
            SayingServer(config, tell, service).run()
        else:
            service.store.close()
            tell(f"http://{options.host}:{options.port}")
            with TemporaryDirectory(prefix="halfmask-counters-") as folder:
                os.environ[OPTIONS] = json.dumps(asdict(replace(options, counters=folder)))
                uvicorn.run("halfmask.service.serve:worker_app", factory=True, workers=options.workers, **common)
    except SystemExit as error:
        raise RunError(
            f"the service could not start on {options.host}:{options.port}: is the port taken?", kind="address"
        ) from error
    except KeyboardInterrupt:
        pass
    finally:
        service.store.close()


def _check_workers(options: ServeOptions) -> None:
    if options.workers > 1 and read_url(options.db).get_backend_name() == "sqlite":
        message = "SQLite is written by one process: leave `workers` out, or name a PostgreSQL or MySQL `db`"
        raise OptionError(message, kind="workers")
    if options.workers > 1 and options.mqtt is not None:
        message = "a broker's messages are taken by one process: leave `workers` or `mqtt` out"
        raise OptionError(message, kind="workers")


def check_startable(options: ServeOptions) -> None:
    """Raise an error if a service with these options could not start. Nothing is written, and no port is opened."""
    _check_workers(options)
    open_store(options.db).close()
    if options.upstream is not None:
        ServiceClient(options.upstream)
    for address in options.peers:
        ServiceClient(address)
    options.split  # noqa: B018 - raises if an address is not one
    if options.mqtt is not None:
        Broker.parse(options.mqtt)
    if options.lake is not None and Path(options.lake).exists() and not os.access(options.lake, os.W_OK):
        raise RunError(f"the lake {options.lake} cannot be written: give it to the service's user", kind="lake")


class SayingServer(uvicorn.Server):
    """A server that calls ``tell`` with its address once it listens, and ends its streams at a signal to stop."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[str], None], service: Service) -> None:
        super().__init__(config)
        self._tell, self._service = tell, service

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._service.stopping = True
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and do not raise it again at the end: a stop that was requested is not a failure."""
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started and self.servers:
            host, port, *_ = self.servers[0].sockets[0].getsockname()
            self._tell(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")


class _Lines(logging.Formatter):
    """Formats logs as one JSON object per line: time, level, event and its fields; never a value that was sent."""

    known = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z"
        line: dict[str, Any] = {"time": stamp, "level": record.levelname.lower(), "event": record.getMessage()}
        line |= {name: value for name, value in vars(record).items() if name not in self.known}
        if record.exc_info and record.exc_info[2]:
            line["at"] = _places(record.exc_info[2])
        return json.dumps(line, default=str)


def _places(trace: Any) -> list[str]:
    """Return the files and lines that an error came from, without the values that its text might hold."""
    import traceback

    return [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in traceback.extract_tb(trace)][-8:]


def set_up_logs() -> None:
    """Send structured logs to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name in ("halfmask.service", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == "halfmask.service" else logging.WARNING)
