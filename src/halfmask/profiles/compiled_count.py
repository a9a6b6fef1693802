"""A compiled loop that counts the readings of Arrow batches in one pass. It needs memory for users x time.

It is several times as fast as a database's GROUP BY. Users are divided among `SHARDS` threads. Each user's readings are
added by one thread in the source's order, so that sums have the same bits on every run and machine.
"""

import mmap
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from halfmask.arrays import FloatArray, IntArray
from halfmask.profiles.bins import BINS_PER_OCTAVE, GUARD, SMALLEST
from halfmask.profiles.rounding import HIGHEST, OFFSET, STEPS, coarsest_steps, digit_scales
from halfmask.profiles.tally import CELL_SUMS, USER_COUNTS, USER_SUMS, Plan, Tally

SHARDS = 3
MOST_USERS = 2**15
HUGE_PAGE = 2**21
FEW = 1000
"""If a batch has fewer runs than this, users are looked up one by one, which is then faster."""
NO_TIME = np.iinfo(np.int64).min
LARGEST = np.finfo(np.float64).max

_CELL_BYTES = 8 * len(CELL_SUMS) + 8 + 1
_MANTISSA_BITS = 10
_EDGES = np.ceil((np.exp2((np.arange(BINS_PER_OCTAVE + 1) - GUARD) / BINS_PER_OCTAVE) - 1) * 2.0**52).astype(np.int64)
_FIRST_BIN = (np.searchsorted(_EDGES, np.arange(2**_MANTISSA_BITS) << (52 - _MANTISSA_BITS), side="right") - 1).astype(
    np.uint8
)
"""The bin at the start of each interval of mantissas. The table is small, so that it stays in the fastest cache."""
_SINGLE = 2**29 - 1  # bits of a double that are 0 if it was a float of 32 bits
_OFF_SINGLE, _OFF = 6e-8, 1e-12  # share of a reading by which its decimals may be off

Bits = npt.NDArray[np.uint8]


class TooLargeError(Exception):
    """Raised if the tables do not fit into the allowed memory; the caller must count groups of users."""


@numba.njit(nogil=True, cache=True)
def _bin(bits):  # type: ignore[no-untyped-def]
    """Return `bins.bin_of` from the bits of a double: the exponent gives the octave, a table gives the rest."""
    exponent = ((bits >> 52) & 0x7FF) - 1023
    mantissa = bits & (2**52 - 1)
    k = np.int64(_FIRST_BIN[mantissa >> (52 - _MANTISSA_BITS)])
    return exponent * BINS_PER_OCTAVE + k + np.int64(mantissa >= _EDGES[k + 1])


@numba.njit(nogil=True, cache=True, inline="always")
def _known(valid, i):  # type: ignore[no-untyped-def]
    """Return whether value i is not null. ``valid`` has one bit per value; it is empty if no value is null."""
    return valid.size == 0 or (valid[i >> 3] >> (i & 7)) & 1 == 1


@numba.njit(nogil=True, cache=True)
def _ends(users, ends):  # type: ignore[no-untyped-def]
    """Write the end of each run of rows with one user to ``ends``, and return the number of runs."""
    number = 0
    for i in range(1, users.size):
        if users[i] != users[i - 1]:
            ends[number] = i
            number += 1
    ends[number] = users.size
    return number + 1


@numba.njit(nogil=True, cache=True)
def _extent(times, values, valid, offset):  # type: ignore[no-untyped-def]
    """Return the earliest and latest time, and the smallest and largest non-zero size.

    Without readings, each minimum is above its maximum.
    """
    earliest, latest = np.iinfo(np.int64).max, NO_TIME
    smallest, largest = np.inf, 0.0
    for i in range(values.size):
        size = abs(values[i])
        if times[i] != NO_TIME and size <= LARGEST and _known(valid, offset + i):
            earliest, latest = min(earliest, times[i]), max(latest, times[i])
            if size >= SMALLEST:
                smallest, largest = min(smallest, size), max(largest, size)
    return earliest, latest, smallest, largest


@numba.njit(nogil=True, cache=True)
def _within(times, values, earliest, latest, smallest, largest):  # type: ignore[no-untyped-def]
    """Return whether all times and sizes are within bounds. The loop avoids branches, to be fast."""
    outside = False
    for i in range(values.size):
        size = abs(values[i])
        far = ((size < smallest) & (size >= SMALLEST)) | (size > largest)
        outside |= far | (times[i] < earliest) | (times[i] > latest)
    return not outside


@numba.njit(nogil=True, cache=True)
def _count(  # type: ignore[no-untyped-def]
    shard, users, ends, times, values, bits, valid, offset, step, chunk, origin, low, high, chunk0, bin0,
    cells, slots, clash, user_sums, user_counts, first, last, histogram, bin_sizes, bin_negatives, untimed, tiny,
    scales, places, coarsest, rounded,
):  # fmt: skip
    """Add the rows of this shard's users to the tables. Every `SHARDS`-th user belongs to the shard.

    The sums of the current user and cell are kept in registers and written when either changes. This is fast if
    readings are sorted, as they usually are.
    """
    per_step = 1.0 / step if step > 0 else 0.0
    i, run = 0, 0
    while run < users.size:
        user, end = users[run], ends[run]
        if user < 0 or user % SHARDS != shard or i >= end:
            run, i = run + 1, end
            continue
        if times[i] == NO_TIME:
            untimed[shard] += 1
            i += 1
            continue
        index = (times[i] - origin) // chunk
        c, opens = index - chunk0, index * chunk + origin
        closes = opens + chunk
        n, s1, s2, s3, s4 = 0, 0.0, 0.0, 0.0, 0.0
        a1, w1, w2, w3, w4 = 0.0, 0.0, 0.0, 0.0, 0.0
        zeros, negatives, nonfinite, outside = 0, 0, 0, 0
        inside = c >= 0 and c < cells.shape[2]
        filled, clashes = (slots[user, c], clash[user, c]) if inside else (np.uint64(0), False)
        earliest, latest = first[user], last[user]
        of_user, on_steps = histogram[user], rounded[user]
        while i < end and times[i] >= opens and times[i] < closes:
            value, time = values[i], times[i]
            size = abs(value)
            if not (size <= LARGEST and _known(valid, offset + i)):
                nonfinite += 1
            elif value < low or value > high:
                outside += 1
            else:
                if size >= SMALLEST:
                    b = _bin(bits[i]) - bin0
                    of_user[b] += 1
                    bin_sizes[shard, b] += size
                    if value < 0:
                        bin_negatives[shard, b] += 1
                        negatives += 1
                    digits, place = size * scales[b], places[b]
                    if digits >= HIGHEST - 0.5:
                        digits, place = digits / 10, place + 3
                    whole = np.int64(digits + 0.5)
                    if abs(digits - whole) <= (_OFF if bits[i] & _SINGLE else _OFF_SINGLE) * digits:
                        on_steps[place + coarsest[whole]] += 1
                    inverse = 1.0 / size
                    square = inverse * inverse
                    a1 += size
                    w1 += inverse
                    w2 += square
                    w3 += square * inverse
                    w4 += square * square
                else:
                    zeros += 1
                    tiny[shard] += size > 0
                    value = 0.0
                square = value * value
                n += 1
                s1 += value
                s2 += square
                s3 += square * value
                s4 += square * square
                slot = np.uint64(1) << np.uint64(np.int64((time - opens + 0.5) * per_step))
                clashes |= (filled & slot) != 0
                filled |= slot
                earliest, latest = min(earliest, time), max(latest, time)
            i += 1
        counts = user_counts[user]
        counts[0] += n + nonfinite + outside
        counts[3] += nonfinite
        counts[4] += outside
        if n == 0:
            continue
        counts[1] += zeros
        counts[2] += negatives
        slots[user, c], clash[user, c] = filled, clashes
        first[user], last[user] = earliest, latest
        cell, sums = cells[:, user, c], user_sums[user]
        cell[0] += n
        cell[1] += s1
        cell[2] += s2
        cell[3] += s3
        cell[4] += s4
        sums[0] += a1
        sums[1] += w1
        sums[2] += w2
        sums[3] += w3
        sums[4] += w4


def _zeros(shape: tuple[int, ...], kind: type[np.generic]) -> npt.NDArray[Any]:
    """Return zeros that take memory only when written. Huge pages, if available, make the first writes fast."""
    size = int(np.prod(shape)) * np.dtype(kind).itemsize
    if size < HUGE_PAGE:
        return np.zeros(shape, kind)
    memory = mmap.mmap(-1, size)
    with suppress(AttributeError, OSError):
        memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, kind).reshape(shape)


class _Tables:
    """Tables that grow. Unused rows take no memory.

    Their capacity depends on the allowed memory, so a longer span of time leaves room for fewer users.
    """

    def __init__(self, plan: Plan, allowed_bytes: int) -> None:
        self.plan, self.allowed = plan, allowed_bytes
        self.numbers: dict[object, int] = {}
        self.unnamed = 0
        self.room = np.zeros(0, np.int64)
        self.seen = (np.iinfo(np.int64).max, NO_TIME, np.inf, 0.0)  # times and sizes so far: none
        self.user_sums = np.zeros((MOST_USERS, len(USER_SUMS)))
        self.user_counts = np.zeros((MOST_USERS, len(USER_COUNTS)), np.int64)
        self.first = np.full(MOST_USERS, np.iinfo(np.int64).max)
        self.last = np.full(MOST_USERS, np.iinfo(np.int64).min)
        self.untimed = np.zeros(SHARDS, np.int64)
        self.tiny = np.zeros(SHARDS, np.int64)
        self.scales, self.places = digit_scales(plan.grain)
        self.coarsest = coarsest_steps()
        self.rounded = np.zeros((MOST_USERS, STEPS + 1), np.uint32)
        self.chunk0, self.chunks = 0, 0
        self.bin0, self.bins = 0, 0
        self.capacity = MOST_USERS
        self._cells()
        self._histogram()

    def _cells(self) -> None:
        self.cells = _zeros((len(CELL_SUMS), self.capacity, self.chunks), np.float64)
        self.slots = _zeros((self.capacity, self.chunks), np.uint64)
        self.clash = _zeros((self.capacity, self.chunks), np.bool_)

    def _histogram(self) -> None:
        self.histogram = _zeros((self.capacity, self.bins), np.uint32)
        self.bin_sizes = np.zeros((SHARDS, self.bins))
        self.bin_negatives = np.zeros((SHARDS, self.bins), np.int64)

    def runs(self, users: pa.Array) -> tuple[IntArray, IntArray]:
        """Return the user's number (-1 if missing) and the end of each run of rows with one user."""
        if pa.types.is_integer(users.type) and not users.null_count:
            plain = np.asarray(users)
            if len(self.room) < len(plain):
                self.room = np.empty(len(plain), np.int64)
            ends = self.room[: _ends(plain, self.room)].copy()
            if len(ends) < FEW:
                named = [self.numbers.setdefault(user, len(self.numbers)) for user in plain[ends - 1].tolist()]
                return np.array(named, np.int64), ends
            heads = pa.array(plain[ends - 1])
        else:
            runs = pc.run_end_encode(users)
            ends, heads = np.asarray(runs.run_ends).astype(np.int64), runs.values
        encoded = heads.dictionary_encode()
        known = [self.numbers.setdefault(user, len(self.numbers)) for user in encoded.dictionary.to_pylist()]
        of_run = np.array([*known, -1], np.int64)[np.asarray(pc.fill_null(encoded.indices, len(known)))]
        self.unnamed += int(np.diff(ends, prepend=0)[of_run < 0].sum())
        return of_run, ends

    def room_for(
        self, times: IntArray, values: FloatArray, valid: Bits, offset: int
    ) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the ranges of chunks and bins that the tables need for their content and another batch."""
        chunks, bins = (self.chunk0, self.chunks), (self.bin0, self.bins)
        if _within(times, values, *self.seen):
            return chunks, bins
        earliest, latest, smallest, largest = _extent(times, values, valid, offset)
        ahead, until, least, most = self.seen
        self.seen = (min(ahead, earliest), max(until, latest), min(least, smallest), max(most, largest))
        if earliest <= latest:
            low, high = ((t - self.plan.origin) // self.plan.chunk for t in (earliest, latest))
            chunks = _widen(*chunks, low, high)
        if smallest <= largest:
            bins = _widen(*bins, *(_bin(np.float64(size).view(np.int64)) for size in (smallest, largest)))
        return chunks, bins

    def outgrown(self, chunks: tuple[int, int], bins: tuple[int, int]) -> bool:
        """Return whether the tables are too small for these ranges or for the number of users."""
        now = ((self.chunk0, self.chunks), (self.bin0, self.bins))
        return (chunks, bins) != now or len(self.numbers) > self.capacity

    def grow(self, chunks: tuple[int, int], bins: tuple[int, int]) -> None:
        """Enlarge the tables to these ranges. Raise `TooLargeError` if they would exceed the allowed memory."""
        users = len(self.numbers)
        old = dict(self.__dict__)
        self.capacity = min(MOST_USERS, self.allowed // max(chunks[1] * _CELL_BYTES + bins[1] * 4, 1))
        if users > self.capacity:
            raise TooLargeError
        if chunks != (self.chunk0, self.chunks):
            self.chunk0, self.chunks = chunks
            self._cells()
            at = slice(old["chunk0"] - self.chunk0, old["chunk0"] - self.chunk0 + old["chunks"])
            self.cells[:, :users, at] = old["cells"][:, :users]
            for name in ("slots", "clash"):
                getattr(self, name)[:users, at] = old[name][:users]
        if bins != (self.bin0, self.bins):
            self.bin0, self.bins = bins
            self._histogram()
            at = slice(old["bin0"] - self.bin0, old["bin0"] - self.bin0 + old["bins"])
            self.histogram[:users, at] = old["histogram"][:users]
            self.bin_sizes[:, at], self.bin_negatives[:, at] = old["bin_sizes"], old["bin_negatives"]

    def add(
        self, shard: int, users: IntArray, ends: IntArray, times: IntArray, values: FloatArray, valid: Bits, offset: int
    ) -> None:
        """Count the rows of one shard's users."""
        plan, ahead = self.plan, slice(self.bin0 + OFFSET, None)
        _count(
            shard, users, ends, times, values, values.view(np.int64), valid, offset, plan.step or 0, plan.chunk,
            plan.origin, plan.low, plan.high, self.chunk0, self.bin0, self.cells, self.slots, self.clash,
            self.user_sums, self.user_counts, self.first, self.last, self.histogram, self.bin_sizes, self.bin_negatives,
            self.untimed, self.tiny, self.scales[ahead], self.places[ahead], self.coarsest, self.rounded,
        )  # fmt: skip

    @np.errstate(over="ignore", invalid="ignore")  # a sum beyond the largest double is infinite, and says so
    def tally(self) -> Tally:
        """Return the counts and sums, with users sorted by name. Users without any time are left out."""
        placed = self.user_counts[:, 0] > 0
        named = sorted((str(user), number) for user, number in self.numbers.items() if placed[number])
        order = np.array([number for _, number in named], np.int64)
        rows: slice | IntArray = slice(0, len(order)) if np.array_equal(order, np.arange(len(order))) else order
        return Tally(
            users=[name for name, _ in named],
            user_sums=self.user_sums[rows],
            user_counts=self.user_counts[rows],
            first=self.first[rows],
            last=self.last[rows],
            chunk0=self.chunk0,
            cells=np.moveaxis(self.cells[:, rows], 0, -1),
            clash=self.clash[rows],
            rounded=self.rounded[rows, :STEPS],
            bin0=self.bin0,
            histogram=self.histogram[rows],
            bin_sizes=self.bin_sizes.sum(axis=0),
            bin_negatives=self.bin_negatives.sum(axis=0),
            unplaced=int(self.untimed.sum()) + self.unnamed,
            tiny=int(self.tiny.sum()),
        )


def _values(column: pa.Array) -> tuple[FloatArray, Bits, int]:
    """Return the numbers of a column, its validity bits (0 means null), and the position of the first bit.

    Without nulls there are no bits. Replacing nulls by NaN would copy every value, which takes longer than counting.
    """
    validity, data = column.buffers()
    values = np.frombuffer(data, np.float64, len(column), column.offset * 8) if len(column) else np.zeros(0)
    known = column.null_count == 0 or validity is None
    return values, np.zeros(0, np.uint8) if known else np.frombuffer(validity, np.uint8), column.offset


def _times(column: pa.Array) -> IntArray:
    """Return times as integers. They are copied only if some are missing."""
    return np.asarray(pc.fill_null(column, NO_TIME) if column.null_count else column)


def _widen(start: int, size: int, low: int, high: int) -> tuple[int, int]:
    """Extend a range to contain ``low..high``, at least doubling it if it must grow. Return its start and size."""
    if size and start <= low and high < start + size:
        return start, size
    if not size:
        return low, high - low + 1
    needed = max(start + size, high + 1) - min(start, low)
    wider = max(needed, 2 * size)
    return (min(start, low) - (wider - needed), wider) if low < start else (start, wider)


def count(
    batches: Iterator[pa.RecordBatch], plan: Plan, allowed_bytes: int, advance: Callable[[int], None] | None = None
) -> Tally:
    """Count the readings of batches with the columns user, time and value.

    Raise `TooLargeError` if the tables would exceed ``allowed_bytes``.
    """
    tables = _Tables(plan, allowed_bytes)
    with _threads(tables.add) as (deal, settle):
        for batch in batches:
            users, ends = tables.runs(batch.column(0))
            times = _times(batch.column(1))
            values = _values(batch.column(2))
            chunks, bins = tables.room_for(times, *values)
            if tables.outgrown(chunks, bins):
                settle()
                tables.grow(chunks, bins)
            deal(users, ends, times, *values)
            if advance:
                advance(batch.num_rows)
    return tables.tally()


@contextmanager
def _threads(work: Callable[..., None]) -> Iterator[tuple[Callable[..., None], Callable[[], None]]]:
    """Start `SHARDS` threads, and yield two functions: ``deal`` and ``settle``.

    ``deal(*arguments)``  queues ``work(shard, *arguments)`` on each thread
    ``settle()``          waits for all threads

    An exception in a thread is raised in the caller.
    """
    queues: list[queue.Queue[tuple[Any, ...] | None]] = [queue.Queue(maxsize=4) for _ in range(SHARDS)]
    failures: list[BaseException] = []

    def run(shard: int) -> None:
        while (arguments := queues[shard].get()) is not None:
            try:
                if not failures:
                    work(shard, *arguments)
            except BaseException as failure:  # carried over to the caller's thread
                failures.append(failure)
            finally:
                queues[shard].task_done()

    def deal(*arguments: Any) -> None:
        if failures:
            raise failures[0]
        for waiting in queues:
            waiting.put(arguments)

    def settle() -> None:
        for waiting in queues:
            waiting.join()

    threads = [threading.Thread(target=run, args=(shard,), daemon=True) for shard in range(SHARDS)]
    for thread in threads:
        thread.start()
    try:
        yield deal, settle
    finally:
        for waiting in queues:
            waiting.put(None)
        for thread in threads:
            thread.join()
    if failures:
        raise failures[0]
