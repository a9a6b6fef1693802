"""A coarse summary of the population's readings for households, with noise that protects each producer.

A profile is personal data and cannot be published. Advice at home needs to know roughly how large readings are, and how
much producers differ. Three counts are released, each with discrete Laplace noise from the operating system's
randomness:

    readings   each producer divides one vote among fixed octaves of |s| and "zero", in proportion to its readings
    spread     each producer adds the variance of its log2 |s| divided by `MOST_SPREAD`, at most one vote
    apart      each producer votes for the interval of `APART` nearest to that between its own readings

Changing everything about one producer changes the first and the third by at most 2 votes, and the second by at most 1.
The scale of each one's noise is this change divided by its share of epsilon. Together they are therefore
epsilon-differentially private for whole producers. The number of producers is not hidden.

Everything else is post-processing of these counts. How much producers differ is the variance of all readings minus the
variance within producers. The interval with the most votes gives the number of readings in a period. A normal law of
log |s| is fitted to the votes of all octaves by least absolute errors, the maximum likelihood estimate under Laplace
noise. An octave whose votes far exceed the noise is released as counted. For others, votes and fit are averaged with
weights by their precision. Octaves lost in the noise are not left out, because readings would then look more alike than
they are.

All producers in a row of a bucketed profile share one vote, which protects each of them. The guarantee does not hold
for a person whose readings are stored under several names.
"""

import math
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.profiles.bins import BINS_PER_OCTAVE, centre
from halfmask.profiles.periods import SECOND
from halfmask.profiles.profile import Profile
from halfmask_device import Lattice, noise

EPSILON = 1.0
LOWEST, HIGHEST = -40, 40
"""Octaves of |s|, the same for every dataset: 2^-40 to 2^41 in the readings' unit. Others count as the nearest."""
VOTE = 1000
"""Number of parts of a vote: counts are whole numbers of parts, so that the noise is exact."""
SHARES = (0.65, 0.15, 0.2)
"""Shares of epsilon for the votes on readings, on their spread and on the interval between them."""
APART = tuple(seconds * SECOND for seconds in (1, 10, 60, 300, 900, 1800, 3600, 7200, 21_600, 86_400))
"""Usual intervals between readings. They are few: 75 producers who agree get a wrong result once in 100 summaries."""
CALENDAR_DAYS = {"M": 30, "Y": 365}
MOST_SPREAD = 4.0
"""Variance of log2 |s| that counts as a whole vote: most readings then lie within a factor of 16."""
UNKNOWN_SPREAD = 1.0
"""Variance assumed for a producer without a reading that is not zero."""
MODE_STANDS_OUT = 9.0
"""The largest octave's votes must be above the noise's scale by this factor; noise alone is, once in 200 summaries."""
MODEL_ERROR = 0.3
"""Assumed relative error of the fit in an octave."""
LEAST = 5e-4
"""Smallest share of readings for which an octave is released."""
SAVED = 4


@dataclass(frozen=True)
class PublicSummary:
    """Shares of readings by octave of |s|, and three numbers, with noise that protects each producer.

    ``first``     octave of the first share
    ``share``     shares of the readings that are not zero, by octave
    ``zeros``     share of readings that are zero
    ``strength``  how alike producers are: variance of log |s| within producers divided by that between them
    ``a_period``  number of a producer's readings in a period, from the interval of `APART` with the most votes
    ``epsilon``   of the whole summary, for a change of everything about one producer
    """

    first: int
    share: tuple[float, ...]
    zeros: float
    strength: float
    a_period: float
    epsilon: float

    def __post_init__(self) -> None:
        if not self.share or min(self.share) < 0 or abs(sum(self.share) - 1) > 1e-2 or not 0 <= self.zeros <= 1:
            raise ValueError("the shares of the menu's summary of readings are not shares")
        if not (self.strength > 0 and self.a_period > 0):
            raise ValueError("the menu's summary of readings has a number that is not above 0")

    def bins(self) -> tuple[IntArray, FloatArray]:
        """Return the profile's bins within the octaves, and the share of each; shares are even within an octave."""
        every = np.arange(len(self.share) * BINS_PER_OCTAVE) + self.first * BINS_PER_OCTAVE
        share = np.repeat(np.array(self.share) / sum(self.share) / BINS_PER_OCTAVE, BINS_PER_OCTAVE)
        return every[share > 0], share[share > 0]


def public_summary(profile: Profile, epsilon: float = EPSILON) -> PublicSummary | None:
    """Return the summary of a profile with noise; None if there are too few producers for this noise.

    The noise has no seed, because no seed could be kept secret. Two summaries of one profile therefore differ, and
    publishing both spends epsilon twice.
    """
    if not 0 < epsilon < math.inf:
        raise OptionError(f"the summary's epsilon is {epsilon:g}: give a number above 0, like 1")
    votes, spread, apart = _votes(profile)
    scale = 2 * VOTE / (SHARES[0] * epsilon)
    zero, *sizes = _noised(votes, scale)
    if max(sizes) <= MODE_STANDS_OUT * scale:
        return None
    zeros = min(max(float(zero) / (VOTE * len(profile)), 0.0), 1.0)
    share, cut = _told(np.array(sizes), scale, (1 - zeros) * VOTE * len(profile))
    (noised,) = _noised(np.array([spread]), VOTE / (SHARES[1] * epsilon))
    within = float(noised) * MOST_SPREAD / (VOTE * len(profile))
    most = int(np.argmax(_noised(apart, 2 * VOTE / (SHARES[2] * epsilon))))
    return PublicSummary(
        first=LOWEST + cut,
        share=tuple(round(float(each), SAVED) for each in share),
        zeros=round(zeros, SAVED),
        strength=round(_strength(share, within, profile), 2),
        a_period=float(_a_period(profile)[most]),
        epsilon=epsilon,
    )


def _noised(votes: FloatArray, scale: float) -> FloatArray:
    """Return votes with discrete Laplace noise of this scale."""
    drawn: FloatArray = np.array(noise(f"laplace:{scale:.17g}", Lattice("1", "0", "1"), len(votes)), float)
    return votes + drawn


def _told(votes: FloatArray, scale: float, all_votes: float) -> tuple[FloatArray, int]:
    """Return the shares of the released octaves, and the index of the first one; see the module's docstring."""
    fitted = _fitted(votes, all_votes)
    may_differ, drowns = (MODEL_ERROR * fitted) ** 2, 2 * scale**2  # variances: of the fit, and of the noise
    trusted = np.where(votes > MODE_STANDS_OUT * scale, 1.0, may_differ / (may_differ + drowns))
    told = np.maximum(trusted * votes + (1 - trusted) * fitted, 0.0)
    held = np.flatnonzero(told > LEAST * told.sum())
    run = told[held[0] : held[-1] + 1]
    return run / run.sum(), int(held[0])


def _fitted(votes: FloatArray, all_votes: float) -> FloatArray:
    """Return each octave's votes under the normal law of log2 |s| that fits the votes best in absolute errors."""
    from scipy.special import ndtr  # here, because SciPy takes long to import

    edges = np.arange(len(votes) + 1.0)
    middle = int(np.argmax(votes)) + np.linspace(-3, 4, 71)
    wide = np.geomspace(0.2, 8, 40)
    best, least = np.zeros(len(votes)), math.inf
    for sigma in wide:
        law = all_votes * np.diff(ndtr((edges - middle[:, None]) / sigma), axis=1)
        errors = np.abs(votes - law).sum(axis=1)
        at = int(np.argmin(errors))
        if errors[at] < least:
            best, least = law[at], float(errors[at])
    return best


def _votes(profile: Profile) -> tuple[FloatArray, float, FloatArray]:
    """Return the votes, in whole parts: by zero and each octave, the total of spread, and by interval of `APART`."""
    counts, octaves = profile.histogram, HIGHEST - LOWEST + 1
    octave = np.clip(counts.bin // BINS_PER_OCTAVE, LOWEST, HIGHEST) - LOWEST
    of_row = np.zeros((len(profile), octaves + 1))
    np.add.at(of_row, (counts.row, octave + 1), counts.count)
    of_row[:, 0] = profile.rows["zeros"]
    all_of_row = of_row.sum(axis=1, keepdims=True)
    parts = np.floor(VOTE * of_row / np.maximum(all_of_row, 1)).sum(axis=0)
    size = np.log2(centre(counts.bin))
    n, logs, squares = (np.bincount(counts.row, counts.count * size**k, len(profile)) for k in range(3))
    held = np.maximum(n, 1)
    spread = np.where(n > 0, squares / held - (logs / held) ** 2, UNKNOWN_SPREAD)
    return parts, float(np.floor(VOTE * np.clip(spread / MOST_SPREAD, 0, 1)).sum()), _votes_apart(profile)


def _votes_apart(profile: Profile) -> FloatArray:
    """Return the votes for each of `APART`, one per row of the profile.

    A row votes for the interval whose number of readings in a period is nearest to its own, over periods with readings.
    """
    readings = profile.cells[..., 0]
    held = (readings > 0).sum(axis=1) * profile.rows["members"]
    own = np.maximum(readings.sum(axis=1) / np.maximum(held, 1), 1.0)
    nearest = np.abs(np.log(own[:, None] / _a_period(profile))).argmin(axis=1)
    return np.asarray(VOTE * np.bincount(nearest, minlength=len(APART)), float)


def _a_period(profile: Profile) -> FloatArray:
    """Return the number of readings in a period for each interval of `APART`."""
    period = profile.period
    length = period.base * CALENDAR_DAYS.get(period.calendar or "", 1)
    return np.maximum(length / np.array(APART), 1.0)


def _strength(share: FloatArray, within: float, profile: Profile) -> float:
    """Return the variance of log2 |s| within producers divided by that between them.

    Both add up to the variance of the whole law. 1/12 is added to the latter for the even shares within an octave. The
    spread of a row of several producers includes their differences.
    """
    at = np.arange(len(share)) + 0.5
    whole = float(share @ at**2 - (share @ at) ** 2) + 1 / 12
    members = max(float(profile.rows["members"].sum()) / max(len(profile), 1), 1.0)
    between = float(np.clip(members * (whole - within), whole / 101, whole / 1.1))
    return (whole - between) / between
