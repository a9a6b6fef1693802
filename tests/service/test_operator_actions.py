"""What operators do beside a running service: each action with its line in the log, and what the service then says."""

import json
from pathlib import Path
from typing import Any

import pytest
from alembic.migration import MigrationContext

from halfmask.service.operator_actions import Operator
from halfmask.service.storage import tables
from halfmask.service.storage.sql_store import prepare_database
from tests.commands.program import error_of, halfmask
from tests.refusals import refused
from tests.service.earlier_version import back_to_0_2
from tests.service.test_migrations import compare_metadata
from tests.service.world import World, running, sqlite_url

DAY = "2026-11-16"
TIMES = [f"{DAY}T{hour:02}:00:00Z" for hour in range(4)]


def operator(world: World, reason: str = "") -> Operator:
    return Operator(world.store, "tester", reason, world.clock)


def notice(world: World) -> None:
    """What the background task of the service does every few seconds."""
    world.store.read(world.service.notice_actions)


def actions(world: World) -> list[tuple[str, str, str]]:
    return [(row["actor"], row["action"], row["reason"]) for row in operator(world).listed("log", None, "", 100)]


def me(world: World, token: str) -> str:
    return str(world.ok("GET", "/v1/me", token)["producer"])


def test_lists_show_what_there_is_in_pages(any_world: World) -> None:
    world = any_world
    made = operator(world).add_consumer("utility")
    campaign = world.campaign(made["token"], join="open")
    other = world.campaign(made["token"], name="other")
    tokens = [world.join(campaign) for _ in range(3)]
    world.join(other)
    world.ok("POST", f"/v1/campaigns/{campaign}/invitations", made["token"], {"count": 2})
    listed = operator(world).listed
    assert [row["consumer"] for row in listed("consumers", None, "", 100)] == [made["consumer"]]
    assert [(row["campaign"], row["name"]) for row in listed("campaigns", None, "", 100)] == [
        (campaign, "street"),
        (other, "other"),
    ]
    names = [me(world, token) for token in tokens]
    assert [row["producer"] for row in listed("producers", campaign, "", 100)] == names
    assert [row["producer"] for row in listed("producers", campaign, names[0], 1)] == [names[1]]
    assert len(listed("producers", None, "", 100)) == 4
    assert [row["state"] for row in listed("invitations", campaign, "", 100)] == ["unused", "unused"]
    shown = operator(world).shown(campaign)
    assert (shown["kind"], shown["producers"], shown["terms"]["name"]) == ("campaign", 3, "street")
    assert operator(world).shown(names[0])["campaign"] == campaign
    with refused("option.unknown", "name"):
        operator(world).shown("nobody")
    page = json.dumps([listed(kind, None, "", 100) for kind in ("consumers", "producers", "nodes", "log")])
    assert not any(token in page for token in [made["token"], *tokens])


def test_revoked_tokens_end_and_unused_invitations_too(any_world: World) -> None:
    world = any_world
    consumer = operator(world).add_consumer("utility")
    campaign = world.campaign(consumer["token"], join="invitation")
    first, second = world.ok("POST", f"/v1/campaigns/{campaign}/invitations", consumer["token"], {"count": 2})[
        "invitations"
    ]
    member = world.join(campaign, invitation=first)
    assert operator(world).revoke(campaign) == {"invitations": 1}
    world.refused(403, "POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "A", "invitation": second})
    assert world.ok("GET", "/v1/me", member)["state"] == "joined"
    operator(world, "stolen").revoke(consumer["consumer"])
    world.refused(401, "GET", f"/v1/campaigns/{campaign}/periods", consumer["token"])
    assert actions(world) == [("tester", "add", ""), ("tester", "revoke", ""), ("tester", "revoke", "stolen")]


def test_an_expelled_producer_has_left_and_its_open_reports_are_withdrawn(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    tokens = [world.join(campaign, "N") for _ in range(4)]
    for place, token in enumerate(tokens):
        world.report(token, (TIMES[0], 1 << place, "N"))
    expelled = me(world, tokens[0])
    assert operator(world).expel(expelled) == {"withdrawn": 1}
    world.refused(401, "GET", "/v1/me", tokens[0])
    world.clock.set("2026-11-17T02:00:00Z")
    closed = world.periods(campaign, consumer)[DAY]
    assert (closed["producers"], round(closed["sum"]["estimate"] * 1000)) == (3, 2 + 4 + 8)
    with refused("option.unknown"):
        operator(world).expel(campaign)


def test_a_campaign_ends_with_its_period(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    tokens = [world.join(campaign, "N") for _ in range(3)]
    assert operator(world).end(campaign) == {"ends": "2026-11-17T00:00:00Z"}
    notice(world)
    for token in tokens:
        assert world.report(token, (TIMES[1], 7, "N"))[0]["status"] == "accepted"
    with refused("option.ended"):
        operator(world).end(campaign)
    world.clock.set("2026-11-17T00:30:00Z")
    assert world.report(tokens[0], ("2026-11-17T00:10:00Z", 7, "N"))[0]["code"] == "outside_campaign"
    world.clock.set("2026-11-17T02:00:00Z")
    assert world.periods(campaign, consumer)[DAY]["sum"]["estimate"] == pytest.approx(0.021)
    world.refused(409, "POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "A"})


def test_a_campaign_is_deleted_with_all_that_is_its_own(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign, other = world.campaign(consumer, keep_reports="always"), world.campaign(consumer, name="other")
    member, neighbour = world.join(campaign, "N"), world.join(other, "N")
    world.report(member, (TIMES[0], 5, "N"))
    world.report(neighbour, (TIMES[0], 5, "N"))
    with refused("option.open"):
        operator(world).delete(campaign)
    world.clock.set("2026-12-02T00:00:00Z")
    world.periods(campaign, consumer)
    done = operator(world).delete(campaign)
    assert (done["committed"], done["rows"]["reports"], done["rows"]["producers"]) == (5, 1, 1)
    notice(world)
    world.refused(401, "GET", "/v1/me", member)
    world.refused(404, "GET", f"/v1/campaigns/{campaign}")
    assert [each["campaign"] for each in world.ok("GET", "/v1/campaigns")["campaigns"]] == [other]
    assert world.ok("GET", "/v1/me", neighbour)["state"] == "joined"
    again = world.campaign(consumer, begins="2026-12-01T00:00:00Z", ends="2026-12-31T00:00:00Z")
    later = [world.join(again, "N") for _ in range(3)]
    for token in later:
        world.report(token, ("2026-12-01T01:00:00Z", 3, "N"))
    world.clock.set("2026-12-03T00:00:00Z")  # no number was used again, so its periods close
    assert world.periods(again, consumer)["2026-12-01"]["reports"] == 3
    fresh_one = world.campaign(consumer)
    operator(world).delete(fresh_one)  # nobody joined


def test_an_erased_producer_leaves_sums_and_bookings(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer, keep_reports="always", join="invitation")
    path = f"/v1/campaigns/{campaign}/invitations"
    invitations = world.ok("POST", path, consumer, {"count": 4})["invitations"]
    tokens = [world.join(campaign, "N", invitation=each) for each in invitations]
    for place, token in enumerate(tokens):
        world.report(token, (TIMES[0], 1 << place, "N"))
    world.clock.set("2026-11-17T02:00:00Z")
    before = world.periods(campaign, consumer)[DAY]
    spent = world.amounts(f"/v1/campaigns/{campaign}/ledger", consumer)
    erased = me(world, tokens[0])
    done = operator(world, "asked for it").erase(erased)
    assert done["reports"] == 1
    world.refused(401, "GET", "/v1/me", tokens[0])
    assert world.periods(campaign, consumer)[DAY] == before
    assert world.amounts(f"/v1/campaigns/{campaign}/ledger", consumer) == spent
    with world.store.reading() as tx:
        kept = json.dumps(
            [[list(map(str, row)) for row in tx._do(each.select())] for each in tables.metadata.sorted_tables]
        )
    assert erased not in kept
    with refused("option.unknown"):
        operator(world).erase(erased)
    assert ("tester", "erase", "asked for it") in actions(world)


def test_an_entry_is_taken_back_once(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    member = world.join(campaign, "N")
    world.report(member, (TIMES[0], 5, "N"))
    entry = world.ok("GET", "/v1/me/ledger", member)["entries"][0]["entry"]
    first = operator(world).reverse(entry)
    assert (first["amount"], first["reverses"]) == (-5, entry)
    assert operator(world).reverse(entry)["entry"] == first["entry"]
    assert sum(world.amounts("/v1/me/ledger", member)) == 0
    with refused("option.entry"):
        operator(world).reverse("0" * 16)


def test_the_log_comes_with_an_upgrade(database: str) -> None:
    store, _ = prepare_database(database)
    back_to_0_2(store.engine)
    store.close()
    store, before = prepare_database(database)
    assert before == "0003"
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.metadata) == []
    store.close()


def test_the_command_asks_before_what_cannot_be_undone(tmp_path: Path) -> None:
    with running(sqlite_url(tmp_path)) as world:
        db = ["--db", sqlite_url(tmp_path)]
        added = halfmask("admin", "add", "utility", *db)
        assert added.returncode == 0, added.stderr
        campaign = world.campaign(added.stdout.strip())
        member = world.join(campaign)
        shown = halfmask("admin", "list", "campaigns", "--json", *db)
        rows: list[dict[str, Any]] = json.loads(shown.stdout)
        assert [row["campaign"] for row in rows] == [campaign]
        assert error_of("admin", "expel", me(world, member), *db).code == "option.yes"
        assert world.ok("GET", "/v1/me", member)["state"] == "joined"
        done = halfmask("admin", "expel", me(world, member), "--yes", "--reason", "sold the meter", *db)
        assert done.returncode == 0, done.stderr
        log = halfmask("admin", "list", "log", *db)
        assert "sold the meter" in log.stdout
        for kind in ("consumers", "producers", "nodes", "invitations"):
            assert halfmask("admin", "list", kind, *db).returncode == 0
        assert halfmask("admin", "show", campaign, *db).returncode == 0
        assert error_of("admin", "list", "readings", *db).code == "option.list"
