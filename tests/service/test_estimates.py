"""Estimates: exact sums, intervals that hold the truth as often as they say, and what is only given on request."""

import itertools
from typing import Any

import numpy as np
import pytest

from halfmask.service.campaign import Campaign, LatticeNoise, check_campaign
from halfmask.service.cells import Cells, merge
from halfmask.service.estimates import estimates, period_entry, total_noise, weighted_mean
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.instants import instant_text
from halfmask_device.protocol import Cell
from tests.service.world import CAMPAIGN, World, instant
from tests.statistics import fair_coin

MENU = {
    "settings": [
        {"id": "A", "setting": "laplace:0.5"},
        {"id": "B", "setting": "sine:0.9,0.3,0.6,0.6,0.3"},
        {"id": "G", "setting": "gaussian:0.1"},
        {"id": "U", "setting": "uniform:0.7"},
        {"id": "N", "setting": "none"},
    ]
}


def campaign(**changed: Any) -> Campaign:
    return Campaign(
        1, "c", 1, check_campaign({**CAMPAIGN, "menu": MENU, "rewards": {}, "least_producers": 1, **changed})
    )


OFFER = campaign()


def draw(noise: LatticeNoise, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    side = noise.masses(1)
    chances = np.concatenate([side[:1], 2 * side[1:]])
    return rng.choice(side.size, size, p=chances / chances.sum()) * rng.choice([-1, 1], size)


def mixed(producers: int, rng: np.random.Generator) -> dict[str, int]:
    """Reports per setting, so many in all."""
    names = list(OFFER.noises)
    return dict(zip(names, rng.multinomial(producers, rng.dirichlet(np.ones(len(names)))).tolist(), strict=True))


@pytest.mark.parametrize("producers", [20, 60, 200, 2000])
@pytest.mark.parametrize("mix", ["mixed", "A", "B"])
def test_intervals_hold_the_truth_in_95_of_100_periods(producers: int, mix: str) -> None:
    """2,000 periods of each cohort: 95 % +- 1.5 %; and an interval for a tenth less noise would not."""
    rng = np.random.default_rng(producers)
    periods, held, short = 2000, 0, 0
    counts = mixed(producers, rng) if mix == "mixed" else {mix: producers}
    laws = {OFFER.noises[name]: n for name, n in counts.items()}
    reach = total_noise(laws)[1]
    errors = np.zeros(periods)
    for noise, n in laws.items():
        if noise.variance:
            for start in range(0, periods, 250):
                errors[start : start + 250] += draw(noise, (250, n), rng).sum(axis=1)
    held, short = int(np.sum(np.abs(errors) <= reach)), int(np.sum(np.abs(errors) <= reach * 0.88))
    assert abs(held / periods - 0.95) <= 0.015
    assert short / periods < 0.935


def test_the_exact_tail_is_needed_where_reports_are_few() -> None:
    """One report under Laplace noise: 1.96 standard errors hold the truth in 93.7 of 100, and that is noticed."""
    noise = OFFER.noises["A"]
    rng = np.random.default_rng(3)
    errors = np.abs(draw(noise, (200_000,), rng))
    variance, reach = total_noise({noise: 1})
    assert np.mean(errors <= reach) == pytest.approx(0.95, abs=0.003)
    assert np.mean(errors <= 1.96 * variance**0.5) < 0.94
    assert reach / variance**0.5 == pytest.approx(2.118, abs=0.002)


def cells_of(readings: dict[str, np.ndarray], rng: np.random.Generator) -> Cells:
    cells = {}
    for name, values in readings.items():
        steps = [int(each) for each in values + draw(OFFER.noises[name], values.shape, rng)]
        cells[name] = Cell(len(steps), len(steps), sum(steps), sum(step * step for step in steps))
    return cells


def test_sum_mean_and_variance_are_of_the_readings() -> None:
    """Over many periods estimates scatter around the truth as their standard errors say; the noise is subtracted."""
    rng = np.random.default_rng(4)
    readings = {"A": rng.integers(0, 2000, 300), "B": rng.integers(500, 900, 200), "N": rng.integers(0, 100, 100)}
    every = np.concatenate(list(readings.values())) / 1000
    truth = {"sum": every.sum(), "mean": every.mean(), "variance": every.var()}
    found = [estimates(OFFER, cells_of(readings, rng)) for _ in range(400)]
    for name, true in truth.items():
        z = np.array([(each[name]["estimate"] - true) / each[name]["standard_error"] for each in found])
        assert abs(z.mean()) < 5 / 20
        assert 0.85 < z.std() < 1.15
        held = sum(each[name]["low"] <= true <= each[name]["high"] for each in found)
        assert 0.90 < held / 400 < 0.99
    signs = sum(each["variance"]["estimate"] > truth["variance"] for each in found)
    assert fair_coin(signs, 400, tests=1)


def test_sums_are_exact_beyond_64_bits() -> None:
    big = 2**62
    cells = {"N": Cell(4, 4, 4 * big, 4 * big * big)}
    wide = campaign(
        lattice={"step": "1", "low": "0", "high": str(big)}, menu={"settings": [{"id": "N", "setting": "none"}]}
    )
    assert estimates(wide, cells)["sum"]["estimate"] == float(4 * big)
    assert estimates(wide, cells)["variance"]["estimate"] == 0.0


@pytest.mark.parametrize("reports", [1, 3, 7])
def test_the_ends_of_an_interval_hold_a_truth_on_the_lattice(reports: int) -> None:
    """0.4 - 0.1 is above 0.3 in floating point: ends are rounded once, from exact numbers."""
    offer = campaign(
        lattice={"step": "0.1", "low": "0", "high": "20"}, menu={"settings": [{"id": "U", "setting": "uniform:0.1"}]}
    )
    reach = round(total_noise({offer.noises["U"]: reports})[1])
    assert reach >= 1
    for truth in range(200):
        for noise in (-reach, reach):
            total = truth + noise
            found = estimates(offer, {"U": Cell(reports, reports, total, total**2)})
            assert found["sum"]["low"] <= truth / 10 <= found["sum"]["high"]
            assert found["mean"]["low"] <= truth / 10 / reports * (1 + 1e-15)


def test_cells_merge_in_any_order() -> None:
    rng = np.random.default_rng(5)
    parts = [cells_of({"A": rng.integers(0, 9, 3), "N": rng.integers(0, 9, 2)}, rng) for _ in range(4)]
    totals = [merge([merge(order[:2]), merge(order[2:])]) for order in itertools.permutations(parts)]
    assert all(each == totals[0] for each in totals)


def test_below_the_least_cohort_an_entry_is_empty() -> None:
    offer = campaign(least_producers=3)
    assert period_entry(offer, "p", "closed", {"A": Cell(9, 2, 1, 1)})["withheld"] == "fewer than 3 producers"
    assert period_entry(offer, "p", "closed", {})["withheld"] == "fewer than 3 producers"
    assert period_entry(campaign(least_producers=1), "p", "closed", {})["withheld"] == "no reports"
    assert period_entry(offer, "p", "closed", {"A": Cell(9, 2, 1, 1), "N": Cell(1, 1, 0, 0)})["withheld"] is None


def test_a_weighted_mean_is_biased_by_self_selection_and_withheld() -> None:
    """Half of the homes use 0.3 and mask little, half use 0.6 and mask much: 0.337 in place of 0.45."""
    weights = [1 / 0.01, 1 / 0.07]
    assert sum(w * m for w, m in zip(weights, (0.3, 0.6), strict=True)) / sum(weights) == pytest.approx(
        0.3375, abs=1e-3
    )
    rng = np.random.default_rng(6)
    little, much = np.full(5000, 300), np.full(5000, 600)
    apart = weighted_mean(OFFER, cells_of({"G": little, "A": much}, rng))
    assert apart["estimate"] is None
    assert apart["test"]["differ"]
    alike = weighted_mean(OFFER, cells_of({"G": little, "A": little}, rng))
    assert alike["low"] < 0.3 < alike["high"]
    assert alike["standard_error"] < 0.1 / 5000**0.5 * 1.1
    assert not alike["test"]["differ"]


def test_nothing_tells_of_a_setting_with_fewer_than_the_least_cohort() -> None:
    """What is shown of 20 producers is the same whatever the one who masks otherwise sent, given sum and squares."""
    offer = campaign(least_producers=20)
    crowd, lone = Cell(1900, 19, 950_000, 500_000_000), Cell(2, 1, 3000, 5_000_000)
    other = Cell(2, 1, -1500, 4_000_000)
    rest = Cell(1900, 19, *(sum(pair) for pair in ((950_000, 4500), (500_000_000, 1_000_000))))
    one, two = (
        period_entry(offer, "p", "closed", cells) for cells in ({"A": crowd, "G": lone}, {"A": rest, "G": other})
    )
    assert one["withheld"] is None
    assert one == two
    assert weighted_mean(offer, {"A": crowd, "G": lone})["test"] is None
    # where each setting has its cohort, both are told again
    many = {"A": crowd._replace(producers=20), "G": lone._replace(reports=200, producers=20, squares=10**9)}
    assert weighted_mean(offer, many)["test"] is not None


def test_looks_at_an_open_period_tell_nothing_of_single_settings() -> None:
    """Two looks may differ by one producer of a setting, though each has its cohort: only the totals may be seen."""
    offer = campaign(least_producers=20)
    many, few = Cell(1900, 40, 950_000, 500_000_000), Cell(200, 20, 100_000, 60_000_000)
    moved = {"A": many._replace(sum=945_000, squares=490_000_000), "G": few._replace(sum=105_000, squares=70_000_000)}
    one, two = (period_entry(offer, "p", "open", cells) for cells in ({"A": many, "G": few}, moved))
    assert one == two
    one, two = (period_entry(offer, "p", "closed", cells) for cells in ({"A": many, "G": few}, moved))
    assert one["variance"]["standard_error"] != two["variance"]["standard_error"]  # closed once, and looked at whole


def test_more_is_given_on_request_alone(world: World) -> None:
    consumer = world.consumer()
    offer = world.campaign(consumer)
    for steps in (1000, 2000, 3000):
        world.report(world.join(offer), ("2026-11-16T11:00:00Z", steps, "N"))
    world.clock.set("2026-11-17T12:00:00Z")
    plain = world.periods(offer, consumer)["2026-11-16"]
    assert "population" not in plain
    assert "weighted_mean" not in plain
    more = world.periods(offer, consumer, population="300", weighted="true")
    assert more["2026-11-17"]["population"] is None
    asked = more["2026-11-16"]["population"]
    assert asked["estimate"] == pytest.approx(600)
    # sampling alone: sqrt((1 - 1/100) 300^2 (2/3)/3), as there is no noise
    assert asked["standard_error"] == pytest.approx((0.99 * 300**2 * (2 / 3) / 3) ** 0.5)
    assert "random sample" in asked["assumes"]
    path = f"/v1/campaigns/{offer}/periods"
    assert world.refused(422, "GET", path, consumer, params={"population": "2"})["field"] == "population"


@pytest.mark.parametrize(
    ("kind", "zone", "time", "key", "begins", "ends"),
    [
        ("day", "Europe/Dublin", "2026-03-29T12:00:00Z", "2026-03-29", "2026-03-29T00:00:00Z", "2026-03-29T23:00:00Z"),
        ("day", "Europe/Dublin", "2026-10-25T12:00:00Z", "2026-10-25", "2026-10-24T23:00:00Z", "2026-10-26T00:00:00Z"),
        (
            "day",
            "America/Sao_Paulo",
            "2018-11-04T12:00:00Z",
            "2018-11-04",
            "2018-11-04T03:00:00Z",
            "2018-11-05T02:00:00Z",
        ),
        ("day", "Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"),
        ("week", "UTC", "2026-01-01T00:00:00Z", "2026-W01", "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z"),
        ("month", "Asia/Kolkata", "2026-02-28T18:30:00Z", "2026-03", "2026-02-28T18:30:00Z", "2026-03-31T18:30:00Z"),
        ("year", "UTC", "2026-12-31T23:59:59.999999Z", "2026", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        (
            "half_hour",
            "Asia/Kathmandu",  # 5:45 ahead: half-hours are those of UTC
            "2026-10-25T01:44:59.999999Z",
            "2026-10-25T0130Z",
            "2026-10-25T01:30:00Z",
            "2026-10-25T02:00:00Z",
        ),
        (
            "quarter_hour",
            "Europe/Dublin",
            "2026-10-25T00:45:00Z",
            "2026-10-25T0045Z",
            "2026-10-25T00:45:00Z",
            "2026-10-25T01:00:00Z",
        ),
        (
            "hour",
            "Europe/Dublin",
            "2026-10-25T01:30:00Z",
            "2026-10-25T01Z",
            "2026-10-25T01:00:00Z",
            "2026-10-25T02:00:00Z",
        ),
    ],
)
def test_periods_are_cut_in_the_campaigns_zone(
    kind: str, zone: str, time: str, key: str, begins: str, ends: str
) -> None:
    calendar = Calendar(kind, zone)
    span = calendar.span_of(instant(time))
    assert (span.key, instant_text(span.begins), instant_text(span.ends)) == (key, begins, ends)
    assert calendar.named(key) == span
    assert calendar.named(key + "x") is None


@pytest.mark.parametrize("kind", ["quarter_hour", "half_hour", "hour", "day", "week", "month"])
@pytest.mark.parametrize("zone", ["Europe/Dublin", "Pacific/Apia", "America/Havana", "Australia/Lord_Howe"])
def test_periods_partition_time(kind: str, zone: str) -> None:
    calendar = Calendar(kind, zone)
    begins, ends = instant("2011-09-01T00:00:00Z"), instant("2012-05-01T00:00:00Z")
    spans = list(calendar.spans(begins, ends))
    assert all(one.ends == two.begins and one.begins < one.ends for one, two in itertools.pairwise(spans))
    assert spans[0].begins <= begins
    assert spans[-1].ends >= ends
    assert len({span.key for span in spans}) == len(spans)
    for span in spans[:: max(1, len(spans) // 50)]:
        assert Calendar(kind, zone).span_of(span.begins) == Calendar(kind, zone).span_of(span.ends - 1) == span
