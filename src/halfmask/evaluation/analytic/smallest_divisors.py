"""The scatter of mean and mean square of the local errors, if few readings dominate them.

Mean and mean square of the errors |psi|/z depend mostly on the smallest z. With w = 1/z, the effective number of
readings is (sum w^2)^2 / sum w^4. Scatter is normal only if this is large. If it is below `ENOUGH`, the errors of the
`DRAWN` smallest z are drawn one by one, and the sums of the others are normal.
"""

from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.mechanisms.scaled_noise import ScaledNoise
from halfmask.streams import stream

DRAWN = 256
ENOUGH = 256


@dataclass(frozen=True)
class SmallestDivisors:
    """The smallest z of one subset.

    ``index``  index of the subset
    ``w``      1/z of the readings to be drawn
    ``n``      number of errors in the subset
    ``rest``   share of sum w^k, k = 1..4, that belongs to the other readings
    """

    index: int
    w: FloatArray
    n: float
    rest: FloatArray


def smallest_divisors(z: Denominators) -> list[SmallestDivisors]:
    """Return the subsets that few readings dominate, with the readings to be drawn."""
    found = []
    held = z.n * (1 - z.zero)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        effective = held * z.inverse[:, 1] ** 2 / z.inverse[:, 3]
    for index in np.flatnonzero((held <= DRAWN) | ~(effective >= ENOUGH)).tolist():
        counts = np.round(z.share[index] * held[index]).astype(np.int64)
        w = 1 / np.repeat(z.size, np.clip(DRAWN - (np.cumsum(counts) - counts), 0, counts))
        if held[index] <= DRAWN:
            w, rest = w * (held[index] * z.inverse[index, 0] / w.sum()), np.zeros(4)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                drawn = np.array([(w**k).sum() for k in (1, 2, 3, 4)]) / (held[index] * z.inverse[index])
            rest = np.clip(1 - np.nan_to_num(drawn, nan=1.0), 0, 1)
        found.append(SmallestDivisors(index, w, z.n[index], rest))
    return found


def drawn_sums(
    smallest: SmallestDivisors, subset: Subset, law: Mechanism, parameters: FloatArray, seed: int
) -> FloatArray:
    """Return sums of the drawn errors and of their squares (settings, 2); all settings use the same random numbers."""
    settings = np.ones((1, 1)) if isinstance(law, ScaledNoise) else parameters
    chances = (stream(seed, "evaluation.smallest", subset.size, subset.repeat) for _ in settings)
    drawn = (
        np.abs(law.sample(setting, len(smallest.w), rng)) * smallest.w
        for setting, rng in zip(settings, chances, strict=True)
    )
    sums = np.array([(errors.sum(), (errors**2).sum()) for errors in drawn])
    return sums * parameters[:, :1] ** np.arange(1, 3) if isinstance(law, ScaledNoise) else sums


def scatter(
    smallest: SmallestDivisors, sums: FloatArray, moments: FloatArray, factor: FloatArray, normal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what is added to the expected mean and mean square of the errors.

    It is the drawn errors' deviation plus normal scatter of the others. The covariance of the latter is a share of that
    of all readings, whose Cholesky factor by setting is ``factor``.
    """
    _, squares, cubes, fourths = smallest.rest
    first, along, across = factor[:, 0, 0], factor[:, 1, 0], factor[:, 1, 1]
    of_rest = first * np.sqrt(squares)
    together = np.divide(cubes * first * along, of_rest, out=np.zeros(len(first)), where=of_rest > 0)
    apart = np.sqrt(np.maximum(fourths * (along**2 + across**2) - together**2, 0))
    mean = (sums[:, 0] - moments[:, 0] * smallest.w.sum()) / smallest.n + of_rest * normal[0]
    second = (sums[:, 1] - moments[:, 1] * (smallest.w**2).sum()) / smallest.n
    return mean, second + together * normal[0] + apart * normal[1]
