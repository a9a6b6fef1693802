"""``halfmask payout``: what producers have earned."""

import csv
import sys
from dataclasses import KW_ONLY, dataclass

from cyclopts import Parameter

from halfmask.commands._options import Options, OutputIfAny, command
from halfmask.commands._output import note

GROUP = "Share: service"


@dataclass(frozen=True)
class Owed:
    """What one producer's entries add up to, in the campaign's smallest unit of money."""

    campaign: str
    producer: str
    amount: int
    currency: str


@Parameter(name="*")
@dataclass(frozen=True)
class Payout(Options):
    """Options of `payout`.

    Parameters
    ----------
    output
        The CSV file to write; printed where none is named.
    db
        The service's database, as for 'halfmask serve'.
    campaign
        One campaign alone.
    """

    _: KW_ONLY
    output: OutputIfAny = None
    db: str = "sqlite:///halfmask.db"
    campaign: str | None = None


@command(Payout)
def payout(options: Payout) -> tuple[Owed, ...]:
    """What is owed: per campaign and producer the sum of its ledger, reversals included."""
    import csv
    from pathlib import Path

    from halfmask.files import whole_file
    from halfmask.service.operator_queries import owed

    found = tuple(Owed(*row) for row in owed(options.db, options.campaign))
    if options.output is not None:
        with whole_file(Path(options.output)) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["campaign", "producer", "amount", "currency"])
            writer.writerows((row.campaign, row.producer, row.amount, row.currency) for row in found)
    return found


def main(options: Payout) -> None:
    """What producers are owed, as CSV: campaign, producer, amount, currency."""
    found = payout(options)
    if options.output is None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["campaign", "producer", "amount", "currency"])
        writer.writerows((row.campaign, row.producer, row.amount, row.currency) for row in found)
    else:
        note(f"wrote {options.output}: {len(found)} producers")
