"""How far the published error of a daily total is off, by the number of users and the epsilon of the calibration.

Users are drawn from a synthetic panel, and from the Swiss homes if HALFMASK_DATA names the folder of their file. The
truth is `total_error`, the mean over days, computed from the profile of the same users, for this number of them
reporting on a day. "wrong interval" is the share of all draws that publish an interval which does not hold the error
that would be published without noise. Each draw makes a new summary.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from halfmask.data.open_panel import open_panel
from halfmask.data.synth import synth
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.public_summary import public_summary
from halfmask.menus.public_totals import Estimate
from halfmask.menus.published_error import published_error
from halfmask.menus.total_error import total_error
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released

USERS = (100, 622, 6435)
EPSILONS = (0.5, 1.0, 2.0)
NO_NOISE = 1e9
DRAWS = 100
DAYS = 28
SETTING = PrivacySetting.parse("laplace:40@total")
SWISS = "ch_households_halfhourly.parquet"


def panels() -> Iterator[tuple[str, Profile, float]]:
    """Panels with the public bound of a daily total, four times the mean."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panel.parquet"
        synth(path, users=max(USERS), days=DAYS)
        yield "synthetic, totals up to 130", build_profile(open_panel(path)), 130.0
    swiss = Path(os.environ.get("HALFMASK_DATA", "data")) / SWISS
    if swiss.is_file():
        profile = build_profile(open_panel(swiss))
        yield f"{len(profile)} Swiss homes, totals up to 200", profile, 200.0


def off(profile: Profile, users: int, epsilon: float, high: float, rng: np.random.Generator) -> tuple[list[float], int]:
    """Relative differences of the published error from the true one, and how often its interval holds it."""
    found, held = [], 0
    for _ in range(DRAWS):
        some = profile if users >= len(profile) else profile.subset(rng.choice(profile.labels, users, replace=False))
        totals = released(some, SETTING.release)
        reporting = round(users / float((totals.cells[..., 0] > 0).mean()))
        truth = total_error(totals, SETTING.released("reading"), reporting)
        told, exact = (summarised(some, users, each, high) for each in (epsilon, NO_NOISE))
        if told is not None and truth is not None and exact is not None:
            found.append(told.value / truth - 1)
            held += told.low <= exact.value <= told.high
    return found, held


def summarised(profile: Profile, users: int, epsilon: float, high: float) -> Estimate | None:
    """The published error by a new summary."""
    summary = public_summary(profile, epsilon, (0.0, high))
    return None if summary is None else published_error(summary, SETTING, users)


def run() -> None:
    """Print the table."""
    print("| panel | users | epsilon | median | 19 of 20 within | wrong interval | too noisy to publish |")
    print("|---|---|---|---|---|---|---|")
    rng = np.random.default_rng(1)
    for name, profile, high in panels():
        for users in sorted({min(each, len(profile)) for each in USERS}):
            for epsilon in EPSILONS:
                found, held = off(profile, users, epsilon, high, rng)
                told = [
                    f"{np.median(found):+.1%}",
                    f"{np.quantile(np.abs(found), 0.95):.1%}",
                    f"{(len(found) - held) / DRAWS:.0%}",
                ]
                row = (
                    name,
                    f"{users:,}",
                    f"{epsilon:g}",
                    *(told if found else ["-"] * 3),
                    f"{1 - len(found) / DRAWS:.0%}",
                )
                print(f"| {' | '.join(row)} |", flush=True)
