"""Floating point: the low bits of value + noise betray the value.

A device that computes noise in double precision, psi = F^-1(U) with U one of 2^53 multiples of 2^-53, can reach only
some of the doubles, and not the same ones from a neighbouring value: a report m rules s' out where no k has
s' + psi(k) = m. The samplers attacked here are those textbook inversions, written out below; a generator that works
otherwise (ziggurat, Box and Muller) has other gaps, but gaps. Noise and values that are integers on one lattice have
none: whatever is possible from s is possible from s', but for the bound of bounded noise, which counts to delta(inf).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.masked import noise_part, noise_std
from halfmask.protection.evidence import Evidence, Population

NAME = "floating point"
METRIC = "share of reports that rule out a neighbouring value, from noise in double precision"
OUTPUTS = 4096
BITS = 53
WINDOW = np.arange(-32, 33)  # k beside the crossing: rounding makes psi(k) waver by a few units in the last place

BoolArray = NDArray[np.bool_]
Quantile = Callable[[FloatArray, FloatArray], FloatArray]
"""Noise of the given parameters from U = k 2^-53, rising in U as far as rounding lets it."""


def floating_point(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Share of `OUTPUTS` reports of everyday values that could not have come from the next value of the meter."""
    noise = noise_part(setting)
    if noise is None or noise_std(noise) == 0:
        return not_applicable(NAME, METRIC, "Does not apply: the setting draws no noise.")
    if noise.mechanism not in QUANTILES:
        return not_applicable(
            NAME, METRIC, f"Not measured: no sampler of {noise.mechanism} in double precision is known."
        )
    unit = noise.parameters[1] if noise.mechanism == "geometric" else meter_unit(evidence.population)
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
        f"was not {unit:.2g} larger; with noise on a lattice, as our device has it, none do."
    )
    return Finding(NAME, METRIC, share, 0.0, words, details)


def meter_unit(population: Population) -> float:
    """A decimal unit that writes a typical reading with three digits: 0.001 for readings of 0.2."""
    return float(10.0 ** (np.floor(np.log10(population.typical)) - 2))


def float_report(setting: PrivacySetting) -> Callable[[FloatArray, IntArray], FloatArray]:
    """m of a value and k: s + psi(k), or s (1 + psi(k)), every operation rounded to a double."""
    quantile, parameters = QUANTILES[setting.mechanism], np.array(setting.parameters)

    def report(value: FloatArray, k: IntArray) -> FloatArray:
        psi = quantile(parameters, k.astype(np.float64) * 2.0**-BITS)
        return np.asarray(value * (1 + psi) if setting.kind == "relative" else value + psi)

    return report


def explained(
    report: Callable[[FloatArray, IntArray], FloatArray], value: FloatArray, seen: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Whether each report lies within what ``value`` can give, and whether some k gives it to the last bit.

    ``report`` rises with k, so halving finds where it crosses the report; the k around it are tried one by one.
    """
    low, high = np.ones(len(seen), np.int64), np.full(len(seen), 2**BITS - 1)
    within = (report(value, low) <= seen) & (seen <= report(value, high))
    while (high > low).any():
        middle = (low + high) // 2
        reached = report(value, middle) >= seen
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    near = np.clip(low[:, None] + WINDOW, 1, 2**BITS - 1)
    return within, (report(value[:, None], near) == seen[:, None]).any(axis=1)


def _laplace(parameters: FloatArray, u: FloatArray) -> FloatArray:
    centred = u - 0.5
    return np.asarray(-parameters[0] * np.sign(centred) * np.log(1 - 2 * np.abs(centred)))


def _gaussian(parameters: FloatArray, u: FloatArray) -> FloatArray:
    from scipy.special import ndtri  # here, because SciPy takes long to import

    return np.asarray(parameters[0] * ndtri(u))


def _uniform(parameters: FloatArray, u: FloatArray) -> FloatArray:
    return np.asarray(parameters[0] * (2 * u - 1))


def _sine(parameters: FloatArray, u: FloatArray) -> FloatArray:
    """P(sin(pi (U - 1/2))): the law of P(sin(2 pi U)), rising in U."""
    x = np.sin(np.pi * (u - 0.5))
    psi = np.zeros(np.shape(u))
    for k in range(len(parameters) - 1, -1, -1):
        psi = psi * (x * x) + parameters[k] ** (2 * k + 1)
    return psi * x


def _tabulated(parameters: FloatArray, u: FloatArray) -> FloatArray:
    centred = 2 * u - 1
    at, share = np.append(0.0, parameters[::2]), np.append(0.0, parameters[1::2])
    return np.asarray(np.sign(centred) * np.interp(np.abs(centred), share, at))


def _geometric(parameters: FloatArray, u: FloatArray) -> FloatArray:
    """step K with the least |K| = m for which P(|K| <= m) = 1 - 2 a^(m+1)/(1+a) reaches |2U - 1|."""
    b, step = parameters
    centred = 2 * u - 1
    beyond = (1 - np.abs(centred)) * (1 + np.exp(-step / b)) / 2
    steps = np.maximum(np.ceil(-np.log(beyond) * b / step) - 1, 0)
    return np.asarray(np.sign(centred) * step * steps)


QUANTILES: dict[str, Quantile] = {
    "laplace": _laplace,
    "relative-laplace": _laplace,
    "gaussian": _gaussian,
    "relative-gaussian": _gaussian,
    "uniform": _uniform,
    "sine": _sine,
    "tabulated": _tabulated,
    "geometric": _geometric,
}
