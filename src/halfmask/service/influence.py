"""How far a few producers could have moved a period's sum, and what the sum is without the most extreme ones.

Any producer may lie within the limits of the protocol, and no noise hides that from a sum. So a published period says
how far 1 and 10 producers could have moved it. If some are too extreme to belong to the others, a trimmed sum is given
as well. It leaves out at least the least cohort at each end, so that its difference from the sum is not about fewer.
"""

import math
from typing import TYPE_CHECKING

from halfmask.service.campaign import Campaign
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain
from halfmask.service.upper_tail import UpperTail, largest_ignored
from halfmask_device.campaign_calendar import Span

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray

FEW = (1, 10)
FALSE_ALARM = 1e-3
"""The chance that an end has a strange producer although all belong to a tail that falls off exponentially."""
REACH = 2.241402727604947
"""Standard errors of the interval: 97.5 % of a normal law, because tails fall off exponentially only roughly."""


def details(tx: Transaction, campaign: Campaign, entry: Plain) -> Plain:
    """Return how far few producers could have moved a closed period, the share of reports at the bounds, and a sum.

    The last two need all plain reports. They are None if some came to other nodes. Split reports are in the second sum
    as a whole, because nobody sees a single one.
    """
    import numpy as np

    span, split = campaign.named_span(entry["period"], "period"), _split_reports(entry)
    producers, reports = int(entry["producers"]) - split, int(entry["reports"]) - split
    found: Plain = {"influence": influence(campaign, span, producers, reports, split)}
    rows = np.array(list(tx.producer_sums(campaign.bucket(span), *campaign.lattice.ends)), dtype=float)
    if not rows.size or rows[:, 0].sum() != reports:
        return found
    unit = float(campaign.lattice.unit)
    at_bounds = {"low": float(rows[:, 2].sum()) / reports, "high": float(rows[:, 3].sum()) / reports}
    sums = rows[:, 1] * unit
    trimmed = trimmed_sum(sums, float(entry["sum"]["standard_error"]), campaign.least)
    if trimmed is not None and split:
        hidden = float(entry["sum"]["estimate"]) - float(sums.sum())
        trimmed |= {name: trimmed[name] + hidden for name in ("estimate", "low", "high")}
    return found | {"at_bounds": at_bounds, "trimmed": trimmed}


def _split_reports(entry: Plain) -> int:
    """Return how many split reports are in the sum of a period."""
    return 0 if "split" in entry.get("left_out", ()) else int(entry.get("split", {}).get("counted", 0))


def influence(campaign: Campaign, span: Span, producers: int, reports: int, split: int = 0) -> Plain:
    """Return how far k producers could have moved the sum, by k: at most so far for any readings.

    ``producers``, ``reports``  of plain reports
    ``split``                   reports of a split setting, each by another producer

    A report lies at most ``high - low`` and the furthest plausible noise from a reading. A producer has as many reports
    as the campaign has times, or as many as the others leave. A split report lies at most ``high - low`` from a total.
    """
    low, high = campaign.lattice.ends
    furthest = max((noise.furthest for id, noise in campaign.noises.items() if id != campaign.split_id), default=0)
    times = 1 if campaign.totals else -(-(span.ends - span.begins) // campaign.every) if campaign.every else reports
    found = {}
    for k in FEW:
        sent = min(k * times, reports - max(producers - k, 0))
        hidden = min(max(k - producers, 0), split)
        found[str(k)] = float((sent * (high - low + furthest) + hidden * (high - low)) * campaign.lattice.unit)
    return found


def trimmed_sum(sums: "FloatArray", noise: float, least: int) -> Plain | None:
    """Return an estimate of the sum of all that does not rest on the most extreme, or None if nobody is strange.

    ``sums``   each producer's sum of reports
    ``noise``  standard deviation of the noise in their total
    ``least``  the least cohort

    t producers are left out at each end. Those who belong to the tail count as the tail predicts (edge + scale each),
    and those who do not as the mean of the rest. It is None too if there are too few producers to judge.
    """
    import numpy as np

    values = np.sort(sums)
    trimmed = max(least, largest_ignored(values.size))
    upper, lower = UpperTail.of(values, trimmed), UpperTail.of(-values[::-1], trimmed)
    if upper is None or lower is None:
        return None
    rest = values[trimmed:-trimmed]
    strange = [sum(end.chance(each) < FALSE_ALARM for each in end.beyond) for end in (upper, lower)]
    if not any(strange):
        return None
    mean, spread = float(rest.mean()), float(rest.var())
    estimate, variance = float(rest.sum()), noise**2
    for sign, end, odd in zip((1, -1), (upper, lower), strange, strict=True):
        usual = trimmed - odd
        estimate += sign * usual * (end.edge + end.scale) + odd * mean
        variance += end.scale**2 * (usual + usual**2 / end.degrees) + odd * spread
    error = math.sqrt(variance)
    reach = REACH * error
    return {
        "estimate": estimate,
        "standard_error": error,
        "low": estimate - reach,
        "high": estimate + reach,
        "left_out": 2 * trimmed,
    }
