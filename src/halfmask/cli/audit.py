"""``halfmask audit``."""

from dataclasses import replace
from typing import TYPE_CHECKING

from halfmask.cli.output import bar, note, print_json, print_rows
from halfmask.commands._options import Flag
from halfmask.commands.audit import Audit
from halfmask.commands.audit import audit as audit_settings

if TYPE_CHECKING:
    from halfmask.audits.card import ReportCard
    from halfmask.protection.guarantees.guarantee import Guarantee


DEFAULTS = Audit()


def audit(options: Audit = DEFAULTS, *, json: Flag = False) -> None:
    """What settings really protect: score, guarantee and attacks side by side, for a menu or for one setting.

    Parameters
    ----------
    json
        Print JSON instead of tables.
    """
    from halfmask.plain import to_plain
    from halfmask.protection.guarantees.guarantee import Guarantee

    with bar("attacking", 1) as advance:
        found = audit_settings(replace(options, advance=advance))
    if json:
        print_json(to_plain(found) if isinstance(found, Guarantee) else found.to_json())
    elif isinstance(found, Guarantee):
        _guarantee(found)
    else:
        _card(found)
    if options.output is not None:
        note(f"wrote {options.output}")


def _guarantee(found: "Guarantee") -> None:
    from halfmask.protection.guarantees.table import guarantee_lines, guarantee_rows
    from halfmask_device.decimals import number_text

    drawn = "continuous" if found.step is None else f"drawn on steps of {number_text(found.step)}"
    size = number_text(found.sensitivity)
    print_rows(guarantee_rows(found), f"{found.setting}, {drawn}, for a change of up to {size} in each reading")
    if found.step is None:
        note("of the continuous law, which no device draws: name `step`, the device's `state` or its `campaign`")
    note(found.label)
    for told in guarantee_lines(found, [1, *found.composed]):
        note(told)


def _card(card: "ReportCard") -> None:
    from halfmask.audits.tables import card_notes, card_rows
    from halfmask.menus.words import brief

    print_rows(card_rows(card), "What each setting protects")
    for each in card.cards:
        note(f"\n{each.id}  {brief(each.setting)}\n   {each.sentence}")
        for told in each.lines():
            note(f"   {told}")
        for warning in each.warnings:
            note(f"   ! {warning}")
    note("")
    for told in card_notes(card):
        note(told)
