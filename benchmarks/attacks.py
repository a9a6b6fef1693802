"""What attacks learn about users of a real panel and of the synthetic one, from readings and from daily totals.

A table per panel: rows are settings, columns attacks, with 95 % intervals over the attacked users. The Swiss households
are those of `tests.real_data`; without them only the synthetic panel is attacked, which has as many users and days.
"""

import numpy as np
from tests.real_data import SWISS

from benchmarks.profile import panel as synthetic
from halfmask.data.open_panel import open_panel
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.build import build_profile
from halfmask.profiles.periods import DAY
from halfmask.profiles.totals import released
from halfmask.protection.attacks import Finding, attack
from halfmask.protection.attacks.private_life import private_life
from halfmask.protection.attacks.reidentification import reidentification
from halfmask.protection.evidence import Evidence, evidence_from_panel, evidence_from_profile

USERS, DAYS = 500, 49
SEED = 7
NAMED = 2
"""Columns of re-identification; who has unmasked reports can mask them himself, so the first row has the largest."""
READINGS = ("none", "laplace:0.1", "laplace:0.25", "laplace:0.5", "laplace:1", "laplace:2.5")
TOTALS = ("none", "laplace:2.5", "laplace:10", "laplace:40")


def cell(found: Finding) -> str:
    """Return value and interval in percent."""
    if found.value is None or found.low is None or found.high is None:
        return "-"
    return f"{100 * found.value:.3g} ({100 * found.low:.3g}-{100 * found.high:.3g})"


def printed(title: str, evidence: Evidence, settings: tuple[str, ...]) -> None:
    """Print a table of all attacks on users' lives, in percent."""
    print(f"{title}: {len(evidence.series)} users, {evidence.what}")
    found = [
        attack(PrivacySetting.parse(text), evidence, SEED, attacks=(reidentification, private_life))
        for text in settings
    ]
    found[0] = [
        max((row[column] for row in found), key=lambda each: each.value or 0.0) if column < NAMED else each
        for column, each in enumerate(found[0])
    ]
    print("| setting | " + " | ".join(each.name for each in found[0]) + " |")
    print("|---" * (len(found[0]) + 1) + "|")
    for text, row in zip(settings, found, strict=True):
        print(f"| {text} | " + " | ".join(map(cell, row)) + " |")
    for each in found[-1]:
        if "chance" in each.details or "without_reports" in each.details:
            print(
                f"{each.name} without a report: {each.details.get('chance', each.details.get('without_reports')):.3g}"
            )


def peakedness(evidence: Evidence) -> float:
    """Return the highest reading of a day over the day's mean, the median over users of the median over days."""
    places = DAY // evidence.step
    days = evidence.series[:, : evidence.series.shape[1] // places * places].reshape(len(evidence.series), -1, places)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = days.max(axis=2) / days.mean(axis=2)
    return float(np.nanmedian([np.nanmedian(row) for row in ratio if np.isfinite(row).any()]))


def run() -> None:
    """Attack both panels."""
    sources = [("synthetic", synthetic(USERS, DAYS))]
    if SWISS.exists():
        sources.insert(0, ("Swiss", SWISS))
    for name, source in sources:
        opened = open_panel(source)
        profile = build_profile(opened)
        readings = evidence_from_panel(opened, profile)
        printed(f"{name} households, readings", readings, READINGS)
        print(f"highest reading of a day over its mean, middle user: {peakedness(readings):.2f}")
        printed(f"{name} households, daily totals", evidence_from_profile(released(profile, "total")), TOTALS)
