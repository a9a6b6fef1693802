"""``halfmask ledger``: show what a device's reports have revealed so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from halfmask.commands._options import Flag, command
from halfmask.commands._printing import CommandAnswer, Table
from halfmask.commands._shared_options import IN_SHORT, Display, OfDevice
from halfmask.errors import OptionError
from halfmask_device.decimals import number_text, upwards
from halfmask_device.device_state import State
from halfmask_device.membership import Membership
from halfmask_device.privacy_budget import KINDS, Budget, Trust, Window, read_budgets, write_budgets
from halfmask_device.privacy_ledger import Entry, Ledger, read_ledger
from halfmask_device.sharing import Sharer


class LedgerOptions(OfDevice):
    """Options of `ledger`.

    Parameters
    ----------
    change
        The change of a reading that epsilon is about, in the readings' unit; the table takes 1 if none is given.
    delta
        The delta of the epsilon.
    budget
        From now on keep each window within this epsilon, at --delta. Each reading may change by --change, or without
        it by anything within its range.
    window
        The window of the budget.
    then
        What happens at the budget: only warn, stop reporting, or move to a coarser setting of the menu.
    no_budget
        Keep no budget.
    forget_before
        Delete the keys of days before this date: their readings can never be masked or unmasked again.
    """

    change: str | None = None
    delta: float = 1e-6
    budget: float | None = None
    window: Window = "30-days"
    then: Literal["warn", "stop", "coarser"] = "stop"
    no_budget: Flag = False
    forget_before: str | None = None

    def check_together(self) -> None:
        if self.no_budget and self.budget is not None:
            raise OptionError("`budget` sets a budget and `no_budget` takes it away: name one of them")


@dataclass(frozen=True)
class Spent:
    """The ledgers of a device, and its budgets: of what it masks alone, and of what is split between services.

    ``unit``  the unit of its readings; empty if its campaigns have several, or none
    """

    account: Ledger
    split: Ledger
    budgets: dict[Trust, Budget]
    unit: str


@command(LedgerOptions, group="Share: device")
def ledger(options: LedgerOptions) -> Spent:
    """Return a device's privacy ledger over all its campaigns, by day, week and month; set or remove its budget."""
    state = State(options.state, create=False)
    epsilon = math.inf if options.no_budget else options.budget
    if epsilon is not None:
        budget = Budget(epsilon, options.change, options.window, options.delta, options.then)
        write_budgets(state, dict.fromkeys(KINDS, budget))
    if options.forget_before is not None:
        state.forget_before(options.forget_before)
    kinds: tuple[Trust, Trust] = ("local", "split")
    account, split = (read_ledger(state, options.change or "1", options.delta, trust) for trust in kinds)
    units = {each.terms.unit for each in Sharer(options.state, create=False).memberships(left=True)}
    return Spent(account, split, read_budgets(state), units.pop() if len(units) == 1 else "")


def main(options: LedgerOptions, *, shown: Display = IN_SHORT) -> None:
    """Show what a device's reports have given away so far: by day, week and month, over all its campaigns."""
    from halfmask.plain import to_plain

    spent = ledger(options)
    account, members = spent.account, Sharer(options.state, create=False).memberships()
    unit = spent.unit or "in the readings' unit"
    tables: list[Table] = [("", [HEADS, *_rows(account)])]
    if spent.split.total.reports:
        title = "Split between two services: against everyone but the two together"
        tables.append((title, [HEADS, *_rows(spent.split)]))
    kept = [f"{KINDS[trust]}: {each.words()}; then: {each.then}" for trust, each in spent.budgets.items() if each.kept]
    shown.show(
        CommandAnswer(
            to_plain(spent),
            tables,
            f"Upper bounds on epsilon for a change of {account.change} {unit}: in every reading of the window and in "
            f"one reading (delta {number_text(account.delta)}), and per unit of change in every reading (delta 0)."
            + _zones(members),
            "" if kept else f"halfmask ledger --state {options.state} --budget 10",
            [f"budget of {each}" for each in kept],
            words=[*DEFINITIONS, *_of_totals(spent)],
        )
    )


DEFINITIONS = (
    "whole range: for a change of every reading by anything within its range, at the same delta",
    "bounds add up Renyi divergences or pure epsilons, and are rounded up; they count what this folder remembers",
)


def _zones(members: Sequence[Membership]) -> str:
    """Return where the days of campaigns begin."""
    zones = sorted({member.terms.time_zone for member in members})
    return f" Days are the campaign's, in {' and '.join(zones)}; the budget's are those of UTC." if zones else ""


def _of_totals(spent: Spent) -> list[str]:
    """Return what a window means for reports of totals."""
    totals = spent.account.total.totals + spent.split.total.totals
    if not totals:
        return []
    return [
        f"{totals} report(s) are of totals: for 'every reading' read the period's total, which may change by anything "
        "within its range; a change of one reading changes it by as much; each counts on the day, in UTC, on which its "
        "period begins"
    ]


HEADS = ["window", "reports", "revised", "epsilon", "one reading", "pure, per unit", "whole range"]


def _rows(account: Ledger) -> list[list[str]]:
    """Return all reports first, then months, weeks and days, the latest first."""
    entries = [each for kind in (account.months, account.weeks, account.days) for each in reversed(kind)]
    return [_cells(each) for each in (account.total, *entries)]


def _cells(entry: Entry) -> list[str]:
    bounds = upwards(entry.epsilon), upwards(entry.one), upwards(entry.unit, 4), upwards(entry.whole)
    return [entry.window, str(entry.reports), str(entry.revisions), *bounds]
