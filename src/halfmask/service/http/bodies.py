"""Requests in: tokens and bodies, read with bounds."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from halfmask.service.call import Request
from halfmask.service.instants import Clock
from halfmask.service.refusal import Refusal, unauthenticated
from halfmask.service.tokens import digest

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

MOST_BYTES = 2**20
LONGEST_TOKEN = 512
SLOWEST = 300
"""Seconds that a body may take to come."""
MOST_LET_PASS, LET_PASS_FOR = 2**24, 10
"""Bytes of a refused body, and seconds, that are waited for, so that its client comes to read the answer."""
MOST_HELD = 2**28
"""Bytes of bodies that have come in part, of all requests together."""


def too_large() -> Refusal:
    return Refusal(413, "too_large", f"a body may have at most {MOST_BYTES} bytes: send it in parts")


Receive = Callable[[], Awaitable[Any]]


Headers = dict[bytes, bytes]


def headers_of(scope: Any) -> Headers:
    """A request's headers, as the server gives them, names in lower case; the first of a name counts."""
    return dict(reversed(scope["headers"]))


class _Held:
    """Bytes of bodies that have come in part: those who begin and do not go on must not fill the memory."""

    size = 0


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """The body, refused before it is read where its length is told, and as soon as it is too long where it is not.

    What comes at once is taken at once. The rest has a time to come in, and all rests together a space.
    """
    told = headers.get(b"content-length")
    try:
        if told is not None and (not told.isdigit() or len(told) > 10 or int(told) > MOST_BYTES):
            raise too_large()
        async with asyncio.timeout(SLOWEST):
            first, more = await _part(receive)
            if len(first) > MOST_BYTES:
                raise too_large()
            return first + await _rest(len(first), receive) if more else first
    except Refusal as refusal:
        if refusal.status == 413 and headers.get(b"expect", b"").lower() != b"100-continue":
            await _let_pass(receive)
        raise
    except TimeoutError:
        raise Refusal(400, "too_slow", f"the body did not come within {SLOWEST} seconds; nothing was taken") from None


async def _let_pass(receive: Receive) -> None:
    """Take in what is left of a body that is refused, and drop it: a connection that closes on a client which is still
    sending takes the answer away with it.
    """
    dropped, more = 0, True
    with suppress(TimeoutError, Refusal):
        async with asyncio.timeout(LET_PASS_FOR):
            while more and dropped < MOST_LET_PASS:
                part, more = await _part(receive)
                dropped += len(part)


async def _part(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Refusal(400, "gone", "the client went away before its body had come")
    return message.get("body", b""), message.get("more_body", False)


async def _rest(size: int, receive: Receive) -> bytes:
    parts, held, more = [], 0, True
    try:
        while more:
            part, more = await _part(receive)
            held += len(part)
            _Held.size += len(part)
            if size + held > MOST_BYTES:
                raise too_large()
            if _Held.size > MOST_HELD:
                message = "too many bodies are coming in slowly; nothing was taken, send it again"
                raise Refusal(503, "busy", message, after=5)
            parts.append(part)
    finally:
        _Held.size -= held
    return b"".join(parts)


def token_of(headers: Headers) -> str | None:
    """The hash of the token that was sent, None where none was."""
    header = headers.get(b"authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer" or not token or len(token) > LONGEST_TOKEN:
        raise unauthenticated()
    return digest(token.decode("latin-1"))


async def read_request(request: "HttpRequest", clock: Clock) -> Request:
    """The request, at the time when all of it had come."""
    headers = headers_of(request.scope)
    raw = await read_body(headers, request.receive) if request.method != "GET" else b""
    return Request(token_of(headers), request.path_params, request.query_params, raw, clock())
