"""The device's HTTP client: JSON requests that are retried after growing, random pauses. Nothing is logged."""

import http.client
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from halfmask_device.errors import OptionError, RunError

Answer = tuple[int, Mapping[str, str], bytes]
Transport = Callable[[str, str, Mapping[str, str], bytes | None], Answer]
"""Maps method, address, headers and body to status, headers and body. Raises an OSError without an answer."""
TIMEOUT = 30.0
MOST_BYTES = 1 << 24
CUT_OFF = "its answer is not HTTP, or was cut off"
AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504, 507))
UNAUTHENTICATED = "unauthenticated"
"""What a service says if it refuses a token."""


def urllib_transport(
    method: str, address: str, headers: Mapping[str, str], body: bytes | None, timeout: float = TIMEOUT
) -> Answer:
    """Send one request with the standard library. Redirects are not followed, because they could reveal a token."""
    request = urllib.request.Request(address, data=body, headers=dict(headers), method=method)
    try:
        with _OPENER.open(request, timeout=timeout) as answer:
            content = answer.read(MOST_BYTES)
            if answer.length and len(content) < MOST_BYTES:  # shorter than Content-Length: cut off
                raise OSError(0, CUT_OFF)
            return answer.status, dict(answer.headers), content
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read(MOST_BYTES)
    except http.client.HTTPException as error:
        raise OSError(0, CUT_OFF) from error


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_Stay)


class ServiceError(RunError):
    """The service answered with an error. The message never contains what was sent.

    ``status``  HTTP status
    ``said``    the service's error code
    ``answer``  the JSON object of the answer
    """

    code = "service"

    def __init__(self, status: int, said: str, message: str, answer: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status, self.said, self.answer = status, said, answer or {}


@dataclass(frozen=True)
class ServiceClient:
    """A client of one service.

    ``tries``    largest number of attempts per request
    ``pause``    seconds between the first two attempts; doubled for each further one
    ``longest``  longest pause, in seconds
    """

    address: str
    transport: Transport = urllib_transport
    tries: int = 6
    pause: float = 0.5
    longest: float = 60.0
    sleep: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.address)
            fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is not a number, or a missing bracket
            fine = False
        if not fine or not self.address.isascii() or not self.address.isprintable() or " " in self.address:
            raise OptionError(
                "the service's address is not an http:// or https:// address: write it like https://host",
                kind="address",
            )
        object.__setattr__(self, "address", self.address.rstrip("/"))

    def ask(
        self, method: str, path: str, token: str | None = None, body: object = None, *, key: str | None = None
    ) -> Any:
        """Send a request and return the JSON of the answer.

        ``key``  an idempotency key: if an answer is lost, the repeated request gets the same answer

        Temporary failures (no answer, or a status in `AGAIN`) are retried. Any other error status raises a
        `ServiceError`.
        """
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        headers |= {"Idempotency-Key": key} if key else {}
        sent = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            sent = json.dumps(body, separators=(",", ":")).encode()
        for attempt in range(self.tries):
            last = attempt + 1 == self.tries
            try:
                status, said, content = self.transport(method, self.address + path, headers, sent)
            except OSError as error:
                if last:
                    reason = getattr(error, "reason", None) or error.strerror or type(error).__name__
                    raise RunError(
                        f"{self.address} does not answer ({reason}): what is queued stays queued", kind="no_answer"
                    ) from error
                self.sleep(self._pause(attempt))
                continue
            if status in AGAIN and not last:
                self.sleep(max(self._pause(attempt), _told(said)))
                continue
            return self._answer(status, content)
        raise RunError(f"{self.address} was not asked: tries must be above 0")

    def _answer(self, status: int, content: bytes) -> Any:
        try:
            plain = json.loads(content)
        except (ValueError, RecursionError):
            plain = None
        if 200 <= status < 300 and plain is not None:
            return plain
        error = plain.get("error") if isinstance(plain, dict) else None
        error = error if isinstance(error, dict) else {}
        said, words = (" ".join(str(error.get(name, "")).split()) for name in ("code", "message"))
        said, words = said[:80], words[:300] or "no reason given"
        body = plain if isinstance(plain, dict) else None
        raise ServiceError(status, said, f"{self.address} answered {status} {said}: {words}", body)

    def _pause(self, attempt: int) -> float:
        """Return a random time between half of the current pause and the whole, so that devices retry apart."""
        chance = int.from_bytes(os.urandom(4), "big") / 2**32
        return float(min(self.pause * 2**attempt, self.longest) * (0.5 + chance / 2))


def _told(headers: Mapping[str, str]) -> float:
    """Return the seconds of a Retry-After header, at most an hour; 0 without one."""
    for name, value in headers.items():
        if name.lower() == "retry-after" and value.strip().isdigit():
            return float(min(int(value), 3600))
    return 0.0
