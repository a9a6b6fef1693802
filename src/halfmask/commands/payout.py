"""``halfmask payout``: what producers have earned."""

import sys
from dataclasses import astuple, dataclass, fields

from halfmask.commands._files import put_csv, write_csv
from halfmask.commands._options import command
from halfmask.commands._printing import note
from halfmask.commands._shared_options import MayWrite, OfService


@dataclass(frozen=True)
class Owed:
    """What one producer's entries add up to, in the campaign's smallest unit of money."""

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
        The CSV file to write; printed where none is named.
    campaign
        One campaign alone.
    """

    campaign: str | None = None

    def keep(self, made: tuple[Owed, ...]) -> None:
        for path in self.written():
            write_csv(path, table(made))


@command(Payout, group="Share: service")
def payout(options: Payout) -> tuple[Owed, ...]:
    """What is owed: per campaign and producer the sum of its ledger, reversals included."""
    from halfmask.service.operator_queries import owed

    return tuple(Owed(*row) for row in owed(options.db, options.campaign))


def main(options: Payout) -> None:
    """What producers are owed, as CSV: campaign, producer, amount, currency."""
    found = payout(options)
    if options.output is None:
        put_csv(sys.stdout, table(found))
    note(f"{len(found)} producers")
