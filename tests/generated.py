"""How many cases a property is tried on, and which.

``make test`` tries the same cases every time: a failure there is a change's fault, never chance. ``make test-slow``
draws new ones, ten times as many (``HALFMASK_SEARCH=1``); what it finds becomes a fixed case beside the property.
"""

import os
from typing import Any

from hypothesis import settings

SEARCH = bool(os.environ.get("HALFMASK_SEARCH"))


def cases(count: int = 100, **more: Any) -> settings:
    """The settings of a property that is tried on ``count`` cases."""
    return settings(
        max_examples=count * (10 if SEARCH else 1), derandomize=not SEARCH, deadline=None, database=None, **more
    )
