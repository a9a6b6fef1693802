"""What a card shows: the score beside what attacks leave, and guarantees as curves."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from halfmask.figures.style import INK, QUIET, look, panels, styled
from halfmask.protection.guarantees.units import Promise

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = {
    "privacy score": ("o", "privacy score"),
    "reconstruction": ("s", "error of the best guess of a reading"),
    "smoothing": ("^", "error after smoothing a series"),
    "re-identification": ("D", "users no longer recognised"),
}
"""Errors are shares of the error without any report; users, of those recognised without noise beyond chance."""
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
    epsilon: list[float]
    one: dict[str, list[float]]
    whole_day: dict[str, list[float]]
    instead: tuple[str, str, list[float], list[float]] | None
    unit: str = ""
    certain: tuple[str, ...] = ()


def protection_data(card: dict[str, Any]) -> ProtectionMeasures:
    """What attacks leave, and the score, of each setting that adds noise."""
    shown = sorted(masking(card), key=lambda each: each["privacy"]["median"])
    measures: dict[str, list[float | None]] = {name: [] for name in MEASURES}
    for each in shown:
        found = {finding["name"]: finding for finding in each["attacks"]}
        measures["privacy score"].append(each["privacy"]["median"])
        measures["reconstruction"].append(ratio(found.get("reconstruction")))
        measures["smoothing"].append(smoothed(found.get("smoothing")))
        measures["re-identification"].append(_unnamed(found.get("re-identification")))
    return ProtectionMeasures([each["id"] for each in shown], measures)


def draw_protection(data: ProtectionMeasures, columns: int) -> "Figure":
    """A row a setting, a mark a measure: where the marks lie apart, score and attacks disagree."""
    with styled():
        figure, (axis,) = panels(1, 1, height=1.6 + 0.42 * len(data.ids))
        if columns > 1:
            figure.set_figwidth(7.6)
        rows = range(len(data.ids))
        for row in rows:
            span = [value for values in data.measures.values() if (value := values[row]) is not None]
            axis.plot([min(span), max(span)], [row, row], color=QUIET, linewidth=1.2, alpha=0.6, zorder=1)
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
        figure.legend(loc="outside upper left", ncols=2 if columns > 1 else 1)
    return figure


def curve_data(card: dict[str, Any], unit: str = "") -> Curves:
    """Guarantees against a change of a typical reading's size."""
    day = int(card["about"]["reports"]["day"])
    of = {each["id"]: each["typical"]["curve"] for each in masking(card)}
    better = [each for each in masking(card) if each["instead"]]
    strongest = max(better, key=lambda each: each["privacy"]["median"]) if better else None
    other = strongest["instead"] if strongest else None
    return Curves(
        change=float(card["about"]["sensitivity"]["typical"]),
        day=day,
        epsilon=card["about"]["curve"],
        one={id: curve["1"] for id, curve in of.items()},
        whole_day={id: curve[str(day)] for id, curve in of.items()},
        instead=(strongest["id"], other["setting"], other["curve"]["1"], other["curve"][str(day)])
        if strongest and other
        else None,
        unit=unit,
        certain=tuple(each["id"] for each in masking(card) if each["typical"]["delta"]["inf"] > 0),
    )


def draw_curves(data: Curves, columns: int) -> "Figure":
    """delta over epsilon, on a logarithmic axis; a curve that levels off has certain disclosure."""
    with styled():
        figure, axes = panels(2, columns, sharex=True, sharey=True)
        titles = ("one report", f"a day of {data.day:,} reports")
        for axis, title, curves in zip(axes, titles, (data.one, data.whole_day), strict=True):
            for place, (id, deltas) in enumerate(curves.items()):
                axis.plot(data.epsilon, [max(delta, FLOOR) for delta in deltas], label=id, **look(place))
            if data.instead:
                deltas = data.instead[2] if curves is data.one else data.instead[3]
                shown = [max(delta, FLOOR) for delta in deltas]
                axis.plot(data.epsilon, shown, color=QUIET, linewidth=3, alpha=0.7, label=data.instead[1], zorder=1)
            axis.set_yscale("log")
            axis.set_ylim(FLOOR, 2)
            axis.set_xlabel("epsilon")
            axis.set_title(title)
            axis.axhline(USUAL, color=INK, linewidth=0.7, alpha=0.5)
        axes[0].set_ylabel("delta (upper bound)")
        axes[0].legend(title="setting", loc="lower right", ncols=2 if columns > 1 else 3)
    return figure


def named_promise(each: dict[str, Any], window: str) -> str:
    """The epsilon of a setting on a card for a window, with its change, window and delta."""
    found = each["promises"][window]
    return Promise(**{part.name: found[part.name] for part in fields(Promise)}).named()


def masking(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The settings of a card that add noise, as the menu orders them."""
    return [each for each in card["settings"] if each["setting"] != "none" and each["privacy"]]


def ratio(found: dict[str, Any] | None) -> float | None:
    """A finding beside its baseline, 1 at the most; None where the attack does not apply."""
    if not found or found["value"] is None or not found["baseline"]:
        return None
    return float(min(found["value"] / found["baseline"], 1.0))


def smoothed(found: dict[str, Any] | None) -> float | None:
    """Error of the middle user's readings after smoothing, beside that of guessing what others have."""
    details = (found or {}).get("details", {})
    return float(min(details["rmse_smoothed"] / details["rmse_prior"], 1.0)) if details.get("rmse_prior") else None


def _unnamed(found: dict[str, Any] | None) -> float | None:
    """1 - (named - chance) / (named without noise - chance): 0 where noise changes nothing, 1 at chance."""
    if not found or found["value"] is None:
        return None
    chance, bare = found["baseline"], found["details"]["unmasked_top1"]
    return float(min(max((bare - found["value"]) / (bare - chance), 0.0), 1.0)) if bare > chance else None
