"""What always holds: exactly once, within the budget, nothing below the least cohort, whoever works at once."""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from halfmask.service.closing import close_all, closing_groups
from halfmask.service.snapshots import apart
from halfmask.service.storage.sql_store import Transaction, open_store
from tests.service.world import World, instant

AT_11 = "2026-11-16T11:00:00Z"
DAY = "2026-11-16"


def minute(number: int) -> str:
    return f"2026-11-16T{8 + number // 60:02}:{number % 60:02}:00Z"


@pytest.fixture
def two_workers(any_world: World) -> Any:
    """Two services on one database, as two processes would be."""
    url = any_world.store.engine.url.render_as_string(hide_password=False)
    store = open_store(url, least_room=0)
    other = World(store, any_world.clock, any_world.operator)
    yield any_world, other
    other.close()
    store.close()


def at_once(worlds: tuple[World, World], jobs: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Post bodies with tokens, every one of them to both workers, all at once; results of all."""

    async def post(world: World, token: str, body: dict[str, Any]) -> Any:
        answer = await world.sending("POST", "/v1/reports", token, body)
        assert answer.status_code == 200, answer.text
        return answer.json()["results"]

    async def all_of(world: World, mine: list[tuple[str, dict[str, Any]]]) -> list[Any]:
        return await asyncio.gather(*(post(world, token, body) for token, body in mine))

    futures = [asyncio.run_coroutine_threadsafe(all_of(world, jobs), world.loop) for world in worlds]
    return [future.result(60) for future in futures]


def test_every_report_counts_once_and_the_budget_holds_under_64_writers(two_workers: tuple[World, World]) -> None:
    world, _ = two_workers
    consumer = world.consumer()
    campaign = world.campaign(consumer, budget=333, rewards={"A": 2, "B": 3, "N": 7})
    producers = [world.join(campaign) for _ in range(32)]
    jobs, truth = [], 0
    for number, producer in enumerate(producers):
        for batch in range(2):
            reports = [
                {"time": minute(3 * batch + each), "steps": 2 ** (number % 13) + batch, "setting": "ABN"[each]}
                for each in range(3)
            ]
            truth += sum(each["steps"] for each in reports)
            jobs.append((producer, {"reports": reports}))
    answers = at_once(two_workers, jobs)
    earned = 0
    for one, two in zip(*answers, strict=True):
        for first, second in zip(one, two, strict=True):
            assert {first["status"], second["status"]} == {"accepted", "known"}
            assert (first["reward"], first.get("code")) == (second["reward"], second.get("code"))
            earned += first["reward"]
    ledger = [world.ok("GET", f"/v1/campaigns/{campaign}/ledger", consumer)["expected"]]
    of_producers = [amount for producer in producers for amount in world.amounts("/v1/me/ledger", producer)]
    assert earned == sum(ledger) == sum(of_producers)
    assert 333 - 2 < earned <= 333  # what is left could not pay the smallest reward
    world.clock.set("2026-11-17T01:00:00Z")
    shown = world.periods(campaign, consumer)[DAY]
    assert (shown["reports"], shown["producers"]) == (192, 32)
    assert shown["sum"]["estimate"] == pytest.approx(truth / 1000, abs=1e-9)


@pytest.mark.parametrize("database", ["postgres", "mariadb"], indirect=True)
def test_who_leaves_while_a_worker_waits_for_the_lock_adds_nothing(
    two_workers: tuple[World, World], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, other = two_workers
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1)
    going, staying = world.join(campaign), world.join(campaign)
    world.report(staying, (minute(0), 1, "N"))
    lock = Transaction.lock

    def late(tx: Transaction, key: int) -> Any:
        monkeypatch.undo()
        assert other.ok("DELETE", "/v1/me", going)["state"] == "left"
        return lock(tx, key)

    monkeypatch.setattr(Transaction, "lock", late)
    body = {"reports": [{"time": minute(1), "steps": 2, "setting": "N"}]}
    assert world.refused(403, "POST", "/v1/reports", going, body)["code"] == "left"
    world.clock.set("2026-11-17T00:30:00Z")
    closed = world.close_period(campaign, consumer, DAY)
    assert (closed["reports"], closed["sum"]["estimate"]) == (1, 0.001)


def test_of_two_values_at_once_one_stands(two_workers: tuple[World, World]) -> None:
    world, other = two_workers
    campaign = world.campaign(world.consumer())
    producers = [world.join(campaign) for _ in range(16)]
    bodies = [{"reports": [{"time": AT_11, "steps": steps, "setting": "N"}]} for steps in (1, 2)]
    jobs = [(producer, body) for producer in producers for body in bodies]
    answers = at_once((world, other), jobs)
    for place in range(0, len(jobs), 2):
        statuses = [answers[worker][place + which][0] for worker in (0, 1) for which in (0, 1)]
        assert sorted(each.get("code", each["status"]) for each in statuses) == [
            "accepted",
            "conflict",
            "conflict",
            "known",
        ]


def test_closing_and_reporting_at_once_leave_sum_and_reports_equal(two_workers: tuple[World, World]) -> None:
    """Whatever the order: what was accepted before the close is in it, and nothing is accepted after."""
    world, other = two_workers
    consumer = world.consumer()
    campaign = world.campaign(consumer, grace_minutes=600, least_producers=1)
    producers = [world.join(campaign) for _ in range(24)]
    world.report(producers[0], (minute(0), 1, "N"))
    world.clock.set("2026-11-17T00:30:00Z")

    async def post(number: int) -> dict[str, Any]:
        body = {"reports": [{"time": minute(5), "steps": 2**number % 19_997, "setting": "N"}]}
        answer = await world.sending("POST", "/v1/reports", producers[number], body)
        return {**answer.json()["results"][0], "steps": body["reports"][0]["steps"]}

    async def close() -> Any:
        return (await other.sending("POST", f"/v1/campaigns/{campaign}/periods/{DAY}/close", consumer)).json()

    async def posts() -> list[Any]:
        return await asyncio.gather(*map(post, range(24)))

    posting = asyncio.run_coroutine_threadsafe(posts(), world.loop)
    closing = asyncio.run_coroutine_threadsafe(close(), other.loop)
    closed, results = closing.result(60), posting.result(60)
    accepted = [each["steps"] for each in results if each["status"] == "accepted"]
    assert {each.get("code", "accepted") for each in results} <= {"accepted", "closed"}
    assert closed["reports"] == 1 + len(accepted)
    assert closed["sum"]["estimate"] == pytest.approx((1 + sum(accepted)) / 1000)
    assert world.periods(campaign, consumer)[DAY] == closed


def test_a_live_period_is_shown_in_steps_of_the_least_cohort(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer, live=True, least_producers=4)
    producers = [world.join(campaign) for _ in range(12)]

    def look() -> Any:
        return world.periods(campaign, consumer)[DAY]

    for number in range(3):
        world.report(producers[number], (minute(0), 1 << number, "N"))
        assert look()["withheld"] == "fewer than 4 producers"
    world.report(producers[3], (minute(0), 8, "N"))
    first = look()
    assert (first["state"], first["withheld"], first["producers"]) == ("open", None, 4)
    assert first["sum"]["estimate"] == pytest.approx(0.015)
    for number in (4, 5):
        world.report(producers[number], (minute(0), 1 << number, "N"))
    world.report(producers[4], (minute(1), 1000, "N"))  # the same producer again does not count again
    assert look() == first
    world.ok("DELETE", "/v1/me", producers[5])  # added and withdrew since the last look: nothing changed
    world.report(producers[6], (minute(0), 64, "N"))
    world.report(producers[7], (minute(0), 128, "N"))
    assert look() == first
    world.ok("DELETE", "/v1/me", producers[0])  # the fourth who changed what was shown
    second = look()
    assert second["producers"] == 6
    assert second["sum"]["estimate"] == pytest.approx((2 + 4 + 8 + 16 + 1000 + 64 + 128) / 1000)
    world.report(producers[8], (minute(0), 256, "N"))
    world.clock.set("2026-11-17T01:00:00Z")
    closed = look()
    assert (closed["state"], closed["producers"]) == ("closed", 7)
    assert closed["sum"]["estimate"] == pytest.approx(1.478)


def test_a_live_period_falls_silent_when_too_few_are_left(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, live=True, least_producers=3)
    producers = [world.join(campaign) for _ in range(3)]
    for producer in producers:
        world.report(producer, (minute(0), 5, "A"))
    shown = world.periods(campaign, consumer)[DAY]
    assert shown["producers"] == 3
    for producer in producers[:2]:
        world.ok("DELETE", "/v1/me", producer)
        assert world.periods(campaign, consumer)[DAY] == shown
    world.ok("DELETE", "/v1/me", producers[2])
    assert world.periods(campaign, consumer)[DAY]["withheld"] == "fewer than 3 producers"


def eight_of_twelve(world: World) -> tuple[list[str], Callable[[], Any]]:
    """Twelve who joined a live campaign of cohorts of four, of whom eight have reported; and what is shown of it."""
    consumer = world.consumer()
    campaign = world.campaign(consumer, live=True, least_producers=4)
    producers = [world.join(campaign) for _ in range(12)]
    for number in range(8):
        world.report(producers[number], (minute(0), 1 << number, "N"))
    return producers, lambda: world.periods(campaign, consumer)[DAY]


def test_withdrawals_do_not_bring_a_period_back_near_an_older_look(any_world: World) -> None:
    """Four come, four more come, three of these go and one comes: the third look would differ from the first by two."""
    world = any_world
    producers, look = eight_of_twelve(world)
    second = look()
    assert second["producers"] == 8
    for number in (4, 5, 6):
        world.ok("DELETE", "/v1/me", producers[number])
    for number in (8, 9):
        world.report(producers[number], (minute(0), 1 << number, "N"))
        assert look() == second  # 7 and 8, then 7, 8 and 9, are all that the first look lacks
    world.report(producers[10], (minute(0), 1 << 10, "N"))
    third = look()
    assert third["producers"] == 8
    assert round(third["sum"]["estimate"] * 1000) == 15 + (1 << 7) + (1 << 8) + (1 << 9) + (1 << 10)


def test_three_looks_added_and_subtracted_tell_of_no_fewer(world: World) -> None:
    """Four come, four more come, three of the first and one of the second go: first + third - second would be two."""
    producers, look = eight_of_twelve(world)
    second = look()
    for number in (0, 1, 2, 4):
        world.ok("DELETE", "/v1/me", producers[number])
        assert look() == second
    for number in (8, 9):
        world.report(producers[number], (minute(0), 1 << number, "N"))
    third = look()
    assert round(third["sum"]["estimate"] * 1000) == sum(1 << each for each in (3, 5, 6, 7, 8, 9))


def test_looks_are_apart_where_no_weights_leave_few() -> None:
    """Against all weights from -2 to 2 of the differences of up to five looks."""
    chance, seen = random.Random(3), Counter[bool]()
    for _ in range(120):
        looks, least = chance.randint(2, 5), chance.randint(2, 4)
        ties = []
        for _ in range(chance.randint(3, 14)):
            come = chance.sample(range(1, looks + 1), chance.choice((1, 1, 2)))
            go = chance.choice([0, 0, *range(max(come) + 1, looks + 1)])
            ties.append(frozenset([*come, go]))
        told = (
            sum(len({(0, *weights)[each] for each in tie}) > 1 for tie in ties)
            for weights in itertools.product(range(-2, 3), repeat=looks)
        )
        safe = all(number == 0 or number >= least for number in told)
        assert apart(ties, least) == safe, (ties, least)
        seen[safe] += 1
    assert min(seen.values()) > 20


@pytest.mark.parametrize("seed", range(4))
def test_no_two_answers_differ_by_fewer_than_the_least_cohort(world: World, seed: int) -> None:
    """A consumer who asks after every operation, by every window, never learns the sum of fewer than four producers.

    Each producer's reports add up to a power of two of its own, so a difference of two sums tells who is in it.
    """
    chance = random.Random(seed)
    consumer = world.consumer()
    campaign = world.campaign(consumer, live=True, least_producers=4)
    producers = [world.join(campaign) for _ in range(14)]
    here, sums = set(range(14)), [frozenset[int]()]
    times = [itertools.count(number * 20) for number in range(14)]
    for _ in range(40):
        number = chance.choice(sorted(here))
        if chance.random() < 0.3 and len(here) > 4:
            world.ok("DELETE", "/v1/me", producers[number])
            here.discard(number)
        elif next(times[number]) == number * 20:
            world.report(producers[number], (minute(number), 1 << number, "N"))
        for query in ({}, {"from": DAY}, {"from": DAY, "to": DAY}, {"to": DAY}):
            shown = world.periods(campaign, consumer, **query)[DAY]
            if shown["withheld"] is None:
                total = round(shown["sum"]["estimate"] * 1000)
                sums.append(frozenset(each for each in range(14) if total >> each & 1))
                assert len(sums[-1]) == shown["producers"] >= 4
    for one, two in itertools.combinations(set(sums), 2):
        assert len(one ^ two) >= 4, (one, two)
    assert len(set(sums)) > 2


def test_many_periods_close_and_leaving_waits_for_none(world: World) -> None:
    """One transaction closes a few, so that ten years of hours at once hold up nobody's reports."""
    consumer = world.consumer()
    campaign = world.campaign(
        consumer, period="hour", begins="2026-11-10T00:00:00Z", grace_minutes=0, least_producers=1
    )
    world.clock.set("2026-11-16T11:59:30Z")
    producer = world.join(campaign)
    assert world.report(producer, (minute(239), 7, "N"))[0]["status"] == "accepted"
    world.clock.set("2026-11-16T12:30:00Z")
    ((_, spans),) = world.service.due(world.clock())
    assert len(spans) == 156
    assert world.ok("DELETE", "/v1/me", producer)["withdrawn"] == 0  # past its deadline, closed or not
    shown = world.periods(campaign, consumer)
    assert [each["state"] for each in shown.values()] == ["closed"] * 156 + ["open"]
    assert shown["2026-11-16T11Z"]["sum"]["estimate"] == 0.007
    assert world.service.due(world.clock()) == []


def test_periods_close_together_and_as_one_by_one(any_world: World) -> None:
    """Four days of hours with a report on the first: the same rows and events, however they are grouped."""
    world, closed, told = any_world, [], []
    consumer = world.consumer()
    names = [world.campaign(consumer, period="hour", begins="2026-11-12T00:00:00Z", grace_minutes=0) for _ in range(2)]
    world.clock.set("2026-11-12T12:30:00Z")
    for name in names:
        assert world.report(world.join(name), ("2026-11-12T12:10:00Z", 7, "N"))[0]["status"] == "accepted"
    world.clock.set("2026-11-16T00:00:00Z")
    for name, size in zip(names, (96, 1), strict=True):
        ((campaign, spans),) = world.service.due(world.clock.now, name)
        assert len(spans) == 96
        for start in range(0, len(spans), size):
            with world.store.transaction() as tx:
                close_all(tx, campaign, spans[start : start + size], world.clock.now)
                close_all(tx, campaign, spans[: start + 3], world.clock.now)  # again: nothing more
        world.periods(name, consumer)  # which publishes them
        with world.store.reading() as tx:
            closed.append(tx.closed(campaign.key, 0, 2**62))
            told.append([period for _, period in tx.events(campaign.key, 0)])
    assert closed[0] == closed[1]
    assert told[0] == told[1] == list(closed[0])
    assert sum(bool(row.cells) for row in closed[0].values()) == 1


def test_ten_years_of_hours_close_in_small_groups(world: World) -> None:
    name = world.campaign(world.consumer(), period="hour", begins="2017-01-01T00:00:00Z")
    ((campaign, spans),) = world.service.due(world.clock.now, name)
    sizes = [len(group) for group in closing_groups(campaign, spans)]
    assert (sum(sizes), max(sizes)) == (86_555, 500)


def test_what_is_closed_is_not_looked_for_again(world: World) -> None:
    """Each look for periods that are due begins where the last one ended, also after the clock was set back."""
    consumer = world.consumer()
    campaign = world.campaign(consumer, period="hour", grace_minutes=0)
    (one, spans), *rest = world.service.due(world.clock.now, campaign)
    assert (len(spans), rest) == (36, [])
    with world.store.transaction() as tx:
        close_all(tx, one, spans[:20], world.clock.now)
        close_all(tx, one, spans[22:], world.clock.now)
    assert world.service.due(world.clock.now, campaign) == [(one, spans[20:22])]
    assert world.service.settled[one.key] == spans[20].begins
    with world.store.transaction() as tx:
        close_all(tx, one, spans[20:22], world.clock.now)
    assert world.service.due(world.clock.now, campaign) == []
    assert world.service.settled[one.key] == instant("2026-11-16T12:00:00Z")
    world.clock.set("2026-11-16T09:00:00Z")
    assert world.service.due(world.clock.now, campaign) == []
    world.clock.set("2026-11-16T13:10:00Z")
    assert [span.key for _, found in world.service.due(world.clock.now, campaign) for span in found] == [
        "2026-11-16T12Z"
    ]
    assert len(world.periods(campaign, consumer)) == 38


def test_reversals_are_new_entries_and_free_the_budget(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, budget=5)
    producer = world.join(campaign)
    world.report(producer, (minute(0), 1, "N"))
    (entry,) = world.ok("GET", "/v1/me/ledger", producer)["entries"]
    path = f"/v1/campaigns/{campaign}/ledger/{entry['entry']}/reversal"
    world.refused(403, "POST", path, consumer)
    reversal = world.ok("POST", path, world.operator)
    assert world.ok("POST", path, world.operator) == reversal
    assert (reversal["amount"], reversal["reverses"]) == (-5, entry["entry"])
    assert world.amounts("/v1/me/ledger", producer) == [5, -5]
    assert world.ok("GET", f"/v1/campaigns/{campaign}/ledger", consumer)["expected"] == 0
    assert world.report(producer, (minute(1), 1, "N")) == [{"status": "accepted", "reward": 5}]
    again = f"/v1/campaigns/{campaign}/ledger/{reversal['entry']}/reversal"
    world.refused(409, "POST", again, world.operator)
