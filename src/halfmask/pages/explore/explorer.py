"""A folder's results in memory: all settings as columns, levels to offer, and the card of any setting."""

import base64
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import SettingError, SourceError
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import population
from halfmask.evaluation.scores import privacy, utility
from halfmask.figures.results_folder import Speller, by_name, read_inputs
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import noise_std
from halfmask.menus.promised_levels import best_epsilon, clipping, closest, halving, settings_keeping
from halfmask.menus.question import Question, reports_a_day, typical_reading
from halfmask.menus.setting_protection import known_guess
from halfmask.menus.total_error import producers_needed, total_error
from halfmask.pages.explore.all_settings import AllSettings
from halfmask.pages.explore.wanted_levels import WantedLevels
from halfmask.pages.page_numbers import epsilon as epsilon_text
from halfmask.pages.page_numbers import percent
from halfmask.pages.shown_day import example_day, seen_of
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released, total_profile
from halfmask.protection.evidence import population_of
from halfmask_device.decimals import number_text
from halfmask_device.setting import READING, SPLIT, TOTAL, suffix

LEVELS = 4
CLOSE = 1.05
"""How far the error of a published level may exceed what is wanted: its noise follows from a summary with noise."""
CARDS_KEPT = 200
NAMES = {READING: "each reading", TOTAL: "own totals", SPLIT: "a split total"}


class Explorer:
    """Answers questions about one folder that has a profile."""

    def __init__(self, folder: str | Path, spell: Speller = by_name) -> None:
        self.inputs = read_inputs(folder, spell)
        if self.inputs.profile is None or not self.inputs.profile.readings:
            raise SourceError(
                f"{folder} holds no profile: start with '{self.inputs.command('profile')}'", kind="profile"
            )
        self.profile: Profile = self.inputs.profile
        if self.profile.totals is None and not self.profile.buckets:  # added up once, for all answers
            self.profile = replace(self.profile, totals=total_profile(self.profile))
        self.scaled = bool(self.inputs.samples and self.inputs.samples.about.get("error") == "scaled")
        self.default = WantedLevels.of(self.profile, self.inputs.offer)
        self._all: dict[str, AllSettings] = {}
        self._lock = Lock()

    def all_settings(self, release: str) -> AllSettings:
        """Return the settings with a release."""
        with self._lock:
            if release not in self._all:
                self._all[release] = AllSettings(self.profile, release, self.inputs.samples, self.scaled)
            return self._all[release]

    def warm(self) -> None:
        """Compute in advance what takes longest, so that no reader waits for it."""
        self.answer(self.default)
        self.settings(self.default)
        every = self.all_settings(self.default.release)
        self.score(next(s for s in every.settings if not s.silent))
        every.guess(self.default.question(self.profile))

    def settings(self, wanted: WantedLevels) -> dict[str, Any]:
        """Return what does not change with the question: mechanisms, noise, scores, and the limit of all noise."""
        return self._columns(wanted.release)

    @lru_cache(maxsize=len(NAMES))  # noqa: B019 - one object lives as long as the page
    def _columns(self, release: str) -> dict[str, Any]:
        every = self.all_settings(release)
        names, place = np.unique(every.mechanisms, return_inverse=True)
        limit = self.inputs.card.noise if self.inputs.card and release == READING else None
        return {
            "names": names.tolist(),
            "mechanism": _packed(place),
            "noise": _packed(every.noise),
            **{name: _packed(values) for name, values in every.scores().items()},
            "limit": [list(map(float, each)) for each in (limit.privacy, limit.utility)] if limit else None,
        }

    def texts(self, wanted: WantedLevels) -> list[str]:
        """Return all settings as text."""
        return self.all_settings(wanted.release).texts

    def guesses(self, wanted: WantedLevels) -> str:
        """Return the error of the best guess of a report under every setting."""
        return _packed(self.all_settings(wanted.release).guess(wanted.question(self.profile)))

    def answer(self, wanted: WantedLevels) -> dict[str, Any]:
        """Return error and epsilon of all settings, the levels to offer, and what comes closest if nothing fits."""
        asked, every = wanted.question(self.profile), self.all_settings(wanted.release)
        best = self._best(wanted)
        fits = best["values"]["epsilon"] is not None and best["values"]["epsilon"] <= wanted.epsilon
        return {
            "error": _packed(every.error(asked, wanted.producers)),
            "epsilon": _packed(every.epsilon(asked)),
            "levels": self._levels(wanted),
            "paper": [{"layer": "paper", **each} for each in self._paper(wanted)],
            "fits": fits,
            "sentence": self._sentence(wanted, asked, best, fits),
            "what": asked.what(),
            "bounds": self._bounds_words(wanted, asked),
        }

    @lru_cache(maxsize=CARDS_KEPT)  # noqa: B019 - one object lives as long as the page
    def levels(self, wanted: WantedLevels) -> dict[str, PrivacySetting]:
        """Return the levels to offer: the folder's if they were asked for, else from the strongest that has the error.

        Each level has half the epsilon of the one before.
        """
        if wanted == self.default and self.inputs.offer is not None:
            return {each.id: each.setting for each in self.inputs.offer.settings[:-1]}
        asked = wanted.question(self.profile)
        kept = settings_keeping(asked, self._epsilons(wanted, asked))
        return {f"L{number}": each for number, each in enumerate(kept, start=1)}

    def _epsilons(self, wanted: WantedLevels, asked: Question) -> list[float]:
        return halving(best_epsilon(asked, self.profile, wanted.within, wanted.producers), LEVELS)

    def epsilons(self, wanted: WantedLevels) -> list[float]:
        """Return the epsilons of the levels to offer, for the command that makes the offer."""
        return self._epsilons(wanted, wanted.question(self.profile))

    def _levels(self, wanted: WantedLevels) -> list[dict[str, Any]]:
        return [{"id": id, "layer": "offer", **self.card(each, wanted)} for id, each in self.levels(wanted).items()]

    def _best(self, wanted: WantedLevels) -> dict[str, Any]:
        """Return the level with the best promise of those with the wanted error; of all levels if none has it."""
        levels = self._levels(wanted)
        exact = [each for each in levels if (each["values"]["error"] or 0.0) <= CLOSE * wanted.within]
        return min(exact or levels, key=lambda each: each["values"]["epsilon"] or math.inf)

    def _paper(self, wanted: WantedLevels) -> list[dict[str, Any]]:
        """Return the settings of the paper's menu; empty if they mask something else."""
        menu = self.inputs.menu
        if menu is None or menu.settings[0].setting.release != wanted.release:
            return []
        return [{"id": each.id, **self.card(each.setting, wanted)} for each in menu.settings[:-1]]

    def setting(self, text: str, wanted: WantedLevels) -> dict[str, Any]:
        """Return the card of a setting as people type it, such as ``laplace 0.5``; its release is the wanted one."""
        name, _, numbers = text.strip().partition(" ")
        plain = f"{name}:{numbers.strip()}" if numbers.strip() and ":" not in text else text.strip()
        if "@" not in plain:
            plain += suffix(wanted.release)
        setting = PrivacySetting.parse(plain)
        if setting.release != wanted.release:
            raise SettingError(
                f"{setting} masks {NAMES[setting.release]}, and the page shows {NAMES[wanted.release]}", kind="release"
            )
        return self.card(setting, wanted)

    @lru_cache(maxsize=CARDS_KEPT)  # noqa: B019 - one object lives as long as the page
    def card(self, setting: PrivacySetting, wanted: WantedLevels) -> dict[str, Any]:
        """Return all that the page says of one setting: numbers by axis, months, producers, and a day as it is seen."""
        asked = replace(wanted, release=setting.release if setting.release == SPLIT else wanted.release).question(
            self.profile
        )
        month, base = asked.month(), released(self.profile, asked.release)
        error = total_error(base, setting, wanted.producers, scaled=self.scaled, step=asked.step)
        law = not setting.silent and setting.kind == "additive"
        seen_alone = asked.release != SPLIT and law
        guess = known_guess(setting, population_of(base), asked.step) if seen_alone else None
        promise, monthly = asked.promise(setting), None if setting.silent else month.epsilon(setting)
        epsilons = {f"Epsilon, {asked.heading()}": promise.epsilon, f"Epsilon, {month.heading()}": monthly}
        day = example_day(typical_reading(self.profile), reports_a_day(self.profile))
        return {
            "setting": str(setting),
            "values": {
                "error": error, "epsilon": promise.epsilon, "guess": guess, "noise": noise_std(setting, asked.step),
                **self.score(setting),
            },
            "facts": [
                *([name, epsilon_text(value)] for name, value in epsilons.items()),
                [f"Error of {wanted.producers:,}", percent(error)],
                [f"Producers for {100 * wanted.within:g} %", self._needed(base, setting, wanted, asked)],
                ["Best guess misses", percent(guess) if seen_alone else "not seen" if law else "–"],
            ],
            "refused": asked.refusal(setting) is not None,
            "day": _digits(day),
            "seen": {name: _digits(v) if name != "split" else v for name, v in seen_of(setting, day).items()},
        }  # fmt: skip

    def _needed(self, base: Profile, setting: PrivacySetting, wanted: WantedLevels, asked: Question) -> str:
        found = producers_needed(base, setting, wanted.within, scaled=self.scaled, step=asked.step)
        return "–" if found is None else f"{found:,}"

    @lru_cache(maxsize=CARDS_KEPT)  # noqa: B019 - one object lives as long as the page
    def score(self, setting: PrivacySetting) -> dict[str, float | None]:
        """Return the paper's scores of a setting, on the subsets and the scale of the study; None without them."""
        samples, none = self.inputs.samples, dict[str, float | None](privacy=None, utility=None)
        tried = Experiment.of(samples.about) if samples else None
        fits = tried is not None and tried.method == "analytic" and setting.kind != "direct" and setting.inner is None
        if samples is None or not fits or setting.silent or not samples.sized or setting.release != READING:
            return none
        study = evaluate_grid(self.profile, Grid.from_settings([setting]), tried)
        scale, values = samples.scale, study.metrics[0].astype(float)
        medians = [float(np.median(of(values, scale.largest, scale.weights))) for of in (privacy, utility)]
        return dict(zip(none, medians, strict=True)) if all(0 <= each <= 1 for each in medians) else none

    def _sentence(self, wanted: WantedLevels, asked: Question, best: Mapping[str, Any], fits: bool) -> str:
        """Return the answer in one sentence."""
        error, epsilon = percent(wanted.within), epsilon_text(best["values"]["epsilon"])
        crowd = f"{wanted.producers:,} producers"
        if fits:
            return (
                f"Offer these levels: the strongest has epsilon {epsilon} for {asked.what()}, and an error of "
                f"{percent(best['values']['error'])} with {crowd}."
            )
        return (
            f"Nothing fits: with an error of {error} and {crowd}, the best epsilon is {epsilon} for {asked.what()}, "
            f"and you ask for at most {number_text(wanted.epsilon)}."
        )

    def closest(self, wanted: WantedLevels) -> list[dict[str, Any]]:
        """Return what would fit if nothing does, each with the controls that ask for it."""
        asked = wanted.question(self.profile)
        near = closest(asked, self.profile, wanted.within, wanted.producers, wanted.epsilon, scaled=self.scaled)
        told: list[dict[str, Any]] = []
        if (best := self._best(wanted)["values"]["epsilon"]) is not None:
            told.append(_way(f"Accept epsilon {epsilon_text(best)}", epsilon=_up(best)))
        if near.error is not None and near.error < 1:
            told.append(_way(f"Accept an error of {percent(near.error)}", within=_up(near.error)))
        if near.producers is not None:
            told.append(_way(f"Find {near.producers:,} producers", producers=near.producers))
        if near.split is not None and wanted.release != SPLIT:
            within = max(near.split, wanted.within)
            words = f"Split the total between two services: an error of {percent(near.split)}"
            told.append(_way(words, release=SPLIT, within=_up(within)))
        return told

    def _bounds_words(self, wanted: WantedLevels, asked: Question) -> str:
        """Return what the bounds of a total do to the data; empty if they do not matter."""
        if not wanted.bounded or wanted.release == READING:
            return ""
        found = clipping(self.profile, asked.low, asked.high)
        if not found.share:
            return "No total lies outside of these bounds."
        change = f"{100 * found.bias:+.2g} %".replace("-", "−")
        return f"{percent(found.share)} of the totals are cut to these bounds: their sum changes by {change}."

    @property
    def people(self) -> int:
        """The number of users with a reading."""
        return population(self.profile)


def _way(words: str, **change: Any) -> dict[str, Any]:
    return {"words": words, "set": {name: str(value) for name, value in change.items()}}


def _up(value: float) -> float:
    """Return a number rounded up to three digits."""
    digits = 2 - math.floor(math.log10(value))
    return float(f"{math.ceil(round(value * 10**digits, 6)) / 10**digits:.6g}")


def _packed(values: FloatArray | Iterable[float]) -> str:
    """Return numbers as 32-bit floats, little-endian, in base64: the browser reads them without parsing text."""
    return base64.b64encode(np.asarray(values, "<f4").tobytes()).decode()


def _digits(values: Iterable[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
