"""One reading, one look: noise is a function of the secret, the law, sensor, time and value, and of nothing else.

    message = lattice and setting, sensor, time, reading in steps
    slot    = day, and BLAKE2s("slot") of the message without the reading under the day's key: where it is remembered
    noise   = the law's draw from the `Bits` of the message under the key of the day; the first block ends with a tag

Lattice and setting are in the message, so that two settings draw independent noise: were it the same uniform number
through two laws, two reports would give the reading away. So is the reading: were it not, the difference of two reports
of one time would be the difference of the readings. What follows is that a changed reading gets new noise, which is one
more look at the true value; `seen` remembers the tag of the first, so that this is noticed.
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
from typing import NamedTuple, Protocol

from halfmask_device.lattice import Lattice
from halfmask_device.law import GAP, Law
from halfmask_device.prf import Bits
from halfmask_device.setting import DeviceSetting, law
from halfmask_device.state import State, add_counts, known_tags

HASH = 47
"""Bits of a slot's hash, below those of its day: days lie together on disk, and a million readings a day collide with
a chance of 1 in 300, which would refuse one of them as a revision."""
PREPARE = 200
"""Draws that are worth a table."""
FIRST_BLOCK = (0).to_bytes(4, "big")
_read_block = Struct(">QB15xq").unpack
"""Of a first block: 64 bits of U, the byte that begins with the sign, the tag at its end."""


Look = tuple[str, str, int, bytes, int]
"""A reading on its way: sensor, time, day, the key of the day, and the value in steps. A plain tuple, for speed."""


@dataclass(frozen=True)
class Channel:
    """A lattice and a setting: what noise is of. All who ask for the same one are served by one draw."""

    setting: DeviceSetting
    lattice: Lattice

    @staticmethod
    @lru_cache(maxsize=256)
    def of(setting: str, lattice: Lattice) -> "Channel":
        """The channel of a setting as it is written; the same one each time, with what it has worked out."""
        return Channel(DeviceSetting.parse(setting), lattice)

    @cached_property
    def name(self) -> str:
        """As the ledger counts it."""
        return f"{self.setting.text}@{self.lattice.step},{self.lattice.low},{self.lattice.high}"

    @cached_property
    def law(self) -> Law:
        return law(self.setting, self.lattice.unit)

    @cached_property
    def head(self) -> bytes:
        """16 bytes that stand for the channel in every message: short messages are quicker to hash."""
        return blake2s(self.name.encode(), digest_size=16, person=b"channel").digest()

    def drawn(self, looks: Sequence[Look]) -> "Drawn":
        """Slot, tag and noise of each look. The hash of a day's key is begun once and continued by copies."""
        if len(looks) > PREPARE:
            self.law.prepare()
        table, number, keyed, named = self.law.table or [], int.from_bytes, None, None
        last, slots, tags, noises = len(table), list[int](), list[int](), list[int]()
        for sensor, time, day, key, steps in looks:
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

    def slots(self, looks: Sequence[Look]) -> list[int]:
        """Where each look is remembered, as in `drawn`, without drawing."""
        found, keyed, named = list[int](), None, None
        for sensor, time, day, key, _ in looks:
            if sensor != named:
                named, head = sensor, self.head + _written(sensor)
            if key is not keyed:
                keyed, slot_of = key, blake2s(key=key, person=b"slot", digest_size=8).copy
            slot = slot_of()
            slot.update(b"%b%d:%b" % (head, len(time), time.encode("utf-8", "surrogateescape")))
            found.append((day << HASH) + (int.from_bytes(slot.digest(), "big") >> (64 - HASH)))
        return found


class Drawn(NamedTuple):
    """By look: where it is remembered, by which tag, and its noise in steps."""

    slots: list[int]
    tags: list[int]
    noises: list[int]


def _written(text: str) -> bytes:
    """Its length before it, so that no two pairs of texts are written alike."""
    return f"{len(text)}:{text}".encode("utf-8", "surrogateescape")


Gate = Callable[[int], Channel | None]
"""The channel that a new report of a day may use: the asked one, a coarser one, or None where the limit is reached."""


class Watch(Protocol):
    """What is asked in the transaction that masks: the limit of now, and by what else readings were reported."""

    def gate(self, memory: sqlite3.Connection, /) -> Gate | None: ...

    def past(self, memory: sqlite3.Connection, /) -> list[Channel]: ...


@dataclass
class Masked:
    """Reports of a batch by position. ``revisions`` were asked for and are looks beyond the first; ``refused`` names
    why a position has no report; ``others`` the channel where it is not the one asked for."""

    reports: list[int | None]
    revisions: list[int] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    others: dict[int, Channel] = field(default_factory=dict)


def mask(
    state: State, channel: Channel, looks: Sequence[Look], watch: Watch, *, past: Sequence[Channel] = (),
    revise: bool = False, stop: bool = False,
) -> Masked:  # fmt: skip
    """Reports of the looks, each remembered before it is returned.

    ``past`` are channels that the same readings may have been reported by before, beside those that the watch knows:
    their reports stand. With ``stop`` nothing is masked after a look that is refused.
    """
    drawn = channel.drawn(looks)
    with state.memory() as memory:
        gate, past = watch.gate(memory), [*past, *watch.past(memory)]
        earlier = [slot for each in past for slot in each.slots(looks)] if gate is None else []
        if gate is None and not known_tags(memory, earlier):
            memory.execute("SAVEPOINT quick")
            rows = sorted(zip(drawn.slots, drawn.tags, strict=True))
            stored = memory.executemany("INSERT OR IGNORE INTO seen VALUES (?, ?)", rows).rowcount
            if stored == len(looks):  # none was there before, and none came twice
                days = Counter(map(itemgetter(2), looks))
                add_counts(memory, channel.name, [(day, count, 0) for day, count in days.items()])
                return Masked(list(map(add, map(itemgetter(4), looks), drawn.noises)))
            memory.execute("ROLLBACK TO quick")
        return _Careful(memory, channel, past, revise, gate, stop).masked(looks, drawn)


@dataclass
class _Careful:
    """Look by look, where some of them may have been reported before or a limit is near."""

    memory: sqlite3.Connection
    channel: Channel
    past: Sequence[Channel]
    revise: bool
    gate: Gate | None
    stop: bool

    def masked(self, looks: Sequence[Look], drawn: Drawn) -> Masked:
        all_drawn = [(self.channel, drawn), *((each, each.drawn(looks)) for each in self.past)]
        known = known_tags(self.memory, [slot for _, each in all_drawn for slot in each.slots])
        found = Masked([None] * len(looks))
        for i, look in enumerate(looks):
            seen = next(((channel, each) for channel, each in all_drawn if each.slots[i] in known), None)
            if seen is not None and known[seen[1].slots[i]] == seen[1].tags[i]:
                self._put(found, i, look, seen[0], seen[1].noises[i])
            elif seen is not None and not self.revise:
                found.refused[i] = "revision"
            else:
                self._new(found, i, look, known, revision=seen is not None)
            if self.stop and found.refused:
                break
        return found

    def _new(self, found: Masked, i: int, look: Look, known: dict[int, int], *, revision: bool) -> None:
        channel = self.gate(look[2]) if self.gate else self.channel
        if channel is None:
            found.refused[i] = "limit"
            return
        (slot,), (tag,), (noise,) = channel.drawn([look])
        known[slot] = tag
        self.memory.execute("INSERT OR REPLACE INTO seen VALUES (?, ?)", (slot, tag))
        add_counts(self.memory, channel.name, [(look[2], 1, int(revision))])
        if revision:
            found.revisions.append(i)
        self._put(found, i, look, channel, noise)

    def _put(self, found: Masked, i: int, look: Look, channel: Channel, noise: int) -> None:
        found.reports[i] = look[4] + noise
        if channel != self.channel:
            found.others[i] = channel
