"""Aggregates: functions that a consumer computes of a period's values.

``sum``, ``mean``, ``variance``, ``max`` and ``min`` follow from running sums or extremes. The others (``median``,
``quantile:p``, ``trimmed:p``, a function by its path) need all values of a period at once. The analytic method supports
the first three, whose error follows from sums of noise. The direct method supports all.
"""

import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.profile import Profile

ANALYTIC = ("sum", "mean", "variance")
RUNNING = (*ANALYTIC, "max", "min")
EQUAL = 1e-12
KNOWN = (*RUNNING, "median", "quantile:p", "trimmed:p", "module:function", "path.py:function")


@dataclass(frozen=True)
class Aggregate:
    """One aggregate. ``function`` maps a period's values to a number; None if running sums or extremes suffice."""

    name: str
    function: Callable[[FloatArray], float] | None = None

    @property
    def analytic(self) -> bool:
        """Whether the analytic method supports it."""
        return self.name in ANALYTIC


@dataclass(frozen=True)
class PeriodSums:
    """Running state of periods: number of values, sum, squares about the mean, smallest and largest value.

    ``squares`` are merged by the method of Chan, Golub and LeVeque, so that a small spread about a large mean is not
    lost.
    """

    n: IntArray
    total: FloatArray
    squares: FloatArray
    least: FloatArray
    largest: FloatArray

    @classmethod
    def empty(cls, periods: int) -> "PeriodSums":
        """Return the state of periods without values."""
        n, total, squares = np.zeros(periods, np.int64), np.zeros(periods), np.zeros(periods)
        return cls(n, total, squares, np.full(periods, np.inf), np.full(periods, -np.inf))

    def add(self, other: "PeriodSums") -> None:
        """Merge the state of other values of the same periods into this one."""
        both = (self.n > 0) & (other.n > 0)
        n, more = self.n[both], other.n[both]
        apart = other.total[both] / more - self.total[both] / n
        self.squares[both] += apart**2 * (n * more / (n + more))
        np.add(self.n, other.n, out=self.n)
        np.add(self.total, other.total, out=self.total)
        np.add(self.squares, other.squares, out=self.squares)
        np.minimum(self.least, other.least, out=self.least)
        np.maximum(self.largest, other.largest, out=self.largest)


def default_aggregate(profile: Profile) -> str:
    """Return the aggregate that suits the readings: the mean for states such as temperatures, otherwise the sum."""
    return "mean" if profile.quantity else "sum"


def noun(name: str) -> str:
    """Return an aggregate's name for sentences."""
    return "total" if name == "sum" else name


def averaged(about: Mapping[str, Any]) -> list[str]:
    """Return a note if means were taken because the readings are states; empty for other results."""
    if about.get("aggregate") != "mean" or not about.get("quantity"):
        return []
    return [
        f"readings are {about['quantity']}, which do not add up: the mean of each period is measured; for totals, "
        "evaluate with `aggregate=sum`"
    ]


def aggregate(name: str) -> Aggregate:
    """Return the aggregate with that name, or a function given as ``module:function`` or ``path.py:function``."""
    if name in RUNNING:
        return Aggregate(name)
    if name == "median":
        return Aggregate(name, _quantile(0.5))
    head, colon, tail = name.rpartition(":")
    if head == "quantile":
        return Aggregate(name, _quantile(_share(name, tail)))
    if head == "trimmed":
        return Aggregate(name, _trimmed(_share(name, tail, most=0.5)))
    if not colon or not head or not tail:
        raise OptionError(
            f"aggregate '{name}' is not known: use {', '.join(KNOWN)}", kind="aggregate", field="aggregate"
        )
    return Aggregate(name, _own(name, head, tail))


def value_of(wanted: Aggregate, sums: PeriodSums, setting: PrivacySetting) -> FloatArray:
    """Return g of each period from its running state; NaN without a reading.

    The variance is the population variance V of the masked values, corrected for the known noise variance sigma^2 of
    ``setting``. For additive noise it is V - sigma^2. For relative noise, where E m^2 = (1 + sigma^2) E s^2, it is (V -
    sigma^2 mean^2) / (1 + sigma^2). For mechanisms of kind "direct" the law is unknown, so nothing is subtracted, and
    their effect on the variance counts as error.
    """
    held = sums.n > 0
    n = np.where(held, sums.n, 1)
    with np.errstate(over="ignore", invalid="ignore"):
        if wanted.name == "sum":
            value = sums.total
        elif wanted.name == "mean":
            value = sums.total / n
        elif wanted.name == "variance":
            value = _corrected(sums.squares / n, sums.total / n, setting)
        else:
            value = sums.largest if wanted.name == "max" else sums.least
    return np.where(held, value, np.nan)


def own_variance(variance: FloatArray, mean: FloatArray) -> FloatArray:
    """Return a period's own variance; 0 if it is below `EQUAL` of the mean square, so only rounding of equal readings.

    Errors divided by such a rounding error would be arbitrarily large.
    """
    return np.where(variance < EQUAL * (np.maximum(variance, 0) + mean**2), 0.0, variance)


def own_total(total: FloatArray, n: FloatArray, squares: FloatArray) -> FloatArray:
    """Return a period's own sum or mean; 0 if it is only a rounding error of terms that cancel.

    This is so below `EQUAL` of the size of its terms, sqrt(n sum s^2). ``total`` is the sum.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.abs(total) < EQUAL * np.sqrt(n * squares), 0.0, total)


def own_value(name: str, sums: FloatArray) -> FloatArray:
    """Return sum, mean or variance of periods from their number of readings and power sums (T, 5 or 3 columns)."""
    n, s1, s2 = (sums[:, k] for k in range(3))
    if name == "variance":
        return own_variance(s2 / n - (s1 / n) ** 2, s1 / n)
    total = own_total(s1, n, s2)
    return total if name == "sum" else total / n


def _corrected(variance: FloatArray, mean: FloatArray, setting: PrivacySetting) -> FloatArray:
    if setting.kind == "direct":
        return variance
    noise = float(setting.law.moments(np.array([setting.parameters]))[0, 1])
    if setting.kind == "relative":
        return (variance - noise * mean**2) / (1 + noise)
    return variance - noise


def _quantile(share: float) -> Callable[[FloatArray], float]:
    return lambda values: float(np.quantile(values, share))


def _trimmed(share: float) -> Callable[[FloatArray], float]:
    """Return the mean without ``share`` of the values at each end, on which a few wrong values have little effect."""

    def mean(values: FloatArray) -> float:
        cut = min(int(share * len(values)), (len(values) - 1) // 2)
        return float(np.sort(values)[cut : len(values) - cut].mean())

    return mean


def _share(name: str, text: str, most: float = 1) -> float:
    try:
        share = float(text)
    except ValueError:
        share = np.nan
    if not 0 <= share <= most:
        head = name.partition(":")[0]
        raise OptionError(
            f"aggregate '{name}': '{text}' is not a share between 0 and {most}: write {head}:0.1",
            kind="share",
            field="aggregate",
        )
    return share


def _own(name: str, module: str, function: str) -> Callable[[FloatArray], float]:
    """Return a user's function, which is called with the values of one period in ascending order."""
    try:
        found: Any = getattr(_load(module), function)
    except (ImportError, OSError, SyntaxError, AttributeError) as error:
        raise OptionError(
            f"aggregate '{name}' cannot be loaded: {error}; known are {', '.join(KNOWN)}",
            kind="not-loaded",
            field="aggregate",
        ) from error
    if not callable(found):
        raise OptionError(
            f"aggregate '{name}': {function} is a {type(found).__name__}, not a function of an array",
            kind="not-a-function",
            field="aggregate",
        )

    def called(values: FloatArray) -> float:
        result = np.asarray(found(values))
        if result.shape != () or result.dtype.kind not in "fiub" or not np.isfinite(result):
            raise OptionError(
                f"aggregate '{name}' gave {str(result)[:60]} for {len(values)} values, no finite number",
                kind="not-finite",
                field="aggregate",
            )
        return float(result)

    return called


def _load(module: str) -> Any:
    if not module.endswith(".py"):
        return importlib.import_module(module)
    spec = importlib.util.spec_from_file_location(Path(module).stem, module)
    if spec is None or spec.loader is None:
        raise ImportError(f"{module} is no Python file")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
