"""Support intersection: bounded noise leaves an interval that must contain the value, and every report narrows it.

From n reports of one value, s is certain to lie between max(m) - B and min(m) + B, with B = sup |psi|. The expected
width is 2 integral F(x)^n dx over [-B, B], with F the noise's distribution function. If the density at the edge is like
(B - x)^(a-1), the width shrinks like n^(-1/a): n^-2 for sine (a = 1/2), n^-1 for uniform noise (a = 1).
"""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.averaging import REPORTS, WEEK
from halfmask.protection.attacks.finding import Finding, figure, not_applicable
from halfmask.protection.attacks.masked_series import noise_cdf, noise_part
from halfmask.protection.evidence import Evidence

NAME = "support intersection"
METRIC = "width of the interval that must hold a value reported 336 times, in the unit of readings"
REPEATS = 48
NODES = 4000


def intersection(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return the width of the feasible interval after n reports, by law and by simulation."""
    noise = noise_part(setting)
    if noise is None or noise.kind != "additive":
        return not_applicable(NAME, METRIC, "Does not apply: the setting adds no noise of one law to every value.")
    bound = noise.support
    if bound == 0:
        return not_applicable(NAME, METRIC, "Does not apply: without noise every report is the value itself.")
    if not np.isfinite(bound):
        return not_applicable(
            NAME, METRIC, "Does not apply: the noise has no known bound, so no report rules a value out for certain."
        )
    widths = feasible_widths(noise)
    draws = noise.sample(REPEATS * REPORTS[-1], rng).reshape(REPEATS, -1)
    simulated = np.array([np.mean(2 * bound - np.ptp(draws[:, :n], axis=1)) for n in REPORTS])
    size = evidence.population.typical
    details = {
        "reports": list(REPORTS),
        "width_law": widths.tolist(),
        "width_simulated": simulated.tolist(),
        "exponent_law": exponent(widths),
        "exponent_simulated": exponent(simulated),
        "typical_reading": size,
    }
    unit = evidence.population.unit
    words = (
        f"One report leaves a range {figure(widths[0], unit)} wide in which the value must lie "
        f"({figure(widths[0] / size)} times a typical reading); 336 reports of a steady value leave "
        f"{figure(widths[WEEK], unit)}, a year's {figure(widths[-1], unit)}: the width shrinks like "
        f"n^{exponent(widths):.2g}."
    )
    return Finding(NAME, METRIC, float(widths[WEEK]), float(widths[0]), words, details)


def feasible_widths(setting: PrivacySetting) -> FloatArray:
    """Return 2 integral of F(B - t)^n dt over t in [0, 2B] for each n, on points that are densest at the edge."""
    bound = setting.support
    t = np.concatenate([[0.0], np.geomspace(1e-13, 2, NODES)]) * bound
    below = noise_cdf(setting, bound - t)
    return np.array([2 * np.trapezoid(below**n, t) for n in REPORTS])


def exponent(widths: FloatArray) -> float:
    """Return the power of n with which the width shrinks from a week of reports to a year."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.log(widths[-1] / widths[WEEK]) / np.log(REPORTS[-1] / REPORTS[WEEK]))
