"""Names of the paper's menu if there is also an offer: its letters become paper A and so on."""

from dataclasses import replace

import pyarrow as pa

from halfmask.audits.card import ReportCard
from halfmask.choice.mix import Mix
from halfmask.menus.menu import NONE_ID, Menu

PAPER = "paper "


def paper_name(id: str) -> str:
    """``paper A`` for A; "none" is the same everywhere."""
    return id if id == NONE_ID or id.startswith(PAPER) else PAPER + id


def paper_menu(menu: Menu) -> Menu:
    """Return the menu with the names of its settings."""
    return replace(menu, settings=tuple(replace(each, id=paper_name(each.id)) for each in menu.settings))


def paper_card(card: ReportCard) -> ReportCard:
    """Return the card of that menu."""
    cards = tuple(replace(each, id=paper_name(each.id)) for each in card.cards)
    return replace(card, cards=cards, best=replace(card.best, like=paper_name(card.best.like)) if card.best else None)


def paper_mix(mix: Mix) -> Mix:
    """Mixes of that menu, as figures look at them: by the setting that has most users."""
    place = mix.table.schema.get_field_index("dominant")
    names = [None if id is None else paper_name(id) for id in mix.table["dominant"].to_pylist()]
    return replace(mix, table=mix.table.set_column(place, "dominant", pa.array(names, pa.string())))
