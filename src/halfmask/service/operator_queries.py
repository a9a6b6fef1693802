"""What an operator reads from the database directly: the amounts owed, and reports that look wrong."""

from contextlib import closing

from halfmask.errors import OptionError
from halfmask.service.campaign import LATEST, Campaign
from halfmask.service.storage.campaign_rows import CampaignRow
from halfmask.service.storage.sql_store import Transaction, open_store
from halfmask.service.suspects import Suspicions, find_suspects


def owed(db: str, campaign: str | None = None) -> list[tuple[str, str, int, str]]:
    """Return campaign, producer, amount and currency. Producers whose entries add up to 0 are left out."""
    with closing(open_store(db)) as store, store.reading() as tx:
        rows = tx.campaigns() if campaign is None else [_campaign(tx, campaign)]
        found = [(row, producer, amount) for row in rows for producer, amount in tx.owed(row.key) if amount]
    return [(row.public, producer, amount, row.terms["currency"]) for row, producer, amount in found]


def suspicions(db: str, campaign: str, false_alarm: float) -> tuple[Suspicions, dict[int, str]]:
    """Return the flags among the reports that a campaign still keeps, and the names of the flagged producers."""
    with closing(open_store(db)) as store, store.reading() as tx:
        row = _campaign(tx, campaign)
        found = find_suspects(tx.reports(row.key, -LATEST, LATEST), Campaign(*row).noises, false_alarm)
        return found, {each.producer: tx.producer(each.producer).public for each in found.suspects}


def _campaign(tx: Transaction, name: str) -> CampaignRow:
    row = tx.campaign(name)
    if row is None:
        raise OptionError(f"the database has no campaign {name[:40]!r}", kind="campaign", field="campaign")
    return row
