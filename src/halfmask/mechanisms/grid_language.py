"""The grid language: ``mechanism:name=values,...`` with values ``a..b/step`` or ``v1|v2|v3``.

- laplace:b=0.001..10/0.001: a, a + step, a + 2 step, ... up to b; b itself only if the steps meet it
- staircase:epsilon=0.5|1,delta=1,gamma=0..1/0.25: all combinations of the parameters, the last changing fastest
- sine:k=5,values=0|0.3|0.6: all combinations of these values for k coefficients, except all zero
"""

from decimal import Decimal
from math import prod

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask_device.decimals import parse_number

MOST = 20_000_000  # largest number of settings in one part: 800 MB with five parameters


def parse_block(text: str) -> tuple[str, FloatArray]:
    """Return the mechanism and the parameters (S, P) of all settings in one part of a grid's text."""
    name, _, body = text.partition(":")
    law = mechanism(name.strip())
    fields = _fields(body, text)
    if law.alike and "values" in fields:
        return law.name, _power(law, fields, text)
    names = law.names(len(fields))
    if set(names) != fields.keys():
        wanted = ",".join(f"{each}=..." for each in names)
        raise SettingError(
            f"{text[:80]!r} names {', '.join(fields)}; {law.name} needs {law.name}:{wanted}", kind="names"
        )
    columns = [_values(fields[each], text) for each in names]
    _bound(prod(map(len, columns)), text)
    parameters = product(columns)
    for row in parameters.tolist():
        law.check(tuple(row))
    return law.name, parameters


def product(columns: list[FloatArray]) -> FloatArray:
    """Return all combinations of one value from each column, shape (S, P). The last column changes fastest."""
    count = run = prod(map(len, columns))
    rows = np.empty((count, len(columns)))
    for p, column in enumerate(columns):
        run //= len(column)
        rows[:, p] = np.resize(np.repeat(column, run), count)
    return rows


def _fields(body: str, text: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    for field in body.split(","):
        name, equals, values = (part.strip() for part in field.partition("="))
        if not (name and equals and values):
            raise SettingError(
                f"{field[:40]!r} in {text[:80]!r} does not name a parameter: write name=values", kind="names"
            )
        if name in fields:
            raise SettingError(f"{text[:80]!r} names {name} twice", kind="names")
        fields[name] = values
    return fields


def _power(law: Mechanism, fields: dict[str, str], text: str) -> FloatArray:
    """Return all combinations of the field ``values`` for ``k`` coefficients, except all zero."""
    if fields.keys() != {"k", "values"} or not (fields["k"].isascii() and fields["k"].isdigit()):
        raise SettingError(
            f"{text[:80]!r}: write {law.name}:k=5,values=0|0.3|0.6, with k a whole number", kind="names", field="k"
        )
    values, k = _values(fields["values"], text), int(fields["k"][:9])
    if k == 0:
        raise SettingError(f"{text[:80]!r}: k is 0; {law.name} needs at least one coefficient", kind="range", field="k")
    law.check(tuple(values.tolist()))
    _bound(k if len(values) == 1 else min(float(len(values)) ** min(k, 64), 1e18), text)
    every = product([values] * k)
    every = every[every.any(axis=1)]
    if not len(every):
        raise SettingError(
            f"{text[:80]!r} holds no setting: without all-zero nothing is left; give a value above 0",
            kind="range",
            field="values",
        )
    return every


def _bound(count: float, text: str) -> None:
    if count > MOST:
        raise SettingError(
            f"{text[:80]!r} asks for {count:.3g} settings, above {MOST:,}: widen a step or cut a range", kind="many"
        )


def _values(text: str, place: str) -> FloatArray:
    """Return the distinct values of ``a..b/step`` or ``v1|v2|v3``, as the floats nearest to the exact decimals."""
    if ".." in text:
        return _range(text, place)
    return np.array(list(dict.fromkeys(parse_number(value, place) + 0.0 for value in text.split("|"))))


def _range(text: str, place: str) -> FloatArray:
    first, _, rest = text.partition("..")
    last, slash, width = rest.partition("/")
    if not slash:
        raise SettingError(
            f"the range {text[:40]!r} in {place[:80]!r} has no step: write a..b/step like 0.1..2/0.1", kind="span"
        )
    for number in (first, last, width):
        parse_number(number, place)  # its error says what is wrong, unlike Decimal's
    low, high, step = (Decimal(number.strip()) for number in (first, last, width))
    if step <= 0:
        raise SettingError(
            f"the range {text[:40]!r} in {place[:80]!r} has step {step}: it must be above 0", kind="span"
        )
    if high < low:
        raise SettingError(f"the range {text[:40]!r} in {place[:80]!r} is empty: {high} lies below {low}", kind="span")
    _bound(float(min((high - low) / step, Decimal(10) ** 300)) + 1, place)
    count = int((high - low) / step) + 1
    return np.array(list(dict.fromkeys(float(low + i * step) + 0.0 for i in range(count))))
