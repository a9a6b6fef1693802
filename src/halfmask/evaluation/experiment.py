"""The experiment: what a study tried and on whom, one value that study, menu, mix and card carry."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Experiment:
    """How samples were made; two results can be compared where theirs are equal.

    ``grid``         the settings, as they were asked for
    ``sizes``        users in the subsets
    ``repeats``      subsets of each size
    ``seed``         of subsets and noise
    ``aggregate``    of a period's readings
    ``error``        the error function, relative or scaled
    ``period``       what an aggregate covers
    ``method``       analytic or direct
    ``fingerprint``  of the data
    """

    grid: str = "paper"
    sizes: tuple[int, ...] = ()
    repeats: int = 3
    seed: int = 7
    aggregate: str = "sum"
    error: str = "relative"
    period: str = "day"
    method: str = "analytic"
    fingerprint: str | None = None

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> "Experiment":
        """From what a file says of itself; what it does not say is the default."""
        default = cls()
        return cls(
            grid=str(about.get("grid", default.grid)),
            sizes=tuple(about.get("sizes", ())),
            repeats=int(about.get("repeats", default.repeats)),
            seed=int(about.get("seed", default.seed)),
            aggregate=str(about.get("aggregate", default.aggregate)),
            error=str(about.get("error", default.error)),
            period=str(about.get("period", default.period)),
            method=str(about.get("engine", default.method)),
            fingerprint=about.get("fingerprint"),
        )

    def to_json(self) -> dict[str, Any]:
        """As files hold it: the method is called engine there."""
        plain = {**vars(self), "sizes": list(self.sizes), "engine": self.method}
        del plain["method"]
        return plain
