"""The noise of each mechanism on the lattice, psi = k steps: its exact law, how it is drawn, and what is known of it.

`laplace` and `gaussian` become their discrete forms; `uniform`, `staircase`, `sine` and `tabulated` become
round(psi/step). A discrete law is not the continuous one rounded: its guarantee is its own, that of `Law.mass`.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from halfmask_device.discrete import DiscreteGaussian, DiscreteLaplace, laplace_divergence
from halfmask_device.errors import SettingError
from halfmask_device.law import Law
from halfmask_device.more import found as found_here
from halfmask_device.rounded import RoundedSine, RoundedStaircase, RoundedTable, RoundedUniform
from halfmask_device.setting import DeviceSetting

__all__ = ["FURTHEST", "MOST_UNMASKED", "WARN_UNMASKED", "Law", "Silence", "law", "law_of", "unmasked_warning"]

TAIL = Fraction(32)
FURTHEST = 2**63
MOST_UNMASKED = 0.9
"""Noise that leaves the reading as it is with a larger chance is refused."""
WARN_UNMASKED = 0.5
"""Noise that leaves the reading as it is with a larger chance is warned of."""


class Silence(Law):
    """k = 0: no noise and no protection."""

    def draw(self, source: object) -> int:  # noqa: ARG002 (the law reads no bits)
        return 0

    def tail(self, n: int) -> float:
        return 0.0 if n > 0 else 1.0

    def _moment(self, power: int) -> float:  # noqa: ARG002
        return 0.0


@lru_cache(maxsize=64)
def law(setting: DeviceSetting, step: Fraction) -> Law:
    """The exact law of a setting's noise in steps of the lattice.

    Refused is noise that leaves the reading as it is, P(k = 0), with a chance above `MOST_UNMASKED`: only ``none`` may
    do that. So is noise beyond 64-bit integers, which no consumer could add up.
    """
    reach = _REACH[setting.mechanism](setting.parameters) / step
    if reach >= FURTHEST:
        raise SettingError(
            f"{setting.text[:80]} reaches beyond {FURTHEST} steps of {float(step):g}: take a coarser step or less noise"
        )
    if setting.mechanism == "none":
        return Silence()
    found = _BUILDERS[setting.mechanism](setting.parameters, step) if reach > Fraction(1, 2) else Silence()
    if found.unmasked > MOST_UNMASKED:
        raise SettingError(
            f"{setting.text[:80]} leaves {_share(found.unmasked)} of all readings as they are on a lattice of step "
            f"{float(step):g}, and at most {_share(MOST_UNMASKED)} are accepted: take a finer step or more noise, "
            "or say none if that is meant"
        )
    return found


def _share(chance: float) -> str:
    """In percent, and never all where it is not quite."""
    return "over 99.9 %" if 0.999 < chance < 1 else f"{100 * chance:.3g} %"


def law_of(setting: str, step: str | Fraction) -> Law:
    """`law` of texts: ``law_of("laplace:0.5", "0.001")``."""
    return law(DeviceSetting.parse(setting), Fraction(step))


def unmasked_warning(setting: str, step: str | Fraction) -> str | None:
    """What to say where more than half of all readings stay as they are; None where fewer do."""
    chance = law_of(setting, step).unmasked
    if setting == "none" or chance <= WARN_UNMASKED:
        return None
    size = f"{float(Fraction(step)):g}"
    return (
        f"{setting} leaves {_share(chance)} of all readings as they are on a lattice of step {size}: take a finer step "
        "or more noise"
    )


Parameters = tuple[Fraction, ...]


def _geometric(parameters: Parameters, step: Fraction) -> Law:
    b, own = parameters
    if own != step:  # a finer lattice would leave the reading's last steps in every report
        raise SettingError(
            f"geometric: its step is {float(own):g}, the lattice's {float(step):g}; unless they are equal reports tell "
            "the rest of the reading: take a lattice of that step, or laplace:b"
        )
    return DiscreteLaplace(b / step)


def _staircase(parameters: Parameters, step: Fraction) -> Law:
    epsilon, delta, gamma = parameters
    return RoundedStaircase(epsilon, delta / step, gamma)


_BUILDERS: dict[str, Callable[[Parameters, Fraction], Law]] = {
    "laplace": lambda p, step: DiscreteLaplace(p[0] / step),
    "gaussian": lambda p, step: DiscreteGaussian(p[0] / step),
    "geometric": _geometric,
    "uniform": lambda p, step: RoundedUniform(p[0] / step),
    "staircase": _staircase,
    "sine": lambda p, step: RoundedSine([theta ** (2 * k + 1) / step for k, theta in enumerate(p)]),
    "tabulated": lambda p, step: RoundedTable(tuple(y / step for y in p[::2]), p[1::2]),
    **{name: each.build for name, each in found_here().items()},
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
    **{name: each.reach for name, each in found_here().items()},
}
"""What |psi| exceeds never, or with a probability of about exp(-TAIL)."""
PER_UNIT: dict[str, Callable[[Parameters], Fraction]] = {
    "laplace": lambda p: 1 / p[0],
    "geometric": lambda p: 1 / p[0],
    **{name: each.per_unit for name, each in found_here().items() if each.per_unit},
}
"""Pure epsilon for each unit of a reading's change, of parameters that are not 0, where it grows evenly."""
STAIRS: dict[str, Callable[[Parameters, Fraction], float]] = {
    "staircase": lambda p, change: float(p[0] * math.ceil(change / p[1])) if p[1] else math.inf,
}
"""Pure epsilon of a change where it grows in steps: for every delta, begun or whole. Rounding is post-processing."""


def _laplace(p: Parameters, change: Fraction, step: Fraction, order: float) -> float:
    return laplace_divergence(float(step / p[0]), float(change / p[0]), order)


DIVERGENCE: dict[str, Callable[[Parameters, Fraction, Fraction, float], float]] = {
    "laplace": _laplace,
    "geometric": _laplace,
    "gaussian": lambda p, change, _, order: order * float(change / p[0]) ** 2 / 2,  # exact for whole steps
    **{name: each.divergence for name, each in found_here().items() if each.divergence},
}
"""The Renyi divergence of one report for a change, on a lattice, of an order; or what bounds it from above."""
