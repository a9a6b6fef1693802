"""An attacker's view of a setting: masked series, and the size of their error."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.evidence import Evidence

FEW_READINGS = 64
"""Sums of fewer noises than this are drawn one by one; more are normal by the central limit theorem."""


def noise_part(setting: PrivacySetting) -> PrivacySetting | None:
    """Return the setting whose noise hides the value (the inner one of a clip); None for a rule without noise."""
    return None if setting.noise.kind == "direct" else setting.noise


def noise_cdf(setting: PrivacySetting, x: FloatArray) -> FloatArray:
    """P(psi <= x) of symmetric noise: (1 + P(|psi| <= x))/2 for x >= 0, and its mirror image below."""
    flat = np.ravel(x)
    size = setting.cdf(np.abs(flat))
    return np.asarray(np.where(flat >= 0, 1 + size, 1 - size) / 2).reshape(np.shape(x))


def mask_rows(setting: PrivacySetting, values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return masked readings, one user per row."""
    if setting.per_user:
        return np.stack([setting.mask(row, rng) for row in values])
    return setting.mask(values, rng)


def masked_series(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> FloatArray | None:
    """Return the series as the consumer gets them; None if only totals are known and the setting is a rule."""
    if evidence.resolution == "readings":
        return mask_rows(setting, evidence.series, rng)
    if setting.inner is not None or setting.kind == "direct":
        return None
    if setting.kind == "relative":
        return np.asarray(
            evidence.series + setting.deviation * np.sqrt(evidence.squares) * rng.standard_normal(evidence.series.shape)
        )
    return evidence.series + _sums(setting, evidence.counts, rng)


def error_variance(setting: PrivacySetting, evidence: Evidence, masked: FloatArray) -> FloatArray:
    """Return each user's mean variance of the masking error of a number: sigma^2 n, or sigma^2 sum s^2 if relative.

    For a rule without a law it is the measured variance, the same for all users. The attacker is assumed to know it;
    for relative noise it follows from the reports, since E m^2 = (1 + sigma^2) s^2.
    """
    present = np.isfinite(evidence.series)
    if setting.inner is not None or setting.kind == "direct":
        return np.full(len(present), np.mean((masked - evidence.series)[present] ** 2))
    each = evidence.counts if setting.kind == "additive" else evidence.squares
    return np.asarray(setting.deviation**2 * (each * present).sum(axis=1) / np.maximum(present.sum(axis=1), 1))


def _sums(setting: PrivacySetting, counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return one draw of the sum of n noises for each n."""
    n = counts.ravel().astype(np.int64)
    exact = setting.law.sample_sum(np.array(setting.parameters), n, rng)
    if exact is not None:
        return exact.reshape(counts.shape)
    sums = setting.deviation * np.sqrt(n) * rng.standard_normal(len(n))
    few = np.flatnonzero(n < FEW_READINGS)
    single = setting.sample(int(n[few].sum()), rng)
    sums[few] = np.bincount(np.repeat(np.arange(len(few)), n[few]), single, minlength=len(few))
    return sums.reshape(counts.shape)
