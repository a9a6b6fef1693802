"""Error of the best guess of a reading from its report, relative to that of the best guess without one.

`guess_error` is for one setting, by quadrature (`attacks.reconstruction`). `guess_errors` is for tens of thousands of
settings. It divides the population into a few hundred pieces, tabulates the noise's distribution function, and averages
over a fixed set of reports.
"""

from math import isfinite, nan, sqrt

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.reconstruction import coarse_step, lattice_errors
from halfmask.protection.evidence import Population

SMALL = 0.02
"""If the noise is below this share of a typical reading, the report is the best guess, to within 2 % of its error."""
PIECES = 256
REPORTS = 192
TABLE = 1024
AT_ONCE = 512
WIDE = 12.0
"""Standard deviations at which a table of unbounded noise ends."""


def check_varies(population: Population) -> None:
    """Raise an OptionError if all readings are equal: then a report does not improve the best guess."""
    if not population.varies:
        raise OptionError(
            "all readings have the same size, to within 1 %, so that they are guessed as well without a report: by the "
            "error of a guess no noise is better than another",
            hint="choose noise by a promise, with `epsilon` of halfmask solve",
            field="profile",
            kind="constant",
        )


def guess_error(setting: PrivacySetting, population: Population, step: float | None = None) -> float:
    """Return E|s - best guess from the report| / E|s - best guess without it|, 0 to 1; NaN if unknown.

    It is unknown if the setting does not add noise of a known law, or if readings do not vary (0/0). With a ``step``,
    the report is one that a device draws on this lattice.
    """
    if setting.kind != "additive" or setting.inner is not None or not population.varies:
        return nan
    prior = population.prior_absolute
    first, second = setting.moments[:2]
    if not first:
        return 0.0
    if not isfinite(second):
        return 1.0
    if sqrt(second) < SMALL * population.typical and coarse_step(setting, population, step) is None:
        return min(float(first) / prior, 1.0)
    return min(lattice_errors(setting, population, step).best_absolute / prior, 1.0)


def guess_errors(name: str, parameters: FloatArray, population: Population) -> FloatArray:
    """Return `guess_error` of many settings of one mechanism, without lattice; ``parameters`` has one row per setting.

    The results are approximate, to about 0.03. They are NaN if the mechanism does not add noise of a known law, or if
    readings do not vary.
    """
    law = mechanism(name)
    found = np.full(len(parameters), np.nan)
    if law.kind != "additive" or not population.varies:
        return found
    moments = law.moments(parameters)
    sigma, prior = np.sqrt(moments[:, 1]), population.prior_absolute
    edges, share = _pieces(population)
    middle = (edges[1:] + edges[:-1]) / 2
    median = population.quantiles(np.array([0.5]))[0]
    blind = float(share @ np.abs(middle - median))  # as `prior`, of readings in pieces
    found[:] = np.minimum(moments[:, 0] / prior, 1.0)  # no guess is worse than the report itself
    rows = np.flatnonzero((sigma >= SMALL * population.typical) & np.isfinite(sigma))
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE]
        errors = _errors(name, parameters[some], sigma[some], population, (edges, share))
        found[some] = np.minimum(found[some], errors / blind)
    return found


def _errors(
    name: str, parameters: FloatArray, sigma: FloatArray, population: Population, pieces: tuple[FloatArray, FloatArray]
) -> FloatArray:
    from halfmask.protection.best_guess_kernel import median_errors  # here, because numba takes long to import

    law = mechanism(name)
    reach = law.support(parameters)
    reach = np.where(np.isfinite(reach), reach, WIDE * sigma)
    tables = law.cdf(parameters, reach[:, None] * np.linspace(0, 1, TABLE + 1))
    at, sign = _spread(REPORTS)
    readings = population.quantiles(at)
    noises = _quantiles(tables, reach, sign)
    out = np.empty(len(parameters))
    median_errors(*pieces, np.ascontiguousarray(tables), reach, readings, noises, out)
    return out


def _pieces(population: Population) -> tuple[FloatArray, FloatArray]:
    """Return cells of nearly equal mass or equal width that contain all readings; zeros are in the cell around 0."""
    quantiles = population.quantiles(np.linspace(0, 1, PIECES // 2 + 1))
    low, high = float(quantiles[0]), float(quantiles[-1])
    evenly = np.linspace(low, high, PIECES // 2 + 1)
    tiny = 1e-3 * population.typical
    edges = np.unique(np.concatenate([quantiles, evenly, [-tiny, tiny] if population.zero else []]))
    edges = edges[np.append(True, np.diff(edges) > 1e-6 * (high - low))]
    edges[0] = min(edges[0], low) - tiny
    edges[-1] = max(edges[-1], high) + tiny
    return edges, np.diff(population.cdf(edges))


def _spread(count: int) -> tuple[FloatArray, FloatArray]:
    """Return points that fill the unit square evenly: Kronecker's sequence of the plastic number."""
    plastic = 1.32471795724474602596
    n = np.arange(1, count + 1)
    return (0.5 + n / plastic) % 1, (0.5 + n / plastic**2) % 1


def _quantiles(tables: FloatArray, reach: FloatArray, u: FloatArray) -> FloatArray:
    """Return psi at probabilities u of each table's symmetric law."""
    size, sign = np.abs(2 * u - 1), np.sign(2 * u - 1)
    y = np.linspace(0, 1, tables.shape[1])
    return np.asarray(sign * reach[:, None] * np.array([np.interp(size, table, y) for table in tables]))
