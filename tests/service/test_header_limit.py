"""Heads, and fields after a body, have a bound; bodies and the number of requests have none here."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from halfmask.service.http import header_limit

CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def served(talk: Talk) -> list[int]:
    """The sizes of the bodies that an application read, while somebody talked to it over a socket."""
    read = list[int]()

    async def app(_: Any, receive: Any, send: Any) -> None:
        size, more = 0, True
        while more and (message := await receive())["type"] == "http.request":
            size, more = size + len(message["body"]), message["more_body"]
        if not more:
            read.append(size)
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
            await send({"type": "http.response.body", "body": b"ok"})

    async def main() -> None:
        config = uvicorn.Config(app, http=header_limit.BoundedProtocol, log_config=None)
        config.load()
        state = ServerState()
        made = asyncio.get_running_loop().create_server(
            lambda: header_limit.BoundedProtocol(config, state, {}), "127.0.0.1", 0
        )
        async with await made as server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            await talk(reader, writer)
            writer.close()

    asyncio.run(main())
    return read


def test_long_bodies_and_many_requests_pass() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        for _ in range(20):
            writer.write(b"2000\r\n" + b"x" * 8192 + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n" + (GET + b"\r\n") * 3000)
        for _ in range(3001):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            assert await reader.readexactly(2) == b"ok"

    assert served(talk) == [20 * 8192] + [0] * 3000


@pytest.mark.parametrize(
    ("first", "again"),
    [
        (GET, b"a: b\r\n"),
        (GET + b"a: ", b"bbbbbb"),
        (CHUNKED + b"1\r\nx\r\n0\r\n", b"a: b\r\n"),
        (CHUNKED + b"1;", b"a=bcde"),
    ],
    ids=["many fields", "one long field", "fields after a body", "words beside a part of a body"],
)
def test_what_is_no_body_is_hung_up_on_where_it_does_not_end(first: bytes, again: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        sent, hung_up = 0, asyncio.ensure_future(reader.read())
        with suppress(ConnectionError):
            while not hung_up.done() and sent < 1000 * header_limit.MOST_BYTES:
                writer.write(again * 1000)
                sent += len(again) * 1000
                await writer.drain()
        await asyncio.wait([hung_up], timeout=60)
        assert hung_up.done()
        assert isinstance(hung_up.exception(), ConnectionError | None)
        assert header_limit.MOST_BYTES < sent < 1000 * header_limit.MOST_BYTES

    assert served(talk) == []
