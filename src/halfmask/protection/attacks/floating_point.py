"""Floating point: the low bits of value + noise reveal the value.

A device may compute noise in double precision, psi = F^-1(U) with U one of 2^53 multiples of 2^-53. It can then produce
only some of the doubles, and from a neighbouring value other ones. A report m rules out s' if no k gives s' + psi(k) =
m. The samplers attacked here use this inversion, by each mechanism's `quantile`. Generators with other methods
(ziggurat, Box and Muller) have other gaps. If noise and values are integers on one lattice, there are no gaps: every
report possible from s is possible from s'. The only exception is the bound of bounded noise, which counts in
delta(inf).
"""

from collections.abc import Callable

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import SettingError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, figure, not_applicable
from halfmask.protection.attacks.masked_series import noise_part
from halfmask.protection.evidence import Evidence, Population

NAME = "floating point"
METRIC = "share of reports that rule out a neighbouring value, from noise in double precision"
OUTPUTS = 4096
BITS = 53
WINDOW = np.arange(-32, 33)
"""The k tried around the crossing: rounding changes psi(k) by a few units in the last place."""


def floating_point(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return the share of `OUTPUTS` reports of typical values that the next value of the meter cannot give."""
    noise = noise_part(setting)
    if noise is None or noise.deviation == 0:
        return not_applicable(NAME, METRIC, "Does not apply: the setting draws no noise.")
    parameters = np.array(noise.parameters)
    if noise.law.quantile(parameters, np.array([0.5])) is None:
        return not_applicable(
            NAME, METRIC, f"Not measured: no sampler of {noise.mechanism} in double precision is known."
        )
    unit = noise.law.lattice(noise.parameters) or meter_unit(evidence.population)
    steps = np.maximum(np.rint(np.abs(evidence.population.quantiles(rng.random(OUTPUTS))) / unit), 1)
    value, neighbour = steps * unit, (steps + 1) * unit
    report = float_report(noise)
    seen = report(value, rng.integers(1, 2**BITS, OUTPUTS))
    within, possible = explained(report, neighbour, seen)
    if not within.any():
        why = "Does not apply: the noise is smaller than a step of the meter, so its bound alone tells values apart."
        return not_applicable(NAME, METRIC, why)
    share = float(np.mean(~possible[within]))
    details = {
        "sampler": f"{noise.mechanism} by inversion of a {BITS}-bit uniform number in double precision",
        "neighbour": unit,
        "outputs": int(within.sum()),
        "beyond_the_bound": float(np.mean(~within)),
        "lattice": 0.0,
    }
    words = (
        f"Where noise is computed in double precision, {share:.0%} of reports show by their last digits that the value "
        f"was not {figure(unit, evidence.population.unit)} larger; with noise on a lattice, as our device has it, none "
        "do."
    )
    return Finding(NAME, METRIC, share, 0.0, words, details)


def meter_unit(population: Population) -> float:
    """Return the decimal unit that writes a typical reading with three digits: 0.001 for readings of 0.2."""
    return float(10.0 ** (np.floor(np.log10(population.typical)) - 2))


def float_report(setting: PrivacySetting) -> Callable[[FloatArray, IntArray], FloatArray]:
    """Return a function of value and k that computes s + psi(k), or s (1 + psi(k)), with every operation
    rounded to a double.
    """
    parameters = np.array(setting.parameters)

    def report(value: FloatArray, k: IntArray) -> FloatArray:
        psi = setting.law.quantile(parameters, k.astype(np.float64) * 2.0**-BITS)
        if psi is None:
            raise SettingError(f"{setting.mechanism} has no quantile function")
        return np.asarray(value * (1 + psi) if setting.kind == "relative" else value + psi)

    return report


def explained(
    report: Callable[[FloatArray, IntArray], FloatArray], value: FloatArray, seen: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Return whether each report is within the range that ``value`` can give, and whether some k gives it exactly.

    Reports increase with k, so bisection finds the k at which they cross the one seen; the k around it are then tried.
    """
    low, high = np.ones(len(seen), np.int64), np.full(len(seen), 2**BITS - 1)
    within = (report(value, low) <= seen) & (seen <= report(value, high))
    while (high > low).any():
        middle = (low + high) // 2
        reached = report(value, middle) >= seen
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    near = np.clip(low[:, None] + WINDOW, 1, 2**BITS - 1)
    return within, (report(value[:, None], near) == seen[:, None]).any(axis=1)
