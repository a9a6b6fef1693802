"""Instants: integer microseconds since 1970 in UTC. Messages contain them as RFC 3339 text."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

Instant = int
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
_TICK = timedelta(microseconds=1)


def of_datetime(moment: datetime) -> Instant:
    """Return the instant of a datetime that has an offset."""
    return (moment - EPOCH) // _TICK


def parse_instant(text: str) -> Instant | None:
    """Parse RFC 3339 text to an instant; None if it is not valid. Digits beyond a microsecond are cut off."""
    return _parsed(text) if 20 <= len(text) <= 64 else None


@lru_cache(maxsize=65_536)
def _parsed(text: str) -> Instant | None:
    """Parse a text of checked length. The result is cached, because the same times occur often.

    ``datetime.fromisoformat`` accepts more forms than RFC 3339, so the positions of the separators are checked first.
    """
    if text[10] not in "Tt " or text[4] + text[7] + text[13] + text[16] != "--::":
        return None
    if text[-1] in "Zz":
        offset, rest = "+00:00", text[:-1]
    else:
        offset, rest = text[-6:], text[:-6]
        if offset[0] not in "+-" or offset[3] != ":" or offset[4] > "5":
            return None
    if not text.isascii() or not (len(rest) == 19 or (rest[19] == "." and rest[20:].isdigit())):
        return None
    try:
        return of_datetime(datetime.fromisoformat(f"{rest[:10]}T{rest[11:26]}{offset}"))
    except (ValueError, OverflowError):
        return None


def at(instant: Instant) -> datetime:
    """Return the instant as a datetime in UTC."""
    return EPOCH + timedelta(microseconds=instant)


def instant_text(instant: Instant) -> str:
    """Return RFC 3339 text in UTC, with a fraction of a second only if it is not 0."""
    return at(instant).isoformat().replace("+00:00", "Z")
