"""Requests in: tokens and bodies, read with bounds."""

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request as HttpRequest

from halfmask.service.call import Request
from halfmask.service.refusal import Refusal, unauthenticated
from halfmask.service.tokens import digest
from halfmask_device.instants import Instant

MOST_BYTES = 2**20
LONGEST_TOKEN = 512


def too_large() -> Refusal:
    return Refusal(413, "too_large", f"a body may have at most {MOST_BYTES} bytes: send it in parts")


Receive = Callable[[], Awaitable[Any]]


Headers = dict[bytes, bytes]


def headers_of(scope: Any) -> Headers:
    """A request's headers, as the server gives them, names in lower case; the first of a name counts."""
    return dict(reversed(scope["headers"]))


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """The body, refused before it is read where its length is told, and as soon as it is too long where it is not."""
    told = headers.get(b"content-length")
    if told is not None and (not told.isdigit() or len(told) > 10 or int(told) > MOST_BYTES):
        raise too_large()
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refusal(400, "gone", "the client went away before its body had come")
        part = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(part)
        if size > MOST_BYTES:
            raise too_large()
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


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


async def read_request(request: HttpRequest, now: Instant) -> Request:
    headers = headers_of(request.scope)
    raw = await read_body(headers, request.receive) if request.method != "GET" else b""
    return Request(token_of(headers), request.path_params, request.query_params, raw, now)
