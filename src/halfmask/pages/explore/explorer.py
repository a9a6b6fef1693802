"""A folder's results in memory, from which other menus, a mix or a setting are computed on request."""

import math
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import pyarrow as pa

from halfmask.choice.mix import Mix, mix, parse_shares
from halfmask.errors import OptionError
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import population
from halfmask.evaluation.scores import passing, privacy, utility
from halfmask.evaluation.study import read_study
from halfmask.figures.interactive import Interactive
from halfmask.figures.masked_reading import shown_data, shown_figure
from halfmask.figures.registry import interactive_figures
from halfmask.figures.results_folder import ResultsFolder, Speller, by_name, paper_menu, paper_name, read_inputs
from halfmask.figures.study_samples import Samples, menu_samples, rescored
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.masked_range import shown
from halfmask.menus.menu import Menu
from halfmask.menus.menu_scale import outside
from halfmask.menus.menu_table import InWords
from halfmask.menus.optimize import optimize, optimum_notes
from halfmask.menus.question import typical_reading
from halfmask.menus.total_error import CROWDS, total_error
from halfmask.pages.explore.menu_options import MenuOptions
from halfmask.pages.explore.view_protection import Protecting
from halfmask.profiles.profile import Profile

REPEATS = 10
VIEWS_KEPT = 4
STEPS, MOST_MIXES = (0.125, 0.25, 0.5), 15_000
"""Steps of shares that a longer menu is mixed in, and how many mixes are made in about half a second."""


@dataclass(frozen=True, eq=False)
class View:
    """The results under one menu, the options that chose it, the figures, and notes."""

    inputs: ResultsFolder
    options: MenuOptions
    figures: list[Interactive]
    notes: list[str] = field(default_factory=list)


class Explorer:
    """Answers questions about one folder, one at a time, because the computations share their threads."""

    def __init__(self, folder: str | Path, spell: Speller = by_name) -> None:
        self.inputs = read_inputs(folder, spell)
        self._lock = RLock()
        self._own: View | None = None
        self._others: OrderedDict[MenuOptions, View] = OrderedDict()
        self._protected: Protecting | None = None
        self._study: tuple[pa.Table, dict[str, Any]] | None = None

    def view(self, asked: MenuOptions | None) -> View:
        """Return the results under the menu that these options choose; without options, under the folder's own menu."""
        with self._lock:
            if asked is None:
                self._own = self._own or self._own_view()
                return self._own
            if asked not in self._others:
                self._others[asked] = self._new_view(asked)
                if len(self._others) > VIEWS_KEPT:
                    self._others.popitem(last=False)
            self._others.move_to_end(asked)
            return self._others[asked]

    def warm(self) -> None:
        """Answer the likely first questions in advance, so that no reader waits for them."""
        own = self.view(None)
        if own.inputs.samples is not None:
            with suppress(OptionError):  # whoever asks for it will hear
                self.view(own.options)

    def _own_view(self) -> View:
        """Return the folder's own menu; if it holds a study and no menu, the one that the study gives by default."""
        menu = self.inputs.menu
        if menu is None and self.inputs.samples is not None:
            with suppress(OptionError):  # nothing admissible: the page says how to choose otherwise
                made = self._new_view(MenuOptions())
                told = f"the folder holds no menu: this one is chosen now; '{self.inputs.command('menu')}' writes it"
                return replace(made, notes=[told, *made.notes])
        options = MenuOptions.of_menu(menu) if menu else MenuOptions()
        inputs = self.inputs
        if menu is not None and inputs.profile is not None and inputs.profile.readings:
            inputs = replace(inputs, menu=self._protecting().menu(menu))
        changing = list(interactive_figures(inputs, follows_menu=True))
        return View(inputs, options, [*changing, *self._unchanged], menu.warnings() if menu else [])

    @cached_property
    def _unchanged(self) -> list[Interactive]:
        return list(interactive_figures(self.inputs, follows_menu=False))

    def _new_view(self, asked: MenuOptions) -> View:
        samples, profile = self.inputs.samples, self.inputs.profile
        if samples is None:
            raise OptionError(
                f"the folder holds no study to choose a menu from: {self.inputs.command('study')}", kind="study"
            )
        if self._study is None:
            self._study = read_study(self.inputs.folder / "study.parquet")
        found = optimize(
            self._study, bins=asked.bins, omega=asked.omega, max_mean=asked.max_mean, max_std=asked.max_std,
            weights=asked.weights,
        )  # fmt: skip
        if self.inputs.offer:
            found = replace(found, menu=paper_menu(found.menu))
        rated = rescored(samples, found.menu)
        of_menu = menu_samples(rated, found.menu, profile) if rated.sized else None
        mixed, complaints = self._mixed(found.menu)
        menu, notes = found.menu, found.notes
        if profile is not None and profile.readings:
            menu = self._protecting().menu(menu)
            notes = optimum_notes(found.scored, menu, found.axis, profile)
        inputs = replace(self.inputs, samples=rated, menu=menu, mix=mixed, of_menu=of_menu)
        figures = [*interactive_figures(inputs, follows_menu=True), *self._unchanged]
        return View(inputs, asked, figures, [*notes, *complaints])

    def _mixed(self, menu: Menu) -> tuple[Mix | None, list[str]]:
        """Return the mixes of another menu, made as the folder's were, and notes; (None, []) if the folder has none.

        If a longer menu would have too many mixes, the steps of shares are larger. If mixes cannot be made, they are
        None and the note gives the reason.
        """
        saved, profile = self.inputs.mix, self.inputs.profile
        own = saved.about.get("step") if saved else None
        if saved is None or profile is None or own is None:
            return None, []
        repeats, parts = saved.about["repeats"], len(menu.ids) - 1
        steps = [own, *(step for step in STEPS if step > own)]
        short = [step for step in steps if math.comb(round(1 / step) + parts, parts) * repeats <= MOST_MIXES]
        try:
            step = short[0] if short else steps[-1]
            return mix(profile, menu, step=step, repeats=repeats, seed=saved.about["seed"]), []
        except OptionError as error:
            return None, [f"mixes are left out: {error}"]

    def mix(self, view: View, text: str) -> dict[str, Any]:
        """Return protection, and median and range of privacy and utility, of one mix such as ``A=0.3,B=0.2,N=0.5``.

        The scores are taken over `REPEATS` random assignments of the users to the settings.
        """
        with self._lock:
            menu, profile, said = self._menu(view), self._profile(), parse_shares(text)
            shares = {paper_name(id) if paper_name(id) in menu.ids else id: share for id, share in said.items()}
            table = mix(profile, menu, shares=shares, repeats=REPEATS).table
            protection = self._protecting().mixed(menu, shares)
        found: dict[str, Any] = {"repeats": REPEATS, "protection": protection}
        for score in ("privacy", "utility"):
            values = table[score].to_numpy()
            found["outside"] = found.get("outside", False) or outside(values)
            values = np.clip(values, 0, 1)
            found[score] = {"median": float(np.median(values)), "low": values.min(), "high": values.max()}
        return found

    def setting(self, view: View, text: str) -> dict[str, Any]:
        """Return one setting's reports of a typical reading, protection, drawn law, and scores if there is a study."""
        setting = PrivacySetting.parse(typed(text))
        with self._lock:
            profile = self._profile()
            reading = typical_reading(profile)
            law = shown_data(setting, reading, unit=self.inputs.unit)
            found = {"setting": str(setting), **self._words(setting, reading, profile, view)}
            found["protection"] = self._protecting().words(setting)
            found["figure"] = shown_figure(law, str(setting)).json() if law else None
            if view.inputs.samples is not None:
                found |= self._scores(setting, profile, view.inputs.samples)
        return found

    def _words(self, setting: PrivacySetting, reading: float, profile: Profile, view: View) -> dict[str, Any]:
        asked = view.inputs.menu.question if view.inputs.menu else None
        low, high = shown(setting, reading, asked.step if asked else None) or (None, None)
        people = population(profile)
        about = view.inputs.samples.about if view.inputs.samples else {}
        errors = []
        if about.get("aggregate", "sum") in ("sum", "mean"):
            for users in dict.fromkeys(users for users in (*CROWDS, people) if users <= people):
                error = total_error(profile, setting, users, scaled=about.get("error") == "scaled")
                errors.append({"users": users, "error": error})
        period = profile.period.text
        return {
            "sentence": InWords("", reading, low, high, {}, asked.step if asked else None).sentence(self.inputs.unit),
            "errors": errors,
            "period": period,
        }

    def _scores(self, setting: PrivacySetting, profile: Profile, samples: Samples) -> dict[str, Any]:
        """Evaluate a setting now, on the same subsets as the study, and score it with the view's normalisers."""
        study = evaluate_grid(profile, Grid.from_settings([setting]), Experiment.of(samples.about))
        scale = samples.scale
        keeps = bool(passing(study.metrics, scale.constraint)[0])
        found: dict[str, Any] = {"keeps": keeps, "constraint": vars(scale.constraint), "outside": False}
        for score, formula in (("privacy", privacy), ("utility", utility)):
            values = formula(study.metrics[0].astype(float), scale.largest, scale.weights)
            places = np.percentile(values, (10, 50))
            found["outside"] = found["outside"] or outside(places)
            tenth, median = np.clip(places, 0, 1)
            found[score] = {"median": float(median), "p10": float(tenth)}
        return found

    def _protecting(self) -> Protecting:
        if self._protected is None:
            self._protected = Protecting(self.inputs, self._profile())
        return self._protected

    def _menu(self, view: View) -> Menu:
        if view.inputs.menu is None:
            raise OptionError(f"the folder holds no menu to mix: {self.inputs.command('menu')}", kind="menu")
        return view.inputs.menu

    def _profile(self) -> Profile:
        if self.inputs.profile is None or not self.inputs.profile.readings:
            raise OptionError(
                f"the folder holds no profile to evaluate on: {self.inputs.command('profile')}", kind="profile"
            )
        return self.inputs.profile


def typed(text: str) -> str:
    """Return a setting as people type it: ``laplace 0.5`` is ``laplace:0.5``."""
    name, _, numbers = text.strip().partition(" ")
    return f"{name}:{numbers.strip()}" if numbers.strip() and ":" not in text else text
