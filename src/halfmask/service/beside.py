"""Tasks that run beside the application as long as it does."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from halfmask.service.service import Service
from halfmask.service.writer import Writer

log = logging.getLogger("halfmask.service")
SPARE = 9
"""A turn is followed by a pause that is so many times as long: it stays a small part of the work."""
LONGEST = 60.0
"""Seconds between two turns while they fail."""
Beside = Callable[[Service, Writer], AbstractAsyncContextManager[Any]]
"""What runs beside the application: it is given the service and its writer."""


def repeated(make: Callable[[Service, Writer], Callable[[], Awaitable[Any]]], every: float, failed: str) -> Beside:
    """A task that takes a turn every so many seconds; one that fails is told as ``failed``, and taken again later."""

    return lambda service, writer: running(_for_ever(make(service, writer), every, failed))


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """A task that is ended with what it stands beside."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _for_ever(turn: Callable[[], Awaitable[Any]], every: float, failed: str) -> None:
    pause = every
    while True:
        began = time.monotonic()
        try:
            await turn()
            pause = max(every, SPARE * (time.monotonic() - began))
        except Exception as error:  # whatever came from elsewhere, or a store that is away: the next turn tries again
            pause = min(pause * 2, LONGEST)
            said = getattr(error, "said", getattr(error, "code", ""))
            log.warning(failed, extra={"kind": type(error).__name__, "code": said}, exc_info=error)
        await asyncio.sleep(pause * random.uniform(0.75, 1.0))
