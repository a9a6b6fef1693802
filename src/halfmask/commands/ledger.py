"""``halfmask ledger``: show what a device's reports have revealed so far."""

import math
from dataclasses import dataclass
from typing import Literal

from halfmask.commands._options import Flag, command
from halfmask.commands._printing import note, print_rows
from halfmask.commands._shared_options import OfDevice
from halfmask.errors import OptionError
from halfmask_device.decimals import upwards
from halfmask_device.device_state import State
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


SHOWN = 10
"""How many windows of a kind are printed: the latest."""


def main(options: LedgerOptions) -> None:
    """Show what a device's reports have given away so far: by day, week and month, over all its campaigns."""
    spent = ledger(options)
    account, unit = spent.account, spent.unit or "in the readings' unit"
    print(
        f"upper bounds on epsilon, rounded up, for a change of {account.change} {unit}: in every reading of the "
        f"window and in one reading (delta {account.delta:g}), and per unit of change in every reading (delta 0); "
        f"whole range: for a change of every reading by anything within its range (delta {account.delta:g}):"
    )
    print_rows([HEADS, *_rows(account)])
    if spent.split.total.reports:
        print_rows([HEADS, *_rows(spent.split)], "split between two services: against everyone but the two together")
    for trust, budget in spent.budgets.items():
        if budget.kept:
            note(f"budget of {KINDS[trust]}: {budget.words()}; then: {budget.then}")
    if totals := account.total.totals + spent.split.total.totals:
        note(
            f"{totals} report(s) are of totals: for 'every reading' read the period's total, which may "
            "change by anything within its range; a change of one reading changes it by as much; each counts on the "
            "day its period begins"
        )
    note("bounds add up Renyi divergences or pure epsilons; they count what this folder remembers, by days of UTC")


HEADS = ["window", "reports", "revised", "epsilon", "one reading", "pure, per unit", "whole range"]


def _rows(account: Ledger) -> list[list[str]]:
    entries = [each for kind in (account.days, account.weeks, account.months) for each in kind[-SHOWN:]]
    return [_cells(each) for each in (*entries, account.total)]


def _cells(entry: Entry) -> list[str]:
    bounds = upwards(entry.epsilon), upwards(entry.one), upwards(entry.unit, 4), upwards(entry.whole)
    return [entry.window, str(entry.reports), str(entry.revisions), *bounds]
