"""The experiment: what a study evaluated and on which users; studies, menus, mixes and cards contain it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from halfmask.evaluation.aggregates import default_aggregate
from halfmask.evaluation.metrics import ErrorFunction
from halfmask.evaluation.sampling import parse_sizes, population
from halfmask.profiles.profile import Profile

Method = Literal["analytic", "direct"]


@dataclass(frozen=True)
class Experiment:
    """How samples were made; two results can be compared if their experiments are equal.

    ``grid``         name of the settings, as requested
    ``sizes``        numbers of users in the subsets, ascending
    ``repeats``      number of subsets of each size
    ``seed``         of subsets and noise
    ``aggregate``    of a period's readings
    ``error``        the error function, relative or scaled
    ``period``       the time that an aggregate covers
    ``method``       analytic or direct
    ``fingerprint``  of the data
    """

    grid: str = "paper"
    sizes: tuple[int, ...] = ()
    repeats: int = 3
    seed: int = 7
    aggregate: str = "sum"
    error: ErrorFunction = "relative"
    period: str = "day"
    method: Method = "analytic"
    fingerprint: str | None = None

    @classmethod
    def on(
        cls,
        profile: Profile,
        *,
        grid: str = "settings",
        sizes: str | Sequence[int | str] = "default",
        repeats: int = 3,
        seed: int = 7,
        aggregate: str | None = None,
        error: ErrorFunction = "relative",
        method: Method = "analytic",
    ) -> "Experiment":
        """Return an experiment on the users of this profile.

        ``sizes`` are as in `parse_sizes`. If ``aggregate`` is None, the one that suits the profile is used.
        """
        return cls(
            grid, tuple(parse_sizes(sizes, population(profile))), repeats, seed,
            aggregate or default_aggregate(profile), error,
            profile.period.text, method, profile.fingerprint(),
        )  # fmt: skip

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> "Experiment":
        """Return the experiment in a file's description; missing fields have their defaults."""
        default = cls()
        return cls(
            grid=str(about.get("grid", default.grid)),
            sizes=tuple(about.get("sizes", ())),
            repeats=int(about.get("repeats", default.repeats)),
            seed=int(about.get("seed", default.seed)),
            aggregate=str(about.get("aggregate", default.aggregate)),
            error=about.get("error", default.error),
            period=str(about.get("period", default.period)),
            method=about.get("engine", default.method),
            fingerprint=about.get("fingerprint"),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the experiment as files contain it, with the method named "engine"."""
        plain = {**vars(self), "sizes": list(self.sizes), "engine": self.method}
        del plain["method"]
        return plain
