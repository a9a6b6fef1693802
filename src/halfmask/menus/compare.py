"""Two menus or studies on one scale: who has the better setting at each level of privacy.

Scores are shares of a study's largest errors, so those of two studies cannot be compared as they stand. Here both are
measured by common normalisers, the larger of each of the six, and by common weights. A study has its metrics; a menu's
settings are evaluated again on a profile, those of two menus on the same samples. Which of the two is named first
changes nothing but the order of columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError
from halfmask.evaluation.error_kind import warnings_of
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, Score, read_menu
from halfmask.menus.placed import place
from halfmask.menus.scored import AnyStudy, Read, Scored, opened, score
from halfmask.profiles.profile import Profile

BINS = 5
EQUAL = 1e-9
EDGE = 5e-5
"""Settings that are so little below a level of privacy are in it: evaluated in other company, a score changes by up to
5e-6, and refined settings stand on the edge."""


@dataclass(frozen=True)
class Standing:
    """One setting on the common scale."""

    setting: PrivacySetting
    privacy: Score
    utility: Score

    @property
    def objective(self) -> float:
        """perc(U, 50) + perc(U, 10)."""
        return self.utility.median + self.utility.p10


@dataclass(frozen=True)
class Contest:
    """One bin of common privacy: the best of either, and who wins: 0, 1, or None where both are equal or absent."""

    bin: tuple[float, float]
    best: tuple[Standing | None, Standing | None]
    winner: int | None


@dataclass(frozen=True)
class Compared:
    """The rounds, the common normalisers and weights, and settings beyond their range (they take part in no round).

    ``samples`` names the menu on whose samples both were evaluated, where they were made on different ones.
    """

    names: tuple[str, str]
    rounds: tuple[Contest, ...]
    normalisers: Mapping[str, float]
    weights: Weights
    outside: tuple[tuple[PrivacySetting, ...], tuple[PrivacySetting, ...]]
    warnings: tuple[str, ...] = ()
    samples: str | None = None

    def rows(self) -> list[list[str]]:
        """The rounds as a table, headings first."""
        sides = [f"{what} of {name}" for name in self.names for what in ("setting", "utility")]
        rows = [["privacy", *sides, "wins", "by"]]
        for each in self.rounds:
            row = [f"{each.bin[0]:g} to {each.bin[1]:g}"]
            for best in each.best:
                row += ["-", "-"] if best is None else [str(best.setting), f"{best.utility.median:.3f}"]
            rows.append([*row, self._winner(each), self._lead(each)])
        return rows

    def _winner(self, each: Contest) -> str:
        if each.winner is not None:
            return self.names[each.winner]
        return "-" if each.best == (None, None) else "equal"

    def _lead(self, each: Contest) -> str:
        """By how much median utility the winner leads."""
        one, other = each.best
        if each.winner is None or one is None or other is None:
            return "-"
        return f"{abs(one.utility.median - other.utility.median):.3f}"

    def notes(self) -> list[str]:
        """Who wins how often, and what was left out."""
        wins = [sum(each.winner == side for each in self.rounds) for side in (0, 1)]
        told = [f"{self.names[0]} wins {wins[0]}, {self.names[1]} {wins[1]} of {len(self.rounds)} levels of privacy"]
        told.append(f"both are scored with the weights {self.weights}")
        if self.samples is not None:
            told.append(f"they were made on different samples: both are evaluated on those of {self.samples}")
        told += [
            f"{name}: {', '.join(map(str, beyond))} beyond the common range, in no level"
            for name, beyond in zip(self.names, self.outside, strict=True)
            if beyond
        ]
        return [*told, *self.warnings]


def compare(
    one: Menu | AnyStudy,
    other: Menu | AnyStudy,
    *,
    profile: Profile | None = None,
    bins: int = BINS,
    weights: Weights | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> Compared:
    """Both on common normalisers; menus need the ``profile`` that their settings are evaluated on.

    ``weights`` are the menus' own where not given, and where these differ they must be.
    """
    if not 1 <= bins <= 100:
        raise OptionError(f"{bins} bins: compare on 1 to 100 levels of privacy")
    sides = [_opened(each) for each in (one, other)]
    _check_alike(sides)
    scales = [_scale(each) for each in sides]
    largest = np.maximum(*scales)
    common = _weights(sides) if weights is None else weights
    like = _judge(sides)
    standings = [_standings(each, common, like, profile, largest) for each in sides]
    edges = np.linspace(0, 1, bins + 1)
    rounds = [_round(edges, number, [inside for inside, _ in standings]) for number in range(bins)]
    normalisers = dict(zip(METRICS, largest.tolist(), strict=True))
    warnings = dict.fromkeys(told for each in sides for told in warnings_of(_about(each)))
    alike = len({_samples(each) for each in _menus(sides)}) < 2
    samples = None if alike else names[0 if like is sides[0] else 1]
    outside = (standings[0][1], standings[1][1])
    return Compared(names, tuple(rounds), normalisers, common, outside, tuple(warnings), samples)


def _opened(side: Menu | AnyStudy) -> Menu | Read:
    if isinstance(side, Menu):
        return side
    return read_menu(side) if isinstance(side, str | Path) and str(side).endswith(".json") else opened(side)


def _about(side: Menu | Read) -> Mapping[str, Any]:
    return side.provenance if isinstance(side, Menu) else side[1]


def _check_alike(sides: list[Menu | Read]) -> None:
    """Refuse to compare errors of different kinds."""
    for name, usual in (("aggregate", "sum"), ("error", "relative"), ("period", None)):
        one, other = (_about(each).get(name, usual) for each in sides)
        if one != other:
            raise OptionError(f"they differ in {name}, {one} and {other}: make both with the same, then compare")


def _menus(sides: list[Menu | Read]) -> list[Menu]:
    return [each for each in sides if isinstance(each, Menu)]


def _weights(sides: list[Menu | Read]) -> Weights:
    """Those of the menus; the paper's where both are studies, which have none."""
    found = list(dict.fromkeys(each.weights for each in _menus(sides)))
    if len(found) > 1:
        raise OptionError(f"they weigh errors differently, {found[0]} and {found[1]}: name `weights` to score both by")
    return found[0] if found else Weights()


def _samples(menu: Menu) -> str:
    """What says which samples a menu was made on."""
    return str([menu.provenance.get(name) for name in ("sizes", "repeats", "seed")])


def _judge(sides: list[Menu | Read]) -> Menu | None:
    """The menu on whose samples both are evaluated: of two, whichever order they have, the same one."""
    return min(_menus(sides), key=_samples, default=None)


def _scale(side: Menu | Read) -> FloatArray:
    return side.largest if isinstance(side, Menu) else score(*side).normalisers


Standings = tuple[list[Standing], tuple[PrivacySetting, ...]]


def _standings(
    side: Menu | Read, weights: Weights, like: Menu | None, profile: Profile | None, largest: FloatArray
) -> Standings:
    """Settings within the common range, and those beyond it."""
    if not isinstance(side, Menu):
        return _of_study(score(*side, weights, largest=largest)), ()
    if profile is None:
        raise OptionError("a menu keeps no errors to put on another scale: name the profile to evaluate it on")
    settings = [each.setting for each in side.settings[:-1]]
    placed = place(settings, profile, replace(like or side, weights=weights), largest)
    inside = [Standing(each, found.privacy, found.utility) for each, found in placed.items() if not found.outside]
    return inside, tuple(each for each, found in placed.items() if found.outside)


def _of_study(scored: Scored) -> list[Standing]:
    """Settings that pass and mask; thousands of them, so only the best of each ten-thousandth of privacy."""
    rows = np.flatnonzero(scored.passes & scored.masks)
    place_ = np.floor(np.clip(scored.privacy_median[rows], 0, 1) * 10_000).astype(np.int64)
    order = rows[np.lexsort((-scored.objective[rows], place_))]
    first = np.unique(np.sort(place_), return_index=True)[1]
    return [
        Standing(
            scored.setting(int(row)),
            Score(float(scored.privacy_median[row]), float(scored.privacy_p10[row])),
            Score(float(scored.utility_median[row]), float(scored.utility_p10[row])),
        )
        for row in order[first]
    ]


def _round(edges: FloatArray, number: int, standings: list[list[Standing]]) -> Contest:
    low, high = round(float(edges[number]), 12), round(float(edges[number + 1]), 12)
    top = 1 if high == 1 else high - EDGE
    inside = [[at for at in side if low - EDGE <= at.privacy.median < top + (high == 1) * EQUAL] for side in standings]
    one, other = (max(side, key=lambda at: at.objective, default=None) for side in inside)
    winner: int | None = None
    if one is None or other is None:
        winner = 0 if one else 1 if other else None
    elif abs(one.objective - other.objective) > EQUAL:
        winner = int(other.objective > one.objective)
    return Contest((low, high), (one, other), winner)
