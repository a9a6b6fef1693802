"""A floor under the menu: the best utility of each bin among settings that an attack cannot undo too far.

The privacy score alone rewards noise of nearly constant magnitude, which is easily guessed. A floor demands of every
setting that an attack's error stay at or above a value. In each bin two searches compete: the parameters of the grid's
winner, continued as in `refine` from where they meet the floor, and the quietest law that keeps both demands, as a
``tabulated`` setting. The better one is taken; a bin in which neither finds a setting becomes empty, and says so.
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
"""Privacy that a proposal is asked for above the bin's edge: what its few digits may take away."""
MOST_DOUBLINGS = 40
CLOSE = 1.01
UNMET = 1.0
"""By how much a setting falls short that keeps the floor and does not meet a requirement."""


@dataclass(frozen=True)
class Floor:
    """What every setting must keep, as plain functions: this folder knows nothing of attacks.

    ``measure(setting)``                    the attack's error, larger if the setting protects more
    ``propose(privacy, error, deviation)``  the quietest setting with that privacy over all readings and that error,
                                            looked for around a noise deviation; None if none is found
    ``meets(setting)``                      whether it meets what else is required of every setting, such as a guarantee
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
        """By how much a setting fails the floor; 0 or below if it keeps it, and all else that is required."""
        short = self.least - self.measure(setting)
        return short if short > 0 or self.meets(setting) else UNMET


def parse_floor(text: str, known: str) -> float:
    """The value in ``name=value``; the name must be the one attack that can be a floor."""
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
    """One bin above the floor: the grid's winner, the best of its family and the best law, as far as there are."""

    before: MenuSetting
    error_before: float | None
    family: MenuSetting | None
    law: MenuSetting | None
    error: float | None

    @property
    def after(self) -> MenuSetting | None:
        """The better of family and law; the family's if they are equal."""
        found = [each for each in (self.family, self.law) if each]
        return max(found, key=lambda each: each.objective) if found else None


@dataclass(frozen=True)
class Floored:
    """The menu above the floor, and how each bin came to its setting."""

    menu: Menu
    floor: Floor
    bins: tuple[Raised, ...]

    def rows(self) -> list[list[str]]:
        """The bins as a table, headings first.

        Error and objective of the grid's winner, the objective of either search, and what was taken with its error.
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
    """The best setting of each bin that keeps the floor. Objective, subsets and noise are those of `refine`."""
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
    """Both searches in one bin; and what the family's setting just above the floor is, wherever its privacy lies."""
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
    """The setting with its parameters scaled by the smallest factor that meets the floor; None if no factor does."""

    def times(factor: float) -> PrivacySetting | None:
        try:
            return PrivacySetting(setting.mechanism, tuple(float(f"{factor * p:.6g}") for p in setting.parameters))
        except HalfmaskError:  # parameters that are not all sizes of noise
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
    """The quietest law that keeps the floor with its median privacy in the bin.

    Proposals speak of all readings, and of the error as they compute it; the bin and the floor of medians over samples
    and of the attack itself. What they fall short by is asked for on top the next time.
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
