"""Advice to one producer: the setting of the menu that best meets a wish. Readings never leave the machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.choice.evening_peak import peak_shows, split_evenings
from halfmask.choice.personal_privacy import (
    Prior,
    masked_once,
    middle,
    own_counts,
    own_step,
    personal_laws,
    personal_privacy,
    privacy_interval,
)
from halfmask.data.open_panel import open_panel
from halfmask.errors import OptionError
from halfmask.menus.menu import Menu, MenuSetting
from halfmask.results import Shown
from halfmask.streams import stream

if TYPE_CHECKING:
    import pyarrow as pa

FEW = 0.8
"""A note says that readings are few if their weight in the advice is below this."""


def check_score(privacy: float) -> None:
    """Raise an OptionError if a privacy score is not between 0 and 1."""
    if not 0 <= privacy <= 1:
        raise OptionError(f"a privacy of {privacy:g} cannot be met: scores are from 0 to 1", field="privacy")


@dataclass(frozen=True)
class Wish:
    """A producer's wishes, all of which must be met.

    ``min_privacy``  least personal privacy, with 90 % confidence
    ``peak_limit``   largest share of days on which the evening peak is visible (see `evening_peak`)
    ``min_reward``   least reward
    ``rewards``      the reward of each setting, by id
    """

    min_privacy: float | None = None
    peak_limit: float | None = None
    min_reward: float | None = None
    rewards: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        wishes = (self.min_privacy, self.peak_limit, self.min_reward)
        if all(each is None for each in wishes):
            raise OptionError(
                "there is no wish: give a least privacy, a limit for the evening peak, or a least reward", kind="wish"
            )
        if any(each is not None and not np.isfinite(each) for each in wishes):
            raise OptionError(f"the wish {wishes} is not made of finite numbers", kind="number")
        if self.min_privacy is not None:
            check_score(self.min_privacy)
        if self.peak_limit is not None and not 0 < self.peak_limit <= 1:
            raise OptionError(f"the peak's limit {self.peak_limit} is not a share of days from 0 to 1", kind="peak")
        if self.min_reward is not None and not self.rewards:
            raise OptionError("a least reward needs the reward of each setting", kind="rewards")

    def shortfall(self, low: float, peak: float | None, reward: float | None) -> float:
        """Return by how much a setting misses the wishes, added up; 0 if it meets them."""
        missing = 0.0
        if self.min_privacy is not None:
            missing += max(self.min_privacy - low, 0.0)
        if self.peak_limit is not None and peak is not None:
            missing += max(peak - self.peak_limit, 0.0)
        if self.min_reward is not None:
            got = -np.inf if reward is None else reward
            missing += max(self.min_reward - got, 0.0) / max(abs(self.min_reward), 1e-12)
        return missing


@dataclass(frozen=True, eq=False)
class OwnReadings:
    """One producer's readings.

    ``times``  local times in microseconds; None if unknown
    """

    values: FloatArray
    times: IntArray | None = None


@dataclass(frozen=True)
class Personal:
    """The results of a setting for one producer: personal privacy with its 80 % interval, and the menu's entry.

    ``privacy``    median over the possible distributions of the producer's readings, so that the true score is equally
                   likely above and below; at most 1, although very small readings may have larger errors than the
                   study's
    ``once``       score if exactly these readings are masked once each; lower for few readings; None without errors
    ``peak``       probability that the evening peak is visible; None if not requested
    ``shortfall``  by how much the setting misses the wishes
    """

    entry: MenuSetting
    privacy: float
    low: float
    high: float
    once: float | None
    peak: float | None
    reward: float | None
    shortfall: float


@dataclass(frozen=True)
class Recommendation(Shown):
    """The advice to a producer.

    ``chosen``      the setting that meets the wishes best
    ``meets``       whether it meets the wishes; if not, it comes closest
    ``own_weight``  weight of the producer's own readings against the population's (0 to 1)
    """

    chosen: Personal
    meets: bool
    settings: tuple[Personal, ...]
    readings: int
    own_weight: float
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"<Recommendation of {self.chosen.entry.id} {self.chosen.entry.setting}{'' if self.meets else ', closest'}>"
        )

    def to_arrow(self) -> "pa.Table":
        """Return a table with one row per setting: its scores for this producer and for the population."""
        import pyarrow as pa

        rows = [
            {
                "chosen": each is self.chosen,
                "meets": each.shortfall == 0,
                "id": each.entry.id,
                "setting": str(each.entry.setting),
                "privacy": each.privacy,
                "low": each.low,
                "high": each.high,
                "once": each.once,
                "others_privacy": each.entry.privacy.median,
                "utility": each.entry.utility.median,
                "peak": each.peak,
                "reward": each.reward,
            }
            for each in self.settings
        ]
        return pa.Table.from_pylist(rows)


def own_readings(source: Any, *, producer: str | None = None, **options: Any) -> OwnReadings:
    """Return one producer's usable readings, from an array or from any source that `open_panel` accepts.

    ``options``  options of `open_panel`
    """
    if isinstance(source, np.ndarray | list | tuple):
        values = np.asarray(source, float).ravel()
        return OwnReadings(values[np.isfinite(values)])
    panel = open_panel(source, **options)
    table = panel.collect(panel.frame)
    users = np.array([str(user) for user in table.column("user").to_pylist()])
    named = sorted(set(users.tolist()))
    if producer is None and len(named) > 1:
        raise OptionError(
            f"{panel.source} holds {len(named)} producers ({named[0]}, {named[1]}, ...): name one of them",
            kind="several-producers",
            field="producer",
        )
    if producer is not None and producer not in named:
        raise OptionError(f"{panel.source} has no readings of '{producer}'", kind="unknown-user", field="producer")
    values, times = (np.asarray(table.column(name).to_numpy(), float) for name in ("value", "time"))
    kept = np.isfinite(values) & np.isfinite(times) & (users == (producer or named[0]))
    return OwnReadings(values[kept], times[kept].astype(np.int64))


def recommend(menu: Menu, own: OwnReadings, wish: Wish, prior: Prior, *, seed: int = 7) -> Recommendation:
    """Return the setting of the menu that best meets a producer's wishes.

    Of the settings that meet them, it is the one with the highest objective (or with the highest personal privacy, if
    the only wish is a reward). If no setting meets them, it is the one with the smallest shortfall.
    """
    if not len(own.values):
        raise OptionError("the producer has no usable reading: there is nothing to judge by", kind="empty")
    for id in wish.rewards or {}:
        menu[id]
    rng = stream(seed, "choice.advice")
    bins, counts, zeros = own_counts(own.values)
    prior = replace(prior, step=own_step(own.values))
    scores = personal_privacy(menu, personal_laws(bins, counts, zeros, prior, rng), prior.errors)
    peaks = _peaks(menu, own, wish, rng)
    settings = _judged(menu, scores, masked_once(menu, bins, counts, zeros, prior.step), peaks, wish)
    chosen = _serving(settings, wish)
    periods = len(own.values) / prior.a_period
    weight = periods / (periods + prior.strength)
    return Recommendation(chosen, chosen.shortfall == 0, settings, len(own.values), weight, _notes(own, weight, chosen))


def _peaks(menu: Menu, own: OwnReadings, wish: Wish, rng: np.random.Generator) -> list[float | None]:
    if wish.peak_limit is None:
        return [None] * len(menu.settings)
    if own.times is None:
        raise OptionError(
            "whether the evening peak shows needs the times of the readings: give a source with times",
            kind="no-times",
            field="peak_limit",
        )
    evenings = split_evenings(own.values, own.times)
    if wish.peak_limit < evenings.guessing:
        raise OptionError(
            f"the peak's limit {wish.peak_limit} is below {evenings.guessing:.2f}, the chance of guessing it: raise it",
            kind="too-low",
            field="peak_limit",
        )
    return [peak_shows(evenings, each.setting, rng) for each in menu.settings]


def _judged(
    menu: Menu, scores: FloatArray, once: FloatArray | None, peaks: Sequence[float | None], wish: Wish
) -> tuple[Personal, ...]:
    low, high = (np.clip(each, 0, 1) for each in privacy_interval(scores))
    stated = np.clip(middle(scores), 0, 1)
    rewards = wish.rewards or {}
    judged = []
    for number, entry in enumerate(menu.settings):
        reward = rewards.get(entry.id)
        missing = wish.shortfall(float(low[number]), peaks[number], reward)
        judged.append(
            Personal(
                entry,
                float(stated[number]),
                float(low[number]),
                float(high[number]),
                None if once is None else float(np.clip(once[number], 0, 1)),
                peaks[number],
                reward,
                missing,
            )
        )
    return tuple(judged)


def _serving(settings: Sequence[Personal], wish: Wish) -> Personal:
    meeting = [each for each in settings if each.shortfall == 0]
    if not meeting:
        return min(settings, key=lambda each: each.shortfall)
    if wish.min_privacy is None and wish.peak_limit is None:
        return max(meeting, key=lambda each: each.privacy)
    return max(meeting, key=lambda each: each.entry.objective)


def _notes(own: OwnReadings, weight: float, chosen: Personal) -> tuple[str, ...]:
    notes = []
    if weight < FEW:
        notes.append(
            f"only {len(own.values):,} readings: the advice rests for {1 - weight:.0%} on the population's, "
            f"and your privacy may be anything from {chosen.low:.2f} to {chosen.high:.2f}"
        )
    if chosen.shortfall > 0:
        notes.append(f"no setting of the menu serves the wish; {chosen.entry.id} comes closest")
    return tuple(notes)
