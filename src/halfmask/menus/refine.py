"""Improve a menu between the points of the study's grid: optimise the parameters of each bin's winner continuously.

Objective and limits are those of the menu: perc(U, 50) + perc(U, 10) is maximised while median privacy stays in the
bin, perc(Q, 50) - perc(Q, 10) stays below omega, and the pooled global error meets the constraint. All settings are
evaluated on the same subsets with the same noise, from the study's seed, and with the study's normalisers. The
objective is therefore a function without randomness.

The best setting on given subsets is best partly by chance. Refined settings therefore keep a margin to the lower edge
of the bin (`candidate_scores.SAFE`), and the gain is measured on fresh subsets that the search has not used. If no gain
is significant there, the grid's winner stays.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.evaluation.sampling import Subset
from halfmask.evaluation.scores import utility
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.candidate_scores import ROOM, CandidateScores, Judged, rounded
from halfmask.menus.device_refusal import Takes, anything
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.menus.menu_scale import afresh, evaluated, subsets_of
from halfmask.menus.objective_difference import ObjectiveDifference, UtilitySamples, difference
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

EVALUATIONS = 40
"""Settings tried per bin and parameter: in two rounds of the random search, and at most in a climb."""
SPREADS = (1.0, 0.8, 0.5, 0.5, 0.3, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.003)
"""Standard deviation of log parameters around the starting settings, for each round of the random search."""
PARENTS = 8
"""Number of best settings that the next round of the random search starts from."""
APPROACHES = 2
"""How often a drawn setting's noise is scaled towards the wanted privacy."""
GROWTH = 0.4
"""Privacy grows roughly as this power of the noise; after the first step each setting's own power is used."""
TURNS = 3
WORTH = 0.0005
"""Refinement of a bin ends when a turn gains no more than this."""
SLACK = 5e-4
"""Largest error of a rough score with respect to a limit."""
FAR_OUT = 10.0
NOTHING = ObjectiveDifference(0.0, 0.0, 0.0)
"""The gain of a setting over itself."""


@dataclass(frozen=True)
class Gain:
    """The result of refining one bin's winner.

    ``before``  the grid's winner
    ``tried``   the best setting that the search found
    ``gain``    objective of ``tried`` minus that of ``before``, on fresh subsets
    """

    id: str
    before: PrivacySetting
    tried: PrivacySetting
    gain: ObjectiveDifference

    @property
    def shows(self) -> bool:
        """Whether the interval of the gain lies above 0."""
        return self.gain.sign > 0

    @property
    def after(self) -> PrivacySetting:
        """The setting that the menu contains: ``tried`` if its gain is significant, else ``before``."""
        return self.tried if self.shows else self.before

    def to_json(self) -> dict[str, Any]:
        """Return the gain as plain data for the menu's provenance."""
        return {"from": str(self.before), "tried": str(self.tried), **gain_json(self.gain)}


@dataclass(frozen=True)
class Refined:
    """The refined menu, and the gain of each bin."""

    menu: Menu
    gains: tuple[Gain, ...]

    def without(self, winner: MenuSetting) -> "Refined":
        """Return a copy in which the grid's winner of one bin is kept."""
        gains = [
            Gain(each.id, each.before, each.before, NOTHING) if each.id == winner.id else each for each in self.gains
        ]
        return _refined_menu(self.menu.with_setting(winner), gains)

    def rows(self) -> list[list[str]]:
        """Return the gains as a table, headings first."""
        rows = [["id", "grid's winner", "refined", "gain on fresh subsets"]]
        for each in self.gains:
            kept = "kept: nothing better found" if each.tried == each.before else "kept: no gain that shows"
            found = "-" if each.tried == each.before else str(each.gain)
            rows.append([each.id, str(each.before), str(each.after) if each.shows else kept, found])
        return rows


def gain_json(gain: ObjectiveDifference) -> dict[str, Any]:
    """Return a gain on fresh subsets as plain data for a menu's provenance."""
    return {"gain": gain.value, "low": gain.low, "high": gain.high, "shows": gain.sign > 0}


def gains_of(
    pairs: Sequence[tuple[PrivacySetting, PrivacySetting]], menu: Menu, profile: Profile
) -> list[ObjectiveDifference]:
    """Return, for each pair, the second setting's objective minus the first's, on the same fresh subsets."""
    made = afresh(menu.provenance)
    laws, metrics = evaluated(list({each: 0 for pair in pairs for each in pair if pair[0] != pair[1]}), profile, made)
    sizes = np.repeat(made["sizes"], made["repeats"])
    seen = dict(zip(laws, utility(metrics, menu.largest, menu.weights), strict=True))
    return [
        NOTHING
        if one == other
        else difference(UtilitySamples(seen[other], sizes), UtilitySamples(seen[one], sizes), paired=True)
        for one, other in pairs
    ]


def _refined_menu(menu: Menu, gains: Sequence[Gain]) -> Refined:
    said = {each.id: each.to_json() for each in gains}
    return Refined(replace(menu, provenance={**menu.provenance, "refined": said}), tuple(gains))


def refine(
    menu: Menu,
    profile: Profile,
    *,
    evaluations: int = EVALUATIONS,
    other_data: bool = False,
    taken: Takes = anything,
    advance: Callable[[int, int], None] | None = None,
) -> Refined:
    """Return the menu with a better setting in each bin in which one was found; other bins keep their winner.

    A better setting must have a significant gain on fresh subsets.

    ``evaluations``  settings tried per bin and parameter, at most
    ``other_data``   accept a menu made from other data than the profile
    ``taken``        returns whether devices accept a setting
    ``advance``      progress callback ``(done, all)``, called once per bin
    """
    profile = menu.masked_profile(profile, other_data=other_data)
    subsets, found = subsets_of(menu.provenance, profile), []
    for number, entry in enumerate(menu.settings[:-1]):
        found.append(_refined(entry, menu, profile, subsets, evaluations, taken))
        if advance:
            advance(number + 1, len(menu.settings) - 1)
    pairs = [(entry.setting, better.setting) for entry, better in zip(menu.settings, found, strict=False)]
    gains = []
    for better, (before, tried), gain in zip(found, pairs, gains_of(pairs, menu, profile), strict=True):
        gains.append(Gain(better.id, before, tried, gain))
        menu = menu.with_setting(better) if gains[-1].shows else menu
    return _refined_menu(menu, gains)


def _refined(
    entry: MenuSetting, menu: Menu, profile: Profile, subsets: list[Subset], evaluations: int, taken: Takes
) -> MenuSetting:
    """Return the best setting that the search finds in one bin, or the winner if none is better.

    The winner is scored by the same class as its competitors, so that the scores can be compared.
    """
    setting = entry.setting
    if not setting.parameters or setting.kind == "direct" or setting.inner is not None:
        return entry
    bench = CandidateScores(setting, profile, subsets, menu)
    alone = bench.entry(entry, setting.parameters)
    best = entry if alone is None else replace(entry, objective=alone[0].objective)
    for turn in range(TURNS):
        start = best.objective
        best = scout(entry, best, bench, evaluations, turn, taken)
        if best.objective < start + WORTH:
            break
    return best


def scout(
    entry: MenuSetting, best: MenuSetting, bench: CandidateScores, evaluations: int, turn: int, taken: Takes = anything
) -> MenuSetting:
    """Return the best of random settings around ``best``, drawn in rounds of decreasing spread.

    A local search stops at the edge of the bin, where most winners are, and finds only one optimum. Each drawn setting
    is therefore tried as drawn, and with its noise scaled so that its privacy is near the lower edge of the bin. The
    next round starts from several of the best. Rounds use rough scores; the last candidates are scored at full
    resolution. Another ``turn`` gives other random numbers.
    """
    rng = stream(bench.seed, "menus.scouts", turn)
    bench.look_near(best.setting)
    parents = np.array([best.setting.parameters])
    objective = bench.roughly(entry, parents).objective
    count = max(evaluations * parents.shape[1] // 4, 8)
    drawn = _alone(best.setting)
    for spread in SPREADS:
        drawn = np.concatenate([drawn, _scattered(parents[rng.integers(len(parents), size=count)], spread, rng)])
        for tried, rough in _approaching(entry, bench, drawn):
            kept = rough.beyond == 0
            parents, objective = np.concatenate([parents, tried[kept]]), np.append(objective, rough.objective[kept])
        ranked = np.argsort(-objective, kind="stable")
        foremost = list(islice((row for row in ranked if _is_taken(bench, parents[row], taken)), PARENTS))
        parents, objective, drawn = parents[foremost], objective[foremost], parents[:0]
    return _confirmed(entry, best, bench, parents, taken)


def _is_taken(bench: CandidateScores, parameters: FloatArray, taken: Takes) -> bool:
    setting = bench.setting(tuple(parameters.tolist()))
    return setting is not None and taken(setting)


def _confirmed(
    entry: MenuSetting, best: MenuSetting, bench: CandidateScores, tried: FloatArray, taken: Takes
) -> MenuSetting:
    """Return the best of ``best`` and the tried settings, at full resolution, after moving each to the
    bin's edge again.
    """
    for each in tried:
        setting = bench.setting(rounded(each))
        if setting is None:
            continue
        bench.look_near(setting)
        for near, rough in _approaching(entry, bench, each[None]):
            if rough.beyond[0] == 0 and rough.objective[0] > best.objective:
                found = bench.best_of(entry, best, near)
                best = found if taken(found.setting) else best
    return best


def _alone(setting: PrivacySetting) -> FloatArray:
    """Return settings with only one parameter above 0, for each parameter, with as much noise as the setting."""
    law, origin = setting.law, np.array([setting.parameters])
    rows = []
    for each in np.diag(np.maximum(origin[0], origin.max() / 8)) if origin.shape[1] > 1 and law.alike else ():
        of_alone, of_setting = (law.moments(some)[0, 1] for some in (each[None], origin))
        grown = law.grown(each[None], float(np.sqrt(of_setting / of_alone))) if of_alone > 0 else None
        rows += [] if grown is None else [grown]
    return np.concatenate(rows) if rows else origin[:0]


def _scattered(origin: FloatArray, spread: float, rng: np.random.Generator) -> FloatArray:
    """Return random settings around others: parameters are scaled, some become 0, and some zeros become positive."""
    step = np.exp(spread * rng.standard_normal(origin.shape))
    largest = origin.max(axis=1, keepdims=True)
    from_zero = spread * np.abs(rng.standard_normal(step.shape)) * largest * (rng.random(step.shape) < 0.3)
    return np.where(origin > 0, origin * step * (rng.random(step.shape) > spread / 8), from_zero)


def _approaching(entry: MenuSetting, bench: CandidateScores, drawn: FloatArray) -> Iterator[tuple[FloatArray, Judged]]:
    """Yield the drawn settings with rough scores, then copies whose noise is scaled towards the bin's lower edge.

    The factor comes from secants through log privacy over log noise, and aims at a safe privacy just inside the bin.
    """
    wanted = max(entry.bin[0], 1e-6) * 1.0001
    power = factor = before = np.full(len(drawn), GROWTH)
    for step in range(1 + APPROACHES):
        drawn = np.array([rounded(parameters) for parameters in drawn])
        rough = bench.roughly(entry, drawn)
        yield drawn, rough
        safe = rough.safe
        with np.errstate(divide="ignore", invalid="ignore"):
            if step:
                power = np.clip(np.log(safe / before) / np.log(factor), GROWTH / 4, GROWTH * 4)
            factor = np.clip((wanted / safe) ** (1 / power), 1 / ROOM, ROOM)
        usable = np.isfinite(factor) & (factor != 1)
        rows = [bench.law.grown(row[None], by) for row, by in zip(drawn[usable], factor[usable].tolist(), strict=True)]
        if not rows or any(row is None for row in rows):
            return
        drawn = np.concatenate([row for row in rows if row is not None])
        before, factor, power = safe[usable], factor[usable], power[usable]


def climb(
    entry: MenuSetting,
    best: MenuSetting | None,
    start: PrivacySetting,
    bench: CandidateScores,
    evaluations: int,
    short: Callable[[PrivacySetting], float] = lambda _: 0.0,
) -> MenuSetting | None:
    """Return the best setting found from ``start`` by the Nelder-Mead method; ``best`` if none is better.

    ``short`` returns by how much a setting fails a further requirement (0 or less if it meets it). Because it may be
    slow, it is called only for settings that keep the bin's limits and improve the objective.
    """
    from scipy.optimize import minimize  # here, because SciPy takes long to import

    origin = np.array(start.parameters)
    scale = np.where(origin > 0, origin, max(origin.max(), 1e-6) / 4)
    bench.look_near(start)

    def loss(x: FloatArray) -> float:
        nonlocal best
        parameters = rounded(np.abs(x) * scale)
        rough = bench.roughly(entry, np.array([parameters]))
        objective, beyond = float(rough.objective[0]), float(rough.beyond[0])
        if not np.isfinite(beyond):
            return FAR_OUT
        if beyond <= SLACK and (best is None or objective > best.objective):
            tried = bench.entry(entry, parameters)
            if tried is not None and tried[1] == 0 and (best is None or tried[0].objective > best.objective):
                beyond = max(short(tried[0].setting), 0.0)
                best = tried[0] if beyond == 0 else best
        return beyond * FAR_OUT - objective

    simplex = np.vstack([origin / scale, origin / scale + 0.15 * np.eye(len(origin))])
    options = {"maxfev": evaluations * len(origin), "initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-7}
    minimize(loss, origin / scale, method="Nelder-Mead", options=options)
    return best
