"""A load on a service that costs little itself: bytes that were made before, sent over connections that stay open."""

import asyncio
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import uvloop

LONGEST = 120.0
"""Seconds after which a load that does not end is given up."""


@dataclass
class Seen:
    """What a load saw: reports accepted, answers that were no success, seconds per request and in all."""

    accepted: int = 0
    failed: int = 0
    took: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def quantile(self, share: float) -> float:
        """Seconds that so large a share of the requests did not exceed."""
        return sorted(self.took)[min(len(self.took) - 1, int(share * len(self.took)))]


def bodies(batch: int, count: int, first: int = 0) -> list[bytes]:
    """Bodies with reports of ever later times; producers can send the same ones, each is another's report."""
    base = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=3)
    made = []
    for number in range(first, first + batch * count, batch):
        moments = [(base + timedelta(seconds=number + place)).isoformat() for place in range(batch)]
        reports = [{"time": moment, "steps": number % 20_000, "setting": "A"} for moment in moments]
        made.append(json.dumps({"reports": reports}).encode())
    return made


def request(token: str, body: bytes, path: str = "/v1/reports") -> bytes:
    who = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nHost: service\r\n{who}Content-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


class _Connection(asyncio.Protocol):
    """Sends its next request when it has the answer to the last."""

    def __init__(self, requests: Iterator[bytes], until: float, seen: Seen, kept: list[bytes] | None) -> None:
        self.requests, self.until, self.seen, self.kept = requests, until, seen, kept
        self.done = asyncio.get_running_loop().create_future()
        self._held, self._began = b"", 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._next()

    def _next(self) -> None:
        self._began = time.perf_counter()
        sent = next(self.requests, None) if self._began < self.until else None
        if sent is None:
            self._transport.close()
        else:
            self._transport.write(sent)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._held += data
        end = self._held.find(b"\r\n\r\n")
        if end < 0:
            return
        place = self._held.find(b"content-length: ", 0, end) + 16
        if len(self._held) < end + 4 + int(self._held[place : self._held.find(b"\r", place)]):
            return
        seen, answer = self.seen, self._held
        seen.took.append(time.perf_counter() - self._began)
        if answer.startswith(b"HTTP/1.1 20"):
            seen.accepted += answer.count(b'"accepted"')
        else:
            seen.failed += 1
        if self.kept is not None:
            self.kept.append(answer[end + 4 :])
        self._held = b""
        self._next()

    def connection_lost(self, _: Exception | None) -> None:
        if not self.done.done():
            self.done.set_result(None)


def load(
    address: str, requests: Sequence[Iterator[bytes]], seconds: float = LONGEST, kept: list[bytes] | None = None
) -> Seen:
    """Send the requests, an iterator a connection, until they or the seconds end; answers' bodies go to ``kept``."""
    host, _, port = address.removeprefix("http://").partition(":")
    seen = Seen()

    async def run() -> None:
        began = time.perf_counter()
        loop = asyncio.get_running_loop()
        made = [
            await loop.create_connection(lambda own=own: _Connection(own, began + seconds, seen, kept), host, int(port))
            for own in requests
        ]
        await asyncio.gather(*(connection.done for _, connection in made))
        seen.seconds = time.perf_counter() - began

    uvloop.run(run())
    return seen


def spread(requests: Sequence[bytes], connections: int) -> list[Iterator[bytes]]:
    """The same requests, over so many connections."""
    return [iter(requests[first::connections]) for first in range(connections)]


def endless(tokens: Sequence[str], made: Sequence[bytes]) -> list[Iterator[bytes]]:
    """A connection per token, each with all bodies."""
    return [map(partial(request, token), made) for token in tokens]


def processor_seconds(process: int) -> float:
    """What a process and its children have used of the processors."""
    family = [process]
    for place in family:
        for task in Path(f"/proc/{place}/task").glob("*/children"):
            family += [int(child) for child in task.read_text().split()]
    used = 0
    for each in family:
        words = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        used += int(words[11]) + int(words[12])
    return used / os.sysconf("SC_CLK_TCK")
