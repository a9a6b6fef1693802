"""The guarantee: upper bounds on delta over epsilon, for one report and for a day of reports."""

from collections.abc import Sequence
from dataclasses import dataclass

from halfmask.audits.card import CURVE, ReportCard
from halfmask.figures.plot import Mark, Plot, PlotAxis, Subplot
from halfmask.figures.style import QUIET, line_style, powers_of_ten
from halfmask.figures.wording import in_a_list, sized
from halfmask.protection.guarantees.guarantee import Guarantee

USUAL = 1e-6
"""A usual value of delta."""
FLOOR = 1e-9
"""The smallest delta that is drawn."""


@dataclass(frozen=True)
class GuaranteeCurves:
    """delta(epsilon) of each setting, for one report and for a day of reports, if a reading changes by ``change``.

    ``instead``  the most private setting that has an alternative, the alternative, and its two curves
    ``certain``  settings with reports that are possible for only one of the two readings
    """

    change: float
    day: int
    epsilon: Sequence[float]
    one: dict[str, Sequence[float]]
    whole_day: dict[str, Sequence[float]]
    instead: tuple[str, str, Sequence[float], Sequence[float]] | None
    unit: str = ""
    certain: tuple[str, ...] = ()


def guarantee_data(card: ReportCard, unit: str = "") -> GuaranteeCurves:
    """Return the guarantees for a change of the size of a typical reading."""
    shown, day = card.masking(), card.day
    better = [(each.score, each.id, each.instead) for each in shown if each.instead]
    _, strongest, other = max(better, key=lambda each: each[0]) if better else (0.0, "", None)
    return GuaranteeCurves(
        change=card.about.sensitivity.typical,
        day=day,
        epsilon=CURVE,
        one={each.id: each.curve[1] for each in shown},
        whole_day={each.id: each.curve[day] for each in shown},
        instead=(strongest, str(other.setting), other.curve[1], other.curve[day]) if other else None,
        unit=unit,
        certain=tuple(each.id for each in shown if each.typical.certain > 0),
    )


def guarantee_caption(data: GuaranteeCurves) -> str:
    """Return the caption of the guarantees."""
    text = (
        f"Against a change of {sized(data.change, data.unit)} in one reading, and in each of a day's {data.day:,}: "
        "delta, the most by which the chance of any outcome under one value exceeds e to the epsilon times its chance "
        "under the other. Lower is better. The thin line marks delta = 0.000001, a usual demand. "
    )
    if data.certain:
        text += (
            f"The curves of {in_a_list(list(data.certain))} level off: some of their reports are possible for one "
            "reading only. "
        )
    if data.instead:
        text += (
            f"Thick and grey: {data.instead[1]}, which has the variance of {data.instead[0]}, and so the same utility."
        )
    return text.strip()


def guarantee_plot(data: GuaranteeCurves) -> Plot:
    """Plot the guarantees. A curve that levels off means that some reports reveal the reading with certainty."""
    grey = {"color": QUIET, "linewidth": 3.6, "alpha": 0.7}
    delta = PlotAxis("delta (upper bound)", log=True, limits=(FLOOR, 2), ticks=powers_of_ten(-9, 0, 3))

    def subplot(title: str, curves: dict[str, Sequence[float]], instead: Sequence[float]) -> Subplot:
        shown = [(id, deltas, line_style(order)) for order, (id, deltas) in enumerate(curves.items())]
        if data.instead:  # first, so that it lies below the others
            shown.insert(0, (data.instead[1], instead, grey))
        marks = [
            Mark(name, data.epsilon, [max(each, FLOOR) for each in deltas], style)
            for name, deltas, style in shown
        ]  # fmt: skip
        return Subplot(title, PlotAxis("epsilon"), delta, marks, level=USUAL, columns=3)

    one, day = data.instead[2:] if data.instead else ((), ())
    titles = ("One report", f"A day of {data.day:,} reports")
    return Plot([subplot(titles[0], data.one, one), subplot(titles[1], data.whole_day, day)], inches=3.2, share="xy")


def losses_plot(found: Guarantee) -> Plot:
    """Plot delta(epsilon) of one guarantee, with a curve for each number of reports."""
    marks = []
    for place, reports in enumerate((1, *found.composed)):
        composed = None if found.losses is None else found.losses.composed(reports)
        deltas = [1.0 if composed is None else composed.delta(epsilon) for epsilon in CURVE]
        name = "1 report" if reports == 1 else f"{reports:,} reports"
        marks.append(Mark(name, CURVE, [max(each, FLOOR) for each in deltas], line_style(place)))
    delta = PlotAxis("delta (upper bound)", log=True, limits=(FLOOR, 2), ticks=powers_of_ten(-9, 0, 3))
    return Plot([Subplot(f"{found.setting}, {found.size}", PlotAxis("epsilon"), delta, marks, level=USUAL, columns=2)])
