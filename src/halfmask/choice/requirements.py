"""Requirements: producers ask for more privacy, the consumer asks for more utility (the paper's relations 3 and 4).

The current setting has median privacy q and utility u. In relation 3, all producers get the same setting: the best one
with privacy above q + delta and utility above u + c. In relation 4, producer n has its own delta_n, and gets the most
useful setting with privacy above q + delta_n. The resulting utility of the system is measured and compared with u + c.
Inequalities are strict, as in the paper: delta = 0 asks for more privacy than now.
"""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from halfmask.arrays import IntArray
from halfmask.choice.mixed_groups import build_groups
from halfmask.errors import OptionError, SourceError
from halfmask.evaluation.sampling import eligible
from halfmask.evaluation.scores import privacy, utility
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.profiles.profile import Profile


@dataclass(frozen=True)
class Choice:
    """The answer to relation 3.

    ``chosen``        best setting that meets both requirements; None if there is none
    ``most_useful``   best setting that is private enough; None if there is none
    ``most_private``  most private setting that is useful enough; None if there is none
    """

    current: MenuSetting
    privacy_above: float
    utility_above: float
    chosen: MenuSetting | None
    most_useful: MenuSetting | None
    most_private: MenuSetting | None


def choose(menu: Menu, current: str, *, delta: float, c: float) -> Choice:
    """Return the menu's best setting (largest objective) that meets both requirements.

    ``current``  id or text of the current setting
    ``delta``    required increase of privacy
    ``c``        required increase of utility
    """
    _finite(delta=delta, c=c)
    settings, now = menu.settings, _current(menu, current)
    q, u = now.privacy.median + delta, now.utility.median + c
    private = [each for each in settings if each.privacy.median > q]
    useful = [each for each in settings if each.utility.median > u]
    both = [each for each in private if each.utility.median > u]
    return Choice(
        current=now,
        privacy_above=q,
        utility_above=u,
        chosen=max(both, key=_best, default=None),
        most_useful=max(private, key=_best, default=None),
        most_private=max(useful, key=lambda each: (each.privacy.median, each.objective), default=None),
    )


@dataclass(frozen=True)
class Assignment:
    """The answer to relation 4.

    ``settings``              id of each producer's setting
    ``unmet``                 producers who ask for more privacy than any setting has; they get the most private one
    ``kept``                  number of producers without a delta, who keep the current setting
    ``privacy``, ``utility``  the system's medians over repeats
    ``eased``                 if utility is not enough: the reduction of every delta that would suffice; None if none
                              would
    """

    current: MenuSetting
    settings: Mapping[str, str]
    unmet: tuple[str, ...]
    kept: int
    utility_above: float
    privacy: float
    utility: float
    eased: float | None

    @property
    def feasible(self) -> bool:
        """Whether the requirements of all producers and of the consumer are met."""
        return not self.unmet and self.utility > self.utility_above


def assign(
    profile: Profile,
    menu: Menu,
    current: str,
    deltas: Mapping[str, float],
    *,
    c: float,
    repeats: int = 10,
    seed: int = 7,
    other_data: bool = False,
) -> Assignment:
    """Give each producer the most useful setting that meets its delta, and measure the resulting utility."""
    profile = menu.masked_profile(profile, other_data=other_data)
    _finite(c=c)
    for label, delta in deltas.items():
        if not np.isfinite(delta):
            raise OptionError(f"the delta of producer '{label}', {delta}, is not a finite number", kind="delta")
    if profile.buckets:
        raise OptionError("producers in hash buckets cannot be assigned one by one: profile with `buckets=0`")
    people = eligible(profile)
    labels = [str(label) for label in profile.labels[people]]
    unknown = sorted(set(deltas) - set(map(str, profile.labels)))
    if unknown:
        raise OptionError(
            f"producer '{unknown[0]}' is not in the profile ({len(unknown)} unknown of {len(deltas)})", kind="producer"
        )
    now = _current(menu, current)
    chosen = np.array([_cheapest(menu, now, deltas.get(label)) for label in labels])
    q, u = _measure(profile, menu, people, chosen, repeats, seed)
    above = now.utility.median + c
    eased = None
    if u <= above:
        eased = _ease(profile, menu, now, labels, deltas, above, repeats, seed)
    most = max(each.privacy.median for each in menu.settings)
    return Assignment(
        current=now,
        settings={label: menu.ids[number] for label, number in zip(labels, chosen, strict=True)},
        unmet=tuple(x for x in labels if x in deltas and now.privacy.median + deltas[x] >= most),
        kept=sum(label not in deltas for label in labels),
        utility_above=above,
        privacy=q,
        utility=u,
        eased=eased,
    )


def read_deltas(path: str | Path) -> dict[str, float]:
    """Read deltas from a CSV file with the columns ``user,delta``, one producer per row. Headings are optional."""
    deltas: dict[str, float] = {}
    for number, row in read_rows(path):
        if number == 1 and len(row) == 2 and row[1].lower() == "delta":
            continue
        if len(row) != 2:
            raise SourceError(
                f"{path}, row {number}: {len(row)} values instead of user,delta", kind="row", place=f"row {number}"
            )
        try:
            delta = float(row[1])
        except ValueError as error:
            raise SourceError(
                f"{path}, row {number}: delta '{row[1]}' of '{row[0]}' is not a number",
                kind="delta",
                place=f"row {number}",
            ) from error
        if row[0] in deltas or not np.isfinite(delta):
            raise SourceError(
                f"{path}, row {number}: '{row[0]}' comes twice, or its delta is not finite",
                kind="delta",
                place=f"row {number}",
            )
        deltas[row[0]] = delta
    if not deltas:
        raise SourceError(f"{path}: there are no deltas in it: write rows of user,delta", kind="empty")
    return deltas


def read_rows(path: str | Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty rows of a CSV file: their numbers, counted from 1, and cells without outer blanks."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            rows = [(number, [cell.strip() for cell in row]) for number, row in enumerate(csv.reader(lines), 1)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise SourceError(f"cannot read {path}: {reason}", kind="unreadable") from error
    return [(number, row) for number, row in rows if any(row)]


def _measure(
    profile: Profile, menu: Menu, people: IntArray, chosen: IntArray, repeats: int, seed: int
) -> tuple[float, float]:
    """Return the system's median privacy and utility for a fixed assignment, over repeats of the noise."""
    used = np.unique(chosen)
    hands = [people[chosen == number] for number in used]
    systems = build_groups(
        profile,
        [each.setting for each in menu.settings],
        [hands] * repeats,
        aggregate=menu.provenance.get("aggregate", "sum"),
        error=menu.provenance.get("error", "relative"),
        seed=seed,
    )
    metrics = np.concatenate([system.metrics(used[None]) for system in systems])
    q, u = (float(np.median(score(metrics, menu.largest, menu.weights))) for score in (privacy, utility))
    return q, u


def _ease(
    profile: Profile,
    menu: Menu,
    now: MenuSetting,
    labels: Sequence[str],
    deltas: Mapping[str, float],
    above: float,
    repeats: int,
    seed: int,
) -> float | None:
    """Return the smallest reduction of every delta (to 0.01) that makes utility sufficient; None if there is none."""
    people = eligible(profile)

    def enough(hundredths: int) -> bool:
        less = {label: delta - hundredths / 100 for label, delta in deltas.items()}
        chosen = np.array([_cheapest(menu, now, less.get(label)) for label in labels])
        return _measure(profile, menu, people, chosen, repeats, seed)[1] > above

    low, high = 0, int(100 * (1 + max(deltas.values(), default=0.0))) + 1
    if not enough(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high / 100


def _cheapest(menu: Menu, now: MenuSetting, delta: float | None) -> int:
    """Return the index of the most useful setting that is private enough; without one, of the most private setting."""
    if delta is None:
        return menu.settings.index(now)
    private = [each for each in menu.settings if each.privacy.median > now.privacy.median + delta]
    if private:
        return menu.settings.index(max(private, key=lambda each: (each.utility.median, each.objective)))
    return menu.settings.index(max(menu.settings, key=lambda each: each.privacy.median))


def _current(menu: Menu, current: str) -> MenuSetting:
    for each in menu.settings:
        if current in (each.id, str(each.setting)):
            return each
    raise OptionError(
        f"the current setting '{current}' is not on the menu: it has {', '.join(menu.ids)}", kind="setting"
    )


def _best(each: MenuSetting) -> tuple[float, float]:
    return each.objective, each.privacy.median


def _finite(**numbers: float) -> None:
    for name, value in numbers.items():
        if not np.isfinite(value):
            raise OptionError(f"{name} {value} is not a finite number", kind="delta")
