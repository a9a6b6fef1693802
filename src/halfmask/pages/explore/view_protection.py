"""What any setting, menu or mix protects: error of the best guess, epsilons, and the share who are recognised.

The folder's offer or menu defines what an epsilon is about, and has the share recognised from a masked day at its
levels of noise. For another setting it is interpolated over the noise's standard deviation, which is approximate: noise
of another law hides more or less. No readings are used.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np

from halfmask.figures.results_folder import ResultsFolder
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, noise_std
from halfmask.menus.question import Question, default_question
from halfmask.menus.setting_protection import Protection, protection_of
from halfmask.pages.page_numbers import epsilon, percent
from halfmask.profiles.profile import Profile
from halfmask.protection.evidence import population_of


class Protecting:
    """Computes protection for one folder, and caches the results."""

    def __init__(self, inputs: ResultsFolder, profile: Profile) -> None:
        self._inputs, self._profile, self._people = inputs, profile, population_of(profile)
        self._known: dict[PrivacySetting, Protection] = {}

    @cached_property
    def question(self) -> Question:
        """Return what the epsilons are about: the offer's question, else the menu's, else a typical reading."""
        named = [menu.question for menu in (self._inputs.offer, self._inputs.menu) if menu and menu.question]
        asked = named[0] if named else default_question(self._profile)
        return replace(asked, unit=asked.unit or self._inputs.unit)

    @cached_property
    def _recognised(self) -> list[tuple[float, float]]:
        """Return the folder's pairs of the noise's standard deviation and the share recognised, in ascending order."""
        found = {
            each.noise_std: each.protection.recognised
            for menu in (self._inputs.menu, self._inputs.offer)
            for each in (menu.settings if menu else ())
            if each.noise_std is not None and each.protection and each.protection.recognised is not None
        }
        return sorted(found.items())

    def of(self, setting: PrivacySetting) -> Protection:
        """Return guess, epsilons and recognition of one setting."""
        if setting not in self._known:
            found = protection_of(setting, self._people, self.question)
            self._known[setting] = replace(found, recognised=self._named(setting))
        return self._known[setting]

    def _named(self, setting: PrivacySetting) -> float | None:
        """Return the share recognised, interpolated over deviations; None if unknown, and for rules and relative noise.

        Outside of the known deviations it is the share at the nearest.
        """
        deviation = noise_std(setting) if setting.kind == "additive" else None
        if deviation is None or not self._recognised:
            return None
        at, share = zip(*self._recognised, strict=True)
        return float(np.interp(deviation, at, share))

    def menu(self, menu: Menu) -> Menu:
        """Return a menu whose settings have their protection filled in."""
        entries = []
        for each in menu.settings:
            found = each.protection if menu.question == self.question else None
            found = self.of(each.setting) if found is None else found
            if found.recognised is None:
                found = replace(found, recognised=self._named(each.setting))
            entries.append(replace(each, protection=found))
        return replace(menu, settings=tuple(entries), question=self.question)

    def words(self, setting: PrivacySetting) -> str:
        """Return in sentences what a setting hides and promises; they name change, window and delta."""
        asked, found = self.question, self.of(setting)
        told = []
        if found.guess is not None:
            nothing = ": it hides next to nothing" if found.hides_next_to_nothing else ""
            told.append(
                "The best guess of a reading from its report errs by "
                f"{percent(found.guess)} of guessing without one{nothing}."
            )
        if found.reading is None or found.window is None:
            told.append(f"It promises no finite epsilon {asked.words()}.")
        else:
            at = "delta 0" if found.pure else f"delta {asked.delta:g}"
            one = f"Epsilon is {epsilon(found.reading)} for a change of up to {asked.size} in one reading, at {at}"
            told.append(f"{one}; {epsilon(found.window)} {asked.words()}.")
        if found.recognised is not None:
            told.append(f"{percent(found.recognised)} of producers are recognised from one masked day.")
        return " ".join(told)

    def mixed(self, menu: Menu, shares: Mapping[str, float]) -> str:
        """Return in words what a mix protects.

        Each producer has its own setting, so the numbers are shares and means.
        """
        taken = {id: share for id, share in shares.items() if share > 0}
        found = {id: self.of(menu[id].setting) for id in taken}
        whole = sum(taken.values())
        told = []
        if all(each.guess is not None for each in found.values()):
            mean = sum(share * (found[id].guess or 0.0) for id, share in taken.items()) / whole
            bare = sum(share for id, share in taken.items() if found[id].hides_next_to_nothing) / whole
            told.append(
                f"The best guess of a user's reading errs by {percent(mean)} of guessing without a report, on average "
                f"over users; of {percent(bare)} of users next to nothing is hidden."
            )
        kept = {id: each.window for id, each in found.items() if each.window is not None}
        promised = sum(taken[id] for id in kept) / whole
        if kept:
            told.append(
                f"{percent(promised)} of users have an epsilon, of up to {epsilon(max(kept.values()))} "
                f"{self.question.words()}."
            )
        else:
            told.append(f"Nobody has a finite epsilon {self.question.words()}.")
        if all(each.recognised is not None for each in found.values()):
            named = sum(share * (found[id].recognised or 0.0) for id, share in taken.items()) / whole
            told.append(f"{percent(named)} of users are recognised from one masked day.")
        return " ".join(told)
