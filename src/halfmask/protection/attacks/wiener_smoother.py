"""Smoothing: neighbouring readings are correlated and noise is not, so a filter separates them.

The Wiener smoother is the best linear estimate of a user's series s from the masked series m = s + e,

    s^ = c + R (R + v I)^-1 (m - c),

with c the median of other users at each time, R the covariance of the deviations from it by distance in time, and v the
variance of the noise. Large users vary more than small ones: R is a number a times one correlation matrix, and a has a
prior.

Correlation and prior are taken from half of the users, whose readings the attacker is assumed to know (with consent,
bought, or his own). The other half are attacked. The smoother is worse for a user who differs from all others, or whose
habits change.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, figure, not_applicable
from halfmask.protection.attacks.masked_series import error_variance, masked_series, noise_part
from halfmask.protection.evidence import Evidence

NAME = "smoothing"
METRIC = "share of the noise's variance that survives a Wiener smoother, of the middle user"
MOST_TIMES = 672
"""Times that are smoothed together, two weeks of half-hours: the size of the matrix to be solved."""
PRESENT = 0.8
FEWEST = 8
KNOWN, ATTACKED = slice(0, None, 2), slice(1, None, 2)
SIZES = 16
"""Sizes of user that the prior distinguishes."""
LARGER = 4.0 ** np.arange(1, 7)
"""Further sizes, larger than any known user; each has a hundredth of the prior."""


@dataclass(frozen=True, eq=False)
class Halves:
    """Users with few gaps, ordered by size, over the last stretch of time. Every other user is known, the rest are
    attacked.

    ``rows``, ``times``  rows and columns of the evidence
    ``truth``            (users, times) their readings
    ``centre``           (times,) median of the known users
    """

    rows: IntArray
    times: slice
    truth: FloatArray
    centre: FloatArray

    @cached_property
    def habits(self) -> "Habits | None":
        """The habits of the known users."""
        return habits_of(np.nan_to_num(self.truth[KNOWN] - self.centre))


@dataclass(frozen=True, eq=False)
class Habits:
    """Common habits of users: eigenvalues and eigenvectors of one correlation matrix, and sizes of users.

    ``chance``  (sizes,) log prior of each size, up to a constant
    """

    values: FloatArray
    vectors: FloatArray
    sizes: FloatArray
    chance: FloatArray


def smoothing(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return the mean squared error of the smoother divided by that of the masked series: the median of
    the attacked users.
    """
    masked = masked_series(setting, evidence, rng)
    if masked is None:
        return not_applicable(NAME, METRIC, "Not measured: a profile does not say what this rule makes of a total.")
    halves = evidence.once(halves_of)
    if halves is None:
        return not_applicable(
            NAME, METRIC, f"Not measured: it takes {FEWEST} users with {FEWEST} {evidence.what} with few gaps."
        )
    truth, seen, centre = halves.truth, masked[halves.rows][:, halves.times], halves.centre
    present = np.isfinite(truth)
    naive = float(np.mean((seen - truth)[present] ** 2))
    if naive == 0 or not np.isfinite(naive):
        return not_applicable(NAME, METRIC, "Does not apply: there is no noise of finite size to smooth away.")
    reports = np.nan_to_num(seen[ATTACKED] - centre)
    if noise_part(setting) is setting:
        variance = error_variance(setting, evidence, masked)[halves.rows][ATTACKED]
        estimate = smooth(halves.habits, reports, variance)
    else:
        known, known_masked = (np.nan_to_num(series - centre) for series in (truth[KNOWN], seen[KNOWN]))
        estimate = smooth_measured(known, known_masked, reports)
    return _finding(
        truth[ATTACKED] - centre, seen[ATTACKED] - centre, estimate, evidence.what, evidence.population.unit
    )


def halves_of(evidence: Evidence) -> Halves | None:
    """Return known and attacked users, alternating by size so that both halves are alike; None if there are too few."""
    times = slice(max(evidence.series.shape[1] - MOST_TIMES, 0), None)
    rows = np.flatnonzero(np.isfinite(evidence.series[:, times]).mean(axis=1) >= PRESENT)
    if len(rows) < FEWEST or evidence.series[:, times].shape[1] < FEWEST:
        return None
    rows = rows[np.argsort(np.nanmean(np.abs(evidence.series[rows]), axis=1), kind="stable")]
    truth = evidence.series[rows][:, times]
    centre = np.zeros(truth.shape[1])
    held = np.isfinite(truth[KNOWN]).any(axis=0)
    centre[held] = np.nanmedian(truth[KNOWN][:, held], axis=0)
    return Halves(rows, times, truth, centre)


def habits_of(known: FloatArray) -> Habits | None:
    """Return correlation and sizes of users whose deviations (U, T) are known; None if no reading ever changes."""
    power = np.mean(known**2, axis=1)
    moving = known[power > 0]
    if not len(moving):
        return None
    alike = covariance(*2 * (moving / np.sqrt(power[power > 0])[:, None],))
    values, vectors = np.linalg.eigh(_toeplitz(alike))
    usual = np.quantile(power[power > 0], (np.arange(SIZES) + 0.5) / SIZES)
    chance = np.append(np.zeros(SIZES), np.full(len(LARGER), -np.log(100)))
    return Habits(np.maximum(values, 0), vectors, np.append(usual, usual[-1] * LARGER), chance)


def smooth(habits: Habits | None, seen: FloatArray, variance: FloatArray) -> FloatArray:
    """Return estimates of the deviations behind ``seen`` (U, T); ``variance`` (U,) is that of the independent noise."""
    if habits is None:
        return np.zeros_like(seen)
    noise = np.maximum(variance, 1e-12 * habits.sizes[0])[:, None]
    turned = seen @ habits.vectors
    signals = habits.sizes[:, None] * habits.values
    likelihood = np.stack([-np.sum(np.log(s + noise) + turned**2 / (s + noise), axis=1) / 2 for s in signals])
    likelihood += habits.chance[:, None]
    weights = np.exp(likelihood - likelihood.max(axis=0))
    weights /= weights.sum(axis=0)
    gain = sum(weight[:, None] * s / (s + noise) for weight, s in zip(weights, signals, strict=True))
    return np.asarray((turned * gain) @ habits.vectors.T)


def smooth_measured(known: FloatArray, known_masked: FloatArray, seen: FloatArray) -> FloatArray:
    """Return estimates as `smooth` does, for a rule whose error depends on the value.

    Both covariances are measured on the known users. Each user is divided by the root mean square of the masked series,
    so that large users do not dominate.
    """
    unit = np.sqrt(np.mean(known_masked**2, axis=1, keepdims=True))
    unit[unit == 0] = 1
    signal = _toeplitz(covariance(known / unit, known_masked / unit))
    both = _toeplitz(covariance(known_masked / unit, known_masked / unit))
    both[np.diag_indices_from(both)] += 1e-6
    return np.asarray(seen @ np.linalg.solve(both, signal))


def covariance(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the mean over users and times of left_t right_(t+k) for k = 0..T-1, averaged over k and -k.

    The divisor is T and not T - k, so that the matrix of these covariances stays positive.
    """
    length = left.shape[1]
    size = 2 ** int(np.ceil(np.log2(2 * length)))
    power = (np.conj(np.fft.rfft(left, size, axis=1)) * np.fft.rfft(right, size, axis=1)).mean(axis=0)
    return np.asarray(np.fft.irfft(power.real, size)[:length] / length)


def _toeplitz(row: FloatArray) -> FloatArray:
    place = np.arange(len(row))
    return np.asarray(row[np.abs(place[:, None] - place)])


def _finding(truth: FloatArray, seen: FloatArray, estimate: FloatArray, what: str, unit: str) -> Finding:
    """Return the finding, with medians over the attacked users, because a few large users would dominate a mean.

    If smoothing makes the error larger, an attacker does not smooth, so at most all of the noise survives.
    """
    left, naive, prior = (np.nanmean(error**2, axis=1) for error in (estimate - truth, seen - truth, truth))
    hidden = naive > 0  # a rule may leave a user's series as it is
    share = float(np.median(left[hidden] / naive[hidden]))
    middle = [float(np.sqrt(np.median(each[hidden]))) for each in (left, naive, prior)]
    details = {
        "series": what,
        "users_attacked": int(hidden.sum()),
        "rmse_smoothed": middle[0],
        "rmse_masked": middle[1],
        "rmse_prior": middle[2],
        "share_of_prior_variance": (middle[0] / middle[2]) ** 2 if middle[2] else None,
        "share_surviving_of_all": float(left.sum() / naive.sum()),
    }
    words = (
        f"Smoothing a user's masked {what} leaves {share * 100:.3g} % of the noise's variance: an error of "
        f"{figure(middle[1], unit)} becomes {figure(middle[0], unit)}, where guessing what others have is off by "
        f"{figure(middle[2], unit)}."
        if share < 1
        else f"Smoothing masked {what} does not help: the reports as they are are closer to the truth."
    )
    return Finding(NAME, METRIC, min(share, 1.0), 1.0, words, details)
