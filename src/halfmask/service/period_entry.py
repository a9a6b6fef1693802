"""A period as the consumer sees it, or withheld if fewer than the least cohort of producers are in it."""

from halfmask.service.campaign import Campaign
from halfmask.service.cells import Cells
from halfmask.service.estimates import estimates, total_cell
from halfmask.service.storage.tables import Plain


def period_entry(campaign: Campaign, key: str, state: str, cells: Cells) -> Plain:
    """Return a period as the consumer sees it. Below the least cohort only its name and state are shown."""
    total = total_cell(cells)
    if total.producers < campaign.least:
        return withheld_entry(key, state, f"fewer than {campaign.least} producers")
    settings = {name: {"reports": cell.reports, "producers": cell.producers} for name, cell in cells.items()}
    return {
        "period": key,
        "state": state,
        "reports": total.reports,
        "producers": total.producers,
        "settings": settings,
        **estimates(campaign, cells, closed=state == "closed"),
        "smoothed": None,
        "withheld": None,
    }


def withheld_entry(key: str, state: str, why: str) -> Plain:
    nothing = dict.fromkeys(("reports", "producers", "settings", "sum", "mean", "variance", "smoothed"))
    return {"period": key, "state": state, **nothing, "withheld": why}
