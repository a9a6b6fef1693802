"""What an attacker sees of a setting: masked series, the size of their error, and the part of it that is noise."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.evidence import Evidence

FEW_READINGS = 64
"""Sums of fewer noises than this are drawn one by one; more are normal by the central limit theorem."""


def noise_part(setting: PrivacySetting) -> PrivacySetting | None:
    """The setting whose noise law hides the value (of a clip: the inner one); None where it is a rule without noise."""
    if setting.inner is not None:
        return noise_part(setting.inner)
    return None if setting.kind == "direct" else setting


def noise_std(setting: PrivacySetting) -> float:
    """sigma = sqrt(E psi^2) of a setting with a noise law."""
    return float(np.sqrt(setting.law.moments(np.array(setting.parameters)[None])[0, 1]))


def noise_support(setting: PrivacySetting) -> float:
    """sup |psi| of a setting with a noise law."""
    return float(setting.law.support(np.array(setting.parameters)[None])[0])


def noise_cdf(setting: PrivacySetting, x: FloatArray) -> FloatArray:
    """P(psi <= x) of symmetric noise: (1 + P(|psi| <= x))/2 above zero, and its mirror image below."""
    flat = np.ravel(x)
    size = setting.law.cdf(np.array(setting.parameters)[None], np.abs(flat))[0]
    return np.asarray(np.where(flat >= 0, 1 + size, 1 - size) / 2).reshape(np.shape(x))


def mask_rows(setting: PrivacySetting, values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Masked readings, one user a row."""
    if setting.per_user:
        return np.stack([setting.mask(row, rng) for row in values])
    return setting.mask(values, rng)


def masked_series(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> FloatArray | None:
    """The evidence's series as the consumer gets them; None where totals alone do not say what a rule makes of them."""
    if evidence.resolution == "readings":
        return mask_rows(setting, evidence.series, rng)
    if setting.inner is not None or setting.kind == "direct":
        return None
    if setting.kind == "relative":
        return np.asarray(
            evidence.series
            + noise_std(setting) * np.sqrt(evidence.squares) * rng.standard_normal(evidence.series.shape)
        )
    return evidence.series + _sums(setting, evidence.counts, rng)


def error_variance(setting: PrivacySetting, evidence: Evidence, masked: FloatArray) -> FloatArray:
    """Each user's mean variance of the masking error of a number: sigma^2 n, of relative noise sigma^2 sum s^2.

    Of a rule without a law it is what was measured, the same for all. (users,); the attacker is taken to know it: of
    relative noise it follows from his reports, since E m^2 = (1 + sigma^2) s^2.
    """
    present = np.isfinite(evidence.series)
    if setting.inner is not None or setting.kind == "direct":
        return np.full(len(present), np.mean((masked - evidence.series)[present] ** 2))
    each = evidence.counts if setting.kind == "additive" else evidence.squares
    return np.asarray(noise_std(setting) ** 2 * (each * present).sum(axis=1) / np.maximum(present.sum(axis=1), 1))


def _sums(setting: PrivacySetting, counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A draw of the sum of n noises for each n."""
    n = counts.ravel().astype(np.int64)
    parameters = np.array(setting.parameters)
    exact = setting.law.sample_sum(parameters, n, rng)
    if exact is not None:
        return exact.reshape(counts.shape)
    sums = noise_std(setting) * np.sqrt(n) * rng.standard_normal(len(n))
    few = np.flatnonzero(n < FEW_READINGS)
    single = setting.law.sample(parameters, int(n[few].sum()), rng)
    sums[few] = np.bincount(np.repeat(np.arange(len(few)), n[few]), single, minlength=len(few))
    return sums.reshape(counts.shape)
