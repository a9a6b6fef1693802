"""What the public summary says about the producers' totals of a period: their mean, and how they spread."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.menus.noisy_counts import QUANTILE, noise_scales, release
from halfmask.menus.producer_votes import COUNTS, EDGES, LOWEST, VOTE
from halfmask.profiles.profile import Profile

MOST_UNKNOWN = 0.5
BOUND_STANDS_OUT = 8.0
"""Votes of an octave that may give the bounds, over the noise's scale; noise alone has them once in 70 summaries."""
BELOW, BEYOND = -0.25, 2.0
"""Totals below low, and above the last of `EDGES`, count as this far from low, as a part of the way to high."""


class Estimate(NamedTuple):
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class PublicTotals:
    """The producers' totals of a period, with the noise of the summary and rounded to what the noise leaves.

    ``low``, ``high``    the public bounds
    ``mean``             mean over producers of their mean total, each total clipped to the bounds
    ``mean_error``       its standard error, by the noise alone: it is about these producers, not about others like them
    ``shares``           shares of the totals below low, in each bin between `EDGES`, and above the last edge. They are
                         as counted with noise, so some may be below 0
    ``shares_error``     standard error of each share
    """

    low: float
    high: float
    mean: float
    mean_error: float
    shares: tuple[float, ...]
    shares_error: float

    def __post_init__(self) -> None:
        if not self.low < self.high or len(self.shares) != len(EDGES) + 1:
            raise ValueError("the menu's summary of totals has bounds or bins that do not fit")
        if not (self.mean_error > 0 and self.shares_error > 0):
            raise ValueError("the menu's summary of totals has an error that is not above 0")

    def size(self) -> Estimate:
        """Return the mean total with its 95 % interval, clipped to the bounds."""
        half = QUANTILE * self.mean_error
        return Estimate(*(min(max(self.mean + each, self.low), self.high) for each in (0.0, -half, half)))

    @property
    def known(self) -> bool:
        """Whether the mean total is known well enough to publish what depends on it: the half-width of its interval is
        at most `MOST_UNKNOWN` of it, and the interval does not hold 0.
        """
        value, low, high = self.size()
        return QUANTILE * self.mean_error <= MOST_UNKNOWN * abs(value) and not low <= 0 <= high

    def clipped(self) -> Estimate:
        """Return the share of totals outside the bounds."""
        outside = [0, *range(len(EDGES) - 1, len(EDGES) + 1)]
        half = QUANTILE * self.shares_error * math.sqrt(len(outside))
        share = sum(self.shares[each] for each in outside)
        return Estimate(*(min(max(share + each, 0.0), 1.0) for each in (0.0, -half, half)))

    def excess(self) -> Estimate:
        """Return the mean of totals less that of clipped totals; its value is 0 unless it exceeds the noise.

        Totals in a bin count as in its middle, those above the last edge as `BEYOND`, and those below low as `BELOW`.
        If more totals lie further out, more is cut.
        """
        above = self._mean_excess({len(EDGES) - 1: (EDGES[-1] - 1) / 2, len(EDGES): BEYOND - 1})
        below = self._mean_excess({0: -BELOW})
        value = above.value * (above.low > 0) - below.value * (below.low > 0)
        return Estimate(value, above.low - below.high, above.high - below.low)

    def clip_bias(self) -> Estimate | None:
        """Return by how much clipping shifts the mean total, relative to its size; None if its size is not known."""
        (value, least, _), excess = self.size(), self.excess()
        if not least > 0:
            return None
        return Estimate(-excess.value / (value + excess.value), -excess.high / least, -excess.low / least)

    def _mean_excess(self, distances: dict[int, float]) -> Estimate:
        """Return the mean excess of the totals in some bins at these distances, in parts of the way; at least 0."""
        width = self.high - self.low
        mean = sum(each * self.shares[cell] for cell, each in distances.items())
        half = QUANTILE * self.shares_error * math.hypot(*distances.values())
        return Estimate(*(width * max(mean + each, 0.0) for each in (0.0, -half, half)))


def public_totals(
    told: dict[str, FloatArray], scales: dict[str, float], bounds: tuple[float, float], rows: int
) -> PublicTotals:
    """Return the totals' part of the summary from noisy counts and the scales of their noise, in votes."""
    low, high = bounds
    width = high - low
    mean_error, shares_error = (math.sqrt(2) * scales[name] / rows for name in ("mean", "totals"))
    mean_error *= width
    mean = low + width * float(told["mean"][0]) / rows
    return PublicTotals(
        low=low,
        high=high,
        mean=rounded_to_error(mean, mean_error),
        mean_error=float(f"{mean_error:.2g}"),
        shares=tuple(rounded_to_error(float(each) / rows, shares_error) for each in told["totals"]),
        shares_error=float(f"{shares_error:.2g}"),
    )


def private_bounds(profile: Profile, epsilon: float) -> tuple[float, float]:
    """Return bounds of totals that most totals are within, chosen with this epsilon for everything about one producer.

    High is twice the end of an octave: the highest that is reached from the largest one without meeting votes that
    the noise covers. Low is 0, or -high if the votes of totals below 0 exceed the noise. Octaves are the same for every
    dataset, so nothing else passes from the readings.
    """
    told = release({"sizes": COUNTS["sizes"].votes(profile, (0.0, 1.0))}, epsilon)["sizes"]
    bar = BOUND_STANDS_OUT * noise_scales(["sizes"], epsilon)["sizes"] / VOTE
    last = int(np.argmax(told[2:])) + 2
    if told[last] <= bar:
        raise OptionError(
            f"{len(profile):,} producers are too few to choose bounds of totals at epsilon {epsilon:g}: give `low` 0 "
            "and as `high` the largest total of a period, from public knowledge",
            kind="bounds",
        )
    while last + 1 < len(told) and told[last + 1] > bar:
        last += 1
    high = 2.0 ** (last + LOWEST)
    return (-high if told[0] > bar else 0.0), high


def rounded_to_error(value: float, error: float) -> float:
    """Return a number without the digits that its standard error makes meaningless: two digits of the error stay."""
    return round(value, 1 - math.floor(math.log10(error)))
