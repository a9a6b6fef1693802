"""What has served its purpose is deleted, and nothing else."""

from functools import partial

from sqlalchemy import func, select

from halfmask.service.retention import TOKENS, forget, forget_members, forget_reports, past
from halfmask.service.storage.identity_rows import producers, tokens
from halfmask.service.storage.period_rows import events
from halfmask.service.storage.tables import metadata
from halfmask_device.instants import DAY
from tests.service.world import World


def count(world: World, table: str) -> int:
    with world.store.reading() as tx:
        return int(tx.connection.execute(select(func.count()).select_from(metadata.tables[table])).scalar_one())


def test_old_tokens_and_replaced_events_go(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    campaign = world.campaign(consumer, live=True, least_producers=1)
    member = world.join(campaign)
    world.report(member, ("2026-11-16T11:00:00Z", 1, "A"))
    world.report(member, ("2026-11-16T10:00:00Z", 1, "A"))
    world.close_period(campaign, consumer, "2026-11-15")
    world.ok("DELETE", "/v1/token", member)
    with world.store.transaction() as tx:
        before = tx.events(1, 0)
        assert len(before) > 2
        assert forget(tx, world.clock.now) == {"tokens": 0, "events": len(before) - 2, "answers": 0}
        assert forget(tx, world.clock.now + TOKENS)["tokens"] == 0  # on the day itself it is kept
        assert forget(tx, world.clock.now + TOKENS + 1) == {"tokens": 1, "events": 0, "answers": 0}
        after = tx.events(1, 0)
        assert {period: number for number, period in after} == {period: number for number, period in before}
        assert tx.connection.execute(select(func.count()).select_from(events)).scalar() == len(after)
        assert tx.connection.execute(select(func.count()).select_from(tokens)).scalar() == 2  # operator and consumer


def test_members_of_a_past_campaign_go_and_its_sums_stay(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    old = world.campaign(consumer, keep_reports="always", join="invitation")
    new = world.campaign(consumer, ends="2027-12-01T00:00:00Z")
    invited = world.ok("POST", f"/v1/campaigns/{old}/invitations", consumer, {"count": 4})["invitations"]
    members = [world.join(old, invitation=each) for each in invited]
    stays = world.join(new)
    for member in members:
        world.report(member, ("2026-11-16T11:00:00Z", 1000, "A"))
    world.clock.set("2026-12-02T00:00:00Z")
    shown = world.periods(old, consumer)["2026-11-16"]
    assert past(world.service, 30 * DAY) == []
    world.clock.now += 30 * DAY
    (campaign,) = past(world.service, 30 * DAY)
    submit = world.app.state.writer.submit
    while world.wait(submit(partial(forget_reports, campaign=campaign))):
        pass
    gone = world.wait(submit(partial(forget_members, campaign=campaign)))
    assert gone == 4
    assert past(world.service, 30 * DAY) == []
    assert count(world, "invitations") == count(world, "entries") == count(world, "reports") == 0
    assert world.refused(401, "GET", "/v1/me", members[0])
    assert world.ok("GET", "/v1/me", stays)["state"] == "joined"
    with world.store.reading() as tx:
        assert tx.connection.execute(select(func.count()).select_from(producers)).scalar() == 1
    kept = world.periods(old, consumer)["2026-11-16"]
    assert kept | {"smoothed": None} == shown | {"smoothed": None}
