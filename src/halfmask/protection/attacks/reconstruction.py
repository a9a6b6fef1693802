"""Bayesian reconstruction: the best guess of one reading from its report and the distribution of everybody's readings.

No guess has a smaller mean absolute error than the median of s given m, and none a smaller mean squared error than
the mean. Additive noise with a law is worked out on a lattice without any simulation: with p the population's and f the
noise's probabilities,

    P(m) = (p * f)(m),   E[s | m] = ((s p) * f)(m) / P(m),   mean squared error = E s^2 - sum_m E[s | m]^2 P(m),

and the median from p(s) f(m - s) for some hundred equally likely m. Everything else (relative noise, rules, clips) is
simulated: the correction s - m for reports of about a size is learned on one half of the draws and tried on the other.
Readings next to each other in time are not used here; see `smoothing` for those.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, figure, not_applicable
from halfmask.protection.attacks.masked import mask_rows, noise_cdf, noise_std, noise_support
from halfmask.protection.evidence import Evidence, Population

NAME = "reconstruction"
METRIC = "mean absolute error of the best guess of a reading, in the unit of readings"
FINENESS = 12  # lattice steps in the smaller of the noise's deviation and a typical reading
MOST_STEPS = 2**21
REPORTS = 512
DRAWS = 2**18
CELL = 64  # draws that a correction is learned from


@dataclass(frozen=True)
class Errors:
    """Root mean square and mean absolute errors: of the best guess, of the report as it is, of the best without one."""

    best: float
    naive: float
    prior: float
    best_absolute: float
    naive_absolute: float
    prior_absolute: float


def reconstruction(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> Finding:
    """Error of the best guess of a reading, against the report itself and against guessing without a report."""
    law = setting.kind == "additive" and np.isfinite(noise_std(setting))
    if law:
        found = lattice_errors(setting, evidence.population)
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
        "share_of_prior_variance": (found.best / found.prior) ** 2 if found.prior else None,
        "method": "quadrature" if law else "simulation",
    }
    return Finding(
        NAME, METRIC, found.best_absolute, found.prior_absolute, _words(found, evidence.population.unit), details
    )


@dataclass(frozen=True, eq=False)
class OnLattice:
    """Readings ``s`` and their probabilities ``p``, those ``f`` of the noise, and of reports: chance and best guess."""

    s: FloatArray
    p: FloatArray
    f: FloatArray
    chance: FloatArray
    guess: FloatArray

    def deviations(self) -> tuple[float, float]:
        """Root mean square errors of the best guess and of the best without a report."""
        mean = float(self.s @ self.p)
        variance = float(((self.s - mean) ** 2) @ self.p)
        best = max(variance - float((self.guess - mean) ** 2 @ self.chance), 0.0)
        return float(np.sqrt(best)), float(np.sqrt(variance))


def lattice_errors(setting: PrivacySetting, population: Population) -> Errors:
    """The errors of additive noise, exact but for the lattice: its step is a twelfth of the noise's deviation.

    Noise too small for the largest lattice changes less than a bin tells, so the report is the best guess; readings too
    small for it beside the noise leave the prior's mean the best guess.
    """
    sigma, first = noise_std(setting), float(setting.law.moments(np.array(setting.parameters)[None])[0, 0])
    spread, prior_absolute = float(np.sqrt(population.variance)), population.prior_absolute
    if _too_small(sigma, population):
        return Errors(sigma, sigma, spread, first, first, prior_absolute)
    if (found := _on_lattice(setting, population)) is None:
        return Errors(spread, sigma, spread, prior_absolute, first, prior_absolute)
    best, prior = found.deviations()
    best_absolute = median_error(found.s, found.p, found.f, found.chance)
    return Errors(best, sigma, prior, best_absolute, first, prior_absolute)


def share_left(setting: PrivacySetting, population: Population) -> float:
    """The root mean square error of `lattice_errors`' best guess over that without a report, for less work."""
    sigma, spread = noise_std(setting), float(np.sqrt(population.variance))
    if _too_small(sigma, population):
        return sigma / spread if spread else 0.0
    if (found := _on_lattice(setting, population)) is None:
        return 1.0 if spread else 0.0
    best, prior = found.deviations()
    return best / prior if prior else 0.0


def _too_small(sigma: float, population: Population) -> bool:
    low, high = _span(population)
    return sigma == 0 or (high - low) / _step(sigma, population) > MOST_STEPS


def _span(population: Population) -> tuple[float, float]:
    return min(float(population.low[0]), 0.0), max(float(population.high[-1]), 0.0)


def _step(sigma: float, population: Population) -> float:
    return min(sigma, population.typical) / FINENESS


def _on_lattice(setting: PrivacySetting, population: Population) -> OnLattice | None:
    """Readings, noise and reports; None where the noise is too large for it beside the readings."""
    (low, high), step, reach = _span(population), _step(noise_std(setting), population), _reach(setting)
    if reach / step > MOST_STEPS:
        return None
    s = np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step
    p = np.diff(population.cdf(np.append(s, s[-1] + step) - step / 2))
    psi = np.arange(-np.ceil(reach / step), np.ceil(reach / step) + 1) * step
    f = np.diff(noise_cdf(setting, np.append(psi, psi[-1] + step) - step / 2))
    p, f = p / p.sum(), f / f.sum()
    return OnLattice(s, p, f, *posterior_mean(s, p, f))


def posterior_mean(s: FloatArray, p: FloatArray, f: FloatArray) -> tuple[FloatArray, FloatArray]:
    """P(m) and E[s | m] on the lattice of m, both by fast convolution.

    Where P(m) drowns in the transform's rounding the guess is the prior's mean.
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
    """Errors from pairs of reading and report: the correction for reports of about a size is learned on half of them.

    Reports are cut into cells of `CELL` draws (equal reports stay together); each cell's mean, or median, of s - m is
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
    """Readings and their reports: the evidence's own where a rule needs all of a user's, else drawn."""
    if setting.per_user:
        masked = mask_rows(setting, evidence.series, rng)
        present = np.isfinite(evidence.series)
        return evidence.series[present], masked[present]
    truth = evidence.population.quantiles((np.arange(DRAWS) + rng.random(DRAWS)) / DRAWS)
    return truth, setting.mask(truth, rng)


def _reach(setting: PrivacySetting) -> float:
    """Where the noise ends, or all but 1e-9 of it."""
    bound = noise_support(setting)
    if np.isfinite(bound):
        return bound
    sigma = noise_std(setting)
    at = sigma * np.geomspace(1, 1e4, 400)
    left = 1 - setting.law.cdf(np.array(setting.parameters)[None], at)[0]
    return float(at[np.argmax(left < 1e-9)]) if (left < 1e-9).any() else float(at[-1])


def median_error(s: FloatArray, p: FloatArray, f: FloatArray, chance: FloatArray) -> float:
    """E|s - median(s | m)|, over `REPORTS` equally likely places of m on its lattice."""
    below = np.cumsum(chance)
    places = np.searchsorted(below, (np.arange(REPORTS) + 0.5) / REPORTS * below[-1])
    errors = np.empty(REPORTS)
    for number, m in enumerate(places):
        first, last = max(m - len(f) + 1, 0), min(m, len(p) - 1)
        weight = p[first : last + 1] * f[m - last : m - first + 1][::-1]
        upper = np.cumsum(weight)
        at = s[first : last + 1]
        errors[number] = np.abs(at - at[np.searchsorted(upper, upper[-1] / 2)]) @ weight / upper[-1]
    return float(errors.mean())


def _words(found: Errors, unit: str) -> str:
    start = f"Without a report, a reading is guessed {figure(found.prior_absolute, unit)} off on average"
    if found.naive == 0:
        return f"{start}; with it, exactly."
    return (
        f"{start}; the report alone is {figure(found.naive_absolute, unit)} off, and the best guess from it and what "
        f"is known of everybody {figure(found.best_absolute, unit)} off."
    )
