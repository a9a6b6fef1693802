"""The lake holds what was accepted, once; DuckDB and Spark make the service's own cells of it, to the step."""

from pathlib import Path
from typing import Any

import pytest

import halfmask
from halfmask.service.cells import read
from halfmask.service.lake import LakeCells, nested, read_nested
from halfmask.service.lake_writer import fill
from halfmask.service.service import Service
from tests.refusals import refused
from tests.service.world import CAMPAIGN, World, running, sqlite_url

TIMES = [f"2026-11-16T{hour:02}:00:00Z" for hour in range(12)]


def shared(world: World, keep: str = "always") -> str:
    """A campaign of five producers over a day, one of whom changes its setting and one of whom leaves; its id."""
    world.clock.set("2026-11-16T12:00:00Z")
    consumer = world.consumer()
    campaign = str(world.ok("POST", "/v1/campaigns", consumer, CAMPAIGN | {"keep_reports": keep})["campaign"])
    for number in range(5):
        token = world.ok("POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "A"})["token"]
        reports = [
            {"time": time, "steps": 1000 * number - 700 * hour, "setting": "B" if number == 1 and hour > 5 else "A"}
            for hour, time in enumerate(TIMES)
        ]
        for _ in range(2):  # a repeated request counts once
            world.ok("POST", "/v1/reports", token, {"reports": reports})
        if number == 4:
            world.ok("DELETE", "/v1/me", token)
    world.clock.set("2026-11-17T00:30:00Z")
    world.ok("POST", f"/v1/campaigns/{campaign}/periods/2026-11-16/close", consumer)
    return campaign


def own_cells(world: World, campaign: str) -> LakeCells:
    """The cells that the service itself keeps of closed periods."""
    with world.store.reading() as tx:
        row: Any = tx.campaign(campaign)
        return {(campaign, key): read(each.cells) for key, each in tx.closed(row.key, 0, 2**62).items() if each.cells}


def test_duckdb_makes_the_services_cells_from_its_lake(world: World, tmp_path: Path) -> None:
    campaign = shared(world)
    assert fill(world.service, tmp_path / "lake", "one") == 1  # the day that was closed
    assert fill(world.service, tmp_path / "lake", "one") == 0  # a file is written once
    found = halfmask.aggregate(tmp_path / "lake", output=tmp_path / "cells.json")
    mine = own_cells(world, campaign)
    assert found == mine
    assert sum(cell.producers for cell in found[campaign, "2026-11-16"].values()) == 4
    assert read_nested(nested(found)) == found
    changed = tmp_path / "lake" / campaign / "2026-11-16" / "one.parquet"
    (changed.parent / "two.parquet").write_bytes(changed.read_bytes())  # the same reports once more, planted
    assert halfmask.aggregate(tmp_path / "lake") != mine


def test_two_services_never_write_the_same_file(tmp_path: Path) -> None:
    """Their databases have the same address, each on its own machine."""
    names = []
    for machine in ("one", "two"):
        (tmp_path / machine).mkdir()
        with running(sqlite_url(tmp_path / machine)) as world:
            names.append(world.service.name)
            assert Service(world.store).name == names[-1]  # the same after a new start
    assert names[0] != names[1]


def test_reports_that_are_promised_to_be_deleted_never_reach_the_lake(world: World, tmp_path: Path) -> None:
    shared(world, keep="until_closed")
    assert fill(world.service, tmp_path / "lake", "one") == 0
    with refused("source.empty"):
        halfmask.aggregate(tmp_path / "lake")


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_makes_the_same_cells(world: World, tmp_path: Path) -> None:
    campaign = shared(world)
    fill(world.service, tmp_path / "lake", "one")
    assert halfmask.aggregate(tmp_path / "lake", engine="spark") == own_cells(world, campaign)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.slow
def test_a_spark_stream_takes_in_each_file_once(world: World, tmp_path: Path) -> None:
    """Run again after it ended, and after its last batch was repeated as after a kill: the total stays."""
    first = shared(world)
    fill(world.service, tmp_path / "lake", "one")
    options: dict[str, Any] = {"engine": "spark", "stream": True, "once": True, "state": tmp_path / "state"}
    assert halfmask.aggregate(tmp_path / "lake", **options) == own_cells(world, first)
    second = shared(world)
    fill(world.service, tmp_path / "lake", "one")
    both = own_cells(world, first) | own_cells(world, second)
    assert halfmask.aggregate(tmp_path / "lake", **options) == both
    done = sorted((tmp_path / "state" / "checkpoint" / "commits").glob("[0-9]*"))
    done[-1].unlink()  # as if killed after the batch was written and before that was noted
    for checksum in (tmp_path / "state" / "checkpoint" / "commits").glob(f".{done[-1].name}.crc"):
        checksum.unlink()
    assert halfmask.aggregate(tmp_path / "lake", **options) == both
