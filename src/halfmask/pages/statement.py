"""The statement that is signed: one page with an offer's levels, promises, attacks, calibration and hash."""

from halfmask import __version__
from halfmask.audits.card import ReportCard
from halfmask.errors import OptionError
from halfmask.menus.menu import ATTACKS, CALIBRATION, Menu
from halfmask.menus.offer_table import calibration_notes
from halfmask.pages.learned_by_attacks import learned
from halfmask.pages.offered_levels import levels_table, promised
from halfmask.pages.page_parts import Markup, bullets, joined_markup, page_file, paragraph, render
from halfmask.pages.recommendation import level_advice

LIMITS = (
    "That a producer takes part, when it reports, and from which address, is not hidden.",
    "Promises of several days, campaigns and levels add up. A device keeps a budget of them and stops at it.",
    "Attacks show what could be learned at least. A promise bounds what can be learned at most.",
)
"""What no level promises."""


def statement(menu: Menu, card: ReportCard | None = None) -> str:
    """Return the page of a signed offer, as text.

    ``card``  the audit of the same levels, whose attacks are shown; the menu was signed with it
    """
    if menu.signed is None or menu.question is None:
        raise OptionError("only a signed offer has a statement: name `sign` and `until`", kind="sign", field="sign")
    if card is not None and [each.setting for each in card.cards] != [each.setting for each in menu.settings]:
        raise OptionError("the card is of other settings than the offer: audit this offer", kind="card", field="card")
    made = menu.provenance.get("offer", {})
    return render(
        "statement.html",
        style=page_file("page.css"),
        kind="Statement",
        name="What this offer promises",
        what=f"{made.get('producers', 0):,} producers; totals of each {menu.question.noun}",
        levels=levels_table(menu, None),
        promises=bullets(promised(menu)),
        attacks=_attacks(menu, card),
        calibration=bullets(_sentences(_rests_on(menu))) if CALIBRATION in menu.provenance else "",
        limits=bullets(LIMITS),
        signed=menu.signed,
        foot=f"halfmask {__version__}",
    )


def _attacks(menu: Menu, card: ReportCard | None) -> Markup:
    """Return what attacks found out, on whose readings, and which levels page one would recommend by it."""
    declared = menu.provenance.get(ATTACKS)
    if card is None or menu.signed is None or declared is None:
        return paragraph("No audit was published with this offer.", "absent")
    kept = [each.id for each in level_advice(menu, None, card) if not each.against]
    told = f"Recommended by the report's rule: {', '.join(kept) or 'none of the levels'}."
    if any(each.setting.release == "split" for each in menu.settings):
        told += (
            " Attacks on the split level are those of one of the two services, which knows the totals of all others."
        )
    of = (
        f"Attacks were run on {card.about.evidence} of {card.about.users:,} users. {menu.signed.by} declares that "
        f"these data are public: {declared['data']} (fingerprint {card.about.fingerprint[:12]}). The hash below "
        f"covers this declaration and the card, whose file has the SHA-256 {declared['card']}."
    )
    return joined_markup([learned(menu, card), paragraph(of), paragraph(told)])


def _rests_on(menu: Menu) -> list[str]:
    """Return what the figures rest on, and why some are missing."""
    why = menu.provenance[CALIBRATION].get("unknown")
    return [*calibration_notes(menu), *([] if why is None else [why])]


def _sentences(notes: list[str]) -> list[str]:
    return [f"{each[:1].upper()}{each[1:]}." for each in notes]
