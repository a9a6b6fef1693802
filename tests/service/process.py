"""The program itself in a process of its own, spoken to over the network."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 60
COMMAND = (sys.executable, "-m", "halfmask")


def init(url: str) -> str:
    """Make the database by the program; the operator's token."""
    done = subprocess.run([*COMMAND, "serve", "--init", "--json"], capture_output=True, text=True, env=env_of(url))
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["token"])


def env_of(url: str, **secrets: str) -> dict[str, str]:
    """The environment that names a database and secrets: a command line may hold neither."""
    return {**os.environ, **{f"HALFMASK_SERVE_{name}": value for name, value in {**secrets, "DB": url}.items()}}


def children(process: int) -> list[int]:
    """The processes that a process has started, without the one that tracks resources for them."""
    found = [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return [each for each in found if (words := _words(each)) and b"resource_tracker" not in words]


def _words(process: int) -> bytes:
    """The command of a process; nothing where it has ended meanwhile."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


class Served:
    """A running service; ``before`` stands before its command, like a tracer."""

    def __init__(
        self,
        url: str,
        log: Path,
        *options: str,
        port: int = 0,
        before: Sequence[str] = (),
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self.log = log
        with log.open("ab") as errors:
            env = env_of(url, SETTLE="0", **(secrets or {}))
            words = [*before, *COMMAND, "serve", "--port", str(port), *options]
            self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        assert address.startswith("http://"), log.read_text()
        self.host, _, port = address.removeprefix("http://").partition(":")
        self.port = int(port)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def send(self, method: str, path: str, token: str | None = None, body: Any = None) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        with closing(self.connect()) as connection:
            connection.request(method, path, json.dumps(body) if body is not None else None, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def ok(self, method: str, path: str, token: str | None = None, body: Any = None) -> Any:
        status, plain = self.send(method, path, token, body)
        assert 200 <= status < 300, (status, plain)
        return plain

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@contextmanager
def served(url: str, log: Path, *options: str, port: int = 0, before: Sequence[str] = ()) -> Iterator[Served]:
    made = Served(url, log, *options, port=port, before=before)
    try:
        yield made
    finally:
        made.stop(signal.SIGKILL)  # nothing happens to one that has ended
