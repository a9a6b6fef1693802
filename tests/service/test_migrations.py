"""A database with open periods is brought up to date, and sharing goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from alembic import command
from alembic.config import Config

from halfmask.errors import OptionError
from halfmask.service.serve import initialise
from halfmask.service.storage.engine import open_engine, read_url
from halfmask.service.storage.open import MIGRATIONS, open_store
from tests.service.world import Clock, World, fresh

DAY = "2026-11-16"


@contextmanager
def opened(database: str, operator: str) -> Iterator[World]:
    """A service on a database that is there already."""
    store = open_store(database, least_room=0)
    world = World(store, Clock(), operator)
    try:
        yield world
    finally:
        world.close()
        store.close()


def back(database: str, version: str) -> None:
    """The tables as that version had them, with their rows."""
    engine = open_engine(read_url(database))
    with engine.execution_options(writes=True).begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.downgrade(config, version)
    engine.dispose()


def told(world: World, producers: list[str], hour: int) -> list[str]:
    """The producers report of an hour, each a power of two; what was said of each."""
    said = [world.report(each, (f"{DAY}T{hour:02}:00:00Z", 1 << place, "N")) for place, each in enumerate(producers)]
    return [results[0]["status"] for results in said]


def test_looks_at_open_periods_go_on_after_an_upgrade(database: str) -> None:
    """Of one campaign every look is known from the old tables. In the other some producers changed in the first look
    and in the third, and whether in the second was not kept: it shows nothing more before it closes."""
    operator = fresh(database)
    with opened(database, operator) as world:
        consumer = world.consumer()
        whole, gap = (world.campaign(consumer, live=True, least_producers=4) for _ in range(2))
        members = {name: [world.join(name) for _ in range(12)] for name in (whole, gap)}
        for own in members.values():
            told(world, own[:8], 9)
        told(world, members[gap][:4], 10)
        before = {name: world.periods(name, consumer)[DAY] for name in members}
        assert [(each["producers"], each["reports"]) for each in before.values()] == [(8, 8), (8, 12)]
    back(database, "0002")
    with pytest.raises(OptionError, match="has tables of version 0002"):
        open_store(database)
    assert initialise(database) is None  # the operator's token is still the one that it was
    with opened(database, operator) as world:
        assert {name: world.periods(name, consumer)[DAY] for name in members} == before
        for own in members.values():
            assert set(told(world, own[:8], 9)) == {"known"}
            assert set(told(world, own, 11)) == {"accepted"}
        assert world.periods(whole, consumer)[DAY]["reports"] == 20
        assert world.periods(gap, consumer)[DAY] == before[gap]
        world.clock.set("2026-11-17T01:00:00Z")
        closed = {name: world.periods(name, consumer)[DAY] for name in members}
        assert {each["state"] for each in closed.values()} == {"closed"}
        sums = [round(each["sum"]["estimate"] * 1000) for each in closed.values()]
        assert sums == [255 + 4095, 255 + 15 + 4095]
    back(database, "0002")  # and once more, with closed periods alone
    assert initialise(database) is None
    with opened(database, operator) as world:
        assert {name: world.periods(name, consumer)[DAY] for name in members} == closed
