"""What the audit's tests share."""

from collections.abc import Iterator

import pytest

from halfmask.mechanisms import mechanism


@pytest.fixture(autouse=True)
def plugins_go_again() -> Iterator[None]:
    """Mechanisms that a test registers are known to that test alone."""
    before = dict(mechanism._known)
    yield
    mechanism._known.clear()
    mechanism._known.update(before)
