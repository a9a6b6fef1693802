"""``halfmask payout``."""

import csv
import sys

from halfmask.cli.output import note
from halfmask.commands.payout import Payout
from halfmask.commands.payout import payout as find

DEFAULTS = Payout()


def payout(options: Payout = DEFAULTS) -> None:
    """What producers are owed, as CSV: campaign, producer, amount, currency."""
    found = find(options)
    if options.output is None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["campaign", "producer", "amount", "currency"])
        writer.writerows((row.campaign, row.producer, row.amount, row.currency) for row in found)
    else:
        note(f"wrote {options.output}: {len(found)} producers")
