"""Between the grid's points: continue from each bin's winner by continuous optimisation of its parameters.

Objective and limits are the menu's own: perc(U, 50) + perc(U, 10) is raised while median privacy stays in the bin,
perc(Q, 50) - perc(Q, 10) below omega and the pooled global error within the constraint. Every setting meets the same
subsets and the same noise (those of the study's seed), and the study's normalisers stay as they are, so the objective
is a function and not a draw.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import HalfmaskError, OptionError
from halfmask.evaluation.analytic import run as analytic
from halfmask.evaluation.analytic.denominators import ErrorKind
from halfmask.evaluation.analytic.totals import period_sums, subset_totals
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.sampling import Subset
from halfmask.evaluation.scores import pooled, privacy, utility
from halfmask.mechanisms.grid import Block
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score, noise_std
from halfmask.menus.placed import samples_of
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

EVALUATIONS = 40
"""Settings tried for each bin and parameter, at the most, by scouting and again by climbing."""
SPREADS = (0.5, 0.3, 0.15, 0.07, 0.03)
"""How far scouts go from the best setting so far, round by round: standard deviation of log parameters."""
AT_ONCE = 96
ROUNDS = 2
WORTH = 0.001
"""A round of scouting and climbing that gains no more than this is the last."""
ROOM = 2.0
"""Noise may grow up to so many times the winner's: the grid of errors is laid out for that."""
DIGITS = 6
FAR_OUT = 10.0


@dataclass(frozen=True)
class Gain:
    """What continuing from one bin's winner brought: the setting before and after, and its objective."""

    id: str
    before: PrivacySetting
    after: PrivacySetting
    objective_before: float
    objective_after: float

    @property
    def gain(self) -> float:
        """Never below 0."""
        return self.objective_after - self.objective_before


@dataclass(frozen=True)
class Refined:
    """The menu after refinement, and the gain of each bin."""

    menu: Menu
    gains: tuple[Gain, ...]

    def without(self, winner: MenuSetting) -> "Refined":
        """The same with the grid's winner of one bin kept."""
        gains = [
            replace(each, after=each.before, objective_after=each.objective_before) if each.id == winner.id else each
            for each in self.gains
        ]
        return Refined(self.menu.with_setting(winner), tuple(gains))

    def rows(self) -> list[list[str]]:
        """Gains as a table, headings first."""
        head = ["id", "grid's winner", "refined", "objective", "gain"]
        return [head] + [
            [each.id, str(each.before), str(each.after), f"{each.objective_after:.4f}", f"{each.gain:+.4f}"]
            for each in self.gains
        ]


def refine(
    menu: Menu,
    profile: Profile,
    *,
    evaluations: int = EVALUATIONS,
    other_data: bool = False,
    advance: Callable[[int, int], None] | None = None,
) -> Refined:
    """Better settings near the menu's own; a bin whose winner cannot be bettered keeps it.

    ``evaluations`` bounds the work for each bin and parameter; ``advance(done, all)`` hears of bins.
    """
    menu.check_data(profile, other_data=other_data)
    made, subsets = menu.provenance, samples_of(menu, profile)
    gains = []
    for number, entry in enumerate(menu.settings[:-1]):
        before, better = _refined(entry, menu, profile, subsets, evaluations)
        gains.append(Gain(entry.id, entry.setting, better.setting, before, better.objective))
        menu = menu.with_setting(better)
        if advance:
            advance(number + 1, len(menu.settings) - 1)
    told = {each.id: {"from": str(each.before), "gain": each.gain} for each in gains}
    return Refined(replace(menu, provenance={**made, "refined": told}), tuple(gains))


def _refined(
    entry: MenuSetting, menu: Menu, profile: Profile, subsets: list[Subset], evaluations: int
) -> tuple[float, MenuSetting]:
    """The winner's objective as the bench measures it, so that like is compared with like, and what betters it."""
    setting = entry.setting
    if not setting.parameters or setting.kind == "direct" or setting.inner is not None:
        return entry.objective, entry
    bench = Bench(setting, profile, subsets, menu)
    alone = bench.entry(entry, setting.parameters)
    before = entry if alone is None else replace(entry, objective=alone[0].objective)
    best = before
    for _ in range(ROUNDS):
        start = best.objective
        best = scout(entry, best, bench, evaluations)
        best = climb(entry, best, best.setting, bench, evaluations) or best
        if best.objective < start + WORTH:
            break
    return before.objective, entry if best is before else best


def scout(entry: MenuSetting, best: MenuSetting, bench: "Bench", evaluations: int) -> MenuSetting:
    """The best of random settings around ``best``, in rounds that come ever closer.

    One climb stops on the edge of the bin, where most winners sit. Scouts are therefore tried twice: as they are drawn,
    and with their noise grown or shrunk to the median privacy of the best, as far as a line through both tells.
    """
    rng = stream(bench.seed, "menus.scouts")
    for spread in SPREADS:
        origin = np.array(best.setting.parameters)
        count = max(evaluations * len(origin) // (2 * len(SPREADS)), 4)
        step = np.exp(spread * rng.standard_normal((count, len(origin))))
        from_zero = spread * np.abs(rng.standard_normal(step.shape)) * origin.max() * (rng.random(step.shape) < 0.3)
        drawn = np.where(origin > 0, origin * step, from_zero)
        best, medians = bench.best_of(entry, best, drawn)
        scaled = _at_privacy(bench, drawn, medians, max(entry.bin[0], 1e-6) * 1.0005)
        if len(scaled):
            best, _ = bench.best_of(entry, best, scaled)
    return best


def _at_privacy(bench: "Bench", drawn: FloatArray, medians: FloatArray, wanted: float) -> FloatArray:
    """Settings whose noise is scaled so that their median privacy comes near ``wanted``: q grows about as the noise."""
    rows = []
    for parameters, median in zip(drawn, medians, strict=True):
        if median > 0 and 0.5 < wanted / median < ROOM:
            grown = bench.law.grown(parameters[None], float(wanted / median))
            if grown is not None:
                rows.append(grown[0])
    return np.array(rows)


def climb(
    entry: MenuSetting,
    best: MenuSetting | None,
    start: PrivacySetting,
    bench: "Bench",
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

    def loss(x: FloatArray) -> float:
        nonlocal best
        tried = bench.entry(entry, _rounded(np.abs(x) * scale))
        if tried is None:
            return FAR_OUT
        found, beyond = tried
        if beyond == 0 and (best is None or found.objective > best.objective):
            beyond = max(short(found.setting), 0.0)
            best = found if beyond == 0 else best
        return float(beyond * FAR_OUT - found.objective)

    simplex = np.vstack([origin / scale, origin / scale + 0.15 * np.eye(len(origin))])
    options = {"maxfev": evaluations * len(origin), "initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-7}
    minimize(loss, origin / scale, method="Nelder-Mead", options=options)
    return best


def _rounded(parameters: FloatArray) -> tuple[float, ...]:
    """Six digits, so that a setting can be written down; what is negligible beside the largest is 0."""
    small = parameters < 1e-4 * parameters.max(initial=0.0)
    return tuple(
        0.0 if little else float(f"{value:.{DIGITS}g}") for value, little in zip(parameters, small, strict=True)
    )


def _with_room(setting: PrivacySetting) -> FloatArray:
    """Parameters of the setting and, below, of the largest noise there is room for, where the mechanism knows them."""
    start = np.array([setting.parameters])
    most = setting.law.grown(start, ROOM)
    return start if most is None else np.concatenate([start, most])


class Bench:
    """Evaluates settings of one mechanism on fixed subsets; what no setting changes is prepared once."""

    def __init__(self, setting: PrivacySetting, profile: Profile, subsets: list[Subset], menu: Menu) -> None:
        self.menu, self.law, self.subsets = menu, setting.law, subsets
        self.seed = int(menu.provenance["seed"])
        self.aggregate = str(menu.provenance.get("aggregate", "sum"))
        error: ErrorKind = menu.provenance.get("error", "relative")
        if self.law.kind == "direct":
            raise OptionError(f"setting {setting} has no noise law: it cannot be refined")
        self.kind = self.law.kind
        room = Block(setting.mechanism, _with_room(setting))
        self.most = float(self.law.moments(room.parameters)[:, 1].max())
        self.local = analytic._local(profile, subsets, self.law, self.kind, room, error)
        sums = zip(subsets, period_sums(profile, subsets), strict=True)
        self.totals = [subset_totals(*each, self.aggregate, self.kind, error) for each in sums]

    def metrics(self, parameters: FloatArray) -> FloatArray:
        """The six metrics of settings (settings, parameters) on every subset: (settings, subsets, 6)."""
        block = Block(self.law.name, parameters)
        out = np.empty((len(parameters), len(self.subsets), len(METRICS)))
        everything = slice(0, len(parameters))
        correction = self.local.corrections(self.law, parameters)
        analytic._local_part(self.local, self.law, block, everything, correction, self.subsets, self.seed, out)
        moments = self.law.moments(parameters)
        for index, totals in enumerate(self.totals):
            analytic._global_part(self.law, block, moments, totals, index, self.aggregate, self.seed, out)
        return out

    def best_of(self, of: MenuSetting, best: MenuSetting, drawn: FloatArray) -> tuple[MenuSetting, FloatArray]:
        """The better of ``best`` and the drawn settings that keep the bin's limits; their median privacy (or 0)."""
        tried = self.entries(of, [_rounded(parameters) for parameters in drawn])
        medians = np.array([0.0 if each is None else each[0].privacy.median for each in tried])
        for each in tried:
            if each is not None and each[1] == 0 and each[0].objective > best.objective:
                best = each[0]
        return best, medians

    def entry(self, of: MenuSetting, parameters: tuple[float, ...]) -> tuple[MenuSetting, float] | None:
        """What the menu would say of a setting, and by how much it breaks the bin's limits (0: not at all).

        None of a setting that is none, or noisier than there is room for.
        """
        return self.entries(of, [parameters])[0]

    def entries(self, of: MenuSetting, tried: Sequence[tuple[float, ...]]) -> list[tuple[MenuSetting, float] | None]:
        """`entry` of many settings, evaluated at once `AT_ONCE`, so few that each is at full resolution."""
        out: list[tuple[MenuSetting, float] | None] = [None] * len(tried)
        settings = {place: self._setting(parameters) for place, parameters in enumerate(tried)}
        known = [(place, setting) for place, setting in settings.items() if setting is not None]
        for first in range(0, len(known), AT_ONCE):
            some = known[first : first + AT_ONCE]
            metrics = self.metrics(np.array([setting.parameters for _, setting in some]))
            for row, (place, setting) in enumerate(some):
                out[place] = self._judged(of, setting, metrics[row : row + 1])
        return out

    def _setting(self, parameters: tuple[float, ...]) -> PrivacySetting | None:
        try:
            setting = PrivacySetting(self.law.name, parameters)
        except HalfmaskError:
            return None
        variance = float(self.law.moments(np.array([parameters]))[0, 1])
        return setting if 0 < variance <= self.most else None

    def _judged(self, of: MenuSetting, setting: PrivacySetting, metrics: FloatArray) -> tuple[MenuSetting, float]:
        of_privacy, of_utility = (
            Score(*map(float, np.percentile(formula(metrics, self.menu.largest, self.menu.weights)[0], (50, 10))))
            for formula in (privacy, utility)
        )
        found = replace(
            of,
            setting=setting,
            privacy=of_privacy,
            utility=of_utility,
            objective=of_utility.median + of_utility.p10,
            noise_std=noise_std(setting),
        )
        return found, self._violation(found, metrics)

    def _violation(self, found: MenuSetting, metrics: FloatArray) -> float:
        limits, (low, high) = self.menu.constraints, found.bin
        mean, std = (float(part[0]) for part in pooled(metrics))
        median, spread = found.privacy.median, found.privacy.median - found.privacy.p10
        inside = low <= median and (median < high or high == 1)
        if inside and spread < limits["omega"] and mean < limits["max_mean"] and std < limits["max_std"]:
            return 0.0
        beyond = (low - median, median - high, spread - limits["omega"])
        return max(*beyond, mean - limits["max_mean"], std - limits["max_std"], 1e-9)
