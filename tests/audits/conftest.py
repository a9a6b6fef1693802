"""What the audit's tests share."""

from collections.abc import Iterator

import pytest

from halfmask.mechanisms import mechanism_registry as registry


@pytest.fixture(autouse=True)
def plugins_go_again() -> Iterator[None]:
    """Mechanisms that a test registers are known to that test alone."""
    before = dict(registry._known)
    yield
    registry._known.clear()
    registry._known.update(before)
