# ruff: noqa: ARG002 - the defaults here need not use their arguments
"""Base class of all masking mechanisms: name, parameters, masking, and the law (distribution) of the noise psi.

Methods take arrays of parameters, one row per setting, because a grid may hold a million settings:

    parameters  (S, P)             S settings of P parameters each
    y           (J,) or (S, J)     values of |psi|, the same for all settings or one row per setting

A *fact* is an attribute or method that the rest of halfmask uses, such as a mechanism's epsilon. So no other module
checks a mechanism's name. Facts depend on the distribution: a subclass with another sampler or distribution function
does not inherit them (`FACTS`).
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import SettingError
from halfmask.mechanisms.privacy_loss import LossCells
from halfmask_device.decimals import number_text
from halfmask_device.law import DeviceMechanism, check_count, check_sizes

Words = NDArray[np.uint64]
Kind = Literal["additive", "relative", "direct"]
Parameters = tuple[float, ...]
Shape = tuple[float, ...]

LAW = ("sample", "cdf", "unit_sample", "unit_cdf", "mask")
"""Methods that define a law. A class that overrides one of them has a new law."""
FACTS = (
    *(
        "exact_sums",
        "standard_sums",
        "sample_sum",
        "common_sums",
        "moments",
        "unit_moments",
        "support",
        "tail",
        "quantile",
        "fill",
    ),
    *("pure_epsilon", "epsilon_width", "falling", "proven", "corners", "grown", "lattice", "pmf", "lattice_tail"),
    *("lattice_variance", "deterministic", "unit_parameters", "shapes", "shaped", "essential", "fisher"),
    *("steepest", "loss_cells", "lattice_loss_cells"),
)
MOST_POINTS = 2**20  # largest number of lattice points that are summed one by one
MOST_STEPS = 2**53
LITTLE = 1e-5


class Source(Protocol):
    """Random numbers of one stream. A mechanism uses only one of the two.

    ``words``      state of the compiled generator (`draw_kernel`)
    ``generator``  numpy's generator
    """

    @property
    def words(self) -> Words: ...
    @property
    def generator(self) -> np.random.Generator: ...


class Mechanism(ABC):
    """A masking mechanism, for any values of its parameters. It is stateless.

    ``form``             how devices write and check its settings: name, parameters and their limits
    ``kind``             "additive": m = s + psi; "relative": m = s (1 + psi); "direct": without a noise law
    ``parameter_names``  names of the parameters, in order
    ``estimated``        whether the distribution is estimated from a sample; results must then say so
    ``per_user``         whether ``mask`` needs all values of one user together
    ``holds_inner``      whether an inner setting may mask the result, as in ``clip:0,10/laplace:1``
    ``alike``            whether it takes any number of parameters, all of the same kind
    ``deterministic``    whether it adds no randomness, so that a change of the reading may be visible with certainty
    ``proven``           whether the distribution is known to be symmetric, with atoms only at 0 or on its `lattice`
    ``falling``          whether the density falls with |psi|; then the largest of all changes up to a size has the
                         largest delta, at every epsilon
    ``exact_sums``       whether `standard_sums` is exact; if not, it uses the central limit theorem
    ``fisher``           Fisher information about the reading, E (f'/f)^2 with density f, times the variance of the
                         noise: how much better than the mean the best estimator of many reports is; infinite if the
                         density has jumps, or if unknown
    ``unit_parameters``  parameters of noise of size about 1, which `grown` scales; None if there are none
    ``shapes``           starting points for a search of the best shape; empty if the noise has only one shape
    """

    name: str
    form: ClassVar[DeviceMechanism | None] = None
    kind: Kind = "additive"
    parameter_names: tuple[str, ...] = ()
    estimated: bool = False
    per_user: bool = False
    holds_inner: ClassVar[bool] = False
    alike: ClassVar[bool] = False
    deterministic: bool = False
    proven: bool = False
    falling: bool = False
    exact_sums: bool = False
    fisher: float = math.inf
    unit_parameters: Parameters | None = None
    shapes: tuple[Shape, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if form := vars(cls).get("form"):
            cls.name, cls.parameter_names = form.name, form.parameters
        drop_foreign_facts(cls)

    def names(self, count: int) -> tuple[str, ...]:
        """Return the names of ``count`` parameters.

        If ``count`` is not allowed, the number of names differs from it.
        """
        return self.form.names(count) if self.form else self.parameter_names

    def check(self, parameters: Parameters) -> None:
        """Raise a SettingError unless the number of parameters is right and all are finite and not negative."""
        if self.form:
            self.form.check(parameters, self.name)
        else:
            self.check_count(parameters)
            check_sizes(self.name, self.parameter_names, parameters)

    def check_count(self, parameters: Parameters) -> None:
        """Raise a SettingError unless the number of parameters equals the number of names."""
        check_count(self.name, self.names(len(parameters)), parameters)

    def brief(self, text: str, parameters: Parameters) -> str:
        """Shorten a setting's text for a narrow column."""
        return text

    @abstractmethod
    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Mask values under one setting (parameters of shape (P,)). NaN stays NaN."""

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:
        """Write masked values to ``out``. The most frequent mechanisms override this with compiled code."""
        out[:] = self.mask(parameters, values, source.generator)

    # The law of |psi|

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        """Return the distribution function F(y) = P(|psi| <= y), shape (S, J)."""
        raise self._no_law()

    def moments(self, parameters: FloatArray) -> FloatArray:
        """Return E|psi|^k for k = 1..4, shape (S, 4); inf if it overflows."""
        raise self._no_law()

    def support(self, parameters: FloatArray) -> FloatArray:
        """Return the least upper bound of |psi|, shape (S,); inf if unbounded or unknown."""
        raise self._no_law()

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        """Return P(psi > y) for y >= 0 under one setting. For symmetric noise it is (1 - F(y))/2.

        Override it if there is a formula without the difference, because 1 - F(y) rounds to 0 below 1e-16.
        """
        return np.asarray((1 - self.cdf(np.array([parameters]), y)[0]) / 2)

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray | None:
        """Return the u-quantiles of psi, for 0 < u < 1, under one setting; None if not implemented."""
        return None

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Return ``size`` independent draws of psi, with sign, under one setting (parameters of shape (P,))."""
        raise self._no_law()

    # Sums of n draws

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray | None:
        """Return, for each number in ``n``, an exact draw of the sum of that many psi; None if not implemented."""
        return None

    def common_sums(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray | None:
        """Return sums of n_t > 0 draws of continuous noise under each setting, (S, T), as `sample` draws them.

        All settings take the same random numbers. None if that is not faster than one setting after the other.
        """
        return None

    def standard_sums(self, n: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return, for each n > 0 (integer or not), a draw of the sum of n psi, divided by its standard deviation.

        Its distribution does not depend on the parameters. Unless `exact_sums`, it is normal by the central limit
        theorem. The error is then of order 1/n for symmetric noise.
        """
        return rng.standard_normal(len(n))

    # Privacy guarantees

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        """Return the largest |log p(x)/p(x - d)| over all x and all changes d up to ``change``; None if infinite or
        unknown.

        p is the density of the noise.
        """
        return None

    def loss_cells(self, parameters: Parameters, change: float) -> LossCells | None:
        """Return the privacy loss of a report, for two possible readings ``change`` apart; None to compute it from
        `cdf`.
        """
        return None

    def lattice_loss_cells(self, parameters: Parameters, step: float, steps: int) -> LossCells | None:
        """Return the privacy loss of a report on a lattice, for two readings ``steps`` steps apart; None to compute it
        from `pmf`.
        """
        return None

    def epsilon_width(self, parameters: Parameters) -> float | None:
        """Return the width of the steps in which `pure_epsilon` grows with the change; None if it is proportional to
        it.
        """
        return None

    def corners(self, parameters: Parameters, end: float) -> tuple[FloatArray, bool]:
        """Return the |psi| up to ``end`` at which the density may jump, have a kink or be infinite.

        The second result is whether the density is constant between them.
        """
        return np.array([0.0, end]), False

    def width(self, parameters: Parameters) -> float:
        """Return the largest possible difference of two readings after masking, before any inner setting is applied."""
        return math.inf

    # Scaling the noise, and rounding it to a lattice

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray | None:
        """Return the parameters (S, P) for which psi is ``factor`` times as large; None if not implemented."""
        return None

    def surely_grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        """Return `grown` parameters. Raise a SettingError if the mechanism does not implement it."""
        grown = self.grown(parameters, factor)
        if grown is None:
            raise SettingError(
                f"{self.name} does not say how its parameters grow its noise: state grown(...)", kind="grown"
            )
        return grown

    def essential(self, parameters: FloatArray) -> FloatArray:
        """Set to 0 the parameters whose effect on |psi| is a share below `LITTLE` in every draw.

        Settings with equal essential parameters have equal entropy, up to a few `LITTLE` / ln 2 bits.
        """
        return parameters

    def shaped(self, deviation: float, change: float, shape: Shape) -> Parameters:
        """Return the parameters of noise with this standard deviation and shape.

        ``change``  the change of a reading that the noise must hide
        """
        return self.unit_parameters or ()

    def lattice(self, parameters: Parameters) -> float | None:
        """Return the step of the lattice on which psi and readings must lie; None for continuous noise."""
        return None

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """Return P(K = k), where psi = K step is the noise that a device draws on a published lattice. It is symmetric
        in k.

        By default K = round(psi/step), as if the masked reading were rounded. Discrete forms override it.
        """
        size = np.abs(k).astype(np.float64)
        inner, outer = (self.tail(parameters, np.maximum(size + side, 0.0) * step) for side in (-0.5, 0.5))
        return np.where(k == 0, 1 - 2 * outer, inner - outer)

    def lattice_tail(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """Return P(K >= k) for k >= 1, with K as in `pmf`."""
        return self.tail(parameters, np.asarray((k - 0.5) * step, np.float64))

    def lattice_variance(self, parameters: Parameters, step: float) -> float:
        """Return the variance of K step, with K as in `pmf`: 2 step^2 sum_k (2k - 1) P(K >= k) over k >= 1.

        If the noise reaches more than `MOST_POINTS` steps, the result is sigma^2 + step^2/12 (Sheppard's correction),
        which is then exact to 12 digits.
        """
        row = np.array([parameters])
        variance, bound = float(self.moments(row)[0, 1]), float(self.support(row)[0])
        far = bound if math.isfinite(bound) else 40 * math.sqrt(variance)
        if not variance:
            return 0.0
        if far / step > MOST_POINTS:
            return variance + step**2 / 12
        k = np.arange(1, math.ceil(far / step + 0.5) + 1)
        return float(2 * step**2 * np.sum((2 * k - 1) * self.lattice_tail(parameters, step, k)))

    def _no_law(self) -> SettingError:
        return SettingError(f"{self.name} has no noise law: evaluate it with the direct method", kind="law")


def drop_foreign_facts(cls: type) -> None:
    """Reset to their defaults the facts that a class with a new law inherits from another mechanism."""
    if not any(part in vars(cls) for part in LAW):
        return
    for fact in FACTS:
        owner = next((each for each in cls.__mro__ if fact in vars(each)), None)
        if owner is not None and owner is not cls and "name" in vars(owner):
            default = next((each for each in cls.__mro__ if fact in vars(each) and "name" not in vars(each)), None)
            if default is not None:
                setattr(cls, fact, vars(default)[fact])


class Noise(Mechanism):
    """A mechanism that draws psi independently of the value. Subclasses define the distribution and the sampler."""

    @abstractmethod
    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray: ...

    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Return s + psi for each value s; s (1 + psi) if the kind is relative."""
        psi = self.sample(parameters, values.size, rng).reshape(values.shape)
        with np.errstate(over="ignore"):
            return values * (1 + psi) if self.kind == "relative" else values + psi


class RelativeNoise(Noise):
    """Noise proportional to the value: m = s (1 + psi). The local error is |psi| for every s. Epsilon is None."""

    kind = "relative"
    fisher = math.inf

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        return None


def in_scales(y: FloatArray, scale: FloatArray) -> FloatArray:
    """Return y / scale for y (J,) or (S, J) and scale (S, 1), as the argument of a distribution function of |psi|.

    Negative y give 0. Scale 0 means no noise, so y >= 0 gives infinity, at which the distribution function is 1.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: FloatArray = np.maximum(y, 0.0) / scale
    still = scale == 0
    if still.any():
        ratio = np.where(still, np.where(np.asarray(y) >= 0, np.inf, 0.0), ratio)
    return ratio


def powers(scale: FloatArray) -> FloatArray:
    """Return scale^k for k = 1..4, shape (S, 4). Overflow gives inf."""
    with np.errstate(over="ignore"):
        return np.asarray(scale[:, None] ** np.arange(1, 5))


def signs(size: int, rng: np.random.Generator) -> FloatArray:
    """Return fair random signs, -1 or 1."""
    return np.where(rng.random(size) < 0.5, -1.0, 1.0)


def whole_steps(change: float, width: float) -> int:
    """Return ceil(change / width), at least 1. Both floats are taken as their shortest decimals, so 0.3 / 0.1 gives 3.

    Any excess over a step counts as one more step.
    """
    if change / width > MOST_STEPS:  # floats cannot distinguish single steps there
        return math.ceil(change / width)
    return max(math.ceil(Fraction(number_text(change)) / Fraction(number_text(width))), 1)
