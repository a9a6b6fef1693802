"""``halfmask payout``: list what producers have earned."""

import sys
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from halfmask.commands._files import put_csv, write_csv
from halfmask.commands._options import command
from halfmask.commands._printing import CommandAnswer, note
from halfmask.commands._shared_options import IN_SHORT, Display, MayWrite, OfService


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


def main(options: Payout, *, shown: Display = IN_SHORT) -> None:
    """List what producers are owed: campaign, producer, amount, currency; as CSV with -o or into a pipe."""
    found = payout(options)
    if options.output is None and not shown.json and not sys.stdout.isatty():
        put_csv(sys.stdout, table(found))
        note(f"{len(found)} producer{'s' * (len(found) != 1)}")
        return
    heads, *rows = table(found)
    shown.show(
        CommandAnswer(
            [dict(zip(map(str, heads), row, strict=True)) for row in rows],
            [("", [heads, *rows])] if rows else [],
            f"{len(found):,} producers are owed money, in the campaign's smallest unit.",
            "" if options.output else f"{options.command_line()} -o owed.csv",
        )
    )
