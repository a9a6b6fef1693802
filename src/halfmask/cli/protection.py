"""The command that says what settings really protect."""

import math
from pathlib import Path

from halfmask.cli.app import Columns, Flag, OutputIfAny, app
from halfmask.cli.output import bar, note, print_json, print_rows


@app.command
def audit(
    menu: Path | None = None,
    *,
    profile: Path | None = None,
    panel: str | None = None,
    output: OutputIfAny = None,
    setting: str | None = None,
    sensitivity: float | None = None,
    reports: str = "48,1440,17520",
    seed: int = 7,
    other_data: Flag = False,
    json: Flag = False,
    columns: Columns = Columns(),  # noqa: B008, a frozen value
) -> None:
    """What settings really protect: score, guarantee and attacks side by side, for a menu or for one setting.

    Parameters
    ----------
    menu
        A file that 'halfmask optimize' wrote. With --setting none is needed.
    profile
        The menu's profile: attacks use the population's readings and each user's totals.
    panel
        The readings the profile was made of: attacks then see series of readings, not totals by period.
    output
        The report card to write (JSON); 'halfmask report' shows it.
    setting
        Instead of a menu: the guarantee of this one setting, like laplace:0.5.
    sensitivity
        The largest change of a reading that is to be hidden, in the readings' unit (its published range).
    reports
        With --setting: numbers of reports to add up the guarantee over.
    seed
        For the attacks' draws. The noise of the device's sampler cannot be seeded.
    other_data
        Take a menu that was made on other data than the profile.
    json
        Print JSON instead of tables.
    columns
        How to read the panel, as 'halfmask profile' was told.
    """
    from halfmask.errors import OptionError

    if (setting is None) == (menu is None):
        raise OptionError("name a menu to audit, or one setting with --setting, not both")
    if sensitivity is not None and not 0 < sensitivity < math.inf:
        raise OptionError(f"the sensitivity is {sensitivity:g}: say how far a reading may change, a number above 0")
    if setting is not None:
        _one(setting, sensitivity, reports, json)
        return
    if menu is None or profile is None:
        raise OptionError("attacks need the menu's profile: name it with --profile")
    if panel is None and columns != Columns():
        raise OptionError("columns are those of the readings: name their source with --panel")
    _menu(menu, profile, panel, columns, output, sensitivity, seed, other_data, json)


def _one(text: str, sensitivity: float | None, reports: str, json: bool) -> None:
    from halfmask.audits.tables import guarantee_rows
    from halfmask.errors import OptionError
    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.protection.guarantees.guarantee import guarantee

    try:
        counts = [int(number) for number in reports.split(",")]
    except ValueError as error:
        raise OptionError(f"reports '{reports}' are not whole numbers with commas between, like 48,1440") from error
    found = guarantee(PrivacySetting.parse(text), sensitivity, counts)
    if json:
        print_json(found.to_json())
        return
    print_rows(guarantee_rows(found), f"{found.setting}, for a change of up to {found.sensitivity:g}")
    note(found.label)


def _menu(
    path: Path,
    profile: Path,
    panel: str | None,
    columns: Columns,
    output: Path | None,
    sensitivity: float | None,
    seed: int,
    other_data: bool,
    json: bool,
) -> None:
    from halfmask.audits.card import audit_menu, write_card
    from halfmask.audits.tables import card_notes, card_rows
    from halfmask.data.sources import open_panel
    from halfmask.menus.floor import brief
    from halfmask.menus.menu import read_menu
    from halfmask.profiles.store import load_profile

    made, people = read_menu(path), load_profile(profile)
    readings = None if panel is None else open_panel(panel, **vars(columns))
    with bar("attacking", len(made.settings)) as advance:
        card = audit_menu(
            made, people, readings, sensitivity=sensitivity, seed=seed, other_data=other_data, advance=advance
        )
    if output is not None:
        write_card(card, output)
    if json:
        print_json(card.to_json())
    else:
        print_rows(card_rows(card), "What each setting protects")
        for each in card.cards:
            note(f"\n{each.id}  {brief(each.setting)}\n   {each.sentence}")
            for warning in each.warnings:
                note(f"   ! {warning}")
        note("")
        for told in card_notes(card):
            note(told)
    if output is not None:
        note(f"wrote {output}")
