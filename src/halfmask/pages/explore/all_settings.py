"""All settings of a study or grid as columns of numbers: what each protects, and what its totals cost.

Numbers that depend only on the release are computed once. Epsilons are computed once for each question, errors once for
each number of producers. Settings whose one parameter scales the noise are interpolated (`StudyProtection`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from threading import Lock

import numpy as np
import numpy.typing as npt

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.evaluation.auto import typical_size
from halfmask.evaluation.sampling import population
from halfmask.figures.study_samples import Samples
from halfmask.mechanisms.grid import TYPICAL, Block, Grid, grid, scaled
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.promised_levels import LAWS
from halfmask.menus.question import Question
from halfmask.menus.study_protection import StudyProtection
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask_device.setting import SPLIT, split_release

OTHERS = 400
"""Settings of each further law that promises an epsilon."""
QUESTIONS_KEPT = 16
OF_ALL = 20
"""Part of the total of all users that is the paper grid's largest noise, if the total is split."""


@dataclass(frozen=True, eq=False)
class GridProtection(StudyProtection):
    """The protection of settings whose blocks are known."""

    known: Sequence[Block] = field(kw_only=True)

    def blocks(self, among: BoolArray | None = None) -> Iterator[tuple[str, IntArray, FloatArray]]:
        """Yield mechanism, rows and parameters of each block."""
        first = 0
        for each in self.known:
            rows = np.arange(first, first + len(each))
            first += len(each)
            kept = rows if among is None else rows[among[rows]]
            if len(kept):
                yield each.mechanism, kept, each.parameters[kept - rows[0]]


@dataclass(frozen=True, eq=False)
class AllSettings:
    """The settings of one release: those of the study if it masks the same, else the paper's grid scaled to the data.

    The laws of `halfmask offer` that are missing are added, over the same range of noise.
    """

    profile: Profile
    release: str
    samples: Samples | None = None
    scaled: bool = False
    _guessed: dict[str, FloatArray] = field(default_factory=dict)
    _guessing: Lock = field(default_factory=Lock)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The settings in blocks."""
        if self._of_study:
            found = Grid.from_settings(PrivacySetting.parse(text) for text in self._texts).blocks
        else:
            scale = typical_size(released(self.profile, self.release)) / TYPICAL
            if self.release == SPLIT:  # one draw for all producers may be as large as the total of all
                scale *= max(population(self.profile) / OF_ALL, 1.0)
            paper = (scaled(each, scale) for each in grid("paper").blocks)
            found = tuple(Block(each.mechanism, each.parameters, None, self.release) for each in paper)
        known = {each.mechanism for each in found}
        ends = self._ends(found)
        return (*found, *(self._law(name, *ends) for name in LAWS if name not in known))

    @property
    def _of_study(self) -> bool:
        return bool(self._texts) and split_release(self._texts[0])[1] == self.release

    @property
    def _texts(self) -> list[str]:
        return self.samples.settings if self.samples else []

    @staticmethod
    def _ends(blocks: Sequence[Block]) -> tuple[float, float]:
        """Return the least and the largest parameter of Laplace noise; 0.001 and 10 typical sizes without any."""
        rows = [each.parameters[:, 0] for each in blocks if each.mechanism == LAWS[0] and each.inner is None]
        values = np.concatenate(rows) if rows else np.array([0.001, 10.0])
        return float(values.min()), float(values.max())

    def _law(self, name: str, low: float, high: float) -> Block:
        values = np.array([float(f"{each:.4g}") for each in np.geomspace(low, high, OTHERS)])
        return Block(name, np.unique(values)[:, None], None, self.release)

    @cached_property
    def settings(self) -> list[PrivacySetting]:
        """The settings, block after block."""
        return [setting for each in self.blocks for setting in each.settings()]

    @cached_property
    def texts(self) -> list[str]:
        """The settings as text."""
        return [text for each in self.blocks for text in each.texts()]

    @cached_property
    def mechanisms(self) -> npt.NDArray[np.str_]:
        """The mechanism of each setting."""
        return np.repeat([each.mechanism for each in self.blocks], [len(each) for each in self.blocks])

    def protection(self, question: Question) -> StudyProtection:
        """Return the protection of all settings under a question."""
        able = ~np.isin(self.mechanisms, "none")
        return GridProtection(self.settings, able, self.profile, question, scaled=self.scaled, known=self.blocks)

    @cached_property
    def noise(self) -> FloatArray:
        """Standard deviation of the noise; NaN if a mechanism has none."""
        found = []
        for each in self.blocks:
            law = mechanism(each.mechanism)
            simple = law.kind == "additive" and each.inner is None
            found.append(np.sqrt(law.moments(each.parameters)[:, 1]) if simple else np.full(len(each), np.nan))
        return np.concatenate(found)

    def guess(self, question: Question) -> FloatArray:
        """Return the error of the best guess from a report, over that without one. It takes seconds the first time.

        It is NaN for a split total, because nobody sees a producer's report.
        """
        if self.release == SPLIT:
            return np.full(len(self.settings), np.nan)
        with self._guessing:
            if "guess" not in self._guessed:
                self._guessed["guess"] = self.protection(question).guess
            return self._guessed["guess"]

    def scores(self) -> dict[str, FloatArray]:
        """Return the paper's scores; NaN if the study lacks a setting, or it breaks the constraint."""
        found = {name: np.full(len(self.settings), np.nan) for name in ("privacy", "utility")}
        if self.samples is None or not self._of_study:
            return found
        place = {text: row for row, text in enumerate(self.samples.settings)}
        rows = [(row, place[text]) for row, text in enumerate(self.texts) if text in place]
        ours, theirs = (np.array(each) for each in zip(*rows, strict=True))
        for name, values in found.items():
            values[ours] = np.clip(self.samples.scores[f"{name}_median"][theirs], 0, 1)
        return found

    @lru_cache(maxsize=QUESTIONS_KEPT)  # noqa: B019 - one object lives as long as the page
    def epsilon(self, question: Question) -> FloatArray:
        """Return epsilon of everything that is protected; infinite without a promise."""
        return self.protection(question).epsilon

    @lru_cache(maxsize=QUESTIONS_KEPT)  # noqa: B019 - one object lives as long as the page
    def error(self, question: Question, producers: int) -> FloatArray:
        """Return the mean error of a period's total of ``producers``; NaN without a noise law."""
        return self.protection(question).error(producers)
