"""The HTTP application: FastAPI for the table of routes, a faster path for reports, and errors that repeat no input."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Match

from halfmask import __version__
from halfmask.service.background_tasks import BackgroundTask
from halfmask.service.closing import background_tasks, close_due, publish_closed
from halfmask.service.http.event_stream import make_stream
from halfmask.service.http.known_tokens import KnownTokens
from halfmask.service.http.page_files import add_pages
from halfmask.service.http.period_tables import KINDS, make_table
from halfmask.service.http.prometheus import Metrics
from halfmask.service.http.read_request import (
    PATH,
    bearer_of,
    headers_of,
    parse_post,
    read_body,
    read_request,
    token_of,
)
from halfmask.service.http.readiness import Readiness, alive
from halfmask.service.http.routes import ROUTES, Route
from halfmask.service.http.schemas import SCHEMAS, described
from halfmask.service.http.sessions import Sessions
from halfmask.service.refusal import Refusal, unauthenticated
from halfmask.service.request import Call, Request
from halfmask.service.service import Service, Writer
from halfmask.service.split.share_intake import SharePost
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain

log = logging.getLogger("halfmask.service")
CLOSE_EVERY = 5.0
"""Seconds between two checks for periods that are past their deadline."""
SHARES_PATH = "/v1/split/{h}/shares"
SHARES_OF = re.compile(r"/v1/split/(?P<h>[A-Za-z0-9_-]{1,64})/shares", re.ASCII)
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
SMALL = 4096
"""Bytes up to which a body costs less to parse than its token to look up before; the writer looks it up anyway."""
HEADERS = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID")
"""Headers of the protocol, which pages of an allowed origin may send."""
_encode = msgspec.json.Encoder().encode
Endpoint = Callable[[HttpRequest], Awaitable[Response]]


@dataclass(frozen=True)
class EdgeOptions:
    """The options of HTTP that an operator may choose.

    ``origins``     the origins of pages whose scripts may ask, such as https://meters.example.org; none by default
    ``access_log``  whether each request is logged: method, path without names, status and seconds
    """

    origins: tuple[str, ...] = ()
    access_log: bool = False


NO_EDGE = EdgeOptions()


class Application(FastAPI):
    """FastAPI that counts requests for the operator, and answers posts of reports and shares before FastAPI's layers.

    These layers cost more than a report does. Requests are counted by method, route and status. Their paths are not
    kept, because a path may hold anything.
    """

    reports: Endpoint
    shares: Endpoint
    metrics: Metrics
    edge: EdgeOptions
    cross_origin: Callable[[Any, Any, Any], Awaitable[None]] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
        else:
            await (self.cross_origin or self.counted)(scope, receive, send)

    async def counted(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request and count it."""
        began, status = time.perf_counter(), 500

        async def noting(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        path, endpoint = self._at_once(scope)
        try:
            if endpoint is not None:
                await self._answer(endpoint, scope, receive, noting)
            else:
                await super().__call__(scope, receive, noting)
        finally:
            route = path or getattr(scope.get("route"), "path", None)
            method, seconds = scope["method"] if route else "any", time.perf_counter() - began
            self.metrics.note(method, route or "none", status, seconds)
            if self.edge.access_log:
                said = {"method": method, "route": route or "none", "status": status, "seconds": round(seconds, 6)}
                log.info("request", extra=said)

    def _at_once(self, scope: Any) -> tuple[str, Endpoint | None]:
        """Return path and endpoint of a request that passes FastAPI's layers by; nothing for any other."""
        if scope["method"] == "POST" and scope["path"] == PATH:
            return PATH, self.reports
        found = SHARES_OF.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        if found is None:
            return "", None
        scope["path_params"] = found.groupdict()
        return SHARES_PATH, self.shares

    async def _answer(self, endpoint: Endpoint, scope: Any, receive: Any, send: Any) -> None:
        """Answer a post of reports or shares."""
        try:
            answer = await endpoint(HttpRequest(scope, receive))
        except Exception as error:
            answer = _answer_to(error)
        await answer(scope, receive, send)


def create_app(
    service: Service,
    close_every: float | None = CLOSE_EVERY,
    tasks: Sequence[BackgroundTask] = (),
    edge: EdgeOptions = NO_EDGE,
) -> Application:
    """Return the application of a service.

    ``close_every``  seconds between two checks for periods to close; None leaves closing to requests, for tests
    ``tasks``        background tasks that run as long as the application does
    ``edge``         the options of HTTP
    """
    writer = Writer(service)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        writer.start()
        try:
            async with AsyncExitStack() as stack:
                closing = background_tasks(close_every) if close_every else []
                for each in (*closing, *tasks):
                    await stack.enter_async_context(each(service, writer))
                yield
        finally:
            await run_in_threadpool(writer.stop)

    app = Application(
        title="halfmask", version=__version__, lifespan=life, docs_url=None, redoc_url=None, redirect_slashes=False
    )

    def add(name: str, method: str, path: str, endpoint: Endpoint, told: Plain) -> None:
        app.add_api_route(
            path, endpoint, methods=[method], operation_id=name, summary=name.replace("_", " "), openapi_extra=told,
            response_class=Response, status_code=next(int(each) for each in told["responses"]),
        )  # fmt: skip

    app.state.service, app.state.writer = service, writer
    app.metrics, app.reports, app.edge = Metrics(service, writer), _reports(service, writer), edge
    app.shares = _shares(service, writer)
    if edge.origins:
        app.cross_origin = CORSMiddleware(
            app.counted, allow_origins=edge.origins, allow_methods=METHODS, allow_headers=HEADERS,
            expose_headers=["Retry-After"], max_age=86_400,
        )  # fmt: skip
    for route in ROUTES:
        name, statuses = route.work.__name__, (route.status, 202) if route.then else (route.status,)
        headers = ("Idempotency-Key",) if route.once else ()
        told = described(
            name, route.path, route.body, route.query, *headers, statuses=statuses, token=bool(route.roles)
        )
        add(name, route.method, route.path, _endpoint(service, writer, route), told)
    path, period_range = "/v1/campaigns/{c}/stream", ("from", "to")
    told = described("stream_periods", path, None, (), "Last-Event-ID", media="text/event-stream")
    add("stream_periods", "GET", path, make_stream(service), told)
    for kind, media in KINDS.items():
        path = f"/v1/campaigns/{{c}}/periods.{kind}"
        told = described(f"periods_{kind}", path, None, period_range, media=media)
        add(f"periods_{kind}", "GET", path, make_table(service, kind), told)
    add("metrics", "GET", "/metrics", app.metrics.endpoint, described("metrics", "", media="text/plain", token=False))
    add("live", "GET", "/live", alive, described("live", "", token=False))
    add("ready", "GET", "/ready", Readiness(service, writer).endpoint, described("ready", "", token=False))
    add("send_reports", "POST", PATH, app.reports, described("send_reports", PATH, "SentReports"))
    add("send_shares", "POST", SHARES_PATH, app.shares, described("send_shares", SHARES_PATH, "SentShares"))
    add("withdraw_shares", "DELETE", SHARES_PATH, app.shares, described("withdraw_shares", SHARES_PATH))
    sessions = Sessions(service, writer)
    told = described("begin_session", "", "SessionToken", token=False)
    add("begin_session", "POST", "/session", sessions.begin, told)
    add("end_session", "DELETE", "/session", sessions.end, described("end_session", "", token=False))
    add("show_session", "GET", "/session", sessions.show, described("show_session", "", token=False))
    add_pages(app)
    _describe_shared_parts(app)
    _handle_errors(app)
    return app


def _endpoint(service: Service, writer: Writer, route: Route) -> Endpoint:
    """Return the endpoint of a route: it reads the request, does the route's work in a transaction, and answers."""

    one_at_a_time = asyncio.Lock()

    async def endpoint(request: HttpRequest) -> Response:
        asked = await read_request(request, service.clock, once=route.once, most=route.most)
        if asked.token is not None:
            service.requests.take(asked.token, "this request was not taken")

        prepared: object = None

        def work(tx: Transaction) -> Plain:
            return service.answer(tx, asked, route.roles, route.work, prepared)

        if route.first is not None:
            await run_in_threadpool(service.store.read, lambda tx: service.identify(tx, asked, route.roles))
            async with one_at_a_time:
                await run_in_threadpool(route.first, asked)
        if route.prepare is not None:
            prepare = partial(service.answer, request=asked, roles=route.roles, work=route.prepare)
            prepared = await run_in_threadpool(service.store.read, prepare)
        if route.method != "GET":
            answer, then = await writer.submit(work, small=route.small), route.then
            if then is not None:
                await publish_closed(service, writer)
                read = service.store.read
                answer = await run_in_threadpool(read, lambda tx: service.answer(tx, asked, route.roles, then))
                return _json(answer, 202 if answer["state"] == "closing" else route.status)
            return _json(answer, route.status)
        await _close_first(service, writer, route, asked)
        return _json(await run_in_threadpool(service.store.read, work), route.status)

    return endpoint


def _reports(service: Service, writer: Writer) -> Endpoint:
    """Return the endpoint for reports, which are decided and written together with those of other requests."""

    known = KnownTokens(service.store)

    async def reports(request: HttpRequest) -> Response:
        headers = headers_of(request.scope)
        raw = await read_body(headers, request.receive)
        now = service.clock()  # after the whole body has arrived: a slow body must not carry an old time
        token = token_of(headers)
        if token is None:
            raise unauthenticated()
        service.requests.take(token, "this request and its reports were not taken")
        if len(raw) > SMALL:
            await known.check(token)
        return _json({"results": await writer.submit(parse_post(raw, token, now))}, 200)

    return reports


def _shares(service: Service, writer: Writer) -> Endpoint:
    """Return the endpoint for shares of split reports: they come with a ticket, which the campaign's leader gave."""

    async def shares(request: HttpRequest) -> Response:
        headers = headers_of(request.scope)
        raw = await read_body(headers, request.receive)
        ticket = bearer_of(headers)
        if ticket is None:
            raise unauthenticated()
        service.requests.take(ticket, "this request and its shares were not taken")
        body = None if request.method == "DELETE" else raw
        answer = await writer.submit(SharePost(ticket, request.path_params["h"], service.clock(), body))
        return _json({"results": answer} if body is not None else answer, 200)

    return shares


async def _close_first(service: Service, writer: Writer, route: Route, asked: Request) -> None:
    """Close periods past their deadline before periods are listed: the deadline decides, not when somebody asks."""
    if not route.path.endswith("/periods"):
        return
    await run_in_threadpool(service.store.read, lambda tx: service.answer(tx, asked, route.roles, Call.own_campaign))
    await close_due(service, writer, asked.now, asked.path["c"])


def _json(value: Any, status: int) -> Response:
    return Response(_encode(value), status, media_type="application/json")


def _refused(refusal: Refusal) -> Response:
    headers = {}
    if refusal.after is not None:
        headers["Retry-After"] = str(max(1, round(refusal.after)))
    if refusal.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if refusal.status == 413:
        headers["Connection"] = "close"  # the rest of the body is not read
    return Response(_encode(refusal.body()), refusal.status, headers, "application/json")


def _answer_to(error: Exception) -> Response:
    """Return the answer to an error in the protocol's form. FastAPI's own answer would repeat what was sent."""
    if isinstance(error, Refusal):
        return _refused(error)
    if isinstance(error, RequestValidationError):
        return _refused(Refusal(422, "unfit", "the request does not fit"))
    if isinstance(error, HTTPException):
        words = {404: ("not_found", "there is no such path"), 405: ("not_allowed", "this path has no such method")}
        code, message = words.get(error.status_code, ("refused", "the request was refused"))
        return _refused(Refusal(error.status_code, code, message))
    log.error("a request failed", extra={"kind": type(error).__name__}, exc_info=error)
    return _refused(Refusal(500, "failed", "the service failed; its log says where"))


def _handle_errors(app: FastAPI) -> None:
    async def on_error(request: HttpRequest, error: Exception) -> Response:
        answer = _answer_to(error)
        if answer.status_code == 405:
            matching = [each for each in app.routes if each.matches(request.scope)[0] is not Match.NONE]
            methods = {method for route in matching for method in getattr(route, "methods", ())}
            answer.headers["Allow"] = ", ".join(sorted(methods))
        return answer

    for kind in (Refusal, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, on_error)


def _describe_shared_parts(app: Application) -> None:
    """Describe in OpenAPI how a caller shows its token, and what bodies and answers look like."""
    plain = app.openapi
    scheme = {"type": "http", "scheme": "bearer", "description": "a token of an operator, consumer, producer or node"}

    def described() -> Plain:
        schema = plain()
        schema["components"] = {"schemas": SCHEMAS, "securitySchemes": {"token": scheme}}
        return schema

    app.openapi = described  # type: ignore[method-assign]
