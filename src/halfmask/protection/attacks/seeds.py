"""Seeds: noise from a generator whose seed can be guessed, or is shared, is no secret.

A device that seeds its generator with the second of the day it was switched on has 86,400 possible noises. The attacker
makes them all, takes each away from a day of reports, and keeps the seed that leaves readings such as a meter gives:
written with few decimals, of the usual size, and smooth. Where all devices have the same seed, whoever owns one of them
(and so knows its readings) knows everybody's noise. Noise from the operating system's entropy gives neither a hold.
"""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.floating_point import meter_unit
from halfmask.protection.attacks.masked import noise_part, noise_std
from halfmask.protection.evidence import Evidence
from halfmask.protection.guarantees.continuous_noise import reach_of

NAME = "guessable seed"
METRIC = "share of devices whose seed, the second of a day, is found from one day of reports"
SEEDS = 86_400
READINGS = 48
VICTIMS = 8
PROBE = 8  # readings of which the decimals are looked at
NEAR = 1e-4  # of the meter's unit
USUAL = 0.001  # readings are rarely beyond these quantiles of everybody's
BLOCK = 8192
TABLE = 4097


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
    if unit is not None and reach_of(noise) < NEAR * unit:
        return not_applicable(NAME, METRIC, "Does not apply: readings show through noise finer than their decimals.")
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
    """The noise of a device that seeds its generator with ``seed``."""
    return np.asarray(draws(noise, np.array([seed]), size)[0])


def draws(noise: PrivacySetting, seeds: IntArray, size: int) -> FloatArray:
    """The same of every seed, by inversion: the law's own where it is written out, else through a table of the law."""
    u, parameters = uniforms(seeds, size), np.array(noise.parameters)
    psi = noise.law.quantile(parameters, u)
    if psi is None:
        y = np.linspace(0, reach_of(noise), TABLE)
        psi = np.sign(u - 0.5) * np.interp(np.abs(2 * u - 1), noise.law.cdf(parameters[None], y)[0], y)
    return np.asarray(psi)


def uniforms(seeds: IntArray, size: int) -> FloatArray:
    """Uniform numbers in (0, 1) of each seed, by SplitMix64, the generator of Java's SplittableRandom."""
    state = seeds.astype(np.uint64)[:, None] + np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((((state ^ (state >> np.uint64(31))) >> np.uint64(11)) + 0.5) * 2.0**-53)


def search(noise: PrivacySetting, reports: FloatArray, unit: float | None, usual: FloatArray, seeds: int) -> IntArray:
    """The most plausible seed of each device, among those that leave the fewest readings off the decimals."""
    everyone = np.arange(seeds)
    probe = min(PROBE, reports.shape[1])
    probed = None if unit is None else draws(noise, everyone, probe)
    found = np.zeros(len(reports), np.int64)
    for device, report in enumerate(reports):
        fits, best = everyone, np.inf
        if probed is not None and unit is not None:
            steps = _remove(noise, report[:probe], probed) / unit
            off = np.count_nonzero(np.abs(steps - np.rint(steps)) > NEAR, axis=1)
            fits = np.flatnonzero(off == off.min())
        for some in np.array_split(fits, len(fits) // BLOCK + 1):
            cost = implausibility(_remove(noise, report, draws(noise, some, len(report))), usual)
            place = int(np.argmin(cost))
            if cost[place] < best:
                best, found[device] = cost[place], some[place]
    return found


def implausibility(readings: FloatArray, usual: FloatArray) -> FloatArray:
    """Readings beyond the usual sizes, plus less than one for roughness, sum |s_(t+1) - s_t|."""
    cost = np.sum((readings < usual[0]) | (readings > usual[1]), axis=1).astype(float)
    rough = np.abs(np.diff(readings, axis=1)).sum(axis=1)
    return np.asarray(cost + rough / (1 + rough))


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
