"""Totals by group: which groups are withheld, and attacks that try to recover one of them."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask
from halfmask.service.groups import withheld_groups
from halfmask.service.lake_writer import fill
from halfmask_device.http_client import ServiceClient
from halfmask_device.protocol import CampaignTerms
from halfmask_device.sharing import Sharer
from tests.refusals import refused
from tests.service.test_gateway import gateway, link, node_token, services
from tests.service.test_peers import Net
from tests.service.world import World

DAY, NEXT = "2026-11-16", "2026-11-17"
GROUPS = ["north", "south", "east/west", "Zoë"]


def named(world: World, sizes: dict[str, int], **more: Any) -> tuple[str, str, list[tuple[str, str]]]:
    """A campaign with groups, its consumer, and each producer's group and token."""
    consumer = world.consumer()
    campaign = world.campaign(consumer, groups=list(sizes), **more)
    members = [(group, world.join(campaign, "N", group=group)) for group, size in sizes.items() for _ in range(size)]
    return campaign, consumer, members


def send(world: World, members: list[tuple[str, str]], day: str = DAY, first: int = 0) -> None:
    """Each producer reports a power of two, so that a sum shows whose reports it holds."""
    for place, (_, token) in enumerate(members):
        (result,) = world.report(token, (f"{day}T09:00:00Z", 1 << (first + place), "N"))
        assert result["status"] == "accepted"


def steps(entry: dict[str, Any] | None) -> int | None:
    return None if entry is None or entry["sum"] is None else round(entry["sum"]["estimate"] * 1000)


def looks(period: dict[str, Any], size: int) -> list[list[int]]:
    """What a closed period shows, as rows over producers: 1 if a sum holds the producer's report."""
    shown = [period, *(period["groups"] or {}).values()]
    return [[total >> bit & 1 for bit in range(size)] for each in shown if (total := steps(each)) is not None]


def smallest_difference(rows: list[list[int]]) -> int:
    """The fewest producers that remain if sums are added and subtracted with any weights from -2 to 2; 0 is not one.

    The shown groups do not overlap, so weights of larger size leave the same producers.
    """
    matrix = np.array(rows)
    left = (
        int(np.count_nonzero(np.array(weights) @ matrix))
        for weights in itertools.product(range(-2, 3), repeat=len(rows))
    )
    return min(each for each in left if each)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=8), st.integers(1, 20))
def test_withheld_groups_hide_each_other(numbers: list[int], least: int) -> None:
    producers = {f"g{place}": number for place, number in enumerate(numbers)}
    withheld = withheld_groups(producers, least)
    assert withheld >= {group for group, number in producers.items() if number < least}
    hidden = [producers[group] for group in withheld if producers[group]]
    if sum(numbers) >= least and withheld != set(producers):
        assert not hidden or (sum(hidden) >= least and len(hidden) >= 2)
    extra = [group for group in withheld if producers[group] >= least]
    for group in extra:  # none too many: without the largest of them the rest would show fewer
        if producers[group] == max(producers[each] for each in extra):
            rest = [producers[each] for each in withheld - {group} if producers[each]]
            assert rest
            assert sum(rest) < least or len(rest) < 2


@pytest.mark.parametrize(
    ("sizes", "withheld"),
    [
        ({"north": 4, "south": 5, "east/west": 3}, set()),
        ({"north": 2, "south": 5, "east/west": 4}, {"north", "east/west"}),
        ({"north": 1, "south": 2, "east/west": 4}, {"north", "south"}),
        ({"north": 0, "south": 4, "east/west": 4}, {"north"}),
        ({"north": 1, "south": 4}, {"north", "south"}),
    ],
)
def test_no_difference_over_groups_shows_fewer_than_the_least_cohort(
    world: World, sizes: dict[str, int], withheld: set[str]
) -> None:
    campaign, consumer, members = named(world, sizes)
    send(world, members)
    assert world.periods(campaign, consumer)[DAY]["groups"] is None
    world.clock.set("2026-11-17T02:00:00Z")
    period = world.periods(campaign, consumer)[DAY]
    assert {group for group, entry in period["groups"].items() if entry["withheld"]} == withheld
    assert steps(period) == 2 ** len(members) - 1
    assert smallest_difference(looks(period, len(members))) >= 3
    for group, entry in period["groups"].items():
        own = sum(1 << place for place, (each, _) in enumerate(members) if each == group)
        nothing = (None, None, None, None)
        counts = (entry["reports"], entry["producers"], entry["settings"], entry["variance"])
        assert (counts == nothing and steps(entry) is None) if group in withheld else steps(entry) == own


def test_the_attack_succeeds_if_only_small_groups_are_withheld() -> None:
    """Without complementary suppression the difference shows the small group: the attack would notice."""
    members = [("north", 0)] * 2 + [("south", 0)] * 5
    rows = [[1] * 7, [int(group == "south") for group, _ in members]]
    assert smallest_difference(rows) == 2


def test_a_period_of_too_few_shows_no_group(world: World) -> None:
    campaign, consumer, members = named(world, {"north": 1, "south": 1})
    send(world, members)
    world.clock.set("2026-11-17T02:00:00Z")
    period = world.periods(campaign, consumer)[DAY]
    assert (period["withheld"], period["groups"]) == ("fewer than 3 producers", None)


def test_no_difference_over_successive_periods_shows_a_withheld_group(world: World) -> None:
    """A group is withheld on one day and shown on the next, with one more producer.

    Sums of both days are combined with all weights. Each producer's reports of each day are counted apart.
    """
    campaign, consumer, members = named(world, {"north": 2, "south": 4, "east/west": 4})
    send(world, members)
    more = [*members, ("north", world.join(campaign, "N", group="north"))]
    world.clock.set("2026-11-17T12:00:00Z")
    send(world, more, NEXT)
    world.clock.set("2026-11-18T02:00:00Z")
    shown = world.periods(campaign, consumer)
    one, two = (looks(shown[day], len(more)) for day in (DAY, NEXT))
    assert (len(one), len(two)) == (2, 4)
    none = [0] * len(more)
    both = [row + none for row in one] + [none + row for row in two]
    assert smallest_difference(both) >= 3


def test_values_of_settings_are_not_combined_with_groups(world: World) -> None:
    """One producer of a setting in one group would follow from the setting's and the other group's values."""
    consumer = world.consumer()
    campaign = world.campaign(consumer, groups=["north", "south"])
    for place in range(8):
        group, setting = ("north", "N") if place < 4 else ("south", "N" if place == 4 else "A")
        token = world.join(campaign, setting, group=group)
        world.report(token, (f"{DAY}T09:00:00Z", 1 << place, setting))
    world.clock.set("2026-11-17T02:00:00Z")
    (period,) = (each for each in world.ok(
        "GET", f"/v1/campaigns/{campaign}/periods", consumer, params={"weighted": "true", "from": DAY, "to": DAY}
    )["periods"])  # fmt: skip
    assert period["weighted_mean"]["estimate"] is None
    n, variance = 8, period["variance"]
    spread = variance["standard_error"]
    assert spread > 0
    assert period["settings"] == {"A": {"reports": 3, "producers": 3}, "N": {"reports": 5, "producers": 5}}
    assert {group: entry["producers"] for group, entry in period["groups"].items()} == {"north": 4, "south": 4}
    assert n == period["producers"]


def test_who_names_no_group_or_another_one_does_not_join(world: World) -> None:
    consumer = world.consumer()
    path = f"/v1/campaigns/{world.campaign(consumer, groups=GROUPS)}/producers"
    for body in ({}, {"group": "west"}, {"group": None}, {"group": ["north"]}):
        assert world.refused(422, "POST", path, None, {"setting": "A", **body})["field"] == "group"
    plain = f"/v1/campaigns/{world.campaign(consumer)}/producers"
    assert world.refused(422, "POST", plain, None, {"setting": "A", "group": "north"})["field"] == "group"
    token = world.ok("POST", path, None, {"setting": "A", "group": "Zoë"})["token"]
    assert world.ok("GET", "/v1/me", token)["group"] == "Zoë"


def test_a_device_joins_in_a_group_and_pins_what_is_published(world: World, tmp_path: Path) -> None:
    consumer = world.consumer()
    world.campaign(consumer, groups=GROUPS, least_producers=20)
    device = Sharer(tmp_path, lambda address: ServiceClient(address, link(world)))
    for wrong in (None, "west"):
        with refused("option.group"):
            device.join("http://service", setting="A", group=wrong)
    member = device.join("http://service", setting="A", group="east/west")
    assert world.ok("GET", "/v1/me", member.token)["group"] == "east/west"
    assert member.terms.terms()["groups"] == GROUPS
    other = CampaignTerms.read(dict(member.offer) | {"groups": GROUPS[:2]})
    assert other.terms_hash() != member.terms.terms_hash()
    with refused("option.group"):
        plain = world.campaign(consumer, least_producers=20)
        Sharer(tmp_path / "other", lambda address: ServiceClient(address, link(world))).join(
            "http://service", plain, "A", group="north"
        )


@pytest.mark.parametrize(
    "changed",
    [
        {"groups": ["a", "a"]}, {"groups": [" a"]}, {"groups": [""]}, {"groups": "ab"}, {"groups": [1]},
        {"groups": ["x" * 65]}, {"groups": ["a"], "live": True}, {"groups": [str(each) for each in range(1001)]},
    ],
)  # fmt: skip
def test_groups_are_distinct_names_and_never_live(world: World, changed: dict[str, Any]) -> None:
    """Looks at an open period are of all groups: with those of the closed period they could show a withheld one."""
    from tests.service.world import CAMPAIGN

    assert world.refused(422, "POST", "/v1/campaigns", world.consumer(), CAMPAIGN | changed)["field"] == "groups"


def test_who_leaves_or_reports_out_of_order_is_counted_once_in_its_group(any_world: World) -> None:
    world = any_world
    campaign, consumer, members = named(world, {"north": 4, "south": 4})
    send(world, members)
    for _, token in members:
        world.report(token, (f"{DAY}T08:00:00Z", 0, "A"), (f"{DAY}T10:00:00Z", 0, "B"))
    world.ok("DELETE", "/v1/me", members[0][1])
    world.clock.set("2026-11-17T02:00:00Z")
    period = world.periods(campaign, consumer)[DAY]
    north = period["groups"]["north"]
    assert (north["producers"], north["reports"], steps(north)) == (3, 9, 0b1110)
    assert north["settings"]["A"] == {"reports": 3, "producers": 3}
    assert north["settings"]["N"] == {"reports": 3, "producers": 0}
    assert (period["producers"], period["reports"]) == (7, 21)


def test_gateways_send_cells_of_groups(tmp_path: Path) -> None:
    """What the gateway's own consumer could subtract is not shown anywhere: only the whole is, above."""
    with services(tmp_path, "above", "gateway") as (above, below):
        campaign, consumer, members = named(above, {"north": 2, "south": 3})
        send(above, members)
        sender = gateway(below, link(above), node_token(above, campaign))
        below.wait(sender.round())
        more = [(group, below.join(campaign, "N", group=group)) for group in ("north", "south", "south")]
        send(below, more, first=5)
        below.wait(sender.round())
        assert above.periods(campaign, consumer)[DAY]["groups"] is None
        above.clock.set("2026-11-17T02:00:00Z")
        period = above.periods(campaign, consumer)[DAY]
    assert {group: steps(entry) for group, entry in period["groups"].items()} == {
        "north": 0b100011,
        "south": 0b11011100,
    }
    assert smallest_difference(looks(period, 8)) >= 3


def test_a_node_sends_only_cells_of_the_campaigns_groups(world: World) -> None:
    campaign, _, _ = named(world, {"north": 0})
    node = world.ok("POST", f"/v1/campaigns/{campaign}/nodes", world.operator, {"name": "n"})
    path = f"/v1/campaigns/{campaign}/cells/{node['node']}"
    cell = {"reports": 1, "producers": 1, "sum": 1, "squares": 1}
    for name in ("A", "A/", "A/south", "X/north", "north"):
        body = {"version": 1, "periods": {DAY: {name: cell}}}
        assert world.refused(422, "PUT", path, node["token"], body)["field"] == "periods"
    body = {"version": 1, "periods": {DAY: {"A/north": cell}}}
    assert world.ok("PUT", path, node["token"], body)["periods"] == {DAY: "stored"}


def test_peers_agree_on_groups(tmp_path: Path) -> None:
    with services(tmp_path, "a", "b") as worlds:
        net = Net(worlds, [(0, 1)])
        campaign, consumer, members = named(worlds[0], {"north": 2, "south": 3})
        net.round()
        send(worlds[0], members)
        more = [(group, worlds[1].join(campaign, "N", group=group)) for group in ("north", "south")]
        send(worlds[1], more, first=5)
        tokens = [consumer, *net.consumers(campaign)]
        for world in worlds:
            world.clock.set("2026-11-17T02:00:00Z")
        for _ in range(3):
            net.round()
        seen = [world.periods(campaign, token)[DAY] for world, token in zip(worlds, tokens, strict=True)]
    assert seen[0] == seen[1]
    assert {group: steps(entry) for group, entry in seen[0]["groups"].items()} == {
        "north": 0b100011,
        "south": 0b1011100,
    }


@pytest.fixture
def kept(world: World, tmp_path: Path) -> tuple[World, str, Path]:
    """A campaign with groups and one without, in a lake."""
    campaign, consumer, members = named(world, {"north": 3, "east/west": 4}, keep_reports="always")
    plain = world.campaign(consumer, keep_reports="always")
    send(world, members)
    send(world, [("", world.join(plain, "N")) for _ in range(3)])
    world.clock.set("2026-11-17T02:00:00Z")
    for name in (campaign, plain):
        assert world.periods(name, consumer)[DAY]["state"] == "closed"
    fill(world.service, tmp_path / "lake", "one")
    return world, campaign, tmp_path / "lake"


def test_the_lake_has_the_services_cells_of_groups(kept: tuple[World, str, Path]) -> None:
    world, campaign, lake = kept
    found = halfmask.aggregate(lake)
    with world.store.reading() as tx:
        row: Any = tx.campaign(campaign)
        cells = {name: cell._asdict() for name, cell in found[campaign, DAY].items()}
        assert cells == tx.closed(row.key, 0, 2**62)[DAY].cells
    assert sorted(cells) == ["N/east/west", "N/north"]
    assert [sorted(each) for (name, day), each in found.items() if name != campaign and day == DAY] == [["N"]]


def test_a_groups_sum_is_smoothed_if_it_is_asked_for(world: World) -> None:
    campaign, consumer, members = named(world, {"north": 3, "south": 4}, period="hour", grace_minutes=0)
    for hour in range(24):
        world.clock.set(f"{DAY}T{hour:02}:30:00Z")
        for place, (_, token) in enumerate(members):
            assert world.report(token, (f"{DAY}T{hour:02}:10:00Z", 1000 + place + hour, "A"))[0]["status"] == "accepted"
    world.clock.set("2026-11-17T00:00:00Z")
    shown = world.periods(campaign, consumer, group="north")[f"{DAY}T12Z"]
    assert shown["groups"].keys() == {"north"}
    for each in (shown, shown["groups"]["north"]):
        assert each["smoothed"]["low"] < each["smoothed"]["estimate"] < each["smoothed"]["high"]
    everything = world.periods(campaign, consumer)[f"{DAY}T12Z"]
    assert everything["smoothed"] == shown["smoothed"]
    assert everything["groups"]["north"]["smoothed"] is None
    path = f"/v1/campaigns/{campaign}/periods"
    assert world.refused(422, "GET", path, consumer, params={"group": "west"})["field"] == "group"
