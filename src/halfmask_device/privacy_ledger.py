"""The privacy ledger of a device: a bound on epsilon for all its reports so far, over all campaigns.

A report counts on its day in the campaign's time zone; a total counts on the day on which its period begins. Reports
without a campaign count on their day in UTC. The number of readings in a total is not stored. So a change of all its
readings is bounded by a change of the total over its whole range.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from halfmask_device.device_state import State
from halfmask_device.epsilon_bound import composed_epsilon, epsilon_of, per_unit
from halfmask_device.errors import OptionError
from halfmask_device.instants import DAY, at, parse_instant
from halfmask_device.masking import Channel
from halfmask_device.membership import read_membership
from halfmask_device.privacy_budget import Trust, charge_of, trust_of, window_of
from halfmask_device.reading_times import time_zone
from halfmask_device.setting import READING, DeviceSetting

Row = tuple[int, str, int, int]
"""Day since 1970, law, reports and revisions."""
WINDOWS = ("day", "week", "month")
Counts = dict[tuple[str, str], int]
"""Number of reports by setting and step."""
Charge = tuple[str, str, str]
"""Setting, step and change of a report."""


@dataclass(frozen=True)
class Entry:
    """The spending of one window (day, week or month). Change and delta are those of the `Ledger`.

    ``epsilon``  bound for a change of every reading in the window; a total may change over its whole range
    ``whole``    bound if every reading or total changes over its whole range
    ``one``      bound for a change of one reading, as if all settings and revisions of its day concerned it
    ``unit``     pure epsilon per unit of change in every reading or total
    ``totals``   number of reports of totals
    """

    window: str
    reports: int
    revisions: int
    epsilon: float
    whole: float
    one: float
    unit: float
    totals: int


@dataclass(frozen=True)
class Ledger:
    """Entries by day, week and month. Reports that were lost with the folder's memory are not counted."""

    change: str
    delta: float
    days: tuple[Entry, ...]
    weeks: tuple[Entry, ...]
    months: tuple[Entry, ...]
    total: Entry


def read_ledger(state: State, change: str, delta: float = 1e-6, trust: Trust = "local") -> Ledger:
    """Return the ledger of a device, for reports of one kind of trust.

    ``change``  the change of a reading to hide, in the readings' unit, like ``"1"``
    ``delta``   the delta of epsilon
    ``trust``   which reports: those that the device masked alone, or those that it split
    """
    if not 0 < delta < 1:
        raise OptionError("delta must lie between 0 and 1, like 1e-6", kind="delta", field="delta")
    with state.memory() as memory:
        rows = sorted(row for row in _on_campaigns_days(memory) if trust_of(row[1]) == trust)
    kinds = {kind: _entries(rows, kind, change, delta) for kind in WINDOWS}
    return Ledger(change, delta, kinds["day"], kinds["week"], kinds["month"], _entry("all", rows, change, delta))


def _on_campaigns_days(memory: sqlite3.Connection) -> Iterator[Row]:
    """Yield the counts, stored by days in UTC, by the local days of the campaigns for which the reports were made."""
    members = {id: read_membership(plain).terms for id, plain in memory.execute("SELECT id, plain FROM campaigns")}
    days: defaultdict[tuple[int, str], Counter[int]] = defaultdict(Counter)
    for campaign, text, setting in memory.execute("SELECT campaign, time, setting FROM queue"):
        terms, when = members[campaign], parse_instant(text)
        if when is not None and setting in terms.menu:
            law = Channel.of(terms.menu[setting], terms.lattice).name
            days[when // DAY, law][_local_day(when, terms.time_zone)] += 1
    for day, law, reports, revisions in memory.execute("SELECT day, law, reports, revisions FROM counts"):
        left = reports
        for local, count in sorted(days[day, law].items()):
            if taken := min(count, left):  # the same report may be for two campaigns
                left -= taken
                yield local, law, taken, 0 if left else revisions
        if left:
            yield day, law, left, revisions


def _local_day(when: int, zone: str) -> int:
    try:
        return at(when).astimezone(time_zone(zone)).toordinal() - at(0).toordinal()
    except (KeyError, ValueError):
        return when // DAY  # this device does not have the time zone


def _entries(rows: list[Row], kind: str, change: str, delta: float) -> tuple[Entry, ...]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(window_of(row[0], kind), []).append(row)
    return tuple(_entry(name, group, change, delta) for name, group in groups.items())


def _entry(name: str, rows: list[Row], change: str, delta: float) -> Entry:
    counts = _counted((law, reports) for _, law, reports, _ in rows)
    revisions = sum(row[3] for row in rows)
    one = max((epsilon_of(each, change, delta) for each in _observations(rows)), default=0.0)
    whole, every, totals = Counter[Charge](), Counter[Charge](), 0
    for _, law, reports, _ in rows:
        of_total = DeviceSetting.parse(law.rpartition("@")[0]).release != READING
        whole[charge_of(law, None)] += reports
        every[charge_of(law, None if of_total else change)] += reports
        totals += reports if of_total else 0
    return Entry(
        name, sum(counts.values()), revisions, composed_epsilon(every, delta), composed_epsilon(whole, delta), one,
        per_unit(counts), totals,
    )  # fmt: skip


def _observations(rows: list[Row]) -> Iterable[Counts]:
    """Return, for each day, the largest possible number of reports of one reading, by setting and step.

    It is one report per law plus all revisions under this law, because the ledger does not store which reading was
    revised.
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
