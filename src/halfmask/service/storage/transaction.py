"""A transaction: all statements on one connection. Each group of statements has a module with its tables and rows."""

from collections.abc import Iterable

from sqlalchemy import select

from halfmask.service.storage.booking_rows import BookingStatements
from halfmask.service.storage.campaign_rows import CampaignStatements
from halfmask.service.storage.identity_rows import IdentityStatements
from halfmask.service.storage.node_cell_rows import NodeCellStatements, known, node_cells
from halfmask.service.storage.period_rows import PeriodStatements, looks, touched
from halfmask.service.storage.report_rows import ReportStatements
from halfmask.service.storage.tables import among, chunks, dump


class Transaction(
    IdentityStatements,
    CampaignStatements,
    ReportStatements,
    BookingStatements,
    PeriodStatements,
    NodeCellStatements,
):
    """Everything that is read or written together. The store begins and ends it."""

    def any_cells(self, campaign: int, periods: Iterable[str]) -> bool:
        """Return whether any of the periods has cells of nodes or peers, a snapshot, or changes for the next one."""
        wanted = sorted(periods)
        for table in (node_cells, known, looks, touched):
            for part in chunks(wanted):
                where = [table.c.campaign == campaign, among(table.c.period, part)]
                if table is known:
                    where.append(known.c.cells != dump({}))
                found = self._do(select(table.c.period).where(*where).distinct()).scalars()
                if not set(part).isdisjoint(found):
                    return True
        return False
