"""A clock that is set, either way, closes nothing until it has run steadily again; reports are kept by the device."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from halfmask.service.steady_clock import SteadyClock
from halfmask.service.storage.sql_store import open_store
from halfmask_device.instants import DAY, HOUR, MINUTE, SECOND, Instant
from tests.service.world import NOON, World, fresh, instant, running, sqlite_url

REPORT = ("2026-11-16T11:00:00Z", 1000, "A")


class Clocks:
    """The wall clock and the monotonic clock of a machine."""

    def __init__(self) -> None:
        self.wall, self.ticks = instant(NOON), 10**9

    def run(self, length: Instant, every: Instant = 5 * SECOND, watched: Any = lambda: None) -> None:
        """Let both clocks run, and look at them every so often."""
        for _ in range(length // every):
            self.wall, self.ticks = self.wall + every, self.ticks + every
            watched()

    def steady(self) -> SteadyClock:
        return SteadyClock(5 * MINUTE, lambda: self.wall, lambda: self.ticks)


def test_a_clock_is_steady_after_a_while_and_after_every_step_again() -> None:
    clocks = Clocks()
    clock = clocks.steady()
    clocks.run(7 * MINUTE, watched=clock)
    assert clock.steady_for() == 7 * MINUTE
    for step in (5 * DAY, -5 * DAY, MINUTE + 1, -MINUTE - 1):
        clocks.wall += step
        assert clock.steady_for() == 0
        clocks.run(6 * MINUTE, watched=clock)
        assert clock.steady_for() == 6 * MINUTE
    assert clock.steps == 4


def test_a_time_server_may_correct_a_clock_and_nobody_moves_it_in_small_steps() -> None:
    clocks = Clocks()
    clock = clocks.steady()
    for _ in range(100):  # a second in two minutes: twice as fast as NTP ever does
        clocks.run(2 * MINUTE, watched=clock)
        clocks.wall += SECOND
    assert (clock.steps, clock.steady_for()) == (0, 200 * MINUTE)
    for _ in range(3):
        clocks.wall += 40 * SECOND
        clock()
    assert clock.steps == 1


def test_a_clock_that_differs_from_the_database_is_not_steady() -> None:
    clocks = Clocks()
    clock = clocks.steady()
    clocks.run(6 * MINUTE, watched=lambda: clock.compare(clocks.wall - MINUTE))
    assert clock.steady_for() == 6 * MINUTE
    clock.compare(clocks.wall - MINUTE - 1)
    assert clock.steady_for() == 0
    clocks.run(6 * MINUTE, watched=lambda: clock.compare(clocks.wall + DAY))
    assert clock.steady_for() == 0
    clock.compare(clocks.wall)
    clocks.run(6 * MINUTE)
    assert clock.steady_for() == 6 * MINUTE


def test_databases_have_a_clock_or_say_that_they_have_none(any_world: World) -> None:
    from halfmask.service.request import system_clock

    with any_world.store.reading() as tx:
        here, there = system_clock(), tx.clock()
    assert (there is None) == (any_world.store.engine.dialect.name == "sqlite")
    assert there is None or abs(there - here) < MINUTE


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def watched(clocks: Clocks, tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path), clock=clocks.steady()) as world:
        yield world


def joined(world: World) -> tuple[str, str, str]:
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1)
    member = world.join(campaign)
    assert world.report(member, REPORT)[0]["status"] == "accepted"
    return campaign, consumer, member


def states(world: World, campaign: str, consumer: str) -> dict[str, str]:
    return {key: each["state"] for key, each in world.periods(campaign, consumer).items()}


def test_a_clock_that_was_days_ahead_for_seconds_closes_nothing(clocks: Clocks, watched: World) -> None:
    campaign, consumer, member = joined(watched)
    clocks.run(10 * MINUTE, watched=watched.service.clock)
    assert states(watched, campaign, consumer) == {"2026-11-15": "closed", "2026-11-16": "open"}
    clocks.wall += 5 * DAY
    clocks.run(8 * SECOND, SECOND)
    assert states(watched, campaign, consumer)["2026-11-16"] == "open"
    error = watched.refused(503, "POST", f"/v1/campaigns/{campaign}/periods/2026-11-17/close", consumer)
    assert error["code"] == "clock"
    assert watched.send("GET", "/ready").json() == {"status": "ready", "clock": "settling"}
    clocks.wall -= 5 * DAY
    watched.service.due(clocks.wall)
    metrics = watched.send("GET", "/metrics", watched.operator).text.splitlines()
    assert "halfmask_clock_steps_total 2" in metrics
    assert "halfmask_clocks_settling 1" in metrics
    clocks.run(10 * MINUTE, watched=watched.service.clock)
    assert watched.send("GET", "/ready").json()["clock"] == "steady"
    assert states(watched, campaign, consumer)["2026-11-16"] == "open"
    assert watched.report(member, REPORT)[0]["status"] == "known"
    assert watched.report(member, ("2026-11-16T11:30:00Z", 5, "A"))[0]["status"] == "accepted"


def test_a_clock_that_goes_back_reopens_nothing(clocks: Clocks, watched: World) -> None:
    campaign, consumer, member = joined(watched)
    clocks.run(14 * HOUR, MINUTE, watched.service.clock)
    assert states(watched, campaign, consumer)["2026-11-16"] == "closed"
    clocks.wall -= 2 * HOUR
    assert watched.report(member, ("2026-11-16T11:30:00Z", 5, "A"))[0] == {"status": "refused", "code": "closed"}
    assert states(watched, campaign, consumer)["2026-11-16"] == "closed"


def test_after_a_restart_days_later_what_is_due_closes_once_the_clock_has_settled(
    clocks: Clocks, tmp_path: Path
) -> None:
    url = sqlite_url(tmp_path)
    operator, store = fresh(url), open_store(url, least_room=0)
    world = World(store, clocks.steady(), operator)
    campaign, consumer, _ = joined(world)
    world.close()
    clocks.wall, clocks.ticks = clocks.wall + 3 * DAY, 5  # another boot
    world = World(store, clocks.steady(), operator)
    assert states(world, campaign, consumer)["2026-11-16"] == "open"
    clocks.run(5 * MINUTE - 5 * SECOND, watched=world.service.clock)
    assert states(world, campaign, consumer)["2026-11-16"] == "open"
    clocks.run(5 * SECOND)
    found = states(world, campaign, consumer)
    assert [key for key, state in found.items() if state == "closed"] == [f"2026-11-{day}" for day in range(15, 19)]
    world.close()
    store.close()
