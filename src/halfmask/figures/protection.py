"""What a card shows: the score beside what attacks leave, and guarantees as curves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask.audits.card import CURVE, ReportCard, SettingCard
from halfmask.figures.style import INK, QUIET, legend_above, look, panels, powers_of_ten
from halfmask.protection.attacks.finding import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    "privacy score": ("o", "privacy score"),
    "reconstruction": ("s", "error of the best guess of a reading"),
    "smoothing": ("^", "error after smoothing a series"),
    "re-identification": ("D", "users no longer linked to their past"),
}
"""Errors are shares of the error without any report; users, of those linked without noise beyond chance."""
USUAL = 1e-6
"""A delta that is usually asked for."""
FLOOR = 1e-9
"""The smallest delta that is drawn."""


@dataclass(frozen=True)
class ProtectionMeasures:
    """For each setting of a card, from the lightest to the strongest, each measure; None where it does not apply."""

    ids: list[str]
    measures: dict[str, list[float | None]]


@dataclass(frozen=True)
class Curves:
    """delta(epsilon) of each setting, for one report and for a day of them, against a change of ``change``.

    ``instead``: the setting of highest privacy that has an alternative, that alternative, and its two curves.
    ``certain``: settings with reports that are possible for one of the two readings only.
    """

    change: float
    day: int
    epsilon: Sequence[float]
    one: dict[str, Sequence[float]]
    whole_day: dict[str, Sequence[float]]
    instead: tuple[str, str, Sequence[float], Sequence[float]] | None
    unit: str = ""
    certain: tuple[str, ...] = ()


def protection_data(card: ReportCard) -> ProtectionMeasures:
    """What attacks leave, and the score, of each setting that adds noise."""
    shown = sorted(card.masking(), key=_score)
    measures: dict[str, list[float | None]] = {name: [] for name in MEASURES}
    for each in shown:
        measures["privacy score"].append(each.privacy.median if each.privacy else None)
        measures["reconstruction"].append(ratio(each.found("reconstruction")))
        measures["smoothing"].append(smoothed(each.found("smoothing")))
        measures["re-identification"].append(_unnamed(each.found("re-identification")))
    return ProtectionMeasures([each.id for each in shown], measures)


def _score(each: SettingCard) -> float:
    return each.privacy.median if each.privacy else 0.0


def draw_protection(data: ProtectionMeasures) -> "Figure":
    """A row a setting, a mark a measure: where the marks lie apart, score and attacks disagree."""
    with panels(1, height=1.8 + 0.42 * len(data.ids)) as (figure, (axis,)):
        rows = range(len(data.ids))
        for row in rows:
            span = [value for values in data.measures.values() if (value := values[row]) is not None]
            axis.plot(
                [min(span, default=0.0), max(span, default=0.0)],
                [row, row],
                color=QUIET,
                linewidth=1.2,
                alpha=0.6,
                zorder=1,
            )
        for place, (name, (marker, words)) in enumerate(MEASURES.items()):
            values = data.measures[name]
            held = [(value, row) for row, value in enumerate(values) if value is not None]
            filled = look(place)["color"]
            face = filled if place == 0 else "none"
            x, y = zip(*held, strict=True) if held else ((), ())
            axis.scatter(
                x, y, s=58, marker=marker, facecolor=face, edgecolor=filled, linewidth=1.8, label=words, zorder=2
            )
        axis.set_yticks(list(rows), data.ids)
        axis.set_ylim(-0.6, len(data.ids) - 0.4)
        axis.set_xlim(-0.03, 1.03)
        axis.set_xlabel("0: nothing hidden, 1: nothing learned")
        axis.set_ylabel("setting")
        legend_above(axis, columns=1)
    return figure


def curve_data(card: ReportCard, unit: str = "") -> Curves:
    """Guarantees against a change of a typical reading's size."""
    shown, day = card.masking(), card.day
    better = [(_score(each), each.id, each.instead) for each in shown if each.instead]
    _, strongest, other = max(better, key=lambda each: each[0]) if better else (0.0, "", None)
    return Curves(
        change=card.about.sensitivity.typical,
        day=day,
        epsilon=CURVE,
        one={each.id: each.curve[1] for each in shown},
        whole_day={each.id: each.curve[day] for each in shown},
        instead=(strongest, str(other.setting), other.curve[1], other.curve[day]) if other else None,
        unit=unit,
        certain=tuple(each.id for each in shown if each.typical.certain > 0),
    )


def draw_curves(data: Curves) -> "Figure":
    """delta over epsilon, on a logarithmic axis; a curve that levels off has certain disclosure."""
    with panels(2, height=3.2, share="xy") as (figure, axes):
        titles = ("One report", f"A day of {data.day:,} reports")
        for axis, title, curves in zip(axes, titles, (data.one, data.whole_day), strict=True):
            for place, (id, deltas) in enumerate(curves.items()):
                axis.plot(data.epsilon, [max(delta, FLOOR) for delta in deltas], label=id, **look(place))
            if data.instead:
                deltas = data.instead[2] if curves is data.one else data.instead[3]
                shown = [max(delta, FLOOR) for delta in deltas]
                axis.plot(data.epsilon, shown, color=QUIET, linewidth=3, alpha=0.7, label=data.instead[1], zorder=1)
            axis.set_yscale("log")
            axis.set_yticks(*powers_of_ten(-9, 0, 3))
            axis.minorticks_off()
            axis.set(ylim=(FLOOR, 2), xlabel="epsilon", ylabel="delta (upper bound)")
            axis.axhline(USUAL, color=INK, linewidth=0.7, alpha=0.5)
            legend_above(axis, title, columns=3)
    return figure


def ratio(found: Finding | None) -> float | None:
    """A finding beside its baseline, 1 at the most; None where the attack does not apply."""
    if found is None or found.value is None or not found.baseline:
        return None
    return min(found.value / found.baseline, 1.0)


def smoothed(found: Finding | None) -> float | None:
    """Error of the middle user's readings after smoothing, beside that of guessing what others have."""
    if found is None or not found.details.get("rmse_prior"):
        return None
    return min(float(found.details["rmse_smoothed"]) / float(found.details["rmse_prior"]), 1.0)


def _unnamed(found: Finding | None) -> float | None:
    """1 - (named - chance) / (named without noise - chance): 0 where noise changes nothing, 1 at chance."""
    if found is None or found.value is None or found.baseline is None:
        return None
    chance, bare = found.baseline, float(found.details["unmasked_top1"])
    return min(max((bare - found.value) / (bare - chance), 0.0), 1.0) if bare > chance else None
