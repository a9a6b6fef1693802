"""A menu whose settings withstand an attack: the best utility per bin among settings with a large enough attack error.

The privacy score alone rewards noise of nearly constant magnitude, which is easily guessed. A floor requires that an
attack's error stays at or above a value for every setting. In each bin two searches compete. The first starts from the
winner among the study's settings, adds noise until it meets the floor, and continues as in `refine`. The second looks
for the noise law with the least noise that meets both the floor and the bin's privacy, as a ``tabulated`` setting. The
better result is taken. If neither search finds a setting, the bin becomes empty, with the reason.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from halfmask.errors import HalfmaskError, OptionError
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.candidate_scores import CandidateScores
from halfmask.menus.menu import EmptyBin, Menu, MenuSetting, brief
from halfmask.menus.menu_scale import subsets_of
from halfmask.menus.refine import EVALUATIONS, climb, gain_json, gains_of
from halfmask.profiles.profile import Profile

TRIES = 4
AIM = 2e-4
"""Privacy above the bin's lower edge that a proposal is asked for, because rounding to few digits may lower it."""
MOST_DOUBLINGS = 40
CLOSE = 1.01
UNMET = 1.0
"""Shortfall of a setting that meets the floor but fails another requirement."""


@dataclass(frozen=True)
class Floor:
    """Requirements on every setting of the menu, as plain functions, because this folder does not import attacks.

    ``measure(setting)``                    the attack's error; larger if the setting protects more
    ``propose(privacy, error, deviation)``  the setting with the least noise that has this privacy over all readings and
                                            this error, searched near a noise deviation; None if none is found
    ``meets(setting)``                      whether the setting meets all other requirements, such as a guarantee
    """

    name: str
    least: float
    measure: Callable[[PrivacySetting], float]
    propose: Callable[[float, float, float], PrivacySetting | None]
    meets: Callable[[PrivacySetting], bool] = lambda _: True

    def __post_init__(self) -> None:
        if not 0 < self.least < 1:
            raise OptionError(
                f"floor {self.name}={self.least:g} is not between 0 (undone) and 1 (tells nothing)", kind="floor"
            )

    def short(self, setting: PrivacySetting) -> float:
        """Return how far a setting is below the floor; 0 or less if it meets the floor and all other requirements."""
        short = self.least - self.measure(setting)
        return short if short > 0 or self.meets(setting) else UNMET


def parse_floor(text: str, known: str) -> float:
    """Return the number in ``name=value``; raise an OptionError if the name is not the attack ``known``."""
    name, equals, value = text.partition("=")
    if not equals or name.strip() != known:
        raise OptionError(f"floor {text[:40]!r}: write {known}=0.2, the only attack that can be a floor", kind="floor")
    try:
        return float(value)
    except ValueError as error:
        raise OptionError(
            f"floor {text[:40]!r}: {value.strip()[:40]!r} is not a number: write {known}=0.2", kind="floor"
        ) from error


@dataclass(frozen=True)
class Raised:
    """One bin before and after the floor is applied.

    ``before``        winner among the study's settings
    ``error_before``  attack's error of ``before``; None if its noise is not of one additive law
    ``family``        best setting of the same mechanism that meets the floor; None if none was found
    ``law``           best tabulated noise law that meets the floor; None if none was found
    ``error``         attack's error of the setting that is taken; None if the bin becomes empty
    """

    before: MenuSetting
    error_before: float | None
    family: MenuSetting | None
    law: MenuSetting | None
    error: float | None

    @property
    def after(self) -> MenuSetting | None:
        """The setting with the larger objective of ``family`` and ``law``; None if both are None."""
        found = [each for each in (self.family, self.law) if each]
        return max(found, key=lambda each: each.objective) if found else None


@dataclass(frozen=True)
class Floored:
    """The menu whose settings meet the floor, and how each bin came to its setting."""

    menu: Menu
    floor: Floor
    bins: tuple[Raised, ...]

    def rows(self) -> list[list[str]]:
        """Return the bins as a table, headings first.

        Columns: the earlier winner with its error and objective, the objective that each search reached, and the
        setting that was taken with its error.
        """
        rows = [["id", "grid's winner", "error", "objective", "its family", "any law", "taken", "error"]]
        for each in self.bins:
            searches = ["-" if found is None else f"{found.objective:.4f}" for found in (each.family, each.law)]
            errors = ["-" if error is None else f"{error:.3f}" for error in (each.error_before, each.error)]
            taken = "none" if each.after is None else brief(each.after.setting)
            before = [each.before.id, brief(each.before.setting), errors[0], f"{each.before.objective:.4f}"]
            rows.append([*before, *searches, taken, errors[1]])
        return rows


def refine_above(
    menu: Menu,
    profile: Profile,
    floor: Floor,
    *,
    evaluations: int = EVALUATIONS,
    other_data: bool = False,
    advance: Callable[[int, int], None] | None = None,
) -> Floored:
    """Return the menu with the best setting of each bin that meets the floor.

    Objective, subsets and noise are those of `refine`.

    ``evaluations``  settings tried per bin and parameter, at most
    ``other_data``   accept a menu made from other data than the profile
    ``advance``      progress callback ``(done, all)``, called once per bin
    """
    menu.check_data(profile, other_data=other_data)
    subsets, bins = subsets_of(menu.provenance, profile), []
    settings, empty = [], list(menu.empty_bins)
    for number, entry in enumerate(menu.settings[:-1]):
        raised, nearest = _raised(entry, menu, profile, subsets, floor, evaluations)
        bins.append(raised)
        if raised.after is None:
            empty.append(_emptied(entry, floor, nearest))
        else:
            settings.append(raised.after)
        if advance:
            advance(number + 1, len(menu.settings) - 1)
    pairs = {each.before.id: (each.before.setting, each.after.setting) for each in bins if each.after}
    gains = {
        id_: {"from": str(before), **gain_json(gain)}
        for (id_, (before, _)), gain in zip(pairs.items(), gains_of(list(pairs.values()), menu, profile), strict=True)
    }
    told = {"refined": gains, "floor": {floor.name: floor.least}}
    raised_menu = replace(
        menu,
        settings=(*settings, menu.settings[-1]),
        empty_bins=tuple(sorted(empty, key=lambda each: each.bin)),
        provenance={**menu.provenance, **told},
    )
    return Floored(raised_menu, floor, tuple(bins))


def _raised(
    entry: MenuSetting, menu: Menu, profile: Profile, subsets: list[Subset], floor: Floor, evaluations: int
) -> tuple[Raised, MenuSetting | None]:
    """Return the results of both searches in one bin, and the setting with just enough noise for the floor.

    The latter may have its privacy outside the bin. It is None if more noise does not lead to the floor.
    """
    if entry.setting.kind != "additive" or entry.setting.inner is not None:
        return Raised(entry, None, None, None, None), None
    start = louder(entry.setting, floor)
    if start is None:
        return Raised(entry, floor.measure(entry.setting), None, None, None), None
    bench = CandidateScores(start, profile, subsets, menu)
    here = bench.entry(entry, start.parameters)
    best = entry if start == entry.setting else here[0] if here and here[1] == 0 else None
    family = climb(entry, best, start, bench, evaluations, floor.short)
    law = _law(entry, here[0] if here else entry, menu, profile, subsets, floor)
    raised = Raised(entry, floor.measure(entry.setting), family, law, None)
    error = None if raised.after is None else floor.measure(raised.after.setting)
    return replace(raised, error=error), here[0] if here else None


def louder(setting: PrivacySetting, floor: Floor) -> PrivacySetting | None:
    """Return the setting with all parameters scaled by the smallest factor that meets the floor; None if none does."""

    def times(factor: float) -> PrivacySetting | None:
        try:
            parameters = tuple(float(f"{factor * p:.6g}") for p in setting.parameters)
            return PrivacySetting(setting.mechanism, parameters, release=setting.release)
        except HalfmaskError:  # a parameter that cannot be scaled, such as a share
            return None

    if floor.short(setting) <= 0:
        return setting
    low, high = 1.0, 1.0
    for _ in range(MOST_DOUBLINGS):
        low, high = high, 2 * high
        tried = times(high)
        if tried is None or floor.short(tried) <= 0:
            break
    else:
        return None
    while tried is not None and high > CLOSE * low:
        middle = (low * high) ** 0.5
        between = times(middle)
        if between is not None and floor.short(between) <= 0:
            high, tried = middle, between
        else:
            low = middle
    return tried


def _law(
    entry: MenuSetting, near: MenuSetting, menu: Menu, profile: Profile, subsets: list[Subset], floor: Floor
) -> MenuSetting | None:
    """Return the law with the least noise that meets the floor and the bin, by its median privacy; None if not found.

    A proposal is computed for all readings and for an estimate of the attack's error. The bin is checked on the medians
    of samples, and the floor on the attack itself. The next proposal therefore asks for more, by what the last one
    lacked.
    """
    aim, least, best = entry.bin[0] + AIM, floor.least, None
    for _ in range(TRIES):
        setting = floor.propose(aim, least, near.noise_std or 0.0)
        tried = (
            None
            if setting is None
            else CandidateScores(setting, profile, subsets, menu).entry(entry, setting.parameters)
        )
        if setting is None or tried is None:
            break
        (found, beyond, safe), short = tried, floor.short(setting)
        if beyond == 0 and short <= 0 and (best is None or found.objective > best.objective):
            best = found
        aim = max(aim + entry.bin[0] + AIM - safe, 0.0)
        least = least + max(short + AIM, 0.0) if short > 0 else least
    return best


def _emptied(entry: MenuSetting, floor: Floor, nearest: MenuSetting | None) -> EmptyBin:
    wanted = f"{floor.name} of at least {floor.least:g}"
    if entry.setting.kind != "additive":
        why = (
            f"{entry.setting} adds no noise of one law, and no other is searched above a floor: evaluate such settings"
        )
        return EmptyBin(entry.bin, None, None, why)
    if nearest is None:
        return EmptyBin(entry.bin, None, None, f"no noise like {brief(entry.setting)} has {wanted}")
    why = f"{brief(nearest.setting)} has {wanted}, but privacy {nearest.privacy.median:.2f}; no law searched has both"
    return EmptyBin(entry.bin, nearest.setting, nearest.privacy, why)
