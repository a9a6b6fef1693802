"""Smoothing: neighbouring readings resemble each other and noise does not, so a filter tells them apart.

The best linear estimate of a user's series s from its masked m = s + e is the Wiener smoother over the whole stretch,

    s^ = c + R_sm R_mm^-1 (m - c),   R_mm = R + v I and R_sm = R for independent noise of variance v,

c the mean of other users at each time, R the covariance of the deviations from it by distance in time. c and R come
from half of the users, whose readings the attacker is taken to know (consented, bought, or his own); the other half
are attacked. A user unlike all others, or one whose habits change, is smoothed less well.
"""

import numpy as np

from halfmask.audit.attacks.finding import Finding, not_applicable
from halfmask.audit.attacks.masked import error_variance, masked_series, noise_part
from halfmask.audit.evidence import Evidence
from halfmask.profiles.bins import FloatArray
from halfmask.settings.setting import PrivacySetting

NAME = "smoothing"
METRIC = "share of the noise's variance that survives a Wiener smoother"
MOST_TIMES = 1344  # four weeks of half-hours: the matrix to be solved has this side
PRESENT = 0.8
FEWEST = 8


def smoothing(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Mean squared error of the smoother on held-out users, over that of the masked series itself."""
    masked = masked_series(setting, evidence, rng)
    if masked is None:
        return not_applicable(NAME, METRIC, "Not measured: a profile does not say what this rule makes of a total.")
    rows = evidence.complete(PRESENT)
    if len(rows) < FEWEST or evidence.series.shape[1] < FEWEST:
        return not_applicable(
            NAME, METRIC, f"Not measured: it takes {FEWEST} users with {FEWEST} {evidence.what} with few gaps."
        )
    rows = rng.permutation(rows)
    times = slice(max(evidence.series.shape[1] - MOST_TIMES, 0), None)
    truth, seen = evidence.series[rows][:, times], masked[rows][:, times]
    variance = error_variance(setting, evidence, masked)[rows][:, times]
    naive = float(np.mean((seen - truth)[np.isfinite(truth)] ** 2))
    if naive == 0 or not np.isfinite(naive):
        return not_applicable(NAME, METRIC, "Does not apply: there is no noise of finite size to smooth away.")
    independent = noise_part(setting) is setting
    half = len(rows) // 2
    centre = np.nan_to_num(np.nanmean(truth[:half], axis=0))
    estimate = smooth(
        _deviations(truth[:half], centre),
        _deviations(seen[:half], centre),
        _deviations(seen[half:], centre),
        float(variance[np.isfinite(truth)].mean()) if independent else None,
    )
    return _finding(truth[half:] - centre, seen[half:] - centre, estimate, evidence)


def smooth(known: FloatArray, known_masked: FloatArray, seen: FloatArray, variance: float | None) -> FloatArray:
    """Estimates of the deviations behind ``seen`` (U, T), from users known with and without mask.

    With the noise's ``variance`` its law serves; without (a rule, whose error depends on the value) both covariances
    are measured on the known users.
    """
    own = covariance(known, known)
    if variance is not None:
        signal = _toeplitz(own)
        both = signal + variance * np.eye(len(signal))
    else:
        signal = _toeplitz(covariance(known, known_masked))
        both = _toeplitz(covariance(known_masked, known_masked))
    both[np.diag_indices_from(both)] += 1e-9 * (own[0] + np.finfo(float).tiny)
    return np.asarray(seen @ np.linalg.solve(both, signal))


def covariance(left: FloatArray, right: FloatArray) -> FloatArray:
    """Sum over users and times of left_t right_(t+k), made even in k, over users x times: for k = 0..T-1.

    Dividing by all times and not by T - k keeps the matrix of these covariances positive.
    """
    length = left.shape[1]
    size = 2 ** int(np.ceil(np.log2(2 * length)))
    power = (np.conj(np.fft.rfft(left, size, axis=1)) * np.fft.rfft(right, size, axis=1)).mean(axis=0)
    return np.asarray(np.fft.irfft(power.real, size)[:length] / length)


def _toeplitz(row: FloatArray) -> FloatArray:
    place = np.arange(len(row))
    return np.asarray(row[np.abs(place[:, None] - place)])


def _deviations(series: FloatArray, centre: FloatArray) -> FloatArray:
    """Deviations from the others' mean; a missing number says no more than that mean."""
    return np.nan_to_num(series - centre)


def _finding(truth: FloatArray, seen: FloatArray, estimate: FloatArray, evidence: Evidence) -> Finding:
    present = np.isfinite(truth)
    left, naive, prior = (float(np.mean(error[present] ** 2)) for error in (estimate - truth, seen - truth, truth))
    details = {
        "series": evidence.what,
        "users_known": len(evidence.complete(PRESENT)) // 2,
        "users_attacked": len(truth),
        "rmse_smoothed": float(np.sqrt(left)),
        "rmse_masked": float(np.sqrt(naive)),
        "rmse_prior": float(np.sqrt(prior)),
        "share_of_prior_variance": left / prior if prior else None,
    }
    words = (
        f"Smoothing a household's masked {evidence.what} leaves {left / naive:.0%} of the noise's variance; "
        f"the error falls from {np.sqrt(naive):.3g} to {np.sqrt(left):.3g}, where guessing the neighbours' average "
        f"is off by {np.sqrt(prior):.3g}."
    )
    return Finding(NAME, METRIC, left / naive, 1.0, words, details)
