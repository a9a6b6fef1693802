"""A database with open periods is brought up to date by a later version, and sharing goes on."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from halfmask.service.serve import initialise
from halfmask.service.storage import tables
from halfmask.service.storage.sql_store import open_store, prepare_database
from halfmask.service.storage.tables import metadata
from tests.refusals import refused
from tests.service.earlier_version import back_to_0_2
from tests.service.world import Clock, World, fresh

DAY = "2026-11-16"
LATER = '''"""A table of a later version."""

import sqlalchemy as sa
from alembic import op

revision = "9999"
down_revision = "{before}"


def upgrade() -> None:
    op.create_table("later", sa.Column("id", sa.Integer, primary_key=True))
    op.add_column("producers", sa.Column("later", sa.Integer, nullable=True))
'''


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


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One more migration, of a later version."""
    folder = tmp_path / "migrations"
    shutil.copytree(str(tables.MIGRATIONS), folder)
    text = LATER.format(before=tables.newest_version())
    (folder / "versions" / "9999_later.py").write_text(text, encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(tables, "MIGRATIONS", folder)
        yield


def send(world: World, producers: list[str], hour: int) -> list[str]:
    """The producers report of an hour, each a power of two; return the status of each report."""
    answers = [world.report(each, (f"{DAY}T{hour:02}:00:00Z", 1 << place, "N")) for place, each in enumerate(producers)]
    return [results[0]["status"] for results in answers]


def test_sharing_goes_on_after_an_upgrade(database: str, request: pytest.FixtureRequest) -> None:
    operator = fresh(database)
    with opened(database, operator) as world:
        consumer = world.consumer()
        campaign = world.campaign(consumer, live=True, least_producers=4)
        members = [world.join(campaign) for _ in range(12)]
        send(world, members[:8], 9)
        before = world.periods(campaign, consumer)[DAY]
        assert (before["producers"], before["reports"]) == (8, 8)
    request.getfixturevalue("later")
    with refused("option.version", "init", "db"):
        open_store(database)
    assert initialise(database) is None  # the operator's token is still the one that it was
    with opened(database, operator) as world:
        assert tables.version_of(world.store.engine) == "9999"
        assert world.periods(campaign, consumer)[DAY] == before
        assert set(send(world, members[:8], 9)) == {"known"}
        assert set(send(world, members, 11)) == {"accepted"}
        assert world.periods(campaign, consumer)[DAY]["reports"] == 20
        world.clock.set("2026-11-17T01:00:00Z")
        closed = world.periods(campaign, consumer)[DAY]
        assert (closed["state"], round(closed["sum"]["estimate"] * 1000)) == ("closed", 255 + 4095)


def test_reports_and_open_periods_of_0_2_come_along(database: str) -> None:
    """Reports are known, count once and close to the same sums; those that are kept can still be read."""
    operator = fresh(database)
    with opened(database, operator) as world:
        consumer = world.consumer()
        campaign, kept = (world.campaign(consumer, keep_reports=keep) for keep in ("until_closed", "always"))
        members, others = ([world.join(name) for _ in range(5)] for name in (campaign, kept))
        for hour in (9, 1):
            send(world, members, hour)
            send(world, others, hour)
        world.report(members[0], ("2026-11-15T10:00:00Z", 7, "N"))
        world.report(members[1], (f"{DAY}T00:30:00Z", 7, "A"))
        world.clock.set("2026-11-17T01:00:00Z")
        before = world.close_period(kept, consumer, DAY)
        back_to_0_2(world.store.engine)
    assert initialise(database) is None
    with opened(database, operator) as world:
        world.clock.set("2026-11-17T00:30:00Z")
        assert world.periods(kept, consumer)[DAY] == before
        assert set(send(world, others, 9)) == {"known"}
        assert set(send(world, members, 9)) == {"known"}
        assert set(send(world, members, 11)) == {"accepted"}
        assert world.ok("DELETE", "/v1/me", members[4])["withdrawn"] == 3
        world.clock.set("2026-11-17T02:00:00Z")
        closed = world.periods(campaign, consumer)[DAY]
        assert round(closed["sum"]["estimate"] * 1000) == 3 * 15 + 7
        assert closed["settings"] == {"A": {"reports": 1, "producers": 1}, "N": {"reports": 12, "producers": 3}}
        with world.store.reading() as tx:
            found = world.service.campaign(tx, kept)
            assert found is not None
            assert len(list(tx.reports(found.key, 0, 2**62))) == 10


def test_the_tables_of_a_new_database_are_those_that_the_code_declares(database: str) -> None:
    store, before = prepare_database(database)
    assert before is None
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        scripts = ScriptDirectory.from_config(tables.configuration(connection))
        assert scripts.get_current_head() == context.get_current_revision() == tables.newest_version()
    store.close()
