"""Does a text that puts a number on epsilon say for which change, in how many readings and at which delta?"""

import re
from collections.abc import Iterable

EPSILON = re.compile(r"(?<!--)\bepsilons?( (is|of|at least|at most|above|below|or less|up to))* [0-9]", re.IGNORECASE)
CHANGE = re.compile(r"change of|changed? by up to|two values .* apart")
WINDOW = re.compile(r"one reading|each of|every reading|every one of|readings in a row|total by|totals, each|in all\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z*(`\"])")


def names_all(text: str) -> bool:
    """Change, window and delta are all there."""
    return bool(CHANGE.search(text) and WINDOW.search(text) and "delta" in text)


def sentences(text: str) -> list[str]:
    return _SENTENCE.split(" ".join(text.split()))


def named(texts: Iterable[str]) -> list[str]:
    """Sentences that put a number on epsilon."""
    return [each for text in texts for each in sentences(text) if EPSILON.search(each)]


def incomplete(texts: Iterable[str]) -> list[str]:
    """Those of them that leave out change, window or delta."""
    return [each for each in named(texts) if not names_all(each)]
