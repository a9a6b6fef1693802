"""Answers that are lost: requests with a key are done once, and a rotated token works until the new one was used."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from halfmask.service.operator_actions import Operator
from halfmask.service.retention import forget
from tests.service.world import World

KEY = {"Idempotency-Key": "k" * 64}
NEXT_DAY = "2026-11-17T12:00:01Z"


def count(world: World, table: str) -> int:
    with world.store.reading() as tx:
        return int(tx.connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())


def stored_text(world: World) -> str:
    with world.store.reading() as tx:
        return str(
            tx.connection.execute(text("SELECT * FROM repeats")).all()
            + tx.connection.execute(text("SELECT * FROM facts")).all()
        )


def test_a_join_that_is_sent_again_gets_the_same_pseudonym_and_token(any_world: World) -> None:
    world = any_world
    path = f"/v1/campaigns/{world.campaign(world.consumer())}/producers"
    first = world.ok("POST", path, None, {"setting": "A"}, headers=KEY)
    again = [world.send("POST", path, None, {"setting": "A"}, headers=KEY) for _ in range(2)]
    assert [(answer.status_code, answer.json()) for answer in again] == [(201, first)] * 2
    assert count(world, "producers") == 1
    assert world.ok("GET", "/v1/me", first["token"])["producer"] == first["producer"]
    assert first["token"] not in stored_text(world)
    assert KEY["Idempotency-Key"] not in stored_text(world)


def test_two_at_once_with_one_key_get_one_answer(any_world: World) -> None:
    world = any_world
    path = f"/v1/campaigns/{world.campaign(world.consumer())}/producers"

    async def both() -> list[Any]:
        return await asyncio.gather(
            *(world.sending("POST", path, None, {"setting": "A"}, headers=KEY) for _ in range(8))
        )

    answers = [answer.json() for answer in world.wait(both())]
    assert answers == answers[:1] * 8
    assert count(world, "producers") == 1


def test_another_body_with_the_same_key_is_refused(world: World) -> None:
    path = f"/v1/campaigns/{world.campaign(world.consumer())}/producers"
    world.ok("POST", path, None, {"setting": "A"}, headers=KEY)
    error = world.refused(422, "POST", path, None, {"setting": "B"}, headers=KEY)
    assert (error["code"], error["field"]) == ("key_used", "Idempotency-Key")
    assert count(world, "producers") == 1


def test_a_key_lasts_a_day_and_is_then_deleted(world: World) -> None:
    path = f"/v1/campaigns/{world.campaign(world.consumer())}/producers"
    first = world.ok("POST", path, None, {"setting": "A"}, headers=KEY)
    world.clock.set(NEXT_DAY)
    other = world.ok("POST", path, None, {"setting": "B"}, headers=KEY)
    assert first["token"] != other["token"]
    assert count(world, "producers") == 2
    world.clock.set("2026-11-19T00:00:00Z")
    with world.store.transaction() as tx:
        assert forget(tx, world.clock())["answers"] == 1
    assert count(world, "repeats") == 0


def test_keys_of_different_callers_and_paths_do_not_meet(world: World) -> None:
    consumers = [world.consumer(), world.consumer()]
    body = {"name": "utility"}
    made = world.ok("POST", "/v1/consumers", world.operator, body, headers=KEY)
    assert world.ok("POST", "/v1/consumers", world.operator, body, headers=KEY) == made
    campaigns = [world.campaign(each) for each in consumers]
    paths = [f"/v1/campaigns/{each}/invitations" for each in campaigns]
    sent = [world.ok("POST", path, who, {"count": 3}, headers=KEY) for path, who in zip(paths, consumers, strict=True)]
    assert len({each for answer in sent for each in answer["invitations"]}) == 6
    assert world.ok("POST", paths[0], consumers[0], {"count": 3}, headers=KEY) == sent[0]
    assert count(world, "invitations") == 6


def test_a_request_that_was_refused_is_decided_again(world: World) -> None:
    path = f"/v1/campaigns/{world.campaign(world.consumer(), join='invitation')}/producers"
    error = world.refused(403, "POST", path, None, {"setting": "A", "invitation": "x"}, headers=KEY)
    assert error["code"] == "invitation_unknown"
    assert count(world, "repeats") == 0


@pytest.mark.parametrize("key", ["", "k" * 65, "a b", "\x7f"])
def test_a_key_that_is_not_one_is_refused(world: World, key: str) -> None:
    path = f"/v1/campaigns/{world.campaign(world.consumer())}/producers"
    error = world.refused(422, "POST", path, None, {"setting": "A"}, headers={"Idempotency-Key": key})
    assert error["field"] == "Idempotency-Key"


def test_a_rotated_token_works_until_the_new_one_was_used(any_world: World) -> None:
    world = any_world
    old = world.consumer()
    campaign = world.campaign(old)
    lost = world.ok("POST", "/v1/token", old)["token"]
    new = world.ok("POST", "/v1/token", old, headers=KEY)["token"]
    assert world.ok("POST", "/v1/token", old, headers=KEY)["token"] == new
    assert world.periods(campaign, old)
    assert world.periods(campaign, new)
    for gone in (old, lost):
        assert world.refused(401, "GET", f"/v1/campaigns/{campaign}/periods", gone)["code"] == "unauthenticated"
    assert world.periods(campaign, new)


def test_a_report_is_a_use_of_a_new_token_too(world: World) -> None:
    old = world.join(world.campaign(world.consumer()))
    new = world.ok("POST", "/v1/token", old)["token"]
    report = ("2026-11-16T10:00:00Z", 1000, "A")
    assert world.report(old, report)[0]["status"] == "accepted"
    assert world.report(new, report)[0]["status"] == "known"
    assert world.refused(401, "POST", "/v1/reports", old, {"reports": []})["code"] == "unauthenticated"


def test_an_operator_lets_a_producer_in_again_under_its_pseudonym(any_world: World) -> None:
    world = any_world
    campaign = world.campaign(world.consumer())
    old = world.join(campaign)
    name = world.ok("GET", "/v1/me", old)["producer"]
    report = ("2026-11-16T10:00:00Z", 1000, "A")
    world.report(old, report)
    made = Operator(world.store, "tester", clock=world.clock).readmit(name)
    world.refused(401, "GET", "/v1/me", old)
    assert world.ok("GET", "/v1/me", made["token"])["producer"] == name
    assert world.report(made["token"], report)[0]["status"] == "known"
    world.ok("DELETE", "/v1/me", made["token"])
    again = Operator(world.store, "tester", clock=world.clock).readmit(name)["token"]
    assert world.report(again, report)[0]["status"] == "accepted"
