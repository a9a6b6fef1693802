"""The privacy ledger of a device: epsilon spent by its reports so far, over all campaigns, and the limit on it."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial

from halfmask_device.device_state import State
from halfmask_device.epsilon_bound import epsilon_of, per_unit
from halfmask_device.errors import OptionError
from halfmask_device.masking import Channel
from halfmask_device.privacy_budget import WARN_FROM, WINDOWS, Limit, Window, read_limit
from halfmask_device.reading_times import UNDATED, day_text
from halfmask_device.setting import DeviceSetting

Counts = dict[tuple[str, str], int]
"""Number of reports by setting and step."""


@dataclass(frozen=True)
class Entry:
    """The spending of one window, a day, week or month. Change and delta are those of the `Ledger`.

    ``epsilon``  bound for a change of every reading in the window
    ``one``      bound for a change of one reading only, as if all settings and revisions of its day concerned it
    ``unit``     pure epsilon per unit of change in every reading
    """

    window: str
    reports: int
    revisions: int
    epsilon: float
    one: float
    unit: float


@dataclass(frozen=True)
class Ledger:
    """Entries by day, week and month. Reports whose record was lost with the folder's memory are not counted."""

    change: str
    delta: float
    days: tuple[Entry, ...]
    weeks: tuple[Entry, ...]
    months: tuple[Entry, ...]
    total: Entry


def read_ledger(state: State, change: str, delta: float = 1e-6) -> Ledger:
    """Return the ledger of a device.

    ``change``  the change of a reading that is to stay hidden, in the readings' unit, like ``"1"``
    ``delta``   the delta of epsilon
    """
    if not 0 < delta < 1:
        raise OptionError("delta must lie between 0 and 1, like 1e-6", kind="delta", field="delta")
    with state.memory() as memory:
        rows = list(memory.execute("SELECT day, law, reports, revisions FROM counts ORDER BY day"))
    kinds = {kind: _entries(rows, kind, change, delta) for kind in WINDOWS}
    return Ledger(change, delta, kinds["day"], kinds["week"], kinds["month"], _entry("all", rows, change, delta))


def _entries(rows: list[tuple[int, str, int, int]], kind: Window, change: str, delta: float) -> tuple[Entry, ...]:
    groups: dict[str, list[tuple[int, str, int, int]]] = {}
    for row in rows:
        groups.setdefault(window_of(row[0], kind), []).append(row)
    return tuple(_entry(name, group, change, delta) for name, group in groups.items())


def _entry(name: str, rows: list[tuple[int, str, int, int]], change: str, delta: float) -> Entry:
    counts = _counted((law, reports) for _, law, reports, _ in rows)
    revisions = sum(row[3] for row in rows)
    one = max((epsilon_of(each, change, delta) for each in _observations(rows)), default=0.0)
    return Entry(name, sum(counts.values()), revisions, epsilon_of(counts, change, delta), one, per_unit(counts))


def _observations(rows: list[tuple[int, str, int, int]]) -> Iterable[Counts]:
    """Return for each day the largest number of reports that one reading can have had, by setting and step.

    That is one report per law plus all revisions of this law. Which reading was revised is not stored, so all revisions
    of a day may belong to one reading.
    """
    days: dict[int, list[tuple[str, int]]] = {}
    for day, law, reports, revisions in rows:
        days.setdefault(day, []).append((law, min(reports, 1 + revisions)))
    return [_counted(observed) for observed in days.values()]


def _counted(pairs: Iterable[tuple[str, int]]) -> Counts:
    counts: Counts = {}
    for law, reports in pairs:
        setting, _, lattice = law.rpartition("@")
        key = (setting, lattice.split(",")[0])
        counts[key] = counts.get(key, 0) + reports
    return counts


def window_of(day: int, kind: Window) -> str:
    """Return the name of the window that contains a day: 2026-11-16, 2026-W47 or 2026-11."""
    text = day_text(day)
    if day == UNDATED or kind == "day":
        return text
    if kind == "month":
        return text[:7]
    year, week, _ = date.fromisoformat(text).isocalendar()
    return f"{year}-W{week:02}"


def window_days(day: int, kind: Window) -> tuple[int, int]:
    """Return the first and the last day of the window that contains a day."""
    if day == UNDATED or kind == "day":
        return day, day
    if kind == "week":  # 1970 began on a Thursday
        first = day - (day + 3) % 7
        return first, first + 6
    found = date.fromisoformat(day_text(day))
    first = day - found.day + 1
    after = date(found.year + found.month // 12, found.month % 12 + 1, 1)
    return first, first + (after - found.replace(day=1)).days - 1


class UserNotes(list[str]):
    """Messages for the user, each of them once."""

    def note(self, text: str) -> None:
        if text not in self:
            self.append(text)


class Guard:
    """Enforces a device's limit: decides in each transaction which channel a new report may use.

    ``channel``  the requested channel
    ``menu``     settings from which a coarser channel may be chosen
    ``notes``    list to which messages for the user are added
    ``who``      recipient of the reports: a campaign of a service, or empty for the device's owner

    A reading that was reported with a coarser channel keeps that report, even if the limit changes later.
    """

    def __init__(self, state: State, channel: Channel, menu: Iterable[str], notes: UserNotes, who: str = "") -> None:
        self._state, self._channel, self._menu, self._notes, self._who = state, channel, tuple(menu), notes, who
        if limit := read_limit(state):  # a menu it cannot use raises here, before anything is masked
            self._channels(limit)

    def past(self, memory: sqlite3.Connection) -> list[Channel]:
        """Return coarser channels of this lattice that a limit has used; for a campaign, only those on its menu."""
        moved = memory.execute("SELECT law FROM moved WHERE who = ?", (self._who,))
        lattice = self._channel.lattice
        found = [(law, Channel.of(law.rpartition("@")[0], lattice)) for (law,) in moved]
        return [
            each
            for law, each in found
            if each.name == law != self._channel.name and (not self._who or each.setting.text in self._texts)
        ]

    def gate(self, memory: sqlite3.Connection) -> Callable[[int], Channel | None] | None:
        """Return a function from a day to the first channel with which one more report stays within the limit.

        Return None if the device does not have a limit.
        """
        limit = read_limit(self._state)
        return None if limit is None else partial(self._pass, memory, limit)

    def _pass(self, memory: sqlite3.Connection, limit: Limit, day: int) -> Channel | None:
        first, last = window_days(day, limit.window)
        rows = memory.execute("SELECT law, reports FROM counts WHERE day BETWEEN ? AND ?", (first, last))
        counts, where = _counted(rows), window_of(day, limit.window)
        for channel in self._channels(limit):
            key = (channel.setting.text, channel.lattice.step)
            spent = epsilon_of({**counts, key: counts.get(key, 0) + 1}, limit.change, limit.delta)
            if spent <= limit.epsilon:
                self._warn(spent, where, channel, limit)
                if channel != self._channel:
                    memory.execute("INSERT OR IGNORE INTO moved VALUES (?, ?)", (self._who, channel.name))
                return channel
        if limit.then == "warn":
            self._notes.note(f"the ledger's limit is exceeded in {where}, and only warned of: {limit.words()}")
            return self._channel
        return None

    def _channels(self, limit: Limit) -> list[Channel]:
        """Return the channels to try: the requested one, then coarser ones by rising variance if the limit allows."""
        return [self._channel, *(self._wider if limit.then == "coarser" else [])]

    @cached_property
    def _texts(self) -> set[str]:
        return {DeviceSetting.parse(text).text for text in self._menu}

    @cached_property
    def _wider(self) -> list[Channel]:
        channels = [Channel.of(text, self._channel.lattice) for text in self._menu if text != "none"]
        wider = [each for each in channels if each.law.variance > self._channel.law.variance]
        return sorted(wider, key=lambda each: each.law.variance)

    def _warn(self, spent: float, where: str, channel: Channel, limit: Limit) -> None:
        if channel != self._channel:
            self._notes.note(f"in {where} the ledger's limit is near: readings are reported by {channel.setting.text}")
        elif spent > WARN_FROM * limit.epsilon:
            self._notes.note(f"reports of {where} are above {WARN_FROM:.0%} of the ledger's limit: {limit.words()}")
