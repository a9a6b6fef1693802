"""Numbers as people write them: the shortest decimal that reads back as the same float."""

import math
import re

from halfmask_device.errors import SettingError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def number_text(value: float) -> str:
    """The shortest decimal that reads back as ``value``: ``1`` for 1.0, ``1e-7``, ``1e300``."""
    mantissa, mark, exponent = repr(value).partition("e")
    mantissa = mantissa.removesuffix(".0")
    return f"{mantissa}e{int(exponent)}" if mark else mantissa


def parse_number(text: str, place: str) -> float:
    """The float that ``text`` writes; ``place`` says in errors where it stood."""
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        raise SettingError(f"{stripped[:40]!r} in {place[:80]!r} is not a number: write it like 0.5 or 1e-3")
    value = float(stripped)
    if not math.isfinite(value):
        raise SettingError(f"{stripped[:40]!r} in {place[:80]!r} is beyond the largest number, about 1.8e308")
    return value
