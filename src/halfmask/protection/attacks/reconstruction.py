"""Reconstruction: the best guess of one reading from its report and the distribution of all readings.

The median of s given m has the smallest mean absolute error of all guesses, the mean the smallest mean squared error.
For additive noise with a law both are computed on a lattice, without simulation. With p the population's and f the
noise's probabilities,

    P(m) = (p * f)(m),   E[s | m] = ((s p) * f)(m) / P(m),   mean squared error = E s^2 - sum_m E[s | m]^2 P(m),

and the median follows from p(s) f(m - s) for some hundred equally likely m. Devices draw on their own lattice: if its
step is wide compared with noise or readings, f is the law on that lattice, and p has several values of s for each
lattice point to which they are rounded.

Everything else (relative noise, rules, clips) is simulated: the correction s - m for reports of similar size is learned
on one half of the draws and tested on the other. Correlation of readings over time is not used; see `smoothing`.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, figure, not_applicable
from halfmask.protection.attacks.masked_series import mask_rows, noise_cdf
from halfmask.protection.evidence import Evidence, Population

NAME = "reconstruction"
METRIC = "mean absolute error of the best guess of a reading, in the unit of readings"
FINENESS = 12
"""Lattice steps per deviation of the noise or per typical reading, whichever is smaller."""
LEAST_PARTS = 9
"""Values of a reading for each point of a device's lattice."""
MOST_STEPS = 2**21
REPORTS = 512
DRAWS = 2**18
CELL = 64
"""Draws from which a correction is learned."""


@dataclass(frozen=True)
class Errors:
    """Root mean square and mean absolute errors of three guesses.

    ``best``   the best guess from the report
    ``naive``  the report itself
    ``prior``  the best guess without a report
    """

    best: float
    naive: float
    prior: float
    best_absolute: float
    naive_absolute: float
    prior_absolute: float


def reconstruction(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Return the error of the best guess of a reading, with that of the report and that without a report."""
    if not evidence.population.varies:
        return not_applicable(NAME, METRIC, "Not measured: readings do not vary, so they are known without a report.")
    law = setting.kind == "additive" and np.isfinite(setting.deviation)
    if law:
        found = lattice_errors(setting, evidence.population, evidence.lattice)
    elif setting.per_user and (evidence.resolution == "totals" or evidence.counts.sum() < 4 * CELL):
        return not_applicable(NAME, METRIC, "Not measured: this rule needs users' readings, and more of them.")
    else:
        found = simulated_errors(*_pairs(setting, evidence, rng), rng)
    if not np.isfinite(found.best):
        return not_applicable(NAME, METRIC, "Not measured: the noise is beyond all numbers.")
    details = {
        "report": found.naive_absolute,
        "rmse": found.best,
        "rmse_report": found.naive,
        "rmse_prior": found.prior,
        "share_of_prior_variance": (found.best / found.prior) ** 2,
        "method": "quadrature" if law else "simulation",
    }
    return Finding(
        NAME, METRIC, found.best_absolute, found.prior_absolute, _words(found, evidence.population.unit), details
    )


@dataclass(frozen=True, eq=False)
class OnLattice:
    """Readings, noise and reports on a lattice.

    ``s``, ``p``  values of a reading and their probabilities; one row for the values rounded to each lattice point
    ``f``         probabilities of the noise
    ``chance``    probabilities of the reports
    ``guess``     the best guess for each report
    """

    s: FloatArray
    p: FloatArray
    f: FloatArray
    chance: FloatArray
    guess: FloatArray

    def deviations(self) -> tuple[float, float]:
        """Return root mean square errors of the best guess with a report and without."""
        mean = float(np.sum(self.s * self.p))
        variance = float(np.sum((self.s - mean) ** 2 * self.p))
        best = max(variance - float((self.guess - mean) ** 2 @ self.chance), 0.0)
        return float(np.sqrt(best)), float(np.sqrt(variance))


def lattice_errors(setting: PrivacySetting, population: Population, step: float | None = None) -> Errors:
    """Return the errors for additive noise, exact except for a lattice with 12 steps per deviation of the noise.

    If the noise is too small for the largest lattice, it is below the width of a bin, and the report is the best guess.
    If the readings are too small compared with the noise, the prior's mean is the best guess. ``step`` is that of the
    devices' lattice.
    """
    drawn = coarse_step(setting, population, step)
    sigma, first = setting.deviation, float(setting.moments[0])
    spread, prior_absolute = float(np.sqrt(population.variance)), population.prior_absolute
    if drawn is None and _too_small(sigma, population):
        return Errors(sigma, sigma, spread, first, first, prior_absolute)
    if (found := _on_lattice(setting, population, drawn)) is None:
        return Errors(spread, sigma, spread, prior_absolute, first, prior_absolute)
    best, prior = found.deviations()
    best_absolute = median_error(found.s, found.p, found.f, found.chance)
    if drawn is not None:
        sigma, first = _naive(found, drawn)
    return Errors(best, sigma, prior, best_absolute, first, prior_absolute)


def share_left(setting: PrivacySetting, population: Population, step: float | None = None) -> float:
    """Return the root mean square error of the best guess, divided by that without a report.

    It is faster than `lattice_errors`.
    """
    drawn = coarse_step(setting, population, step)
    sigma, spread = setting.deviation, float(np.sqrt(population.variance))
    if drawn is None and _too_small(sigma, population):
        return sigma / spread if spread else 0.0
    if (found := _on_lattice(setting, population, drawn)) is None:
        return 1.0 if spread else 0.0
    best, prior = found.deviations()
    return best / prior if prior else 0.0


def coarse_step(setting: PrivacySetting, population: Population, step: float | None) -> float | None:
    """Return the step of the lattice on which a device draws; None if it is too fine to matter.

    If the setting's law has its own lattice, the step is that of this lattice.
    """
    own = setting.law.lattice(setting.parameters)
    step, (low, high) = step if own is None else own, _span(population)
    if step is None or setting.silent or step <= _step(setting.deviation, population):
        return None
    return step if (high - low) / step * _parts(step, population) <= MOST_STEPS else None


def _parts(step: float, population: Population) -> int:
    """Return the number of values per lattice point: odd, so that one of them is the point itself."""
    return max(LEAST_PARTS, int(np.ceil(step / (population.typical / FINENESS)))) | 1


def _too_small(sigma: float, population: Population) -> bool:
    low, high = _span(population)
    return sigma == 0 or (high - low) / _step(sigma, population) > MOST_STEPS


def _span(population: Population) -> tuple[float, float]:
    return min(float(population.low[0]), 0.0), max(float(population.high[-1]), 0.0)


def _step(sigma: float, population: Population) -> float:
    return min(sigma, population.typical) / FINENESS


def _on_lattice(setting: PrivacySetting, population: Population, drawn: float | None) -> OnLattice | None:
    """Return readings, noise and reports; None if the noise is too large for a lattice that resolves the readings."""
    step, parts = (_step(setting.deviation, population), 1) if drawn is None else (drawn, _parts(drawn, population))
    (low, high), reach = _span(population), _reach(setting)
    if reach / step > MOST_STEPS:
        return None
    points = np.arange(np.floor(low / step), np.ceil(high / step) + 1)
    edges = (points[0] - 0.5 + np.arange(len(points) * parts + 1) / parts) * step
    s = ((edges[1:] + edges[:-1]) / 2).reshape(len(points), parts)
    p = np.diff(population.cdf(edges)).reshape(len(points), parts)
    k = np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1)
    if drawn is None:
        f = np.diff(noise_cdf(setting, (np.append(k, k[-1] + 1) - 0.5) * step))
    else:
        f = setting.law.pmf(setting.parameters, step, k)
    p, f = p / p.sum(), f / f.sum()
    held = p.sum(axis=1)
    middle = np.divide((s * p).sum(axis=1), held, out=points * step, where=held > 0)
    return OnLattice(s, p, f, *posterior_mean(middle, held, f))


def _naive(found: OnLattice, step: float) -> tuple[float, float]:
    """Return root mean square and mean absolute difference of report and reading: rounding and noise together."""
    k = np.arange(len(found.f)) - len(found.f) // 2
    off = found.s[0] - found.s[0].mean()
    error = np.abs(k[:, None] * step - off)
    weight = np.outer(found.f, found.p.sum(axis=0))
    return float(np.sqrt(np.sum(weight * error**2))), float(np.sum(weight * error))


def posterior_mean(s: FloatArray, p: FloatArray, f: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return P(m) and E[s | m] on the lattice of m, both by fast convolution.

    If P(m) is below the rounding error of the transform, the guess is the prior's mean.
    """
    size = 2 ** int(np.ceil(np.log2(len(p) + len(f))))
    noise = np.fft.rfft(f, size)
    length = len(p) + len(f) - 1
    mean = float(s @ p)
    chance = np.fft.irfft(np.fft.rfft(p, size) * noise, size)[:length]
    shift = np.fft.irfft(np.fft.rfft((s - mean) * p, size) * noise, size)[:length]
    sure = chance > 1e-13
    guess = np.full(length, mean)
    guess[sure] += shift[sure] / chance[sure]
    return np.where(sure, chance, 0.0), np.clip(guess, s[0], s[-1])


def simulated_errors(truth: FloatArray, seen: FloatArray, rng: np.random.Generator) -> Errors:
    """Return errors from pairs of reading and report, with corrections learned on half of them.

    Reports are divided into cells of `CELL` draws; equal reports share a cell. Each cell's mean, or median, of s - m is
    added to its reports.
    """
    learn, test = np.array_split(rng.permutation(len(truth)), 2)
    cuts = np.unique(np.sort(seen[learn])[CELL::CELL])
    cell = np.searchsorted(cuts, seen, side="right")
    gap = (truth - seen)[learn]
    count = np.bincount(cell[learn], minlength=len(cuts) + 1)
    mean = np.bincount(cell[learn], gap, minlength=len(cuts) + 1) / np.maximum(count, 1)
    ordered = gap[np.lexsort((gap, cell[learn]))]
    median = ordered[np.minimum(np.cumsum(count) - count + count // 2, len(gap) - 1)]
    errors = [seen[test] + mean[cell[test]], seen[test], np.full(len(test), truth[learn].mean())]
    medians = [seen[test] + median[cell[test]], seen[test], np.full(len(test), np.median(truth[learn]))]
    square = [float(np.sqrt(np.mean((guess - truth[test]) ** 2))) for guess in errors]
    absolute = [float(np.mean(np.abs(guess - truth[test]))) for guess in medians]
    return Errors(*square, *absolute)


def _pairs(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return readings and their reports: the evidence's own if a rule needs all readings of a user, else drawn."""
    if setting.per_user:
        masked = mask_rows(setting, evidence.series, rng)
        present = np.isfinite(evidence.series)
        return evidence.series[present], masked[present]
    truth = evidence.population.quantiles((np.arange(DRAWS) + rng.random(DRAWS)) / DRAWS)
    return truth, setting.mask(truth, rng)


def _reach(setting: PrivacySetting) -> float:
    """Return sup |psi|, or the size beyond which the noise has a mass of 1e-9."""
    bound = setting.support
    if np.isfinite(bound):
        return bound
    sigma = setting.deviation
    at = sigma * np.geomspace(1, 1e4, 400)
    left = 1 - setting.cdf(at)
    return float(at[np.argmax(left < 1e-9)]) if (left < 1e-9).any() else float(at[-1])


def median_error(s: FloatArray, p: FloatArray, f: FloatArray, chance: FloatArray) -> float:
    """Return E|s - median(s | m)| over all m of a lattice, or over `REPORTS` equally likely ones."""
    below = np.cumsum(chance)
    places, share = np.flatnonzero(chance), chance[chance > 0] / below[-1]
    if len(places) > 2 * REPORTS:
        places = np.searchsorted(below, (np.arange(REPORTS) + 0.5) / REPORTS * below[-1])
        share = np.full(REPORTS, 1 / REPORTS)
    errors = np.empty(len(places))
    for number, m in enumerate(places.tolist()):
        first, last = max(m - len(f) + 1, 0), min(m, len(p) - 1)
        weight = (p[first : last + 1] * f[m - last : m - first + 1][::-1, None]).ravel()
        upper = np.cumsum(weight)
        at = s[first : last + 1].ravel()
        errors[number] = np.abs(at - at[np.searchsorted(upper, upper[-1] / 2)]) @ weight / upper[-1]
    return float(share @ errors)


def _words(found: Errors, unit: str) -> str:
    start = f"Without a report, a reading is guessed {figure(found.prior_absolute, unit)} off on average"
    if found.naive == 0:
        return f"{start}; with it, exactly."
    return (
        f"{start}; the report alone is {figure(found.naive_absolute, unit)} off, and the best guess from it and what "
        f"is known of everybody {figure(found.best_absolute, unit)} off."
    )
