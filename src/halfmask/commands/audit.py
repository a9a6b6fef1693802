"""What settings really protect."""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from cyclopts import Parameter

from halfmask.commands._options import (
    AnyMenu,
    AnyProfile,
    AnySource,
    Flag,
    Options,
    OutputIfAny,
    Progress,
    command,
    held,
)
from halfmask.commands._panel import reopen
from halfmask.errors import OptionError

if TYPE_CHECKING:
    from halfmask.audits.card import ReportCard
    from halfmask.protection.guarantees.guarantee import Guarantee


@Parameter(name="*")
@dataclass(frozen=True)
class Audit(Options):
    """Options of `audit`.

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
    step
        The step of the lattice that devices draw their noise on: the guarantee is of that noise exactly. For a menu
        the devices' default, 0.001; with --setting the continuous law where none is given.
    window
        A number of readings in a row that are protected together, beside one and a day of them: 4 half-hours hold
        an appliance's run of two hours.
    reports
        With --setting: numbers of reports to add up the guarantee over.
    seed
        For the attacks' draws. The noise of the device's sampler cannot be seeded.
    other_data
        Take a menu that was made on other data than the profile.
    user
        The panel's column that tells users apart; where it is not named, it is as 'halfmask profile' was told.
    time
        The panel's column with the times; likewise.
    value
        The panel's column with the readings; likewise.
    format
        The panel's format, as for 'halfmask profile'.
    table
        The panel's table, where it is a database.
    wide
        The panel has one column a sensor, beside the time.
    tz
        Zone in which the profile's days were cut.
    advance
        Hears of attacks that are done, and of all.
    """

    positional: ClassVar[tuple[str, ...]] = ("menu", "profile", "panel", "output")

    menu: AnyMenu | None = None
    _: KW_ONLY
    profile: AnyProfile | None = None
    panel: AnySource | None = None
    output: OutputIfAny = None
    setting: str | None = None
    sensitivity: float | None = None
    step: float | None = None
    window: int | None = None
    reports: str = "48,1440,17520"
    seed: int = 7
    other_data: Flag = False
    user: str | None = None
    time: str | None = None
    value: str | None = None
    format: str | None = None
    table: str | None = None
    wide: Flag = False
    tz: str | None = None
    advance: Progress = None

    def columns(self) -> dict[str, Any]:
        """How the panel is to be read, as far as it was said."""
        named = ("user", "time", "value", "format", "table", "wide", "tz")
        return {name: getattr(self, name) for name in named if getattr(self, name)}

    def check(self) -> None:
        """One thing to audit, with what that takes."""
        super().check()
        if (self.setting is None) == (self.menu is None):
            raise OptionError("name a menu to audit, or one `setting`, not both")
        if self.sensitivity is not None and not 0 < self.sensitivity < math.inf:
            raise OptionError(
                f"the sensitivity is {self.sensitivity:g}: say how far a reading may change, a number above 0",
                field="sensitivity",
            )
        if self.menu is not None and self.profile is None:
            raise OptionError("attacks need the menu's profile: name `profile`")
        if self.panel is None and self.columns():
            raise OptionError("columns are those of the readings: name their source, `panel`")


@command(Audit)
def audit(options: Audit) -> "ReportCard | Guarantee":
    """What settings really protect: score, guarantee and attacks side by side, for a menu or for one setting.

    A menu gives a `ReportCard`. With a panel, the readings that the profile was made of, attacks see series of
    readings; without it, totals by period. One setting gives its `Guarantee`.
    """
    if options.menu is None or options.profile is None:
        return _guarantee(options)
    from halfmask.audits.card import audit_menu
    from halfmask.menus.menu import Menu
    from halfmask.profiles.profile import Profile

    menu, people = held(Menu, options.menu), held(Profile, options.profile)
    card = audit_menu(
        menu,
        people,
        None if options.panel is None else reopen(options.panel, people, options.columns()),
        sensitivity=options.sensitivity,
        step=options.step,
        window=options.window,
        seed=options.seed,
        other_data=options.other_data,
        advance=options.advance,
    )
    card = replace(card, about={**card.about, "asked": options.asked()})
    if options.output is not None:
        card.write(options.output)
    return card


def _guarantee(options: Audit) -> "Guarantee":
    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.protection.guarantees.guarantee import guarantee

    setting = PrivacySetting.parse(options.setting or "none")
    counts = [*([] if options.window is None else [options.window]), *_counts(options.reports)]
    return guarantee(setting, options.sensitivity, counts, step=options.step)


def _counts(reports: str) -> Sequence[int]:
    try:
        return [int(number) for number in reports.split(",")]
    except ValueError as error:
        raise OptionError(
            f"reports '{reports}' are not whole numbers with commas between, like 48,1440", field="reports"
        ) from error
