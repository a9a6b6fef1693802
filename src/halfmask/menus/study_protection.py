"""The protection that each setting of a study gives: guess error, epsilon, share recognised and error of totals.

Each number is computed for all settings at once, when an axis or a requirement first needs it. If one parameter scales
the noise, it is computed at some deviations and interpolated. For other settings, the guess error is approximate to a
few hundredths and ignores the lattice (`protection.best_guess`). The winners are then settled: their numbers are
computed exactly, for the noise that devices draw.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.question import Question
from halfmask.menus.recognised_share import recognised_share, recognised_shares
from halfmask.menus.study_scores import StudyScores
from halfmask.menus.total_error import total_error
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.protection.best_guess import check_varies, guess_error, guess_errors
from halfmask.protection.evidence import Evidence, Population, population_of
from halfmask_device.setting import READING

NODES = 24


@dataclass(frozen=True, eq=False)
class StudyProtection:
    """Protection of every setting of a study, in the study's order; NaN or infinite if there is none.

    ``able``      settings that keep the constraint and mask. Only these can win, so the slow numbers are computed for
                  them only
    ``evidence``  series of readings, to compute the share of producers recognised
    ``scaled``    whether the study's error function is "scaled"
    ``settled``   rows whose numbers were computed exactly
    """

    settings: Sequence[PrivacySetting]
    able: BoolArray
    profile: Profile
    question: Question
    evidence: Evidence | None = None
    scaled: bool = False
    population: Population = field(init=False)
    settled: set[int] = field(default_factory=set)

    @classmethod
    def of(
        cls, scored: StudyScores, profile: Profile, question: Question, evidence: Evidence | None = None, *,
        scaled: bool = False,
    ) -> "StudyProtection":  # fmt: skip
        """Return the protection of a study's settings."""
        settings = list(map(PrivacySetting.parse, scored.texts.to_pylist()))
        return cls(settings, scored.passes & scored.masks, profile, question, evidence, scaled)

    def __post_init__(self) -> None:
        release = self.settings[0].release
        if release != READING:  # then reports are of totals, and what is recognised in series of readings is not asked
            asked = self.question.of_release(release, self.profile).per_report
            vars(self).update(question=asked, profile=released(self.profile, release), evidence=None)
        vars(self).update(population=population_of(self.profile))

    def blocks(self, among: BoolArray | None = None) -> Iterator[tuple[str, IntArray, FloatArray]]:
        """Yield mechanism, rows and parameters of each group of settings with one mechanism and number
        of parameters.
        """
        groups: dict[tuple[str, int, bool], list[int]] = {}
        for row in range(len(self.settings)) if among is None else np.flatnonzero(among).tolist():
            each = self.settings[row]
            groups.setdefault((each.mechanism, len(each.parameters), each.inner is None), []).append(row)
        for (name, count, _), rows in groups.items():
            parameters = np.array([self.settings[row].parameters for row in rows]).reshape(len(rows), count)
            yield name, np.array(rows), parameters

    @cached_property
    def guess(self) -> FloatArray:
        """Error of the best guess of a reading from its report, divided by that without one; NaN without
        a noise law.
        """
        check_varies(self.population)
        found = np.full(len(self.settings), np.nan)
        for name, rows, parameters in self.blocks(self.able):
            if all(self.settings[row].silent for row in rows):
                found[rows] = 0.0
            elif _scaled(name):
                found[rows] = self._interpolated(name, parameters[:, 0], self._guess)
            elif len(self.settings) == 1:
                found[rows] = self._guess(self.settings[0])
            else:
                found[rows] = guess_errors(name, parameters, self.population)
            if any(self.settings[row].inner is not None for row in rows):
                found[rows] = np.nan
        return found

    @cached_property
    def epsilon(self) -> FloatArray:
        """Epsilon of the question's window at its delta; infinite if there is none."""
        found = np.full(len(self.settings), np.inf)
        for name, rows, parameters in self.blocks(self.able & self.promising):
            if _scaled(name):
                found[rows] = np.exp(self._interpolated(name, parameters[:, 0], self._log_epsilon))
            else:
                found[rows] = [np.exp(self._log_epsilon(self.settings[row])) for row in rows]
        return found

    @cached_property
    def promising(self) -> BoolArray:
        """Whether each setting has a finite epsilon for the question.

        If noise ends at B, a report is impossible from the other reading with probability P(psi > B - d). Over the
        whole window this probability must not exceed delta.
        """
        found = np.zeros(len(self.settings), bool)
        for name, rows, parameters in self.blocks():
            law = mechanism(name)
            simple = np.array([self.settings[row].inner is None for row in rows])
            if law.kind != "additive" or law.estimated:
                continue
            end = law.support(parameters)
            if law.proven and np.isinf(end).any():  # every report is possible from every reading
                found[rows] = simple & (law.moments(parameters)[:, 1] > 0)
                continue
            inside = np.maximum(np.where(np.isfinite(end), end, 0.0) - self.question.change, 0.0)
            certain = (1 - law.cdf(parameters, inside[:, None])[:, 0]) / 2
            window = -np.expm1(self.question.window * np.log1p(-np.minimum(certain, 1 - 1e-16)))
            found[rows] = simple & np.isfinite(end) & (end > self.question.change) & (window <= self.question.delta)
        return found

    @cached_property
    def recognised(self) -> FloatArray:
        """Share of producers re-identified from a masked day; NaN for rules and relative noise.

        It is that of Gaussian noise of the same deviation, until `settle` replaces it by the setting's own.
        """
        if self.evidence is None or self.evidence.resolution != "readings":
            raise OptionError(
                "who is recognised from a masked day is seen on readings: name them, `panel`", kind="panel"
            )
        deviations = np.full(len(self.settings), np.nan)
        for name, rows, parameters in self.blocks():
            law = mechanism(name)
            if law.kind == "additive" and all(self.settings[row].inner is None for row in rows):
                deviations[rows] = np.sqrt(law.moments(parameters)[:, 1])
        return recognised_shares(self.evidence, deviations)

    def settle(self, row: int) -> None:
        """Replace the approximate numbers of one setting that were computed so far by exact ones."""
        self.settled.add(row)
        if "guess" in vars(self):
            self.guess[row] = self._guess(self.settings[row])
        if "epsilon" in vars(self):
            self.epsilon[row] = np.exp(self._log_epsilon(self.settings[row]))
        if "recognised" in vars(self) and self.evidence is not None:
            found = recognised_share(self.evidence, self.settings[row])
            self.recognised[row] = np.nan if found is None else found

    def error(self, producers: int) -> FloatArray:
        """Return the mean error of a period's total of ``producers``; NaN without a noise law.

        It is computed for one setting per mechanism, and is proportional to the noise's deviation.
        """
        found = np.full(len(self.settings), np.nan)
        for name, rows, parameters in self.blocks():
            law = mechanism(name)
            if law.kind == "direct" or any(self.settings[row].inner is not None for row in rows):
                continue
            deviation = np.sqrt(law.moments(parameters)[:, 1])
            unit = self.settings[rows[int(np.argmax(deviation))]]
            each = total_error(self.profile, unit, producers, scaled=self.scaled)
            if each is not None:
                found[rows] = each * deviation / deviation.max() if deviation.any() else 0.0
        return found

    def _interpolated(
        self,
        name: str,
        scales: FloatArray,
        of: Callable[[PrivacySetting], float],
    ) -> FloatArray:
        """Return values at each scale, by monotone cubic interpolation over the logarithm of the scale."""
        from scipy.interpolate import PchipInterpolator  # here, because SciPy takes long to import

        held = scales > 0
        distinct = np.unique(scales[held])
        nodes = distinct if len(distinct) <= NODES else np.geomspace(distinct[0], distinct[-1], NODES)
        release = self.settings[0].release
        values = np.array([of(PrivacySetting(name, (float(node),), release=release)) for node in nodes])
        found, finite = np.zeros(len(scales)), np.isfinite(values)
        if finite.sum() < 2:
            found[held] = values[0] if len(nodes) == 1 else np.inf
        else:
            found[held] = PchipInterpolator(np.log(nodes[finite]), values[finite])(np.log(scales[held]))
            found[held & (scales < nodes[finite][0])] = np.inf
        return found

    def _guess(self, setting: PrivacySetting) -> float:
        return guess_error(setting, self.population, self.question.step)

    def _log_epsilon(self, setting: PrivacySetting) -> float:
        found = self.question.epsilon(setting)
        return np.inf if found is None else float(np.log(max(found, 1e-300)))


def _scaled(name: str) -> bool:
    """Return whether the law's only parameter scales the noise, so that results depend on it smoothly."""
    return mechanism(name).unit_parameters == (1.0,)
