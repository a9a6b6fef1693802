"""``halfmask ledger``."""

from halfmask.cli.output import note
from halfmask.commands.ledger import LedgerOptions
from halfmask.commands.ledger import ledger as read
from halfmask_device.decimals import upwards
from halfmask_device.ledger import Entry

SHOWN = 10
"""Windows of a kind that are printed: the latest."""


def ledger(options: LedgerOptions) -> None:
    """What a device's reports have told so far: by day, week and month, over all its campaigns."""
    spent = read(options)
    account = spent.account
    print(
        f"upper bounds on epsilon, rounded up, for a change of {account.change}: in every reading of the window and in "
        f"one reading (delta {account.delta:g}), and per unit of change in every reading (delta 0):"
    )
    print(f"{'window':12} {'reports':>8} {'revised':>8} {'epsilon':>9} {'one reading':>12} {'pure, per unit':>15}")
    for entries in (account.days, account.weeks, account.months):
        for entry in entries[-SHOWN:]:
            _line(entry)
    _line(account.total)
    limit = spent.limit
    if limit:
        note(f"limit: {limit.words()}; then: {limit.then}")
    note("bounds add up Renyi divergences or pure epsilons; they count what this folder remembers")


def _line(entry: Entry) -> None:
    print(
        f"{entry.window:12} {entry.reports:8} {entry.revisions:8} {upwards(entry.epsilon):>9} {upwards(entry.one):>12} "
        f"{upwards(entry.unit, 4):>15}"
    )
