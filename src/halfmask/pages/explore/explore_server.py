"""The server behind the explore page. It only reads, and answers only to this machine and not to pages of other sites.

`explore` is what ``halfmask explore`` runs: it serves a folder's results until Ctrl-C.
"""

import ipaddress
import json
import socket
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from halfmask.errors import HalfmaskError, InputError, OptionError, RunError
from halfmask.figures.results_folder import Speller, by_name
from halfmask.pages.explore.explore_page import asset, live_page, menu_fragment, write_alone
from halfmask.pages.explore.explorer import Explorer, View
from halfmask.pages.explore.menu_options import MenuOptions
from halfmask_device.errors import OPTION

# Scripts are the server's own files and nothing else. Styles may stand in the page: plotly writes its own there.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ANYWHERE = ("", "0.0.0.0", "::")


@dataclass(frozen=True)
class Answer:
    """A response: content, content type and status. If it is ``lasting``, a browser keeps it for an hour."""

    body: bytes
    kind: str = "application/json"
    status: HTTPStatus = HTTPStatus.OK
    lasting: bool = False


class ExploreServer(ThreadingHTTPServer):
    """Serves one explorer, with a thread per request; no thread outlives the server."""

    def __init__(self, explorer: Explorer, host: str = "127.0.0.1", port: int = 0) -> None:
        self.explorer = explorer
        self.host = host
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise RunError(
                f"cannot listen on {host}:{port}: {why}; take another `host` or `port` (0: any)", kind="listen"
            ) from error

    @property
    def address(self) -> str:
        """Return the address of the page."""
        shown = "127.0.0.1" if self.host in ANYWHERE else self.host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.server_port}/"

    def accepts(self, host: str) -> bool:
        """Return whether a Host header names this machine; this stops other sites that redirect their name to it.

        Always accepted: ``localhost``, 127.0.0.1, ::1, and the host that the server was asked to listen on. Any other
        numeric address is accepted if the server listens on every address.
        """
        name = urlsplit(f"//{host}").hostname or ""
        return name in ("localhost", "127.0.0.1", "::1", self.host) or (self.host in ANYWHERE and _is_number(name))

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Ignore connections that were closed or timed out; print any other error in one line."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | TimeoutError):
            print(f"halfmask: unexpected {type(error).__name__}: {error}", file=sys.stderr)


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD; everything else is refused."""

    server: ExploreServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "halfmask", ""
    error_content_type, error_message_format = "text/plain; charset=utf-8", "%(code)d %(message)s\n"
    timeout = 60

    def do_GET(self) -> None:
        """Answer with a page, a part of it, or data."""
        self._send(self._answer())

    do_HEAD = do_GET  # noqa: N815 - the name that the standard library looks for

    def _answer(self) -> Answer:
        try:
            if not self.server.accepts(self.headers.get("Host", "")):
                return _refusal("this server answers to its own address only", HTTPStatus.MISDIRECTED_REQUEST)
            if self._from_elsewhere():
                return _refusal("this server does not answer to pages of other sites", HTTPStatus.FORBIDDEN)
            target = urlsplit(self.path)
            return self._routed(target.path, target.query)
        except InputError as error:
            return _refusal(_phrased(error), HTTPStatus.BAD_REQUEST)
        except HalfmaskError as error:
            return _refusal(_phrased(error), HTTPStatus.INTERNAL_SERVER_ERROR)
        except Exception as error:  # the edge: a bug ends in one line, not in a broken connection
            print(f"halfmask: {self.path[:200]!r}: unexpected {type(error).__name__}: {error}", file=sys.stderr)
            return _refusal(f"unexpected {type(error).__name__}", HTTPStatus.INTERNAL_SERVER_ERROR)

    def _from_elsewhere(self) -> bool:
        """Return whether a page of another site sends the request.

        A link to this page that a reader follows is allowed.
        """
        other = self.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site")
        return other and (self.path != "/" or self.headers.get("Sec-Fetch-Mode") != "navigate")

    def _routed(self, path: str, query: str) -> Answer:
        explorer = self.server.explorer
        if path == "/":
            return Answer(live_page(explorer).encode(), "text/html; charset=utf-8")
        if path in QUESTIONS:
            return Answer(_json(QUESTIONS[path](explorer, _read_query(query))))
        found = asset(path.removeprefix("/static/")) if path.startswith("/static/") else None
        if found is None:
            return _refusal("there is no such page", HTTPStatus.NOT_FOUND)
        return Answer(*found, lasting=path.endswith("/plotly.min.js"))  # large, and never changes while this runs

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in (
            ("Content-Type", answer.kind),
            ("Content-Length", str(len(answer.body))),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "max-age=3600" if answer.lasting else "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests are not worth a line."""


def ask_menu(explorer: Explorer, query: dict[str, str]) -> dict[str, Any]:
    """Return the chosen menu in words, its command, ids and figures; without options, the folder's own."""
    view = _view(explorer, query)
    return {
        "html": menu_fragment(view),
        "command": view.inputs.command("menu"),
        "ids": list(view.inputs.menu.ids) if view.inputs.menu else [],
        "figures": [each.json() for each in view.figures],
    }


def ask_mix(explorer: Explorer, query: dict[str, str]) -> dict[str, Any]:
    """Return privacy, utility and protection of one mix of the menu that the options choose."""
    text = _needed(query, "shares", "A=0.5,N=0.5")
    return explorer.mix(_view(explorer, query), text)


def ask_setting(explorer: Explorer, query: dict[str, str]) -> dict[str, Any]:
    """Return description, protection and drawing of one setting, and its scores if the folder has a study."""
    text = _needed(query, "setting", "laplace:0.5")
    return explorer.setting(_view(explorer, query), text)


QUESTIONS: dict[str, Callable[[Explorer, dict[str, str]], dict[str, Any]]] = {
    "/api/menu": ask_menu,
    "/api/mix": ask_mix,
    "/api/setting": ask_setting,
}


def _view(explorer: Explorer, query: dict[str, str]) -> View:
    return explorer.view(MenuOptions.parse(query))


def _read_query(text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=20, errors="strict")
    except ValueError as error:
        raise OptionError(
            f"the query {text[:80]!r} cannot be read: write name=value&name=value", kind="query"
        ) from error
    query = dict(pairs)
    if len(query) < len(pairs):
        raise OptionError(f"the query {text[:80]!r} names an option twice: give each once", kind="twice")
    return query


def _needed(query: dict[str, str], name: str, example: str) -> str:
    if not query.get(name, "").strip():
        raise OptionError(f"no {name} is given: write one such as {example}", kind="missing")
    return query.pop(name)


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _phrased(error: HalfmaskError) -> str:
    """Return the error's message with options as a query spells them: `max_mean` becomes max-mean."""
    return OPTION.sub(lambda found: found[1].replace("_", "-") + (f"={found[2]}" if found[2] else ""), str(error))


def _refusal(message: str, status: HTTPStatus) -> Answer:
    return Answer(_json({"error": message}), status=status)


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def explore(
    folder: str | Path,
    output: str | Path | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    tell: Callable[[str], None] = print,
    spell: Speller = by_name,
) -> None:
    """Serve a folder's page until interrupted, or write its figures to ``output`` and return.

    ``tell`` is called with the address when the server listens; ``spell`` puts the commands that make parts into words.
    """
    explorer = Explorer(folder, spell)
    if output is not None:
        write_alone(explorer, output)
        return
    with ExploreServer(explorer, host, port) as server:
        try:
            Thread(target=explorer.warm, daemon=True).start()
            tell(server.address)
            if browser:
                Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
            server.serve_forever()
        except KeyboardInterrupt:
            return
