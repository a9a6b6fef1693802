"""Convert the states of a meter's cumulative register to readings, without losing consumption when messages stop.

A reading is the difference between two states. If messages stop, because of a power failure or a broken connection, the
register continues to count. Its change is then divided evenly over the missed intervals, so that totals of periods stay
right. The latest state is kept in the device's memory.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import ROUND_DOWN, Decimal

from halfmask_device.campaign_calendar import Calendar
from halfmask_device.device_state import State
from halfmask_device.instants import DAY, MINUTE, Instant, instant_text
from halfmask_device.protocol import CampaignTerms

HALF_HOUR = 30
FINEST = Decimal("1e-9")
LONGEST = 31 * DAY
"""After a longer gap the change is ignored and the register starts from the new state."""


def interval_minutes(terms: CampaignTerms, otherwise: int = HALF_HOUR) -> int | None:
    """Return the interval between readings that a campaign asks for, in minutes; None if it is not an integer.

    ``otherwise``  minutes if the campaign does not state it
    """
    every = terms.offer.get("every_minutes")
    if isinstance(every, int) and every > 0:
        return every
    if terms.readings_expected is None:
        return otherwise
    span = Calendar(terms.period, terms.time_zone).span_of(terms.begins)
    minutes, rest = divmod(span.ends - span.begins, terms.readings_expected * MINUTE)
    return None if rest else minutes


@dataclass
class _Source:
    """One register of the meter, such as that of a tariff or a phase.

    ``slot``     number of the current interval
    ``base``     the register's state at the start of the interval
    ``lower``    a state below ``base``; if the next state is not higher than ``base`` either, the register was reset
    ``changes``  changes by interval, kept until all registers have them and the reading is masked
    """

    slot: int
    base: str
    lower: str | None = None
    changes: dict[int, str] = field(default_factory=dict)

    @classmethod
    def read(cls, plain: str) -> "_Source":
        row = json.loads(plain)
        return cls(row["slot"], row["base"], row["lower"], {int(slot): each for slot, each in row["changes"].items()})

    def take(self, slot: int, value: Decimal, longest: int) -> None:
        """Process a state of the register. A state from before the current interval is ignored."""
        if slot < self.slot:
            return
        base = Decimal(self.base)
        if value < base:  # a glitch such as 0 at a start, or, if it stays, another meter
            if self.lower is None:
                self.lower = str(value)
            else:
                self.slot, self.base, self.lower = slot, str(value), None
            return
        self.lower = None
        if slot == self.slot:
            return
        missed = slot - self.slot
        if missed <= longest:
            each = ((value - base) / missed).quantize(FINEST, ROUND_DOWN)
            changes = [each] * (missed - 1)
            changes.append(value - base - sum(changes, Decimal(0)))
            self.changes |= {self.slot + n: str(change) for n, change in enumerate(changes)}
        self.slot, self.base = slot, str(value)


class MeterRegister:
    """The registers of one meter, whose changes are added up to readings. They are kept in the device's memory.

    ``sources``  names of the registers; a reading needs the change of each
    ``minutes``  length of a reading's interval
    """

    def __init__(self, state: State, sources: Sequence[str], minutes: int) -> None:
        self._state, self._sources, self._length = state, tuple(sources), minutes * MINUTE

    def take(self, source: str, when: Instant, value: Decimal) -> None:
        """Store a state of a register. It is on disk when this returns."""
        with self._state.memory() as memory:
            row = memory.execute("SELECT plain FROM registers WHERE source = ?", (source,)).fetchone()
            slot = when // self._length
            found = _Source(slot, str(value)) if row is None else _Source.read(row[0])
            found.take(slot, value, LONGEST // self._length)
            memory.execute("INSERT OR REPLACE INTO registers VALUES (?, ?)", (source, json.dumps(asdict(found))))

    def readings(self) -> dict[int, tuple[str, Decimal]]:
        """Return the complete readings that were not dropped, by interval: the first instant and the change."""
        found = self._read()
        if len(found) < len(self._sources):
            return {}
        slots = set.intersection(*(set(each.changes) for each in found.values()))
        return {
            slot: (
                instant_text(slot * self._length),
                sum((Decimal(each.changes[slot]) for each in found.values()), Decimal(0)),
            )
            for slot in sorted(slots)
        }

    def drop(self, last: int) -> None:
        """Erase the changes up to interval ``last``, whose readings are masked and stored."""
        for source, found in self._read().items():
            found.changes = {slot: change for slot, change in found.changes.items() if slot > last}
            with self._state.memory() as memory:
                memory.execute("UPDATE registers SET plain = ? WHERE source = ?", (json.dumps(asdict(found)), source))

    def _read(self) -> Mapping[str, _Source]:
        with self._state.memory() as memory:
            rows = dict(memory.execute("SELECT source, plain FROM registers").fetchall())
        return {source: _Source.read(rows[source]) for source in self._sources if source in rows}
