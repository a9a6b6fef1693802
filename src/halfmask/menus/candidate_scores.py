"""Scores of candidate settings of one mechanism, by the rules of the menu's bins. Candidates share all preparation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import HalfmaskError, OptionError
from halfmask.evaluation.analytic.denominators import ErrorKind
from halfmask.evaluation.analytic.evaluate_analytic import BlockErrors, SubsetErrors
from halfmask.evaluation.sampling import Subset
from halfmask.evaluation.scores import pooled, privacy, utility
from halfmask.mechanisms.grid import Block
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score, noise_std
from halfmask.profiles.profile import Profile

AT_ONCE = 96
ROOM = 2.0
"""Largest noise that can be evaluated, as a multiple of the winner's noise: the grid of errors is laid out for it."""
DIGITS = 6
SAFE = 1.2816 * 2**0.5
"""How many standard errors median privacy keeps above the lower edge of its bin.

As a share of samples, the standard error of a median of n samples is about 0.5 / sqrt(n). The root of 2 is there
because two medians differ: the one measured here and the one on fresh subsets. 10 % of draws fall more than 1.2816
standard errors below.
"""


@dataclass(frozen=True)
class Judged:
    """Scores of S settings, as a bin needs them.

    ``privacy``  median and 10th percentile (S, 2)
    ``utility``  median and 10th percentile (S, 2)
    ``safe``     value that median privacy exceeds on 9 of 10 draws of fresh subsets (S,)
    ``beyond``   by how much each setting breaks the bin's limits, 0 if it keeps them (S,)
    """

    privacy: FloatArray
    utility: FloatArray
    safe: FloatArray
    beyond: FloatArray

    @property
    def objective(self) -> FloatArray:
        """perc(U, 50) + perc(U, 10)."""
        return np.asarray(self.utility.sum(axis=1))


Entry = tuple[MenuSetting, float, float]
"""The setting as an entry of the menu, by how much it breaks the bin's limits (0 if not), and its safe privacy."""


class CandidateScores:
    """Evaluates settings of one mechanism on fixed subsets.

    At full resolution most time goes into a correction of the entropy by a fine grid (`BlockErrors.correction`). It
    differs little between similar settings. `roughly` therefore uses the correction of one setting for all: good enough
    to search. Final scores come from `entries`, at full resolution.
    """

    def __init__(self, setting: PrivacySetting, profile: Profile, subsets: list[Subset], menu: Menu) -> None:
        self.menu, self.law, self.release, self.subsets = menu, setting.law, setting.release, subsets
        self.seed = int(menu.provenance["seed"])
        aggregate = str(menu.provenance.get("aggregate", "sum"))
        error: ErrorKind = menu.provenance.get("error", "relative")
        if self.law.kind == "direct":
            raise OptionError(f"setting {setting} has no noise law: it cannot be refined")
        room = Block(setting.mechanism, _with_room(setting))
        self.most = float(self.law.moments(room.parameters)[:, 1].max())
        self.errors = BlockErrors(SubsetErrors(profile, subsets, aggregate, error, self.seed), room)
        self._near = self.errors.correction(room.parameters[:1])

    def metrics(self, parameters: FloatArray, near: bool = False) -> FloatArray:
        """Return the six metrics of settings on every subset, (settings, subsets, 6).

        ``parameters``  of the settings, (settings, parameters)
        ``near``        use the entropy's correction of the setting last passed to `look_near`, instead of each
                        setting's own
        """
        if near and self._near is not None:
            return self.errors.metrics(parameters, np.tile(self._near, (len(parameters), 1)))
        return self.errors.metrics(parameters, self.errors.correction(parameters))

    def look_near(self, setting: PrivacySetting) -> None:
        """Let `roughly` use this setting's correction from now on, so that it is exact for this setting."""
        self._near = self.errors.correction(np.array([setting.parameters]))

    def roughly(self, of: MenuSetting, parameters: FloatArray) -> Judged:
        """Return rough scores of settings, with the correction chosen by `look_near`.

        ``parameters`` are (settings, parameters). Scores are NaN for parameters that are not valid, and for noise that
        is 0 or too large.
        """
        unknown = np.full((2, len(parameters), 2), np.nan)
        found = Judged(unknown[0], unknown[1], np.full(len(parameters), np.nan), np.full(len(parameters), np.inf))
        variance = self.law.moments(parameters)[:, 1]
        small = np.flatnonzero((variance > 0) & (variance <= self.most))
        known = [row for row in small.tolist() if self._is_setting(tuple(parameters[row].tolist()))]
        for first in range(0, len(known), AT_ONCE):
            rows = known[first : first + AT_ONCE]
            judged = self._judged(of, self.metrics(parameters[rows], near=True))
            found.privacy[rows], found.utility[rows] = judged.privacy, judged.utility
            found.safe[rows], found.beyond[rows] = judged.safe, judged.beyond
        return found

    def best_of(self, of: MenuSetting, best: MenuSetting, drawn: FloatArray) -> MenuSetting:
        """Return the setting with the largest objective, of ``best`` and the drawn ones that keep the bin's limits."""
        for each in self.entries(of, [rounded(parameters) for parameters in drawn]):
            if each is not None and each[1] == 0 and each[0].objective > best.objective:
                best = each[0]
        return best

    def entry(self, of: MenuSetting, parameters: tuple[float, ...]) -> Entry | None:
        """Return the menu entry of a setting, by how much it breaks the bin's limits, and its safe privacy.

        None if the parameters are not valid, or if the noise is 0 or too large.
        """
        return self.entries(of, [parameters])[0]

    def entries(self, of: MenuSetting, tried: Sequence[tuple[float, ...]]) -> list[Entry | None]:
        """Return `entry` of many settings, evaluated `AT_ONCE` at a time to bound memory."""
        out: list[Entry | None] = [None] * len(tried)
        settings = {place: self.setting(parameters) for place, parameters in enumerate(tried)}
        known = [(place, setting) for place, setting in settings.items() if setting is not None]
        for first in range(0, len(known), AT_ONCE):
            some = known[first : first + AT_ONCE]
            judged = self._judged(of, self.metrics(np.array([setting.parameters for _, setting in some])))
            for row, (place, setting) in enumerate(some):
                found = replace(
                    of,
                    setting=setting,
                    privacy=Score(*judged.privacy[row].tolist()),
                    utility=Score(*judged.utility[row].tolist()),
                    objective=float(judged.objective[row]),
                    noise_std=noise_std(setting),
                )
                out[place] = (found, float(judged.beyond[row]), float(judged.safe[row]))
        return out

    def setting(self, parameters: tuple[float, ...]) -> PrivacySetting | None:
        """Return the setting with these parameters; None if they are not valid, or if the noise is 0 or too large."""
        if not self._is_setting(parameters):
            return None
        variance = float(self.law.moments(np.array([parameters]))[0, 1])
        found = PrivacySetting(self.law.name, parameters, release=self.release)
        return found if 0 < variance <= self.most else None

    def _is_setting(self, parameters: tuple[float, ...]) -> bool:
        try:
            self.law.check(parameters)
        except HalfmaskError:
            return False
        return True

    def _judged(self, of: MenuSetting, metrics: FloatArray) -> Judged:
        q, u = (formula(metrics, self.menu.largest, self.menu.weights) for formula in (privacy, utility))
        below = max(50 - 50 * SAFE / len(self.subsets) ** 0.5, 0)
        *of_privacy, safe = np.percentile(q, (50, 10, below), axis=1)
        beyond = self._beyond(of.bin, np.array(of_privacy).T, safe, *pooled(metrics))
        return Judged(np.array(of_privacy).T, np.percentile(u, (50, 10), axis=1).T, safe, beyond)

    def _beyond(
        self,
        limits_of_bin: tuple[float, float],
        scores: FloatArray,
        safe: FloatArray,
        mean: FloatArray,
        std: FloatArray,
    ) -> FloatArray:
        limits, (low, high) = self.menu.constraints, limits_of_bin
        median, spread = scores[:, 0], scores[:, 0] - scores[:, 1]
        inside = (low <= safe) & ((median < high) | (high == 1))
        kept = inside & (spread < limits["omega"]) & (mean < limits["max_mean"]) & (std < limits["max_std"])
        by = (low - safe, median - high, spread - limits["omega"], mean - limits["max_mean"], std - limits["max_std"])
        return np.where(kept, 0.0, np.maximum(np.max(by, axis=0), 1e-9))


def rounded(parameters: FloatArray) -> tuple[float, ...]:
    """Round parameters to six digits, so that a setting can be written down; below 1e-4 of the largest, to 0."""
    small = parameters < 1e-4 * parameters.max(initial=0.0)
    return tuple(
        0.0 if little else float(f"{value:.{DIGITS}g}") for value, little in zip(parameters, small, strict=True)
    )


def _with_room(setting: PrivacySetting) -> FloatArray:
    """Return the setting's parameters and, as a second row, those of noise `ROOM` times as large, if known."""
    start = np.array([setting.parameters])
    most = setting.law.grown(start, ROOM)
    return start if most is None else np.concatenate([start, most])
