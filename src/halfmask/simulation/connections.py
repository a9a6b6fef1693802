"""HTTP connections that many devices in one process share and reuse."""

import http.client
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from halfmask_device.http_client import CUT_OFF, MOST_BYTES, TIMEOUT, Answer


class Connections:
    """A transport of `halfmask_device.http_client` for any number of threads. It raises an OSError if nobody answers.

    It cannot distinguish a reused connection that the service has closed from a request that failed. Both are errors
    for the client, which tries again.
    """

    def __init__(self) -> None:
        self._idle: dict[str, list[http.client.HTTPConnection]] = {}

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        parts = urlsplit(address)
        idle = self._idle.setdefault(f"{parts.scheme}://{parts.netloc}", [])
        try:
            connection = idle.pop()
        except IndexError:
            connection = _new(parts)
        try:
            connection.request(method, parts._replace(scheme="", netloc="").geturl(), body, dict(headers))
            answer = connection.getresponse()
            found = answer.status, dict(answer.headers), answer.read(MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise error if isinstance(error, OSError) else OSError(0, CUT_OFF) from error
        idle.append(connection)
        return found

    def close(self) -> None:
        """Close idle connections."""
        for idle in self._idle.values():
            while idle:
                idle.pop().close()


def _new(parts: SplitResult) -> http.client.HTTPConnection:
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    return kind(parts.netloc, timeout=TIMEOUT)
