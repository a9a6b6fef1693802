"""The pages that people use, served by the service itself: `/` for producers, `/watch` for the consumer.

They are files without a build step. Their policy allows this service alone: no inline script, no other site, no frame.
"""

import hashlib
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import resources

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

PAGES = {"/": "served/choose.html", "/watch": "served/watch.html"}
"""The pages, by path."""
KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
GUARDED = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-cache",
}


def add_pages(app: FastAPI) -> None:
    """Add the pages and the files that they load."""
    files = resources.files("halfmask.pages")
    shared = [each.name for each in files.iterdir() if each.name.endswith((".js", ".css"))]
    served = [each.name for each in files.joinpath("served").iterdir() if each.is_file()]
    paths = (
        PAGES | {f"/pages/{name}": f"served/{name}" for name in served} | {f"/pages/{name}": name for name in shared}
    )
    for path, name in paths.items():
        if name.rpartition(".")[2] in KINDS:
            app.add_api_route(
                path, page_endpoint(name), methods=["GET"], response_class=Response, include_in_schema=False
            )


def page_endpoint(name: str) -> Callable[[HttpRequest], Awaitable[Response]]:
    """Return the endpoint that answers with a file of the pages and the headers that guard it."""

    async def page(request: HttpRequest) -> Response:
        content, tag = _file(name)
        headers = GUARDED | {"ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=KINDS[name.rpartition(".")[2]])

    return page


@cache
def _file(name: str) -> tuple[bytes, str]:
    """Return a file and the name of its content."""
    content = resources.files("halfmask.pages").joinpath(name).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'
