"""Personal privacy: the privacy score of a setting for one producer, whose readings differ from the population's.

Errors are relative, so the same noise protects small readings more than large ones. Personal privacy is the study's
score q, computed for the distribution of the producer's readings and the number of local errors in a typical sample. It
is therefore comparable with the menu's scores. A short history alone does not lower it.

Few readings reveal little about a producer. So producers are assumed to differ in their level theta, the mean of
log |s|:

    theta ~ Normal(m, v),   1/v = p/W + 1/B,   m = v (own level p/W + population's level/B)

``p``  periods of own readings
``W``  variance of log |s| within producers
``B``  variance of log |s| between producers
``k``  the ratio W/B, the prior's ``strength``

W + B is the population's variance. Readings of one period are similar, so a period counts as one reading. If they are
not, the interval is wider than necessary. Around its level, the distribution of a producer's readings is drawn from
Dirichlet(own counts + k r population's shape), with r readings per period. The population's shape is its distribution,
contracted around its level until its variance is W. The model fails if a producer's readings drift over time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.choice.mixed_groups import parts_alone
from halfmask.errors import OptionError
from halfmask.evaluation.analytic.denominators import Denominators, ErrorKind, NoiseKind
from halfmask.evaluation.analytic.reading_values import multiples, reading_step
from halfmask.evaluation.metrics import LOCAL_ENTROPY, LOCAL_MEAN, LOCAL_STD, METRICS
from halfmask.evaluation.sampling import population
from halfmask.evaluation.scores import privacy
from halfmask.menus.menu import Menu
from halfmask.profiles.bins import SMALLEST, bin_of, centre
from halfmask.profiles.profile import Profile
from halfmask.profiles.rounding import common_step

DRAWS = 100
TINY = 1e-300
"""A positive share that is used in place of zero."""


@dataclass(frozen=True, eq=False)
class Prior:
    """What is known about the population; it contains no single producer's data.

    ``bins``, ``share``  shares of |s| in logarithmic bins
    ``zeros``            share of readings that are zero
    ``strength``         the ratio k of variances within and between producers, in periods
    ``a_period``         readings of a user in a period
    ``errors``           number of local errors in a typical sample of the menu's study
    ``step``             the step of which readings are multiples; None if unknown
    """

    bins: IntArray
    share: FloatArray
    zeros: float
    strength: float
    a_period: float
    errors: float
    step: float | None = None


@dataclass(frozen=True, eq=False)
class PersonalLaws:
    """Possible distributions of one producer's readings, one per row: shares over the bins, and the share of zeros.

    ``step``  the step of which readings are multiples; None if unknown
    """

    bins: IntArray
    share: FloatArray
    zeros: FloatArray
    step: float | None = None


def population_prior(profile: Profile, menu: Menu) -> Prior:
    """Return the prior from a profile. The menu must be made from it or from similar data."""
    histogram = profile.histogram
    bins, column = np.unique(histogram.bin, return_inverse=True)
    if not len(bins):
        raise OptionError("the profile has no non-zero reading: there is nothing to learn from")
    counts = np.bincount(column, histogram.count)
    readings, zeros = profile.readings, int(profile.rows["zeros"].sum())
    cells = profile.cells[..., 0]
    sizes = menu.provenance.get("sizes", [population(profile)])
    return Prior(
        bins=bins,
        share=counts / counts.sum(),
        zeros=zeros / readings,
        strength=_strength(profile),
        a_period=float(cells[cells > 0].mean() / max(profile.rows["members"].mean(), 1)),
        errors=float(np.median(sizes)) * (readings - zeros) / population(profile),
        step=reading_step(profile),
    )


def public_prior(menu: Menu) -> Prior:
    """Return the prior from the public summary in a menu. It is coarser than that of a profile."""
    told, made = menu.public, menu.provenance
    if told is None or not made.get("sizes") or not made.get("readings"):
        raise OptionError(
            "the menu has no summary of the population (an offer has one, unless its producers are too few): "
            "name `profile`",
            kind="no-summary",
            field="profile",
        )
    bins, share = told.bins()
    a_producer = made["readings"] / max(made["sizes"]) * (1 - told.zeros)
    errors = max(float(np.median(made["sizes"])) * a_producer, 1.0)
    return Prior(bins, share, told.zeros, told.strength, told.a_period, errors)


def _strength(profile: Profile) -> float:
    """Return the variance of log |s| within users divided by that between users, limited to 0.1 to 100."""
    row, logs, count = profile.histogram.row, np.log(centre(profile.histogram.bin)), profile.histogram.count
    n = np.bincount(row, count, len(profile))
    held = n > 0
    first, second = (np.bincount(row, count * logs**k, len(profile))[held] / n[held] for k in (1, 2))
    within = float(((second - first**2) * n[held]).sum() / n.sum())
    between = float(first.var()) * max(float(profile.rows["members"].mean()), 1.0)  # buckets hide how users differ
    return float(np.clip(within / between if between > 0 else 100.0, 0.1, 100.0))


def own_counts(readings: FloatArray) -> tuple[IntArray, FloatArray, int]:
    """Return the bins of a producer's non-zero readings, the number of readings in each, and the number of zeros."""
    sizes = np.abs(readings)
    held = sizes >= SMALLEST
    bins, counts = np.unique(bin_of(sizes[held]), return_counts=True)
    return bins, counts.astype(float), int((~held).sum())


def own_step(readings: FloatArray) -> float | None:
    """Return the largest step (0.1, 0.05, 0.02, 0.01 ...) of which all readings are multiples, or None."""
    return common_step(np.unique(np.abs(readings)[np.abs(readings) >= SMALLEST]))


def personal_laws(
    bins: IntArray, counts: FloatArray, zeros: int, prior: Prior, rng: np.random.Generator, draws: int = DRAWS
) -> PersonalLaws:
    """Draw possible distributions of a producer's readings, one per row. The first row is their mean."""
    level, precision = _level(bins, counts, prior)
    own = round(float(counts @ bins / counts.sum())) if len(bins) else 0
    shape, share = _shape(prior)
    low, high = (int(pick(np.concatenate([bins - own, shape]))) for pick in (np.min, np.max))
    alpha = np.bincount(bins - own - low, counts, high - low + 1) if len(bins) else np.zeros(high - low + 1)
    alpha += prior.strength * prior.a_period * np.bincount(shape - low, share, high - low + 1)
    place = np.round(level + rng.standard_normal(draws) / np.sqrt(precision)).astype(np.int64)
    drawn = rng.standard_gamma(alpha, (draws, len(alpha))) + TINY
    laws = np.full((draws + 1, int(np.ptp(place)) + len(alpha)), TINY)
    for number, at in enumerate(place - place.min()):
        laws[number + 1, at : at + len(alpha)] = drawn[number] / drawn[number].sum()
    laws[0] = laws[1:].mean(axis=0)
    periods = (counts.sum() + zeros) / prior.a_period
    nought = (zeros / prior.a_period + prior.strength * prior.zeros) / (periods + prior.strength)
    every = np.arange(laws.shape[1]) + int(place.min()) + low
    return PersonalLaws(every, laws / laws.sum(axis=1, keepdims=True), np.full(draws + 1, nought), prior.step)


def _level(bins: IntArray, counts: FloatArray, prior: Prior) -> tuple[float, float]:
    """Return mean and precision 1/v of a producer's level, in units of logarithmic bins."""
    middle = float(prior.share @ prior.bins)
    variance = max(float(prior.share @ (prior.bins - middle) ** 2), 1.0)
    within, between = variance * np.array([prior.strength, 1.0]) / (1 + prior.strength)
    periods = float(counts.sum()) / prior.a_period
    precision = periods / within + 1 / between
    own = float(counts @ bins) / prior.a_period / within
    return (own + middle / between) / precision, precision


def _shape(prior: Prior) -> tuple[IntArray, FloatArray]:
    """Return the population's distribution around its level, contracted to the variance within producers: bins and
    shares.
    """
    middle = float(prior.share @ prior.bins)
    closer = np.sqrt(prior.strength / (1 + prior.strength))
    return np.round((prior.bins - middle) * closer).astype(np.int64), prior.share


def together(laws: Sequence[PersonalLaws]) -> PersonalLaws:
    """Combine the distributions of several producers over a common range of bins, one per row."""
    low, high = min(int(each.bins[0]) for each in laws), max(int(each.bins[-1]) for each in laws)
    share = np.zeros((sum(len(each.share) for each in laws), high - low + 1))
    row = 0
    for each in laws:
        share[row : row + len(each.share), each.bins - low] = each.share
        row += len(each.share)
    zeros = np.concatenate([each.zeros for each in laws])
    return PersonalLaws(np.arange(low, high + 1), share, zeros, laws[0].step)


def personal_privacy(menu: Menu, law: PersonalLaws, errors: float) -> FloatArray:
    """Return the privacy score of each setting (first axis) for each distribution of readings (second axis).

    ``errors``  number of local errors
    """
    error: ErrorKind = menu.provenance.get("error", "relative")
    settings = [each.setting for each in menu.settings]
    for setting in settings:
        if setting.kind == "direct" or setting.inner is not None:
            raise OptionError(f"setting {setting} has no noise law, so its personal privacy is unknown: leave it out")
    parts = parts_alone(settings, lambda kind: _denominators(law, kind, error, errors))
    n, sums, squares, *_ = np.moveaxis(parts.sums, -1, 0)
    metrics = np.zeros((*n.shape, len(METRICS)))
    metrics[..., LOCAL_MEAN] = sums / n
    metrics[..., LOCAL_STD] = np.sqrt(np.maximum(squares / n - metrics[..., LOCAL_MEAN] ** 2, 0))
    metrics[..., LOCAL_ENTROPY] = parts.alone()
    return privacy(metrics, menu.largest, menu.weights)


def masked_once(
    menu: Menu, bins: IntArray, counts: FloatArray, zeros: int, step: float | None = None
) -> FloatArray | None:
    """Return the expected privacy score of each setting if exactly these readings are masked once; None without errors.

    A short history has few errors, and so a lower score.
    """
    held = float(counts.sum())
    if not held:
        return None
    scaled = menu.provenance.get("error", "relative") == "scaled"
    law = PersonalLaws(bins, counts[None] / held, np.full(1, zeros / (held + zeros)), step)
    return personal_privacy(menu, law, held + zeros if scaled else held)[:, 0]


def _denominators(law: PersonalLaws, kind: NoiseKind, error: ErrorKind, errors: float) -> Denominators:
    """Return the divisors of the local errors for each distribution of readings; see `evaluation.denominators`."""
    laws = len(law.share)
    n, none, one = np.full(laws, errors), np.zeros(laws), np.ones((laws, 1))
    sizes = centre(law.bins)
    if kind == "additive" and error == "relative":
        inverse = np.stack([law.share @ sizes**-k for k in (1.0, 2.0, 3.0, 4.0)], axis=1)
        return Denominators(sizes, law.share, inverse, n, none, multiples(law.bins, law.step), one)
    if kind == "additive":
        mean = (1 - law.zeros) * (law.share @ sizes)
        order = np.argsort(mean)
        share = np.zeros((laws, laws))
        share[order, np.arange(laws)] = 1
        return Denominators(mean[order], share, mean[:, None] ** -np.arange(1.0, 5.0), n, none, None, one)
    if error == "relative":
        return Denominators(np.ones(1), np.ones((laws, 1)), np.ones((laws, 4)), n, none, None, one)
    raise OptionError("personal privacy of relative noise is known for `error=relative` alone: leave it off the menu")


def middle(values: FloatArray) -> FloatArray:
    """Return the median over the drawn distributions, which is the score to state.

    The first column, the mean distribution, is left out: it is wider than each single one, so its score is too high.
    """
    return np.asarray(np.median(values[:, 1:], axis=1))


def privacy_interval(values: FloatArray, levels: Sequence[float] = (10, 90)) -> tuple[FloatArray, FloatArray]:
    """Return the 10th and 90th percentiles over the drawn distributions, without the first column."""
    low, high = np.percentile(values[:, 1:], levels, axis=1)
    return low, high
