"""HTTP as uvicorn reads it by httptools, with a bound on what comes before a body: the parser itself has none."""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_BYTES = 2**16


class BoundedProtocol(HttpToolsProtocol):
    """Hangs up on a head of more than `MOST_BYTES`, so that headers without end do not fill the memory."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head: int | None = 0
        """Bytes of a head that is not complete yet; None within a body."""

    def data_received(self, data: bytes) -> None:
        if self._head is not None:
            self._head += len(data)
        super().data_received(data)
        if self._head is not None and self._head > MOST_BYTES:
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._head = 0
        super().on_message_complete()
