"""Averaging: a value that does not change is reported again and again, each time with independent noise.

The mean of n reports has an error of sigma/sqrt(n). If the noise is peaked the median is better: under Laplace noise
its error is b/sqrt(n) = sigma/sqrt(2n), so it needs half as many reports. If the noise is bounded the midrange,
(largest + smallest)/2, is better still: its error falls as fast as the feasible interval narrows (see `intersection`).
The attacker knows the law, so the best of the three counts.
"""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, figure
from halfmask.protection.attacks.masked_series import mask_rows, noise_part
from halfmask.protection.evidence import Evidence

REPORTS = (1, 10, 48, 336, 17520)
"""One report, ten, and half-hourly ones of a day, a week and a year."""

WEEK = REPORTS.index(336)
TARGET = 0.1
REPEATS = 128
METRIC = "error of a value reported 336 times (a week of half-hours), as a share of a typical reading"


def averaging(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return the error of the best of three estimates from n reports of one value, divided by a typical reading.

    The error is a root mean square over `REPEATS` values from the middle half of all readings. Each is reported 17,520
    times with the setting. If the noise has a law, the error of the mean is computed as sigma/sqrt(n). The attack fails
    if the value changes, or if a device repeats the same report for the same value.
    """
    size = evidence.population.typical
    truth = evidence.population.quantiles(np.linspace(0.25, 0.75, REPEATS))
    truth = np.where(truth == 0, size, truth)
    reports = mask_rows(setting, np.repeat(truth[:, None], REPORTS[-1], axis=1), rng) - truth[:, None]
    mean, median, midrange = (error / size for error in simulated_errors(reports))
    law = law_errors(setting, truth, size)
    noise = noise_part(setting)
    bounded = noise is not None and 0 < noise.support < np.inf
    ways = {"the average": mean if law is None else law, "the median": median}
    if bounded:
        ways["the middle between the largest and the smallest"] = midrange
    how = min(ways, key=lambda name: ways[name][WEEK])
    best = np.minimum(ways["the average"], ways[how])
    best[0] = ways["the average"][0]  # of one report all three are the report itself
    needed = reports_needed(best)
    details = {
        "reports": list(REPORTS),
        "mean_simulated": mean.tolist(),
        "mean_law": None if law is None else law.tolist(),
        "median_simulated": median.tolist(),
        "midrange_simulated": midrange.tolist() if bounded else None,
        "reports_until_10_percent": needed,
        "typical_reading": size,
    }
    return Finding("averaging", METRIC, float(best[WEEK]), float(best[0]), _words(best, needed, how), details)


def simulated_errors(reports: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return root mean square errors of mean, median and midrange, for each number in `REPORTS`.

    ``reports`` (R, 17520) are the errors of single reports.
    """
    mean, median, midrange = (np.empty(len(REPORTS)) for _ in range(3))
    for place, n in enumerate(REPORTS):
        some = reports[:, :n]
        mean[place] = np.sqrt(np.mean(some.mean(axis=1) ** 2))
        median[place] = np.sqrt(np.mean(np.median(some, axis=1) ** 2))
        midrange[place] = np.sqrt(np.mean((some.max(axis=1) + some.min(axis=1)) ** 2)) / 2
    return mean, median, midrange


def law_errors(setting: PrivacySetting, truth: FloatArray, size: float) -> FloatArray | None:
    """Return sigma/sqrt(n) divided by the typical reading; None without a noise law.

    The sigma of relative noise is multiplied by the value.
    """
    if setting.inner is not None or setting.kind == "direct":
        return None
    sigma = setting.deviation / size
    if setting.kind == "relative":
        sigma *= float(np.sqrt(np.mean(truth**2)))
    return np.asarray(sigma / np.sqrt(REPORTS))


def reports_needed(errors: FloatArray) -> int | None:
    """Return the least n with an error below 10 % of a typical reading; None if a year of half-hours is not enough.

    Between the computed n, the error is assumed to be a power of n: exact for the mean, and a good approximation for
    the midrange.
    """
    below = np.flatnonzero(errors < TARGET)
    if not len(below):
        return None
    place = int(below[0])
    if place == 0:
        return 1
    n, error = np.log(REPORTS[place - 1 : place + 1]), np.log(np.maximum(errors[place - 1 : place + 1], 1e-300))
    return int(np.ceil(np.exp(np.interp(-np.log(TARGET), -error, n))))


def _words(best: FloatArray, needed: int | None, how: str) -> str:
    start = f"One report of a steady value is off by {figure(best[0])} times a typical reading"
    if best[0] == 0:
        return "One report gives the value exactly: there is nothing to average away."
    if best[WEEK] >= best[0] * 0.99:
        return f"{start}, and repeating it does not help an attacker, since the error is the same each time."
    after = (
        "" if needed is None else f"; {needed:,} report{'s are' if needed > 1 else ' is'} enough to come within 10 %"
    )
    return f"{start}, {how} of a week's 336 reports by {best[WEEK]:.2g} times{after}."
