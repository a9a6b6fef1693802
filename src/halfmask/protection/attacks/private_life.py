"""What reports tell about the life of their user: own totals, quiet weeks, empty days, and the time of the peak.

All of it is learned on users whose readings the attacker knows, and guessed of others (`known_users`), from the same
masked reports.
"""

import numpy as np

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks import own_totals, peak, presence
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.known_users import seen
from halfmask.protection.evidence import Evidence

NAMES = (
    *own_totals.TOTALS.values(),
    (own_totals.QUIETEST, own_totals.QUIETEST_METRIC),
    (presence.NAME, presence.METRIC),
    (peak.NAME, peak.METRIC),
)
"""Names and definitions of the findings, in their order."""


def private_life(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> tuple[Finding, ...]:
    """Return what masked reports tell about own totals, the quietest week, empty days and the peak of a day."""
    found, what = seen(setting, evidence, rng), evidence.what
    if isinstance(found, str):
        return tuple(not_applicable(name, metric, found) for name, metric in NAMES)
    return (
        *own_totals.own_totals(found, what),
        own_totals.quietest_week(found, what),
        presence.presence(found, what),
        peak.peak(found, what),
    )
