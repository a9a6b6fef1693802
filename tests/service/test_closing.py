"""Closing is a decision over cells; publishing and deleting come after it and hold up nobody."""

import random
from itertools import islice
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import event

from halfmask.service.campaign import Campaign
from halfmask.service.cells import added_cells, count_reports, merge, negated
from halfmask.service.closing import close_all, close_due, delete_closed, delete_some
from halfmask.service.storage.report_rows import ReportRow
from halfmask_device.campaign_calendar import Span
from tests.service.world import World

DAY = "2026-11-16"
AFTER = "2026-11-17T01:00:00Z"


def campaign_of(world: World, name: str) -> tuple[Campaign, Span]:
    with world.store.reading() as tx:
        found = world.service.campaign(tx, name)
    assert found is not None
    return found, found.named_span(DAY, "period")


def send(world: World, campaign: str, producers: int, each: int) -> list[str]:
    tokens = [world.join(campaign, "N") for _ in range(producers)]
    for token in tokens:
        told = world.report(token, *((f"{DAY}T{hour:02}:00:00Z", 1 + hour, "N") for hour in range(each)))
        assert {result["status"] for result in told} == {"accepted"}
    return tokens


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(-50, 50), st.sampled_from("ABN")), max_size=40
    ),
    st.randoms(use_true_random=False),
)
def test_cells_follow_reports_that_come_in_any_order_and_are_withdrawn(
    sent: list[tuple[int, int, int, str]], chance: random.Random
) -> None:
    """Batches of new reports, and producers who withdraw all of theirs, leave the cells of what is stored."""
    stored: dict[tuple[int, int], ReportRow] = {}
    cells: dict[str, Any] = {}
    rest = iter(dict.fromkeys(ReportRow(*each, reward=0) for each in sent))
    while batch := list(islice(rest, chance.randint(1, 6))):
        new = {row[:2]: row for row in batch if row[:2] not in stored}
        first = {row.producer: (row.time, row.setting) for row in sorted(stored.values(), reverse=True)}
        cells = merge([cells, added_cells(new.values(), first)])
        stored |= new
        if chance.random() < 0.3:
            leaver = chance.randint(0, 3)
            gone = sorted(row for row in stored.values() if row.producer == leaver)
            cells = merge([cells, negated(count_reports(gone))])
            stored = {key: row for key, row in stored.items() if row.producer != leaver}
        assert cells == count_reports(sorted(stored.values()))


def test_a_close_reads_no_report_however_many_there_are(any_world: World) -> None:
    world, seen = any_world, list[list[str]]()
    consumer = world.consumer()
    for producers, each in ((3, 1), (6, 12)):
        name = world.campaign(consumer)
        send(world, name, producers, each)
        campaign, span = campaign_of(world, name)
        statements: list[str] = []

        def note(_: Any, __: Any, statement: str, *___: Any, statements: list[str] = statements) -> None:
            statements.append(statement)

        event.listen(world.store.engine, "before_cursor_execute", note)
        with world.store.transaction() as tx:
            close_all(tx, campaign, [span], world.clock.now)
        event.remove(world.store.engine, "before_cursor_execute", note)
        seen.append(statements)
    assert seen[0] == seen[1]
    assert not any(
        "FROM reports" in statement or "producers" in statement.partition("FROM")[2] for statement in seen[1]
    )


def test_what_was_closed_is_published_after_a_restart_and_once(any_world: World) -> None:
    """Between the two steps nothing is shown, and nothing is taken."""
    world = any_world
    consumer = world.consumer()
    name = world.campaign(consumer)
    token, *_ = send(world, name, 3, 2)
    campaign, span = campaign_of(world, name)
    with world.store.transaction() as tx:
        close_all(tx, campaign, [span], world.clock.now)
    shown = world.periods(name, consumer)[DAY]  # which publishes, as the next turn after a restart does
    for late in ((f"{DAY}T05:00:00Z", 5, "N"), (f"{DAY}T00:00:00Z", 1, "N")):
        assert world.report(token, late)[0] == {"status": "refused", "code": "closed"}
    assert world.ok("DELETE", "/v1/me", token)["withdrawn"] == 0
    assert (shown["state"], shown["reports"], round(shown["sum"]["estimate"] * 1000)) == ("closed", 6, 9)
    for _ in range(2):
        world.wait(close_due(world.service, world.app.state.writer, world.clock.now))
    assert world.periods(name, consumer)[DAY] == shown
    with world.store.reading() as tx:
        assert [period for _, period in tx.events(campaign.key, 0)].count(DAY) == 1
        assert tx.unpublished() == []


def test_a_closed_period_that_is_not_published_shows_nothing(world: World) -> None:
    consumer = world.consumer()
    name = world.campaign(consumer)
    send(world, name, 3, 2)
    campaign, span = campaign_of(world, name)
    with world.store.transaction() as tx:
        close_all(tx, campaign, [span], world.clock.now)
    with world.store.reading() as tx:
        from halfmask.service.campaign_periods import periods

        (entry,) = periods(tx, campaign, [span])
    assert (entry["state"], entry["withheld"], entry["sum"], entry["reports"]) == ("open", "open", None, None)


def test_reports_are_deleted_in_steps_and_nothing_else_is(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    live = world.campaign(consumer, live=True)
    kept, other = world.campaign(consumer, keep_reports="always"), world.campaign(consumer, grace_minutes=6000)
    for name in (live, kept, other):
        send(world, name, 4, 10)
    world.clock.set(AFTER)
    shown = {name: world.periods(name, consumer)[DAY] for name in (live, kept)}
    left, steps = {}, 0
    campaign, span = campaign_of(world, live)
    while steps < 50:
        steps += 1
        with world.store.transaction() as tx:
            if delete_some(tx, campaign, DAY, 7):
                break
    assert 3 <= steps <= 12
    assert world.wait(delete_closed(world.service, world.app.state.writer, world.clock.now)) == 1  # the kept one
    for name in (live, kept, other):
        campaign, span = campaign_of(world, name)
        with world.store.reading() as tx:
            left[name] = len(list(tx.reports_in(campaign.bucket(span))))
            open_cells = tx.periods_with_cells(campaign.key)
            changed = tx.touched(campaign.key, DAY), tx.changes(campaign.key, DAY)
        assert (changed, open_cells) == (([], {}), [DAY] if name == other else [])
    assert left == {live: 0, kept: 40, other: 40}
    assert shown == {name: world.periods(name, consumer)[DAY] for name in (live, kept)}


def test_somebody_who_reads_a_period_holds_up_its_deletion_and_no_post(any_world: World) -> None:
    world = any_world
    consumer = world.consumer()
    name, other = world.campaign(consumer), world.campaign(consumer)
    send(world, name, 4, 10)
    world.clock.set(AFTER)
    assert world.periods(name, consumer)[DAY]["reports"] == 40
    campaign, span = campaign_of(world, name)
    writer = world.app.state.writer
    with world.store.reading() as tx:
        rows = tx.reports_in(campaign.bucket(span))
        assert next(rows).steps == 1
        assert world.wait(delete_closed(world.service, writer, world.clock.now)) in (0, 1)
        token = world.join(other, "N")
        assert world.report(token, ("2026-11-17T00:30:00Z", 5, "N"))[0]["status"] == "accepted"
        assert sum(1 for _ in rows) == 39
    world.wait(delete_closed(world.service, writer, world.clock.now))
    with world.store.reading() as tx:
        assert list(tx.reports_in(campaign.bucket(span))) == []
