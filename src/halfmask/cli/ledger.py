"""``halfmask ledger``."""

from halfmask.cli.output import note
from halfmask.commands.ledger import Ledger
from halfmask.commands.ledger import ledger as read
from halfmask_device.ledger import Entry

SHOWN = 10
"""Windows of a kind that are printed: the latest."""


def ledger(options: Ledger) -> None:
    """What a device's reports have told so far: by day, week and month, over all its campaigns."""
    spent = read(options)
    account = spent.account
    print(f"epsilon bounds (delta {account.delta:g}) for a change of {account.change} in every reading of the window:")
    print(f"{'window':12} {'reports':>8} {'revised':>8} {'epsilon':>9} {'one reading':>12} {'pure, per unit':>15}")
    for entries in (account.days, account.weeks, account.months):
        for entry in entries[-SHOWN:]:
            _line(entry)
    _line(account.total)
    limit = spent.limit
    if limit:
        note(
            f"limit: epsilon {limit.epsilon:g} (delta {limit.delta:g}) a {limit.window} for a change of {limit.change} "
            f"in every reading; then: {limit.then}"
        )
    note("bounds add up Renyi divergences or pure epsilons; they count what this folder remembers")


def _line(entry: Entry) -> None:
    print(
        f"{entry.window:12} {entry.reports:8} {entry.revisions:8} {entry.epsilon:9.3g} {entry.one:12.3g} "
        f"{entry.unit:15.4g}"
    )
