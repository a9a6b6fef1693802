"""Grafana's files name data sources, fields and metrics that exist, as the service answers them."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from halfmask.service.http.routes import ROUTES
from tests.environments import ROOT
from tests.service.world import World, running, sqlite_url

FOLDER = ROOT / "integrations" / "grafana"
PERIODS, SERVICE = (FOLDER / "dashboards" / f"halfmask-{name}.json" for name in ("periods", "service"))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path)) as world:
        yield world


def dashboard(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def targets(path: Path) -> list[dict[str, Any]]:
    return [target for panel in dashboard(path)["panels"] for target in panel["targets"]]


def sources() -> set[tuple[str, str]]:
    plain = yaml.safe_load((FOLDER / "provisioning" / "datasources" / "halfmask.yaml").read_text())
    return {(each["uid"], each["type"]) for each in plain["datasources"]}


@pytest.mark.parametrize("path", [PERIODS, SERVICE], ids=lambda path: path.stem)
def test_panels_are_apart_and_ask_data_sources_that_are_provisioned(path: Path) -> None:
    found = dashboard(path)
    panels = found["panels"]
    assert found["uid"] == path.stem
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [(x, y) for panel in panels for x, y in covered(panel["gridPos"])]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24
    named = {(of["uid"], of["type"]) for each in (*panels, *targets(path)) for of in (each["datasource"],)}
    assert named <= sources()


def covered(place: dict[str, int]) -> list[tuple[int, int]]:
    across, down = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
    return [(x, y) for x in across for y in down]


def test_no_secret_is_written_down() -> None:
    plain = yaml.safe_load((FOLDER / "provisioning" / "datasources" / "halfmask.yaml").read_text())
    (infinity, _) = plain["datasources"]
    assert infinity["secureJsonData"] == {"bearerToken": "$HALFMASK_TOKEN"}
    assert infinity["jsonData"]["allowedHosts"] == [infinity["url"]]


def unknown_fields(selector: str, columns: list[dict[str, str]], period: dict[str, Any]) -> set[str]:
    """Fields that a query takes from a period, or shows, and that are not there."""
    missing = set()
    for path in re.findall(r"\$p\.([a-z_.]+)", selector):
        value: Any = period
        for name in path.split("."):
            if not isinstance(value, dict) or name not in value:
                missing.add(path)
                break
            value = value[name]
    made = set(re.findall(r'"([a-z_]+)":', selector))
    return missing | {column["selector"] for column in columns} - made


def test_the_fields_of_the_periods_are_those_of_the_services_answer(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    for _ in range(3):
        world.report(world.join(campaign), ("2026-11-16T11:00:00Z", 5, "A"))
    world.clock.set("2026-11-17T00:30:00Z")
    world.close_period(campaign, consumer, "2026-11-16")
    period = world.periods(campaign, consumer)["2026-11-16"]
    paths = {route.path for route in ROUTES if route.method == "GET"}
    for target in targets(PERIODS):
        assert target["url"].replace("${campaign}", "{c}") in paths
        assert unknown_fields(target["root_selector"], target["columns"], period) == set()
        assert unknown_fields(target["root_selector"], [{"selector": "watts"}], period) == {"watts"}  # it would show
        assert unknown_fields(target["root_selector"] + "$p.sum.guess", [], period) == {"sum.guess"}


def test_the_metrics_exist(world: World) -> None:
    world.report(world.join(world.campaign(world.consumer())), ("2026-11-16T11:00:00Z", 5, "A"))
    text = world.send("GET", "/metrics", headers={"Authorization": f"Bearer {world.operator}"}).text
    known = set(re.findall(r"^(halfmask_[a-z_]+)", text, re.MULTILINE))
    asked = {name for target in targets(SERVICE) for name in re.findall(r"halfmask_[a-z_]+", target["expr"])}
    assert len(asked) == 8
    assert asked - known == set()
