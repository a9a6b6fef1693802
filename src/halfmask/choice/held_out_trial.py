"""Compare personal advice with one setting for all, on users that were not used to learn the prior."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.choice.personal_privacy import (
    PersonalLaws,
    Prior,
    middle,
    personal_laws,
    personal_privacy,
    population_prior,
    privacy_interval,
    together,
)
from halfmask.choice.recommend import check_score
from halfmask.errors import OptionError
from halfmask.menus.menu import Menu
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

MOST_USERS = 150
AT_ONCE = 32
DRAWS = 40


@dataclass(frozen=True)
class HeldOutTrial:
    """Results of advice for held-out users with this number of readings.

    ``reachable``  share of users for whom some setting of the menu meets the wish; an upper limit of ``met``
    ``met``        share of users whose advised setting meets the wish
    ``utility``    mean utility of the advised settings
    ``below``      share of users whose true privacy is below the stated one; 0.5 is ideal
    ``inside``     share of users whose true privacy is in the stated interval; should be at least 0.8

    ``population_met`` and ``population_utility`` are the same for one setting for all.
    """

    readings: int
    users: int
    reachable: float
    met: float
    utility: float
    below: float
    inside: float
    population_met: float
    population_utility: float


def evaluate_recommendations(
    profile: Profile,
    menu: Menu,
    *,
    min_privacy: float,
    readings: Sequence[int] = (48, 480, 4800),
    held_out: float = 0.25,
    seed: int = 7,
    other_data: bool = False,
) -> list[HeldOutTrial]:
    """Measure, on held-out users, how often personal advice and one setting for all meet a wish for privacy.

    ``min_privacy``  the wish: least personal privacy
    ``readings``     numbers of readings to test
    ``held_out``     share of users to hold out

    The prior is learned from the other users. A held-out user's readings are drawn from its histogram, and a setting is
    recommended from them. Real successive readings are similar, so a real history of the same length reveals a little
    less. True personal privacy is computed from the whole histogram. The setting for all is the most useful one of
    those with the wished median privacy.
    """
    profile = menu.masked_profile(profile, other_data=other_data)
    check_score(min_privacy)
    if profile.buckets:
        raise OptionError("held-out users need single users: profile with `buckets=0`")
    if not 0 < held_out < 1:
        raise OptionError(f"held out {held_out} is not a share between 0 and 1", kind="share", field="held_out")
    rng = stream(seed, "choice.held-out")
    order = rng.permutation(np.flatnonzero(profile.rows["sum_abs"] > 0))
    count = min(max(round(held_out * len(order)), 1), MOST_USERS)
    if len(order) - count < 2:
        raise OptionError(f"{len(order)} users are too few to hold {count} out", kind="too-few-users", field="held_out")
    prior = population_prior(profile.subset(profile.labels[np.sort(order[count:])]), menu)
    true = _true_privacy(profile, menu, order[:count], prior)
    everyone = _for_all(menu, min_privacy)
    utilities = np.array([each.utility.median for each in menu.settings])
    trials = []
    most = int(np.median(profile.rows["readings"][order]))
    for number in sorted({min(number, most) for number in readings}):
        advised, stated, low, high = _advice(profile, menu, order[:count], number, prior, min_privacy, rng)
        truth = true[advised, np.arange(count)]
        meets = truth >= min_privacy
        trials.append(
            HeldOutTrial(
                readings=number,
                users=count,
                reachable=float((true >= min_privacy).any(axis=0).mean()),
                met=float(meets.mean()),
                utility=float(utilities[advised].mean()),
                below=float((truth < stated).mean()),
                inside=float(((low <= truth) & (truth <= high)).mean()),
                population_met=float((true[everyone] >= min_privacy).mean()),
                population_utility=float(utilities[everyone]),
            )
        )
    return trials


def _counts(profile: Profile, rows: IntArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return all bins of the profile, and each user's numbers of readings per bin and of zeros."""
    bins = np.unique(profile.histogram.bin)
    own = profile.histogram.of(rows)
    counts = np.zeros((len(rows), len(bins)))
    counts[own.row, np.searchsorted(bins, own.bin)] = own.count
    return bins, counts, profile.rows["zeros"][rows].astype(float)


def _true_privacy(profile: Profile, menu: Menu, rows: IntArray, prior: Prior) -> FloatArray:
    """Return the personal privacy (settings, users), computed from all readings of each user."""
    bins, counts, zeros = _counts(profile, rows)
    held = counts.sum(axis=1)
    laws = PersonalLaws(bins, counts / held[:, None], zeros / (held + zeros), prior.step)
    return personal_privacy(menu, laws, prior.errors)


def _advice(
    profile: Profile, menu: Menu, rows: IntArray, readings: int, prior: Prior, wish: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return each user's advised setting, its stated privacy, and the lower and upper end of its interval.

    The advised setting is the most useful one that meets the wish with 90 % confidence; without one, the closest one.
    """
    bins, counts, zeros = _counts(profile, rows)
    found = []
    for first in range(0, len(rows), AT_ONCE):
        laws = []
        for user in range(first, min(first + AT_ONCE, len(rows))):
            every = np.append(counts[user], zeros[user])
            drawn = rng.multinomial(readings, every / every.sum())
            laws.append(personal_laws(bins, drawn[:-1].astype(float), int(drawn[-1]), prior, rng, DRAWS))
        scores = personal_privacy(menu, together(laws), prior.errors)
        for own in np.split(scores, len(laws), axis=1):
            (low, high), stated = privacy_interval(own), middle(own)
            meeting = np.flatnonzero(low >= wish).tolist()
            g = max(meeting, key=lambda g: menu.settings[g].objective) if meeting else int(np.argmax(low))
            found.append((g, stated[g], low[g], high[g]))
    advised, stated, low, high = np.array(found).T
    return advised.astype(np.int64), stated, low, high


def _for_all(menu: Menu, wish: float) -> int:
    meeting = [g for g, each in enumerate(menu.settings) if each.privacy.median >= wish]
    if meeting:
        return max(meeting, key=lambda g: menu.settings[g].objective)
    return int(np.argmax([each.privacy.median for each in menu.settings]))
