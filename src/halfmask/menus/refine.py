"""Between the grid's points: continue from each bin's winner by continuous optimisation of its parameters.

Objective and limits are the menu's own: perc(U, 50) + perc(U, 10) is raised while median privacy stays in the bin,
perc(Q, 50) - perc(Q, 10) below omega and the pooled global error within the constraint. Every setting meets the same
subsets and the same noise (those of the study's seed), and the study's normalisers stay as they are, so the objective
is a function and not a draw.

What is best on some subsets is so in part by chance. Refined settings therefore keep a margin to the lower edge of the
bin (`candidate_scores.SAFE`), and what is gained is measured on fresh subsets, which the search has not seen. The
grid's winner stays if no gain shows there.
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
"""Settings tried for each bin and parameter: by the scouts of two rounds, and at the most by a climb."""
SPREADS = (1.0, 0.8, 0.5, 0.5, 0.3, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.003)
"""How far scouts go from the settings they start at, round by round: standard deviation of log parameters."""
PARENTS = 8
"""Settings that scouts start at: the best so far, and the next best ones, which may lead further."""
APPROACHES = 2
"""How often a scout's noise is grown or shrunk towards the privacy that is wanted."""
GROWTH = 0.4
"""Privacy grows about as the noise to this power; after the first step each scout's own power is known."""
TURNS = 3
WORTH = 0.0005
"""A turn of scouting and climbing that gains no more than this is the last."""
SLACK = 5e-4
"""By how much a rough look may be wrong about a limit."""
FAR_OUT = 10.0
NOTHING = ObjectiveDifference(0.0, 0.0, 0.0)
"""What a setting gains over itself."""


@dataclass(frozen=True)
class Gain:
    """What continuing from one bin's winner brought.

    ``tried`` is the best setting that the search found, and ``after`` what the menu holds: the grid's winner, if no
    gain shows. ``gain`` is the objective of ``tried`` less that of ``before`` on fresh subsets.
    """

    id: str
    before: PrivacySetting
    tried: PrivacySetting
    gain: ObjectiveDifference

    @property
    def shows(self) -> bool:
        """Whether the interval of the gain is above 0."""
        return self.gain.sign > 0

    @property
    def after(self) -> PrivacySetting:
        """The setting in the menu."""
        return self.tried if self.shows else self.before

    def to_json(self) -> dict[str, Any]:
        """As the menu's provenance holds it."""
        return {"from": str(self.before), "tried": str(self.tried), **gain_json(self.gain)}


@dataclass(frozen=True)
class Refined:
    """The menu after refinement, and the gain of each bin."""

    menu: Menu
    gains: tuple[Gain, ...]

    def without(self, winner: MenuSetting) -> "Refined":
        """The same with the grid's winner of one bin kept."""
        gains = [
            Gain(each.id, each.before, each.before, NOTHING) if each.id == winner.id else each for each in self.gains
        ]
        return _refined_menu(self.menu.with_setting(winner), gains)

    def rows(self) -> list[list[str]]:
        """Gains as a table, headings first."""
        rows = [["id", "grid's winner", "refined", "gain on fresh subsets"]]
        for each in self.gains:
            kept = "kept: nothing better found" if each.tried == each.before else "kept: no gain that shows"
            found = "-" if each.tried == each.before else str(each.gain)
            rows.append([each.id, str(each.before), str(each.after) if each.shows else kept, found])
        return rows


def gain_json(gain: ObjectiveDifference) -> dict[str, Any]:
    """A gain on fresh subsets as a menu's provenance holds it."""
    return {"gain": gain.value, "low": gain.low, "high": gain.high, "shows": gain.sign > 0}


def gains_of(
    pairs: Sequence[tuple[PrivacySetting, PrivacySetting]], menu: Menu, profile: Profile
) -> list[ObjectiveDifference]:
    """The objective of the second setting of each pair less that of the first, on the same fresh subsets."""
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
    """Better settings near the menu's own; a bin in which no gain shows on fresh subsets keeps its winner.

    ``evaluations`` bounds the work for each bin and parameter; ``taken`` says of a setting whether devices take it;
    ``advance(done, all)`` is called once per bin.
    """
    menu.check_data(profile, other_data=other_data)
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
    """What betters the winner as the bench measures it, so that like is compared with like; or the winner."""
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
    """The best of random settings around ``best``, in rounds that come ever closer; others in another ``turn``.

    One climb stops on the edge of the bin, at which most winners are, and finds no second summit. Scouts are therefore
    tried as they are drawn and with their noise grown or shrunk towards the lower end of the bin, and the next round
    starts at several of the best. They are looked at roughly, and the last parents in full resolution.
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
    """The best of ``best`` and the tried, each brought to the edge of the bin once more, in full resolution."""
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
    """Each parameter alone, the others 0, with as much noise as the setting has: the corners of where scouts look."""
    law, origin = setting.law, np.array([setting.parameters])
    rows = []
    for each in np.diag(np.maximum(origin[0], origin.max() / 8)) if origin.shape[1] > 1 and law.alike else ():
        of_alone, of_setting = (law.moments(some)[0, 1] for some in (each[None], origin))
        grown = law.grown(each[None], float(np.sqrt(of_setting / of_alone))) if of_alone > 0 else None
        rows += [] if grown is None else [grown]
    return np.concatenate(rows) if rows else origin[:0]


def _scattered(origin: FloatArray, spread: float, rng: np.random.Generator) -> FloatArray:
    """Settings around others: parameters grow or shrink, some become 0, and some that are 0 do not stay so."""
    step = np.exp(spread * rng.standard_normal(origin.shape))
    largest = origin.max(axis=1, keepdims=True)
    from_zero = spread * np.abs(rng.standard_normal(step.shape)) * largest * (rng.random(step.shape) < 0.3)
    return np.where(origin > 0, origin * step * (rng.random(step.shape) > spread / 8), from_zero)


def _approaching(entry: MenuSetting, bench: CandidateScores, drawn: FloatArray) -> Iterator[tuple[FloatArray, Judged]]:
    """The drawn settings, and the same with their noise scaled until their privacy is safely inside the bin, by secants
    through log privacy over log noise; each with a rough look at it.
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
    """The best setting met on the way up from ``start`` by Nelder and Mead's method, if any betters ``best``.

    ``short`` says by how much a setting fails a further demand (0 or below: not at all). It is asked only of settings
    that keep the bin's limits and would better the best so far, because it may be slow.
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
