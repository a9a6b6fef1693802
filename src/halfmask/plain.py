"""Convert results to plain JSON values and back.

A dataclass defines the format of its file. `to_plain` writes its fields. `from_plain` reads them, and checks their
types and the ranges in their annotations. A class with ``parse`` and ``__str__``, such as a privacy setting, is written
as text. A class with ``derived`` adds values that follow from its fields; they are written for other programs, and not
read back.
"""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, TypeVar, get_origin

import msgspec
import numpy as np

from halfmask.errors import HalfmaskError

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Size = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=1)]
DIGITS = 6  # of a number in an array

T = TypeVar("T")


def to_plain(value: Any) -> Any:
    """Convert a value to JSON types. Infinity and NaN become null, and keys become texts."""
    if value is None or isinstance(value, bool | str | int):
        return value
    if hasattr(value, "parse"):
        return str(value)
    if is_dataclass(value):
        held = {each.name: to_plain(getattr(value, each.name)) for each in fields(value) if each.compare}
        return {**held, **to_plain(value.derived())} if hasattr(value, "derived") else held
    if isinstance(value, Mapping):
        return {key_text(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return [float(f"{each:.{DIGITS}g}") for each in value]
    if isinstance(value, list | tuple):
        return [to_plain(each) for each in value]
    return float(value) if math.isfinite(value) else None


def key_text(key: Any) -> str:
    """Convert a key to text: 0.5 to "0.5", infinity to "inf"."""
    return f"{key:g}" if isinstance(key, float) else str(key)


def from_plain(plain: Any, kind: type[T]) -> T:
    """Convert the result of `to_plain` back. Fields that the class does not declare are ignored.

    Raise a ValueError that names the place if a field is missing, has a wrong type or is out of range.
    """
    try:
        return msgspec.convert(plain, kind, dec_hook=_decode, str_keys=True)
    except msgspec.ValidationError as error:
        raise ValueError(str(error).replace("`$.", "`")) from error


def _decode(kind: Any, plain: Any) -> Any:
    if get_origin(kind) is np.ndarray:
        try:
            return np.array(msgspec.convert(plain, list[float]))
        except msgspec.ValidationError as error:
            raise TypeError(str(error)) from error  # msgspec adds the place to it
    if isinstance(plain, kind):
        return plain
    if not isinstance(plain, str):
        raise TypeError(f"expected text, got {type(plain).__name__}")
    try:
        return kind.parse(plain)
    except HalfmaskError as error:
        raise ValueError(str(error)) from error
