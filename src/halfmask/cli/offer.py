"""``halfmask offer``."""

from dataclasses import replace

from halfmask.cli.output import bar, note, print_json, print_rows
from halfmask.commands._options import Flag
from halfmask.commands.offer import OfferOptions
from halfmask.commands.offer import offer as make_offer


def offer(options: OfferOptions, *, json: Flag = False) -> None:
    """The menu one can sign: every level has a guarantee, and each step up buys a stated part of the guess error.

    Parameters
    ----------
    json
        Print the offer as JSON instead of a table.
    """
    from halfmask.menus.menu import menu_json
    from halfmask.menus.offer import offer_notes, offer_rows

    with bar("evaluating settings", 1) as advance:
        made = make_offer(replace(options, advance=advance))
    if json:
        print_json(menu_json(made.menu))
    else:
        print_rows(offer_rows(made.menu), "Offer")
        for told in (*offer_notes(made.menu), made.sentence(), *made.menu.warnings()):
            note(told)
    note(f"wrote {options.output}")
