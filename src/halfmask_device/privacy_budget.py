"""A producer's budget: the most epsilon that a device's reports may have in a window of time, over all campaigns.

By default it counts whole days over 30 days: each reading of these days may change by anything within the range of its
lattice. The bound is that of `halfmask_device.epsilon_bound`. Reports that a device masks alone and reports that are
split between two services trust different parties, so each kind has its own budget.
"""

import math
from bisect import bisect_right
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any, Literal

from halfmask_device.decimals import SLACK, number_text, upwards
from halfmask_device.device_state import State
from halfmask_device.epsilon_bound import composed_epsilon
from halfmask_device.errors import OptionError
from halfmask_device.lattice import exact_decimal
from halfmask_device.private_files import replace
from halfmask_device.reading_times import UNDATED, day_text
from halfmask_device.setting import SPLIT, DeviceSetting

Trust = Literal["local", "split"]
Window = Literal["day", "week", "month", "30-days"]
ROLLING: Window = "30-days"
WINDOW_DAYS: dict[Window, int] = {"day": 1, "week": 7, "month": 31, ROLLING: 30}
"""Most days of each window."""
WARN_FROM = 0.8
"""Share of a budget above which the user is warned."""
_EXACT = Context(prec=100)
KINDS: dict[Trust, str] = {"local": "what this device masks", "split": "what is split between two services"}


@dataclass(frozen=True)
class Budget:
    """At most ``epsilon`` at ``delta`` for a change of every reading of a window.

    ``epsilon``  infinite: no budget is kept; None: unknown until the device has seen how many readings a day has
    ``change``   the change of each reading; None: anything within the range of the reading's lattice
    ``window``   a calendar day, week or month, or any 30 days in a row
    ``then``     what happens to a report that would exceed the budget
    ``first``    law of the first level joined if the budget follows from it; empty if the owner set the budget

    ``then`` is one of three. ``stop`` does not report it. ``coarser`` reports it with a coarser setting of the menu if
    one stays within the budget. ``warn`` reports it anyway. The user is warned above `WARN_FROM` of a budget that the
    owner set.
    """

    epsilon: float | None
    change: str | None = None
    window: Window = "30-days"
    delta: float = 1e-6
    then: Literal["warn", "stop", "coarser"] = "stop"
    first: str = ""

    def __post_init__(self) -> None:
        if self.epsilon is not None and not self.epsilon > 0:
            raise OptionError("a budget's epsilon must be above 0", kind="epsilon")
        if not 0 < self.delta < 1:
            raise OptionError("a budget's delta must lie between 0 and 1", kind="delta")
        if self.window not in WINDOW_DAYS:
            raise OptionError(f"a budget's window is one of {', '.join(WINDOW_DAYS)}", kind="window")
        if self.then not in ("warn", "stop", "coarser"):
            raise OptionError("what follows a budget is warn, stop or coarser", kind="then")
        if self.change is not None and exact_decimal(self.change, "change") <= 0:
            raise OptionError("a budget's change must be above 0", kind="change")

    @property
    def kept(self) -> bool:
        """Return whether there is a finite budget to keep."""
        return self.epsilon is not None and self.epsilon < math.inf

    def holds(self, epsilon: float) -> bool:
        """Return whether an epsilon lies within the budget."""
        return self.epsilon is None or epsilon <= self.epsilon * (1 + SLACK)

    def epsilon_of(self, reports: Mapping[str, int]) -> float:
        """Return the epsilon charged for reports by law. Laws without a finite epsilon are left out."""
        charged: dict[tuple[str, str, str], int] = {}
        for law, count in reports.items():
            if count and not is_open(law):
                key = charge_of(law, self.change)
                charged[key] = charged.get(key, 0) + count
        return composed_epsilon(charged, self.delta)

    def shown(self, epsilon: float | None = None) -> str:
        """Return a number rounded up; if none is given, the budget's, exact if the owner set it."""
        if epsilon is None and self.epsilon is not None and not self.first:
            return number_text(self.epsilon)
        return upwards((self.epsilon if epsilon is None else epsilon) or 0.0, 4)

    def words(self, epsilon: float | None = None) -> str:
        """Return an epsilon in words, that of the budget if none is given, with its change, window and delta."""
        by = f"by {self.change}" if self.change else "by anything within its range"
        window = "30 days in a row" if self.window == ROLLING else f"a {self.window}"
        at = f"delta {number_text(self.delta)}"
        return f"epsilon {self.shown(epsilon)} for a change of every reading of {window} {by}, {at}"


@lru_cache(maxsize=1024)
def is_open(law: str) -> bool:
    """Return whether a report by this law has an infinite epsilon, as with ``none`` and with bounded noise."""
    return composed_epsilon({charge_of(law, None): 1}, 0.5) == math.inf


@lru_cache(maxsize=1024)
def trust_of(law: str) -> Trust:
    """Return the kind of budget that a law ``setting@step,low,high`` is charged to."""
    return "split" if DeviceSetting.parse(law.rpartition("@")[0]).release == SPLIT else "local"


@lru_cache(maxsize=1024)
def charge_of(law: str, change: str | None) -> tuple[str, str, str]:
    """Return setting, step and change of a law ``setting@step,low,high``; without a change it is high - low."""
    setting, _, lattice = law.rpartition("@")
    step, low, high = lattice.split(",")
    return setting, step, change or f"{_EXACT.subtract(Decimal(high), Decimal(low)):f}"


def read_budgets(state: State) -> dict[Trust, Budget]:
    """Return the device's budgets by kind; a kind that no level was joined of has none."""
    if not state.budget.exists():  # faster than opening the file, and called with every report
        return {}
    plain = state.read_sealed(state.budget) or {}
    return {trust: Budget(**plain[trust]) for trust in KINDS if trust in plain}


def write_budgets(state: State, budgets: Mapping[Trust, Budget]) -> None:
    """Set the budgets of these kinds. They also apply to programs that are already running.

    Masking reads the budgets within its transaction. Writing them within a transaction too means that no masking is
    under way with the old ones.
    """
    with state.memory():
        plain: dict[str, Any] = {trust: asdict(budget) for trust, budget in {**read_budgets(state), **budgets}.items()}
        replace(state.budget, state.sealed(plain))


def window_of(day: int, kind: str) -> str:
    """Return the name of the calendar window that contains a day: 2026-11-16, 2026-W47 or 2026-11."""
    text = day_text(day)
    if day == UNDATED or kind == "day":
        return text
    if kind == "month":
        return text[:7]
    year, week, _ = date.fromisoformat(text).isocalendar()
    return f"{year}-W{week:02}"


def window_days(day: int, kind: str) -> tuple[int, int]:
    """Return first and last day of the window that contains a day; for 30 days in a row, of the one that ends there."""
    if day == UNDATED or kind == "day":
        return day, day
    if kind == ROLLING:
        return day - WINDOW_DAYS[ROLLING] + 1, day
    if kind == "week":  # 1970 began on a Thursday
        first = day - (day + 3) % 7
        return first, first + 6
    found = date.fromisoformat(day_text(day))
    first = day - found.day + 1
    after = date(found.year + found.month // 12, found.month % 12 + 1, 1)
    return first, first + (after - found.replace(day=1)).days - 1


def windows_with(days: Collection[int], counted: Collection[int], kind: str) -> list[tuple[int, int]]:
    """Return the first and last day of the windows that hold any of ``days``.

    Of the windows of 30 days in a row only those that end on a day of ``days`` or ``counted``: the others hold no more
    reports than one of these.
    """
    if kind != ROLLING:
        return sorted({window_days(day, kind) for day in days})
    in_order, ends = sorted(days), set(days)
    for day in counted:
        before = bisect_right(in_order, day)
        if before and day - in_order[before - 1] < WINDOW_DAYS[ROLLING]:
            ends.add(day)
    return sorted(window_days(day, kind) for day in ends)
