"""How far few producers could have moved a sum, and the sum without the most extreme: ten liars among a thousand."""

from typing import Any

import numpy as np
import pytest

from halfmask.service.influence import trimmed_sum
from tests.service.world import CAMPAIGN, World

PRODUCERS, NOISE, LEAST = 1000, 2.5, 20
RUNS = 300


def truth_and_reports(liars: int, times: float, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """The sum of what homes use, and each home's sum of reports; liars report so many times the mean."""
    used = rng.gamma(3, 3.5, PRODUCERS)
    reports = used + rng.normal(0, NOISE, PRODUCERS)
    reports[:liars] = times * used.mean() + rng.normal(0, NOISE, liars)
    return float(used.sum()), reports


def test_a_sum_that_ten_liars_moved_by_two_fifths_is_put_right() -> None:
    """The interval holds in at least 95 of 100 runs, and one of half its width does not."""
    rng, held, half, plain = np.random.default_rng(0), 0, 0, 0.0
    for _ in range(RUNS):
        truth, reports = truth_and_reports(10, 40, rng)
        found = trimmed_sum(reports, NOISE * PRODUCERS**0.5, LEAST)
        assert found is not None
        plain += (float(reports.sum()) / truth - 1) / RUNS
        held += found["low"] <= truth <= found["high"]
        half += abs(found["estimate"] - truth) <= (found["high"] - found["low"]) / 4
    assert plain == pytest.approx(0.39, abs=0.01)
    assert half / RUNS < 0.95 <= held / RUNS
    assert found["left_out"] == 2 * LEAST


def test_honest_producers_and_small_periods_have_no_second_sum() -> None:
    rng = np.random.default_rng(1)
    assert not any(trimmed_sum(truth_and_reports(0, 0, rng)[1], 79.0, LEAST) for _ in range(RUNS))
    reports = truth_and_reports(10, 40, rng)[1]
    assert trimmed_sum(reports[: 10 * LEAST - 1], 35.0, LEAST) is None
    low = trimmed_sum(truth_and_reports(10, -40, rng)[1], 79.0, LEAST)
    assert low is not None
    assert low["estimate"] > 0


@pytest.mark.parametrize(
    ("changed", "reports", "moved"),
    [
        ({"every_minutes": 30}, 4, {"1": 4, "10": 6}),  # of six reports of three, at least one is of each other
        ({}, 2, {"1": 2, "10": 4}),
    ],
)
def test_a_published_period_says_how_far_few_could_have_moved_it(
    any_world: World, changed: dict[str, Any], reports: int, moved: dict[str, int]
) -> None:
    world, consumer = any_world, any_world.consumer()
    menu = {"settings": [{"id": "N", "setting": "none"}]}
    campaign = world.campaign(consumer, menu=menu, rewards={"N": 1}, **changed)
    for number in range(3):
        times = [f"2026-11-16T{hour:02}:00:00Z" for hour in range(reports if number == 0 else 1)]
        world.report(world.join(campaign, "N"), *((time, 20_000 if number else 7, "N") for time in times))
    world.clock.set("2026-11-17T02:00:00Z")
    period = world.periods(campaign, consumer)["2026-11-16"]
    assert period["influence"] == {k: pytest.approx(20.0 * each) for k, each in moved.items()}
    assert period["at_bounds"] == {"low": 0.0, "high": pytest.approx(2 / (reports + 2))}
    assert period["trimmed"] is None
    assert CAMPAIGN["lattice"]["high"] == "20"
