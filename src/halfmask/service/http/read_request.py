"""Reading requests: the token, the body with limits on its size and time, and the reports in it."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from halfmask.service.http.session_cookie import session_of
from halfmask.service.refusal import Refusal, unauthenticated, unfit
from halfmask.service.report_decisions import Post, Value
from halfmask.service.request import Clock, Request, digest
from halfmask.service.split.sent_shares import NONCE, read_bytes
from halfmask_device.instants import Instant, parse_instant

if TYPE_CHECKING:
    from starlette.requests import Request as HttpRequest

MOST_BYTES = 2**20
LONGEST_TOKEN = 512
LONGEST_KEY = 64
SLOWEST = 300
"""Seconds within which a body must arrive."""
MOST_LET_PASS, LET_PASS_FOR = 2**24, 10
"""Bytes and seconds for which a refused body is still read, so that its client gets to read the answer."""
MOST_HELD = 2**28
"""Most bytes held for bodies that have arrived in part, over all requests together."""


def body_too_large(most: int = MOST_BYTES) -> Refusal:
    return Refusal(413, "too_large", f"a body may have at most {most} bytes: send it in parts")


Receive = Callable[[], Awaitable[Any]]


Headers = dict[bytes, bytes]


def headers_of(scope: Any) -> Headers:
    """Return a request's headers by their names in lower case. If a name is repeated, the first counts."""
    return dict(reversed(scope["headers"]))


class _Held:
    """Counts the bytes of bodies that have arrived in part: clients that begin and stop must not fill the memory."""

    size = 0


async def read_body(headers: Headers, receive: Receive, most: int = MOST_BYTES) -> bytes:
    """Return the body. Refuse one that is too long, before reading it if its length is given.

    The body must arrive within `SLOWEST` seconds. Parts after the first share a limit with those of all other requests.
    """
    told = headers.get(b"content-length")
    try:
        if told is not None and (not told.isdigit() or len(told) > 10 or int(told) > most):
            raise body_too_large(most)
        async with asyncio.timeout(SLOWEST):
            first, more = await _part(receive)
            if len(first) > most:
                raise body_too_large(most)
            return first + await _rest(len(first), receive, most) if more else first
    except Refusal as refusal:
        if refusal.status == 413 and headers.get(b"expect", b"").lower() != b"100-continue":
            await _let_pass(receive)
        raise
    except TimeoutError:
        raise Refusal(400, "too_slow", f"the body did not come within {SLOWEST} seconds; nothing was taken") from None


async def _let_pass(receive: Receive) -> None:
    """Read the rest of a refused body and drop it.

    If the connection closed while the client is still sending, the client would lose the answer.
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


async def _rest(size: int, receive: Receive, most: int) -> bytes:
    parts, held, more = [], 0, True
    try:
        while more:
            part, more = await _part(receive)
            held += len(part)
            _Held.size += len(part)
            if size + held > most:
                raise body_too_large(most)
            if _Held.size > MOST_HELD:
                message = "too many bodies are coming in slowly; nothing was taken, send it again"
                raise Refusal(503, "busy", message, after=5)
            parts.append(part)
    finally:
        _Held.size -= held
    return b"".join(parts)


def bearer_of(headers: Headers) -> str | None:
    """Return the token that was sent, or None if none was. Refuse a header without a valid bearer token."""
    header = headers.get(b"authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(b" ")
    token = token.strip()
    if scheme.lower() != b"bearer" or not token or len(token) > LONGEST_TOKEN:
        raise unauthenticated()
    return token.decode("latin-1")


def token_of(headers: Headers) -> str | None:
    """Return the hash of the token that was sent, or None if none was."""
    token = bearer_of(headers)
    return None if token is None else digest(token)


async def read_request(request: "HttpRequest", clock: Clock, *, once: bool = False, most: int = MOST_BYTES) -> Request:
    """Return the request, with the time at which all of it had arrived. A page's session stands in for a token.

    ``once``  heed an idempotency key
    ``most``  most bytes of the body
    """
    headers = headers_of(request.scope)
    token = token_of(headers) or session_of(headers, request.method)
    key = _key_of(headers.get(b"idempotency-key"), request, token) if once else None
    raw = await read_body(headers, request.receive, most) if request.method != "GET" else b""
    return Request(token, request.path_params, request.query_params, raw, clock(), key)


def _key_of(sent: bytes | None, request: "HttpRequest", token: str | None) -> str | None:
    """Return what a request is for, by whom, and its idempotency key. Callers and paths do not share keys."""
    if sent is None:
        return None
    if not 1 <= len(sent) <= LONGEST_KEY or not all(32 < each < 127 for each in sent):
        raise unfit("Idempotency-Key", f"a key has 1 to {LONGEST_KEY} visible ASCII characters")
    return "\n".join((request.method, request.url.path, token or "", sent.decode()))


PATH = "/v1/reports"
MOST_REPORTS = 10_000


class SentReport(msgspec.Struct, gc=False):
    """A report as it is sent: with steps, or with a nonce and a share if it is split. Other fields are ignored."""

    time: str
    setting: str
    steps: int | None = None
    report: str | None = None
    share: str | None = None

    def value(self) -> Value | None:
        """Return the steps, or nonce and share; None if the report has neither, or both."""
        if self.share is None:
            return self.steps
        share = read_bytes(self.share)
        fits = self.steps is None and share is not None and self.report is not None and NONCE.fullmatch(self.report)
        return (self.report or "", share or b"") if fits else None


class Body(msgspec.Struct, gc=False):
    reports: list[SentReport]


NONE = SentReport("", "")
_decode = msgspec.json.Decoder(Body).decode


def parse_post(raw: bytes, token: str, now: Instant) -> Post:
    """Return a body as a post.

    If the whole body is refused, the refusal is kept in the post: it is raised once the token is known to be a
    producer's.
    """
    try:
        sent: list[Any] = _sent(raw)
    except Refusal as refusal:
        return Post(token, now, refusal=refusal)
    values = [each.value() for each in sent]
    times = [None if value is None else parse_instant(each.time) for each, value in zip(sent, values, strict=True)]
    return Post(token, now, times, [value or 0 for value in values], [each.setting for each in sent])


def _sent(raw: bytes) -> list[SentReport]:
    """Return the reports of a body. Refuse a body without a list of reports, or with too many."""
    try:
        sent = _decode(raw).reports
        if not raw.isascii():
            raw.decode("utf-8")  # ignored fields must be UTF-8 too
    except (msgspec.MsgspecError, ValueError, RecursionError):
        sent = _one_by_one(raw)
    if len(sent) > MOST_REPORTS:
        raise Refusal(
            413, "too_many_reports", f"a request may have at most {MOST_REPORTS} reports: send it in parts", "reports"
        )
    return sent


def _one_by_one(raw: bytes) -> list[SentReport]:
    """Return the reports of a body that msgspec refuses. NaN or a lone surrogate spoils only the report it is in."""
    try:
        plain = json.loads(raw.decode("utf-8"), parse_int=_bounded)
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "the body is not JSON in UTF-8") from None
    reports = plain.get("reports") if isinstance(plain, dict) else None
    if not isinstance(reports, list):
        raise unfit("reports", "the body must be an object with a list of reports")
    return [_converted(each) for each in reports]


def _bounded(digits: str) -> int:
    """Return a whole number, cut to 40 digits: that is far beyond any lattice, and Python refuses more than 4300."""
    return int(digits[:40])


def _converted(plain: Any) -> SentReport:
    """Return a report as it was sent, or `NONE`, without a time, if it is malformed."""
    if not isinstance(plain, dict):
        return NONE
    moment, setting, steps = plain.get("time"), plain.get("setting"), plain.get("steps")
    nonce, share = plain.get("report"), plain.get("share")
    whole = type(steps) is int if share is None else steps is None and isinstance(nonce, str) and isinstance(share, str)
    if not isinstance(moment, str) or not isinstance(setting, str) or not whole:
        return NONE
    return SentReport(moment, setting, steps, None if share is None else nonce, share)
