"""Expect an error by its code and fields, so that its wording can improve without breaking a test."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from halfmask.errors import HalfmaskError


@contextmanager
def refused(code: str, *fields: str, place: str | None = None) -> Iterator[pytest.ExceptionInfo[HalfmaskError]]:
    """Expect an error of this code; if given, it names exactly these options and this place."""
    with pytest.raises(HalfmaskError) as caught:
        yield caught
    assert caught.value.code == code
    if fields:
        assert caught.value.fields == fields
    if place is not None:
        assert caught.value.place == place
