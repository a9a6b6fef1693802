"""``halfmask ledger``: show what a device's reports have revealed so far."""

from dataclasses import dataclass
from typing import Literal

from halfmask.commands._options import Flag, command
from halfmask.commands._printing import note, print_rows
from halfmask.commands._shared_options import OfDevice
from halfmask.errors import OptionError
from halfmask_device.decimals import upwards
from halfmask_device.device_state import State
from halfmask_device.privacy_budget import Limit, read_limit, write_limit
from halfmask_device.privacy_ledger import Entry, Ledger, read_ledger


class LedgerOptions(OfDevice):
    """Options of `ledger`.

    Parameters
    ----------
    change
        The change of a reading that epsilon is about, in the readings' unit.
    delta
        The delta of the epsilon.
    limit
        From now on keep each window within this epsilon, for --change and at --delta.
    window
        The window of the limit.
    then
        What happens at the limit: only warn, stop reporting, or move to a coarser setting of the menu.
    no_limit
        Remove the limit.
    forget_before
        Delete the keys of days before this date: their readings can never be masked or unmasked again.
    """

    change: str = "1"
    delta: float = 1e-6
    limit: float | None = None
    window: Literal["day", "week", "month"] = "day"
    then: Literal["warn", "stop", "coarser"] = "stop"
    no_limit: Flag = False
    forget_before: str | None = None

    def check_together(self) -> None:
        if self.no_limit and self.limit is not None:
            raise OptionError("`limit` sets a limit and `no_limit` takes it away: name one of them")


@dataclass(frozen=True)
class Spent:
    """The ledger of a device, and its limit."""

    account: Ledger
    limit: Limit | None


@command(LedgerOptions, group="Share: device")
def ledger(options: LedgerOptions) -> Spent:
    """Return a device's privacy ledger over all its campaigns, by day, week and month; set or remove its limit."""
    state = State(options.state, create=False)
    if options.limit is not None:
        write_limit(state, Limit(options.limit, options.change, options.window, options.delta, options.then))
    if options.no_limit:
        write_limit(state, None)
    if options.forget_before is not None:
        state.forget_before(options.forget_before)
    return Spent(read_ledger(state, options.change, options.delta), read_limit(state))


SHOWN = 10
"""How many windows of a kind are printed: the latest."""


def main(options: LedgerOptions) -> None:
    """Show what a device's reports have given away so far: by day, week and month, over all its campaigns."""
    spent = ledger(options)
    account = spent.account
    print(
        f"upper bounds on epsilon, rounded up, for a change of {account.change}: in every reading of the window and in "
        f"one reading (delta {account.delta:g}), and per unit of change in every reading (delta 0):"
    )
    entries = [each for kind in (account.days, account.weeks, account.months) for each in kind[-SHOWN:]]
    heads = ["window", "reports", "revised", "epsilon", "one reading", "pure, per unit"]
    print_rows([heads, *map(_cells, [*entries, account.total])])
    limit = spent.limit
    if limit:
        note(f"limit: {limit.words()}; then: {limit.then}")
    note("bounds add up Renyi divergences or pure epsilons; they count what this folder remembers")


def _cells(entry: Entry) -> list[str]:
    bounds = upwards(entry.epsilon), upwards(entry.one), upwards(entry.unit, 4)
    return [entry.window, str(entry.reports), str(entry.revisions), *bounds]
