"""Agents whose menu masks totals: one report a day, its truth is the day's total, and one draw of noise a producer."""

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

import halfmask
from halfmask.commands.simulate import Simulate, panel, world_of
from halfmask.menus.menu import Menu
from halfmask.simulation.simulated_producers import FIRST_DAY
from halfmask.simulation.simulated_service import hosted
from halfmask.simulation.simulation import Simulation
from halfmask.simulation.simulation_result import SimulationResult
from halfmask_device.protocol import read_instant
from halfmask_device.setting import law_of

ASKED = Simulate(producers=60, days=6, liars=0.1, offline=0.2, loses=0.1, budget=30_000, leaves=0.01, seed=3)


def menu_of_totals() -> Menu:
    """The levels of an offer made from the same kind of homes, masked once a day."""
    from tests.choice.test_totals import of_days

    return of_days()


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SimulationResult, list[float], Simulation]]:
    folder = tmp_path_factory.mktemp("simulation")
    _, readings = panel(folder, ASKED, FIRST_DAY)
    with hosted(folder, read_instant("1971-01-01T00:00:00Z")) as host:
        world = world_of(ASKED, menu_of_totals(), readings, FIRST_DAY)
        simulation = Simulation(world, host, folder, lambda _: None, lambda _: None, processes=2)
        result = asyncio.run(simulation.run())
        read = [sum(float(value) for own in readings for _, value in own[day]) for day in range(ASKED.days)]
        yield result, read, simulation
        simulation.connections.close()


def test_the_published_sum_is_of_totals(ran: tuple[SimulationResult, list[float], Simulation]) -> None:
    result, read, simulation = ran
    held, published = result.held
    assert published == ASKED.days
    assert result.held_as_sent >= 3
    for row, most in zip(result.rows, read, strict=True):
        assert row.reports == sum(row.producers.values())
        assert 0 < row.truth <= most + 0.05
    assert any(row.moved for row in result.rows)
    assert held <= published
    offer = simulation.service.ask("GET", f"/v1/campaigns/{result.campaign}")
    assert (offer["release"], offer["readings_expected"], offer["every_minutes"]) == ("total", 48, None)


def test_the_interval_is_that_of_one_draw_a_producer(
    ran: tuple[SimulationResult, list[float], Simulation],
) -> None:
    result, _, simulation = ran
    laws = {
        each.id: law_of(str(each.setting), simulation.world.lattice.step) for each in simulation.world.menu.settings
    }
    step = float(simulation.world.lattice.unit)
    for row in result.rows:
        variance = sum(count * laws[id].variance for id, count in row.producers.items())
        assert row.high is not None
        assert row.estimate is not None
        assert row.high - row.estimate == pytest.approx(
            1.96 * step * math.sqrt(variance), rel=0.2
        )  # 48 draws: 7 times it


def test_the_command_takes_a_menu_of_totals(tmp_path: Path) -> None:
    file = tmp_path / "menu.json"
    menu_of_totals().write(file)
    found = halfmask.simulate(producers=30, days=3, menu=file, budget=0, output=tmp_path / "days.csv", seed=2)
    assert [row.reports for row in found.result.rows] == [sum(row.producers.values()) for row in found.result.rows]
    assert 0 <= found.mixes.min() <= found.mixes.max() <= 1
