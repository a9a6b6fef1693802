"""The public summary: close to the truth on average, and nothing in it that has not passed the noise."""

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.choice.personal_privacy import population_prior
from halfmask.menus.noisy_counts import in_votes, noise_scales
from halfmask.menus.producer_votes import COUNTS, LOWEST, VOTE, reading_votes
from halfmask.menus.public_summary import OF_READINGS, OF_TOTALS, PublicSummary, _told, public_summary
from halfmask.menus.public_totals import PublicTotals
from halfmask.plain import from_plain, to_plain
from halfmask.profiles.build import build_profile
from tests.evaluation.direct_cases import household
from tests.menus.cases import street
from tests.menus.test_offer import made
from tests.refusals import refused

BOUNDS = (0.0, 64.0)
NOISE = "halfmask.menus.noisy_counts.noised"


def unchanged(counts: list[int], _: int) -> list[int]:
    return counts


def test_all_that_is_told_has_passed_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the noise says the same whatever the votes are, so does the summary: of other readings, at other times."""
    other, one = household(users=200, days=4, step=6, zeros=0.4).profile, street().profile
    monkeypatch.setattr(NOISE, unchanged)
    assert public_summary(other, 1, BOUNDS) != public_summary(one, 1, BOUNDS), "the check can fail"
    exact = [COUNTS[name].votes(one, BOUNDS).sum(axis=0).tolist() for name in (*OF_READINGS, *OF_TOTALS)]
    replies = iter(exact + exact)
    monkeypatch.setattr(NOISE, lambda *_: next(replies))
    assert public_summary(other, 1, BOUNDS) == public_summary(one, 1, BOUNDS)


@pytest.mark.parametrize(("period", "apart", "told"), [("day", 2, 12), ("week", 2, 84), ("hour", 2, 1), ("day", 5, 12)])
def test_readings_of_a_period_are_told_at_a_usual_interval(period: str, apart: int, told: float) -> None:
    case = household(users=100, days=28, step=apart)
    found = public_summary(build_profile(case.panel, period=period), 100.0)
    assert found is not None
    assert found.a_period == told
    assert found.interval_known
    given = public_summary(build_profile(case.panel, period=period), 100.0, a_period=7)
    assert given is not None
    assert (given.a_period, given.interval_known) == (7, True)


def test_an_interval_that_drowns_in_the_noise_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred producers who agree: their votes exceed eight scales of the noise, or do not."""
    monkeypatch.setattr(NOISE, unchanged)
    profile = household(users=100, days=6, step=2).profile
    for epsilon, known in ((50.0, True), (0.05, False)):
        found = public_summary(profile, epsilon, BOUNDS)
        assert found is not None
        assert found.interval_known is known


def test_the_public_summary_is_close_and_never_the_same() -> None:
    """With much epsilon it is the histogram of producers' shares; two of one profile differ."""
    profile = street().profile
    close = public_summary(profile, 1000.0)
    assert close is not None
    readings = reading_votes(profile).sum(axis=0)
    exact = readings[1:] / readings[1:].sum()
    first = close.first - LOWEST
    assert np.abs(exact[first : first + len(close.share)] - close.share).max() < 0.01
    assert close.strength == pytest.approx(population_prior(profile, made().menu).strength, rel=0.3)
    drawn = {public_summary(profile, 4.0) for _ in range(4)}
    assert len(drawn) > 1
    assert from_plain(to_plain(close), PublicSummary) == close


def test_too_few_producers_for_the_noise_leave_no_octaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the noise itself, which once in 200 times lifts ten votes above the bar. The total is told all the same,
    with its standard error.
    """
    monkeypatch.setattr(NOISE, unchanged)
    profile = street().profile
    few = profile.subset(profile.labels[:10])
    assert public_summary(few) is None
    assert public_summary(profile) is not None
    told = public_summary(few, 1, BOUNDS)
    assert told is not None
    assert told.share == ()
    assert told.totals is not None


def test_what_is_told_through_noise_is_right_on_average() -> None:
    """Level and variance of readings over many draws of the noise; told without what drowns they would vary less."""
    votes = in_votes(reading_votes(street().profile).sum(axis=0).tolist())
    at, sizes, scale = np.arange(len(votes) - 1), votes[1:], noise_scales(OF_READINGS, 1)["readings"] / VOTE
    rng = np.random.default_rng(3)

    def moments(share: FloatArray, first: int) -> tuple[float, float]:
        places = at[first : first + len(share)]
        middle = float(share @ places)
        return middle, float(share @ (places - middle) ** 2)

    exact = moments(sizes / sizes.sum(), 0)
    told, cut = [], []
    for _ in range(64):
        noised = sizes + rng.laplace(0, scale, len(sizes))
        told.append(moments(*_told(noised, scale, float(sizes.sum()))))
        above = np.where(noised > 2 * scale, noised, 0.0)
        cut.append(moments(above / above.sum(), 0))
    found, error = np.mean(told, axis=0), np.std(told, axis=0) / 8
    assert abs(found[0] - exact[0]) < 4 * error[0] + 0.02
    assert abs(found[1] - exact[1]) < 4 * error[1] + 0.08 * exact[1]
    assert abs(np.mean(cut, axis=0)[1] - exact[1]) > abs(found[1] - exact[1])


def exact_totals(bounds: tuple[float, float], buckets: int = 0) -> PublicTotals:
    """The totals of the street with next to no noise."""
    profile = street().profile.bucketed(buckets) if buckets else street().profile
    found = public_summary(profile, 1e5, bounds)
    assert found is not None
    assert found.totals is not None
    return found.totals


def test_the_mean_total_is_that_of_the_clipped_totals() -> None:
    cells = street().profile.cells
    clipped = np.clip(cells[..., 1], *BOUNDS)
    outside = (cells[..., 1] > BOUNDS[1]).mean()
    found = exact_totals(BOUNDS)
    assert found.mean == pytest.approx(clipped.mean(), rel=1e-3)
    assert found.mean != pytest.approx(cells[..., 1].mean(), rel=1e-3), "the check can fail"
    assert found.clipped().value == pytest.approx(outside, abs=2e-3)
    bias = found.clip_bias()
    assert bias is not None
    assert bias.value == pytest.approx(clipped.mean() / cells[..., 1].mean() - 1, abs=0.02)
    assert bias.value < -0.005


def test_buckets_tell_the_mean_total_too() -> None:
    """Each bucket is one vote; bins of 1.1 % are all that is known of its totals."""
    found, exact = exact_totals(BOUNDS, buckets=4096), exact_totals(BOUNDS)
    assert found.mean == pytest.approx(exact.mean, rel=0.02)
    assert np.abs(np.subtract(found.shares, exact.shares)).max() < 0.02


def test_the_interval_of_the_mean_total_holds() -> None:
    """Of 400 summaries 95 % hold the truth in their interval; one of half its width would not be accepted."""
    profile = street().profile
    exact, held, half = exact_totals(BOUNDS).mean, 0, 0
    for _ in range(400):
        found = public_summary(profile, 1, BOUNDS)
        assert found is not None
        assert found.totals is not None
        value, low, high = found.totals.size()
        held += low <= exact <= high
        half += abs(exact - value) <= (high - low) / 4
    assert held >= 0.95 * 400 - 22, "5 standard deviations"
    assert half < 0.95 * 400 - 22


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"bounds": (4.0, 4.0)}, "bounds"),
        ({"bounds": (0.0, float("inf"))}, "bounds"),
        ({"a_period": 0.0}, "a_period"),
    ],
)
def test_what_is_no_summary_is_refused(wrong: dict[str, float], kind: str) -> None:
    with refused(f"option.{kind}"):
        public_summary(street().profile, **wrong)  # type: ignore[arg-type]
