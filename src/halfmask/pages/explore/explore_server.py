"""The server behind the explore page. It answers only to this machine and not to pages of other sites.

`explore` is what ``halfmask explore`` runs: it serves a folder's results, or takes a file of readings, until Ctrl-C.
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
from halfmask.pages.explore.dropped_file import DroppedFile, MakeResults
from halfmask.pages.explore.explore_page import asset, drop_page, explore_page
from halfmask.pages.explore.explorer import Explorer
from halfmask.pages.explore.wanted_levels import WantedLevels
from halfmask_device.errors import OPTION

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ANYWHERE = ("", "0.0.0.0", "::")


@dataclass(frozen=True)
class Answer:
    """A response: content, content type and status."""

    body: bytes
    kind: str = "application/json"
    status: HTTPStatus = HTTPStatus.OK


@dataclass(frozen=True)
class OfferMaker:
    """The command that makes an offer from what is wanted: as it is typed, and run, which gives the offer's file."""

    command: Callable[[Explorer, WantedLevels], str]
    run: Callable[[Explorer, WantedLevels], str]


class ExploreServer(ThreadingHTTPServer):
    """Serves one explorer, with a thread per request; no thread outlives the server.

    Without an explorer it takes a file of readings first, and ``results`` makes a folder of results from it.
    """

    def __init__(
        self,
        explorer: Explorer | None,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        offers: OfferMaker | None = None,
        results: MakeResults | None = None,
    ) -> None:
        self.explorer, self.offers = explorer, offers
        self.dropped = DroppedFile(results, self._show) if results else None
        self.host = host
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise RunError(
                f"cannot listen on {host}:{port}: {why}; take another `host` or `port` (0: any)", kind="listen"
            ) from error

    def server_close(self) -> None:
        """Stop listening, and delete what was made of a dropped file."""
        super().server_close()
        if self.dropped:
            self.dropped.close()

    def _show(self, folder: Path) -> None:
        self.explorer = Explorer(folder)

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
    """Answers GET and HEAD, and POST to make an offer or to take a file; everything else is refused."""

    server: ExploreServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "halfmask", ""
    error_content_type, error_message_format = "text/plain; charset=utf-8", "%(code)d %(message)s\n"
    timeout = 60

    def do_GET(self) -> None:
        """Answer with a page, a part of it, or data."""
        self._send(self._answer(self._shown))

    do_HEAD = do_GET  # noqa: N815 - the name that the standard library looks for

    def do_POST(self) -> None:
        """Make an offer, or take a file of readings."""
        self.close_connection = True  # a body that was refused is not read
        self._send(self._answer(self._done))

    def _answer(self, of: Callable[[str, dict[str, str]], Answer]) -> Answer:
        try:
            if not self.server.accepts(self.headers.get("Host", "")):
                return _refusal("this server answers to its own address only", HTTPStatus.MISDIRECTED_REQUEST)
            if self._from_elsewhere():
                return _refusal("this server does not answer to pages of other sites", HTTPStatus.FORBIDDEN)
            target = urlsplit(self.path)
            query = {} if target.path == "/" else _read_query(target.query)
            return of(target.path, query)
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
        followed = self.command == "GET" and urlsplit(self.path).path == "/"
        return other and not (followed and self.headers.get("Sec-Fetch-Mode") == "navigate")

    def _shown(self, path: str, query: dict[str, str]) -> Answer:
        """Answer a GET request. The query of the page itself is its state, which it reads in the browser."""
        explorer, dropped = self.server.explorer, self.server.dropped
        if path == "/":
            text = explore_page(explorer, state="?" in self.path) if explorer else drop_page()
            return Answer(text.encode(), "text/html; charset=utf-8")
        if path == "/api/progress" and dropped:
            return Answer(_json(dropped.progress()))
        if path in QUESTIONS and explorer:
            return Answer(_json(QUESTIONS[path](explorer, self.server, query)))
        found = asset(path.removeprefix("/static/")) if path.startswith("/static/") else None
        return Answer(*found) if found else _refusal("there is no such page", HTTPStatus.NOT_FOUND)

    def _done(self, path: str, query: dict[str, str]) -> Answer:
        explorer, offers, dropped = self.server.explorer, self.server.offers, self.server.dropped
        if path == "/api/offer" and explorer and offers:
            return Answer(offers.run(explorer, explorer.default.read(query)).encode())
        if path == "/api/file" and dropped and not explorer:
            dropped.take(_needed(query, "name", "readings.csv"), self.rfile, self.headers.get("Content-Length"))
            return Answer(_json(dropped.progress()))
        return _refusal("there is no such page", HTTPStatus.NOT_FOUND)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in (
            ("Content-Type", answer.kind),
            ("Content-Length", str(len(answer.body))),
            ("Content-Security-Policy", POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: requests are not worth a line."""


Ask = Callable[[Explorer, ExploreServer, dict[str, str]], Any]


def ask_answer(explorer: Explorer, server: ExploreServer, query: dict[str, str]) -> dict[str, Any]:
    """Return the picture of what is wanted, and the command that makes the offer."""
    wanted = explorer.default.read(query)
    command = server.offers.command(explorer, wanted) if server.offers else ""
    return {**explorer.answer(wanted), "command": command}


def ask_setting(explorer: Explorer, _: ExploreServer, query: dict[str, str]) -> dict[str, Any]:
    """Return the card of one setting."""
    text = _needed(query, "setting", "laplace:0.5")
    return explorer.setting(text, explorer.default.read(query))


QUESTIONS: dict[str, Ask] = {
    "/api/answer": ask_answer,
    "/api/closest": lambda explorer, _, query: explorer.closest(explorer.default.read(query)),
    "/api/settings": lambda explorer, _, query: explorer.settings(explorer.default.read(query)),
    "/api/texts": lambda explorer, _, query: explorer.texts(explorer.default.read(query)),
    "/api/guesses": lambda explorer, _, query: explorer.guesses(explorer.default.read(query)),
    "/api/setting": ask_setting,
}


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


def _json(content: Any) -> bytes:
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
    folder: str | Path | None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browser: bool = True,
    tell: Callable[[str], None] = print,
    spell: Speller = by_name,
    offers: OfferMaker | None = None,
    results: MakeResults | None = None,
) -> None:
    """Serve a folder's page until interrupted; without a folder, a page that takes a file of readings.

    ``tell`` is called with the address when the server listens; ``spell`` puts the commands that make parts into words;
    ``offers`` makes offers, ``results`` a folder of results from a file.
    """
    explorer = None if folder is None else Explorer(folder, spell)
    with ExploreServer(explorer, host, port, offers=offers, results=results) as server:
        try:
            if explorer is not None:
                Thread(target=explorer.warm, daemon=True).start()
            tell(server.address)
            if browser:
                Thread(target=webbrowser.open, args=(server.address,), daemon=True).start()
            server.serve_forever()
        except KeyboardInterrupt:
            return
