"""Background tasks that run as long as the application does."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

from halfmask.service.service import Service, Writer

log = logging.getLogger("halfmask.service")
SPARE = 9
"""The pause after a turn is at least this many times as long as the turn, so that the task stays a small load."""
LONGEST = 60.0
"""Longest pause in seconds between two turns while they fail."""
BackgroundTask = Callable[[Service, Writer], AbstractAsyncContextManager[Any]]
"""A background task of the application, made from the service and its writer."""


def repeated(
    make: Callable[[Service, Writer], Callable[[], Awaitable[Any]]], every: float, failed: str, spare: float = SPARE
) -> BackgroundTask:
    """Return a background task that takes a turn about every ``every`` seconds.

    ``failed``  the message with which a turn that fails is logged, and tried again later
    ``spare``   the least pause after a turn, in lengths of the turn
    """

    return lambda service, writer: running(_for_ever(make(service, writer), every, failed, spare))


@asynccontextmanager
async def running(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run ``work`` as a task until the block ends, then cancel it."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _for_ever(turn: Callable[[], Awaitable[Any]], every: float, failed: str, spare: float) -> None:
    pause = every
    while True:
        began = time.monotonic()
        try:
            await turn()
            pause = max(every, spare * (time.monotonic() - began))
        except Exception as error:  # a bad answer, or a store that cannot be reached: the next turn tries again
            pause = min(pause * 2, LONGEST)
            said = getattr(error, "said", getattr(error, "code", ""))
            log.warning(failed, extra={"kind": type(error).__name__, "code": said}, exc_info=error)
        await asyncio.sleep(pause * random.uniform(0.75, 1.0))
