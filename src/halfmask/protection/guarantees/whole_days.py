"""Epsilon for a whole day whose readings are masked one by one.

The readings of a period may change in any way as long as the changes add up to at most D in size. The reports of the
period then keep the largest sum of pure epsilons over all ways to spread D over n readings:

    proportional noise, eps(d) = a d:   a (D + n step), as each reading's change is rounded up to whole steps
    noise in steps of width w:          eps(w) ((D + n step) / w + n), as it then counts as whole widths

Pure epsilons add up over periods. Noise without a pure epsilon has no such promise: all of D may be in one reading.
"""

from halfmask.mechanisms.setting import PrivacySetting


def spread_epsilon(
    setting: PrivacySetting, change: float, readings: int, periods: int, step: float | None
) -> float | None:
    """Return the pure epsilon of ``periods`` periods of ``readings`` reports each; None if there is none."""
    noise = setting.noise
    if noise.kind != "additive" or noise.silent:
        return None
    law, parameters = noise.law, noise.parameters
    lattice = law.lattice(parameters) or step or 0.0
    width = law.epsilon_width(parameters)
    if width is not None:
        one = law.pure_epsilon(parameters, width)
        return None if one is None else periods * one * ((change + readings * lattice) / width + readings)
    epsilon = law.pure_epsilon(parameters, change + readings * lattice)
    return None if epsilon is None else periods * epsilon
