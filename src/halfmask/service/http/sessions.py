"""Sessions of the consumer's page: a token that only this site's cookie holds, and only this site's pages may use.

A consumer's token is exchanged for one that ends after `LASTS` hours. The cookie is HttpOnly and SameSite=Strict. A
request that carries it must come from this site itself: the browser's `Sec-Fetch-Site`, and `Origin` of all that
changes something, say so. So no other site can act for a consumer who is signed in.
"""

from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from halfmask.service.http.read_request import headers_of, read_body, read_request
from halfmask.service.http.session_cookie import COOKIE, check_same_site, session_of
from halfmask.service.refusal import Refusal, unauthenticated
from halfmask.service.request import Request, digest, issue, parse_json
from halfmask.service.service import Service, Writer
from halfmask.service.storage.sql_store import Transaction
from halfmask_device.instants import MINUTE

LASTS = 12
"""Hours until a session ends."""


class Sessions:
    """The endpoints that open and end a session."""

    def __init__(self, service: Service, writer: Writer) -> None:
        self.service, self.writer = service, writer

    async def begin(self, request: HttpRequest) -> Response:
        """Exchange the consumer's token for a session."""
        headers = headers_of(request.scope)
        check_same_site(headers, "POST")
        body = parse_json(await read_body(headers, request.receive))
        token = body.get("token") if isinstance(body, dict) else None
        if not isinstance(token, str):
            raise unauthenticated()
        asked = Request(digest(token.strip()), {}, {}, b"", self.service.clock())
        self.service.requests.take(str(asked.token), "this request was not taken")

        def exchange(tx: Transaction) -> str:
            who = self.service.identify(tx, asked, ("consumer",))
            ends = asked.now + LASTS * 60 * MINUTE
            if who is None:
                raise unauthenticated()
            return issue(tx, "consumer", who.subject, asked.now, min(ends, who.expires or ends))

        made = await self.writer.submit(exchange)
        return _with_cookie(made, LASTS * 3600, headers.get(b"origin", b""))

    async def end(self, request: HttpRequest) -> Response:
        """Revoke the session's token and forget the cookie."""
        headers = headers_of(request.scope)
        hash, now = session_of(headers, "DELETE"), self.service.clock()
        if hash is not None:
            await self.writer.submit(lambda tx: tx.revoke_token(hash, now))
        return _with_cookie("", 0, headers.get(b"origin", b""))

    async def show(self, request: HttpRequest) -> Response:
        """Return the campaigns of the consumer who is signed in; null if nobody is."""
        asked = await read_request(request, self.service.clock)

        def work(tx: Transaction) -> dict[str, Any]:
            try:
                who = self.service.identify(tx, asked, ("consumer",))
            except Refusal:
                return {"campaigns": None}
            return {"campaigns": [row.public for row in tx.campaigns() if who and row.consumer == who.subject]}

        return _json(await run_in_threadpool(self.service.store.read, work))


def _with_cookie(token: str, seconds: int, origin: bytes) -> Response:
    answer = _json({"status": "signed_in" if token else "signed_out"})
    answer.set_cookie(
        COOKIE, token, max_age=seconds, path="/", httponly=True, samesite="strict", secure=origin.startswith(b"https:")
    )
    return answer


def _json(value: Any) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json", headers={"Cache-Control": "no-store"})
