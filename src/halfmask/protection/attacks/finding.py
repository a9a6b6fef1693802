"""What one attack found: a number, what to hold it against, and one sentence."""

import math
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

    def to_json(self) -> dict[str, Any]:
        """Plain values; a number that is not finite becomes null."""
        return {
            "name": self.name,
            "metric": self.metric,
            "value": plain(self.value),
            "baseline": plain(self.baseline),
            "words": self.words,
            "details": plain(self.details),
        }


def not_applicable(name: str, metric: str, why: str) -> Finding:
    """An attack that this setting or this evidence gives no hold."""
    return Finding(name, metric, None, None, why)


def figure(value: float, unit: str = "") -> str:
    """A number for a sentence: three digits, and no powers of ten before a million; with its unit where it has one."""
    return (f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}") + (f" {unit}" if unit else "")


def plain(value: Any) -> Any:
    """What JSON can hold of a value: a number that is not finite becomes null."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if value is None or isinstance(value, bool | str | int):
        return value
    return float(value) if math.isfinite(value) else None
