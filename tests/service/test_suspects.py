"""Flags against false claims: honest producers are left in peace whatever they measure, and cheats are found."""

from fractions import Fraction

import numpy as np
import pytest

from halfmask.service.campaign import LatticeNoise, lattice_noise
from halfmask.service.storage.report_rows import ReportRow
from halfmask.service.suspects import (
    FALSE_ALARM,
    find_suspects,
    reports_for_proof,
    too_close_together,
    too_little_noise,
)
from halfmask.service.upper_tail import UpperTail
from halfmask_device.instants import MINUTE

STEP = Fraction(1, 1000)
NOISES = {
    "A": lattice_noise("laplace:0.5", STEP),
    "B": lattice_noise("sine:0.9,0.3,0.6,0.6,0.3", STEP),
    "G": lattice_noise("gaussian:0.05", STEP),
    "N": lattice_noise("none", STEP),
}
READINGS = 48


def draw(noise: LatticeNoise, size: int, rng: np.random.Generator) -> np.ndarray:
    side = noise.masses(1)
    size_of = rng.choice(side.size, size, p=np.concatenate([side[:1], 2 * side[1:]]) / (2 * side.sum() - side[0]))
    return size_of * rng.choice([-1, 1], size)


def signals(rng: np.random.Generator) -> list[np.ndarray]:
    """Steady, swinging, jumping and adversarial readings: a change at each pair cannot hide or feign noise."""
    flat = np.full(READINGS, 300)
    swing = (500 + 400 * np.sin(np.arange(READINGS))).astype(int)
    jump = np.where(np.arange(READINGS) % 2 == 0, 0, 1400)
    return [flat, swing, jump, rng.integers(0, 2000, READINGS)]


def rows(producer: int, steps: np.ndarray, setting: str) -> list[ReportRow]:
    return [ReportRow(producer, time, int(step), setting, 0) for time, step in enumerate(steps)]


@pytest.mark.parametrize("setting", ["A", "B", "G"])
def test_honest_producers_are_not_proved_guilty(setting: str) -> None:
    """300 producers in 4 kinds of readings; a chance of 1e-3 for any flag is what is promised for the run."""
    rng = np.random.default_rng(5)
    reports = []
    for producer in range(300):
        signal = signals(rng)[producer % 4]
        reports += rows(producer, signal + draw(NOISES[setting], READINGS, rng), setting)
    found = find_suspects(reports, NOISES)
    assert found.suspects == ()
    assert found.tested == 300


@pytest.mark.parametrize("setting", ["A", "B", "G"])
def test_cheats_are_found(setting: str) -> None:
    rng = np.random.default_rng(6)
    noise, flat = NOISES[setting], np.full(READINGS, 300)
    cheats = {
        1: flat,
        2: 900 + rng.integers(-2, 3, READINGS),
        3: (flat + draw(noise, READINGS, rng)) // 10 * 10,
    }
    honest = flat + draw(noise, READINGS, rng)
    cheats |= {4: honest, 5: honest}
    reports = [row for producer, steps in cheats.items() for row in rows(producer, steps, setting)]
    for producer in range(10, 30):
        reports += rows(producer, flat + draw(noise, READINGS, rng), setting)
    found = {each.producer: each.reason for each in find_suspects(reports, NOISES).suspects}
    assert found == {
        1: "constant",
        2: "too little noise",
        3: "on a coarser lattice",
        4: "copy of another producer",
        5: "copy of another producer",
    }


def test_the_bound_holds_for_every_signal_and_would_not_with_too_small_a_noise() -> None:
    """P(bound < x) <= x for honest noise, whatever the readings; with a third of the noise it is broken at once."""
    rng = np.random.default_rng(7)
    for noise in (NOISES["A"], NOISES["B"], NOISES["G"]):
        for signal in signals(rng):
            chances = [too_little_noise(list(signal + draw(noise, READINGS, rng)), noise) for _ in range(400)]
            assert np.mean(np.array(chances) < 0.05) <= 0.05
        less = [too_little_noise(list(300 + draw(noise, READINGS, rng) // 3), noise) for _ in range(100)]
        assert np.mean(np.array(less) < 0.05) > 0.5


def test_the_reports_that_are_needed_are_enough() -> None:
    level = FALSE_ALARM / 300
    for noise in (NOISES["A"], NOISES["B"]):
        needed = reports_for_proof(noise, level)
        rng = np.random.default_rng(8)
        silent = list(300 + rng.integers(0, 2, needed))
        assert too_little_noise(silent, noise) < level * 1.1
        assert too_little_noise(silent[: needed - 4], noise) > level


def homes(days: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Readings of 120 homes of different levels and times of use."""
    times = np.arange(days * READINGS)
    return [
        (level * (1 + 0.6 * np.cos(2 * np.pi * times / READINGS + level)) * rng.gamma(4, 0.25, times.size)).astype(int)
        for level in rng.gamma(3, 80, 120)
    ]


def dated(producer: int, steps: np.ndarray, setting: str) -> list[ReportRow]:
    return [ReportRow(producer, row.time * 30 * MINUTE, *row[2:]) for row in rows(producer, steps, setting)]


CHEATS = {
    "level far above its peers": (1, lambda readings, noise: 40 * readings + noise),
    "varies far less than its peers": (1, lambda readings, noise: readings // 4 + noise // 8),
    "varies far more than its peers": (1, lambda readings, noise: readings + 12 * noise),
    "copy of its own past": (7, lambda readings, noise: np.tile((readings + noise)[:READINGS], 7)),
    "level changed far more than its peers'": (
        7,
        lambda readings, noise: readings + np.where(np.arange(readings.size) < READINGS, 5000, 0) + noise,
    ),
}


@pytest.mark.parametrize("reason", CHEATS)
def test_who_differs_from_its_peers_or_repeats_itself_is_flagged(reason: str) -> None:
    days, cheat = CHEATS[reason]
    rng, noise = np.random.default_rng(10), NOISES["A"]
    reports = []
    for producer, readings in enumerate(homes(days, rng)):
        drawn = draw(noise, readings.size, rng)
        reports += dated(producer, cheat(readings, drawn) if producer == 7 else readings + drawn, "A")
    found = find_suspects(reports, NOISES).suspects
    assert {each.producer for each in found} == {7}
    assert reason in {each.reason for each in found}


def test_honest_homes_are_not_flagged_by_their_peers() -> None:
    """All tests together wrongly flag in at most one run of a thousand; a tail of a third of the scale is rejected."""
    flagged = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        reports = []
        for producer, readings in enumerate(homes(3, rng)):
            reports += dated(producer, readings + draw(NOISES["A"], readings.size, rng), "A")
        flagged += bool(find_suspects(reports, NOISES).suspects)
    assert flagged == 0


def test_the_bound_of_a_tail_holds_and_one_of_a_third_of_its_scale_does_not() -> None:
    rng, chances, wrong = np.random.default_rng(11), [], []
    for _ in range(2000):
        tail = UpperTail.of(np.sort(rng.exponential(1.0, 400)), 10)
        assert tail is not None
        chances.append(tail.chance(max(tail.beyond)))
        wrong.append(tail._replace(scale=tail.scale / 3).chance(max(tail.beyond)))
    for level in (0.3, 0.1, 0.01):
        assert np.mean(np.array(chances) < level) <= level
        assert np.mean(np.array(wrong) < level) > level
    assert UpperTail.of(np.arange(99.0), 10) is None


def test_the_bound_of_blocks_holds_for_every_signal_and_finds_half_the_noise() -> None:
    """A law that is not log-concave is not judged by it."""
    rng = np.random.default_rng(12)
    for noise in (NOISES["A"], NOISES["G"]):
        for signal in signals(rng):
            chances = [too_close_together(list(signal + draw(noise, READINGS, rng)), noise) for _ in range(300)]
            assert np.mean(np.array(chances) < 0.05) <= 0.05
        half = [
            too_close_together(list(300 + draw(noise, 7 * READINGS, rng) // 2), noise) < FALSE_ALARM / 1200
            for _ in range(20)
        ]
        assert all(half)
    assert too_close_together([300] * READINGS, NOISES["B"]) == 1.0
