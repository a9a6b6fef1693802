"""Discrete Laplace noise on a lattice that the setting names."""

from fractions import Fraction

from halfmask_device.errors import SettingError
from halfmask_device.law import TAIL, DeviceMechanism, Law, Parameters
from halfmask_device.laws.laplace import DiscreteLaplace, divergence


def _build(parameters: Parameters, step: Fraction) -> Law:
    b, own = parameters
    if own != step:  # on a finer lattice every report would show the reading's last digits
        raise SettingError(
            f"geometric: its step is {float(own):g}, the lattice's {float(step):g}; unless they are equal, reports "
            "show the rest of the reading: take a lattice of that step, or laplace:b",
            kind="step",
        )
    return DiscreteLaplace(b / step)


def _restrict(parameters: tuple[float, ...]) -> None:
    if parameters[1] == 0:
        raise SettingError(
            "geometric: step is 0, but a lattice needs a step above 0; for none write laplace:b",
            kind="range",
            field="step",
        )


MECHANISM = DeviceMechanism(
    "geometric",
    ("b", "step"),
    build=_build,
    reach=lambda p: TAIL * p[0],
    restrict=_restrict,
    per_unit=lambda p: 1 / p[0],
    divergence=divergence,
)
