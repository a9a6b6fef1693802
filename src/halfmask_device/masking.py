"""Masking: noise is a function of the secret, the lattice and setting, the sensor, the time and the value only.

Each reading gets one observation: one report, by one draw of noise.

    message = lattice and setting, sensor, time, reading in steps
    slot    = day, and BLAKE2s("slot") under the day's key of the message without the reading: the key in table `seen`
    noise   = the law's draw from the `Bits` of the message under the day's key
    tag     = the last 8 bytes of the first block of these bits: stored in `seen`, to notice another value

Lattice and setting are in the message so that two settings draw independent noise. If two laws were given the same
uniform number, two reports would reveal the reading. The reading is in the message too. If it were not, the difference
of two reports for one time would be the difference of the readings. So a changed reading gets new noise, which is one
more observation of the true value; the stored tag of the first makes this noticeable.
"""

import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from hashlib import blake2s
from operator import add, itemgetter
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from halfmask_device.device_state import State, add_counts, known_tags
from halfmask_device.lattice import Lattice
from halfmask_device.law import GAP, Law
from halfmask_device.random_bits import Bits
from halfmask_device.setting import DeviceSetting, law

if TYPE_CHECKING:
    from halfmask_device.budget_guard import Guard

HASH = 47
"""Bits of a slot's hash; the bits above hold its day, so that each day lies together on disk.

Among a million readings per day two collide with probability 1 in 300; one of them would be refused as a revision."""
PREPARE = 200
"""Number of draws above which building a table is worth its time."""
FIRST_BLOCK = (0).to_bytes(4, "big")
_read_block = Struct(">QB15xq").unpack
"""Splits a first block into 64 bits of U, the byte whose top bit is the sign, and the tag at its end."""


DatedReading = tuple[str, str, int, bytes, int]
"""A reading to be masked: sensor, time, day, the day's key, and the value in steps. A plain tuple, for speed."""


@dataclass(frozen=True)
class Channel:
    """A lattice and a setting, which together fix the law of the noise. Campaigns with equal channels share draws."""

    setting: DeviceSetting
    lattice: Lattice

    @staticmethod
    @lru_cache(maxsize=256)
    def of(setting: str, lattice: Lattice) -> "Channel":
        """Return the channel of a setting's text; the same object each time, with its cached properties."""
        return Channel(DeviceSetting.parse(setting), lattice)

    @cached_property
    def name(self) -> str:
        """Return the name under which the ledger counts reports."""
        return f"{self.setting.text}@{self.lattice.step},{self.lattice.low},{self.lattice.high}"

    @cached_property
    def law(self) -> Law:
        return law(self.setting, self.lattice.unit)

    @cached_property
    def head(self) -> bytes:
        """Return 16 bytes that represent the channel in every message, because short messages are faster to hash."""
        return blake2s(self.name.encode(), digest_size=16, person=b"channel").digest()

    def drawn(self, readings: Sequence[DatedReading]) -> "Drawn":
        """Return slot, tag and noise of each reading.

        The hash object keyed for a day is created once and copied for each reading, for speed.
        """
        if len(readings) > PREPARE:
            self.law.prepare()
        table, number, keyed, named = self.law.table or [], int.from_bytes, None, None
        last, slots, tags, noises = len(table), list[int](), list[int](), list[int]()
        for sensor, time, day, key, steps in readings:
            if sensor != named:
                named, head = sensor, self.head + _written(sensor)
            if key is not keyed:
                keyed = key
                slot_of = blake2s(key=key, person=b"slot", digest_size=8).copy
                block_of = blake2s(key=key, person=b"noise").copy
            place = b"%b%d:%b" % (head, len(time), time.encode("utf-8", "surrogateescape"))  # as `_written`
            slot, block = slot_of(), block_of()
            slot.update(place)
            message = b"%b=%d" % (place, steps)
            block.update(message + FIRST_BLOCK)
            u, sign, tag = _read_block(block.digest())
            size = bisect_right(table, u)
            if size == last or (size and u - table[size - 1] < GAP):
                noise = self.law.draw(Bits(key, message))
            else:
                noise = -size if sign & 128 else size
            slots.append((day << HASH) + (number(slot.digest(), "big") >> (64 - HASH)))
            tags.append(tag)
            noises.append(noise)
        return Drawn(slots, tags, noises)


class Drawn(NamedTuple):
    """For each reading: its slot in the memory, its tag, and its noise in steps."""

    slots: list[int]
    tags: list[int]
    noises: list[int]


def _written(text: str) -> bytes:
    """Return the text with its length in front, so that no two pairs of texts give the same bytes."""
    return f"{len(text)}:{text}".encode("utf-8", "surrogateescape")


Gate = Callable[[int], Channel | None]
"""Maps a day to the channel that a new report may use: the requested one, a coarser one, or None if the budget
is spent."""


@dataclass
class Masked:
    """The reports of a batch, by position.

    ``reports``    reports in steps; None if there is none
    ``revisions``  positions of revised readings, each one more observation
    ``refused``    positions without a report, with the reason
    ``others``     channel of a report, if it is not the requested one
    """

    reports: list[int | None]
    revisions: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    others: dict[int, Channel] = field(default_factory=dict)


def mask(
    state: State, channel: Channel, readings: Sequence[DatedReading], watch: "Guard", *, past: Sequence[Channel] = (),
    revise: bool = False, stop: bool = False,
) -> Masked:  # fmt: skip
    """Return the reports of the readings, each stored in the memory before this returns.

    ``past``    other channels with which the readings may have been reported, besides those that ``watch`` knows;
                a reading that was reported with one keeps that report
    ``revise``  mask another value for a time that was reported, instead of refusing it
    ``stop``    mask nothing after the first reading that is refused
    """
    drawn = channel.drawn(readings)
    with state.memory() as memory:
        gate, past = watch.gate(memory, map(itemgetter(2), readings)), [*past, *watch.past(memory)]
        earlier = [slot for each in past for slot in each.drawn(readings).slots] if gate is None else []
        if gate is None and not known_tags(memory, earlier):
            memory.execute("SAVEPOINT quick")
            rows = sorted(zip(drawn.slots, drawn.tags, strict=True))
            stored = memory.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?)", rows).rowcount
            if stored == len(readings):  # none was stored before, and none occurs twice
                days = Counter(map(itemgetter(2), readings))
                add_counts(memory, channel.name, [(day, count, 0) for day, count in days.items()])
                return Masked(list(map(add, map(itemgetter(4), readings), drawn.noises)))
            memory.execute("ROLLBACK TO quick")
        return _Careful(memory, channel, past, revise, gate, stop).masked(readings, drawn)


@dataclass
class _Careful:
    """Masks one reading at a time, for batches with readings reported before, or beyond the budget."""

    memory: sqlite3.Connection
    channel: Channel
    past: Sequence[Channel]
    revise: bool
    gate: Gate | None
    stop: bool

    def masked(self, readings: Sequence[DatedReading], drawn: Drawn) -> Masked:
        all_drawn = [(self.channel, drawn), *((each, each.drawn(readings)) for each in self.past)]
        known = known_tags(self.memory, [slot for _, each in all_drawn for slot in each.slots])
        found = Masked([None] * len(readings))
        for i, reading in enumerate(readings):
            seen = next(((channel, each) for channel, each in all_drawn if each.slots[i] in known), None)
            if seen is not None and known[seen[1].slots[i]] == seen[1].tags[i]:
                self._put(found, i, reading, seen[0], seen[1].noises[i])
            elif seen is not None and not self.revise:
                found.refused[i] = "revision"
            else:
                self._new(found, i, reading, known, revision=seen is not None)
            if self.stop and found.refused:
                break
        return found

    def _new(self, found: Masked, i: int, reading: DatedReading, known: dict[int, int], *, revision: bool) -> None:
        channel = self.gate(reading[2]) if self.gate else self.channel
        if channel is None:
            found.refused[i] = "budget"
            return
        (slot,), (tag,), (noise,) = channel.drawn([reading])
        known[slot] = tag
        self.memory.execute("INSERT OR REPLACE INTO seen VALUES (?, ?)", (slot, tag))
        add_counts(self.memory, channel.name, [(reading[2], 1, int(revision))])
        if revision:
            found.revisions.append(i)
        self._put(found, i, reading, channel, noise)

    def _put(self, found: Masked, i: int, reading: DatedReading, channel: Channel, noise: int) -> None:
        found.reports[i] = reading[4] + noise
        if channel != self.channel:
            found.others[i] = channel
