"""The consumer's session: what its cookie is, who may use it, and when it ends; tables of periods."""

import csv
import io
import json
from http.cookies import SimpleCookie

import pyarrow.parquet as pq
import pytest

from tests.service.world import World

OWN = {"Origin": "http://service", "Sec-Fetch-Site": "same-origin"}
OTHER = (
    {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://other.service", "Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {},
)


def signed_in(world: World, token: str) -> dict[str, str]:
    answer = world.send("POST", "/session", None, {"token": token}, headers=OWN)
    assert answer.status_code == 200, answer.text
    (morsel,) = SimpleCookie(answer.headers["set-cookie"]).values()
    assert morsel["httponly"]
    assert morsel["samesite"] == "strict"
    assert morsel.value != token
    world._client.cookies.clear()
    return {"Cookie": f"{morsel.key}={morsel.value}"}


def test_a_session_reads_and_acts_for_its_consumer_until_it_ends(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    cookie = signed_in(world, consumer)
    assert world.ok("GET", "/session", headers=cookie | OWN) == {"campaigns": [campaign]}
    assert world.ok("GET", f"/v1/campaigns/{campaign}/standing", headers=cookie | OWN)["joined"] == 0
    body = {"rewards": {"A": 1}, "from": "2026-11-20"}
    world.ok("PUT", f"/v1/campaigns/{campaign}/rewards", None, body, headers=cookie | OWN)
    world.clock.set("2026-11-17T00:00:01Z")
    world.refused(401, "GET", f"/v1/campaigns/{campaign}/standing", headers=cookie | OWN)
    assert world.ok("GET", "/session", headers=cookie | OWN) == {"campaigns": None}


@pytest.mark.parametrize("headers", OTHER)
def test_no_other_site_acts_by_a_session_nor_begins_one(world: World, headers: dict[str, str]) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    cookie = signed_in(world, consumer)
    path, body = f"/v1/campaigns/{campaign}/rewards", {"rewards": {"A": 1}, "from": "2026-11-20"}
    assert world.refused(403, "PUT", path, None, body, headers=cookie | headers)["code"] == "cross_site"
    assert world.refused(403, "POST", "/session", None, {"token": consumer}, headers=headers)["code"] == "cross_site"
    if "Sec-Fetch-Site" in headers:
        assert world.refused(403, "GET", "/session", headers=cookie | headers)["code"] == "cross_site"
    assert world.ok("GET", f"/v1/campaigns/{campaign}")["later_rewards"] == []


def test_signing_out_ends_the_session_and_not_the_token(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    cookie = signed_in(world, consumer)
    world.ok("DELETE", "/session", headers=cookie | OWN)
    world.refused(401, "GET", f"/v1/campaigns/{campaign}/standing", headers=cookie | OWN)
    world.ok("GET", f"/v1/campaigns/{campaign}/standing", consumer)


def test_only_consumers_begin_sessions(world: World) -> None:
    campaign = world.campaign(world.consumer())
    producer = world.join(campaign)
    for token, status in ((producer, 403), (world.operator, 403), ("x", 401), (7, 401)):
        world.refused(status, "POST", "/session", None, {"token": token}, headers=OWN)


def test_tables_hold_what_the_list_of_periods_holds(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    for k in range(4):
        world.report(world.join(campaign), ("2026-11-16T11:00:00Z", 1000 * k, "A"))
    world.clock.set("2026-11-17T02:00:00Z")
    listed = world.periods(campaign, consumer)["2026-11-16"]
    path = f"/v1/campaigns/{campaign}/periods"
    rows = {row["period"]: row for row in csv.DictReader(io.StringIO(world.send("GET", path + ".csv", consumer).text))}
    assert float(rows["2026-11-16"]["sum"]) == listed["sum"]["estimate"]
    assert rows["2026-11-16"]["producers_A"] == "4"
    assert rows["2026-11-15"]["sum"] == ""
    table = pq.read_table(io.BytesIO(world.send("GET", path + ".parquet", consumer).content)).to_pylist()
    assert table[1]["sum_low"] == listed["sum"]["low"]
    assert world.send("GET", path + ".csv", world.consumer()).status_code == 403
    assert world.send("GET", path + ".csv").status_code == 401


def test_the_standing_says_what_was_earned_and_what_was_refused(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    producers = [world.join(campaign) for _ in range(3)]
    for producer in producers:
        world.report(producer, ("2026-11-16T11:00:00Z", 1, "A"))
    world.report(producers[0], ("2026-11-18T11:00:00Z", 1, "A"))
    path = f"/v1/campaigns/{campaign}/standing"
    found = world.ok("GET", path, consumer)
    assert (found["joined"], found["earned"], found["expected"]) == (3, 0, 6)
    assert found["refused"] == {"future": 1}
    world.clock.set("2026-11-17T02:00:00Z")
    world.periods(campaign, consumer)
    found = world.ok("GET", path, consumer)
    assert (found["earned"], found["expected"], found["by_period"]) == (6, 0, {"2026-11-16": 6})


def test_a_forecast_learns_from_rewards_that_varied(world: World) -> None:
    """Of 12 producers more take the level that pays more; the forecast follows, and says what it rests on."""
    consumer = world.consumer()
    campaign = world.campaign(consumer, rewards={"A": 2, "N": 2}, least_producers=3)
    producers = [world.join(campaign) for _ in range(12)]
    path = f"/v1/campaigns/{campaign}/rewards/forecast"
    assert world.ok("GET", path, consumer)["basis"] == "nothing"
    shares = []
    for k, (pay_a, pay_n, take_a, take_n) in enumerate(((2, 2, 4, 4), (8, 1, 7, 2), (1, 8, 2, 7))):
        day = 17 + 2 * k
        rewards = {"rewards": {"A": pay_a, "N": pay_n}, "from": f"2026-11-{day}"}
        world.ok("PUT", f"/v1/campaigns/{campaign}/rewards", consumer, rewards)
        world.clock.set(f"2026-11-{day}T12:00:00Z")
        for place, producer in enumerate(producers[: take_a + take_n]):
            world.report(producer, (f"2026-11-{day}T11:00:00Z", 1000, "A" if place < take_a else "N"))
        world.clock.set(f"2026-11-{day + 1}T02:00:00Z")
        world.periods(campaign, consumer)
    for rewards in ({"A": 8, "N": 1}, {"A": 1, "N": 8}):
        found = world.ok("GET", path, consumer, params={"rewards": json.dumps(rewards)})
        assert found["basis"] == "observed"
        shares.append(found["shares"])
    assert shares[0]["A"] > shares[1]["A"] + 0.1
    assert shares[1]["N"] > shares[0]["N"] + 0.1


def test_a_campaign_is_checked_without_being_made(world: World) -> None:
    consumer = world.consumer()
    terms = dict(world.ok("GET", f"/v1/campaigns/{world.campaign(consumer)}"))
    plain = {name: value for name, value in terms.items() if name not in ("campaign", "later_rewards")}
    found = world.ok("POST", "/v1/campaigns/check", consumer, plain)
    assert [each["id"] for each in found["levels"]] == ["N", "B", "A"]  # from open to private
    assert world.ok("POST", "/v1/campaigns/check", consumer, plain | {"unit": ""})["refused"]["field"] == "unit"
    assert len(world.ok("GET", "/v1/campaigns")["campaigns"]) == 1
