"""From a study to a menu: the best setting of each privacy bin (method: section 4)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from halfmask import __version__
from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Constraint, Weights
from halfmask.evaluation.study import read_study
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import IDS, EmptyBin, Menu, MenuSetting, Score, noise_std, none_setting
from halfmask.menus.scored import BoolArray, Scored, score

KEPT_ABOUT = (
    *("fingerprint", "aggregate", "error", "seed", "grid", "period", "engine", "sizes", "repeats"),
    *("settings", "readings"),
)
NEXT_TO_NOTHING = 0.005


@dataclass(frozen=True, eq=False)
class Optimum:
    """A menu, and where every setting of the study stands.

    ``bin``         number of each setting's bin; -1 where it breaks the constraint or masks nothing
    ``admissible``  perc(Q, 50) - perc(Q, 10) < omega, and in a bin
    ``fitness``     perc(U, 50) + perc(U, 10) of admissible settings, NaN of the others
    ``winners``     the setting that won each bin; -1 where it is empty
    ``front``       the Pareto front: admissible settings that no other beats in median privacy and utility at once
    """

    menu: Menu
    scored: Scored
    edges: FloatArray
    bin: IntArray
    admissible: BoolArray
    fitness: FloatArray
    winners: IntArray
    front: IntArray
    notes: list[str] = field(default_factory=list)


def optimize(
    study: str | Path | tuple[pa.Table, Mapping[str, Any]],
    *,
    bins: int = 5,
    omega: float = 0.1,
    weights: Weights | None = None,
    max_mean: float | None = None,
    max_std: float | None = None,
    factor: Callable[[PrivacySetting], float] | None = None,
) -> Optimum:
    """The menu of a study, given as a path or as what `read_study` returns.

    Settings that keep the constraint on the global error (default 0.1 and 0.1) fall into equal bins of privacy by
    their median; in each, the admissible setting with the largest perc(U, 50) + perc(U, 10) wins. Ties go to the larger
    median utility, then to the smaller noise, then to the setting that comes first in the study.

    ``factor`` gives a number from 0 to 1 by which a setting's privacy counts, such as for noise that can be predicted.
    """
    _check_bins(bins, omega)
    table, about = read_study(study) if isinstance(study, str | Path) else study
    scored = score(table, about, weights, _constraint(max_mean, max_std))
    if factor is not None:
        of = np.array([factor(scored.setting(row)) if kept else 1.0 for row, kept in enumerate(scored.passes)])
        scored = replace(scored, privacy_median=scored.privacy_median * of, privacy_p10=scored.privacy_p10 * of)
    edges = np.linspace(0, 1, bins + 1)
    held = scored.passes & scored.masks
    place = np.clip(np.searchsorted(edges, scored.privacy_median, side="right") - 1, 0, bins - 1)
    bin_ = np.where(held, place, -1)
    with np.errstate(invalid="ignore"):
        admissible = held & (scored.spread < omega)
    fitness = np.where(admissible, scored.objective, np.nan)
    winners = np.array([_winner(scored, np.flatnonzero(admissible & (bin_ == b))) for b in range(bins)], np.int64)
    if (winners < 0).all():
        raise OptionError(_nothing(scored, held, omega))
    about_study = {"study": Path(study).name} if isinstance(study, str | Path) else {}
    menu = Menu(
        settings=(*(_entry(scored, edges, b, w) for b, w in enumerate(winners) if w >= 0), none_setting()),
        normalisers=dict(zip(METRICS, scored.normalisers.tolist(), strict=True)),
        weights=scored.weights,
        constraints={"max_mean": scored.constraint.max_mean, "max_std": scored.constraint.max_std, "omega": omega},
        empty_bins=tuple(_empty(scored, edges, b, bin_, held, omega) for b, w in enumerate(winners) if w < 0),
        provenance={
            **{name: about[name] for name in KEPT_ABOUT if name in about},
            **about_study,
            "bins": bins,
            "halfmask": __version__,
        },
    )
    notes = _notes(scored, menu)
    return Optimum(menu, scored, edges, bin_, admissible, fitness, winners, pareto_front(scored, admissible), notes)


def pareto_front(scored: Scored, among: BoolArray) -> IntArray:
    """Of some settings, those that none exceeds in median utility at as much median privacy; from private to useful."""
    rows = np.flatnonzero(among)
    rows = rows[np.lexsort((-scored.utility_median[rows], -scored.privacy_median[rows]))]
    best = np.maximum.accumulate(scored.utility_median[rows]) if len(rows) else np.zeros(0)
    return rows[np.concatenate([[True], best[1:] > best[:-1]])] if len(rows) else rows


def front_entries(found: Optimum) -> tuple[MenuSetting, ...]:
    """The front's settings as entries of a menu, each its own id, to choose among beyond the menu.

    If any admissible setting has more than given median privacy and utility, one of the front has.
    """
    entries = []
    for index in found.front.tolist():
        bin_ = int(found.bin[index])
        entries.append(replace(_entry(found.scored, found.edges, bin_, index), id=found.scored.texts[index].as_py()))
    return tuple(entries)


def _check_bins(bins: int, omega: float) -> None:
    if not 1 <= bins <= len(IDS):
        raise OptionError(f"bins {bins} is not between 1 and {len(IDS)}")
    if not 0 < omega <= 1 / bins:
        raise OptionError(
            f"omega {omega} is not above 0 and at most the width of a bin, {1 / bins:.4g}: lower --omega or --bins"
        )


def _constraint(max_mean: float | None, max_std: float | None) -> Constraint | None:
    """What was asked; None where nothing was."""
    for name, value in (("max-mean", max_mean), ("max-std", max_std)):
        if value is not None and not value > 0:
            raise OptionError(f"--{name} {value} is not above 0: no setting could keep it")
    if max_mean is None and max_std is None:
        return None
    default = Constraint()
    return Constraint(
        default.max_mean if max_mean is None else max_mean, default.max_std if max_std is None else max_std
    )


def _winner(scored: Scored, rows: IntArray) -> int:
    """The best of some settings by the rule of ties, or -1 of none."""
    for values in (scored.objective, scored.utility_median):
        if len(rows):
            rows = rows[values[rows] == values[rows].max()]
    if len(rows) < 2:
        return int(rows[0]) if len(rows) else -1
    noises = [noise_std(scored.setting(row)) for row in rows]
    return int(rows[np.argmin([np.inf if noise is None else noise for noise in noises])])


def _score(scored: Scored, index: int) -> tuple[Score, Score]:
    return (
        Score(float(scored.privacy_median[index]), float(scored.privacy_p10[index])),
        Score(float(scored.utility_median[index]), float(scored.utility_p10[index])),
    )


def _bin(edges: FloatArray, number: int) -> tuple[float, float]:
    """A bin's edges without the last digits that 3 * 0.2 leaves."""
    return round(float(edges[number]), 12), round(float(edges[number + 1]), 12)


def _entry(scored: Scored, edges: FloatArray, number: int, index: int) -> MenuSetting:
    setting = scored.setting(index)
    privacy, utility = _score(scored, index)
    return MenuSetting(
        IDS[number], setting, _bin(edges, number), privacy, utility, float(scored.objective[index]), noise_std(setting)
    )


def _empty(scored: Scored, edges: FloatArray, number: int, bin_: IntArray, held: BoolArray, omega: float) -> EmptyBin:
    """Why a bin is empty: its settings disperse too much (the least dispersed is nearest), or none is in it."""
    low, high = _bin(edges, number)
    inside = np.flatnonzero(bin_ == number)
    if len(inside):
        nearest = int(inside[np.argmin(scored.spread[inside])])
        reason = (
            f"its privacy disperses by {scored.spread[nearest]:.4g} (median less 10th percentile), omega is {omega}"
        )
    else:
        rows = np.flatnonzero(held)
        median = scored.privacy_median[rows]
        distance = np.maximum(low - median, median - high)
        nearest = int(rows[np.lexsort((-scored.objective[rows], distance))[0]])
        reason = (
            f"no setting that keeps the constraint has its median privacy in {low:g} to {high:g}; "
            f"the nearest has {scored.privacy_median[nearest]:.4g}"
        )
    return EmptyBin((low, high), scored.setting(nearest), _score(scored, nearest)[0], reason)


def _nothing(scored: Scored, held: BoolArray, omega: float) -> str:
    if not held.any():
        return "no setting of the study that keeps the constraint masks anything: evaluate settings with noise"
    rows = np.flatnonzero(held)
    nearest = int(rows[np.argmin(scored.spread[rows])])
    return (
        f"no setting is admissible: the privacy of the steadiest, {scored.setting(nearest)}, disperses by "
        f"{scored.spread[nearest]:.4g}, omega is {omega}: raise --omega, take fewer --bins or evaluate more settings"
    )


def _notes(scored: Scored, menu: Menu) -> list[str]:
    names = scored.mechanisms.unique().to_pylist()
    notes = []
    if len(set(names) - {"none"}) == 1:
        only = next(iter(set(names) - {"none"}))
        notes.append(f"the study has one mechanism only, {only}: the menu compares it with no other")
    notes += [
        f"bin {each.bin[0]:g} to {each.bin[1]:g} is empty; nearest is {each.nearest}: {each.reason}"
        for each in menu.empty_bins
    ]
    masking = menu.settings[:-1]
    notes += [
        f"{each.id}, {each.setting}, hides next to nothing: its privacy is {each.privacy.median:.2g}"
        for each in masking
        if each.privacy.median < NEXT_TO_NOTHING
    ]
    notes += [
        f"{other.id} has more privacy and more utility than {each.id}: nobody need choose {each.id}"
        for each, other in combinations(masking, 2)
        if other.objective >= each.objective
    ]
    return notes
