"""What a law says of itself: chances and moments agree with exact bounds, with summation and with what is drawn."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask_device.law import GAP, Inverted, Law
from halfmask_device.laws.gaussian import DiscreteGaussian
from halfmask_device.laws.laplace import DiscreteLaplace
from halfmask_device.random_bits import Bits
from halfmask_device.setting import law, law_of

STEP = "0.01"
SETTINGS = (
    *("laplace:0.2", "laplace:0.01", "gaussian:0.2", "gaussian:0.011", "geometric:0.2,0.01", "uniform:0.237"),
    *("staircase:1,0.15,0.3", "staircase:2,0.15,0", "staircase:0.5,0.011,1", "sine:0.5,0.3,0.6,0.2,0.3"),
    *("sine:0.3,0.5", "tabulated:0.05,0.25,0.1,0.25,0.333,1"),
)
WIDE = (
    "laplace:900",
    "gaussian:900",
    "uniform:900",
    "staircase:1,300,0.4",
    "sine:0,0,0,0,1.9",
    "tabulated:100,0.5,900,1",
)
SMALL = ("laplace:9", "gaussian:9", "uniform:9", "staircase:1,3,0.4", "sine:0,0,0,0,1.9", "tabulated:1,0.5,9,1")


@pytest.mark.parametrize("setting", SETTINGS)
def test_masses_add_up_to_one_and_to_tails_and_moments(setting: str) -> None:
    ours = law_of(setting, STEP)
    most = ours.furthest(1e-18) + 60
    masses = [ours.mass(k) for k in range(-most, most + 1)]
    assert math.fsum(masses) == pytest.approx(1, abs=1e-12)
    assert masses == pytest.approx(masses[::-1])
    assert ours.unmasked == pytest.approx(masses[most], abs=1e-12)
    for n in (1, 2, 7, 19):
        assert ours.tail(n) == pytest.approx(2 * math.fsum(masses[most + n :]), rel=1e-9, abs=1e-15)
        assert ours.above(n) == pytest.approx(math.fsum(masses[most + n :]), rel=1e-9, abs=1e-15)
    for power, moment in ((2, ours.variance), (4, ours.fourth)):
        assert moment == pytest.approx(math.fsum(m * (i - most) ** power for i, m in enumerate(masses)), rel=1e-9)


@pytest.mark.parametrize(("wide", "small"), list(zip(WIDE, SMALL, strict=True)))
def test_wide_laws_are_small_ones_on_a_coarser_lattice(wide: str, small: str) -> None:
    """Beyond tables and sums: 90,000 steps and more behave as the continuous law, whose variance scales."""
    ours = law_of(wide, STEP)
    factor = 1 if wide == small else 100
    theirs = law_of(small, "0.01" if factor == 100 else "1")
    scale = 100
    assert ours.variance == pytest.approx(scale**2 * (theirs.variance - 1 / 12), rel=3e-4)
    assert ours.fourth == pytest.approx(scale**4 * theirs.fourth, rel=2e-3)
    assert ours.tail(10_000) == pytest.approx(theirs.tail(100), rel=2e-2)


@pytest.mark.parametrize("setting", ["laplace:0.2", "laplace:0.01", "gaussian:0.2", "gaussian:0.011", "sine:0.3,0.5"])
def test_exact_bounds_hold_the_chances(setting: str) -> None:
    ours = law_of(setting, STEP)
    assert isinstance(ours, Inverted)
    for n in (1, 2, 5, 17, 29):
        for bits in (64, 128):
            low, high = ours.below(n, bits)
            assert 0 <= low <= high <= 1 << bits
            assert high - low <= 64
            assert low / 2**bits == pytest.approx(1 - ours.tail(n), abs=1e-13)


def test_bounds_of_the_discrete_laws_hold_rational_sums() -> None:
    """P(|k| < n) of scale 3/2 from series in 400 binary digits."""
    one = 1 << 400
    for ours, exponent in (
        (DiscreteLaplace(Fraction(3, 2)), lambda k: Fraction(2 * k, 3)),
        (DiscreteGaussian(Fraction(3, 2)), lambda k: Fraction(2 * k * k, 9)),
    ):
        weights = [_decay(exponent(k), one) for k in range(400)]
        total = weights[0] + 2 * sum(weights[1:])
        for n in (1, 2, 9):
            exact = Fraction(weights[0] + 2 * sum(weights[1:n]), total)
            low, high = ours.below(n, 96)
            assert low <= exact * 2**96 <= high <= low + 3


def _decay(rate: Fraction, one: int) -> int:
    """exp(-rate) by its power series after halving, independent of `decimal`."""
    small, term, total, k = rate / 1024, Fraction(1), Fraction(0), 0
    while abs(term) > Fraction(1, one):
        total += term
        k += 1
        term = Fraction(int(term * -small / k * one * 2**40), one * 2**40)
    for _ in range(10):
        total = Fraction(int(total * total * one * 2**40), one * 2**40)
    return int(total * one)


@pytest.mark.parametrize(
    "setting", ["laplace:0.2", "laplace:0.0099", "gaussian:0.2", "gaussian:0.011", "sine:0.5,0.3", "sine:0.02"]
)
@pytest.mark.parametrize("corner", [False, True])
def test_the_table_answers_as_the_exact_way_does(setting: str, corner: bool) -> None:
    """At random bits, and at the corners of its cells, where it must not answer wrongly."""
    quick, slow = _fresh(setting), _fresh(setting)
    quick.prepare()
    assert quick.table
    assert slow.table is None
    edges = [t + shift for t in quick.table[::7] for shift in (-1, 0, 1, GAP // 2, GAP - 1, GAP)]
    firsts = [min(max(u, 0), 2**64 - 1) for u in edges] if corner else [None] * 300
    for number, first in enumerate(firsts):
        one, other = (_Told(number, first), _Told(number, first))
        assert quick.draw(one) == slow.draw(other)  # type: ignore[arg-type]
        assert one.bits(64) == other.bits(64)  # both have read the same number of bits


def _fresh(setting: str) -> Law:
    law.cache_clear()
    return law_of(setting, STEP)


class _Told:
    """Bits whose first 64 are told."""

    def __init__(self, number: int, first: int | None) -> None:
        self.rest, self.first = Bits(bytes(32), str(number).encode()), first

    def bits(self, count: int) -> int:
        if self.first is not None and count == 64:
            told, self.first = self.first, None
            return told
        return self.rest.bits(count)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_furthest_plausible_value_is_the_last_above_the_chance(setting: str) -> None:
    ours = law_of(setting, STEP)
    furthest = ours.furthest()
    assert ours.above(furthest) >= 1e-12 > ours.above(furthest + 1)


def test_no_noise_reaches_nowhere() -> None:
    ours = law_of("none", STEP)
    assert (ours.furthest(), ours.variance, ours.fourth, ours.unmasked, ours.mass(0), ours.mass(1)) == (
        0,
        0,
        0,
        1,
        1,
        0,
    )


@given(st.integers(1, 200), st.integers(0, 2**32))
def test_bits_are_those_of_the_blocks_in_order(count: int, number: int) -> None:
    message = str(number).encode()
    one, other = Bits(b"k" * 32, message), Bits(b"k" * 32, message)
    whole = one.bits(600)
    read, taken = 0, 0
    while taken + count <= 600:
        read, taken = read << count | other.bits(count), taken + count
    assert whole >> (600 - taken) == read
    assert Bits(b"K" * 32, message).bits(128) != whole >> 472
