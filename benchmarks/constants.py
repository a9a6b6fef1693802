"""Are the constants of re-identification fitted to the homes that it is measured on?

Every constant of the models of `habits` is halved and doubled, one after the other, and what names most users is kept:
once on one half of the Swiss homes, once on synthetic users. The table has what these choices, and the constants as
they are, achieve on the other half of the homes and on Melbourne's street counters, which nothing was chosen on.
"""

from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

import numpy as np
from tests.real_data import PEDESTRIANS, SWISS

from benchmarks.attacks import DAYS, SEED, cell
from benchmarks.profile import panel as synthetic
from halfmask.data.open_panel import open_panel
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.build import build_profile
from halfmask.protection.attacks import Finding, attack, habits
from halfmask.protection.attacks.reidentification import reidentification
from halfmask.protection.evidence import Evidence, evidence_from_panel, some_of

NAMES = ("OWN", "COMMON", "NEAR", "NEAR_DAYS", "SAME_WEEKDAY", "SHRINK", "SPREAD")
FACTORS = (0.5, 2.0)
USERS = 250
HOMES, STREETS = "laplace:0.5", "laplace:200"


def attacked(evidence: Evidence, setting: str, constants: Mapping[str, float]) -> list[Finding]:
    """Return who is named from a day and from half of the reports, with these constants in place of the usual ones."""
    fresh = some_of(evidence, np.arange(len(evidence.series)))  # nothing is kept of other constants
    with patch.multiple(habits, **{"OWN": habits.OWN, **constants}):
        return attack(PrivacySetting.parse(setting), fresh, SEED, attacks=(reidentification,))


def named(found: list[Finding]) -> float:
    """Return the sum of both shares."""
    return sum(each.value or 0.0 for each in found)


def chosen(evidence: Evidence) -> dict[str, float]:
    """Return the constants that name most users, each tried at a half and twice its value in turn."""
    kept: dict[str, float] = {}
    best = named(attacked(evidence, HOMES, kept))
    for name in NAMES:
        for factor in FACTORS:
            tried = {**kept, name: factor * float(getattr(habits, name))}
            if (value := named(attacked(evidence, HOMES, tried))) > best:
                best, kept = value, tried
    return kept


def evidence_of(source: Path) -> Evidence:
    """Return the readings of at most `USERS` users, twice as many of the Swiss homes."""
    opened = open_panel(source)
    return evidence_from_panel(opened, build_profile(opened), 2 * USERS)


def run() -> None:
    """Choose on one half of the homes and on synthetic users; measure on the other half and on street counters."""
    homes, streets = evidence_of(SWISS), evidence_of(PEDESTRIANS)
    one, other = (some_of(homes, np.arange(start, len(homes.series), 2)) for start in range(2))
    panels = ((other, HOMES), (streets, STREETS))
    print(f"other half: {len(other.series)} homes, {HOMES}; streets: {len(streets.series)} counters, {STREETS}")
    print("| constants | other half, day | other half, half | streets, day | streets, half |")
    print("|---|---|---|---|---|")
    choices = {
        "as they are": dict[str, float](),
        "chosen on one half of the homes": chosen(one),
        "chosen on synthetic users": chosen(evidence_of(synthetic(USERS, DAYS))),
    }
    for title, constants in choices.items():
        found = [each for evidence, setting in panels for each in attacked(evidence, setting, constants)]
        print(f"| {title} | " + " | ".join(map(cell, found)) + " |", flush=True)
    for title, constants in list(choices.items())[1:]:
        print(f"{title}: " + ", ".join(f"{name} {value:g}" for name, value in constants.items()))
