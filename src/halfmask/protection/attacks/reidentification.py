"""Re-identification: to which user do masked reports belong?

The attacker knows N users' true readings of some days and the noise law, sees a user's masked reports without a name,
and names the user with the highest likelihood (`habits`). Two situations are attacked:

    one day   masked reports of one day; all other days are known, except for the few that other users are attacked on
    half      masked reports of the second half of the time; the first half is known

If only totals are known, a day has one report, and the slots of a day are days of the week.

Who has unmasked reports can mask them himself. So the unmasked share, the baseline, is at least that under the setting.

The constants of the models were chosen on 500 Swiss households, but for the weights of the models of a half, which the
attacker chooses by a rehearsal on the half that he knows. Knowledge beyond readings (appliances, holidays) would
identify more.
"""

from dataclasses import dataclass, replace

import numpy as np

from halfmask.arrays import BoolArray, FloatArray, IntArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.attacks.finding import Finding, not_applicable
from halfmask.protection.attacks.habits import (
    KnownDays,
    Scores,
    by_mean_day,
    by_nearest_day,
    day_weights,
    effective,
    filled,
    known_days,
    mean_days,
    near_histograms,
    near_mean_days,
    of_many_days,
    of_one_day,
    scores,
    slot_likelihoods,
    slots_of,
)
from halfmask.protection.attacks.intervals import no_difference, share
from halfmask.protection.attacks.known_users import mean_of
from halfmask.protection.attacks.masked_series import masked_series
from halfmask.protection.attacks.report_channel import Float32, ReportChannel, report_channel
from halfmask.protection.attacks.report_days import PRESENT, ReportDays, report_days
from halfmask.protection.evidence import Evidence, some_of
from halfmask.streams import stream

DAY_NAME, HALF_NAME = "reidentification-day", "reidentification-half"
DAY_METRIC = "share of users named rightly from one day's reports, by who knows their other days"
HALF_METRIC = "share of users named rightly from half of the reports, by who knows the other half"
FEWEST_USERS, FEWEST_DAYS = 5, 4
ATTACKED_DAYS = 4
"""Days on which users are attacked in turn, each user on one of them; none of them is known."""
WAYS = ((True, 1.0, 0.3), (False, 1.0, 0.3), (False, 0.3, 0.0), (False, 0.1, 0.0))
"""Whether days near in time count more; the weight of the histograms beside mean days; and the variance of a user's
mean day from half to half, per variance of a day. The first suits habits that drift, the others those that do not.
Histograms count readings as independent; the more they depend on each other, the lower the right weight."""
REHEARSED = 160
"""Users that are attacked at the rehearsal, about."""
CLEARLY = 0.04
"""Share of users by which another way than the first must be better at the rehearsal, which is over a shorter time."""
USUAL = 0.9
"""Share of users, the smallest ones, that the season is measured on."""
UNMASKED = PrivacySetting.parse("none")


@dataclass(frozen=True, eq=False)
class Situation:
    """Known days and attacked days.

    ``known``     what the attacker knows
    ``near``      the same with days near to the attacked ones counted more; for one day, it is made for each of them
    ``learned``   (days,) the days that he knows it from
    ``attacked``  (days,) the days that he sees masked
    ``victims``   (V,) rows of the attacked users
    ``on``        (V,) for one day: which of the attacked days
    """

    known: KnownDays
    near: KnownDays
    learned: IntArray
    attacked: IntArray
    victims: IntArray
    on: IntArray


@dataclass(frozen=True, eq=False)
class Situations:
    """Both situations on the same users.

    ``days``       all days of the users
    ``masked``     the days that are seen masked in one of the situations
    ``rehearsal``  the same as ``half`` within the known half; the attacker masks its second part himself
    """

    days: ReportDays
    masked: IntArray
    one_day: Situation
    half: Situation
    rehearsal: Situation

    def reports(self, setting: PrivacySetting, days: IntArray, rng: np.random.Generator) -> FloatArray | None:
        """Return reports (users, days, places) of these days, NaN on others; None if totals cannot be masked so."""
        on: BoolArray = np.isin(self.days.day, days)
        series = np.full(self.days.evidence.series.shape, np.nan)
        masked = masked_series(setting, some_of(self.days.evidence, np.arange(len(series)), on), rng)
        if masked is None:
            return None
        series[:, on] = masked
        return self.days.arranged(series)


def reidentification(setting: PrivacySetting, evidence: Evidence, rng: np.random.Generator) -> tuple[Finding, Finding]:
    """Return the shares of users named rightly at the first guess, from one day and from half of the reports."""
    why = None
    found = evidence.once(situations)
    if not evidence.single:
        why = "Not measured: rows of this profile are groups of users, not one."
    elif found is None:
        why = f"Not measured: it takes {FEWEST_USERS} users with {FEWEST_DAYS} days of reports."
    else:
        reports = found.reports(setting, found.masked, rng)
        if reports is None:
            why = "Not measured: a profile does not say what this rule makes of a total."
        elif np.isinf(reports).any():
            why = "Not measured: the noise is beyond all numbers."
    if why is not None or found is None or reports is None:
        return not_applicable(DAY_NAME, DAY_METRIC, why or ""), not_applicable(HALF_NAME, HALF_METRIC, why or "")
    bare_day, bare_half = evidence.once(named_unmasked)
    day, half = (bare_day, bare_half) if setting.silent else named(setting, found, reports, rng)
    what = evidence.what
    return (
        _finding((DAY_NAME, DAY_METRIC), day, bare_day, found, f"masked {what} of one day, by who knows their others"),
        _finding((HALF_NAME, HALF_METRIC), half, bare_half, found, f"masked {what}, by who knows the other half"),
    )


def situations(evidence: Evidence) -> Situations | None:
    """Return what is known and what is attacked; None if there are too few users or days."""
    days = report_days(evidence)
    if days is None or len(days.evidence.series) < FEWEST_USERS or days.days < FEWEST_DAYS:
        return None
    readings = days.arranged(days.evidence.series)
    present = np.isfinite(readings).mean(axis=2) >= PRESENT
    count = min(ATTACKED_DAYS, days.days // FEWEST_DAYS)
    attacked = (np.arange(count) * 2 + 1) * days.days // (2 * count)
    known = np.setdiff1d(np.arange(days.days), attacked)
    on, victims = _taken_in_turn(present[:, attacked])
    learned = known_days(readings[:, known], days.weekdays[known])
    one_day = Situation(learned, learned, known, attacked, victims, on)
    first, second = np.array_split(np.arange(days.days), 2)
    half = _half(days, readings, first, second)
    whole = _half(days, readings, *np.array_split(first, 2))
    rehearsal = replace(whole, victims=whole.victims[:: max(len(whole.victims) // REHEARSED, 1)])
    enough = min(len(victims), len(half.victims)) >= FEWEST_USERS
    return Situations(days, np.union1d(attacked, second), one_day, half, rehearsal) if enough else None


def _half(days: ReportDays, readings: FloatArray, first: IntArray, second: IntArray) -> Situation:
    """Return the situation in which the second days are attacked by who knows the first."""
    victims = np.flatnonzero(np.isfinite(readings[:, second]).any(axis=(1, 2)))
    growth = season(readings[:, first], readings[:, second])
    factors = (1.0, growth**0.5, growth)  # some of a home's load follows the season, some does not
    known, near = (
        known_days(readings[:, first], days.weekdays[first], factors, weight)
        for weight in (None, day_weights(first - second[0]))
    )
    return Situation(known, near, first, second, victims, victims)


def season(before: FloatArray, after: FloatArray) -> float:
    """Return the growth factor of everybody's mean reading, limited to between 0.5 and 2.

    The largest users are left out. The attacker has it from the totals that are published.
    """
    f, g = (mean_of(each, (1, 2)) for each in (before, after))
    usual = np.abs(f) <= np.quantile(np.abs(f), USUAL)
    base, later = float(f[usual].sum()), float(g[usual].sum())
    return float(np.clip(later / base, 0.5, 2.0)) if base > 0 else 1.0


def _taken_in_turn(able: BoolArray) -> tuple[IntArray, IntArray]:
    """Return for each user with a whole attacked day which one it is, in turn, and the rows of these users."""
    users, count = able.shape
    order = (np.arange(users)[:, None] + np.arange(count)) % count
    place = np.take_along_axis(able, order, axis=1).argmax(axis=1)
    victims = np.flatnonzero(able.any(axis=1))
    return order[np.arange(users), place][victims], victims


def named_unmasked(evidence: Evidence) -> tuple[FloatArray, FloatArray]:
    """Return who is named rightly from unmasked reports, in both situations."""
    found = evidence.once(situations)
    if found is None:
        raise ValueError("nobody can be attacked on this evidence")
    reports = found.days.arranged(found.days.evidence.series)
    return named(UNMASKED, found, reports, stream(0, "attack.reidentification"))


def named(
    setting: PrivacySetting, found: Situations, reports: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return 1 for each victim that is named rightly, 0 for others, in both situations."""

    def channel(at: Situation, reports: FloatArray) -> ReportChannel:
        return report_channel(setting, found.days.evidence, at.known.cells, reports[:, at.attacked], rng)

    def by_all_ways(at: Situation, reports: FloatArray) -> list[FloatArray]:
        return [_right(way, at.victims) for way in from_half(at, channel(at, reports), reports, found.days)]

    day = from_one_day(found.one_day, channel(found.one_day, reports), reports, found.days)
    rehearsed = found.reports(setting, found.rehearsal.attacked, rng)
    tried = np.zeros(1) if rehearsed is None else np.mean(by_all_ways(found.rehearsal, rehearsed), axis=1)
    tried[0] += CLEARLY
    return _right(day, found.one_day.victims), by_all_ways(found.half, reports)[int(np.argmax(tried))]


def from_one_day(at: Situation, channel: ReportChannel, reports: FloatArray, days: ReportDays) -> Float32:
    """Return the log-likelihood (V, N) of each victim's day under every user's habits."""
    cells = channel.of(reports[at.victims, at.attacked[at.on]])
    weekdays = days.weekdays
    known_slots, slots = (slots_of(days.places, weekdays[of]) for of in (at.learned, at.attacked))
    found = scores(at.known, channel, cells[:, None])
    habits = mean_days(found.known)
    day = filled(found.seen[:, 0]) @ habits.vectors
    variance = habits.own * (1 + 1 / found.known.shape[1]) + np.float32(found.noise + 1e-6)
    total = by_nearest_day(habits, day, found.noise)
    for number, attacked in enumerate(at.attacked):
        mine, apart = at.on == number, at.learned - attacked
        weight = day_weights(apart, weekdays[at.learned] == weekdays[attacked])
        likelihoods = slot_likelihoods(near_histograms(at.known, known_slots, weight), channel)
        total[mine] += of_one_day(likelihoods, cells[mine], slots[number])
        total[mine] += by_mean_day(near_mean_days(habits, weight), day[mine], variance)
    return total


def from_half(at: Situation, channel: ReportChannel, reports: FloatArray, days: ReportDays) -> list[Float32]:
    """Return the log-likelihood (V, N) of each victim's half under every user's habits, by each of `WAYS`."""
    cells = channel.of(reports[at.victims][:, at.attacked])
    slots = slots_of(days.places, days.weekdays[at.attacked])
    found = scores(at.known, channel, cells)
    by_slot = {
        near: of_many_days(slot_likelihoods(at.near if near else at.known, channel), cells, slots)
        for near in (True, False)
    }
    return [
        np.float32(weight) * by_slot[near] + _by_mean_of_days(at, found, near, drift) for near, weight, drift in WAYS
    ]


def _by_mean_of_days(at: Situation, found: Scores, near: bool, drift: float) -> Float32:
    """Return the log-likelihood (V, N) of the mean of each victim's attacked days around every user's mean day."""
    late, early = day_weights(at.learned - at.attacked[0]), day_weights(at.attacked - at.learned[-1])
    if not near:
        late, early = np.ones(len(late)), np.ones(len(early))
    habits = near_mean_days(mean_days(found.known), late)
    known, mean = (
        (filled(of) * by_day.astype(np.float32)[:, None]).mean(axis=1)
        for of, by_day in ((found.known, late), (found.seen, early))
    )
    mean += known.mean(axis=0) - mean.mean(axis=0)  # what the season leaves
    apart = 1 / effective(late) + 1 / effective(early) + drift
    variance = np.asarray(habits.own * apart + found.noise / effective(early) + 1e-6, np.float64)
    return by_mean_day(habits, mean @ habits.vectors, variance)


def _right(likelihood: Float32, victims: IntArray) -> FloatArray:
    """Return 1 if no other user is as likely as the victim; several equally likely ones share the 1."""
    best = likelihood.max(axis=1, keepdims=True)
    tied = likelihood >= best
    return np.asarray(tied[np.arange(len(victims)), victims] / tied.sum(axis=1))


def _finding(of: tuple[str, str], right: FloatArray, bare: FloatArray, found: Situations, source: str) -> Finding:
    at, users = share(right), len(found.days.evidence.series)
    if right.mean() > bare.mean():
        bare = right  # who has unmasked reports can mask them himself, and do as well
    same = no_difference(right, bare)
    details = {"users": users, "attacked": len(right), "chance": 1 / users, "no_difference": same}
    unmasked = f"no different from unmasked ({bare.mean():.1%})" if same else f"{bare.mean():.1%} unmasked"
    words = (
        f"Of {users} users, {at.value:.1%} ({at.low:.1%} to {at.high:.1%}) are named rightly from {source}; "
        f"{unmasked}, {1 / users:.2%} by chance."
    )
    return Finding(*of, at.value, float(bare.mean()), words, details, at.low, at.high)
