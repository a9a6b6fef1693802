"""Bounds on irrational numbers hold, so that decisions on lazily drawn bits are those of the exact number."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask_device.exact_comparison import GUARD, chance, decay_bounds, pi, quarter_sine
from halfmask_device.laws.sine import RoundedSine
from halfmask_device.laws.staircase import RoundedStaircase
from halfmask_device.random_bits import Bits
from tests.device.laws import TESTS
from tests.statistics import share

SOURCE = Bits.fresh()
PI = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651"


def test_pi_is_pi() -> None:
    with localcontext(prec=120):
        for width in (64, 128, 300):
            exact = int(Decimal(PI) * 2**width)
            assert exact - 1 <= pi(width) <= exact


@given(st.integers(0, 2**64))
def test_the_sine_is_within_its_margin(u: int) -> None:
    """Against the same series 256 bits wider, and against the machine's sine."""
    width = 64 + GUARD
    wider = quarter_sine(u << 256, 64 + 256)
    assert abs((quarter_sine(u, 64) << 256) - wider) < width << 256
    assert quarter_sine(u, 64) / 2**width == pytest.approx(math.sin(math.pi / 2 * (u / 2**64)), abs=1e-15)


def test_sines_that_are_known() -> None:
    width = 64 + GUARD
    for u, square in ((2**63, Fraction(1, 2)), (2**64, Fraction(1)), (0, Fraction(0))):
        low, high = (Fraction(quarter_sine(u, 64) + sign * width, 2**width) for sign in (-1, 1))
        assert max(low, 0) ** 2 <= square <= high**2


@given(st.fractions(Fraction(1, 1000), 200, max_denominator=1000), st.sampled_from([64, 128]))
def test_a_decay_lies_between_its_bounds(rate: Fraction, bits: int) -> None:
    low, high = decay_bounds(rate, bits)
    with localcontext(prec=400):
        exact = Fraction((-Decimal(rate.numerator) / Decimal(rate.denominator)).exp())
    assert low < exact < high
    assert high - low <= Fraction(1, 2**bits)


def test_a_chance_is_decided_also_where_the_first_bits_do_not() -> None:
    third = Fraction(1, 3)
    n = 20_000
    asked: list[int] = []

    def vague_at_first(bits: int) -> tuple[int, int]:
        asked.append(bits)
        return (0, 2**bits) if bits < 128 else (math.floor(third * 2**bits), math.ceil(third * 2**bits))

    heads = sum(chance(SOURCE, vague_at_first) for _ in range(n)) / n
    error = math.sqrt(math.log(2 / share(TESTS)) / (2 * n))
    assert abs(heads - 1 / 3) <= error < abs(heads - 1 / 3 * 1.1)
    assert set(asked) == {64, 128}


@given(
    st.lists(st.fractions(0, 5, max_denominator=30), min_size=1, max_size=5),
    st.integers(0, 2**40),
)
def test_a_polynomial_is_rounded_exactly(coefficients: list[Fraction], x: int) -> None:
    exact = sum(c * Fraction(x, 2**40) ** (2 * k + 1) for k, c in enumerate(coefficients))
    assert RoundedSine(coefficients)._steps(x, 40) == math.floor(exact + Fraction(1, 2))


@given(st.fractions(Fraction(1, 100), 50, max_denominator=100), st.fractions(Fraction(1, 50), 1, max_denominator=50))
def test_the_first_part_of_a_stair_has_its_chance(epsilon: Fraction, gamma: Fraction) -> None:
    low, high = RoundedStaircase(epsilon, Fraction(3), gamma)._bounds(64)
    chance = gamma / (gamma + math.exp(-epsilon) * (1 - gamma))
    assert high - low <= 3
    assert low / 2**64 == pytest.approx(float(chance), rel=1e-12)
