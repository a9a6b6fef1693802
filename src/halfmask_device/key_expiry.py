"""Until when a device needs the key of a day. `State.forget` erases the keys.

A day's key is needed until the service takes no more reports of that day: until every campaign's period that contains
part of it is over, plus the grace. It should be erased then, because folder and report together reveal the reading.
Reports that are already masked are queued and need no key.
"""

from bisect import bisect_left
from collections.abc import Iterable
from functools import lru_cache

from halfmask_device.campaign_calendar import Calendar
from halfmask_device.device_state import State
from halfmask_device.instants import DAY, MINUTE, Instant
from halfmask_device.membership import Membership


def needed_until(member: Membership, day: int) -> Instant:
    """Return the instant when a campaign's service stops taking reports of a day (counted from 1970, in UTC).

    It is the end of the last period that contains a part of the day, or the end of the campaign if that is earlier,
    plus the grace.
    """
    terms = member.terms
    grace = terms.offer.get("grace_minutes")
    last = min((day + 1) * DAY, terms.ends) - 1
    over = min(_period_end(last, terms.period, terms.time_zone, terms.ends), terms.ends)
    return over + (grace if isinstance(grace, int) else 0) * MINUTE


def keys_kept(state: State, members: Iterable[Membership]) -> list[tuple[int, Instant]]:
    """Return the days with reports whose keys are kept, each with the instant from which no campaign needs the key."""
    whole = list(members)
    with state.memory() as memory:
        rows = memory.execute("SELECT DISTINCT day FROM counts WHERE day >= ? ORDER BY day", (state.secret.day,))
        until = {day: [needed_until(each, day) for each in whole if _uses(each, day)] for (day,) in rows}
    return [(day, max(instants)) for day, instants in until.items() if instants]


def _uses(member: Membership, day: int) -> bool:
    """Return whether a campaign's time includes part of a day."""
    return member.terms.begins < (day + 1) * DAY and day * DAY < member.terms.ends


def first_day_needed(members: Iterable[Membership], now: Instant) -> int | None:
    """Return the first day whose key a campaign still needs, at most today; None without campaigns."""
    found = []
    for member in members:
        days = range(member.terms.begins // DAY, (member.terms.ends - 1) // DAY + 1)
        found.append(days.start + bisect_left(days, now + 1, key=lambda day, of=member: needed_until(of, day)))  # type: ignore[misc]
    return min(*found, now // DAY) if found else None


def _period_end(when: Instant, period: str, zone: str, otherwise: Instant) -> Instant:
    """Return the end of the period that contains an instant; ``otherwise`` if the time zone is unknown."""
    calendar = _calendar(period, zone)
    return calendar.span_of(when).ends if calendar else otherwise


@lru_cache(maxsize=64)
def _calendar(period: str, zone: str) -> Calendar | None:
    try:
        return Calendar(period, zone)
    except (KeyError, ValueError):
        return None
