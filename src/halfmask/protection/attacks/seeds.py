"""Seeds: noise is not secret if the seed of its generator can be guessed or is shared.

A device that seeds its generator with the second of the day at which it was switched on has 86,400 possible noises. The
attacker tries all of them, subtracts each from a day of reports, and keeps the seed that leaves plausible readings:
with few decimals, of the usual size, and smooth. If all devices have the same seed, the owner of one of them knows its
readings, and so the noise of all. Noise from the operating system's entropy withstands both attacks.
"""

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.floating_point import meter_unit
from halfmask.protection.attacks.masked_series import noise_part
from halfmask.protection.evidence import Evidence
from halfmask.protection.guarantees.continuous_noise import reach_of

NAME = "guessable seed"
METRIC = "share of devices whose seed, the second of a day, is found from one day of reports"
SEEDS = 86_400
READINGS = 48
VICTIMS = 8
PROBE = 8
"""Readings whose decimals are checked."""
NEAR = 1e-4
"""Tolerance of that check, in the meter's unit."""
USUAL = 0.001
"""Readings are rarely beyond the quantiles of this probability on either side."""
BLOCK = 8192
TABLE = 4097


def guessable_seed(
    setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator, seeds: int = SEEDS
) -> Finding:
    """Return the share of `VICTIMS` devices whose seed is found, and the error that a shared seed leaves."""
    noise = noise_part(setting)
    if noise is None or noise.deviation == 0:
        return not_applicable(NAME, METRIC, "Does not apply: the setting draws no noise.")
    truth = days(evidence, rng)
    if setting.inner is not None:
        truth = np.clip(truth, setting.parameters[0], setting.parameters[1])
    unit = decimals_of(truth)
    if unit is not None and reach_of(noise) < NEAR * unit:
        return not_applicable(NAME, METRIC, "Does not apply: readings show through noise finer than their decimals.")
    hidden = rng.integers(0, seeds, len(truth))
    seeded = np.stack([draw(noise, int(seed), truth.shape[1]) for seed in hidden])
    entropy = noise.sample(truth.size, rng).reshape(truth.shape)
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
        "noise_std": noise.deviation,
    }
    words = (
        f"If a device seeds its noise with the second of the day it was started, trying all {seeds:,} on a day of "
        f"reports finds the seed, and with it every reading, for {recovered:.0%} of devices; if all devices share a "
        f"seed, owning one undoes the noise of all; noise from the operating system's entropy withstands both."
    )
    by_luck = float(np.mean(np.all(np.isclose(guessed, truth, rtol=1e-9, atol=0), axis=1)))
    return Finding(NAME, METRIC, recovered, by_luck, words, details)


def days(evidence: Evidence, rng: np.random.Generator) -> FloatArray:
    """Return one day of readings of some users: from the evidence if it contains readings, else drawn
    from the population.
    """
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
    """Return the coarsest of 1, 0.1, ... 1e-6 that divides all readings; None if none does."""
    for places in range(7):
        steps = readings * 10.0**places
        if np.all(np.abs(steps - np.rint(steps)) < NEAR):
            return float(10.0**-places)
    return None


def draw(noise: PrivacySetting, seed: int, size: int) -> FloatArray:
    """Return the noise of a device that seeds its generator with ``seed``."""
    return np.asarray(draws(noise, np.array([seed]), size)[0])


def draws(noise: PrivacySetting, seeds: IntArray, size: int) -> FloatArray:
    """Return the noise of every seed by inversion: with the law's own quantiles, or through a table of the law."""
    u = uniforms(seeds, size)
    psi = noise.law.quantile(np.array(noise.parameters), u)
    if psi is None:
        y = np.linspace(0, reach_of(noise), TABLE)
        psi = np.sign(u - 0.5) * np.interp(np.abs(2 * u - 1), noise.cdf(y), y)
    return np.asarray(psi)


def uniforms(seeds: IntArray, size: int) -> FloatArray:
    """Return uniform numbers in (0, 1) of each seed, by SplitMix64, the generator of Java's SplittableRandom."""
    state = seeds.astype(np.uint64)[:, None] + np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((((state ^ (state >> np.uint64(31))) >> np.uint64(11)) + 0.5) * 2.0**-53)


def search(noise: PrivacySetting, reports: FloatArray, unit: float | None, usual: FloatArray, seeds: int) -> IntArray:
    """Return the most plausible seed of each device.

    Only seeds that leave the fewest readings with too many decimals are considered.
    """
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
    """Return the number of readings beyond the usual sizes, plus a roughness below 1 from sum |s_(t+1) - s_t|."""
    cost = np.sum((readings < usual[0]) | (readings > usual[1]), axis=1).astype(float)
    rough = np.abs(np.diff(readings, axis=1)).sum(axis=1)
    return np.asarray(cost + rough / (1 + rough))


def shared_seed_error(noise: PrivacySetting, truth: FloatArray, rng: np.random.Generator) -> float | None:
    """Return the root mean square error of the other devices' readings, if all have the noise of one device that is
    known.

    Only rounding errors remain. None for a single device.
    """
    if len(truth) < 2:
        return None
    psi = noise.sample(truth.shape[1], rng)
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
