"""The result of an attack: a number, its baseline and one sentence."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """The result of one attack on one setting.

    ``metric``       definition of ``value``, with its unit
    ``value``        None if the attack does not apply; ``words`` then gives the reason
    ``baseline``     the value for comparison: on unmasked reports, without attack, without noise or by chance
    ``words``        one plain sentence with the figures
    ``details``      further numbers by name
    ``low, high``    95 % interval of ``value`` over the attacked users; None for values that are not sampled
    """

    name: str
    metric: str
    value: float | None
    baseline: float | None
    words: str
    details: dict[str, Any] = field(default_factory=dict)
    low: float | None = None
    high: float | None = None


def not_applicable(name: str, metric: str, why: str) -> Finding:
    """Return the finding of an attack that cannot work on this setting or this evidence."""
    return Finding(name, metric, None, None, why)


def figure(value: float, unit: str = "") -> str:
    """Return a number for a sentence: three digits, no power of ten below a million, and its unit, if any."""
    return (f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}") + (f" {unit}" if unit else "")
