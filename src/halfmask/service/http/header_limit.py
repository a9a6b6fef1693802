"""HTTP as uvicorn parses it by httptools, with a limit on the size of heads, which the parser does not have."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_BYTES = 2**16


class BoundedProtocol(HttpToolsProtocol):
    """Closes the connection after `MOST_BYTES` of head, of trailer fields, or of other bytes outside a body.

    They would fill the memory. Bodies are limited when they are read.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._beside = 0
        """Bytes since a head, a request or a part of its body was complete."""

    def data_received(self, data: bytes) -> None:
        self._beside += len(data)
        super().data_received(data)
        if self._beside > MOST_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._beside = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._beside = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._beside = 0
        super().on_message_complete()
