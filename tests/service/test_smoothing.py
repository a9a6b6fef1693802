"""Smoothed sums: closer to the truth than the raw ones, as sure as they say, and the raw ones where noise is small."""

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from benchmarks.smoothing import KINDS as DATA
from benchmarks.smoothing import NOISES, WINDOWS, Cell, drawn, tried

from halfmask.service.estimates import NORMAL
from halfmask.service.smoothing import BLOCK, LEAST, MARGIN, Known, best_sums, blocks, smoothed
from halfmask_device.campaign_calendar import KINDS, Calendar
from halfmask_device.protocol import read_instant
from tests.real_data import PEDESTRIANS, SWISS, needs_data
from tests.service.world import World

DAYS = 120
WEEK = np.array([0.0, 0.01, 0.0, -0.01, 0.02, 0.06, 0.05])


IRREGULAR, WEATHER, LASTS = 0.04, 0.05, 0.8


def usual(days: int = DAYS) -> np.ndarray:
    """What is the same each year: season and week."""
    day = np.arange(days)
    return 1 + 0.1 * np.sin(day / 30) + WEEK[day % 7]


def unusual(days: int = DAYS) -> np.ndarray:
    """How weather that lasts, and what is left, vary together."""
    apart = np.abs(np.subtract.outer(np.arange(days), np.arange(days)))
    return WEATHER**2 * LASTS**apart + IRREGULAR**2 * (apart == 0)


def totals(rng: np.random.Generator, days: int = DAYS) -> np.ndarray:
    """Daily sums of a street."""
    return 1000 * (usual(days) + np.linalg.cholesky(unusual(days)) @ rng.standard_normal(days))


def told_all(points: tuple[Known, ...]) -> np.ndarray:
    """The best that one could do who knew season, week and weather's law beforehand."""
    y, error = (np.array(column) for column in list(zip(*points, strict=True))[1:3])
    expected, spread = 1000 * usual(len(y)), 1e6 * unusual(len(y))
    return expected + spread @ np.linalg.solve(spread + np.diag(error**2), y - expected)


def seen(number: int, estimate: float, error: float, reports: int = 480, producers: int = 10) -> Known:
    return Known(number, estimate, error, estimate - NORMAL * error, estimate + NORMAL * error, reports, producers)


def masked(truth: np.ndarray, error: float, rng: np.random.Generator, homes: int = 100) -> tuple[Known, ...]:
    """A street's half-hourly reports: 100 homes use about 1000 kWh a day."""
    drawn = truth + rng.normal(0, error, len(truth))
    return tuple(seen(20_000 + t, float(y), error, 48 * homes, homes) for t, y in enumerate(drawn))


def held(points: tuple[Known, ...], seasons: int = 7) -> dict[str, np.ndarray]:
    found = smoothed(points, seasons)
    names = ("estimate", "standard_error", "low", "high")
    return {name: np.array([found[each.number][name] for each in points]) for name in names}


@pytest.mark.parametrize("error", [70, 300])
def test_errors_fall_and_intervals_hold_the_truth(error: float) -> None:
    """30 streets: errors at most half as large again as of one who knew all; one a third as wide is told."""
    rng = np.random.default_rng(1)
    raw, near, best, inside, narrow = [], [], [], [], []
    for _ in range(30):
        truth = totals(rng)
        points = masked(truth, error, rng)
        found = held(points)
        raw.append(np.abs([each.estimate for each in points] - truth))
        near.append(np.abs(found["estimate"] - truth))
        best.append(np.abs(told_all(points) - truth))
        inside.append((found["low"] <= truth) & (truth <= found["high"]))
        narrow.append(near[-1] <= (found["high"] - found["low"]) / 6)
    assert np.mean(near) < 1.5 * np.mean(best) < np.mean(raw)
    assert np.mean(inside) > 0.94
    assert np.mean(narrow) < 0.85


def test_where_noise_is_small_the_raw_sum_is_returned() -> None:
    """And nowhere is the error said to be larger than the raw sum's."""
    rng = np.random.default_rng(2)
    points = masked(totals(rng), 2.0, rng)
    found = held(points)
    raw = np.array([each.estimate for each in points])
    np.testing.assert_array_equal(found["estimate"], raw)
    assert (found["standard_error"] == 2.0).all()
    silent = held(tuple(seen(each.number, each.estimate, 0.0) for each in points))
    np.testing.assert_array_equal(silent["estimate"], raw)
    assert not silent["standard_error"].any()


def test_where_the_raw_sum_is_taken_its_own_interval_is() -> None:
    """That of noise of few steps is wider than the normal one; where neighbours count, it is as much wider."""
    rng = np.random.default_rng(2)
    wide = tuple(each._replace(low=each.low - 5, high=each.high + 5) for each in masked(totals(rng), 2.0, rng))
    found, raw = held(wide), np.array([(each.estimate, each.low, each.high) for each in wide])
    for column, name in enumerate(("estimate", "low", "high")):
        np.testing.assert_array_equal(found[name], raw[:, column])
    noisy = tuple(each._replace(low=each.low - 175, high=each.high + 175) for each in masked(totals(rng), 70.0, rng))
    usual = tuple(seen(each.number, each.estimate, each.error, each.reports, each.producers) for each in noisy)
    wider, normal = held(noisy), held(usual)
    smooth = normal["standard_error"] < 70
    assert smooth.sum() > DAYS / 2
    ratio = (wider["high"] - wider["low"]) / (normal["high"] - normal["low"])
    np.testing.assert_allclose(ratio[smooth], (NORMAL + 2.5) / NORMAL)


def test_gaps_and_changing_crowds_are_taken_as_they_are() -> None:
    """Half of the periods are missing, and of a few days a few report, whose readings are not the others'."""
    rng, inside, few, near, far = np.random.default_rng(3), [], [], [], []
    for _ in range(10):
        crowd = np.where(rng.random(DAYS) < 0.12, 25, 2500)
        truth = crowd * (totals(rng) / 1000 + rng.normal(0, 0.8, DAYS) / np.sqrt(crowd))
        error = 4 * np.sqrt(crowd)
        drawn = truth + rng.normal(0, error)
        points = tuple(
            seen(t, float(drawn[t]), float(error[t]), int(crowd[t]), int(crowd[t])) for t in range(0, DAYS, 2)
        )
        found, truth, drawn = held(points), truth[::2], drawn[::2]
        inside.append((found["low"] <= truth) & (truth <= found["high"]))
        few.append(inside[-1][crowd[::2] == 25])
        near.append(np.abs(found["estimate"] - truth).mean())
        far.append(np.abs(drawn - truth).mean())
    assert np.mean(near) < 0.9 * np.mean(far)
    assert np.mean(inside) > 0.93
    assert np.mean(np.concatenate(few)) > 0.9


@pytest.mark.parametrize(("level", "irregular"), [(0, 200), (50, 300), (1000, 300)])
def test_totals_near_zero_and_totals_that_vary_are_held(level: float, irregular: float) -> None:
    """Ten homes under noise of 1000: neighbours say little, and the interval shows it."""
    rng, inside = np.random.default_rng(8), []
    for _ in range(8):
        truth = level + rng.normal(0, irregular, DAYS)
        found = held(masked(truth, 1000, rng, homes=10))
        inside.append((found["low"] <= truth) & (truth <= found["high"]))
    assert np.mean(inside) > 0.9


def test_a_day_unlike_the_others_widens_its_own_interval() -> None:
    rng = np.random.default_rng(9)
    truth = totals(rng)
    truth[60] *= 0.4
    width = (found := held(masked(truth, 100, rng)))["high"] - found["low"]
    assert width[60] > 1.3 * np.median(width)


def test_few_periods_constant_ones_and_nothing() -> None:
    rng = np.random.default_rng(4)
    few = masked(totals(rng, LEAST - 1), 70, rng)
    assert smoothed(few, 7) == smoothed((), 7) == {}
    assert smoothed(tuple(seen(t, 0.0, 0.0) for t in range(30)), 7) == {}
    even = held(tuple(seen(t, 100.0, 0.0) for t in range(30)))
    np.testing.assert_allclose(even["estimate"], 100.0, rtol=1e-6)
    around_zero = held(tuple(seen(t, float(rng.normal(0, 30)), 20.0) for t in range(60)))
    assert np.isfinite(around_zero["high"]).all()


@pytest.mark.parametrize("seasons", [0, 12, 24])
def test_every_kind_of_period_has_its_season(seasons: int) -> None:
    rng = np.random.default_rng(5)
    wave = np.sin(2 * np.pi * np.arange(seasons or 12) / (seasons or 12))
    truth = 1000 * (1 + 0.3 * np.resize(wave, 240) * bool(seasons) + rng.normal(0, 0.02, 240))
    points = masked(truth, 100, rng)
    assert np.abs(held(points, seasons)["estimate"] - truth).mean() < 45 < 79  # 79: the raw sums' own


def test_blocks_leave_no_period_out_and_look_beyond_themselves() -> None:
    rng = np.random.default_rng(10)
    points = {each.number: each for each in masked(totals(rng, 5 * BLOCK), 100, rng)}
    asked = blocks(points)
    assert sorted(number for block in asked for number in block if number in points) == list(points)
    found = best_sums(points, 7, asked)
    assert list(found) == list(points)
    block = asked[2]
    near = {n: each for n, each in points.items() if block.start - MARGIN <= n < block.stop + MARGIN}
    assert best_sums(near, 7, [block]) == {n: each for n, each in found.items() if n in block}


@pytest.mark.parametrize("zone", ["UTC", "Europe/Dublin", "Pacific/Auckland", "Asia/Kamchatka", "Etc/GMT+12"])
def test_periods_are_numbered_one_after_the_other(zone: str) -> None:
    """A day of UTC+12 begins halfway between two of UTC."""
    for kind in KINDS:
        calendar = Calendar(kind, zone)
        spans = calendar.spans(
            read_instant("2026-01-01T00:00:00Z"),
            read_instant("2026-02-01T00:00:00Z" if calendar.length else "2030-01-01T00:00:00Z"),
        )
        numbers = [calendar.number_of(span) for span in spans]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland"])
def test_a_service_lists_it_beside_what_is_closed_for_good(world: World, zone: str) -> None:
    """A withheld period has none and is none's neighbour; what is closed stays as it was but for this."""
    consumer = world.consumer()
    first = date(2026, 9, 1)
    campaign = world.campaign(consumer, begins="2026-09-01T00:00:00Z", time_zone=zone, least_producers=3)
    producers = [world.join(campaign) for _ in range(4)]
    rng, closed = np.random.default_rng(6), {}
    for day in range(20):
        key = (first + timedelta(days=day)).isoformat()
        world.clock.set(f"{key}T07:00:00Z")
        for producer in producers[: 2 if day == 7 else 4]:
            steps = int(5000 + rng.laplace(0, 500))
            assert world.report(producer, (f"{key}T06:00:00Z", steps, "A"))[0]["status"] == "accepted"
        world.clock.set(f"{(first + timedelta(days=day + 1)).isoformat()}T00:30:00Z")
        closed[key] = world.close_period(campaign, consumer, key)
        listed = world.periods(campaign, consumer)
        shown = [each for each in listed.values() if each["smoothed"] is not None]
        assert (len(shown) > 0) == (day + 1 - (day >= 7) >= LEAST)
        assert all(each["state"] == "closed" for each in shown)
        assert len({each["smoothed"]["estimate"] for each in shown}) == len(shown)
    last = world.periods(campaign, consumer)
    for key, entry in closed.items():
        assert last[key] | {"smoothed": None} == entry
    assert last["2026-09-08"]["smoothed"] is None
    told = last["2026-09-20"]["smoothed"]
    assert told["low"] < told["estimate"] < told["high"]
    assert told["standard_error"] < last["2026-09-20"]["sum"]["standard_error"]
    alone = world.periods(campaign, consumer, **{"from": "2026-09-20"})["2026-09-20"]
    assert alone == last["2026-09-20"]


def test_intervals_are_neither_too_wide_nor_too_narrow_under_heavy_noise() -> None:
    """Of 4,800 daily totals under noise of 75 % each interval holds 95 of 100, and one 0.75 times as wide does not."""
    shares = []
    for times in (1.0, 0.75):
        rows = np.array([tried("offices", 0.75, seed, times)[:2] for seed in range(40)])
        shares.append(rows[:, 0].sum() / rows[:, 1].sum())
    assert rows[:, 1].sum() == 4800
    assert shares[1] < 0.92 < shares[0] < 0.97


BAND = 0.015
MEASURED = ("homes", "hours", "pedestrians", "footfall")


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[needs_data] if kind in MEASURED else []) for kind in DATA])
def test_95_of_100_are_held_whatever_the_noise(kind: str, noise: float) -> None:
    """Intervals 1.3 and 0.77 times as wide hold more and fewer. Those of sun are too narrow at 75 % (method.md)."""
    seeds = range(drawn(noise, WINDOWS))
    rows = np.array([[tried(kind, noise, seed, times) for times in (0.77, 1.0, 1.3)] for seed in seeds])
    narrow, right, wide = (Cell(*each.T) for each in rows.swapaxes(0, 1))
    least = 0.91 if (kind, noise) == ("sun", 0.75) else 0.95 - BAND
    assert narrow.coverage < least < right.coverage + right.error
    assert right.coverage - right.error < 0.95 + BAND < wide.coverage


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(("file", "scales"), [(SWISS, (0.5, 3, 8, 20)), (PEDESTRIANS, (500, 3000, 10_000))])
def test_real_days_are_held_too(file: Path, scales: tuple[float, ...]) -> None:
    """Holidays are no Gaussian: of all days together at least 93 of 100 are within, and errors never grow."""
    import polars as pl

    daily = (
        pl.read_parquet(file).drop_nulls().filter(pl.col("value").is_finite())
        .group_by(pl.col("time").dt.date().alias("day")).agg(pl.len().alias("n"), pl.col("value").sum().alias("s"))
        .sort("day").filter(pl.col("n") > 0.2 * pl.col("n").max())
    )  # fmt: skip
    number = np.array([day.toordinal() for day in daily["day"]])
    n, s = daily["n"].to_numpy().astype(float), daily["s"].to_numpy()
    rng, inside, days = np.random.default_rng(7), 0, 0
    for start in range(0, len(s) - 48, 360):
        part = slice(start, start + 120)
        for scale in scales:
            error = scale * np.sqrt(2 * n[part])
            drawn = s[part] + rng.normal(0, error)
            columns = (number[part], drawn, error, n[part])
            points = tuple(seen(int(t), float(y), float(e), int(k)) for t, y, e, k in zip(*columns, strict=True))
            found = held(points)
            inside += int(((found["low"] <= s[part]) & (s[part] <= found["high"])).sum())
            days += len(points)
            relative = np.abs(found["estimate"] - s[part]).mean() / np.abs(drawn - s[part]).mean()
            assert relative < 1.02
    assert inside / days > 0.93
