"""A change of setting by what producers and the consumer ask for."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from cyclopts import Parameter

from halfmask.commands._options import AnyMenu, AnyProfile, AnyTable, Options, command, held
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.choice.requirements import Assignment, Choice


@Parameter(name="*")
@dataclass(frozen=True)
class Choose(Options):
    """Options of `choose`.

    Parameters
    ----------
    menu
        A file that 'halfmask optimize' wrote.
    current
        The setting in use: an id of the menu.
    delta
        Privacy that producers ask for on top of the current one.
    c
        Change of utility that the consumer asks for (negative: may be lost).
    deltas
        CSV of user,delta: every producer asks for itself; needs --profile.
    profile
        The profile of the producers.
    seed
        For the utility of an assignment.
    """

    positional: ClassVar[tuple[str, ...]] = ("menu", "current")

    menu: AnyMenu = Path("menu.json")
    _: KW_ONLY
    current: Annotated[str, Parameter(name="--from")]
    delta: float = 0.0
    c: float = 0.0
    deltas: AnyTable | None = None
    profile: AnyProfile | None = None
    seed: int = 7


@command(Choose)
def choose(options: Choose) -> "Choice | Assignment":
    """Change a setting: producers ask for more privacy, the consumer for more utility.

    One change for all gives a `Choice`; with ``deltas``, which Python also takes as a mapping, every producer gets a
    setting: an `Assignment`.
    """
    from halfmask.choice.requirements import assign, read_deltas
    from halfmask.choice.requirements import choose as find_setting
    from halfmask.menus.menu import Menu
    from halfmask.profiles.profile import Profile

    menu = held(Menu, options.menu)
    if options.deltas is None:
        return find_setting(menu, options.current, delta=options.delta, c=options.c)
    if options.profile is None:
        raise OptionError("deltas assign a setting to every producer: name their profile")
    deltas = options.deltas if isinstance(options.deltas, Mapping) else read_deltas(options.deltas)
    return assign(held(Profile, options.profile), menu, options.current, deltas, c=options.c, seed=options.seed)
