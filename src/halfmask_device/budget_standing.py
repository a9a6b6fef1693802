"""The standing of a device's budgets: what they are, what its levels will use, what is used and what is left."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from halfmask_device.budget_guard import Spending
from halfmask_device.consent import first_budget
from halfmask_device.decimals import downwards
from halfmask_device.device_state import State
from halfmask_device.errors import ReadingError
from halfmask_device.instants import instant_text
from halfmask_device.level_epsilon import CampaignLevel, planned_reports, readings_a_day
from halfmask_device.membership import Membership
from halfmask_device.privacy_budget import KINDS, Budget, Trust, is_open, read_budgets, trust_of, write_budgets
from halfmask_device.reading_times import day_text, instant_of

LATEST = 1000
"""How many of the latest reports show the sampling interval."""


@dataclass(frozen=True)
class BudgetStanding:
    """One budget of a device.

    ``trust``    the kind of reports that it counts
    ``planned``  epsilon that the levels joined will use in a window; None if it is not known or not finite
    ``spent``    epsilon of the reports so far, in the window of ``day``
    ``open``     number of days with reports of infinite epsilon, which a budget cannot count
    """

    trust: Trust
    budget: Budget
    planned: float | None
    spent: float
    day: str
    open: int

    @property
    def left(self) -> float | None:
        """Return the epsilon that is left in the window of ``day``; None if no budget is kept."""
        epsilon = self.budget.epsilon
        return max(epsilon - self.spent, 0.0) if epsilon is not None and self.budget.kept else None

    def words(self) -> list[str]:
        """Return the standing in words, one sentence per item."""
        budget, said = self.budget, f"budget of {KINDS[self.trust]}"
        if budget.epsilon is None:
            told = [f"{said}: not known before the device has seen how many readings a day has"]
        elif self.left is not None:
            plans = "" if self.planned is None else f"; the levels joined will use {budget.shown(self.planned)}"
            told = [
                f"{said}: {budget.words()}{plans}",
                f"used up to {self.day}: {budget.shown(self.spent)}, {_left(self)}",
            ]
        elif budget.first:
            setting = budget.first.rpartition("@")[0]
            told = [f"{said}: none can be kept, because the first level joined, {setting}, has no finite epsilon"]
        else:
            told = [f"{said}: none is kept"]
        return told + ([f"days with reports without a finite epsilon: {self.open}"] if self.open else [])


def _left(standing: BudgetStanding) -> str:
    left = standing.left or 0.0
    return (
        f"left: {downwards(left, 4)}" if left > 0 else "nothing is left: new reports of these days wait or are refused"
    )


def budget_standings(state: State, members: Iterable[Membership], day: int, seen: int | None) -> list[BudgetStanding]:
    """Return the standing of each budget of a device, on a day since 1970.

    ``seen``  number of readings a day by the sampling interval that the device has seen
    """
    levels = [CampaignLevel.of(each.terms, each.setting) for each in members]
    with state.memory() as memory:
        days = memory.execute("SELECT day, law FROM counts").fetchall()
        found = []
        for trust, budget in read_budgets(state).items():
            spent, _ = Spending(memory, budget, trust, [day]).worst({day: 0})
            open_days = {each for each, law in days if trust_of(law) == trust and is_open(law)}
            own = [each for each in levels if trust_of(each.law) == trust]
            found.append(
                BudgetStanding(trust, budget, _planned(own, budget, seen), spent, day_text(day), len(open_days))
            )
    return found


def _planned(levels: Sequence[CampaignLevel], budget: Budget, seen: int | None) -> float | None:
    reports = planned_reports(levels, budget.window, seen)
    if reports is None or any(is_open(each.law) for each in levels):
        return None
    return budget.epsilon_of(reports)


def readings_seen(state: State, times: Iterable[str] = ()) -> int | None:
    """Return the number of readings a day by the latest readings and further RFC 3339 times; None for fewer than two.

    The times of readings are those of reports, or those that are kept for the totals of periods.
    """
    with state.memory() as memory:
        queued = memory.execute("SELECT time FROM queue ORDER BY number DESC LIMIT ?", (LATEST,)).fetchall()
        gathered = memory.execute("SELECT time FROM gathered ORDER BY time DESC LIMIT ?", (LATEST,)).fetchall()
    of_reports = readings_a_day([*(time for (time,) in queued), *times])
    of_totals = readings_a_day(instant_text(time) for (time,) in gathered)
    return max((each for each in (of_reports, of_totals) if each is not None), default=None)


def settle_budgets(state: State, members: Iterable[Membership], times: Iterable[str], zone: str | None) -> None:
    """Set the budgets that wait until it is known how many readings a day has, by the times of a first batch.

    ``times``  as they are written
    ``zone``   the time zone of times without an offset
    """
    budgets = read_budgets(state)
    levels = [CampaignLevel.of(each.terms, each.setting) for each in members]
    waiting: dict[Trust, CampaignLevel] = {}
    for trust in KINDS:
        own, stored = [each for each in levels if trust_of(each.law) == trust], budgets.get(trust)
        if own and (stored is None or stored.epsilon is None):
            waiting[trust] = next((each for each in own if stored and each.law == stored.first), own[0])
    if not waiting:
        return
    read = []
    for time in times:
        with suppress(ReadingError):
            read.append(instant_text(instant_of(time, zone, "the time")))
    seen = readings_seen(state, read)
    write_budgets(state, {trust: first_budget(level, seen) for trust, level in waiting.items()})
