"""Requests in: tokens and bodies, read with bounds."""

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest

from halfmask.service.call import Request
from halfmask.service.instants import Instant
from halfmask.service.refusal import Refusal, unauthenticated
from halfmask.service.tokens import digest

MOST_BYTES = 2**20
LONGEST_TOKEN = 512


def too_large() -> Refusal:
    return Refusal(413, "too_large", f"a body may have at most {MOST_BYTES} bytes: send it in parts")


async def read_body(request: HttpRequest) -> bytes:
    """The body, refused before it is read where its length is told, and as soon as it is too long where it is not."""
    told = request.headers.get("content-length")
    if told is not None and (not told.isascii() or not told.isdigit() or len(told) > 10 or int(told) > MOST_BYTES):
        raise too_large()
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > MOST_BYTES:
                raise too_large()
            parts.append(part)
    except ClientDisconnect:
        raise Refusal(400, "gone", "the client went away before its body had come") from None
    return b"".join(parts)


def token_of(request: HttpRequest) -> str | None:
    """The hash of the token that was sent, None where none was."""
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or len(token) > LONGEST_TOKEN:
        raise unauthenticated()
    return digest(token)


async def read_request(request: HttpRequest, now: Instant) -> Request:
    raw = await read_body(request) if request.method != "GET" else b""
    return Request(token_of(request), request.path_params, request.query_params, raw, now)
