"""The privacy loss of one report with the noise that a device draws: k whole steps of the published lattice.

Some mechanisms have a discrete form on the lattice and state their loss (`Mechanism.lattice_loss_cells`). All other
noise is the rounded continuous law: P(k) is its mass from (k - 1/2) to (k + 1/2) steps. Readings lie on the lattice
too (halves are rounded up), so readings up to d apart are at most ceil(d/step) steps apart.

Each k is one cell, and delta is a sum over all k. A rounded law keeps at least what the continuous law guarantees for a
change of that many steps, because rounding is post-processing.
"""

import math
from fractions import Fraction

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.mechanisms.privacy_loss import LossCells, told_apart
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.continuous_noise import masses, reach_of
from halfmask_device.decimals import number_text

MOST_POINTS = 2**16
"""Most lattice points of a rounded law that are summed one by one."""
MOST_STEPS = 2**53
MOST_LISTED = 2**22
NOTHING = 1e-14
"""Smaller masses are not distinguished from 0; a report with such a mass under Q counts as impossible."""


def lattice_steps(change: float, step: float) -> int:
    """Return ceil(change/step) of the decimals that print as these floats: 0.3 is three steps of 0.1."""
    if not 0 < step < math.inf:
        raise OptionError(
            f"the step is {number_text(step)}; it is the lattice's, in the readings' unit and above 0",
            kind="range",
            field="step",
        )
    steps = math.ceil(Fraction(number_text(change)) / Fraction(number_text(step)))
    if steps > MOST_STEPS:
        raise OptionError(
            f"a change of {number_text(change)} is more than {MOST_STEPS:,} steps of {number_text(step)}: "
            "take a coarser step, or say how far a reading may really change",
            kind="fine",
            field="step",
        )
    return steps


def rounded_up(change: float, step: float) -> float:
    """Return the change rounded up to the lattice: 0.21 is 0.3 on steps of 0.1."""
    return float(lattice_steps(change, step) * Fraction(number_text(step)))


def check_step(setting: PrivacySetting, step: float) -> None:
    """Raise an OptionError if the setting's noise has its own lattice with another step."""
    own = setting.law.lattice(setting.parameters)
    if own is not None and own != step:
        raise OptionError(
            f"{setting} has a step of its own, {number_text(own)}: give that as the step, or none",
            kind="own",
            field="step",
        )


def lattice_loss_cells(setting: PrivacySetting, step: float, steps: int, largest: float = math.inf) -> LossCells | None:
    """Return the privacy loss of one report for two readings ``steps`` steps apart.

    ``largest`` is the pure epsilon, if there is one. The result is None for a rounded law on a lattice that is too fine
    to be summed; the continuous law is then a bound.
    """
    known = setting.law.lattice_loss_cells(setting.parameters, step, steps)
    if known is not None:
        return known
    found = rounded_masses(setting, step)
    return None if found is None else points(found, steps, largest)


def rounded_masses(setting: PrivacySetting, step: float) -> FloatArray | None:
    """Return P(k) of a rounded law for k = -K..K, or None if these are more than `MOST_POINTS`.

    K is the last possible k; for an unbounded law both tails beyond K have a mass of about 1e-14.
    """
    end = reach_of(setting) / step
    if not end < MOST_POINTS / 2:
        return None
    furthest = math.floor(end + 0.5)
    found = masses(setting, np.asarray((np.arange(-furthest, furthest + 2) - 0.5) * step, np.float64))[1:-1]
    found[[0, -1]] += max(1 - float(found.sum()), 0.0) / 2
    return found


def lattice_masses(setting: PrivacySetting, step: float) -> FloatArray:
    """Return P(k) of the noise that a device draws for k = -K..K, all but about 1e-14 of it."""
    check_step(setting, step)
    steps = math.floor(reach_of(setting) / step + 1.5)
    if steps > MOST_LISTED:
        raise OptionError(
            f"{setting} has too many values on steps of {number_text(step)} to list: take a coarser step",
            kind="fine",
            field="step",
        )
    return setting.law.pmf(setting.parameters, step, np.arange(-steps, steps + 1))


def points(pmf: FloatArray, steps: int, largest: float) -> LossCells:
    """Return cells of one lattice point each: P(k) against P(k - steps)."""
    if steps >= len(pmf) and largest == np.inf:
        return told_apart()
    q = np.zeros_like(pmf)
    if steps < len(pmf):
        q[steps:] = pmf[: len(pmf) - steps]
    held = pmf > 0
    p, q = pmf[held], q[held]
    with np.errstate(divide="ignore"):
        loss = np.where(q > NOTHING, np.log(p) - np.log(q), np.inf)
    certain = float(p[loss == np.inf].sum()) if largest == np.inf else 0.0
    loss = np.clip(loss, -largest, largest)
    return LossCells(p, loss, loss, loss, min(certain, 1.0))
