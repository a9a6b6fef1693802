"""Rewards: expected while a period is open, earned when it is closed, and nothing for those who only pretend."""

import time
from typing import Any

import pytest

from halfmask.service.operator_queries import owed
from halfmask.service.storage.campaign_rows import EntryRow
from tests.service.world import CAMPAIGN, World

DAY = "2026-11-16"
OVER = "2026-11-17T02:00:00Z"


def at(minute: int) -> str:
    return f"{DAY}T{minute // 60:02}:{minute % 60:02}:00Z"


def me(world: World, token: str) -> tuple[int, int]:
    found = world.ok("GET", "/v1/me", token)
    return found["expected"], found["earned"]


def ledger(world: World, campaign: str, consumer: str, **query: Any) -> dict[str, Any]:
    return dict(world.ok("GET", f"/v1/campaigns/{campaign}/ledger", consumer, params=query))


def test_a_reward_is_expected_until_its_period_is_closed(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    members = [world.join(campaign) for _ in range(3)]
    for token in members:
        world.report(token, (at(600), 1000, "N"), (at(601), 1000, "A"))
    assert me(world, members[0]) == (7, 0)
    entries = world.ok("GET", "/v1/me/ledger", members[0])["entries"]
    assert [(entry["amount"], entry["state"], entry["period"]) for entry in entries] == [(7, "expected", DAY)]
    assert ledger(world, campaign, consumer) == {"entries": [], "expected": 21, "next": None}
    world.clock.set(OVER)
    world.periods(campaign, consumer)
    assert me(world, members[0]) == (0, 7)
    assert world.ok("GET", "/v1/me/ledger", members[0])["entries"] == [entries[0] | {"state": "earned"}]
    shown = ledger(world, campaign, consumer)
    assert ([entry["amount"] for entry in shown["entries"]], shown["expected"]) == ([7, 7, 7], 0)
    assert all(set(entry) == {"entry", "amount"} for entry in shown["entries"])


def test_to_join_report_and_leave_in_a_loop_earns_nothing(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer, budget=10)
    for _ in range(6):
        token = world.join(campaign)
        assert world.report(token, (at(600), 1000, "N"))[0]["reward"] == 5
        assert world.ok("DELETE", "/v1/me", token)["expected"] == 0
        assert me(world, token) == (0, 0)
        assert world.amounts("/v1/me/ledger", token) == [5, -5]
    assert ledger(world, campaign, consumer)["expected"] == 0
    stays = [world.join(campaign) for _ in range(2)]
    assert [world.report(token, (at(600), 1000, "N"))[0]["reward"] for token in stays] == [5, 5]


def test_who_leaves_keeps_what_closed_periods_earned(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1)
    token = world.join(campaign)
    world.report(token, (at(600), 1000, "N"))
    world.clock.set(OVER)
    world.periods(campaign, consumer)
    world.report(token, ("2026-11-17T01:00:00Z", 1000, "N"))
    assert me(world, token) == (5, 5)
    world.ok("DELETE", "/v1/me", token)
    assert me(world, token) == (0, 5)


def test_one_producer_cannot_take_more_of_a_period_than_the_cap(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer, most_per_period=11, budget=1000)
    greedy, other = world.join(campaign), world.join(campaign)
    reports = [(at(minute), 1000, "N") for minute in range(60, 80)]
    found = [each for report in reports for each in world.report(greedy, report)]
    assert [each["reward"] for each in found] == [5, 5] + [0] * 18
    assert {each.get("code") for each in found[2:]} == {"capped"}
    assert world.report(greedy, reports[5]) == [{"status": "known", "code": "capped", "reward": 0}]
    assert world.report(greedy, (at(90), 1000, "A"))[0] == {"status": "accepted", "code": "capped", "reward": 0}
    assert me(world, greedy) == (10, 0)
    assert world.report(other, *reports)[1]["reward"] == 5
    assert world.report(greedy, ("2026-11-15T23:00:00Z", 1, "N"))[0]["code"] == "closed"
    assert ledger(world, campaign, consumer)["expected"] == 20


def test_a_smaller_reward_still_fits_below_the_cap(world: World) -> None:
    token = world.join(world.campaign(world.consumer(), most_per_period=8))
    results = world.report(token, (at(60), 1, "N"), (at(61), 1, "N"), (at(62), 1, "B"), (at(63), 1, "A"))
    assert [(each["reward"], each.get("code")) for each in results] == [
        (5, None),
        (0, "capped"),
        (3, None),
        (0, "capped"),
    ]


@pytest.mark.parametrize(
    ("changed", "warned"),
    [({}, True), ({"most_per_period": 10}, False), ({"every_minutes": 30}, False), ({"rewards": {}}, False)],
)
def test_a_campaign_whose_budget_one_could_take_is_taken_with_a_warning(
    world: World, changed: dict[str, Any], warned: bool
) -> None:
    made = world.ok("POST", "/v1/campaigns", world.consumer(), CAMPAIGN | changed)
    assert set(made) == ({"campaign", "warnings"} if warned else {"campaign"})
    assert world.refused(422, "POST", "/v1/campaigns", world.consumer(), CAMPAIGN | {"most_per_period": -1})


def test_a_ledger_says_nothing_of_open_and_withheld_periods_but_one_sum(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    for hour, members in (("2026-11-16T10:00:00Z", 3), ("2026-11-17T10:00:00Z", 2), ("2026-11-18T10:00:00Z", 3)):
        world.clock.set(hour)
        for _ in range(members):
            world.report(world.join(campaign), (hour, 1000, "N"))
    world.clock.set("2026-11-18T12:00:00Z")
    withheld = {key: each["withheld"] for key, each in world.periods(campaign, consumer).items()}
    assert withheld == {"2026-11-15": "fewer than 3 producers", DAY: None, "2026-11-17": "fewer than 3 producers",
                        "2026-11-18": "open"}  # fmt: skip
    shown = ledger(world, campaign, consumer)
    assert ([entry["amount"] for entry in shown["entries"]], shown["expected"]) == ([5, 5, 5], 25)


def test_only_what_is_earned_is_paid(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    token = world.join(campaign)
    world.report(token, (at(600), 1000, "N"))
    url = str(world.store.engine.url)
    assert owed(url) == []
    world.clock.set(OVER)
    world.periods(campaign, consumer)
    assert [row[2] for row in owed(url)] == [5]


@pytest.mark.slow
def test_a_page_of_a_million_entries_costs_the_same_everywhere(any_world: World) -> None:
    """The first, a middle and the last page of a ledger, and what is looked up to reverse an entry."""
    world = any_world
    consumer = world.consumer()
    campaign, pages = world.campaign(consumer), 1_000
    number = world.store.read(lambda tx: tx.campaign(campaign)).key
    periods = [f"2026-11-{day}" for day in range(16, 26)]
    for period in periods:
        rows = [EntryRow(f"{period}-{each}", number, each % 1000, 1, period, 0) for each in range(100_000)]
        with world.store.transaction() as tx:
            for start in range(0, len(rows), 10_000):
                tx.add_entries(rows[start : start + 10_000])
    with world.store.transaction() as tx:
        tx.show_entries(number, periods)

    def seconds(after: str | None) -> float:
        query = {"limit": pages} | ({"after": after} if after else {})
        tries = []
        for _ in range(7):
            began = time.perf_counter()
            assert len(ledger(world, campaign, consumer, **query)["entries"]) == pages
            tries.append(time.perf_counter() - began)
        return min(tries)

    first = seconds(None)
    for after in (f"{periods[0]}-50000", f"{periods[4]}-99500", f"{periods[9]}-98000"):
        assert seconds(after) < 3 * first + 0.01, after
