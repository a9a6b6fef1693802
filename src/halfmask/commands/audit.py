"""``halfmask audit``: measure what settings really protect."""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from halfmask.commands._files import from_campaign
from halfmask.commands._options import (
    AnyMenu,
    AnyPath,
    AnyProfile,
    AnySource,
    Flag,
    WholeIfAny,
    command,
)
from halfmask.commands._printing import CommandAnswer, bar
from halfmask.commands._shared_options import IN_SHORT, Advances, Display, MayWrite, Seeded, menu_of, profile_of, reopen
from halfmask.errors import OptionError, SourceError
from halfmask_device.setting import READING

YEAR = timedelta(days=365)
"""For how long the next command's signature holds."""

if TYPE_CHECKING:
    from halfmask.audits.card import ReportCard
    from halfmask.protection.guarantees.guarantee import Guarantee


class Audit(Seeded, MayWrite, Advances):
    """Options of `audit`.

    Parameters
    ----------
    menu
        A file that 'halfmask optimize' or 'halfmask offer' wrote; not needed with --setting.
    profile
        The menu's profile: attacks use the distribution of readings and each user's totals.
    panel
        The readings of the profile: attacks then use series of readings, not only totals by period.
    output
        The report card to write (JSON); 'halfmask report' shows it.
    setting
        Instead of a menu: the guarantee of this one setting, like laplace:0.5.
    sensitivity
        The largest change of a reading to hide, in the readings' unit (the width of the published range).
    step
        The step of the lattice that devices draw their noise on: the guarantee is of exactly that noise. By default the
        step of --state, of --campaign or of the menu; for a menu without one the devices' default, 0.001. A --setting
        without any of them is audited by its continuous law, which no device draws.
    state
        Folder of a device: its terms give step and range, and the setting if neither --setting nor a menu is named.
    campaign
        A campaign as the service shows it (JSON): it gives step, range and unit.
    protect
        Also print what each setting promises about a reading, a day, a whole-day, a month or a home.
    epsilon
        With --protect: say which settings keep this epsilon.
    delta
        The delta of these promises.
    change
        The change of a reading that --protect reading and day are about; by default a typical reading.
    low
        The least total of a period that --protect whole-day, month and home are about; by default the menu's.
    high
        The largest total of a period; by default the menu's, else from the data.
    window
        A number of readings in a row to protect together, in addition to one reading and a day of readings: 4
        half-hours cover two hours of an appliance.
    reports
        With --setting: the numbers of reports for which to compose the guarantee.
    seed
        The same seed gives the same attacks. The noise of the device's sampler cannot be seeded.
    other_data
        Accept a menu that was made on other data than the profile.
    user
        The panel's column with the user; by default as the profile was read.
    time
        The panel's column with the times; by default as the profile was read.
    value
        The panel's column with the readings; by default as the profile was read.
    format
        The panel's format, as for 'halfmask profile'.
    table
        The panel's table, if it is a database.
    wide
        The panel has one column per sensor, and one with the time.
    tz
        Time zone in which the profile's days begin.
    """

    positional: ClassVar[tuple[str, ...]] = ("menu", "profile", "panel", "output")

    menu: AnyMenu | None = field(default=None, kw_only=False)
    profile: AnyProfile | None = None
    panel: AnySource | None = None
    setting: str | None = None
    sensitivity: float | None = None
    step: float | None = None
    state: AnyPath | None = None
    campaign: AnyPath | None = None
    protect: Literal["reading", "day", "whole-day", "month", "home"] | None = None
    epsilon: float | None = None
    delta: float = 1e-6
    change: float | None = None
    low: float | None = None
    high: float | None = None
    window: WholeIfAny = None
    reports: str = "48,1440,17520"
    other_data: Flag = False
    user: str | None = None
    time: str | None = None
    value: str | None = None
    format: str | None = None
    table: str | None = None
    wide: Flag = False
    tz: str | None = None

    def columns(self) -> dict[str, Any]:
        """Return the options that say how the panel is read."""
        named = ("user", "time", "value", "format", "table", "wide", "tz")
        return {name: getattr(self, name) for name in named if getattr(self, name)}

    def check_together(self) -> None:
        """Raise an error if nothing is to be audited, if options exclude each other, or if one is missing."""
        if self.setting is not None and self.menu is not None:
            raise OptionError("name a menu to audit, or one `setting`, not both")
        if self.setting is None and self.menu is None and self.state is None:
            raise OptionError("name a menu to audit, one `setting`, or the `state` of a device")
        if self.state is not None and self.campaign is not None:
            raise OptionError("a lattice is that of a device, `state`, or of a `campaign`: name one of them")
        if self.sensitivity is not None and not 0 < self.sensitivity < math.inf:
            raise OptionError(
                f"the sensitivity is {self.sensitivity:g}: say how far a reading may change, a number above 0",
                kind="range",
                field="sensitivity",
            )
        if self.menu is not None and self.profile is None:
            raise OptionError("attacks need the menu's profile: name `profile`")
        if self.epsilon is not None and self.protect is None:
            raise OptionError("an epsilon is about something: name what may change, `protect`")
        if self.panel is None and self.columns():
            raise OptionError("columns are those of the readings: name their source, `panel`")


@command(Audit, group="Check")
def audit(options: Audit) -> "ReportCard | Guarantee":
    """Audit what settings really protect: score, guarantee and attacks, for a menu or for one setting.

    A menu gives a `ReportCard`; one setting gives its `Guarantee`. With a panel, the readings of the profile, attacks
    use series of readings; without it, totals by period.
    """
    asked, options = options, _on_lattice(options)
    if options.menu is None or options.profile is None:
        return _guarantee(options)
    from halfmask.audits.audit import audit_menu

    menu, people = menu_of(options.menu), profile_of(options.profile)
    card = audit_menu(
        menu,
        people,
        None if options.panel is None else reopen(options.panel, people, options.columns()),
        sensitivity=options.sensitivity,
        step=options.step,
        window=options.window,
        seed=options.seed,
        other_data=options.other_data,
        change=options.change,
        low=options.low,
        high=options.high,
        delta=options.delta,
        advance=options.advance,
    )
    return replace(card, about=replace(card.about, asked=asked.asked()))


def _on_lattice(options: Audit) -> Audit:
    """Return the options, completed from the device's terms or the campaign; unchanged if neither is named."""
    if options.state is not None:
        from halfmask_device import State
        from halfmask_device.device_state import TERMS
        from halfmask_device.terms import read_terms

        held = (Path(options.state) / TERMS).is_file()
        terms = read_terms(State(options.state)) if held else None
        if terms is None:
            raise SourceError(f"{options.state} holds no terms: `state` is the folder of a device that has masked")
        lattice, setting = terms.lattice, terms.setting_text
        published = terms.published
    elif options.campaign is not None:
        from halfmask_device import Lattice

        def take(plain: Any) -> Lattice:
            own = plain["lattice"]
            return Lattice(own["step"], own["low"], own["high"])

        lattice = from_campaign(options.campaign, "a lattice of step, low and high", take)
        setting, published = None, True
    else:
        return options
    width = float(lattice.high) - float(lattice.low) if published else None
    return replace(
        options,
        setting=options.setting or (setting if options.menu is None else None),
        step=float(lattice.step) if options.step is None else options.step,
        sensitivity=width if options.sensitivity is None else options.sensitivity,
    )


def _guarantee(options: Audit) -> "Guarantee":
    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.protection.guarantees.guarantee import drawn_guarantee

    setting = PrivacySetting.parse(options.setting or "none")
    counts = [*([] if options.window is None else [options.window]), *_counts(options.reports)]
    return drawn_guarantee(setting, options.sensitivity, counts, options.step)


def _counts(reports: str) -> Sequence[int]:
    try:
        return [int(number) for number in reports.split(",")]
    except ValueError as error:
        raise OptionError(
            f"reports '{reports}' are not whole numbers with commas between, like 48,1440",
            kind="number",
            field="reports",
        ) from error


def main(options: Audit, *, shown: Display = IN_SHORT) -> None:
    """Audit what settings really protect: score, guarantee and attacks, for a menu or for one setting."""
    from halfmask.protection.guarantees.guarantee import Guarantee

    with bar("attacking", 1) as advance:
        found = audit(replace(options, advance=advance))
    shown.show(_of_guarantee(found) if isinstance(found, Guarantee) else _of_card(found, options))


def _of_guarantee(found: "Guarantee") -> CommandAnswer:
    from halfmask.plain import to_plain
    from halfmask.protection.guarantees.promises import guarantee_lines, guarantee_rows
    from halfmask_device.decimals import number_text

    drawn = "continuous" if found.step is None else f"drawn on steps of {number_text(found.step)}"
    size, masked = number_text(found.sensitivity), found.setting.release
    words = [each.replace(READING, masked) for each in guarantee_lines(found, [1, *found.composed])]
    if masked != READING:
        words.append(
            "a change of one reading changes its period's total by at most as much, one of n readings by n times that"
        )
    smooth = "of the continuous law, which no device draws: name `step`, the device's `state` or its `campaign`"
    return CommandAnswer(
        to_plain(found),
        [(f"{found.setting}, {drawn}, for a change of up to {size} in each {masked}", guarantee_rows(found))],
        f"{found.label.replace(READING, masked)}\n{words[0] if words else ''}".strip(),
        f"halfmask solve --epsilon 1 --change {size} --window 48",
        [smooth] if found.step is None else [],
        words=words[1:],
    )


def _of_card(card: "ReportCard", options: Audit) -> CommandAnswer:
    from halfmask.audits.card_table import attack_rows, card_notes, card_rows, card_warnings, protected_rows
    from halfmask.menus.menu import brief
    from halfmask.protection.guarantees.promises import SMALL_DELTA
    from halfmask_device.decimals import number_text

    menu = menu_of(options.menu or "")
    unit = options.protect or (menu.question.protect if menu.question and menu.release != READING else None)
    change, unit_of = card.about.sensitivity.typical, f" {card.about.unit}" if card.about.unit else ""
    size = f"{number_text(change)}{unit_of}"
    heading = f"What each setting protects, for a typical change of {size}"
    tables = [(heading, card_rows(card)), ("What reports still tell", attack_rows(card))]
    if unit is not None:
        tables.insert(0, (f"Promised {card.about.units[unit]}", protected_rows(card, unit, options.epsilon)))
    words, masked = [], menu.release
    day = f" (at delta 0) and in each of a day's {card.day:,} (at delta {number_text(SMALL_DELTA)})"
    what = f"reading{day}" if card.day > 1 else f"day's {masked}, at delta 0"
    if "offer" not in menu.provenance:
        then = "halfmask report ."
    elif menu.signed:
        then = f"halfmask leaflet {options.menu} -o leaflet.html"
    else:
        then = f"halfmask offer {options.menu} --sign NAME --until {date.today() + YEAR} -o signed.json"
    for each in card.cards:
        told = [each.sentence, *each.lines()]
        words += [f"\n{each.id}  {brief(each.setting)}", *(one.replace(READING, masked) for one in told)]
    return CommandAnswer(
        card.to_json(),
        tables,
        "What each setting protects: epsilon, certain and odds bound any attacker, for a change of "
        f"{size} in one {what}; hidden and the table of what reports still tell are what our "
        "attacks achieved.",
        then,
        card_warnings(card),
        words=[*words, "", *card_notes(card)],
        most=38,
    )
