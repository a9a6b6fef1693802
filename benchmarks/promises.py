"""What can be promised at one error of a total, by what is released: the table of docs/protection.md.

Every row has the noise with which the period's total errs by `WITHIN`. Each cell is the smallest epsilon at delta 1e-6,
of Laplace or of Gaussian noise. The first two columns are about a change of a typical reading in each reading of the
period, the last two about any change of the period's total within the bounds. Panels are a synthetic one, and the real
ones whose files are in the folder that HALFMASK_DATA names.
"""

import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from halfmask.data.open_panel import open_panel
from halfmask.data.synth import synth
from halfmask.errors import OptionError
from halfmask.evaluation.sampling import population
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.least_noise import strongest
from halfmask.menus.promised_levels import clipping
from halfmask.menus.question import Question, question_of
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from halfmask_device.decimals import number_text, upwards

WITHIN = 0.0074
MANY = 10_000
REAL = {
    "ch_households_halfhourly.parquet": ("Swiss homes", 150.0),
    "melbourne_pedestrians_hourly.parquet": ("Melbourne", 60_000.0),
}
ROWS = (
    ("every reading, Laplace", "reading", "laplace"),
    ("every reading, Gaussian", "reading", "gaussian"),
    ("each producer's own total", "total", "laplace"),
    ("split total, one draw", "split", "laplace"),
    ("split total, two draws", "split", "laplace"),
    (f"split total of {MANY:,}, two draws", "split", "laplace"),
)


def panels() -> Iterator[tuple[str, Profile, float]]:
    """Panels with the public bound of a total."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panel.parquet"
        synth(path, users=1000, days=60)
        yield "synthetic", build_profile(open_panel(path)), 100.0
    for file, (name, high) in REAL.items():
        path = Path(os.environ.get("HALFMASK_DATA", "data")) / file
        if path.is_file():
            yield name, build_profile(open_panel(path)), high


def noise(row: int, profile: Profile, question: Question) -> PrivacySetting | None:
    """Return the largest noise of this row with which the total still has the error."""
    name, release, law = ROWS[row]
    producers = MANY if str(MANY)[:2] in name else population(profile)
    within = WITHIN * math.sqrt(2) if "one draw" in name else WITHIN  # two draws err as much as one of sqrt(2) times
    try:
        found = strongest(within, producers, replace(question, release=release), profile, among=[law]).solutions
    except OptionError:
        return None
    return found[0].setting if found else None


def told(question: Question, setting: PrivacySetting | None) -> str:
    """Return the epsilon of the question as text."""
    found = None if setting is None else question.promise(setting).epsilon
    return "-" if found is None else upwards(found)


def run() -> None:
    """Print one table for each panel."""
    for name, profile, high in panels():
        each, whole = (
            question_of(unit, "total", profile, low=0.0, high=high, step=high / 1e6) for unit in ("day", "whole-day")
        )
        unit = f" {profile.unit}" if profile.unit else ""
        cut = clipping(profile, 0.0, high)
        print(
            f"\n{name}: {population(profile):,} producers, error of a {whole.noun}'s total {WITHIN:.2%}, totals up to"
        )
        print(f"{number_text(high)}{unit} (clipped {cut.share:.1%}, bias {cut.bias:+.2%}), reading {each.size}")
        heads = [f"{each.size} in each reading, a {whole.noun}", "30 days", f"any total, a {whole.noun}", "30 days"]
        print(f"\n| what is released | {' | '.join(heads)} |")
        print("|---|---|---|---|---|")
        for row, (released, release, _) in enumerate(ROWS):
            day, any_ = (replace(one, release=release) for one in (each, whole))
            setting = noise(row, profile, any_ if release != "reading" else day)
            cells = [told(one, setting) for one in (day, day.month(), any_, any_.month())]
            print(f"| {released} | {' | '.join(cells)} |")
