"""The privacy ledger of a device: what its reports have told so far, over all campaigns, and the limit on it."""

import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial

from halfmask_device.errors import OptionError
from halfmask_device.limit import WARN_FROM, WINDOWS, Limit, Window, read_limit
from halfmask_device.losses import epsilon_of, per_unit
from halfmask_device.masking import Channel
from halfmask_device.setting import DeviceSetting
from halfmask_device.state import State
from halfmask_device.times import UNDATED, day_text

Counts = dict[tuple[str, str], int]
"""Reports of each setting and step."""


@dataclass(frozen=True)
class Entry:
    """One window: ``epsilon`` at ``delta`` bounds what its reports tell of a change of ``change`` in every reading of
    it; ``one`` bounds that of one reading alone, as if every setting and every revision of its day had been a look at
    it; ``unit`` is pure epsilon per unit of change in every reading."""

    window: str
    reports: int
    revisions: int
    epsilon: float
    one: float
    unit: float


@dataclass(frozen=True)
class Ledger:
    """Entries by day, week and month. It counts from when the folder's memory begins: a lost memory is not counted."""

    change: str
    delta: float
    days: tuple[Entry, ...]
    weeks: tuple[Entry, ...]
    months: tuple[Entry, ...]
    total: Entry


def read_ledger(state: State, change: str, delta: float = 1e-6) -> Ledger:
    """The ledger of a device for a change of a reading, like ``"1"``, in the readings' unit."""
    if not 0 < delta < 1:
        raise OptionError("delta must lie between 0 and 1, like 1e-6")
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
    one = max((epsilon_of(each, change, delta) for each in _looks(rows)), default=0.0)
    return Entry(name, sum(counts.values()), revisions, epsilon_of(counts, change, delta), one, per_unit(counts))


def _looks(rows: list[tuple[int, str, int, int]]) -> Iterable[Counts]:
    """For each day the most looks that one of its readings can have had: one a law, and all revisions of that law.

    Which reading was revised is not stored, so all revisions of a day may have been of one.
    """
    days: dict[int, list[tuple[str, int]]] = {}
    for day, law, reports, revisions in rows:
        days.setdefault(day, []).append((law, min(reports, 1 + revisions)))
    return [_counted(looks) for looks in days.values()]


def _counted(pairs: Iterable[tuple[str, int]]) -> Counts:
    counts: Counts = {}
    for law, reports in pairs:
        setting, _, lattice = law.rpartition("@")
        key = (setting, lattice.split(",")[0])
        counts[key] = counts.get(key, 0) + reports
    return counts


def window_of(day: int, kind: Window) -> str:
    """The name of the window that a day is in: 2026-11-16, 2026-W47 or 2026-11."""
    text = day_text(day)
    if day == UNDATED or kind == "day":
        return text
    if kind == "month":
        return text[:7]
    year, week, _ = date.fromisoformat(text).isocalendar()
    return f"{year}-W{week:02}"


def window_days(day: int, kind: Window) -> tuple[int, int]:
    """The first and the last day of the window that a day is in."""
    if day == UNDATED or kind == "day":
        return day, day
    if kind == "week":  # 1970 began on a Thursday
        first = day - (day + 3) % 7
        return first, first + 6
    found = date.fromisoformat(day_text(day))
    first = day - found.day + 1
    after = date(found.year + found.month // 12, found.month % 12 + 1, 1)
    return first, first + (after - found.replace(day=1)).days - 1


class Guard:
    """Holds a device to its limit, as it stands when a transaction begins: which channel a new report may still use.

    ``who`` the reports are for is a campaign of a service, or empty: the device's owner. What a limit has moved to a
    coarser channel of the ``menu`` stays reported by it, whatever becomes of the limit. ``notes`` gets what a person
    should know.
    """

    def __init__(self, state: State, channel: Channel, menu: Iterable[str], notes: list[str], who: str = "") -> None:
        self._state, self._channel, self._menu, self._notes, self._who = state, channel, tuple(menu), notes, who
        if limit := read_limit(state):  # one that cannot be kept is told before anything is masked
            self._channels(limit)

    def past(self, memory: sqlite3.Connection) -> list[Channel]:
        """Channels of the same lattice that a limit moved to; a campaign knows those of its menu alone."""
        moved = memory.execute("SELECT law FROM moved WHERE who = ?", (self._who,))
        lattice = self._channel.lattice
        found = [(law, Channel.of(law.rpartition("@")[0], lattice)) for (law,) in moved]
        return [
            each
            for law, each in found
            if each.name == law != self._channel.name and (not self._who or each.setting.text in self._texts)
        ]

    def gate(self, memory: sqlite3.Connection) -> Callable[[int], Channel | None] | None:
        """For a day, the first channel with which one more report stays within the limit; None without a limit."""
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
            self._note(f"the ledger's limit is exceeded in {where}, and only warned of: {limit.words()}")
            return self._channel
        return None

    def _channels(self, limit: Limit) -> list[Channel]:
        """From the asked one to the coarsest."""
        return [self._channel, *(self._wider if limit.then == "coarser" else [])]

    @cached_property
    def _texts(self) -> set[str]:
        return {DeviceSetting.parse(text).text for text in self._menu}

    @cached_property
    def _wider(self) -> list[Channel]:
        channels = [Channel.of(text, self._channel.lattice) for text in self._menu if text != "none"]
        wider = [each for each in channels if each.law.variance > self._channel.law.variance]
        return sorted(wider, key=lambda each: each.law.variance)

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _warn(self, spent: float, where: str, channel: Channel, limit: Limit) -> None:
        if channel != self._channel:
            self._note(f"in {where} the ledger's limit is near: readings are reported by {channel.setting.text}")
        elif spent > WARN_FROM * limit.epsilon:
            self._note(f"reports of {where} are above {WARN_FROM:.0%} of the ledger's limit: {limit.words()}")
