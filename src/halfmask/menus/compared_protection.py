"""What the settings of several menus protect: the promise about a whole day, and the strongest attacks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import NONE_ID, Menu
from halfmask.menus.question import WHOLE_DAY, KeptPromise, question_of
from halfmask.menus.setting_protection import NO_PROMISE
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask.protection.attacks import attack
from halfmask.protection.attacks.finding import Finding
from halfmask.protection.attacks.private_life import private_life
from halfmask.protection.attacks.reidentification import reidentification
from halfmask.protection.evidence import Evidence, evidence_from_profile
from halfmask_device.decimals import upwards
from halfmask_device.setting import READING

SHOWN: Mapping[str, tuple[str, ...]] = {
    "named": ("reidentification-day", "reidentification-half"),
    "own day known to": ("own-total-day",),
    "own month known to": ("own-total-month",),
    "empty day told": ("presence",),
}
"""Columns of the table, with the attacks of which each shows the strongest."""
SEED = 7
"""The seed that an audit has by default."""


@dataclass(frozen=True)
class ComparedProtection:
    """One setting of one menu, its promise about a whole day, and the attacks on it."""

    menu: str
    id: str
    setting: PrivacySetting
    promise: KeptPromise
    attacks: tuple[Finding, ...]

    def strongest(self, names: Sequence[str]) -> Finding | None:
        """Return the attack that is right most often; None if none of them applies."""
        ran = [each for each in self.attacks if each.name in names and each.value is not None]
        return max(ran, key=lambda each: each.value or 0.0, default=None)


def compared_protection(
    menus: Mapping[str, Menu], profile: Profile, readings: Evidence | None = None
) -> list[ComparedProtection]:
    """Return promise and attacks of all settings of the menus, by name of the menu.

    ``readings``  the users' series, for settings that mask readings; without it, only their totals are attacked
    """
    found = []
    bounds = _bounds(menus.values())
    for name, menu in menus.items():
        release = menu.release
        step = menu.question.step if menu.question else None
        asked = question_of(WHOLE_DAY, release, profile, low=bounds[0], high=bounds[1], step=step)
        seen = evidence_from_profile(released(profile, release)) if readings is None or release != READING else readings
        for each in menu.settings:
            ran = attack(each.setting, seen, SEED, attacks=(reidentification, private_life))
            found.append(ComparedProtection(name, each.id, each.setting, asked.promise(each.setting), tuple(ran)))
    return found


def _bounds(menus: Iterable[Menu]) -> tuple[float, float] | tuple[None, None]:
    """Return the bounds of a total that the first of the menus states; None if none does."""
    for each in menus:
        if each.question is not None and each.question.low < each.question.high:
            return each.question.low, each.question.high
    return None, None


def protection_rows(found: Sequence[ComparedProtection]) -> list[list[str]]:
    """Return the settings as a table, headings first; unmasked settings are shown once."""
    rows = [["menu", "id", "setting", "epsilon, a whole day", *SHOWN]]
    for each in found:
        if each.id == NONE_ID and each.menu != found[0].menu and each.setting == _unmasked(found):
            continue
        epsilon = each.promise.epsilon
        row = [each.menu, each.id, str(each.setting), NO_PROMISE if epsilon is None else upwards(epsilon)]
        rows.append(row + [_with_interval(each.strongest(names)) for names in SHOWN.values()])
    return rows


def _unmasked(found: Sequence[ComparedProtection]) -> PrivacySetting | None:
    return next((each.setting for each in found if each.id == NONE_ID), None)


def _with_interval(found: Finding | None) -> str:
    if found is None or None in (found.value, found.low, found.high):
        return "-"
    low, high = (f"{100 * (each or 0.0):.2g}" for each in (found.low, found.high))
    return f"{100 * (found.value or 0.0):.2g}% ({low}-{high})"
