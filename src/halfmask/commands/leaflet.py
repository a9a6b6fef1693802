"""A page for households, from a menu alone."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Literal

from cyclopts import Parameter

from halfmask.commands._options import AnyMenu, Numbers, Options, Output, command, held
from halfmask.errors import OptionError


@Parameter(name="*")
@dataclass(frozen=True)
class Leaflet(Options):
    """Options of `leaflet`.

    Parameters
    ----------
    menu
        An offer or a menu.
    output
        The page to write (HTML); it works offline.
    language
        en or de.
    rewards
        What each level earns: A=5,B=4,N=10.
    currency
        What the rewards are, such as 'EUR a month'.
    unit
        Unit of a reading, for the words; the menu's by default.
    """

    menu: AnyMenu
    _: KW_ONLY
    output: Output = None
    language: Literal["en", "de"] = "en"
    rewards: Numbers | None = None
    currency: str = ""
    unit: str = ""


@command(Leaflet)
def leaflet(options: Leaflet) -> str:
    """One offline page for households: their evening as others see it under each choice. Gives the page's text."""
    from halfmask.commands.recommend import parse_rewards
    from halfmask.files import whole_file
    from halfmask.menus.menu import Menu
    from halfmask.pages.leaflet import leaflet as make_page

    if options.currency and options.rewards is None:
        raise OptionError("a currency is that of rewards: give `rewards` too")
    rewards = parse_rewards(options.rewards) if isinstance(options.rewards, str) else options.rewards
    paid = {id: f"{amount:g} {options.currency}".strip() for id, amount in (rewards or {}).items()}
    page = make_page(held(Menu, options.menu), language=options.language, rewards=paid, unit=options.unit)
    if options.output is not None:
        with whole_file(Path(options.output)) as temporary:
            temporary.write_text(page, encoding="utf-8")
    return page
