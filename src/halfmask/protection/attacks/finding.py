"""What one attack found: a number, what to hold it against, and one sentence."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Finding:
    """The outcome of one attack on one setting.

    ``metric``    what ``value`` is, with its unit; ``baseline`` is the same without attack, noise or skill
    ``value``     None where the attack does not apply; ``words`` then says why
    ``details``   further numbers by name
    ``words``     one plain sentence with the figures
    """

    name: str
    metric: str
    value: float | None
    baseline: float | None
    words: str
    details: dict[str, Any] = field(default_factory=dict)


def not_applicable(name: str, metric: str, why: str) -> Finding:
    """An attack that this setting or this evidence gives no hold."""
    return Finding(name, metric, None, None, why)


def figure(value: float, unit: str = "") -> str:
    """A number for a sentence: three digits, and no powers of ten before a million; with its unit where it has one."""
    return (f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}") + (f" {unit}" if unit else "")
