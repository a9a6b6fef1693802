"""A coarse summary of the population's readings, with noise that protects each producer.

A profile is personal data and cannot be published. Advice at home, and the figures that are published with an offer,
need to know roughly how large readings and totals are, and how much producers differ. The summary is made from these
counts alone, which `noisy_counts` releases under one epsilon for everything about one producer:

    readings   each producer divides one vote among fixed octaves of |s| and "zero", in proportion to its readings
    spread     each producer adds the variance of its log2 |s| divided by `MOST_SPREAD`, at most one vote
    apart      each producer votes for the interval of `APART` nearest to that between its own readings
    mean       each producer adds its mean total of a period, clipped to public bounds
    totals     each producer divides one vote among fixed bins of its periods' totals

The last two are released only if bounds of totals are given, and the third only if the number of readings in a period
is not public. The others then have larger shares of epsilon.

Everything else is post-processing. How much producers differ is the variance of all readings minus the variance within
producers. The interval with the most votes gives the number of readings in a period. A normal law of log |s| is fitted
to the votes of all octaves by least absolute errors, the maximum likelihood estimate under Laplace noise. An octave
whose votes far exceed the noise is released as counted. For others, votes and fit are averaged with weights by their
precision. Octaves lost in the noise are not left out, because readings would then look more alike than they are.
"""

import math
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.menus.noisy_counts import noise_scales, release
from halfmask.menus.producer_votes import COUNTS, LOWEST, MOST_SPREAD, VOTE, usual_counts
from halfmask.menus.public_totals import PublicTotals, public_totals
from halfmask.profiles.bins import BINS_PER_OCTAVE
from halfmask.profiles.profile import Profile

EPSILON = 1.0
OF_READINGS, OF_TOTALS = ("readings", "spread", "apart"), ("mean", "totals")
MODE_STANDS_OUT = 9.0
"""The largest octave's votes must be above the noise's scale by this factor; noise alone is, once in 200 summaries."""
INTERVAL_STANDS_OUT = 8.0
"""The first interval's votes must exceed the second's by this many scales; a wrong interval does so once in 100."""
MODEL_ERROR = 0.3
"""Assumed relative error of the fit in an octave."""
LEAST = 5e-4
"""Smallest share of readings for which an octave is released."""
SAVED = 4


@dataclass(frozen=True)
class PublicSummary:
    """Shares of readings by octave of |s|, and numbers, with noise that protects each producer.

    ``first``           octave of the first share
    ``share``           shares of the readings that are not zero, by octave; empty if there are too few producers for
                        the noise
    ``zeros``           share of readings that are zero
    ``strength``        how alike producers are: variance of log |s| within producers divided by that between them
    ``a_period``        number of a producer's readings in a period
    ``epsilon``         of the whole summary, for a change of everything about one producer, at delta 0
    ``interval_known``  whether ``a_period`` is public, or exceeds the noise
    ``totals``          the producers' totals of a period; None if no bounds were given
    """

    first: int
    share: tuple[float, ...]
    zeros: float
    strength: float
    a_period: float
    epsilon: float
    interval_known: bool = False
    totals: PublicTotals | None = None

    def __post_init__(self) -> None:
        if (self.share and (min(self.share) < 0 or abs(sum(self.share) - 1) > 1e-2)) or not 0 <= self.zeros <= 1:
            raise ValueError("the shares of the menu's summary of readings are not shares")
        if not (self.strength > 0 and self.a_period > 0 and self.epsilon > 0):
            raise ValueError("the menu's summary of readings has a number that is not above 0")

    def bins(self) -> tuple[IntArray, FloatArray]:
        """Return the profile's bins within the octaves, and the share of each; shares are even within an octave."""
        every = np.arange(len(self.share) * BINS_PER_OCTAVE) + self.first * BINS_PER_OCTAVE
        share = np.repeat(np.array(self.share) / sum(self.share) / BINS_PER_OCTAVE, BINS_PER_OCTAVE)
        return every[share > 0], share[share > 0]


def public_summary(
    profile: Profile,
    epsilon: float = EPSILON,
    bounds: tuple[float, float] | None = None,
    a_period: float | None = None,
) -> PublicSummary | None:
    """Return the summary of a profile with noise; None if there are too few producers for this noise, and no bounds.

    The noise does not have a seed, which would have to be kept secret. Two summaries of one profile therefore differ,
    and publishing both spends epsilon twice.

    ``bounds``    low and high of a producer's total of a period, from public knowledge and never from the readings
    ``a_period``  number of a producer's readings in a period, if that is public
    """
    if bounds is not None and not -math.inf < bounds[0] < bounds[1] < math.inf:
        raise OptionError(f"totals from {bounds[0]:g} to {bounds[1]:g}: give `low` below `high`", kind="bounds")
    if a_period is not None and not 0 < a_period < math.inf:
        raise OptionError(f"{a_period:g} readings in a period: give a number above 0, like 48", kind="a_period")
    names = [name for name in OF_READINGS if name != "apart" or a_period is None]
    names += [] if bounds is None else OF_TOTALS
    told = release({name: COUNTS[name].votes(profile, bounds or (0.0, 1.0)) for name in names}, epsilon)
    scales = {name: scale / VOTE for name, scale in noise_scales(names, epsilon).items()}
    totals = None if bounds is None else public_totals(told, scales, bounds, len(profile))
    known = bool(told["readings"][1:].max() > MODE_STANDS_OUT * scales["readings"])
    if not known and totals is None:
        return None
    zeros = min(max(float(told["readings"][0]) / len(profile), 0.0), 1.0)
    share, first, strength = np.zeros(0), 0, 1.0
    if known:
        share, cut = _told(told["readings"][1:], scales["readings"], (1 - zeros) * len(profile))
        first = LOWEST + cut
        strength = _strength(share, float(told["spread"][0]) * MOST_SPREAD / len(profile), profile)
    sure = True
    if a_period is None:
        second, most = np.sort(told["apart"])[-2:]
        sure = bool(most - second > INTERVAL_STANDS_OUT * scales["apart"])
        a_period = float(usual_counts(profile)[np.argmax(told["apart"])])
    return PublicSummary(
        first=first,
        share=tuple(round(float(each), SAVED) for each in share),
        zeros=round(zeros, SAVED),
        strength=round(strength, 2),
        a_period=a_period,
        epsilon=epsilon,
        interval_known=sure,
        totals=totals,
    )


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
