"""The options of ``halfmask optimize`` that the page's controls send in a query."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from halfmask.errors import OptionError
from halfmask.evaluation.scores import Constraint, Weights, parse_weights
from halfmask.menus.menu import Menu

NAMES = ("bins", "omega", "weights", "max-mean", "max-std")


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
        number, default = partial(_number, query), cls()
        return cls(
            bins=_whole(query, default.bins),
            omega=number("omega", default.omega),
            weights=parse_weights(query.get("weights")) or default.weights,
            max_mean=number("max-mean", default.max_mean),
            max_std=number("max-std", default.max_std),
        )

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


def _number(query: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(query.get(name, default))
    except ValueError as error:
        raise OptionError(
            f"{name} '{query[name][:40]}' is not a number: write one such as {default:g}", kind="number"
        ) from error


def _whole(query: Mapping[str, str], default: int) -> int:
    try:
        return int(query.get("bins", default))
    except ValueError as error:
        raise OptionError(
            f"bins '{query['bins'][:40]}' is not a whole number: write one such as {default}", kind="number"
        ) from error
