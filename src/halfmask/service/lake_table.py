"""The cells of a lake as a table, for databases: one row per campaign, period and setting.

With the campaign's offer a row also holds what estimates need, so that SQL alone can compute them
(``integrations/duckdb/estimates.sql``).
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from halfmask.errors import FileFormatError
from halfmask.files import whole_file
from halfmask.service.campaign import lattice_noise
from halfmask.service.lake import LakeCells
from halfmask_device.errors import HalfmaskError
from halfmask_device.protocol import CampaignTerms, MessageError

CELLS = pa.schema(
    [
        *(("campaign", pa.string()), ("period", pa.string()), ("setting", pa.string())),
        *(("reports", pa.int64()), ("producers", pa.int64()), ("sum_steps", pa.int64()), ("squares", pa.int64())),
        *(("unit", pa.string()), ("step", pa.float64()), ("noise_variance", pa.float64())),
        ("least_producers", pa.int64()),
    ]
)
"""``noise_variance`` is that of one report, in squared steps. The last four are null without the campaign's offer."""


def read_offers(paths: Iterable[Path]) -> dict[str, CampaignTerms]:
    """Return the offers of campaigns by id."""
    found = {}
    for path in paths:
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            found[str(plain["campaign"])] = CampaignTerms.read(plain)
        except (OSError, ValueError, KeyError, TypeError, MessageError, HalfmaskError) as error:
            raise FileFormatError(
                f"{path} is not a campaign's offer: store what GET /v1/campaigns/ID answers", kind="offer"
            ) from error
    return found


def cells_table(cells: LakeCells, offers: dict[str, CampaignTerms]) -> pa.Table:
    """Return the table of the cells; settings that an offer does not have are an error."""
    rows = []
    for (campaign, period), held in cells.items():
        for setting, cell in held.items():
            row: dict[str, Any] = {"campaign": campaign, "period": period, "setting": setting}
            row |= {
                "reports": cell.reports,
                "producers": cell.producers,
                "sum_steps": cell.sum,
                "squares": cell.squares,
            }
            rows.append(row | (_of_offer(offers[campaign], setting) if campaign in offers else {}))
    return pa.Table.from_pylist(rows, schema=CELLS)


def _of_offer(terms: CampaignTerms, setting: str) -> dict[str, Any]:
    if setting not in terms.menu:
        raise FileFormatError(f"the offer has no setting {setting}: it is another campaign's", kind="offer")
    noise = lattice_noise(terms.menu[setting], terms.lattice.unit)
    return {
        "unit": terms.unit,
        "step": float(terms.lattice.unit),
        "noise_variance": noise.variance,
        "least_producers": terms.least_producers,
    }


def write_cells(cells: LakeCells, offers: dict[str, CampaignTerms], path: Path) -> None:
    """Write the table as Parquet or CSV, by the file's name."""
    table = cells_table(cells, offers)
    with whole_file(path) as file:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(table, file)
        else:
            from pyarrow import csv

            csv.write_csv(table, file)
