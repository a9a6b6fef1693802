"""The noise of each mechanism on the lattice, psi = k steps, each drawn from its exact law.

`laplace` and `gaussian` become their discrete forms; `uniform`, `staircase`, `sine` and `tabulated` become
round(psi/step), which is what rounding the masked reading would give: post-processing, so no guarantee is lost.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import ceil, floor, lcm

from halfmask_device.certain import chance, decay_bounds, inverted
from halfmask_device.entropy import Entropy
from halfmask_device.errors import SettingError
from halfmask_device.exact import discrete_gaussian, discrete_laplace, geometric
from halfmask_device.setting import DeviceSetting

TAIL = Fraction(32)
FURTHEST = 2**63


class Law(ABC):
    """A law of k. Its parameters are held in steps; nothing else is held, and nothing can be seeded."""

    @abstractmethod
    def draw(self) -> int:
        """One k."""

    def draws(self, count: int) -> list[int]:
        """Independent k, as many as asked for."""
        return [self.draw() for _ in range(count)]


class Silence(Law):
    """k = 0: no noise and no protection."""

    def draw(self) -> int:
        return 0


class DiscreteLaplace(Law):
    """P(k) proportional to exp(-|k|/scale).

    For readings d steps apart probabilities differ by exp(d/scale) at most, and by just that far out: epsilon is
    sensitivity/b exactly. Rounding the continuous law would give the same epsilon and nearly the same law: with
    x = step/b it weighs 0 by 1 - exp(-x/2) in place of tanh(x/2), a total variation below x^2/8.
    """

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale

    def draw(self) -> int:
        return discrete_laplace(self.scale)


class DiscreteGaussian(Law):
    """P(k) proportional to exp(-k^2 / (2 scale^2))."""

    def __init__(self, scale: Fraction) -> None:
        self.scale, self.variance = scale, scale * scale

    def draw(self) -> int:
        return discrete_gaussian(self.variance)


class RoundedUniform(Law):
    """round(X) for X uniform on [-a, a], a = p/q: cells of width 1/(2q), of which the lattice's borders are corners."""

    def __init__(self, a: Fraction) -> None:
        self.p, self.q = a.as_integer_ratio()

    def draw(self) -> int:
        return (Entropy.below(4 * self.p) - 2 * self.p + self.q) // (2 * self.q)


class RoundedTable(Law):
    """round(X), |X| uniform within each piece of the table, pieces of their stated mass, the sign a coin.

    All ends of pieces and all borders of the lattice are whole numbers of cells, so a piece is a range of cells.
    """

    def __init__(self, y: tuple[Fraction, ...], c: tuple[Fraction, ...]) -> None:
        self.cells = 2 * lcm(*(each.denominator for each in y))  # of a step
        self.ends = [int(each * self.cells) for each in (Fraction(0), *y)]
        whole = lcm(*(each.denominator for each in c))
        self.masses = list(accumulate(int((high - low) * whole) for low, high in pairwise((Fraction(0), *c))))

    def draw(self) -> int:
        piece = bisect_right(self.masses, Entropy.below(self.masses[-1]))
        low, high = self.ends[piece : piece + 2]
        size = (low + Entropy.below(high - low) + self.cells // 2) // self.cells
        return -size if Entropy.bits(1) else size


class RoundedStaircase(Law):
    """round(X), |X| = delta (G + V): P(G >= k) = exp(-k epsilon), V below gamma with chance p, uniform on either part.

    p = gamma / (gamma + exp(-epsilon) (1 - gamma)) is irrational: it is compared, not computed. V is drawn in cells,
    of which gamma and the lattice's borders are corners.
    """

    def __init__(self, epsilon: Fraction, delta: Fraction, gamma: Fraction) -> None:
        self.epsilon, self.gamma = epsilon, gamma
        p, q = delta.as_integer_ratio()
        self.cells = 2 * p * gamma.denominator  # of V
        self.step = 2 * q * gamma.denominator  # the lattice's, in cells
        self.first = int(gamma * self.cells)
        self._first_bounds = lru_cache(maxsize=8)(self._bounds)

    def _bounds(self, bits: int) -> tuple[int, int]:
        low, high = decay_bounds(self.epsilon, bits + 8)
        rest = 1 - self.gamma
        return (
            floor(self.gamma / (self.gamma + high * rest) * 2**bits),
            ceil(self.gamma / (self.gamma + low * rest) * 2**bits),
        )

    def draw(self) -> int:
        if self.gamma and chance(self._first_bounds):
            v = Entropy.below(self.first)
        else:
            v = self.first + Entropy.below(self.cells - self.first)
        size = (geometric(*self.epsilon.as_integer_ratio()) * self.cells + v + self.step // 2) // self.step
        return -size if Entropy.bits(1) else size


class RoundedSine(Law):
    """round(P(x)), x = sin(2 pi U), P(x) = sum_k c_k x^(2k+1) with c_k = theta_k^(2k+1)/step >= 0.

    P is odd and rises, so |x| = sin(pi U/2) with a coin for the sign; `inverted` finds the lattice point for certain.
    """

    def __init__(self, coefficients: list[Fraction]) -> None:
        self.denominator = lcm(*(each.denominator for each in coefficients))
        self.numerators = [int(each * self.denominator) for each in coefficients]

    def _steps(self, x: int, width: int) -> int:
        """floor(P(x/2^width) + 1/2), in integers: the numerator over denominator 2^((2K-1) width), K terms."""
        square, total = x * x, 0
        for shift, numerator in enumerate(reversed(self.numerators)):
            total = total * square + (numerator << (2 * width * shift))
        whole = self.denominator << ((2 * len(self.numerators) - 1) * width)
        return (2 * total * x + whole) // (2 * whole)

    def draw(self) -> int:
        size = inverted(self._steps)
        return -size if Entropy.bits(1) else size


def law(setting: DeviceSetting, step: Fraction) -> Law:
    """The exact law of a setting's noise in steps of the lattice.

    Noise that rounds to 0, always or but once in 1e12 draws, is refused: each report would be the reading itself, and
    only ``none`` may do that. So is noise beyond 64-bit integers, which no consumer could add up.
    """
    reach = _REACH[setting.mechanism](setting.parameters) / step
    if reach < Fraction(1, 2) and setting.mechanism != "none":
        raise SettingError(
            f"{setting.text[:80]} adds nothing on a lattice of step {float(step):g}: its noise is below half a step, "
            "so every report would be the reading itself; take a finer step or more noise, or say none if that is meant"
        )
    if reach >= FURTHEST:
        raise SettingError(
            f"{setting.text[:80]} reaches beyond {FURTHEST} steps of {float(step):g}: take a coarser step or less noise"
        )
    return _BUILDERS[setting.mechanism](setting.parameters, step)


Parameters = tuple[Fraction, ...]


def _laplace(parameters: Parameters, step: Fraction) -> Law:
    return DiscreteLaplace(parameters[0] / step)


def _gaussian(parameters: Parameters, step: Fraction) -> Law:
    return DiscreteGaussian(parameters[0] / step)


def _geometric(parameters: Parameters, step: Fraction) -> Law:
    b, own = parameters
    if own != step:  # a finer lattice would leave the reading's last steps in every report
        raise SettingError(
            f"geometric: its step is {float(own):g}, the lattice's {float(step):g}; unless they are equal reports tell "
            "the rest of the reading: take a lattice of that step, or laplace:b"
        )
    return DiscreteLaplace(b / step)


def _uniform(parameters: Parameters, step: Fraction) -> Law:
    return RoundedUniform(parameters[0] / step)


def _staircase(parameters: Parameters, step: Fraction) -> Law:
    epsilon, delta, gamma = parameters
    return RoundedStaircase(epsilon, delta / step, gamma)


def _sine(parameters: Parameters, step: Fraction) -> Law:
    return RoundedSine([theta ** (2 * k + 1) / step for k, theta in enumerate(parameters)])


def _tabulated(parameters: Parameters, step: Fraction) -> Law:
    return RoundedTable(tuple(y / step for y in parameters[::2]), parameters[1::2])


_BUILDERS: dict[str, Callable[[Parameters, Fraction], Law]] = {
    "none": lambda *_: Silence(),
    "laplace": _laplace,
    "gaussian": _gaussian,
    "geometric": _geometric,
    "uniform": _uniform,
    "staircase": _staircase,
    "sine": _sine,
    "tabulated": _tabulated,
}
_REACH: dict[str, Callable[[Parameters], Fraction]] = {
    "none": lambda _: Fraction(0),
    "laplace": lambda p: TAIL * p[0],
    "gaussian": lambda p: TAIL * p[0] / 4,  # exp(-8^2/2) is exp(-32)
    "geometric": lambda p: TAIL * p[0],
    "uniform": lambda p: p[0],
    "staircase": lambda p: p[1] * (1 + TAIL / p[0]),
    "sine": lambda p: sum((theta ** (2 * k + 1) for k, theta in enumerate(p)), Fraction(0)),
    "tabulated": lambda p: next(y for y, c in zip(p[::2], p[1::2], strict=True) if c == 1),
}
"""What |psi| exceeds never, or with a probability of about exp(-TAIL)."""
