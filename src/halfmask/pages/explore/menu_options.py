"""The options of ``halfmask optimize`` that the page's controls send in a query."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from halfmask.errors import OptionError
from halfmask.evaluation.scores import Constraint, Weights, parse_weights
from halfmask.menus.menu import Menu

NAMES: dict[str, tuple[Callable[[str], Any], str]] = {
    "bins": (int, "a whole number: write one such as 5"),
    "omega": (float, "a number: write one such as 0.1"),
    "weights": (parse_weights, "six numbers: write them with commas between"),
    "max-mean": (float, "a number: write one such as 0.1"),
    "max-std": (float, "a number: write one such as 0.1"),
}
"""The options of a query: what reads each, and what it has to be."""


@dataclass(frozen=True)
class MenuOptions:
    """How to choose a menu; the defaults are those of the command."""

    bins: int = 5
    omega: float = 0.1
    weights: Weights = field(default_factory=Weights)
    max_mean: float = Constraint().max_mean
    max_std: float = Constraint().max_std

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> "MenuOptions | None":
        """Return the options of a query; None if it has none, which means the folder's own menu."""
        unknown = [name for name in query if name not in NAMES]
        if unknown:
            raise OptionError(f"there is no option '{unknown[0][:40]}': there are {', '.join(NAMES)}", kind="unknown")
        if not query:
            return None
        return cls(**{name.replace("-", "_"): _read(name, text) for name, text in query.items()})

    @classmethod
    def of_menu(cls, menu: Menu) -> "MenuOptions":
        """Return the options by which a menu was chosen."""
        said, default = menu.constraints, cls()
        return cls(
            bins=int(menu.provenance.get("bins", default.bins)),
            omega=float(said.get("omega", default.omega)),
            weights=menu.weights,
            max_mean=float(said.get("max_mean", default.max_mean)),
            max_std=float(said.get("max_std", default.max_std)),
        )


def _read(name: str, text: str) -> Any:
    read, wanted = NAMES[name]
    try:
        return read(text)
    except ValueError as error:
        raise OptionError(f"{name} '{text[:40]}' is not {wanted}", kind="number") from error
