"""What attacks found out under the levels of an offer, for page one."""

from halfmask.audits.card import ReportCard
from halfmask.figures.wording import in_a_list
from halfmask.menus.menu import Menu
from halfmask.pages.offered_levels import by_promise
from halfmask.pages.page_numbers import percent
from halfmask.pages.page_parts import Markup, bullets, html_table, joined_markup, paragraph
from halfmask.pages.recommendation import ATTACKS, ERRORS, attacks_of, worse
from halfmask.protection.attacks.finding import Finding

AS_UNMASKED = "as unmasked"
"""Marks a result that does not differ measurably from that on unmasked reports."""


def learned(menu: Menu, card: ReportCard | None = None) -> Markup:
    """Return how much of a reading stays hidden, and a table of attacks by level; or that nothing is measured."""
    told = [*_hidden(menu)]
    held = {each.id: {found.name: found for found in attacks_of(each)} for each in card.cards} if card else {}
    ids = [each.id for each in menu.settings[:-1] if held.get(each.id)]
    if not ids:
        missing = "No attack was run on the offer's levels."
        return joined_markup([bullets(told) if told else "", paragraph(missing, "absent")])
    rows = []
    for name, words in ATTACKS.items():
        found = {id: held[id][name] for id in ids if name in held[id]}
        if not found:
            continue
        bare = max(each.baseline or 0.0 for each in found.values())
        cells = [_cell(found[id]) if id in found else "–" for id in ids]
        rows.append([f"{words[:1].upper()}{words[1:]}", *cells, _known(name, percent(bare))])
    meaning = (
        "What attacks find out, with 95 % intervals over the attacked users. Of totals: how far off the middle user's "
        f"is known. Of the others: how often the attacker is right. “{AS_UNMASKED}”: no measurable difference."
    )
    table = html_table(meaning, ["Attack", *ids, "Unmasked"], rows)
    return joined_markup([bullets(told) if told else "", table])


def _hidden(menu: Menu) -> list[str]:
    """Return how much of a reading stays hidden under the lightest and the strongest level; empty for totals."""
    known = {each.id: each.protection.guess for each in menu.settings[:-1] if each.protection}
    shares = {id: share for id, share in known.items() if share is not None}
    if by_promise(menu) or not shares:
        return []
    ends = [f"{percent(shares[id])} under {id}" for id in dict.fromkeys((next(iter(shares)), list(shares)[-1]))]
    return [
        f"Hidden: the share of a reading that its best guess from the report still misses, {in_a_list(ends)}. At 0 % "
        "the reading is known, at 100 % the report tells nothing."
    ]


def _cell(found: Finding) -> str:
    low, high = (percent(each).removesuffix(" %") for each in (found.low, found.high))
    same = "" if worse(found) else f", {AS_UNMASKED}"
    return f"{_known(found.name, percent(found.value))} ({low}–{high}){same}"


def _known(name: str, share: str) -> str:
    return f"± {share}" if name in ERRORS else share
