"""Reports that are sent together come to the same as reports that are sent one by one."""

import random
from collections import Counter
from pathlib import Path

import pytest

from halfmask.service.report_decisions import Post, slot_ranges
from halfmask.service.request import digest
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.instants import HOUR, MINUTE, instant_text
from tests.service.world import CAMPAIGN, World, instant, running, sqlite_url

FIRST, SECOND = "2026-11-15", "2026-11-16"


def posts(chance: random.Random, tokens: list[str], day: str, now: int) -> list[Post]:
    """Mostly usual posts of many reports; some repeat, contradict, lie outside, cannot be understood, or are empty."""
    made = []
    for _ in range(chance.randrange(1, 6)):
        size, begins = (
            chance.choice((0, 1, 2, 5)),
            instant(f"{chance.choice((day, day, day, FIRST, SECOND))}T07:00:00Z"),
        )
        times: list[int | None] = [begins + 60_000_000 * each for each in chance.sample(range(90), size)]
        steps = [chance.choice((3, 700)) for _ in range(size)]
        settings = [chance.choice("AN")] * size
        if size and chance.random() < 0.3:
            odd = chance.randrange(size)
            times[odd] = chance.choice((None, 5, instant("2026-11-16T23:00:00Z"), begins))
            steps[odd] = chance.choice((3, -1, 10**9))
            settings[odd] = chance.choice(("A", "N", "B", "no"))
        made.append(Post(chance.choice(tokens), now, times, steps, settings))
    return made


def played(world: World, seed: int, *, one_by_one: bool = False, **terms: object) -> tuple[object, ...]:
    """All answers and reports of a sequence of posts, and what each producer earned in each period."""
    chance = random.Random(seed)
    consumer = world.consumer()
    campaign = world.campaign(consumer, budget=chance.choice((0, 90, 10**6)), **terms)
    tokens = [digest(world.join(campaign)) for _ in range(12)]
    answers: list[object] = []
    world.clock.set("2026-11-16T00:10:00Z")  # the first day has ended, and its grace has not
    for step in range(12):
        world.clock.now += 60_000_000
        if step == 6:
            world.close_period(campaign, consumer, FIRST)
            world.clock.set("2026-11-16T12:00:00Z")
        with world.store.transaction() as tx:
            made = posts(chance, tokens, FIRST if step < 6 else SECOND, world.clock.now)
            if one_by_one:
                made = [
                    Post(each.token, each.now, each.times[k : k + 1], each.steps[k : k + 1], each.settings[k : k + 1])
                    for each in made
                    for k in range(len(each.times))
                ]
            for answer in world.service.accept(tx, made):
                assert isinstance(answer, list)
                answers += answer
    with world.store.reading() as tx:
        found = world.service.campaign(tx, campaign)
        assert found is not None
        rows = list(tx.reports(found.key, 0, 2**62))
        first = min((row.producer for row in rows), default=0)
        reports = [row._replace(producer=row.producer - first) for row in rows]
        earned: Counter[tuple[int, str]] = Counter()
        for row in tx.ledger_of_campaign(found.key):
            earned[row.producer - first, row.period] += row.amount
    return answers, reports, earned


@pytest.mark.parametrize(
    "terms",
    [{}, {"keep_reports": "always"}, {"live": True}, {"every_minutes": 2}],
    ids=["plain", "kept", "live", "every"],
)
def test_reports_come_to_the_same_together_and_one_by_one(tmp_path: Path, terms: dict[str, object]) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with running(sqlite_url(tmp_path / "one")) as together, running(sqlite_url(tmp_path / "two")) as alone:
        for seed in range(8):
            assert played(alone, seed, one_by_one=True, **terms) == played(together, seed, **terms)


def test_nobody_is_paid_for_more_times_than_the_campaign_takes(world: World) -> None:
    """Half-hours of an Irish winter day, and of one whose clocks go back: 48 and 50, whatever else is sent."""
    world.clock.set("2026-10-25T00:00:00Z")
    campaign = world.campaign(world.consumer(), every_minutes=30, begins="2026-10-24T23:00:00Z", least_producers=1)
    producer = world.join(campaign, "N")
    for first, count in (("2026-10-24T23:00:00Z", 50), ("2026-11-15T00:00:00Z", 48)):
        world.clock.set(instant_text(instant(first) + count * 30 * MINUTE + 10 * MINUTE))
        times = [instant_text(instant(first) + 10 * MINUTE * each) for each in range(3 * count)]
        sent = [(time, 5, "N") for time in (*times, times[1][:-1] + ".5Z")]
        results = world.report(producer, *sent)
        assert Counter(each.get("code", each["status"]) for each in results) == {
            "accepted": count,
            "conflict": 2 * count + 1,
        }
        assert sum(each.get("reward", 0) for each in results) == count * 5
        again = world.report(producer, *sent)  # the very same is known, and another of its slot is not
        assert Counter(each.get("code", each["status"]) for each in again) == {
            "known": count,
            "conflict": 2 * count + 1,
        }


def test_the_first_report_of_a_slot_stands(any_world: World) -> None:
    world = any_world
    campaign = world.campaign(world.consumer(), every_minutes=30)
    producer, other = world.join(campaign, "N"), world.join(campaign, "N")

    def sent(who: object, *times: str) -> list[str]:
        results = world.report(who, *((f"2026-11-16T{time}Z", 5, "N") for time in times))  # type: ignore[arg-type]
        return [each.get("code", each["status"]) for each in results]

    world.clock.set("2026-11-16T12:00:00Z")
    assert sent(producer, "10:17:00", "10:29:59.999999", "10:30:00") == ["accepted", "conflict", "accepted"]
    assert sent(producer, "10:00:00", "10:59:59", "09:59:59.999999", "11:00:00") == ["conflict"] * 2 + ["accepted"] * 2
    assert sent(producer, "10:17:00", "10:30:00") == ["known"] * 2
    assert sent(other, "10:00:00", "10:17:00") == ["accepted", "conflict"]


@pytest.mark.parametrize("slots", [[0], [0, 1, 2], [0, 2], [3, 1, 2]])
def test_ranges_of_slots_hold_exactly_their_times(slots: list[int]) -> None:
    span = Calendar("day", "UTC").span_of(instant("2026-11-16T00:00:00Z"))
    ranges = slot_ranges({7: [span.begins + slot * HOUR + 5 for slot in slots]}, HOUR, span.begins)
    times = [span.begins + slot * HOUR + at for slot in range(5) for at in (0, HOUR - 1)]
    inside = [any(low <= time <= high for _, low, high in ranges) for time in times]
    assert inside == [slot in slots for slot in range(5) for _ in range(2)]


def test_a_slot_must_divide_an_hour(world: World) -> None:
    consumer = world.consumer()
    for wrong in (0, 7, 90, True, "30", 2.5):
        assert (
            world.refused(422, "POST", "/v1/campaigns", consumer, CAMPAIGN | {"every_minutes": wrong})["field"]
            == "every_minutes"
        )
