"""What the protocol says of reports, periods and rewards, through its own paths."""

import hashlib
import json
from pathlib import Path

import pytest

from halfmask_device.protocol import CampaignTerms
from tests.service.world import CAMPAIGN, World

AT_11 = "2026-11-16T11:00:00Z"
DAY = "2026-11-16"
WITHHELD = ("reports", "producers", "settings", "sum", "mean", "variance", "smoothed")


def test_the_offer_is_what_was_posted(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    offer = world.ok("GET", f"/v1/campaigns/{campaign}")
    assert CAMPAIGN.items() <= offer.items()
    assert [each["campaign"] for each in world.ok("GET", "/v1/campaigns")["campaigns"]] == [campaign]
    assert "producer" not in {key for key in offer if key != "least_producers"}


def test_codes_come_in_the_protocols_order(world: World) -> None:
    campaign = world.campaign(world.consumer())
    producer = world.join(campaign)
    assert world.report(producer, (AT_11, 500, "A")) == [{"status": "accepted", "reward": 2}]
    results = world.report(
        producer,
        (AT_11, 500, "A"),
        (AT_11, 501, "A"),
        (AT_11, 500, "B"),
        ("2026-11-16T11:00:00+00:00", 500, "A"),
        ("2026-11-16T12:00:00+01:00", 500, "A"),
        (AT_11, 10**9, "A"),  # implausible too, but another value stands
        ("yesterday", 10**9, "Z"),
        ("2020-01-01T00:00:00Z", 10**9, "Z"),
        ("2020-01-01T00:00:00Z", 10**9, "A"),
        ("2026-11-16T12:05:00Z", 1, "A"),
        ("2026-11-16T12:05:00.000001Z", 10**9, "A"),
        ("2026-11-15T10:00:00Z", 10**9, "A"),  # closed by its deadline, though nobody has looked
        ("2026-11-16T10:00:00Z", 20_000 + 13_469, "A"),
        ("2026-11-16T10:00:01Z", 20_000 + 13_470, "A"),
        ("2026-11-16T10:00:02Z", -13_469, "A"),
        ("2026-11-16T10:00:03Z", -13_470, "A"),
        ("2026-11-16T10:00:04Z", 20_000, "N"),
        ("2026-11-16T10:00:05Z", 20_001, "N"),
    )
    assert [each.get("code", each["status"]) for each in results] == [
        *("known", "conflict", "conflict", "known", "known", "conflict", "malformed", "unknown_setting"),
        *("outside_campaign", "accepted", "future", "closed", "accepted", "implausible", "accepted", "implausible"),
        *("accepted", "implausible"),
    ]
    assert results[0] == {"status": "known", "reward": 2}


def test_begins_and_ends_are_kept_to_the_microsecond(world: World) -> None:
    producer = world.join(
        world.campaign(world.consumer(), begins="2026-11-16T10:00:00.000001Z", ends="2026-11-16T11:00:00.000001Z")
    )
    times = ("2026-11-16T10:00:00Z", "2026-11-16T10:00:00.000001Z", "2026-11-16T11:00:00.000000Z")
    results = world.report(producer, *((time, 1, "A") for time in (*times, "2026-11-16T11:00:00.000001Z")))
    assert [each.get("code", each["status"]) for each in results] == [
        *("outside_campaign", "accepted", "accepted", "outside_campaign")
    ]


def test_a_period_from_open_to_closed(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    producers = [world.join(campaign) for _ in range(3)]
    for number, producer in enumerate(producers):
        world.report(producer, (AT_11, 1000 + number, "N"), ("2026-11-16T11:30:00Z", 2000, "N"))
    shown = world.periods(campaign, consumer)
    assert list(shown) == ["2026-11-15", DAY]
    assert (shown[DAY]["state"], shown[DAY]["withheld"]) == ("open", "open")
    assert all(shown[DAY][name] is None for name in WITHHELD)
    path = f"/v1/campaigns/{campaign}/periods/{DAY}/close"
    assert world.refused(409, "POST", path, consumer)["code"] == "not_ended"
    world.clock.set("2026-11-16T23:59:59.999999Z")
    world.refused(409, "POST", path, consumer)
    world.clock.set("2026-11-17T00:00:00Z")
    closed = world.ok("POST", path, consumer)
    assert (closed["state"], closed["withheld"], closed["reports"], closed["producers"]) == ("closed", None, 6, 3)
    assert closed["settings"] == {"N": {"reports": 6, "producers": 3}}
    assert closed["sum"] == {"estimate": 9.003, "standard_error": 0.0, "low": 9.003, "high": 9.003}
    assert world.ok("POST", path, consumer) == closed == world.periods(campaign, consumer)[DAY]
    again = world.report(producers[0], (AT_11, 1000, "N"), ("2026-11-16T22:00:00Z", 1, "N"))
    assert again == [{"status": "refused", "code": "closed"}] * 2  # until_closed: they are deleted
    assert world.periods(campaign, consumer)[DAY] == closed


def test_kept_reports_are_known_after_closing(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, keep_reports="always", least_producers=1)
    producer = world.join(campaign)
    world.report(producer, (AT_11, 7, "N"))
    world.clock.set("2026-11-17T01:00:00Z")  # the deadline itself
    assert world.report(producer, (AT_11, 7, "N"), (AT_11, 8, "N"), ("2026-11-16T11:01:00Z", 7, "N")) == [
        {"status": "known", "reward": 5},
        {"status": "refused", "code": "conflict"},
        {"status": "refused", "code": "closed"},
    ]
    assert world.periods(campaign, consumer)[DAY]["sum"]["estimate"] == 0.007


def test_fewer_than_the_least_cohort_shows_nothing(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    for _ in range(2):
        world.report(world.join(campaign), (AT_11, 1, "A"))
    world.clock.set("2026-11-18T00:00:00Z")
    shown = world.periods(campaign, consumer)[DAY]
    assert (shown["state"], shown["withheld"]) == ("closed", "fewer than 3 producers")
    assert all(shown[name] is None for name in WITHHELD)


def test_from_and_to_are_inclusive(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    world.clock.set("2026-11-20T12:00:00Z")
    listed = world.periods(campaign, consumer, **{"from": DAY, "to": "2026-11-18"})
    assert list(listed) == [DAY, "2026-11-17", "2026-11-18"]
    path = f"/v1/campaigns/{campaign}/periods"
    assert world.refused(422, "GET", path, consumer, params={"from": "monday"})["field"] == "from"


def test_periods_come_in_pages_where_that_is_asked_for(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, period="hour", begins="2026-11-15T00:00:00Z")
    path = f"/v1/campaigns/{campaign}/periods"
    whole = world.ok("GET", path, consumer)
    assert whole.keys() == {"periods"}
    named = [each["period"] for each in whole["periods"]]
    assert len(named) == 37  # every hour that has begun
    found: list[str] = []
    query = {"limit": "10"}
    while True:
        page = world.ok("GET", path, consumer, params=query)
        found += [each["period"] for each in page["periods"]]
        if page["next"] is None:
            break
        query["from"] = page["next"]
    assert found == named
    for text in ("0", "-1", "x", "9" * 30):
        assert world.refused(422, "GET", path, consumer, params={"limit": text})["field"] == "limit"


def test_nobody_joins_a_campaign_that_takes_no_more_reports(world: World) -> None:
    campaign = world.campaign(world.consumer(), ends="2026-11-16T11:30:00Z", grace_minutes=60)
    path = f"/v1/campaigns/{campaign}/producers"
    producer = world.join(campaign)  # it has ended, and what was read before can still be reported
    assert world.report(producer, ("2026-11-16T11:00:00Z", 5, "A"))[0]["status"] == "accepted"
    world.clock.set("2026-11-16T12:30:00Z")
    assert world.refused(409, "POST", path, None, {"setting": "A"})["code"] == "ended"
    assert world.ok("GET", "/v1/me", producer)["expected"] == 2


def test_rewards_fit_the_budget_whole_or_not_at_all(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, budget=8)
    one, two = world.join(campaign), world.join(campaign)
    times = [f"2026-11-16T10:0{minute}:00Z" for minute in range(6)]
    assert world.report(one, (times[0], 1, "N"), (times[1], 1, "N"), (times[2], 1, "A")) == [
        {"status": "accepted", "reward": 5},
        {"status": "accepted", "code": "budget_spent", "reward": 0},
        {"status": "accepted", "reward": 2},
    ]
    assert world.report(two, (times[0], 1, "A"), (times[0], 1, "A")) == [
        {"status": "accepted", "code": "budget_spent", "reward": 0},
        {"status": "known", "code": "budget_spent", "reward": 0},
    ]
    path = f"/v1/campaigns/{campaign}/ledger"
    assert world.ok("GET", path, consumer) == {"entries": [], "expected": 7, "next": None}
    assert sum(world.amounts("/v1/me/ledger", one)) + sum(world.amounts("/v1/me/ledger", two)) == 7


def test_rewards_change_only_for_periods_that_have_not_begun(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    path = f"/v1/campaigns/{campaign}/rewards"
    body = {"rewards": {"A": 9}, "from": DAY}
    assert world.refused(409, "PUT", path, consumer, body)["code"] == "begun"
    world.ok("PUT", path, consumer, body | {"from": "2026-11-17"})
    producer = world.join(campaign)
    world.clock.set("2026-11-17T00:30:00Z")
    results = world.report(producer, ("2026-11-16T23:00:00Z", 1, "A"), ("2026-11-17T00:00:00Z", 1, "A"))
    assert [each["reward"] for each in results] == [2, 9]


def test_leaving_withdraws_from_open_periods_alone(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, grace_minutes=720)
    producers = [world.join(campaign) for _ in range(4)]
    for producer in producers:
        world.report(producer, (AT_11, 1000, "N"))
    world.clock.set("2026-11-17T12:30:00Z")
    for producer in producers:
        world.report(producer, ("2026-11-17T11:00:00Z", 10, "N"))
    world.clock.set("2026-11-17T12:00:00Z")  # the first day's deadline: it is closed, though nobody has looked
    left = world.ok("DELETE", "/v1/me", producers[0])
    assert (left["state"], left["withdrawn"]) == ("left", 1)
    assert world.ok("DELETE", "/v1/me", producers[0])["state"] == "left"
    assert world.ok("GET", "/v1/me", producers[0])["state"] == "left"
    entries = world.ok("GET", "/v1/me/ledger", producers[0])["entries"]
    assert [entry["amount"] for entry in entries] == [5, 5, -5]
    for method, path, body in (("PATCH", "/v1/me", {"setting": "A"}), ("POST", "/v1/reports", {"reports": []})):
        assert world.refused(403, method, path, producers[0], body)["code"] == "left"
    world.clock.set("2026-11-18T12:00:00Z")
    shown = world.periods(campaign, consumer)
    assert (shown[DAY]["reports"], shown["2026-11-17"]["reports"]) == (4, 3)
    assert shown["2026-11-17"]["sum"]["estimate"] == pytest.approx(0.03)


def test_a_producer_counts_once_under_the_setting_of_its_first_report(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    for _ in range(3):
        world.report(world.join(campaign), (AT_11, 1, "N"), ("2026-11-16T10:00:00Z", 1, "A"))
    world.clock.set("2026-11-18T00:00:00Z")
    shown = world.periods(campaign, consumer)[DAY]
    assert (shown["reports"], shown["producers"]) == (6, 3)
    assert shown["settings"] == {"A": {"reports": 3, "producers": 3}, "N": {"reports": 3, "producers": 0}}


def test_invitations_are_used_once(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, join="invitation")
    path = f"/v1/campaigns/{campaign}/producers"
    assert world.refused(403, "POST", path, None, {"setting": "A"})["code"] == "invitation_needed"
    first, second = world.ok("POST", f"/v1/campaigns/{campaign}/invitations", consumer, {"count": 2})["invitations"]
    world.join(campaign, invitation=first)
    body = {"setting": "A", "invitation": first}
    assert world.refused(403, "POST", path, None, body)["code"] == "invitation_unknown"
    world.refused(422, "POST", path, None, {"setting": "no such", "invitation": second})
    world.join(campaign, invitation=second)


def test_a_setting_can_be_changed(world: World) -> None:
    producer = world.join(world.campaign(world.consumer()))
    assert world.ok("PATCH", "/v1/me", producer, {"setting": "B"})["setting"] == "B"
    assert world.ok("GET", "/v1/me", producer)["setting"] == "B"
    assert world.refused(422, "PATCH", "/v1/me", producer, {"setting": "Z"})["field"] == "setting"


def test_cells_of_a_node_count_when_closed_by_their_highest_version(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    nodes = [world.ok("POST", f"/v1/campaigns/{campaign}/nodes", world.operator, {"name": "gateway"}) for _ in range(2)]

    def put(which: int, version: int, reports: int, status: str) -> None:
        cell = {"reports": reports, "producers": reports, "sum": 10 * reports, "squares": 100 * reports}
        path = f"/v1/campaigns/{campaign}/cells/{nodes[which]['node']}"
        body = {"version": version, "periods": {DAY: {"N": cell}}}
        assert world.ok("PUT", path, nodes[which]["token"], body) == {"periods": {DAY: status}}

    put(0, 2, 5, "stored")
    put(0, 1, 50, "not_newer")
    put(0, 2, 50, "not_newer")
    put(1, 7, 3, "stored")
    world.report(world.join(campaign), (AT_11, 10, "N"))
    assert world.periods(campaign, consumer)[DAY]["withheld"] == "open"
    world.clock.set("2026-11-17T00:00:00Z")
    closed = world.close_period(campaign, consumer, DAY)
    assert (closed["reports"], closed["sum"]["estimate"]) == (9, 0.09)
    put(0, 3, 50, "closed")
    assert world.periods(campaign, consumer)[DAY] == closed
    other = f"/v1/campaigns/{campaign}/cells/{nodes[1]['node']}"
    world.refused(403, "PUT", other, nodes[0]["token"], {"version": 9, "periods": {}})


def test_the_documented_hash_of_terms_is_what_devices_pin() -> None:
    page = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
    example = page.partition("#### The hash of the terms")[2].partition("```json\n")[2]
    text, _, rest = example.partition("\n```")
    told = rest.partition("`")[2].partition("`")[0]
    assert hashlib.sha256(text.encode()).hexdigest() == told
    pinned = CampaignTerms.read(CAMPAIGN)
    assert (pinned.terms(), pinned.terms_hash()) == (json.loads(text), told)
