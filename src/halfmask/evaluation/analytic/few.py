"""Local errors of few readings that count, drawn one by one.

Around their expectations the local metrics scatter normally only where many errors share in them. Mean and mean square
of the errors |psi|/z hang on the smallest z: with w = 1/z, as if on (sum w^2)^2 / sum w^4 readings. Where these are
fewer than `ENOUGH`, the errors of the smallest z are drawn, and the others' sums are normal. A subset that has no more
readings than are drawn is drawn as a whole, with its histogram.

z is known to within a bin of the profile (1.1 %): readings of a bin are spread over it, or over the multiples of their
step that it holds. The drawn ones are scaled to the exact sum of 1/z.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.decimals import values_in
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.metrics import entropy
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.scaled import ScaledNoise
from halfmask.profiles.bins import bin_of
from halfmask.streams import stream

DRAWN = 256
ENOUGH = 256


@dataclass(frozen=True)
class FewReadings:
    """One subset's readings that count: ``w`` = 1/z of those to be drawn.

    ``rest[k]`` is the share of sum w^k, k = 1..4, that is not drawn, or None where the subset is drawn as a whole;
    ``zeros`` errors of a whole subset are 0.
    """

    index: int
    w: FloatArray
    n: float
    zeros: int
    rest: FloatArray | None

    @property
    def whole(self) -> bool:
        """Whether there is nothing but what is drawn."""
        return self.rest is None


def few_readings(z: Denominators) -> list[FewReadings]:
    """The subsets that need drawing."""
    found = []
    held = z.n * (1 - z.zero)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        effective = held * z.inverse[:, 1] ** 2 / z.inverse[:, 3]
    for index in np.flatnonzero((held <= DRAWN) | ~(effective >= ENOUGH)):
        counts = np.round(z.share[index] * held[index]).astype(np.int64)
        before = np.cumsum(counts) - counts
        taken = np.clip(DRAWN - before, 0, counts)
        w = 1 / _placed(z, counts, taken, stream(0, "evaluation.placed", int(index)))
        if held[index] <= DRAWN:
            w = w * (held[index] * z.inverse[index, 0] / w.sum())
            found.append(FewReadings(int(index), w, z.n[index], round(float(z.n[index] - held[index])), None))
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            drawn = np.array([(w**k).sum() for k in (1, 2, 3, 4)]) / (held[index] * z.inverse[index])
        found.append(FewReadings(int(index), w, z.n[index], 0, np.clip(1 - np.nan_to_num(drawn, nan=1.0), 0, 1)))
    return found


def _placed(z: Denominators, counts: IntArray, taken: IntArray, rng: np.random.Generator) -> FloatArray:
    """The z of the readings that are taken of each size: values of its bin, by their shares, the smallest first."""
    if z.steps is None:
        return np.repeat(z.size, taken)
    held = np.flatnonzero(taken)
    place, values, weight = values_in(bin_of(z.size[held]), z.steps)
    order = np.lexsort((values, place))
    below = np.cumsum(weight[order])  # each bin's shares add up to 1
    part = np.repeat(taken[held] / counts[held], taken[held])  # of a bin that is not taken whole
    at = np.repeat(np.arange(len(held)), taken[held]) + part * rng.random(len(part))
    return np.asarray(values[order][np.minimum(np.searchsorted(below, at), len(values) - 1)])


def drawn_errors(
    few: FewReadings, subset: Subset, law: Mechanism, parameters: FloatArray, seed: int
) -> Iterator[FloatArray]:
    """For each setting the drawn errors |psi| w, from the same chances."""
    rng = stream(seed, "evaluation.few", subset.size, subset.repeat)
    state = rng.bit_generator.state
    for setting in parameters:
        rng.bit_generator.state = state
        yield np.abs(law.sample(setting, len(few.w), rng)) * few.w


def drawn_sums(few: FewReadings, subset: Subset, law: Mechanism, parameters: FloatArray, seed: int) -> FloatArray:
    """Sums of the drawn errors and of their squares: (settings, 2)."""
    if isinstance(law, ScaledNoise):
        (unit,) = drawn_errors(few, subset, law, np.ones((1, 1)), seed)
        return np.stack([parameters[:, 0] * unit.sum(), parameters[:, 0] ** 2 * (unit**2).sum()], axis=1)
    return np.array([(e.sum(), (e**2).sum()) for e in drawn_errors(few, subset, law, parameters, seed)])


def scatter_of_few(
    few: FewReadings, sums: FloatArray, moments: FloatArray, factor: FloatArray, normal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What is added to the expected mean and mean square of the errors: the drawn ones' part, and the others', whose
    covariance is a share of all readings' (``factor``, its Cholesky factor by setting).
    """
    _, squares, cubes, fourths = few.rest if few.rest is not None else np.zeros(4)
    first, along, across = factor[:, 0, 0], factor[:, 1, 0], factor[:, 1, 1]
    of_rest = first * np.sqrt(squares)
    together = np.divide(cubes * first * along, of_rest, out=np.zeros(len(first)), where=of_rest > 0)
    apart = np.sqrt(np.maximum(fourths * (along**2 + across**2) - together**2, 0))
    mean = (sums[:, 0] - moments[:, 0] * few.w.sum()) / few.n + of_rest * normal[0]
    second = (sums[:, 1] - moments[:, 1] * (few.w**2).sum()) / few.n + together * normal[0] + apart * normal[1]
    return mean, second


def whole_sample(few: FewReadings, errors: FloatArray) -> tuple[float, float, float]:
    """Mean, mean square and entropy of a subset that is drawn as a whole."""
    everything = np.concatenate([np.zeros(few.zeros), errors])
    return float(everything.mean()), float((everything**2).mean()), entropy(everything)
