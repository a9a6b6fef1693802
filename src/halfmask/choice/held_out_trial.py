"""Is personal advice better than one setting for all? Tried on users whose readings the prior has not seen."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.choice.personal_privacy import (
    PersonalLaws,
    Prior,
    interval,
    middle,
    personal_laws,
    personal_privacy,
    population_prior,
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
    """How often the wish was met, and at what mean utility, given this number of readings of a held-out user.

    ``reachable`` is the share of users whom some setting of the menu serves at all: no advice can do better.
    ``below`` is the share of users whose true privacy under the advised setting is below the stated one (a half is
    right), ``inside`` the share with the truth in the stated interval (right: 80 % or more).
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
    """On held-out users: how often the recommended setting gives the wished privacy, against one setting for all.

    The prior is learned on the other users. Readings are drawn from a held-out user's own histogram, and the setting is
    recommended from them. They are in random order, because a profile does not keep the order: real histories, whose
    readings resemble their neighbours, say a little less. The true personal privacy is that of the whole histogram. One
    setting for all is the most useful one of the menu with the wished median privacy.
    """
    menu.check_data(profile, other_data=other_data)
    check_score(min_privacy)
    if profile.buckets:
        raise OptionError("held-out users need single users: profile with `buckets=0`")
    if not 0 < held_out < 1:
        raise OptionError(f"held out {held_out} is not a share between 0 and 1")
    rng = stream(seed, "choice.held-out")
    order = rng.permutation(np.flatnonzero(profile.rows["sum_abs"] > 0))
    count = min(max(round(held_out * len(order)), 1), MOST_USERS)
    if len(order) - count < 2:
        raise OptionError(f"{len(order)} users are too few to hold {count} out")
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
    """All bins of the profile, and each user's readings in them and zeros."""
    bins = np.unique(profile.histogram.bin)
    own = profile.histogram.of(rows)
    counts = np.zeros((len(rows), len(bins)))
    counts[own.row, np.searchsorted(bins, own.bin)] = own.count
    return bins, counts, profile.rows["zeros"][rows].astype(float)


def _true_privacy(profile: Profile, menu: Menu, rows: IntArray, prior: Prior) -> FloatArray:
    """Personal privacy of each setting (first axis) for each user, from all of its readings."""
    bins, counts, zeros = _counts(profile, rows)
    held = counts.sum(axis=1)
    laws = PersonalLaws(bins, counts / held[:, None], zeros / (held + zeros), prior.step)
    return personal_privacy(menu, laws, prior.errors)


def _advice(
    profile: Profile, menu: Menu, rows: IntArray, readings: int, prior: Prior, wish: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """For each user the most useful setting that gives the wish with 90 % confidence, or the one that comes closest;
    what is stated of it, and its interval.
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
            (low, high), stated = interval(own), middle(own)
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
