"""Colour of the noise: noise that is correlated with its own past can be predicted, and so removed.

Two tests compare a series e_1..e_n with independent noise of mean zero. For large n both keep their level:

    Ljung and Box         Q = n (n + 2) sum_k r_k^2 / (n - k) over L lags; chi-squared with L degrees of freedom
    Bartlett              the largest distance of the cumulated periodogram from a straight line; Kolmogorov's law,
                          since the cumulated shares of m ordinates are distributed as m - 1 ordered uniform numbers

The measure is spectral flatness: the geometric over the arithmetic mean of the spectral density. By Kolmogorov's
formula it is the share of the variance that cannot be predicted from the past. It is computed from an autoregression of
L lags. It is 1 for white noise and 1 - a^2 for an autoregression with coefficient a.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.mechanisms.estimated import SampledNoise, StatedNoise
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.masked_series import mask_rows
from halfmask.protection.evidence import Evidence
from halfmask.streams import stream

NAME = "colour"
METRIC = "share of the noise that cannot be predicted from its past (spectral flatness; 1 = white)"
LAGS = 20
FEWEST = 3 * LAGS
LEVEL = 0.001
MOST_VALUES = 2**18


@dataclass(frozen=True)
class Whiteness:
    """Results of both tests of whiteness on one series.

    ``autocorrelation``                       r_k for k = 1..L about zero, not about the mean, because a constant error
                                              is predictable
    ``flatness``                              1 if nothing can be predicted, 0 if everything can
    ``ljung_box``, ``cumulated_periodogram``  p-values of the two tests
    ``p_value``                               of both tests together (Bonferroni); small values contradict white noise
    """

    autocorrelation: tuple[float, ...]
    flatness: float
    ljung_box: float
    cumulated_periodogram: float

    @property
    def p_value(self) -> float:
        return min(1.0, 2 * min(self.ljung_box, self.cumulated_periodogram))


def whiteness(series: FloatArray, lags: int = LAGS) -> Whiteness:
    """Return autocorrelation, flatness and both tests of one series of errors."""
    from scipy.special import chdtrc  # here, because SciPy takes long to import

    e = np.asarray(series, float)
    if e.ndim != 1 or len(e) < max(FEWEST, 3 * lags) or not np.isfinite(e).all():
        raise OptionError(
            f"a series of shape {e.shape} cannot be tested: give {max(FEWEST, 3 * lags)} finite numbers or more",
            kind="series",
        )
    if not e.any():
        raise OptionError(f"all {len(e)} errors are zero: there is no noise whose colour could be told", kind="zeros")
    n = len(e)
    e = e / np.abs(e).max()  # so that squares of large errors stay finite
    products = np.array([e[: n - k] @ e[k:] for k in range(lags + 1)])
    r = products[1:] / products[0]
    q = n * (n + 2) * np.sum(r**2 / (n - np.arange(1, lags + 1)))
    return Whiteness(tuple(r.tolist()), _unpredictable(products), float(chdtrc(lags, q)), bartlett(e))


def bartlett(e: FloatArray) -> float:
    """Return the p-value of Bartlett's test, from the Fourier frequencies strictly between 0 and 1/2."""
    from scipy.special import kolmogorov

    power = np.abs(np.fft.rfft(e)[1 : (len(e) + 1) // 2]) ** 2
    total = power.sum()
    if total <= 1e-20 * (e @ e) * len(e):
        return 0.0  # all power at frequency zero: the error never changes
    m = len(power)
    share = np.cumsum(power)[:-1] / total
    place = np.arange(1, m) / (m - 1)
    distance = float(np.max(np.maximum(np.abs(share - place), np.abs(share - place + 1 / (m - 1)))))
    root = math.sqrt(m - 1)
    return float(kolmogorov(distance * (root + 0.12 + 0.11 / root)))  # Stephens' correction for finite m


def white_by_construction(setting: PrivacySetting) -> bool:
    """Return whether the noise is one of ours, which is independent for each reading; others are measured."""
    return setting.kind != "direct" and not isinstance(setting.law, SampledNoise | StatedNoise)


def discount(weight: float, evidence: Evidence, seed: int) -> Callable[[PrivacySetting], float]:
    """Return a function that gives a setting's factor on privacy: 1 for white noise, otherwise 1 - weight (1 - c).

    c is the score of the noise's colour. It is a factor and not a summand, so that white noise too small to hide
    anything does not gain.
    """
    if not 0 <= weight <= 1:
        raise OptionError(f"`colour` {weight:g} is not a share: give one from 0, no matter, to 1", kind="range")

    def factor(setting: PrivacySetting) -> float:
        if white_by_construction(setting):
            return 1.0
        found = colour(setting, evidence, stream(seed, "attack.colour.level")).value
        return 1 - weight * (1 - (1.0 if found is None else found))

    return factor


def score(found: Whiteness) -> float:
    """Return 1 unless the tests reject white noise, else the flatness."""
    return 1.0 if found.p_value >= LEVEL else found.flatness


def masking_errors(setting: PrivacySetting, values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the errors m - s of all users as one series; for relative noise, divided by s.

    Each user's errors are divided by their root mean square.
    """
    errors = mask_rows(setting, values, rng) - values
    if setting.kind == "relative":
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = errors / values
    parts = []
    for row in errors:
        own = row[np.isfinite(row)]
        size = math.sqrt(float(np.mean(own**2))) if len(own) else 0.0
        parts.append(own / size if size else own)
    return np.concatenate(parts)


def colour(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return 1 if the errors of masking are white, otherwise their flatness.

    Errors are measured on the readings, or on drawn readings if only totals are known, because a plug-in may draw noise
    that is not independent. Independent noise gives 1, except with probability `LEVEL`. Rules that repeat their error,
    such as rounding a constant value, give less.
    """
    values = evidence.series
    source = evidence.what
    if evidence.resolution == "totals":
        drawn = evidence.population.quantiles(rng.random((16, 512)))
        values, source = np.repeat(drawn, 4, axis=1), "drawn readings that stay the same for four reports"
    values = values[: max(MOST_VALUES // values.shape[1], 1)]
    errors = masking_errors(setting, values, rng)
    if len(errors) < FEWEST or not errors.any():
        return not_applicable(NAME, METRIC, "Does not apply: there is no noise whose colour could be told.")
    found = whiteness(errors)
    details = {
        "autocorrelation": list(found.autocorrelation[:5]),
        "flatness": found.flatness,
        "p_ljung_box": found.ljung_box,
        "p_cumulated_periodogram": found.cumulated_periodogram,
        "errors": len(errors),
        "values": source,
    }
    white = score(found) == 1.0
    words = (
        f"The masking error is white: past errors do not tell the next (p = {found.p_value:.2g} on {len(errors):,})."
        if white
        else f"The masking error is coloured: {1 - found.flatness:.0%} of it is predictable from those before it."
    )
    return Finding(NAME, METRIC, score(found), 1.0, words, details)


def _unpredictable(products: FloatArray) -> float:
    """Return the share of the variance that an autoregression with these autocovariances does not predict.

    It is the product of 1 - kappa^2 over the partial autocorrelations kappa, from Levinson's and Durbin's recursion.
    """
    r = products / products[0]
    weights = np.zeros(0)
    left = 1.0
    for k in range(1, len(r)):
        if left <= 1e-12:
            return 0.0
        kappa = (r[k] - weights @ r[k - 1 : 0 : -1]) / left
        weights = np.append(weights - kappa * weights[::-1], kappa)
        left *= max(1 - kappa**2, 0.0)
    return float(left)
