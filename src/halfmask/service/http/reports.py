"""The hot path: POST /v1/reports, decoded by msgspec, decided and written together with what else waits."""

import json
from typing import Any

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from halfmask.service.http.bodies import read_body, token_of
from halfmask.service.ingest import Post, Report
from halfmask.service.instants import parse_instant
from halfmask.service.refusal import Refusal, unauthenticated, unfit
from halfmask.service.service import Service
from halfmask.service.writer import Writer

MOST_REPORTS = 10_000


class Sent(msgspec.Struct, gc=False):
    """A report on the wire. What else it says is not for this version, and passed over."""

    time: str
    steps: int
    setting: str


class Body(msgspec.Struct, gc=False):
    reports: list[Sent]


_decode = msgspec.json.Decoder(Body).decode
_encode = msgspec.json.Encoder().encode


def parse_reports(raw: bytes) -> list[Report | None]:
    """The reports of a body, None for each that is malformed; a body that has none to look at is a refusal."""
    try:
        sent: list[Any] = list(_decode(raw).reports)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        sent = _one_by_one(raw)
    if len(sent) > MOST_REPORTS:
        raise Refusal(
            413, "too_many_reports", f"a request may have at most {MOST_REPORTS} reports: send it in parts", "reports"
        )
    return [_understood(each) for each in sent]


def _understood(sent: Sent | None) -> Report | None:
    time = parse_instant(sent.time) if sent is not None else None
    return None if sent is None or time is None else Report(time, sent.steps, sent.setting)


def _one_by_one(raw: bytes) -> list[Sent | None]:
    """What can be read of a body with a bad report in it: NaN or a lone surrogate spoils its own report alone."""
    try:
        plain = json.loads(raw.decode("utf-8"), parse_int=_bounded)
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "the body is not JSON in UTF-8") from None
    reports = plain.get("reports") if isinstance(plain, dict) else None
    if not isinstance(reports, list):
        raise unfit("reports", "the body must be an object with a list of reports")
    return [_converted(each) for each in reports]


def _bounded(digits: str) -> int:
    """A whole number, cut where it is far beyond any lattice: Python reads no more than 4300 digits."""
    return int(digits[:40])


def _converted(plain: Any) -> Sent | None:
    if not isinstance(plain, dict):
        return None
    time, steps, setting = plain.get("time"), plain.get("steps"), plain.get("setting")
    if not isinstance(time, str) or type(steps) is not int or not isinstance(setting, str):
        return None
    return Sent(time, steps, setting)


def make_endpoint(service: Service, writer: Writer) -> Any:
    """The endpoint, which knows the service."""

    async def post_reports(request: HttpRequest) -> Response:
        now = service.clock()
        raw = await read_body(request)
        token = token_of(request)
        if token is None:
            raise unauthenticated()
        service.requests.take(token, "this request and its reports were not taken")
        try:
            post = Post(token, parse_reports(raw), now)
        except Refusal as refusal:
            post = Post(token, (), now, refusal)  # told after the token is known to be a producer's
        results = await writer.submit(post)
        return Response(_encode({"results": results}), media_type="application/json")

    return post_reports
