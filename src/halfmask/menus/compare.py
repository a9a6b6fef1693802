"""Compare two menus or studies on one scale: which has the better setting at each level of privacy.

Scores are shares of a study's largest errors, so scores of two studies cannot be compared directly. Here both sides get
common weights and common normalisers: for each of the six metrics, the larger normaliser of the two. With a profile,
the settings of both sides are evaluated on the same newly drawn subsets, so that no side is measured on the subsets
that its settings were chosen on. Without a profile, studies are measured on their own samples.

Every difference has an interval. A side wins only if the interval excludes 0 and the winning setting is at least as
private as the other one. This matters because a level of privacy is wide, and less privacy always buys utility.
Exchanging the two sides changes only the order of columns.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.error_kind import warnings_of
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights, privacy, utility
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.candidate_scores import rounded
from halfmask.menus.menu import Menu, Score
from halfmask.menus.menu_scale import afresh, evaluated, outside
from halfmask.menus.objective_difference import CHANCE, ObjectiveDifference, UtilitySamples, difference
from halfmask.menus.study_scores import AnyStudy, Read, StudyScores, opened_study, sample_metrics, score_study
from halfmask.profiles.profile import Profile
from halfmask_device.setting import READING

BINS = 5
EQUAL = 1e-9
EDGE = 5e-5
"""Tolerance below a level's lower edge: a score changes by up to 5e-6 if other settings are evaluated with it."""
GROWN = np.exp(np.geomspace(0.005, np.log(16), 32))
"""Factors by which the noise of a menu's setting is increased, to see its utility at more privacy."""
FINE, COARSE = 10_000, 100
"""Number of privacy levels from which a study's best settings are taken.

`FINE` levels if the study's own samples are used, `COARSE` if its settings are evaluated again.
"""

Verdict = Literal["first wins", "second wins", "no difference", "trade", "no contender"]


@dataclass(frozen=True, eq=False)
class Standing:
    """One setting on the common scale, with its samples.

    ``own`` is True if the menu or study contains the setting, and False if it was made by adding noise.
    """

    setting: PrivacySetting
    privacy: Score
    utility: Score
    samples: UtilitySamples
    own: bool = True

    @property
    def objective(self) -> float:
        """perc(U, 50) + perc(U, 10)."""
        return self.utility.median + self.utility.p10

    def to_json(self) -> dict[str, Any]:
        """Return setting, scores and objective as plain data."""
        scores = {"privacy": vars(self.privacy), "utility": vars(self.utility)}
        return {"setting": str(self.setting), **scores, "objective": self.objective}


@dataclass(frozen=True)
class Contest:
    """One bin of common privacy: the settings that are compared, and the difference of their objectives.

    ``difference`` is None if a side has no setting in the bin; ``verdict`` is then "no contender". It is "trade" if one
    side is more useful and the other more private.
    """

    bin: tuple[float, float]
    best: tuple[Standing | None, Standing | None]
    difference: ObjectiveDifference | None
    verdict: Verdict

    @property
    def winner(self) -> int | None:
        """0 if the first side wins, 1 if the second does; None if neither does."""
        return {"first wins": 0, "second wins": 1}.get(self.verdict)

    def to_json(self) -> dict[str, Any]:
        """Return the bin as plain data; the difference is the first side's objective minus the second's."""
        found = self.difference
        numbers = (None, None, None) if found is None else (found.value, found.low, found.high)
        sides = [None if each is None else each.to_json() for each in self.best]
        return {
            "bin": list(self.bin),
            **dict(zip(("first", "second"), sides, strict=True)),
            **dict(zip(("difference", "low", "high"), numbers, strict=True)),
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Compared:
    """The comparison in every bin, and the scale that it was made on.

    ``rounds``   one contest per bin of privacy
    ``outside``  settings of each side beyond the common range, which take part in no bin
    ``samples``  number of subsets that each side was measured on
    ``paired``   whether both sides were measured on the same subsets
    """

    names: tuple[str, str]
    rounds: tuple[Contest, ...]
    normalisers: Mapping[str, float]
    weights: Weights
    outside: tuple[tuple[PrivacySetting, ...], tuple[PrivacySetting, ...]]
    samples: tuple[int, int]
    paired: bool
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the whole comparison as plain data."""
        return {
            "names": list(self.names),
            "rounds": [each.to_json() for each in self.rounds],
            "normalisers": dict(self.normalisers),
            "weights": str(self.weights),
            "outside": [list(map(str, each)) for each in self.outside],
            "samples": list(self.samples),
            "paired": self.paired,
            "warnings": list(self.warnings),
        }

    def rows(self) -> list[list[str]]:
        """Return the bins as a table, headings first."""
        sides = [f"{what} of {name}" for name in self.names for what in ("setting", "privacy, objective")]
        rows = [["privacy", *sides, "difference", "verdict"]]
        for each in self.rounds:
            row = [f"{each.bin[0]:g} to {each.bin[1]:g}"]
            for best in each.best:
                row += (
                    ["-", "-"]
                    if best is None
                    else [str(best.setting), f"{best.privacy.median:.3f}, {best.objective:.4f}"]
                )
            rows.append([*row, "-" if each.difference is None else str(each.difference), self._verdict(each)])
        return rows

    def _verdict(self, each: Contest) -> str:
        if each.winner is not None:
            return f"{self.names[each.winner]} wins"
        if each.verdict == "trade" and each.difference is not None:
            useful = 0 if each.difference.value > 0 else 1
            return f"{self.names[useful]} more useful, {self.names[1 - useful]} more private"
        if each.verdict == "no difference":
            return "no difference that shows"
        held = [name for name, best in zip(self.names, each.best, strict=True) if best]
        return f"only {held[0]} has a setting" if held else "-"

    def notes(self) -> list[str]:
        """Return sentences: how often each side wins, how that was measured, and which settings were left out."""
        if not self.rounds:
            return list(self.warnings)
        wins = [sum(each.winner == side for each in self.rounds) for side in (0, 1)]
        notes = [f"{self.names[0]} wins {wins[0]}, {self.names[1]} {wins[1]} of {len(self.rounds)} levels of privacy"]
        notes.append(
            "objective: median and 10th percentile of utility, added; in "
            f"{100 * (1 - CHANCE):g} of 100 comparisons all intervals hold; the weights are {self.weights}"
        )
        if self.paired:
            notes.append(f"both are measured on the same {self.samples[0]} subsets")
        else:
            notes.append(
                f"they are measured on different subsets, {self.samples[0]} and {self.samples[1]}, so intervals are "
                "wide: name `profile` to evaluate both on the same"
            )
        notes += [
            f"{name}: {', '.join(map(str, beyond))} beyond the common range, in no level"
            for name, beyond in zip(self.names, self.outside, strict=True)
            if beyond
        ]
        return [*notes, *self.warnings]


@dataclass(frozen=True)
class _Side:
    """One side's settings ``inside`` and ``outside`` of the common range, and a key that identifies its ``subsets``."""

    inside: list[Standing]
    outside: tuple[PrivacySetting, ...]
    subsets: tuple[Any, ...]
    samples: int


def compare(
    one: Menu | AnyStudy,
    other: Menu | AnyStudy,
    *,
    profile: Profile | None = None,
    bins: int = BINS,
    weights: Weights | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> Compared:
    """Compare two menus or studies on common normalisers.

    ``profile``  to evaluate settings on; required if either side is a menu
    ``bins``     number of levels of privacy
    ``weights``  by default those of the menus; required if two menus differ in them
    ``names``    of the two sides, for tables and notes
    """
    if not 1 <= bins <= 100:
        raise OptionError(f"{bins} bins: compare on 1 to 100 levels of privacy", kind="bins")
    opened_ = [_opened(each) for each in (one, other)]
    _check_alike(opened_)
    if len({each.release == READING for each in _menus(opened_)}) > 1:
        return _without_scale(opened_, names)
    largest = np.maximum(*(_scale(each) for each in opened_))
    common = _weights(opened_) if weights is None else weights
    first, second = _sides(opened_, common, profile, largest)
    paired = first.subsets == second.subsets
    edges = np.linspace(0, 1, bins + 1)
    levels = [_level(edges, number, first.inside, second.inside) for number in range(bins)]
    contested = sum(any(at.own for at in a) and any(at.own for at in b) for _, a, b in levels)
    rounds = tuple(_contest(*each, paired, CHANCE / max(contested, 1)) for each in levels)
    normalisers = dict(zip(METRICS, largest.tolist(), strict=True))
    warnings = tuple(dict.fromkeys(said for each in opened_ for said in warnings_of(_about(each))))
    outside_ = (first.outside, second.outside)
    return Compared(names, rounds, normalisers, common, outside_, (first.samples, second.samples), paired, warnings)


def _without_scale(sides: list[Menu | Read], names: tuple[str, str]) -> Compared:
    """Return a comparison without contests: errors of readings and of totals have no common scale."""
    told = "one menu masks readings and the other totals, so their scores have no common scale; epsilon has one"
    normalisers = dict(zip(METRICS, np.maximum(*(_scale(each) for each in sides)).tolist(), strict=True))
    return Compared(names, (), normalisers, Weights(), ((), ()), (0, 0), False, (told,))


def _opened(side: Menu | AnyStudy) -> Menu | Read:
    if isinstance(side, Menu):
        return side
    return Menu.read(side) if isinstance(side, str | Path) and str(side).endswith(".json") else opened_study(side)


def _about(side: Menu | Read) -> Mapping[str, Any]:
    return side.provenance if isinstance(side, Menu) else side[1]


def _check_alike(sides: list[Menu | Read]) -> None:
    """Raise an OptionError if the sides measure different errors: another aggregate, error function or period."""
    for name, usual in (("aggregate", "sum"), ("error", "relative"), ("period", None)):
        one, other = (_about(each).get(name, usual) for each in sides)
        if one != other:
            raise OptionError(
                f"they differ in {name}, {one} and {other}: make both with the same, then compare", kind="unlike"
            )


def _menus(sides: list[Menu | Read]) -> list[Menu]:
    return [each for each in sides if isinstance(each, Menu)]


def _weights(sides: list[Menu | Read]) -> Weights:
    """Return the weights that all menus share, or the paper's weights if both sides are studies."""
    found = list(dict.fromkeys(each.weights for each in _menus(sides)))
    if len(found) > 1:
        raise OptionError(
            f"they weigh errors differently, {found[0]} and {found[1]}: name `weights` to score both by", kind="weights"
        )
    return found[0] if found else Weights()


def _scale(side: Menu | Read) -> FloatArray:
    return side.largest if isinstance(side, Menu) else score_study(*side).normalisers


def _sides(sides: list[Menu | Read], weights: Weights, profile: Profile | None, largest: FloatArray) -> list[_Side]:
    """Return both sides, measured on the same fresh subsets if the profile allows it.

    A study that cannot be evaluated on the profile is measured on its own samples.
    """
    if profile is None:
        if _menus(sides):
            raise OptionError(
                "a menu keeps no errors to put on another scale: name the profile to evaluate it on", kind="profile"
            )
        return [_of_study(each, weights, largest) for each in sides if not isinstance(each, Menu)]
    both = all(_can_be_evaluated(each, profile) for each in sides)
    again = sides if both else _menus(sides)
    own = [_settings(each, weights, largest) if both or isinstance(each, Menu) else [] for each in sides]
    wanted = [
        [*some, *(each for setting in some for each in _grown(setting))] if isinstance(side, Menu) else some
        for side, some in zip(sides, own, strict=True)
    ]
    made = afresh(*(_about(each) for each in again)) if again else {}
    laws, metrics = evaluated(list(dict.fromkeys(each for some in wanted for each in some)), profile, made)
    place = {setting: row for row, setting in enumerate(laws)}
    found = []
    for side, some, held in zip(sides, wanted, own, strict=True):
        if not both and not isinstance(side, Menu):
            found.append(_of_study(side, weights, largest))
            continue
        kept = [each for each in some if each in place]
        sizes = np.repeat(made["sizes"], made["repeats"])
        rows = metrics[[place[each] for each in kept]]
        found.append(_side(kept, rows, weights, largest, sizes, ("fresh",), set(held)))
    return found


def _can_be_evaluated(side: Menu | Read, profile: Profile) -> bool:
    """Return whether the side is a menu, or an analytic study of this profile's data."""
    about = _about(side)
    return isinstance(side, Menu) or (
        about.get("engine") == "analytic" and about.get("fingerprint") == profile.fingerprint()
    )


def _settings(side: Menu | Read, weights: Weights, largest: FloatArray) -> list[PrivacySetting]:
    """Return the settings of a menu, or the best settings of a study by its own samples."""
    if isinstance(side, Menu):
        return [each.setting for each in side.settings[:-1]]
    scored = score_study(*side, weights, largest=largest)
    return [scored.setting(int(row)) for row in _foremost(scored, COARSE)]


def _grown(setting: PrivacySetting) -> list[PrivacySetting]:
    """Return copies of the setting with more noise, by the factors `GROWN`; empty if its law cannot grow its noise."""
    if setting.kind == "direct" or setting.inner is not None:
        return []
    rows = [setting.law.grown(np.array([setting.parameters]), float(by)) for by in GROWN]
    grown = [PrivacySetting(setting.mechanism, rounded(row[0])) for row in rows if row is not None]
    return [each.released(setting.release) for each in grown]


def _of_study(side: Read, weights: Weights, largest: FloatArray) -> _Side:
    """Return a study measured on its own samples: the best settings that keep the constraint and mask."""
    table, about = side
    scored = score_study(table, about, weights, largest=largest)
    rows = _foremost(scored, FINE)
    metrics = sample_metrics(table)[1][rows]
    drawn = [about.get(name) for name in ("fingerprint", "sizes", "repeats", "seed")]
    sizes, count = np.repeat(about.get("sizes", []), about.get("repeats", 1)), metrics.shape[1]
    sizes = sizes if len(sizes) == count else np.zeros(count)
    settings = [scored.setting(int(row)) for row in rows]
    return _side(settings, metrics, weights, largest, sizes.astype(np.int64), (str(drawn), count))


def _foremost(scored: StudyScores, levels: int) -> IntArray:
    """Return the best setting of each level of privacy, among settings that keep the constraint and mask."""
    rows = np.flatnonzero(scored.passes & scored.masks)
    place = np.floor(np.clip(scored.privacy_median[rows], 0, 1) * levels).astype(np.int64)
    order = rows[np.lexsort((-scored.objective[rows], place))]
    return order[np.unique(np.sort(place), return_index=True)[1]]


def _side(
    settings: Iterable[PrivacySetting],
    metrics: FloatArray,
    weights: Weights,
    largest: FloatArray,
    sizes: IntArray,
    subsets: tuple[Any, ...],
    own: Set[PrivacySetting] | None = None,
) -> _Side:
    """Return a side made of these settings and metrics; ``own`` are those it contains itself (default: all)."""
    inside, beyond = [], []
    for setting, q, u in zip(
        settings, privacy(metrics, largest, weights), utility(metrics, largest, weights), strict=True
    ):
        scores = [np.percentile(each, (50, 10)) for each in (q, u)]
        held = own is None or setting in own
        if outside(scores):
            beyond += [setting] if held else []
        else:
            of_privacy, of_utility = (Score(*each.tolist()) for each in scores)
            inside.append(Standing(setting, of_privacy, of_utility, UtilitySamples(u, sizes), held))
    return _Side(inside, tuple(beyond), subsets, len(sizes))


Level = tuple[tuple[float, float], list[Standing], list[Standing]]


def _level(edges: FloatArray, number: int, *sides: list[Standing]) -> Level:
    """Return the edges of one bin, and the settings that each side has in it."""
    low, high = round(float(edges[number]), 12), round(float(edges[number + 1]), 12)
    top = 1 if high == 1 else high - EDGE
    one, other = ([at for at in side if low - EDGE <= at.privacy.median < top + (high == 1) * EQUAL] for side in sides)
    return (low, high), one, other


def _contest(
    bin_: tuple[float, float], one: list[Standing], other: list[Standing], paired: bool, chance: float
) -> Contest:
    """Compare the best settings of both sides in one bin.

    The side whose best setting is less private is tried first. It may use any of its settings that is at least as
    private as the other side's best one; for a menu, its own settings with more noise count too. If the most useful of
    these is better, this side wins. Otherwise the other side wins if its best setting is better than the first side's
    best setting.
    """
    tops = [max((at for at in side if at.own), key=lambda at: at.objective, default=None) for side in (one, other)]
    if tops[0] is None or tops[1] is None:
        return Contest(bin_, (tops[0], tops[1]), None, "no contender")
    best = [tops[0], tops[1]]
    weak = int(best[1].privacy.median < best[0].privacy.median)
    wanted = best[1 - weak].privacy.median - EDGE
    as_private = [at for at in (one, other)[weak] if at.privacy.median >= wanted]
    if as_private:
        raised = list(best)
        raised[weak] = max(as_private, key=lambda at: at.objective)
        found = difference(raised[0].samples, raised[1].samples, paired=paired, chance=chance)
        if found.sign == (1, -1)[weak]:
            return Contest(bin_, (raised[0], raised[1]), found, _wins(weak))
    found = difference(best[0].samples, best[1].samples, paired=paired, chance=chance)
    verdict: Verdict = "no difference"
    if found.sign:
        ahead = int(found.sign < 0)
        verdict = "trade" if ahead == weak else _wins(ahead)
    return Contest(bin_, (best[0], best[1]), found, verdict)


def _wins(side: int) -> Verdict:
    return "second wins" if side else "first wins"
