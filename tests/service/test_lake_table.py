"""The lake's cells as a table, and the SQL that computes the service's estimates from it."""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import halfmask
from halfmask.service.campaign import lattice_noise
from halfmask.service.estimates import NORMAL, total_noise
from halfmask.service.lake_writer import fill
from tests.environments import ROOT
from tests.refusals import refused
from tests.service.test_lake import own_cells, shared
from tests.service.world import World

DAY = "2026-11-16"
MACRO = (ROOT / "integrations" / "duckdb" / "estimates.sql").read_text()


def lake(world: World, folder: Path) -> tuple[str, Path]:
    campaign = shared(world)
    fill(world.service, folder / "lake", "one")
    offer = folder / "offer.json"
    offer.write_text(json.dumps(world.ok("GET", f"/v1/campaigns/{campaign}")))
    return campaign, offer


@pytest.mark.parametrize("name", ["cells.parquet", "cells.csv"])
def test_the_tables_estimates_are_the_services(world: World, tmp_path: Path, name: str) -> None:
    campaign, offer = lake(world, tmp_path)
    halfmask.aggregate(tmp_path / "lake", offer=(offer,), output=tmp_path / name)
    with duckdb.connect() as sql:
        sql.execute(MACRO)
        sql.execute(f"CREATE TABLE cells AS FROM '{tmp_path / name}'")
        cells = sql.execute("SELECT setting, reports, producers, sum_steps, squares FROM cells ORDER BY 1").fetchall()
        found = sql.execute("FROM halfmask_estimates('cells')").fetchone()
        sql.execute("UPDATE cells SET least_producers = 5")
        withheld = sql.execute("FROM halfmask_estimates('cells')").fetchone()
    assert cells == [(setting, *cell) for setting, cell in sorted(own_cells(world, campaign)[campaign, DAY].items())]
    assert found is not None
    held = own_cells(world, campaign)[campaign, DAY].values()
    reports = sum(cell.reports for cell in held)
    assert (found[0], str(found[1]), *found[2:5]) == (campaign, DAY, "kWh", reports, 4)
    own = next(iter(own_sums(world, campaign)))
    assert found[5:7] == pytest.approx((own["estimate"], own["standard_error"]))
    assert found[7:] == pytest.approx((own["low"], own["high"]), abs=0.05 * own["standard_error"])
    assert withheld is not None
    assert withheld[3:] == (None,) * 6


def own_sums(world: World, campaign: str) -> list[dict[str, float]]:
    """The sums that the service itself published."""
    with world.store.reading() as tx:
        row = tx.campaign(campaign)
        assert row is not None
        entries = [each.entry for each in tx.closed(row.key, 0, 2**62).values()]
    return [plain["sum"] for plain in map(plain_of, entries) if plain.get("sum")]


def plain_of(entry: object) -> dict[str, dict[str, float]]:
    return json.loads(entry) if isinstance(entry, str) else dict(entry or {})  # type: ignore[call-overload]


@pytest.mark.parametrize("setting", ["laplace:0.5", "gaussian:0.5", "uniform:1"])
def test_the_normal_interval_is_as_wide_as_the_exact_one(setting: str) -> None:
    """From 20 reports on within 2 %, and not with one report: then it is too narrow or too wide."""
    noise = lattice_noise(setting, Fraction("0.001"))
    for count in (20, 100, 1000):
        variance, reach = total_noise(Counter({noise: count}))
        assert reach == pytest.approx(NORMAL * variance**0.5, rel=0.02)
    if setting != "gaussian:0.5":
        variance, reach = total_noise(Counter({noise: 1}))
        assert reach != pytest.approx(NORMAL * variance**0.5, rel=0.02)


def test_a_table_without_an_offer_has_the_cells_alone(world: World, tmp_path: Path) -> None:
    campaign, _ = lake(world, tmp_path)
    halfmask.aggregate(tmp_path / "lake", output=tmp_path / "cells.parquet")
    with duckdb.connect() as sql:
        counted = sql.execute(f"SELECT sum(reports), count(step) FROM '{tmp_path / 'cells.parquet'}'").fetchone()
    assert counted == (sum(cell.reports for cell in own_cells(world, campaign)[campaign, DAY].values()), 0)


def test_what_is_not_an_offer_is_refused(world: World, tmp_path: Path) -> None:
    lake(world, tmp_path)
    (tmp_path / "wrong.json").write_text("{}")
    with refused("file.offer"):
        halfmask.aggregate(tmp_path / "lake", offer=(tmp_path / "wrong.json",), output=tmp_path / "cells.csv")
    with refused("option.output"):
        halfmask.aggregate(tmp_path / "lake", output=tmp_path / "cells.xlsx")
    with refused("option.offer"):
        halfmask.aggregate(tmp_path / "lake", offer=(tmp_path / "offer.json",))
