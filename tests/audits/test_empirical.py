"""The empirical audit lets right samplers pass and catches wrong ones, each time."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from halfmask.arrays import IntArray
from halfmask.audits.sampler_audit import audit_certain, audit_delta, audit_sampler, audit_setting_sampler, misfit_of
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask.protection.guarantees.lattice_noise import lattice_masses
from halfmask_device.lattice import Lattice
from halfmask_device.producer import noise as device_noise
from tests.refusals import refused

SCALE, CHANGE = 100, 160  # epsilon 1.6 for a change of 160 steps: 16 sensitivities of epsilon 0.1
TRIES = range(20)
DRAWS = 40_000  # a scale 20 % too small is missed less than once in a million times


def lattice_laplace(scale: float, seed: int) -> Callable[[int, int], IntArray]:
    """Discrete Laplace noise as the difference of two geometric numbers."""
    rng = np.random.default_rng([5, seed])
    stop = -math.expm1(-1 / scale)
    return lambda value, n: value + rng.geometric(stop, n) - rng.geometric(stop, n)


@pytest.mark.parametrize("seed", TRIES)
@pytest.mark.parametrize("neighbour", [-CHANGE, CHANGE])
def test_a_right_sampler_passes_and_one_20_percent_too_narrow_is_caught(seed: int, neighbour: int) -> None:
    claimed = CHANGE / SCALE
    right = audit_sampler(lattice_laplace(SCALE, seed), 0, neighbour, claimed, DRAWS)
    wrong = audit_sampler(lattice_laplace(0.8 * SCALE, seed), 0, neighbour, claimed, DRAWS)
    assert 0.8 * claimed < right.bound <= claimed
    assert not right.caught
    assert claimed < wrong.bound <= claimed / 0.8
    assert wrong.caught


def test_noise_wider_than_claimed_passes() -> None:
    assert not audit_sampler(lattice_laplace(2 * SCALE, 1), 0, CHANGE, CHANGE / SCALE, DRAWS).caught


def test_the_confidence_is_kept() -> None:
    """At 90 % confidence a right sampler is caught at most one time in ten; the bound is close, so not never either."""
    caught = [
        audit_sampler(lattice_laplace(SCALE, seed), 0, CHANGE, CHANGE / SCALE, 2000, confidence=0.9).caught
        for seed in range(200)
    ]
    assert sum(caught) <= 20 + 5 * math.sqrt(200 * 0.1 * 0.9)
    narrow = [
        audit_sampler(lattice_laplace(0.8 * SCALE, seed), 0, CHANGE, CHANGE / SCALE, 2000, confidence=0.9).caught
        for seed in range(200)
    ]
    assert sum(narrow) > 20 + 5 * math.sqrt(200 * 0.1 * 0.9), "the same count condemns a wrong sampler"


def rounded(text: str, step: float, seed: int) -> Callable[[int], IntArray]:
    setting = PrivacySetting.parse(text)
    rng = np.random.default_rng([7, seed])

    def noise(size: int) -> IntArray:
        draws = setting.law.sample(np.array(setting.parameters), size, rng)
        return np.rint(draws / step).astype(np.int64)

    return noise


RIGHT_AND_WRONG = [
    ("laplace:0.5", "laplace:0.4"),
    ("geometric:0.5,0.05", "geometric:0.4,0.05"),
    ("staircase:0.5,0.3,0.4", "staircase:0.625,0.3,0.4"),
    ("gaussian:0.5", "gaussian:0.4"),
    ("uniform:0.5", "uniform:0.4"),
    ("sine:0.9,0.6", "sine:0.72,0.56"),
    ("tabulated:0.5,0.3,1,1", "tabulated:0.4,0.3,0.8,1"),
]


@pytest.mark.parametrize(("right", "wrong"), RIGHT_AND_WRONG)
def test_every_kind_of_law_is_audited_by_what_it_promises(right: str, wrong: str) -> None:
    setting = PrivacySetting.parse(right)
    step = setting.law.lattice(setting.parameters) or 0.01
    passed = audit_setting_sampler(setting, rounded(right, step, 1), step)
    assert not passed.caught
    assert passed.bound > 0.5 * passed.claimed
    assert audit_setting_sampler(setting, rounded(wrong, step, 1), step).caught
    assert audit_setting_sampler(setting, lambda n: np.zeros(n, np.int64), step, 20_000).caught, "no noise at all"
    if not math.isfinite(setting.law.support(np.array([setting.parameters]))[0]):
        return
    too_wide = audit_setting_sampler(PrivacySetting.parse(wrong), rounded(right, step, 1), step)
    assert too_wide.caught
    assert too_wide.share_of_neighbour > 0, "noise beyond its reach"


def test_certain_disclosure_of_a_sampler_narrower_than_its_claim() -> None:
    """Noise on -80..80 where -100..100 is promised: a quarter more of the outputs rule the neighbour out."""
    rng = np.random.default_rng(3)
    claimed = guarantee(PrivacySetting.parse("uniform:100.5"), 40.0, ()).certain
    right = audit_certain(lambda value, n: value + rng.integers(-100, 101, n), 0, 40, 100, claimed)
    assert not right.caught
    assert right.bound == pytest.approx(claimed, rel=0.05)
    narrow = audit_certain(lambda value, n: value + rng.integers(-80, 81, n), 0, 40, 80, claimed)
    assert narrow.caught


def test_delta_at_an_epsilon() -> None:
    rng = np.random.default_rng(4)
    claimed = guarantee(PrivacySetting.parse("gaussian:100"), 100.0, ()).delta[1.0]
    for sigma, caught in ((100, False), (80, True)):
        found = audit_delta(
            lambda value, n, s=sigma: np.rint(value + s * rng.standard_normal(n)).astype(int), 100, 0, 1.0, claimed
        )
        assert found.caught is caught
        assert found.bound > 0.8 * claimed


@pytest.mark.parametrize("text", ["laplace:0.5", "sine:0.9,0.6", "gaussian:0.5"])
def test_the_sampler_that_ships(text: str) -> None:
    """From the system's entropy, so not seeded: false alarms come about once in a million runs."""
    lattice = Lattice("0.01", "0", "10")
    found = audit_setting_sampler(PrivacySetting.parse(text), lambda n: device_noise(text, lattice, n), 0.01, n=20_000)
    assert not found.caught
    assert found.bound > 0.3 * found.claimed


def test_bad_input_is_refused() -> None:
    draw = lattice_laplace(10, 1)
    with refused("option.neighbour"):
        audit_sampler(draw, 3, 3, 1.0)
    with refused("option.draws"):
        audit_sampler(draw, 0, 3, 1.0, n=1)
    with refused("option.confidence"):
        audit_sampler(draw, 0, 3, 1.0, confidence=1.0)
    with refused("option.sampler"):
        audit_sampler(lambda _, n: np.zeros(n), 0, 3, 1.0, n=100)  # type: ignore[arg-type,return-value]
    with refused("option.law"):
        audit_setting_sampler(PrivacySetting.parse("none"), lambda n: np.zeros(n, np.int64), 0.01)


def device_like(text: str, step: float, seed: int) -> Callable[[int], IntArray]:
    """Draws of the exact law on the lattice, seeded."""
    masses = lattice_masses(PrivacySetting.parse(text), step)
    rng = np.random.default_rng([11, seed])
    k = np.arange(len(masses)) - len(masses) // 2
    return lambda size: rng.choice(k, size, p=masses / masses.sum())


def of_one_parity(noise: Callable[[int], IntArray]) -> Callable[[int], IntArray]:
    """Only even numbers of steps: every report tells the reading's last bit."""
    return lambda size: 2 * (noise(size) // 2)


def sometimes_unmasked(noise: Callable[[int], IntArray]) -> Callable[[int], IntArray]:
    """One report in twenty is the reading itself."""
    return lambda size: np.where(np.arange(size) % 20 == 0, 0, noise(size))


FITTED = ("laplace:0.5", "gaussian:0.5", "sine:0.9,0.6", "uniform:0.5")


@pytest.mark.parametrize("text", FITTED)
def test_faults_that_no_threshold_shows_are_caught_every_time_and_right_samplers_never(text: str) -> None:
    setting, n = PrivacySetting.parse(text), 20_000
    outcomes = {"right": 0, "one parity": 0, "unmasked": 0}
    for seed in TRIES:
        right = device_like(text, 0.01, seed)
        samplers = {"right": right, "one parity": of_one_parity(right), "unmasked": sometimes_unmasked(right)}
        for name, noise in samplers.items():
            outcomes[name] += audit_setting_sampler(setting, noise, 0.01, n).caught
    assert outcomes == {"right": 0, "one parity": 20, "unmasked": 20}


@pytest.mark.parametrize("text", ["sine:1", "sine:0.9,0.6"])
def test_a_sine_a_tenth_too_narrow_is_caught_every_time(text: str) -> None:
    setting = PrivacySetting.parse(text)
    scale = np.array(setting.law.grown(np.array([setting.parameters]), 0.9))[0]
    narrow = str(PrivacySetting("sine", tuple(float(each) for each in scale)))
    for seed in TRIES:
        assert audit_setting_sampler(setting, device_like(narrow, 0.01, seed), 0.01, 20_000).caught
        assert not audit_setting_sampler(setting, device_like(text, 0.01, seed), 0.01, 20_000).caught


def test_a_misfit_says_where() -> None:
    masses = lattice_masses(PrivacySetting.parse("laplace:0.5"), 0.01)
    found = misfit_of(of_one_parity(device_like("laplace:0.5", 0.01, 1))(20_000), masses)
    assert found is not None
    assert "steps came in" in found.words()
    assert misfit_of(device_like("laplace:0.5", 0.01, 2)(20_000), masses) is None
    beyond = np.append(device_like("laplace:0.5", 0.01, 3)(20_000), [10**9] * 3)
    late = misfit_of(beyond, masses)
    assert late is not None
    assert late.event.startswith("noise beyond")


@pytest.mark.parametrize("step", [0.05, 0.5, 2.0])
def test_coarse_lattices_are_audited_by_the_law_that_is_drawn_on_them(step: float) -> None:
    for text in ("laplace:0.5", "gaussian:0.5", "sine:1.2"):
        found = audit_setting_sampler(PrivacySetting.parse(text), device_like(text, step, 1), step, 20_000)
        assert not found.caught
