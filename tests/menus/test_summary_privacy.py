"""The summary's promise: by exact probabilities on small cases, by OpenDP, and by the strongest attack on it.

Lives are readings of one producer: neighbouring profiles exchange one life for another.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from halfmask.arrays import FloatArray, IntArray
from halfmask.data.open_panel import open_panel
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus import producer_votes
from halfmask.menus.noisy_counts import noise_scales, noised, release
from halfmask.menus.producer_votes import COUNTS, EDGES, VOTE
from halfmask.menus.public_totals import public_totals
from halfmask.menus.total_error import total_error
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from halfmask_device.laws.laplace import DiscreteLaplace
from tests.device.laws import fits
from tests.evaluation.direct_cases import Case, household
from tests.real_data import SWISS, needs_data

EPSILON = 1.0
BOUNDS = (0.0, 10.0)
TESTS = 10
SMALL_VOTE = 6
HOURS = tuple(range(48))
LIVES: dict[str, tuple[tuple[int, ...], tuple[float, ...]]] = {
    "small": (HOURS, (0.001,) * 48),
    "large": (HOURS[::12], (2.0**-20, 2.0**20, 2.0**-20, 2.0**20)),
    "usual": (HOURS[::2], tuple(0.1 + 0.05 * (hour % 7) for hour in HOURS[::2])),
    "away": (HOURS, (0.0,) * 48),
    "missing": (HOURS, (math.nan,) * 48),
    "negative": (HOURS[::6], (-3.0,) * 8),
}


@cache
def lived(*lives: str) -> Profile:
    """A profile of producers with these lives; names stay the same."""
    users = [f"user-{n}" for n, life in enumerate(lives) for _ in LIVES[life][0]]
    hours = [hour for life in lives for hour in LIVES[life][0]]
    values = [value for life in lives for value in LIVES[life][1]]
    return Case(users, hours, values).profile


def summed(profile: Profile, bounds: tuple[float, float] = BOUNDS) -> dict[str, IntArray]:
    return {name: count.votes(profile, bounds).sum(axis=0) for name, count in COUNTS.items()}


def pairs() -> list[tuple[str, str]]:
    return [(one, other) for one in LIVES for other in LIVES if one < other]


@pytest.fixture
def small_votes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes of six parts, so that every outcome can be enumerated."""
    monkeypatch.setattr(producer_votes, "VOTE", SMALL_VOTE)
    for name, count in COUNTS.items():
        monkeypatch.setitem(COUNTS, name, replace(count, change=count.change // VOTE * SMALL_VOTE))


def law(centre: int, scale: int, most: int) -> FloatArray:
    """Probabilities of the outcomes -most..most of one cell, by the sampler's exact law."""
    drawn = DiscreteLaplace(Fraction(scale))
    return np.array([drawn.mass(k - centre) for k in range(-most, most + 1)])


def largest_log_ratio(one: IntArray, other: IntArray, scale: int) -> float:
    """Largest log P(outcome)/Q(outcome) over all outcomes of a count's cells.

    Noise is independent between cells, so it is the sum over cells of the largest of each; outcomes beyond both centres
    have the ratio of the next one.
    """
    most = int(max(np.abs(one).max(), np.abs(other).max())) + 2
    found = 0.0
    for a, b in zip(one.tolist(), other.tolist(), strict=True):
        if a != b:
            found += float(np.max(np.log(law(a, scale, most) / law(b, scale, most))))
    return found


@pytest.mark.usefixtures("small_votes")
def test_no_outcome_tells_two_lives_apart_by_more_than_epsilon() -> None:
    """Every pair of lives, among two other producers, all counts together; and some pair needs nine tenths of it."""
    scales, worst = noise_scales(COUNTS, EPSILON), 0.0
    for one, other in pairs():
        ours, theirs = summed(lived("usual", one, "away")), summed(lived("usual", other, "away"))
        ratio = sum(largest_log_ratio(ours[name], theirs[name], scales[name]) for name in COUNTS)
        assert ratio <= EPSILON * (1 + 1e-9)
        worst = max(worst, ratio)
    assert worst > 0.9 * EPSILON


@pytest.mark.usefixtures("small_votes")
@pytest.mark.parametrize("name", ["apart", "totals", "readings"])
def test_delta_is_nothing_at_the_share_of_epsilon_and_not_at_nine_tenths(name: str) -> None:
    """Sum of max(P - e^epsilon Q, 0) over all outcomes of the two cells that a producer's whole vote moves between."""
    scale = noise_scales(COUNTS, EPSILON)[name]
    share = COUNTS[name].change / scale
    ours, theirs = summed(lived("usual", "small", "away"))[name], summed(lived("usual", "large", "away"))[name]
    if name == "readings":  # the large life has readings of two sizes: exchange them for the same life in one octave
        theirs = summed(lived("usual", "away", "away"))[name]
    moved = np.flatnonzero(ours != theirs)
    assert len(moved) == 2
    most = 12 * scale
    p, q = (np.multiply.outer(*(law(int(each[cell]), scale, most) for cell in moved)) for each in (ours, theirs))
    assert p.sum() == pytest.approx(1, abs=1e-4)
    assert np.maximum(p - math.exp(share) * q, 0).sum() < 1e-12
    assert np.maximum(p - math.exp(0.9 * share) * q, 0).sum() > 1e-3


@pytest.mark.parametrize("name", COUNTS)
def test_a_row_stays_within_what_the_proof_names(name: str) -> None:
    """Whole parts from 0 to a vote: of lives as strange as they come, of sums that are not numbers, in buckets too."""
    strange = lived(*LIVES)
    cells = strange.cells.copy()
    cells[0, 0, 1], cells[1, 0, 1], cells[2, 0, 1] = math.nan, math.inf, -math.inf
    for profile in (strange, replace(strange, cells=cells), strange.bucketed(3)):
        votes = COUNTS[name].votes(profile, BOUNDS)
        assert votes.dtype == np.int64
        assert votes.shape[0] == len(profile)
        assert votes.min() >= 0
        assert votes.sum(axis=1).max() <= VOTE
        assert (votes.shape[1] == 1) == (COUNTS[name].change == VOTE), "a change of several cells counts twice"


@pytest.mark.parametrize("name", COUNTS)
def test_a_row_depends_on_its_own_producer_alone(name: str) -> None:
    for other in LIVES:
        one, two = (COUNTS[name].votes(lived("usual", each, "away"), BOUNDS) for each in ("small", other))
        assert (one[[0, 2]] == two[[0, 2]]).all()


@pytest.mark.parametrize("names", [tuple(COUNTS), ("readings", "spread"), ("mean",)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_opendp_finds_the_same_epsilon(names: tuple[str, ...], epsilon: float) -> None:
    """OpenDP's Laplace measurement maps each count's change to what it spends; nine tenths of the noise spends more."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain: Any = dp.vector_domain(dp.atom_domain(T="i64"))

    def spent(factor: float) -> float:
        scales = noise_scales(names, epsilon)
        laws = {name: dp.m.make_laplace(domain, dp.l1_distance(T="i64"), factor * scales[name]) for name in names}
        return sum(laws[name].map(COUNTS[name].change) for name in names)

    assert epsilon * 0.99999 < spent(1.0) <= epsilon * (1 + 1e-9)
    assert spent(0.9) > 1.1 * epsilon


def test_opendp_finds_the_same_sensitivity_of_a_sum() -> None:
    """One producer's entry from 0 to VOTE, exchanged for another: in OpenDP's distance, two rows."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    rows: Any = dp.vector_domain(dp.atom_domain(bounds=(0, VOTE), T="i64"), size=100)
    for name in ("spread", "mean"):
        assert dp.t.make_sum(rows, dp.symmetric_distance()).map(2) == COUNTS[name].change


def test_the_noise_is_of_the_law_that_the_proof_names() -> None:
    """Ours and OpenDP's; a tenth less noise is rejected."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale, draws, most = 40, 60_000, 400
    domain: Any = dp.vector_domain(dp.atom_domain(T="i64"))
    oracle: Any = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), float(scale))
    for sample in (noised([7] * draws, scale), oracle([7] * draws)):
        moved = np.array(sample) - 7
        assert fits(moved, law(0, scale, most), TESTS)
        assert not fits(moved, law(0, 36, most), TESTS)


# The mean-use attack.


@cache
def swiss() -> Profile:
    return build_profile(open_panel(SWISS), period="day")


@cache
def synthetic() -> Profile:
    return household(users=300, days=20, step=3).profile


PANELS = [pytest.param(synthetic, 64.0, id="synthetic"), pytest.param(swiss, 250.0, id="swiss", marks=needs_data)]
CLOSE = 0.1
PROBE = PrivacySetting.parse("laplace:50")


def mean_use(profile: Profile) -> FloatArray:
    held = np.maximum((profile.cells[..., 0] > 0).sum(axis=1), 1)
    return np.asarray(profile.cells[..., 1].sum(axis=1) / held)


def hits(guess: FloatArray, truth: FloatArray) -> FloatArray:
    return np.asarray(np.abs(guess - truth) <= CLOSE * truth)


def correlation(one: FloatArray, other: FloatArray) -> float:
    """Correlation of ranks: a few homes that use much more than others do not decide it."""
    ranks = [np.argsort(np.argsort(each)) for each in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


def allowed(epsilon: float, homes: int) -> float:
    """Largest correlation between any function of an epsilon-private release and any of one home's life, plus 5
    standard errors of its estimate.

    The maximal correlation of an epsilon-private channel is tanh(epsilon/2).
    """
    return math.tanh(epsilon / 2) + 5 / math.sqrt(homes)


def from_full_precision(profile: Profile) -> FloatArray:
    """Each home's mean use from the analyst's own error of a total, once with the home and once without.

    The error is sigma sqrt(2 n / pi) over the (harmonic) mean of the periods' totals.
    """

    def size(people: Profile) -> float:
        error = total_error(people, PROBE, len(people))
        assert error is not None
        return PROBE.deviation * math.sqrt(2 * len(people) / math.pi) / error

    totals = released(profile, "total")
    others = (totals.subset(np.delete(totals.labels, row)) for row in range(len(totals)))
    return size(totals) - np.array([size(each) for each in others])


def from_published(profile: Profile, high: float) -> FloatArray:
    """The same from what is published: mean total times producers, with the home and without it."""
    votes, bounds = {name: count.votes(profile, (0.0, high)) for name, count in COUNTS.items()}, (0.0, high)
    scales = {name: scale / VOTE for name, scale in noise_scales(COUNTS, EPSILON).items()}

    def size(people: dict[str, IntArray]) -> float:
        rows = len(people["mean"])
        return public_totals(release(people, EPSILON), scales, bounds, rows).mean * rows

    without = ({name: np.delete(each, row, axis=0) for name, each in votes.items()} for row in range(len(profile)))
    return np.array([size(votes) - size(each) for each in without])


def by_likelihood(profile: Profile, high: float, epsilon: float) -> FloatArray:
    """The strongest attack: who knows every other home, and all lives that this one may have had, sees the noisy counts
    before they are rounded. The guess is the mean of what is left by Bayes' rule.
    """
    votes = {name: count.votes(profile, (0.0, high)) for name, count in COUNTS.items()}
    scales, truth = noise_scales(COUNTS, epsilon), mean_use(profile)
    guesses = []
    for row in range(len(profile)):
        told, log = release(votes, epsilon), np.zeros(len(profile))
        for name, count in votes.items():
            own = told[name] * VOTE - (count.sum(axis=0) - count[row])
            log -= np.abs(own - count).sum(axis=1) / scales[name]
        weights = np.exp(log - log.max())
        guesses.append(float(weights @ truth / weights.sum()))
    return np.array(guesses)


@pytest.mark.parametrize("panel", [synthetic, pytest.param(swiss, marks=needs_data)])
def test_the_analysts_own_figures_give_a_homes_mean_use(panel: Any) -> None:
    """So that the attack is one: it is within 10 % for nine of ten homes, and orders nearly all of them."""
    profile = panel()
    truth = mean_use(profile)
    used = truth > 0
    found = from_full_precision(profile)
    assert hits(found, truth)[used].mean() > 0.9
    assert correlation(found, truth) > 0.9


@pytest.mark.parametrize(("panel", "high"), PANELS)
def test_what_is_published_does_not_give_any_homes_mean_use(panel: Any, high: float) -> None:
    """Ten offers with and without each home. Power: a home of the usual use is hit by chance in a few per cent of
    pairs of offers; an attack that is right half of the time is found for a single home in 999 of 1,000 tests.
    """
    profile = panel()
    truth = mean_use(profile)
    tries = np.stack([from_published(profile, high) for _ in range(10)])
    assert hits(tries, truth)[:, truth > 0].sum(axis=0).max() < 8
    assert hits(tries, truth)[:, truth > 0].mean() < 0.1
    assert correlation(tries.ravel(), np.tile(truth, 10)) < allowed(EPSILON, tries.size)


@pytest.mark.parametrize(("panel", "high"), PANELS)
def test_the_strongest_attack_learns_no_more_than_epsilon_allows(panel: Any, high: float) -> None:
    """And an epsilon twenty times as large is found out: power above 999 in 1,000."""
    profile = panel()
    truth = mean_use(profile)
    assert abs(correlation(by_likelihood(profile, high, EPSILON), truth)) < allowed(EPSILON, len(profile))
    assert correlation(by_likelihood(profile, high, 30 * EPSILON), truth) > allowed(EPSILON, len(profile))


def test_bins_of_totals_hold_their_edges() -> None:
    """A total at high is within the bounds, one above it is not."""
    assert len(EDGES) + 1 == len(summed(lived("usual"))["totals"])
    held = {value: summed(Case(["one"], [0], [value]).profile)["totals"].argmax() for value in (-0.1, 0.0, 10.0, 10.1)}
    assert held == {-0.1: 0, 0.0: 1, 10.0: len(EDGES) - 2, 10.1: len(EDGES) - 1}
