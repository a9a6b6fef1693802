"""Privacy and utility of samples: the six metrics, normalised and weighted (method: sections 3 and 4).

    q = a1 mean + a2 std + a3 entropy of the local error
    u = 1 - (g1 mean + g2 std + g3 entropy of the global error)

Each metric is divided by its normaliser.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from halfmask.arrays import BoolArray, FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.metrics import GLOBAL, GLOBAL_MEAN, GLOBAL_STD, LOCAL
from halfmask_device.decimals import number_text

Metrics = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Weights:
    """Weights of the metrics: of the local error for privacy, of the global error for utility."""

    privacy: tuple[float, float, float] = (0.2, 0.4, 0.4)
    utility: tuple[float, float, float] = (0.6, 0.2, 0.2)

    def __str__(self) -> str:
        """Return six numbers, in the format of `parse_weights`."""
        return ",".join(map(number_text, (*self.privacy, *self.utility)))

    def __post_init__(self) -> None:
        for name, weights in (("privacy", self.privacy), ("utility", self.utility)):
            if len(weights) != 3 or not (min(weights) >= 0 and abs(sum(weights) - 1) <= 1e-9):
                raise OptionError(
                    f"the {name} weights {weights} are not three numbers from 0 that add up to 1", kind="weights"
                )


def parse_weights(text: str | None) -> Weights | None:
    """Return weights from six numbers, three of privacy and three of utility; None without text."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError as error:
        raise OptionError(f"weights '{text}' are not numbers separated by commas") from error
    if len(numbers) != 6:
        raise OptionError(f"weights '{text}': {len(numbers)} numbers instead of six (privacy, then utility)")
    return Weights((numbers[0], numbers[1], numbers[2]), (numbers[3], numbers[4], numbers[5]))


@dataclass(frozen=True)
class Constraint:
    """Upper bounds on a setting's pooled global error; settings that do not stay below both are left out."""

    max_mean: float = 0.1
    max_std: float = 0.1


def pooled(metrics: Metrics, of: tuple[int, int] = (GLOBAL_MEAN, GLOBAL_STD)) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the errors of each setting, pooled over all samples.

    The pooled mean is the mean of sample means; the pooled variance is the mean of (std^2 + mean^2) minus the pooled
    mean squared. ``of`` are the columns of mean and deviation, by default those of global errors.
    """
    mean, std = (metrics[..., column].astype(float) for column in of)
    centre = mean.mean(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = (std**2 + mean**2).mean(axis=1) - centre**2
    return centre, np.sqrt(np.maximum(variance, 0))


def passing(metrics: Metrics, constraint: Constraint) -> BoolArray:
    """Return which settings keep the constraint."""
    mean, std = pooled(metrics)
    return (mean < constraint.max_mean) & (std < constraint.max_std)


def normalisers(metrics: Metrics, kept: BoolArray) -> FloatArray:
    """Return the largest value of each of the six metrics, over all samples of the settings that keep
    the constraint.
    """
    if not kept.any():
        raise OptionError(
            "no setting keeps the constraint on the global error: raise it, or add settings with less noise",
            kind="constraint",
        )
    largest = np.zeros(metrics.shape[-1])
    for index in range(metrics.shape[-1]):
        largest[index] = float(metrics[kept, :, index].max())
    return np.where(largest > 0, largest, 1.0)


def privacy(metrics: Metrics, largest: FloatArray, weights: Weights) -> FloatArray:
    """Return q of each sample, in [0, 1] for settings that keep the constraint."""
    return _weighted(metrics[..., LOCAL], largest[LOCAL], weights.privacy)


def utility(metrics: Metrics, largest: FloatArray, weights: Weights) -> FloatArray:
    """Return u of each sample, in [0, 1] for settings that keep the constraint."""
    return np.asarray(1 - _weighted(metrics[..., GLOBAL], largest[GLOBAL], weights.utility))


def _weighted(metrics: Metrics, largest: FloatArray, weights: tuple[float, float, float]) -> FloatArray:
    """Return sum_k w_k metric_k / largest_k, metric by metric to save memory in studies of millions of samples."""
    with np.errstate(over="ignore", invalid="ignore"):  # settings that break the constraint may have infinite errors
        return np.asarray(sum(metrics[..., k] * (weights[k] / largest[k]) for k in range(3)))
