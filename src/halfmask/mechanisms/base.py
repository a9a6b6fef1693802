# ruff: noqa: ARG002 - the defaults here need not look at what they are given
"""What every masking mechanism is: a name, checked parameters, a way to mask, and all that is known of its noise.

A law works on arrays of parameters, one row a setting, because a grid holds a million of them:

    parameters  (S, P)   S settings of P parameters each
    y           (J,) or (S, J)   values of |psi|, shared by all settings or each its own

What other parts of halfmask need to know of a mechanism (how its sums are drawn, its epsilon, where its density bends,
what a device makes of it on a lattice) is a *fact* of the class. Nobody asks for a mechanism's name. Facts hold for one
law: a class that changes the sampler or the distribution function of another inherits none of them (`FACTS`).
"""

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import SettingError
from halfmask_device.decimals import number_text

Words = NDArray[np.uint64]
Kind = Literal["additive", "relative", "direct"]
Parameters = tuple[float, ...]
Shape = tuple[float, ...]

LAW = ("sample", "cdf", "unit_sample", "unit_cdf", "mask")
"""What makes a law; a class that defines one of these has a law of its own."""
FACTS = (
    *("exact_sums", "standard_sums", "sample_sum", "moments", "unit_moments", "support", "tail", "quantile", "fill"),
    *("pure_epsilon", "epsilon_width", "falling", "proven", "corners", "grown", "lattice", "pmf", "lattice_tail"),
    *("lattice_variance", "deterministic", "unit_parameters", "shapes", "shaped", "essential", "fisher"),
)
MOST_POINTS = 2**20  # of a lattice that are added up one by one
MOST_STEPS = 2**53
LITTLE = 1e-5


class Source(Protocol):
    """Random numbers of one stream: ``words`` for compiled draws, ``generator`` for numpy's; a law uses one of them."""

    @property
    def words(self) -> Words: ...
    @property
    def generator(self) -> np.random.Generator: ...


class Mechanism(ABC):
    """One masking mechanism, for all of its parameters; it holds no state.

    ``kind``             "additive": m = s + psi; "relative": m = s (1 + psi); "direct": its own rule, no law
    ``parameter_names``  what the parameters are called, in their order
    ``estimated``        the law is estimated from a sample, not known: say so beside results
    ``per_user``         ``mask`` must see all values of one user together
    ``holds_inner``      a second setting may mask what this one gives, as in ``clip:0,10/laplace:1``
    ``alike``            takes any number of parameters, all of one kind
    ``deterministic``    adds no chance: a change of the reading that shows at all shows for certain
    ``proven``           the law is known to be symmetric, with atoms at 0 or on its `lattice` alone
    ``falling``          the density falls with |psi|. Where f(x) > e^epsilon f(x - d), x < d/2, and there f(x - d)
                         falls as d grows: of all changes up to d the largest has the largest delta at every epsilon
    ``exact_sums``       `standard_sums` is exact, not the central limit theorem
    ``fisher``           Fisher's information of a report about its reading, E (f'/f)^2, as a multiple of 1/variance:
                         how much better than averaging the best use of many reports is. Infinite where the density
                         has edges, and where it is not known
    ``unit_parameters``  parameters of ordinary noise of size about 1, for `grown` to start from; None: no such choice
    ``shapes``           where a search for the best shape of noise starts; empty if all noise of the law has one shape
    """

    name: str
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
        drop_foreign_facts(cls)

    def names(self, count: int) -> tuple[str, ...]:
        """Names of the parameters when ``count`` are given; of another length where that many do not fit."""
        return self.parameter_names

    def check(self, parameters: Parameters) -> None:
        """Raise a SettingError with the reason unless the parameters are as many as named, finite and not negative."""
        self.check_count(parameters)
        for name, value in zip(self.names(len(parameters)), parameters, strict=True):
            if not 0 <= value < math.inf:
                raise SettingError(f"{self.name}: {name} is {number_text(value)}; it must be finite, 0 or above")

    def check_count(self, parameters: Parameters) -> None:
        """Raise a SettingError unless there are as many parameters as the mechanism has names."""
        names = self.names(len(parameters))
        if len(names) != len(parameters):
            form = f"{self.name}:{','.join(names)}".removesuffix(":")
            raise SettingError(f"{self.name} takes {len(names)} parameter(s), {len(parameters)} given: write {form}")

    def brief(self, text: str, parameters: Parameters) -> str:
        """A setting's text for a narrow column."""
        return text

    @abstractmethod
    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Masked values under one setting (parameters of shape (P,)); NaN stays NaN."""

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:
        """`mask` into ``out``; laws that are drawn most often have a compiled way of their own."""
        out[:] = self.mask(parameters, values, source.generator)

    # The law of |psi|

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        """P(|psi| <= y), shape (S, J)."""
        raise self._no_law()

    def moments(self, parameters: FloatArray) -> FloatArray:
        """E|psi|^k for k = 1..4, shape (S, 4); inf where the value is beyond the largest float."""
        raise self._no_law()

    def support(self, parameters: FloatArray) -> FloatArray:
        """sup |psi|, shape (S,); inf where unbounded or unknown."""
        raise self._no_law()

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        """P(psi > y) for y >= 0 under one setting: (1 - F(y))/2 of a symmetric law.

        A law that knows it without the difference says so, because 1 - F rounds away beyond 1e-16.
        """
        half: FloatArray = (1 - self.cdf(np.array([parameters]), y)[0]) / 2
        return half

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray | None:
        """psi of one setting as a rising function of U in (0, 1), by the textbook's inversion; None where unwritten."""
        return None

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """``size`` independent draws of psi, signed, under one setting (parameters of shape (P,))."""
        raise self._no_law()

    # Sums of n draws

    def sample_sum(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray | None:
        """For each n_t one exact draw of the sum of n_t independent psi, or None where no closed form is known."""
        return None

    def standard_sums(self, n: FloatArray, rng: np.random.Generator) -> FloatArray:
        """For each n_t > 0 (whole or not) a draw of the sum of n_t psi divided by its standard deviation.

        The same for all parameters. Normal, by the central limit theorem, unless `exact_sums`: for symmetric noise the
        error is of order 1/n.
        """
        return rng.standard_normal(len(n))

    # What it promises

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        """sup |log p(x)/p(x - d)| over changes d up to ``change``, None where it is infinite or not known."""
        return None

    def epsilon_width(self, parameters: Parameters) -> float | None:
        """The width of change at which `pure_epsilon` steps up; None where it grows evenly."""
        return None

    def corners(self, parameters: Parameters, end: float) -> tuple[FloatArray, bool]:
        """Sizes |psi| up to ``end`` where the density may jump, kink or be infinite; whether it is constant between."""
        return np.array([0.0, end]), False

    def width(self, parameters: Parameters) -> float:
        """The widest difference of two readings that is still there after masking."""
        return math.inf

    # Growing it, and putting it on a lattice

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray | None:
        """Parameters (S, P) under which psi is ``factor`` times as large; None where the mechanism does not say."""
        return None

    def essential(self, parameters: FloatArray) -> FloatArray:
        """Parameters (S, P) without what makes |psi| larger by less than a share of `LITTLE`, whatever the draw.

        Settings that agree in these have one entropy, to within some `LITTLE` / ln 2 bits.
        """
        return parameters

    def shaped(self, deviation: float, change: float, shape: Shape) -> Parameters:
        """Parameters of noise of that standard deviation and shape, for a change of a reading to be hidden by."""
        return self.unit_parameters or ()

    def lattice(self, parameters: Parameters) -> float | None:
        """The step of the lattice on which psi lies, and readings have to; None for continuous noise."""
        return None

    def pmf(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """P(K = k) of the noise in steps of a published lattice, psi = K step, as a device draws it.

        round(psi/step), which is what rounding the masked reading would give, unless a law has a discrete form of its
        own. Symmetric.
        """
        size = np.abs(k).astype(np.float64)
        inner, outer = (self.tail(parameters, np.maximum(size + side, 0.0) * step) for side in (-0.5, 0.5))
        return np.where(k == 0, 1 - 2 * outer, inner - outer)

    def lattice_tail(self, parameters: Parameters, step: float, k: FloatArray | IntArray) -> FloatArray:
        """P(K >= k) for k >= 1."""
        return self.tail(parameters, np.asarray((k - 0.5) * step, np.float64))

    def lattice_variance(self, parameters: Parameters, step: float) -> float:
        """Variance of K step: 2 step^2 sum over k >= 1 of (2k - 1) P(K >= k).

        On a lattice of more than `MOST_POINTS` points sigma^2 + step^2/12 (Sheppard), which such fine steps leave right
        to 12 digits.
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
        return SettingError(f"{self.name} has no noise law: evaluate it with the direct method")


def drop_foreign_facts(cls: type) -> None:
    """Give a class with a law of its own the defaults for all facts that it has from another, finished, mechanism."""
    if not any(part in vars(cls) for part in LAW):
        return
    for fact in FACTS:
        owner = next((each for each in cls.__mro__ if fact in vars(each)), None)
        if owner is not None and owner is not cls and "name" in vars(owner):
            default = next((each for each in cls.__mro__ if fact in vars(each) and "name" not in vars(each)), None)
            if default is not None:
                setattr(cls, fact, vars(default)[fact])


class Noise(Mechanism):
    """A mechanism that draws psi independently of the value; subclasses give its law and its sampler."""

    @abstractmethod
    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray: ...

    def mask(self, parameters: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:
        """s + psi, or s (1 + psi) where the kind is relative."""
        psi = self.sample(parameters, values.size, rng).reshape(values.shape)
        with np.errstate(over="ignore"):
            return values * (1 + psi) if self.kind == "relative" else values + psi


class RelativeNoise(Noise):
    """m = s (1 + psi): the law is psi's, so the local error is |psi| whatever s is, and no epsilon is promised."""

    kind = "relative"
    fisher = math.inf

    def pure_epsilon(self, parameters: Parameters, change: float) -> float | None:
        return None


def in_scales(y: FloatArray, scale: FloatArray) -> FloatArray:
    """y / scale for y (J,) or (S, J) and scale (S, 1), made fit for a distribution function.

    Negative y give 0, where a continuous law has no mass below. Scale 0 means no noise: all mass at 0, so
    y >= 0 counts as infinitely many scales.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio: FloatArray = np.maximum(y, 0.0) / scale
    still = scale == 0
    if still.any():
        ratio = np.where(still, np.where(np.asarray(y) >= 0, np.inf, 0.0), ratio)
    return ratio


def powers(scale: FloatArray) -> FloatArray:
    """scale^k for k = 1..4, shape (S, 4), overflowing to inf."""
    with np.errstate(over="ignore"):
        result: FloatArray = scale[:, None] ** np.arange(1, 5)
    return result


def signs(size: int, rng: np.random.Generator) -> FloatArray:
    """Fair coins, -1 or 1."""
    return np.where(rng.random(size) < 0.5, -1.0, 1.0)


def whole_steps(change: float, width: float) -> int:
    """How many steps of ``width`` hold the change, of the decimals that both are written as: 0.3 is three of 0.1.

    No tolerance: a change that is wider than a step by however little reaches into the next one.
    """
    if change / width > MOST_STEPS:  # floats tell no single steps there
        return math.ceil(change / width)
    return max(math.ceil(Fraction(number_text(change)) / Fraction(number_text(width))), 1)
