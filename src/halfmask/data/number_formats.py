"""Find how a text column writes numbers: with a decimal point or comma, and with which thousands separator.

Some texts prove it (``0,5``, ``1.234,5``, ``1,234,567``). Others are ambiguous (``1,234`` is 1.234 or 1234). One proof
in the column is enough. Without one, the error shows both interpretations.

Numbers may have a unit or a currency sign: ``1.2 kWh``, ``$3.50``, ``80 %``. Negative numbers may end in a minus sign
(``0.5-``) or be in brackets.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from halfmask.data.sql import extract, literal
from halfmask.data.units import is_unit
from halfmask.errors import ReadingError

SPACES = " \u00a0\u2009\u202f"
_GROUPS = SPACES + "'’"
_SIGN = "[+-]?"
NUMBER = rf"{_SIGN}(\d+|\d{{1,3}}([.,{_GROUPS}]\d{{3}})+)?([.,]\d*)?([eE][+-]?\d+)?"
"""Matches numbers with a decimal point and numbers with a decimal comma."""


MINUS = "\u2212"
DRESSED = (
    rf"(\()?[€$£¥]? ?({_SIGN}\d[\d.,{_GROUPS}]*(?:[eE][+-]?\d+)?|{_SIGN}[.,]\d+)"
    rf"(?:[{SPACES}]*([%€$£¥]|[A-Za-z°][A-Za-z0-9³/]*))?([-)])?"
)
"""Group 2 is the number, 3 the unit after it, 1 and 4 the accounting signs of a negative number."""


def undressed(text: str) -> str | None:
    """Return the number in a text, without unit and accounting signs; None if there is none or its unit is unknown."""
    found = re.fullmatch(DRESSED, text.replace(MINUS, "-"))
    if found is None or (found[1] == "(") != (found[4] == ")"):
        return None
    number, unit = found[2].strip(), found[3] or ""
    glued = bool(unit) and text[found.start(3) - 1] not in SPACES
    if unit and unit not in "%€$£¥" and (not is_unit(unit) or (glued and len(unit) == 1)):
        return None
    return f"-{number}" if found[4] else number


def unit_behind(text: str) -> str:
    """Return the unit after a number; empty if there is none or if it is a currency sign."""
    found = re.fullmatch(DRESSED, text.replace(MINUS, "-"))
    unit = (found[3] or "") if found and undressed(text) is not None else ""
    return "" if unit in "€$£¥" else unit


def proof(decimal: str) -> str:
    """Return a regular expression for texts that are numbers only with this decimal sign."""
    d, other = re.escape(decimal), re.escape("," if decimal == "." else ".")
    fraction = rf"{_SIGN}(0?{d}\d+|\d+{d}(\d{{1,2}}|\d{{4,}})|\d{{4,}}{d}\d+)([eE][+-]?\d+)?"
    grouped = rf"{_SIGN}\d{{1,3}}([{other}{_GROUPS}]\d{{3}})+{d}\d+|{_SIGN}\d{{1,3}}({other}\d{{3}}){{2,}}"
    return rf"{fraction}|{grouped}"


def undecided(decimal: str) -> str:
    """Return a regular expression for texts such as ``1,234``, in which the sign may be decimal or a thousands
    separator.
    """
    return rf"{_SIGN}[1-9]\d{{0,2}}{re.escape(decimal)}\d{{3}}"


TESTS = {
    "comma": proof(","),
    "point": proof("."),
    "maybe comma": undecided(","),
    "maybe point": undecided("."),
}


@dataclass(frozen=True)
class NumberFormat:
    """How a column writes numbers, and the evidence.

    ``decimal``  the decimal sign
    ``grouped``  whether there may be thousands separators
    ``dressed``  whether numbers have units or signs of money
    ``whole``    whether the sample has only whole numbers, so that a point in a later row may be a thousands separator
    """

    decimal: str = "."
    grouped: bool = False
    evidence: str = ""
    dressed: bool = False
    whole: bool = False

    @property
    def plain(self) -> bool:
        """Return whether the engine can parse these numbers without conversion."""
        return self.decimal == "." and not self.grouped and not self.dressed

    def pattern(self) -> str:
        """Return a regular expression for numbers in this format."""
        groups = ("." if self.decimal == "," else ",") + _GROUPS
        return rf"{_SIGN}(\d+|[1-9]\d{{0,2}}([{groups}]\d{{3}})+)?({re.escape(self.decimal)}\d*)?([eE][+-]?\d+)?"

    def bare(self, text: str) -> str:
        """Return an SQL expression that extracts the number from a text; empty if there is none."""
        if not self.dressed:
            return f"trim({text})"
        plain = f"replace(trim({text}), {literal(MINUS)}, '-')"
        sign = f"CASE WHEN {extract(plain, f'^{DRESSED}$', 4)} <> '' THEN '-' ELSE '' END"
        return f"concat({sign}, trim({extract(plain, f'^{DRESSED}$', 2)}))"

    def unit(self, text: str) -> str:
        """Return an SQL expression that extracts the unit after a number."""
        return extract(f"replace(trim({text}), {literal(MINUS)}, '-')", f"^{DRESSED}$", 3)

    def cleaned(self, text: str) -> str:
        """Return an SQL expression that rewrites a number so that it can be cast."""
        for sign in ("." if self.decimal == "," else ",") + _GROUPS:
            text = f"replace({text}, {literal(sign)}, '')"
        return text if self.decimal == "." else f"replace({text}, ',', '.')"


def is_local_number(text: str) -> bool:
    """Return whether a text is a number with a decimal point or a decimal comma, with or without a unit."""
    bare = undressed(text) or ""
    return bool(re.fullmatch(NUMBER, bare)) and any(letter.isdigit() for letter in bare)


def number_format(
    name: str, texts: Sequence[str], asked: str | None, whole: Callable[[Sequence[str]], list[int]]
) -> NumberFormat:
    """Return the number format of a column.

    ``texts``  a sample of the column
    ``asked``  the decimal sign that the caller named, if any
    ``whole``  counts patterns in the whole column; it is called only if the sample is ambiguous
    """
    bare = [number for text in texts if (number := undressed(text)) is not None]
    dressed = any(not re.fullmatch(NUMBER, text) and undressed(text) is not None for text in texts)
    found = {key: sum(bool(re.fullmatch(p, text)) for text in bare) for key, p in TESTS.items()}
    if asked is not None:
        return NumberFormat(asked, grouped=True, evidence=f"`decimal={asked}`", dressed=dressed)
    signs = any(sign in number for number in bare for sign in f",{_GROUPS}")
    if not signs and not _doubtful(found):
        example = next((text for text in texts if not re.fullmatch(NUMBER, text)), "") if dressed else ""
        only = bool(bare) and all("." not in number for number in bare)
        return NumberFormat(dressed=dressed, evidence=f"such as {example}" if dressed else "", whole=only)
    if not found["comma"] and not found["point"]:
        found = dict(zip(TESTS, whole(list(TESTS.values())), strict=True))
    if not found["comma"] and not found["point"] and (found["maybe comma"] or _doubtful(found)):
        raise _both(name, texts, "," if found["maybe comma"] else ".")
    decimal = "," if found["comma"] > found["point"] else "."
    count = max(found["comma"], found["point"])
    example = next((t for t in texts if re.fullmatch(proof(decimal), t)), "")
    shown = f", such as {example}" if example else ""
    evidence = f"{count:,} values can only be meant so{shown}" if count else "spaces group thousands"
    return NumberFormat(decimal, grouped=True, evidence=evidence, dressed=dressed)


def _doubtful(found: dict[str, int]) -> bool:
    """Return whether points may be thousands separators: exactly three digits follow every point."""
    return bool(found["maybe point"] and not found["point"])


def _both(name: str, texts: Sequence[str], sign: str) -> ReadingError:
    text = next((t for t in texts if re.fullmatch(undecided(sign), t)), f"1{sign}234")
    fraction, thousands = text.replace(sign, "."), text.replace(sign, "")
    other = "," if sign == "." else "."
    return ReadingError(
        f"column {name!r}: {text!r} is {fraction} with `decimal={sign}` and {thousands} with `decimal={other}`, "
        "and no other value settles it; say which",
        kind="ambiguous",
    )
