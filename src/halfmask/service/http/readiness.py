"""Whether the process lives, and whether the service is ready: that it reads, and writes to the disk."""

import asyncio
import time

import msgspec
from starlette.requests import Request as HttpRequest
from starlette.responses import Response

from halfmask.service.refusal import Refusal
from halfmask.service.service import Service, Writer
from halfmask.service.storage.sql_store import Transaction

KEPT = 1.0
"""Seconds for which an answer is given again: anyone may ask, and each look writes to the disk."""
PATIENCE = 5.0
"""Seconds that a look may take before the service is not ready."""
_encode = msgspec.json.Encoder().encode


async def alive(_: HttpRequest) -> Response:
    """Answer as long as the process can. It asks nothing of the store."""
    return Response(_encode({"status": "alive"}), media_type="application/json")


class Readiness:
    """Writes a fact through the writer, as any request would, and remembers for a second what came of it."""

    def __init__(self, service: Service, writer: Writer) -> None:
        self.service, self.writer = service, writer
        self._found: tuple[float, Refusal | None] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def endpoint(self, _: HttpRequest) -> Response:
        """Answer 200, or 503 with the code of what is missing."""
        async with self._one_at_a_time:
            if self._found is None or time.monotonic() - self._found[0] > KEPT:
                refusal = await self._look()
                self._found = time.monotonic(), refusal
        refusal = self._found[1]
        if refusal is not None:
            raise Refusal(503, refusal.code, refusal.message, refusal.field, after=refusal.after)
        clock = "settling" if self.service.unsettled() else "steady"
        return Response(_encode({"status": "ready", "clock": clock}), media_type="application/json")

    async def _look(self) -> Refusal | None:
        if self.service.stopping:
            return Refusal(503, "stopping", "the service is stopping")

        def write(tx: Transaction) -> None:
            tx.put_fact("ready", str(self.service.clock()))

        try:
            async with asyncio.timeout(PATIENCE):
                await self.writer.submit(write)
        except TimeoutError:
            return Refusal(503, "busy", f"nothing could be written within {PATIENCE:g} seconds")
        except Refusal as refusal:
            return refusal
        return None
