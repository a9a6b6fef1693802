"""Global errors from a profile: one draw per period, for any number of readings.

For sum and mean the error of a period is sigma |X_t| unit_t. Here sigma^2 = E psi^2, and X_t is the sum of the period's
noise divided by its standard deviation. With n and S_k the number and power sums of the period's readings,

    aggregate   noise      unit^2
    sum         additive   n / S_1^2
    sum         relative   S_2 / S_1^2
    mean        both       the same (n cancels)

X_t is exact if the mechanism can draw sums (Laplace, Gaussian). Otherwise it is normal if the period has enough
readings for the central limit theorem (`enough`); in smaller periods, noises are drawn one by one. All settings use the
same X_t. For the variance see `variance_errors`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import own_value
from halfmask.evaluation.analytic.denominators import ErrorKind
from halfmask.evaluation.analytic.error_summaries import ScaledErrors, row_summaries
from halfmask.evaluation.analytic.noise_sums import MOST_DRAWN, enough, sums_of_few
from halfmask.evaluation.analytic.variance_errors import variance_summaries
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

AT_ONCE = 256
"""Settings whose sums are held at once."""


@dataclass(frozen=True)
class SubsetTotals:
    """One subset: its periods that have an error, for one aggregate and kind of noise.

    ``sums``       (T, 5) number of readings and power sums
    ``divisor``    (T,) of the errors
    ``unit``       (T,) standard deviation of the error of a sum or mean for noise of variance 1
    ``effective``  (T,) number of equally large readings that would give the same kurtosis
    ``excluded``   number of periods with a total of zero, which have no error
    """

    subset: Subset
    sums: FloatArray
    divisor: FloatArray
    unit: FloatArray
    effective: FloatArray
    excluded: int

    @property
    def n(self) -> FloatArray:
        """Number of readings of each period."""
        return self.sums[:, 0]

    @cached_property
    def drawn(self) -> dict[tuple[str, int], ScaledErrors]:
        """The errors |X_t| unit_t by mechanism and seed, kept for further settings."""
        return {}


def period_sums(profile: Profile, subsets: Sequence[Subset]) -> FloatArray:
    """Return number of readings and sums of s^k of each period and subset, (subsets, periods, 5), by a
    matrix product.
    """
    members = np.zeros((len(subsets), len(profile)))
    for index, subset in enumerate(subsets):
        members[index, subset.rows] = 1
    return np.stack([members @ profile.cells[..., k] for k in range(profile.cells.shape[2])], axis=-1)


def subset_totals(subset: Subset, sums: FloatArray, aggregate: str, noise: str, error: ErrorKind) -> SubsetTotals:
    """Return the periods of one subset that have an error, from its `period_sums`."""
    sums = sums[sums[:, 0] > 0]
    true = own_value(aggregate, sums)
    divisor = np.abs(true) if error == "relative" else np.full(len(true), np.abs(true).mean() if len(true) else 0.0)
    kept = divisor > 0
    if not kept.any():
        raise OptionError(
            f"every period's {aggregate} is zero to within rounding: there is no global error to measure; use another "
            "`aggregate`"
        )
    sums, divisor = sums[kept], divisor[kept]
    n, _, s2, _, s4 = np.moveaxis(sums, -1, 0)
    unit = np.sqrt(n if noise == "additive" else s2) / (divisor * (n if aggregate == "mean" else 1))
    effective = n if noise == "additive" else s2 * (s2 / np.where(s4 > 0, s4, 1))
    return SubsetTotals(subset, sums, divisor, unit, np.maximum(effective, 1), int((~kept).sum()))


def global_summaries(
    law: Mechanism, parameters: FloatArray, moments: FloatArray, totals: SubsetTotals, aggregate: str, seed: int
) -> FloatArray:
    """Return mean, standard deviation and entropy of the subset's global errors for each setting, (settings, 3)."""
    if aggregate == "variance":
        return variance_summaries(law, parameters, moments, totals.sums, totals.divisor, _rng(seed, totals.subset))
    sigma = np.sqrt(moments[:, 1])
    least = enough(moments)
    alone = needs_single_draws(law, least, totals)
    if law.lattice(tuple(parameters[0].tolist())) is not None:
        alone[:] = True
    out = np.empty((len(parameters), 3))
    if not alone.all():
        if (law.name, seed) not in totals.drawn:
            totals.drawn[law.name, seed] = ScaledErrors(np.abs(standard_sums(law, totals, seed)) * totals.unit)
        out[~alone] = totals.drawn[law.name, seed].summaries(sigma[~alone])
    for rows, found in _in_common(law, parameters, sigma, totals, seed, np.where(alone, least, 0)):
        out[rows] = found
        alone[rows] = False
    for row in np.flatnonzero(alone):
        setting = parameters[row]
        x = sums_one_by_one(law, setting, sigma[row], totals, seed, least[row])
        x = _to_lattice(law, setting, totals, x, sigma[row])
        out[row] = ScaledErrors(np.abs(x) * totals.unit).summaries(sigma[row : row + 1])[0]
    return out


def _in_common(
    law: Mechanism, parameters: FloatArray, sigma: FloatArray, totals: SubsetTotals, seed: int, least: FloatArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield settings whose noises follow from the same draws, and their summaries: those of `sums_one_by_one`.

    ``least`` is 0 for settings without single draws. Settings draw the same if the same periods are below it.
    """
    number = np.searchsorted(np.sort(totals.n), np.minimum(least, MOST_DRAWN))
    for each in np.unique(number[number > 0]):
        alike = np.flatnonzero(number == each)
        drawn = totals.n < min(least[alike[0]], MOST_DRAWN)
        for rows in np.array_split(alike, -(-len(alike) // AT_ONCE)):
            rng = _rng(seed, totals.subset)
            x = rng.standard_normal(len(totals.n))
            sums = law.common_sums(parameters[rows], totals.n[drawn].astype(np.int64), rng)
            if sums is None:
                return
            errors = sigma[rows, None] * np.sqrt(totals.n) * x
            errors[:, drawn] = sums
            yield rows, row_summaries(np.abs(errors) * (totals.unit / np.sqrt(totals.n)))


def _to_lattice(law: Mechanism, setting: FloatArray, totals: SubsetTotals, x: FloatArray, sigma: float) -> FloatArray:
    """Return X_t rounded to the possible sums of lattice noise; unchanged for continuous noise."""
    step = law.lattice(tuple(setting.tolist()))
    if step is None or not sigma or law.kind != "additive":
        return x
    unit = step / (sigma * np.sqrt(totals.n))
    return np.asarray(np.round(x / unit) * unit)


def standard_sums(law: Mechanism, totals: SubsetTotals, seed: int) -> FloatArray:
    """Return X_t: the sum of a period's noise, divided by its standard deviation."""
    rng = _rng(seed, totals.subset)
    return law.standard_sums(totals.effective, rng)


def needs_single_draws(law: Mechanism, least: FloatArray, totals: SubsetTotals) -> npt.NDArray[np.bool_]:
    """Return for each setting whether some period has too few readings for a normal sum, so that noises must be drawn.

    False if the mechanism has exact sums. ``least`` is the number of readings for a normal sum, limited by
    `MOST_DRAWN`.
    """
    if law.exact_sums or law.kind != "additive":
        return np.zeros(len(least), bool)
    return np.asarray(totals.n.min() < np.minimum(least, MOST_DRAWN))


def sums_one_by_one(
    law: Mechanism, parameters: FloatArray, sigma: float, totals: SubsetTotals, seed: int, least: float
) -> FloatArray:
    """Return X_t of one setting; for periods with fewer than ``least`` readings by `sums_of_few`."""
    rng = _rng(seed, totals.subset)
    x = rng.standard_normal(len(totals.n))
    if sigma > 0:
        few, exact = sums_of_few(law, parameters, totals.n, least, rng)
        x[few] = exact / (sigma * np.sqrt(totals.n[few]))
    return x


def _rng(seed: int, subset: Subset) -> np.random.Generator:
    return stream(seed, "evaluation.totals", subset.size, subset.repeat)
