"""The endpoint for reports, POST /v1/reports: decoded by msgspec, decided and written together with other requests."""

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from halfmask.service.http.read_request import Headers, Receive, headers_of, read_body, token_of
from halfmask.service.refusal import Refusal, unauthenticated, unfit
from halfmask.service.report_decisions import Post, Results
from halfmask.service.service import Service, Writer
from halfmask_device.instants import Instant, parse_instant

if TYPE_CHECKING:
    from starlette.responses import Response

    from halfmask.service.http.prometheus import Metrics

PATH = "/v1/reports"
MOST_REPORTS = 10_000


class SentReport(msgspec.Struct, gc=False):
    """A report as it is sent. Other fields are ignored."""

    time: str
    steps: int
    setting: str


class Body(msgspec.Struct, gc=False):
    reports: list[SentReport]


NONE = SentReport("", 0, "")
_decode = msgspec.json.Decoder(Body).decode
_encode = msgspec.json.Encoder().encode


def parse_post(raw: bytes, token: str, now: Instant) -> Post:
    """Return a body as a post.

    If the whole body is refused, the refusal is kept in the post: it is raised once the token is known to be a
    producer's.
    """
    try:
        sent: list[Any] = _sent(raw)
    except Refusal as refusal:
        return Post(token, now, refusal=refusal)
    times = [parse_instant(each.time) for each in sent]
    return Post(token, now, times, [each.steps for each in sent], [each.setting for each in sent])


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
    moment, steps, setting = plain.get("time"), plain.get("steps"), plain.get("setting")
    if not isinstance(moment, str) or type(steps) is not int or not isinstance(setting, str):
        return NONE
    return SentReport(moment, steps, setting)


class PostReports:
    """The endpoint for Starlette. It bypasses FastAPI's layers, which cost more than a report does.

    ``refused``  turns an error into an answer
    """

    def __init__(
        self, service: Service, writer: Writer, metrics: "Metrics", refused: "Callable[[Exception], Response]"
    ) -> None:
        self.service, self.writer, self.metrics, self.refused = service, writer, metrics, refused

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        began, status = time.perf_counter(), 200
        try:
            body = _encode({"results": await self._results(headers_of(scope), receive)})
            headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        except Exception as error:
            answer = self.refused(error)
            status = answer.status_code
            await answer(scope, receive, send)
        finally:
            self.metrics.note("POST", PATH, status, time.perf_counter() - began)

    async def _results(self, headers: Headers, receive: Receive) -> Results:
        raw = await read_body(headers, receive)
        now = self.service.clock()  # after the whole body has arrived: a slow body must not carry an old time
        token = token_of(headers)
        if token is None:
            raise unauthenticated()
        self.service.requests.take(token, "this request and its reports were not taken")
        results: Results = await self.writer.submit(parse_post(raw, token, now))
        return results
