"""A gateway's cells arrive above, once, whatever happens to the messages and to either side."""

import asyncio
import math
import random
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from halfmask.errors import RunError
from halfmask.service.background_tasks import repeated
from halfmask.service.closing import close_all
from halfmask.service.gateway import EVERY, Gateway, next_turn, sooner
from halfmask.service.refusal import Refusal
from halfmask_device.http_client import ServiceClient as Upstream
from halfmask_device.http_client import ServiceError, Transport
from tests.service.links import Faulty, link
from tests.service.world import Clock, World, running, sqlite_url

TIMES = [f"2026-11-16T{hour:02}:00:00Z" for hour in range(12)]
DAY = "2026-11-16"


@contextmanager
def services(folder: Path, *names: str) -> Iterator[list[World]]:
    """Services with databases and clocks of their own."""
    with ExitStack() as stack:
        worlds = []
        for name in names:
            (folder / name).mkdir()
            worlds.append(stack.enter_context(running(sqlite_url(folder / name), clock=Clock())))
        yield worlds


def gateway(world: World, above: Transport, token: str) -> Gateway:
    return Gateway(world.service, world.app.state.writer, Upstream("http://above", above, tries=1), token)


def node_token(world: World, campaign: str) -> str:
    return str(world.ok("POST", f"/v1/campaigns/{campaign}/nodes", world.operator, {"name": "gateway"})["token"])


def shared(world: World, campaign: str, producers: int, first: int) -> int:
    """Reports of so many producers; their sum in steps."""
    total = 0
    for number in range(producers):
        token = world.join(campaign, "N")
        reports = [(time, first + 100 * number + hour, "N") for hour, time in enumerate(TIMES)]
        assert {each["status"] for each in world.report(token, *reports)} == {"accepted"}
        total += sum(steps for _, steps, _ in reports)
    return total


def closed(world: World, campaign: str, consumer: str) -> dict[str, Any]:
    """The day as it is closed at its deadline."""
    world.clock.set("2026-11-17T01:00:00Z")
    return world.periods(campaign, consumer)[DAY]


def test_a_tree_of_gateways_adds_up(tmp_path: Path) -> None:
    with services(tmp_path, "above", "middle", "below") as (above, middle, below):
        consumer = above.consumer()
        campaign = above.campaign(consumer)
        first = gateway(middle, link(above), node_token(above, campaign))
        middle.wait(first.round())
        offer = middle.ok("GET", f"/v1/campaigns/{campaign}")
        assert (offer["grace_minutes"], offer["rewards"], offer["budget"]) == (55, {}, 0)
        # nobody is the consumer at a gateway: its operator adds the node below
        second = gateway(below, link(middle), node_token(middle, campaign))
        below.wait(second.round())
        total = shared(above, campaign, 2, 5) + shared(middle, campaign, 3, 1000)
        middle.wait(first.round())
        total += shared(below, campaign, 4, 7000)
        below.wait(second.round())
        middle.wait(first.round())
        assert middle.wait(first.round()) == 0  # nothing new, nothing sent
        period = closed(above, campaign, consumer)
        assert (period["reports"], period["producers"]) == (9 * 12, 9)
        assert round(period["sum"]["estimate"] * 1000) == total


@pytest.mark.parametrize("seed", range(5))
def test_lost_doubled_and_late_messages_change_no_total(tmp_path: Path, seed: int) -> None:
    with services(tmp_path, "above", "gateway") as (above, below):
        consumer = above.consumer()
        campaign = above.campaign(consumer)
        token = node_token(above, campaign)
        faulty = Faulty(link(above), random.Random(seed))
        below.wait(gateway(below, link(above), token).round())
        total, sender = 0, gateway(below, faulty, token)
        for turn in range(12):
            total += shared(below, campaign, 1, 100 * turn)
            if turn % 4 == 3:
                sender = gateway(below, faulty, token)  # restarted: it knows nothing of what has arrived
            with_luck(below, sender)
        assert faulty.faults > 3
        faulty.broken = False
        below.wait(sender.round())
        period = closed(above, campaign, consumer)
        assert (period["reports"], period["producers"]) == (12 * 12, 12)
        assert round(period["sum"]["estimate"] * 1000) == total


def with_luck(world: World, sender: Gateway) -> None:
    with suppress(RunError):  # what was lost is sent by the next look
        world.wait(sender.round())


def test_what_the_gateway_closed_arrives_and_what_comes_later_does_not(tmp_path: Path) -> None:
    with services(tmp_path, "above", "gateway") as (above, below):
        consumer = above.consumer()
        campaign = above.campaign(consumer)
        sender = gateway(below, link(above), node_token(above, campaign))
        below.wait(sender.round())
        token = below.join(campaign, "N")
        total = shared(below, campaign, 3, 50)
        below.clock.set("2026-11-17T00:55:00Z")  # the gateway's deadline; the one above has five minutes more
        (late,) = below.report(token, ("2026-11-16T23:00:00Z", 1, "N"))
        assert late == {"status": "refused", "code": "closed"}
        ((mine, spans),) = below.service.due(below.clock())
        assert len(spans) == 2
        with below.store.transaction() as tx:
            close_all(tx, mine, spans, below.clock())
        assert below.wait(sender.round()) >= 1
        assert round(closed(above, campaign, consumer)["sum"]["estimate"] * 1000) == total


def test_the_next_turn_comes_at_the_deadline_and_often_after_it(tmp_path: Path) -> None:
    with services(tmp_path, "above", "gateway") as (above, below):
        campaign = above.campaign(above.consumer())
        assert next_turn(below.service) == math.inf
        below.wait(gateway(below, link(above), node_token(above, campaign)).round())
        for now, seconds in (
            ("2026-11-17T00:54:00Z", 60),  # its own deadline is five minutes before the one above
            ("2026-11-17T00:55:00Z", EVERY),
            ("2026-11-17T00:59:59Z", EVERY),
            ("2026-11-17T01:00:00Z", 86_100),
        ):
            below.clock.set(now)
            assert next_turn(below.service) == seconds


def test_turns_that_fail_still_come_in_time(world: World) -> None:
    """Without the limit the fifth would come after 2 + 4 + 8 + 16 hours."""
    enough = threading.Event()
    turns = []

    def make(*_: Any) -> Any:
        async def turn() -> None:
            turns.append(1)
            if len(turns) >= 5:
                enough.set()
            raise OSError("away")

        return turn

    async def live() -> bool:
        task = repeated(make, 7200.0, "failed", within=lambda _: 0.01)
        async with task(world.service, world.app.state.writer):
            return await asyncio.to_thread(enough.wait, 60)

    assert world.wait(live())


def test_who_leaves_at_a_gateway_is_withdrawn_above(tmp_path: Path) -> None:
    with services(tmp_path, "above", "gateway") as (above, below):
        consumer = above.consumer()
        campaign = above.campaign(consumer)
        sender = gateway(below, link(above), node_token(above, campaign))
        below.wait(sender.round())
        total = shared(below, campaign, 3, 50)
        token = below.join(campaign, "N")
        below.report(token, (TIMES[0], 777, "N"))
        below.wait(sender.round())
        below.ok("DELETE", "/v1/me", token)
        below.wait(sender.round())
        period = closed(above, campaign, consumer)
        assert (period["producers"], round(period["sum"]["estimate"] * 1000)) == (3, total)


def test_a_token_that_is_no_nodes_is_refused_by_name(tmp_path: Path) -> None:
    with services(tmp_path, "above", "gateway") as (above, below):
        consumer = above.consumer()
        with pytest.raises(ServiceError) as caught:
            below.wait(gateway(below, link(above), consumer).round())
        assert caught.value.status == 403
        assert below.ok("GET", "/v1/campaigns") == {"campaigns": []}


def test_a_gateway_cannot_share_its_services_database(tmp_path: Path) -> None:
    with services(tmp_path, "above") as (above,):
        consumer = above.consumer()
        token = node_token(above, above.campaign(consumer))
        with pytest.raises(Refusal) as caught:
            above.wait(gateway(above, link(above), token).round())
        assert caught.value.code == "own_campaign"


def test_the_grace_that_is_left() -> None:
    assert [sooner(grace) for grace in (0, 1, 2, 9, 60)] == [0, 1, 1, 5, 5]
