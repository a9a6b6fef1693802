"""Agents with the real client against the real service: what is published holds the truth, and liars are found."""

import csv
from itertools import pairwise
from pathlib import Path

import pytest

import halfmask
from halfmask.commands.simulate import Simulated
from halfmask.errors import OptionError
from halfmask.service.instants import system_clock
from halfmask.simulation.host import hosted


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[Simulated, Path]:
    """Fifty producers over seven days, some of whom lie, are offline, or have a network that loses messages."""
    output = tmp_path_factory.mktemp("simulation") / "days.csv"
    made = halfmask.simulate(
        producers=50, days=7, liars=0.1, offline=0.2, loses=0.1, budget=400_000, output=output, seed=3
    )
    return made, output


def test_published_intervals_hold_the_truth(found: tuple[Simulated, Path]) -> None:
    made, _ = found
    held, published = made.result.held
    assert published == 7
    assert held >= 4  # fewer has a chance of 6e-5 where each holds it 95 times of 100
    masked = [row for row in made.result.rows if row.high != row.low]
    wrong = [row for row in masked if row.low is not None and row.high is not None]
    assert not all(row.low <= 1.5 * row.truth <= row.high for row in wrong)  # type: ignore[operator]


def test_rewards_are_paid_within_the_budget_and_move_producers(found: tuple[Simulated, Path]) -> None:
    made, _ = found
    assert made.result.rows[-1].spent <= 400_000
    assert any(one.producers != other.producers for one, other in pairwise(made.result.rows))
    assert made.result.learned is not None
    assert made.result.learned.money > 0


def test_those_who_lie_under_a_masked_setting_are_found_and_nobody_else(found: tuple[Simulated, Path]) -> None:
    made, _ = found
    assert made.suspects is not None
    assert made.suspects <= made.result.liars
    assert made.suspects


def test_there_is_a_row_for_each_day(found: tuple[Simulated, Path]) -> None:
    made, output = found
    with output.open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["day"]) for row in rows] == [1, 2, 3, 4, 5, 6, 7]
    assert float(rows[0]["truth"]) == pytest.approx(made.result.rows[0].truth)


def test_what_cannot_be_simulated_is_refused() -> None:
    with pytest.raises(OptionError, match="two days"):
        halfmask.simulate(producers=10, days=1)
    with pytest.raises(OptionError, match="share from 0"):
        halfmask.simulate(producers=10, days=3, liars=1.0)


def test_a_service_that_runs_already_serves_as_well(tmp_path: Path) -> None:
    """Here one with a clock of its own, as far as the simulation knows."""
    with hosted(tmp_path, system_clock()) as host:
        made = halfmask.simulate(producers=30, days=2, service=host.address, operator=host.operator, spread=0.0)
    assert made.result.held[1] == 2
    assert made.suspects is None


@pytest.mark.slow
def test_the_live_system_agrees_with_mix_and_its_intervals_keep_their_word() -> None:
    made = halfmask.simulate(producers=300, days=30, budget=0, leaves=0.0, seed=5)
    held, published = made.result.held
    assert published == 30
    assert held >= 23  # 28.5 are meant; fewer than 23 has a chance of 7e-5
    assert made.utility == pytest.approx(made.mixed, abs=0.05)
