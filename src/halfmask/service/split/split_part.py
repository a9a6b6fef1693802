"""The published entry of a period that has a split part: both parts in one sum, with an interval that holds both."""

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

from halfmask.service.campaign import Campaign, LatticeNoise
from halfmask.service.cells import Cells
from halfmask.service.estimates import _interval, period_entry, total_cell, total_noise, withheld_entry
from halfmask.service.storage.tables import Plain

SERVICES = 2
"""Services that each add one draw of noise."""


@dataclass(frozen=True)
class SplitPart:
    """The split reports of a closed period.

    ``counted``  how many reports both services hold, with a valid proof
    ``sum``      their noisy sum in steps; None without one
    ``invalid``, ``missing``  how many reports did not count, by reason
    """

    counted: int = 0
    sum: int | None = None
    invalid: int = 0
    missing: int = 0


def combined_entry(campaign: Campaign, key: str, cells: Cells, part: SplitPart) -> Plain:
    """Return a closed period as the consumer sees it: plain reports plus the split part.

    A part with fewer producers than the least cohort is left out and named.
    """
    plain = cells if total_cell(cells).producers >= campaign.least else {}
    summed = part.sum if part.counted >= campaign.least else None
    if not plain and summed is None:
        return withheld_entry(key, "closed", campaign.too_few)
    entry = period_entry(campaign, key, "closed", plain) if plain else withheld_entry(key, "closed", "")
    left_out = [name for name, absent in (("plain", not plain), ("split", summed is None)) if absent]
    entry |= {"withheld": None, "release": "total", "left_out": left_out}
    if summed is None:
        return entry
    reports, producers = total_cell(plain).reports + part.counted, total_cell(plain).producers + part.counted
    id, counts = campaign.split_id or "", Counter[LatticeNoise]()
    for setting, cell in plain.items():
        counts[campaign.noises[setting]] += cell.reports
    counts[campaign.noises[id]] += SERVICES
    variance, furthest = total_noise(counts)
    unit = campaign.lattice.unit
    exact, error = (total_cell(plain).sum + summed) * unit, math.sqrt(variance) * float(unit)
    reach = Fraction(furthest) * unit
    own = {"reports": part.counted, "producers": part.counted}
    return entry | {
        "reports": reports,
        "producers": producers,
        "settings": {**(entry["settings"] or {}), id: own},
        "sum": _interval(exact, error, reach),
        "mean": _interval(exact / reports, error / reports, reach / reports),
        "variance": entry["variance"] and {**entry["variance"], "left_out": [id]},
        "split": {"counted": part.counted, "invalid": part.invalid, "missing": part.missing},
    }
