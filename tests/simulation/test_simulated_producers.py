"""What a simulated producer counts as shared is what the service counts, whatever becomes of its messages."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from halfmask.menus.menu import Score, none_setting
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.simulation.simulated_producers import LIE, STAY_OUT, Behaviour, Makings, SimulatedProducer
from halfmask.simulation.simulated_producers import World as Inputs
from halfmask_device.lattice import Lattice
from tests.service.links import link
from tests.service.world import CAMPAIGN, World, sqlite_url
from tests.service.world import running as running_service

DAY = "2026-11-16"
READINGS = [(f"{DAY}T{hour:02}:00:00Z", f"{1 + hour / 10:.3f}") for hour in range(0, 24, 2)]


def producer(
    world: World, campaign: str, folder: Path, behaviour: Behaviour, days: int = 1, liars: float = 0.0
) -> SimulatedProducer:
    """One who shares without noise, so that what is published is what it counts."""
    lattice = Lattice(*(CAMPAIGN["lattice"][name] for name in ("step", "low", "high")))
    menu: Any = SimpleNamespace(
        release="reading", settings=[SimpleNamespace(id="N", setting=none_setting().setting, privacy=Score(0.0, 0.0))]
    )
    choices = ChoiceModel(100.0, 0.0, 1.0)
    inputs = Inputs(menu, [[READINGS] * days], choices, behaviour, liars, 0, 0, lattice, "kWh", 1)
    return SimulatedProducer(Makings(inputs, "http://service", campaign, folder), 0, link(world))


def published(world: World, campaign: str, consumer: str) -> int:
    return round(world.periods(campaign, consumer)[DAY]["sum"]["estimate"] * 1000)


def shared_at_noon(world: World, folder: Path) -> tuple[SimulatedProducer, str, str]:
    """A producer whose afternoon lies in the service's future, so that it stays queued."""
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1, grace_minutes=60)
    agent = producer(world, campaign, folder, Behaviour())
    agent.decide({})
    agent.share(0)
    morning = sum(round(1000 * float(value)) for time, value in READINGS if time <= f"{DAY}T12:05")
    assert agent.truth == {0: morning}
    agent.catch_up()
    assert agent.truth == {0: morning}  # nothing counts twice
    return agent, campaign, consumer


def test_what_is_queued_counts_once_it_is_taken(tmp_path: Path) -> None:
    with running_service(sqlite_url(tmp_path)) as world:
        agent, campaign, consumer = shared_at_noon(world, tmp_path / "device")
        world.clock.set("2026-11-17T00:30:00Z")
        agent.catch_up()
        assert agent.truth == {0: sum(round(1000 * float(value)) for _, value in READINGS)}
        assert not agent.kept_back
        world.clock.set("2026-11-17T01:00:00Z")
        assert published(world, campaign, consumer) == agent.truth[0]


def test_what_is_queued_and_then_refused_never_counts(tmp_path: Path) -> None:
    with running_service(sqlite_url(tmp_path)) as world:
        agent, campaign, consumer = shared_at_noon(world, tmp_path / "device")
        before = dict(agent.truth)
        world.clock.set("2026-11-17T01:00:00Z")
        agent.start = world.clock.now  # the device's clock knows too that the period is closed
        agent.catch_up()
        assert agent.truth == before
        assert not agent.kept_back
        assert published(world, campaign, consumer) == agent.truth[0]


def test_the_truth_of_one_who_lies_is_what_it_read_and_not_what_it_sent(tmp_path: Path) -> None:
    with running_service(sqlite_url(tmp_path)) as world:
        consumer = world.consumer()
        campaign = world.campaign(consumer, least_producers=1)
        agent = producer(world, campaign, tmp_path / "device", Behaviour(), liars=1.0)
        world.clock.set("2026-11-17T00:30:00Z")
        agent.decide({})
        agent.share(0)
        read = sum(round(1000 * float(value)) for _, value in READINGS)
        assert agent.truth == {0: read}
        assert agent.moved == {0: LIE * len(READINGS) - read}
        world.clock.set("2026-11-17T01:00:00Z")
        assert published(world, campaign, consumer) == read + agent.moved[0] != read


def test_a_network_that_loses_most_messages_ends_no_simulation(tmp_path: Path) -> None:
    with running_service(sqlite_url(tmp_path)) as world:
        consumer = world.consumer()
        campaign = world.campaign(consumer, least_producers=1)
        agent = producer(world, campaign, tmp_path / "device", Behaviour(loses=0.99))  # 12 tries fail 9 times of 10
        world.clock.set("2026-11-17T00:30:00Z")
        agent.decide({})
        agent.share(0)
        world.clock.set("2026-11-17T01:00:00Z")
        assert published(world, campaign, consumer) == sum(round(1000 * float(value)) for _, value in READINGS)


def moved_by_money(world: World, campaign: str, folder: Path, leaves: float) -> SimulatedProducer:
    """A producer who shares when a report pays 10, and not when it pays nothing."""
    agent = producer(world, campaign, folder, Behaviour(leaves=leaves), days=2)
    agent.appeal, agent.stays_out, agent.money = {"N": 0.0}, 5.0, 1.0
    return agent


def test_one_whom_a_day_does_not_pay_enough_keeps_what_it_shared_before_and_one_who_leaves_does_not(
    tmp_path: Path,
) -> None:
    """Else the consumer would count it as not taking part at the rewards at which it did."""
    with running_service(sqlite_url(tmp_path)) as world:
        consumer = world.consumer()
        campaign = world.campaign(consumer, least_producers=1)
        agent = moved_by_money(world, campaign, tmp_path / "device", leaves=0.0)
        gone = moved_by_money(world, campaign, tmp_path / "other", leaves=0.0)
        world.clock.set("2026-11-17T00:30:00Z")
        for each in (agent, gone):
            each.decide({"N": 10})
            each.share(0)
        gone.behaviour = Behaviour(leaves=1.0)
        for each in (agent, gone):
            each.decide({"N": 0})
        assert (agent.setting, agent.gone) == (STAY_OUT, False)
        assert gone.gone
        world.clock.set("2026-11-17T01:00:00Z")
        told = world.periods(campaign, consumer)[DAY]
        assert told["settings"]["N"]["producers"] == 1
        assert round(told["sum"]["estimate"] * 1000) == agent.truth[0]
        agent.decide({"N": 10})
        gone.decide({"N": 10})
        assert (agent.setting, gone.setting) == ("N", STAY_OUT)
