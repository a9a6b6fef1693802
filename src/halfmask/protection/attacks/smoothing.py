"""Smoothing: neighbouring readings resemble each other and noise does not, so a filter tells them apart.

The Wiener smoother is the best linear estimate of a user's series s from its masked m = s + e over a whole stretch,

    s^ = c + R (R + v I)^-1 (m - c),

c the median of other users at each time, R the covariance of the deviations from it by distance in time, and v the
noise's variance. Large users vary more than small ones: R is a times one correlation matrix, and a, of which the
other users give the prior, is weighed by how likely it makes the user's reports. Correlation and prior come from half
of the users, whose readings the attacker is taken to know (consented, bought, or his own); the other half are attacked.
A user unlike all others, or one whose habits change, is smoothed less well.
"""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, figure, not_applicable
from halfmask.protection.attacks.masked import error_variance, masked_series, noise_part
from halfmask.protection.evidence import Evidence

NAME = "smoothing"
METRIC = "share of the noise's variance that survives a Wiener smoother, of the middle user"
MOST_TIMES = 672  # two weeks of half-hours: the matrix to be solved has this side
PRESENT = 0.8
FEWEST = 8
SIZES = 16  # sizes of user that the prior tells apart
LARGER = 4.0 ** np.arange(1, 7)  # and users larger than any known, each a hundred times less likely


def smoothing(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Mean squared error of the smoother over that of the masked series itself: the median of held-out users."""
    masked = masked_series(setting, evidence, rng)
    if masked is None:
        return not_applicable(NAME, METRIC, "Not measured: a profile does not say what this rule makes of a total.")
    times = slice(max(evidence.series.shape[1] - MOST_TIMES, 0), None)
    rows = np.flatnonzero(np.isfinite(evidence.series[:, times]).mean(axis=1) >= PRESENT)
    if len(rows) < FEWEST or evidence.series[:, times].shape[1] < FEWEST:
        return not_applicable(
            NAME, METRIC, f"Not measured: it takes {FEWEST} users with {FEWEST} {evidence.what} with few gaps."
        )
    rows = rows[np.argsort(np.nanmean(np.abs(evidence.series[rows]), axis=1), kind="stable")]
    truth, seen = evidence.series[rows][:, times], masked[rows][:, times]
    present = np.isfinite(truth)
    naive = float(np.mean((seen - truth)[present] ** 2))
    if naive == 0 or not np.isfinite(naive):
        return not_applicable(NAME, METRIC, "Does not apply: there is no noise of finite size to smooth away.")
    known, attacked = slice(0, None, 2), slice(1, None, 2)  # alternately by size, so that both halves are alike
    centre = np.zeros(truth.shape[1])
    held = present[known].any(axis=0)
    centre[held] = np.nanmedian(truth[known][:, held], axis=0)
    deviations = [np.nan_to_num(series - centre) for series in (truth[known], seen[known], seen[attacked])]
    if noise_part(setting) is setting:
        variance = error_variance(setting, evidence, masked)[rows][attacked]
        estimate = smooth(deviations[0], deviations[2], variance)
    else:
        estimate = smooth_measured(*deviations)
    return _finding(
        truth[attacked] - centre, seen[attacked] - centre, estimate, evidence.what, evidence.population.unit
    )


def smooth(known: FloatArray, seen: FloatArray, variance: FloatArray) -> FloatArray:
    """Estimates of the deviations behind ``seen`` (U, T) with independent noise of each user's ``variance`` (U,)."""
    power = np.mean(known**2, axis=1)
    moving = known[power > 0]
    if not len(moving):
        return np.zeros_like(seen)
    alike = covariance(*2 * (moving / np.sqrt(power[power > 0])[:, None],))
    values, vectors = np.linalg.eigh(_toeplitz(alike))
    usual = np.quantile(power[power > 0], (np.arange(SIZES) + 0.5) / SIZES)
    sizes = np.append(usual, usual[-1] * LARGER)
    prior = np.append(np.zeros(SIZES), np.full(len(LARGER), -np.log(100)))
    signals = sizes[:, None] * np.maximum(values, 0)
    noise = np.maximum(variance, 1e-12 * sizes[0])[:, None]
    turned = seen @ vectors
    likelihood = np.stack([-np.sum(np.log(s + noise) + turned**2 / (s + noise), axis=1) / 2 for s in signals])
    likelihood += prior[:, None]
    weights = np.exp(likelihood - likelihood.max(axis=0))
    weights /= weights.sum(axis=0)
    gain = sum(weight[:, None] * s / (s + noise) for weight, s in zip(weights, signals, strict=True))
    return np.asarray((turned * gain) @ vectors.T)


def smooth_measured(known: FloatArray, known_masked: FloatArray, seen: FloatArray) -> FloatArray:
    """The same for a rule whose error depends on the value: both covariances are measured on the known users.

    Each user is taken in units of its masked root mean square, so that large users do not decide alone.
    """
    unit = np.sqrt(np.mean(known_masked**2, axis=1, keepdims=True))
    unit[unit == 0] = 1
    signal = _toeplitz(covariance(known / unit, known_masked / unit))
    both = _toeplitz(covariance(known_masked / unit, known_masked / unit))
    both[np.diag_indices_from(both)] += 1e-6
    return np.asarray(seen @ np.linalg.solve(both, signal))


def covariance(left: FloatArray, right: FloatArray) -> FloatArray:
    """Mean over users and times of left_t right_(t+k), made even in k, for k = 0..T-1.

    Dividing by all T times and not by T - k keeps the matrix of these covariances positive.
    """
    length = left.shape[1]
    size = 2 ** int(np.ceil(np.log2(2 * length)))
    power = (np.conj(np.fft.rfft(left, size, axis=1)) * np.fft.rfft(right, size, axis=1)).mean(axis=0)
    return np.asarray(np.fft.irfft(power.real, size)[:length] / length)


def _toeplitz(row: FloatArray) -> FloatArray:
    place = np.arange(len(row))
    return np.asarray(row[np.abs(place[:, None] - place)])


def _finding(truth: FloatArray, seen: FloatArray, estimate: FloatArray, what: str, unit: str) -> Finding:
    """Medians over the attacked users, since a few large ones would decide a mean; that is among the details.

    Where smoothing does harm an attacker leaves it, so no more than all of the noise survives.
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
