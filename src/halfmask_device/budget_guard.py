"""The guard of a device's budget: which channel a new report may use, decided in the transaction that masks it."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from halfmask_device.device_state import State
from halfmask_device.masking import Channel
from halfmask_device.privacy_budget import (
    ROLLING,
    WARN_FROM,
    WINDOW_DAYS,
    Budget,
    Trust,
    is_open,
    read_budgets,
    trust_of,
    window_days,
    window_of,
    windows_with,
)
from halfmask_device.setting import DeviceSetting


class UserNotes(list[str]):
    """Messages for the user, each of them once."""

    def note(self, text: str) -> None:
        if text not in self:
            self.append(text)


class Spending:
    """The epsilon of the counted reports in the windows of a budget, and that with further reports.

    ``days``  the days of the further reports; only windows that hold one of them are known
    """

    def __init__(self, memory: sqlite3.Connection, budget: Budget, trust: Trust, days: Collection[int]) -> None:
        self.budget, self._refused = budget, set[tuple[int, str]]()
        self._counts: dict[int, dict[str, int]] = {}
        whole = [window_days(day, budget.window) for day in (min(days), max(days))]
        after = WINDOW_DAYS[ROLLING] if budget.window == ROLLING else 0
        rows = memory.execute(
            "SELECT day, law, reports FROM counts WHERE day BETWEEN ? AND ?", (whole[0][0], whole[1][1] + after)
        )
        for day, law, reports in rows:
            if trust_of(law) == trust:
                self.add(day, law, reports)

    def add(self, day: int, law: str, reports: int = 1) -> None:
        """Count further reports."""
        laws = self._counts.setdefault(day, {})
        laws[law] = laws.get(law, 0) + reports

    def worst(self, days: Mapping[int, int], law: str = "") -> tuple[float, int]:
        """Return the largest epsilon of a window that holds one of the days, and the last day of that window.

        ``days``  number of further reports by ``law``, by day
        """
        counted = {day: dict(laws) for day, laws in self._counts.items()}
        for day, count in days.items():
            counted.setdefault(day, {})[law] = counted.get(day, {}).get(law, 0) + count
        in_order, entered, gone = sorted(counted), 0, 0
        inside, found = Counter[str](), (0.0, max(days))
        for first, last in windows_with(days.keys(), counted.keys(), self.budget.window):
            while entered < len(in_order) and in_order[entered] <= last:
                inside.update(counted[in_order[entered]])
                entered += 1
            while gone < entered and in_order[gone] < first:
                inside.subtract(counted[in_order[gone]])
                gone += 1
            found = max(found, (self.budget.epsilon_of(inside), last))
        return found

    def take(self, day: int, law: str) -> tuple[float, int] | None:
        """Count one more report if the budget holds it, and return epsilon and window as `worst` does; else None."""
        if (day, law) in self._refused:
            return None
        spent = self.worst({day: 1}, law)
        if is_open(law) or not self.budget.holds(spent[0]):
            self._refused.add((day, law))
            return None
        self.add(day, law)
        return spent


class Guard:
    """Enforces a device's budget: decides in each transaction which channel a new report may use.

    ``channel``  the requested channel
    ``menu``     settings from which a coarser channel may be chosen
    ``notes``    list to which messages for the user are added
    ``who``      recipient of the reports: a campaign of a service, or empty for the device's owner

    A reading that was reported with a coarser channel keeps that report, even if the budget changes later.
    """

    def __init__(self, state: State, channel: Channel, menu: Iterable[str], notes: UserNotes, who: str = "") -> None:
        self._state, self._channel, self._menu, self._notes, self._who = state, channel, tuple(menu), notes, who
        self._trust = trust_of(channel.name)
        if budget := read_budgets(state).get(self._trust):
            self._channels(budget)  # a menu that it cannot use raises here, before anything is masked

    def past(self, memory: sqlite3.Connection) -> list[Channel]:
        """Return coarser channels of this lattice that a budget has used; for a campaign, only those on its menu."""
        moved = memory.execute("SELECT law FROM moved WHERE who = ?", (self._who,))
        lattice = self._channel.lattice
        found = [(law, Channel.of(law.rpartition("@")[0], lattice)) for (law,) in moved]
        return [
            each
            for law, each in found
            if each.name == law != self._channel.name and (not self._who or each.setting.text in self._texts)
        ]

    def gate(self, memory: sqlite3.Connection, days: Iterable[int]) -> Callable[[int], Channel | None] | None:
        """Return a function from a day to the first channel with which one more report stays within the budget.

        Return None if the budget holds a new report for each of ``days``, or if the device does not keep a budget.
        """
        budget = read_budgets(self._state).get(self._trust)
        counted = Counter(days)
        if budget is None or not budget.kept or not counted:
            return None
        spending = Spending(memory, budget, self._trust, counted)
        epsilon, last = spending.worst(counted, self._channel.name)
        if not is_open(self._channel.name) and budget.holds(epsilon):
            self._warn(epsilon, last, self._channel, budget)
            return None
        return lambda day: self._pass(memory, spending, day)

    def _pass(self, memory: sqlite3.Connection, spending: Spending, day: int) -> Channel | None:
        budget = spending.budget
        for channel in self._channels(budget):
            spent = spending.take(day, channel.name)
            if spent is not None:
                self._warn(*spent, channel, budget)
                if channel != self._channel:
                    memory.execute("INSERT OR IGNORE INTO moved VALUES (?, ?)", (self._who, channel.name))
                return channel
        if budget.then == "warn":
            self._notes.note(f"the budget is exceeded, and only warned of: {budget.words()}")
            return self._channel
        return None

    def _channels(self, budget: Budget) -> list[Channel]:
        """Return the channels to try: the requested one, then coarser ones by rising variance if the budget allows."""
        return [self._channel, *(self._wider if budget.then == "coarser" else [])]

    @cached_property
    def _texts(self) -> set[str]:
        return {DeviceSetting.parse(text).text for text in self._menu}

    @cached_property
    def _wider(self) -> list[Channel]:
        channels = [Channel.of(text, self._channel.lattice) for text in self._menu if text != "none"]
        of_kind = [each for each in channels if trust_of(each.name) == self._trust]
        wider = [each for each in of_kind if each.law.variance > self._channel.law.variance]
        return sorted(wider, key=lambda each: each.law.variance)

    def _warn(self, spent: float, last: int, channel: Channel, budget: Budget) -> None:
        where = "in 30 days in a row" if budget.window == ROLLING else f"in {window_of(last, budget.window)}"
        if channel != self._channel:
            self._notes.note(f"{where} the budget is near: readings are reported by {channel.setting.text}")
        elif not budget.first and budget.epsilon and spent > WARN_FROM * budget.epsilon:
            self._notes.note(f"reports {where} are above {WARN_FROM:.0%} of the budget: {budget.words()}")
