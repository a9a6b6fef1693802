"""Numbers as text: format and parse decimals and amounts of money."""

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from halfmask_device.errors import SettingError

SLACK = 1e-12
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PARTS = re.compile("10{1,9}")


def number_text(value: float) -> str:
    """Return the shortest decimal that parses to ``value``: ``1`` for 1.0, ``1e-7``, ``1e300``."""
    mantissa, mark, exponent = repr(value).partition("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def upwards(value: float, digits: int = 3) -> str:
    """Format an upper bound, rounded up to ``digits`` digits so that it remains a bound.

    A relative excess below `SLACK` over a shorter number, as in 3 * 0.1, is a rounding error of floats and is ignored.
    """
    if not math.isfinite(value):
        return f"{value:g}"
    kept = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value * (1 - SLACK)))
    return f"{float(kept):.{max(digits, 6)}g}"


def downwards(value: float, digits: int = 3) -> str:
    """Format a finite lower bound, rounded down to ``digits`` digits so that it remains a bound."""
    kept = Context(prec=digits, rounding=ROUND_FLOOR).create_decimal(Decimal(value * (1 + SLACK)))
    return f"{float(kept):.{max(digits, 6)}g}"


def money(amount: int, currency: str) -> str:
    """Format an amount of money: 192 of ``EUR/1000`` is ``0.192 EUR``; 5 of ``points`` is ``5 points``."""
    name, _, parts = currency.rpartition("/")
    if not name or not _PARTS.fullmatch(parts):
        return f"{amount} {currency}".strip()
    return f"{Decimal(amount).scaleb(1 - len(parts)):f} {name}"


def parse_number(text: str, place: str) -> float:
    """Parse a finite float. Errors quote ``place``, the text that contains it."""
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        raise SettingError(
            f"{stripped[:40]!r} in {place[:80]!r} is not a number: write it like 0.5 or 1e-3", kind="number"
        )
    value = float(stripped)
    if not math.isfinite(value):
        raise SettingError(
            f"{stripped[:40]!r} in {place[:80]!r} is beyond the largest number, about 1.8e308", kind="number"
        )
    return value
