"""Crowds: the producers, divided among several processes, because devices in one process wait for each other.

In each step all producers of a crowd do one thing, several at a time. What a producer does is independent of its crowd,
because its readings, wishes and random numbers do not depend on the others.
"""

import asyncio
import multiprocessing as mp
import os
import signal
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from operator import methodcaller
from typing import Any

from halfmask.errors import HalfmaskError, RunError
from halfmask.simulation.simulated_producers import Makings, SimulatedProducer
from halfmask.simulation.simulated_service import Connections, no_script
from halfmask_device.setting import DeviceSetting, law

THREADS = 8
FEWEST = 100
"""Fewest producers that are worth a process."""

Ask = Callable[..., Coroutine[Any, Any, Any]]
"""Calls a method of `Crowd`, by its name and arguments, and returns its result."""


class Crowd:
    """Some of the producers, with the connections that they share."""

    def __init__(self, makings: Makings) -> None:
        world = makings.world
        for each in world.menu.settings:
            law(DeviceSetting.parse(str(each.setting)), world.lattice.unit).prepare()  # once for all devices here
        self.connections, self._pool = Connections(), ThreadPoolExecutor(THREADS)
        numbers = range(makings.first, makings.first + len(world.readings))
        self.agents = [SimulatedProducer(makings, n, self.connections) for n in numbers]

    def act(self, name: str, *given: Any) -> None:
        """Call one method of all producers: ``decide``, ``share`` or ``catch_up``."""
        for _ in self._pool.map(methodcaller(name, *given), self.agents):
            pass

    def truth(self, day: int) -> tuple[int, int, int]:
        """Return the sum of the readings reported that day, its split part, and its change by lies, in steps.

        Producers who have left do not count.
        """
        stay = [agent for agent in self.agents if not agent.gone]
        kinds = ([each.truth for each in stay], [each.split for each in stay], [each.moved for each in stay])
        whole, split, moved = (sum(each.get(day, 0) for each in days) for days in kinds)
        return whole, split, moved

    def ballots(self, rewards: Mapping[str, float]) -> list[tuple[str, ...]]:
        """Return for each producer the settings that it prefers to not taking part, the best first."""
        return [tuple(agent.ballot(rewards)) for agent in self.agents]

    def lied(self) -> dict[str, frozenset[str]]:
        """Return the producers who lied, by the service's name for them, and the settings they lied under.

        Withdrawn lies do not count.
        """
        found: dict[str, frozenset[str]] = {}
        for agent in self.agents:
            for (name, _), under in agent.lies.items():
                found[name] = found.get(name, frozenset()) | {under}
        return found

    def close(self) -> None:
        """Close threads and connections."""
        self._pool.shutdown()
        self.connections.close()


@contextmanager
def crowds(makings: Makings, processes: int | None = None) -> Iterator[list[Ask]]:
    """Yield functions that call the crowds; they work until the block ends.

    There are ``processes`` crowds, or by default as many as processors and producers allow.
    """
    most = min(os.cpu_count() or 1, len(makings.world.readings) // FEWEST)
    hands = makings.dealt(max(1, most) if processes is None else processes)
    with ExitStack() as stack:
        yield [_here(hand, stack) if len(hands) == 1 else _elsewhere(hand, stack) for hand in hands]


def _here(makings: Makings, stack: ExitStack) -> Ask:
    crowd, pool = Crowd(makings), stack.enter_context(ThreadPoolExecutor(1))
    stack.callback(crowd.close)
    return _asking(pool, lambda name, *said: getattr(crowd, name)(*said))


def _elsewhere(makings: Makings, stack: ExitStack) -> Ask:
    context = mp.get_context("spawn")
    pool = stack.enter_context(ProcessPoolExecutor(1, context, initializer=_begin, initargs=(makings,)))
    with no_script():
        pool.submit(len, ())  # which starts the process
    return _asking(pool, _act)


def _asking(pool: Executor, act: Callable[..., Any]) -> Ask:
    async def ask(name: str, *said: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(pool, act, name, *said)

    return ask


_crowds: list[Crowd] = []
"""The one crowd of a worker process."""


def _begin(makings: Makings) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the whole simulation, which ends this process
    _crowds.append(Crowd(makings))


def _act(name: str, *said: Any) -> Any:
    """Call a method of this process's crowd.

    An error is raised again as text, because not every error can be pickled.
    """
    try:
        return getattr(_crowds[0], name)(*said)
    except HalfmaskError as error:
        raise RunError(str(error)) from None
