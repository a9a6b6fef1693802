"""Background tasks that run as long as the application does."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool

from halfmask.service.refusal import Refusal
from halfmask.service.service import Service, Writer

log = logging.getLogger("halfmask.service")
SPARE = 9.0
"""The pause after a turn is usually at least this many times as long, so that the task stays a small load."""
LONGEST = 60.0
"""Longest pause in seconds between two turns while they fail."""
BackgroundTask = Callable[[Service, Writer], AbstractAsyncContextManager[Any]]
"""A background task of the application, made from the service and its writer."""


def repeated(
    make: Callable[[Service, Writer], Callable[[], Awaitable[Any]]],
    every: float,
    failed: str,
    spare: float = SPARE,
    within: Callable[[Service], float] | None = None,
) -> BackgroundTask:
    """Return a background task that takes a turn about every ``every`` seconds.

    ``failed``  message with which a turn that fails is logged; it is tried again later
    ``spare``   the pause after a turn is at least this many times as long as the turn
    ``within``  returns the seconds after which the next turn must come at the latest, also if turns fail
    """

    def task(service: Service, writer: Writer) -> AbstractAsyncContextManager[Any]:
        latest = None if within is None else partial(within, service)
        return running(_for_ever(make(service, writer), every, failed, spare, latest))

    return task


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


async def _for_ever(
    turn: Callable[[], Awaitable[Any]], every: float, failed: str, spare: float, latest: Callable[[], float] | None
) -> None:
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
        wait = pause * random.uniform(0.75, 1.0)
        if latest is not None:
            with suppress(Refusal):  # the store cannot be reached
                wait = min(wait, await run_in_threadpool(latest))
        await asyncio.sleep(wait)
