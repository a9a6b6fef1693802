"""What is known of a sample's local errors while its readings are masked: it grows piece by piece, and merges."""

from collections.abc import Iterator, Sequence

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.direct import kernel
from halfmask.evaluation.direct.noise import PIECE
from halfmask.evaluation.direct.store import Room
from halfmask.evaluation.metrics import WIDTH, Summary, entropy_of_spectrum

DENSE = 2**20
"""Bins counted in an array. Errors from DENSE x 0.001 on are rare; the numbers of their bins are kept one by one."""

HELD = 2**20
AT_ONCE = 2**24


class Beyond:
    """Numbers of bins, one for each error, on disk if they are many."""

    def __init__(self) -> None:
        self.size = 0
        self._held: list[FloatArray] = []
        self._stored: list[FloatArray] = []

    def add(self, bins: FloatArray) -> None:
        """Keep some more."""
        self.size += len(bins)
        self._held.append(bins)
        together = sum(map(len, self._held))
        if together >= HELD:
            room: FloatArray = Room().array(together, np.float64)
            self._stored.append(np.concatenate(self._held, out=room))
            self._held = []

    def __iter__(self) -> Iterator[FloatArray]:
        yield from self._stored
        yield from self._held


class LocalState:
    """Errors so far: number, mean, sum of squares about the mean, and histogram.

    Means and squares merge as Chan, Golub and LeVeque do it, so that a small spread about a large mean is not lost.
    """

    def __init__(self) -> None:
        self.n = 0
        self.mean = 0.0
        self.squares = 0.0
        self.top = 0  # bins below this may be filled
        self.counts: IntArray = np.zeros(DENSE, np.int64)
        self.beyond = Beyond()
        self._room = np.empty(PIECE), np.empty(PIECE)

    def add(self, masked: FloatArray, values: FloatArray, divisor: FloatArray) -> None:
        """Take in the errors |m - s| / |divisor| of one piece, for divisors other than 0."""
        if len(values) > len(self._room[0]):
            self._room = np.empty(len(values)), np.empty(len(values))
        errors, beyond = self._room
        n, mean, squares, largest, far = kernel.measure(masked, values, divisor, 1 / WIDTH, errors, self.counts, beyond)
        self._merge_moments(n, mean, squares)
        self.top = max(self.top, int(min(largest / WIDTH + 2, DENSE)))
        if far:
            self.beyond.add(beyond[:far].copy())

    def merge(self, other: "LocalState") -> "LocalState":
        """The errors of both, as a new state."""
        both = LocalState()
        both.absorb(self)
        both.absorb(other)
        return both

    def absorb(self, other: "LocalState") -> None:
        """Take in the errors of other readings of the same sample: `merge` without a copy, for the one that grows."""
        self._merge_moments(other.n, other.mean, other.squares)
        self.counts[: other.top] += other.counts[: other.top]
        self.top = max(self.top, other.top)
        for bins in other.beyond:
            self.beyond.add(bins)

    def _merge_moments(self, n: int, mean: float, squares: float) -> None:
        if not n:
            return
        total = self.n + n
        distance = mean - self.mean
        self.squares += squares + distance * distance * (self.n * n / total)
        self.mean += distance * (n / total)
        self.n = total

    def summary(self) -> Summary:
        """Mean, standard deviation and entropy of all errors."""
        variance = self.squares / max(self.n, 1)
        std = float(np.sqrt(variance)) if np.isfinite(variance) else np.inf
        mean = self.mean if np.isfinite(self.mean) else np.inf
        return Summary(mean, std, entropy_of_spectrum(*self._spectrum()))

    def _spectrum(self) -> tuple[IntArray, IntArray]:
        """How many bins have each count."""
        near = self.counts[: self.top]
        return _merge_spectra([_spectrum(near[near > 0]), *(_spectrum(c) for c in _counts(self.beyond))])


def _counts(beyond: Beyond) -> Iterator[IntArray]:
    """Counts of the bins that occur, a share of the bins at a time if they are too many to hold."""
    shares = -(-beyond.size // AT_ONCE)
    for share in range(shares):
        mine = [bins[_scramble(bins) % shares == share] for bins in beyond] if shares > 1 else list(beyond)
        yield np.unique(np.concatenate(mine), return_counts=True)[1]


def _scramble(bins: FloatArray) -> IntArray:
    """A number below 2^31 that looks random, the same for the same bin."""
    return ((bins.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)).astype(np.int64)


def _spectrum(counts: IntArray) -> tuple[IntArray, IntArray]:
    count, bins = np.unique(counts, return_counts=True)
    return count, bins.astype(np.int64)


def _merge_spectra(spectra: Sequence[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    count, place = np.unique(np.concatenate([count for count, _ in spectra]), return_inverse=True)
    bins = np.zeros(len(count), np.int64)
    np.add.at(bins, place, np.concatenate([bins for _, bins in spectra]))
    return count, bins
