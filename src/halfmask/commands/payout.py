"""``halfmask payout``: list what producers have earned."""

import sys
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from halfmask.commands._files import put_csv, write_csv
from halfmask.commands._options import command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import MayWrite, OfService


@dataclass(frozen=True)
class Owed:
    """The sum of one producer's entries, in the campaign's smallest unit of money."""

    campaign: str
    producer: str
    amount: int
    currency: str


def table(found: tuple[Owed, ...]) -> list[tuple[object, ...]]:
    """Return the table of what is owed, headings first."""
    return [tuple(each.name for each in fields(Owed)), *map(astuple, found)]


class Payout(MayWrite, OfService):
    """Options of `payout`.

    Parameters
    ----------
    output
        The CSV file to write; by default the table is printed.
    campaign
        Only this campaign.
    """

    campaign: str | None = None

    def save(self, made: tuple[Owed, ...], path: Path) -> None:
        write_csv(path, table(made))


@command(Payout, group="Share: service")
def payout(options: Payout) -> tuple[Owed, ...]:
    """Return what is owed: per campaign and producer the sum of the ledger, reversals included."""
    from halfmask.service.operator_queries import owed

    return tuple(Owed(*row) for row in owed(options.db, options.campaign))


def main(options: Payout) -> None:
    """List what producers are owed, as CSV: campaign, producer, amount, currency."""
    found = payout(options)
    if options.output is None:
        put_csv(sys.stdout, table(found))
    note(f"{len(found)} producers")
