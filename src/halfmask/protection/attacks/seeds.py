"""Seeds: noise from a generator whose seed can be guessed, or is shared, is no secret.

A device that seeds its generator with the second of the day it was switched on has 86,400 possible noises. The attacker
makes them all, takes each away from a day of reports, and keeps the seed that leaves readings such as a meter gives:
written with few decimals, of the usual size, and smooth. Where all devices have the same seed, whoever owns one of them
(and so knows its readings) knows everybody's noise. Noise from the operating system's entropy gives neither a hold.
"""

from functools import lru_cache

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.floating_point import meter_unit
from halfmask.protection.attacks.masked import noise_part, noise_std
from halfmask.protection.evidence import Evidence

NAME = "guessable seed"
METRIC = "share of devices whose seed, the second of a day, is found from one day of reports"
SEEDS = 86_400
READINGS = 48
VICTIMS = 8
PROBE = 8  # readings of which the decimals are looked at
NEAR = 1e-4  # of the meter's unit
USUAL = 0.001  # readings are rarely beyond these quantiles of everybody's
BLOCK = 8192


def guessable_seed(
    setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator, seeds: int = SEEDS
) -> Finding:
    """Share of `VICTIMS` devices whose seed is found among ``seeds``, and what a shared seed leaves of the noise."""
    noise = noise_part(setting)
    if noise is None or noise_std(noise) == 0:
        return not_applicable(NAME, METRIC, "Does not apply: the setting draws no noise.")
    truth = days(evidence, rng)
    if setting.inner is not None:
        truth = np.clip(truth, setting.parameters[0], setting.parameters[1])
    unit = decimals_of(truth)
    hidden = rng.integers(0, seeds, len(truth))
    seeded = np.stack([draw(noise, int(seed), truth.shape[1]) for seed in hidden])
    entropy = noise.law.sample(np.array(noise.parameters), truth.size, rng).reshape(truth.shape)
    reports = [_add(noise, truth, psi) for psi in (seeded, entropy)]
    usual = evidence.population.quantiles(np.array([USUAL, 1 - USUAL]))
    found, wrong = search(noise, np.concatenate(reports), unit, usual, seeds).reshape(2, -1)
    recovered = float(np.mean(found == hidden))
    guessed = _remove(noise, reports[1], np.stack([draw(noise, int(seed), truth.shape[1]) for seed in wrong]))
    details = {
        "seeds": seeds,
        "readings": truth.shape[1],
        "devices": len(truth),
        "decimals_known": unit is not None,
        "readings_from": evidence.resolution if evidence.resolution == "readings" else "the histogram",
        "shared_seed_rmse": shared_seed_error(noise, truth, rng),
        "noise_std": noise_std(noise),
    }
    words = (
        f"If a device seeds its noise with the second of the day it was started, trying all {seeds:,} on a day of "
        f"reports finds the seed, and with it every reading, for {recovered:.0%} of devices; if all devices share a "
        f"seed, owning one undoes the noise of all; noise from the operating system's entropy withstands both."
    )
    by_luck = float(np.mean(np.all(np.isclose(guessed, truth, rtol=1e-9, atol=0), axis=1)))
    return Finding(NAME, METRIC, recovered, by_luck, words, details)


def days(evidence: Evidence, rng: np.random.Generator) -> FloatArray:
    """A day of readings of some users: their own where the evidence has them, else drawn from the population."""
    if evidence.resolution == "readings":
        width = min(READINGS, evidence.series.shape[1])
        for start in range(0, evidence.series.shape[1] - width + 1, width):
            part = evidence.series[:, start : start + width]
            whole = np.flatnonzero(np.isfinite(part).all(axis=1) & part.any(axis=1))
            if len(whole) >= min(VICTIMS, len(part)):
                return np.asarray(part[rng.permutation(whole)[:VICTIMS]])
    unit = meter_unit(evidence.population)
    drawn = evidence.population.quantiles(rng.random((VICTIMS, READINGS)))
    return np.asarray(np.rint(drawn / unit) * unit)


def decimals_of(readings: FloatArray) -> float | None:
    """The coarsest of 1, 0.1, ... 1e-6 of which all readings are multiples; None where none is."""
    for places in range(7):
        steps = readings * 10.0**places
        if np.all(np.abs(steps - np.rint(steps)) < NEAR):
            return float(10.0**-places)
    return None


def draw(noise: PrivacySetting, seed: int, size: int) -> FloatArray:
    """The noise of a device that seeds numpy's generator with ``seed``."""
    return np.asarray(draws(noise, seed, seed + 1, size)[0])


def draws(noise: PrivacySetting, first: int, last: int, size: int) -> FloatArray:
    """The same of every seed from ``first`` up to ``last``, by inversion where a quantile function is written out."""
    parameters = np.array(noise.parameters)
    if noise.law.quantile(parameters, np.array([0.5])) is not None:
        block = uniforms(first, last, size) if last - first > 1 else uniforms.__wrapped__(first, last, size)
        return np.asarray(noise.law.quantile(parameters, block))
    return np.stack([noise.law.sample(parameters, size, np.random.default_rng(seed)) for seed in range(first, last)])


@lru_cache(maxsize=SEEDS // BLOCK + 1)
def uniforms(first: int, last: int, size: int) -> FloatArray:
    """Uniform numbers of each seed; blocks are kept, because every setting of a menu is attacked with the same."""
    return np.stack([np.random.default_rng(seed).random(size) for seed in range(first, last)])


def search(noise: PrivacySetting, reports: FloatArray, unit: float | None, usual: FloatArray, seeds: int) -> IntArray:
    """The most plausible seed of each device."""
    best = np.full(len(reports), np.inf)
    found = np.zeros(len(reports), np.int64)
    for first in range(0, seeds, BLOCK):
        psi = draws(noise, first, min(first + BLOCK, seeds), reports.shape[1])
        for device, report in enumerate(reports):
            cost = implausibility(_remove(noise, report, psi), unit, usual)
            place = int(np.argmin(cost))
            if cost[place] < best[device]:
                best[device], found[device] = cost[place], first + place
    return found


def implausibility(readings: FloatArray, unit: float | None, usual: FloatArray) -> FloatArray:
    """Readings off the decimals or beyond the usual sizes, plus less than one for roughness, sum |s_(t+1) - s_t|."""
    cost = np.sum((readings < usual[0]) | (readings > usual[1]), axis=1).astype(float)
    if unit is not None:
        steps = readings[:, :PROBE] / unit
        cost += np.sum(np.abs(steps - np.rint(steps)) > NEAR, axis=1)
    few = cost == cost.min()
    rough = np.abs(np.diff(readings[few], axis=1)).sum(axis=1)
    cost[few] -= 1 / (1 + rough)
    return np.asarray(cost + 1)


def shared_seed_error(noise: PrivacySetting, truth: FloatArray, rng: np.random.Generator) -> float | None:
    """Root mean square error of others' readings once one device's own noise is known: rounding is all that is left.

    None where there are no others.
    """
    if len(truth) < 2:
        return None
    psi = noise.law.sample(np.array(noise.parameters), truth.shape[1], rng)
    reports = _add(noise, truth, psi)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = reports[0] / truth[0] - 1 if noise.kind == "relative" else reports[0] - truth[0]
    known = np.isfinite(own)
    return float(np.sqrt(np.mean((_remove(noise, reports[1:], own) - truth[1:])[:, known] ** 2)))


def _add(noise: PrivacySetting, truth: FloatArray, psi: FloatArray) -> FloatArray:
    return np.asarray(truth * (1 + psi) if noise.kind == "relative" else truth + psi)


def _remove(noise: PrivacySetting, reports: FloatArray, psi: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(reports / (1 + psi) if noise.kind == "relative" else reports - psi)
