"""What an operator reads from the database directly: the amounts owed, and reports that look wrong."""

from halfmask.errors import OptionError
from halfmask.service.campaign import Campaign
from halfmask.service.clock import LATEST
from halfmask.service.storage.sql_store import open_store
from halfmask.service.suspects import Suspicions, find_suspects


def owed(db: str, campaign: str | None = None) -> list[tuple[str, str, int, str]]:
    """Return campaign, producer, amount and currency. Producers whose entries add up to 0 are left out."""
    store = open_store(db)
    try:
        with store.reading() as tx:
            rows = [row for row in tx.campaigns() if campaign in (None, row.public)]
            if campaign is not None and not rows:
                raise OptionError(f"the database has no campaign {campaign[:40]!r}", kind="campaign", field="campaign")
            found = [(row, producer, amount) for row in rows for producer, amount in tx.owed(row.key) if amount]
            return [(row.public, producer, amount, row.terms["currency"]) for row, producer, amount in found]
    finally:
        store.close()


def suspicions(db: str, campaign: str, false_alarm: float) -> tuple[Suspicions, dict[int, str]]:
    """Return the flags among the reports that a campaign still keeps, and the names of the flagged producers."""
    store = open_store(db)
    try:
        with store.reading() as tx:
            row = tx.campaign(campaign)
            if row is None:
                raise OptionError(f"the database has no campaign {campaign[:40]!r}", kind="campaign", field="campaign")
            found = find_suspects(tx.reports(row.key, -LATEST, LATEST), Campaign(*row).noises, false_alarm)
            return found, {each.producer: tx.producer(each.producer).public for each in found.suspects}
    finally:
        store.close()
