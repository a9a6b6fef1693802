"""The privacy score of each setting, and the protection that attacks leave."""

from dataclasses import dataclass

from halfmask.audits.card import ReportCard
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot, score_scale
from halfmask.figures.style import QUIET, line_style
from halfmask.protection.attacks.finding import Finding

MEASURES = {
    "privacy score": ("o", "privacy score"),
    "reconstruction": ("s", "error of the best guess of a reading"),
    "smoothing": ("^", "error after smoothing a series"),
    "reidentification-half": ("D", "users no longer named by half of their reports"),
}
"""Errors are divided by the error without a report. Users are a share of those linked without noise, beyond chance."""


@dataclass(frozen=True)
class ProtectionMeasures:
    """The measures of each setting of a card, from the weakest to the strongest; None if a measure does not apply."""

    ids: list[str]
    measures: dict[str, list[float | None]]


def protection_data(card: ReportCard) -> ProtectionMeasures:
    """Return the score, and the protection that attacks leave, of each setting that adds noise."""
    shown = sorted(card.masking(), key=lambda each: each.score)
    measures: dict[str, list[float | None]] = {name: [] for name in MEASURES}
    for each in shown:
        measures["privacy score"].append(each.privacy.median if each.privacy else None)
        measures["reconstruction"].append(left_of_baseline(each.found("reconstruction")))
        measures["smoothing"].append(left_by_smoothing(each.found("smoothing")))
        measures["reidentification-half"].append(_unnamed(each.found("reidentification-half")))
    return ProtectionMeasures([each.id for each in shown], measures)


def left_of_baseline(found: Finding | None) -> float | None:
    """Return a finding divided by its baseline, at most 1; None if the attack does not apply."""
    if found is None or found.value is None or not found.baseline:
        return None
    return min(found.value / found.baseline, 1.0)


def left_by_smoothing(found: Finding | None) -> float | None:
    """Return the median user's error after smoothing, divided by that of a guess from other users; at most 1, None if
    unknown.
    """
    if found is None or not found.details.get("rmse_prior"):
        return None
    return min(float(found.details["rmse_smoothed"]) / float(found.details["rmse_prior"]), 1.0)


def _unnamed(found: Finding | None) -> float | None:
    """Return 1 - (named - chance) / (named without noise - chance), limited to 0 to 1.

    None if the attack does not apply, or does not exceed chance even without noise.
    """
    if found is None or found.value is None or found.baseline is None:
        return None
    chance, bare = float(found.details["chance"]), found.baseline
    return min(max((bare - found.value) / (bare - chance), 0.0), 1.0) if bare > chance else None


def protection_caption(data: ProtectionMeasures) -> str:
    """Return the caption of score and attacks."""
    text = (
        "Each row is a setting of the menu; the filled circle is its privacy score, the open marks are what attacks "
        "leave of the protection. All run from 0 to 1, yet they measure different things: what counts is their order."
    )
    spans = []
    for row, id in enumerate(data.ids):
        marks = [(value, name) for name, values in data.measures.items() if (value := values[row]) is not None]
        if len(marks) > 1:
            spans.append((max(marks)[0] - min(marks)[0], id, min(marks), max(marks)))
    if not spans:
        return text
    _, id, (low, least), (high, most) = max(spans)
    return (
        f"{text} What to see: they lie furthest apart for {id}, from {low:.2f} ({MEASURES[least][1]}) to {high:.2f} "
        f"({MEASURES[most][1]})."
    )


def protection_plot(data: ProtectionMeasures) -> Plot:
    """Plot one row per setting. If the marks of a row are far apart, score and attacks disagree."""
    marks = []
    for row in range(len(data.ids)):
        span = [value for values in data.measures.values() if (value := values[row]) is not None] or [0.0]
        marks.append(Mark("", [min(span), max(span)], [row, row], {"color": QUIET, "alpha": 0.6}, label=""))
    for order, (name, (marker, words)) in enumerate(MEASURES.items()):
        held = [(value, row) for row, value in enumerate(data.measures[name]) if value is not None]
        x, y = [value for value, _ in held], [row for _, row in held]
        marks.append(Mark(words, x, y, line_style(order), shape="points", marker=marker, size=8))
    count = len(data.ids)
    rows = PlotAxis("setting", limits=(-0.6, count - 0.4), ticks=dict(enumerate(data.ids)))
    shown = Subplot("", score_scale("0: nothing hidden, 1: nothing learned"), rows, marks, columns=1)
    return Plot([shown], inches=1.8 + 0.42 * count)
