"""The published lattice: readings are rounded to it, and reports are multiples of its step."""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import count
from math import floor

from halfmask_device.errors import OptionError, ReadingError

Value = str | int | float | Decimal | None

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)
_MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "inf", "infinity"))
_MOST_DIGITS = 30
_HUGE = Decimal(10) ** (2 * _MOST_DIGITS)
_MEMO = 1 << 16
"""Largest number of cached readings. Meters often repeat a value."""


@dataclass(frozen=True)
class Lattice:
    """The multiples of ``step`` from ``low`` to ``high``. All three are exact decimals. Readings are clipped to the
    range.

    It is published because guarantees depend on it. A report has no digit finer than the step. Two readings differ on
    the lattice by at most high - low, which is the sensitivity.
    """

    step: str
    low: str
    high: str
    unit: Fraction = field(init=False, repr=False, compare=False)
    """The step as an exact fraction."""
    ends: tuple[int, int] = field(init=False, repr=False, compare=False)
    """Low and high, in steps."""
    _places: int = field(init=False, repr=False, compare=False)
    _scales: list[tuple[int, int]] = field(init=False, repr=False, compare=False)
    _memo: dict[str | float, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        unit = exact_decimal(self.step, "step")
        if unit <= 0:
            raise OptionError(
                f"step {self.step} is not above 0: name the finest difference to be told, like 0.001",
                kind="range",
                field="step",
            )
        ends = [exact_decimal(end, name) / unit for name, end in (("low", self.low), ("high", self.high))]
        for name, end, steps in zip(("low", "high"), (self.low, self.high), ends, strict=True):
            if steps.denominator != 1:
                raise OptionError(
                    f"{name} {end} is not a multiple of the step {self.step}: round it to one",
                    kind="multiple",
                    field=name,
                )
        if ends[0] >= ends[1]:
            raise OptionError(
                f"low {self.low} is not below high {self.high}: readings need a range", kind="range", field="low"
            )
        scales = [(1 / unit / 10**places).as_integer_ratio() for places in range(_MOST_DIGITS + 1)]
        places = next(n for n in count() if (unit * 10**n).denominator == 1)
        low, high = map(int, ends)
        vars(self).update(unit=unit, ends=(low, high), _scales=scales, _places=places)  # it is frozen from here on
        vars(self).update(step=self.text(1), low=self.text(low), high=self.text(high))

    def steps(self, value: Value, place: str = "the reading") -> int | None:
        """Convert a reading to steps: the nearest lattice point, halves rounded up, clipped to the range.

        All halves are rounded up so that readings d apart are at most ceil(d/step) steps apart. A float is read as the
        shortest decimal that represents it.

        Return None for a missing value (empty, ``NA``, NaN, infinite). Raise a ReadingError if the value is not a
        number. The error names ``place`` and never the reading.
        """
        if type(value) is str or type(value) is float:
            memo = self._memo
            plain = memo.get(value)
            if plain is None and (plain := self._plain_steps(value)) is not None and len(memo) < _MEMO:
                memo[value] = plain
            if plain is not None:
                return plain
        number = exact_reading(value, place)
        return None if number is None else self.nearest(Fraction(number))

    def nearest(self, number: Fraction) -> int:
        """Convert a number to steps: the nearest lattice point, halves rounded up, clipped to the range."""
        low, high = self.ends
        return min(max(floor(number / self.unit + Fraction(1, 2)), low), high)

    def _plain_steps(self, value: str | float) -> int | None:
        """Compute `steps` of a plain decimal like 12.345 in fast integer arithmetic; return None for other forms."""
        text = value if type(value) is str else repr(value)
        whole, _, fraction = text.partition(".")
        negative = whole.startswith("-")
        digits = (whole[1:] if negative else whole) + fraction
        if not (digits.isdigit() and digits.isascii()) or len(digits) > _MOST_DIGITS or whole in ("", "-"):
            return None
        numerator, denominator = self._scales[len(fraction)]
        number = -int(digits) if negative else int(digits)
        steps, (low, high) = (2 * number * numerator + denominator) // (2 * denominator), self.ends
        return low if steps < low else high if steps > high else steps

    def text(self, steps: int) -> str:
        """Format a number of steps as an exact decimal, with as many places as the step."""
        places = self._places
        digits = str(abs(steps) * int(self.unit * 10**places)).zfill(places + 1)
        sign = "-" if steps < 0 else ""
        return f"{sign}{digits[:-places]}.{digits[-places:]}" if places else sign + digits


def exact_reading(value: Value, place: str = "the reading") -> Decimal | None:
    """Parse a reading exactly; return None for a missing value. Raise a ReadingError if it is not a number.

    Sizes above 10^60 become 10^60, and sizes below 10^-60 become 0, so that powers of ten stay small. No lattice
    reaches that far.
    """
    text = "" if value is None else str(value).strip()
    if text.lstrip("+-").lower() in _MISSING:
        return None
    if not _NUMBER.fullmatch(text) or isinstance(value, bool):
        raise ReadingError(
            f"{place} is not a number: write it like 0.512, or leave it empty if it is missing", kind="number"
        )
    number = Decimal(text)
    if not number or number.adjusted() < -2 * _MOST_DIGITS:
        return Decimal(0)
    return number if number.adjusted() <= 2 * _MOST_DIGITS else _HUGE.copy_sign(number)


def exact_decimal(text: str, name: str) -> Fraction:
    """Parse an exact number. Raise an OptionError if it has more than 30 digits."""
    number = Decimal(stripped) if _NUMBER.fullmatch(stripped := str(text).strip()) else None
    if number is None:
        raise OptionError(
            f"{name} {stripped[:40]!r} is not a number: write a decimal like 0.001", kind="number", field=name
        )
    _, digits, exponent = number.as_tuple()
    if len(digits) > _MOST_DIGITS or not -_MOST_DIGITS <= int(exponent) <= _MOST_DIGITS:
        raise OptionError(
            f"{name} {stripped[:40]!r} has more than {_MOST_DIGITS} digits: take another unit",
            kind="digits",
            field=name,
        )
    return Fraction(number)
