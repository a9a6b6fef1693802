"""Grafana's files name data sources, fields and metrics that exist, as the service answers them."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

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


def column(row: Any, path: str) -> Any:
    """What a path like sum.estimate finds in a row; a KeyError if there is nothing."""
    for name in path.split("."):
        row = row[name]
    return row


def test_each_query_finds_its_fields_in_the_services_answer(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    for _ in range(3):
        world.report(world.join(campaign), ("2026-11-16T11:00:00Z", 5, "A"))
    world.clock.set("2026-11-17T00:30:00Z")
    world.close_period(campaign, consumer, "2026-11-16")
    (variable,) = dashboard(PERIODS)["templating"]["list"]
    types: dict[str, type | tuple[type, ...]] = {"timestamp": str, "string": str, "number": (int, float)}
    for target in [*targets(PERIODS), variable["query"]["infinityQuery"]]:
        path = target["url"].replace("${campaign}", campaign)
        answer = world.send("GET", path, headers={"Authorization": f"Bearer {consumer}"}).json()
        rows = answer[target["root_selector"]]  # a name alone: the plug-in reads what has brackets in another way
        row = next(each for each in rows if each.get("sum", True))
        for each in target["columns"]:
            found = column(row, each["selector"])
            assert isinstance(found, types[each["type"]]) or (each["selector"] == "withheld" and found is None)
            if each["type"] == "timestamp":
                assert datetime.fromisoformat(found).tzinfo is not None
        with pytest.raises(KeyError):
            column(row, "watts")


def test_the_metrics_exist(world: World) -> None:
    world.report(world.join(world.campaign(world.consumer())), ("2026-11-16T11:00:00Z", 5, "A"))
    text = world.send("GET", "/metrics", headers={"Authorization": f"Bearer {world.operator}"}).text
    known = set(re.findall(r"^(halfmask_[a-z_]+)", text, re.MULTILINE))
    asked = {name for target in targets(SERVICE) for name in re.findall(r"halfmask_[a-z_]+", target["expr"])}
    assert len(asked) == 8
    assert asked - known == set()
