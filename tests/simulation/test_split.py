"""Agents who choose among open, blurred and split totals, against two services in two processes."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

import halfmask
from halfmask.commands.simulate import Simulate, panel, world_of
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score, noise_std, none_setting
from halfmask.simulation.simulated_producers import FIRST_DAY
from halfmask.simulation.simulated_service import hosted
from halfmask.simulation.simulation import simulate
from halfmask.simulation.simulation_result import SimulationResult
from halfmask_device.protocol import read_instant
from halfmask_device.setting import law_of
from tests.pages.studies import menu_of
from tests.refusals import refused

LEVELS = {"T": ("laplace:0.01@total", 0.4), "S": ("laplace:0.05@split", 0.25)}
"""Little noise, so that a single home whose day was counted wrongly would show."""
ASKED = Simulate(
    producers=60, days=5, budget=200_000, leaves=0.06, offline=0.35, loses=0.1, take=2.0, worth=2.0, money=1.0, seed=2
)


def level(id: str) -> MenuSetting:
    text, privacy = LEVELS[id]
    setting, score = PrivacySetting.parse(text), Score(privacy, privacy)
    return MenuSetting(id, setting, (0.0, 1.0), score, score, 0.0, noise_std(setting, 0.001))


def menu() -> Menu:
    """Open, blurred and split totals side by side."""
    return replace(menu_of({"T": ("laplace:5@total", 0.4, 0.9)}), settings=(*map(level, LEVELS), none_setting("total")))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulationResult]:
    folder = tmp_path_factory.mktemp("split")
    _, readings = panel(folder, ASKED, FIRST_DAY)
    with hosted(folder, read_instant("1971-01-01T00:00:00Z"), split=True) as host:
        yield simulate(world_of(ASKED, menu(), readings, FIRST_DAY), host, folder)


def test_every_total_is_the_truth_and_the_noise_that_its_interval_states(ran: SimulationResult) -> None:
    assert len(ran.rows) == ASKED.days
    laws = {id: law_of(text, "0.001") for id, (text, _) in LEVELS.items()}
    for row in ran.rows:
        assert row.estimate is not None
        assert row.high is not None
        draws = {"T": row.producers.get("T", 0), "S": 2 if row.producers.get("S", 0) else 0}
        deviation = 0.001 * math.sqrt(sum(count * laws[id].variance for id, count in draws.items()))
        assert row.high - row.estimate == pytest.approx(1.96 * deviation, rel=0.1)
        assert abs(row.estimate - row.truth) < 5.5 * deviation
        assert abs(row.estimate - 2 * row.truth) > 5.5 * deviation  # the check can fail


def test_all_levels_are_taken_and_a_small_part_is_left_out(ran: SimulationResult) -> None:
    taken = [set(row.producers) for row in ran.rows]
    assert any("S" in each for each in taken)
    assert any("S" not in each for each in taken)
    assert any({"T", "N"} <= each for each in taken)
    assert len({row.producers.get("N", 0) for row in ran.rows}) > 1  # rewards change daily, and so do choices


def test_lies_and_a_single_running_service_are_refused() -> None:
    small = replace(ASKED, producers=5, days=2, menu=menu())
    with refused("option.liars", "liars"):
        halfmask.simulate(replace(small, liars=0.1))
    with refused("option.service", "service"):
        halfmask.simulate(replace(small, service="http://127.0.0.1:9", operator="none"))
