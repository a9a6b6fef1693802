"""Both methods against masking by brute force, on panels that broke them once.

Each case compares distributions over repeats: the means in standard errors, the deviations by their own standard error
(fourth moments, so no normality is assumed), and the share of brute force below the method's 10th percentile. All
together fail by chance with the suite's false-alarm rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from halfmask.arrays import FloatArray
from halfmask.evaluation.analytic import denominators, drawn_entropy
from halfmask.evaluation.analytic.error_summaries import product_entropies
from halfmask.evaluation.analytic.evaluate_analytic import METRICS, evaluate_analytic
from halfmask.evaluation.analytic.reading_values import reading_step, reading_values
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.evaluate import evaluate_grid, findings
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.sampling import Subset, draw_subsets
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.profile import Counts, Profile
from halfmask.profiles.rounding import step_sizes
from tests.evaluation import brute
from tests.evaluation.brute import Noise
from tests.evaluation.same_answer import opened
from tests.statistics import share

TESTS = 50 * 6 * 3
FAR = float(norm.isf(share(TESTS) / 2))


def wrong(found: FloatArray, masked: FloatArray) -> list[str]:
    """How the method's repeats (R, 6) differ from those of brute force, in words."""
    told = []
    for index, name in enumerate(METRICS):
        ours, truth = found[:, index], masked[:, index]
        rounding = 1e-9 * max(float(np.abs(truth).mean()), 1e-3)
        apart = ours.mean() - truth.mean()
        error = np.sqrt((ours.var() + truth.var()) / (len(ours) - 1)) + rounding
        if abs(apart) > FAR * error:
            told.append(f"{name}: mean {ours.mean():.5g} instead of {truth.mean():.5g} ({apart / error:+.1f} se)")
        if min(ours.std(), truth.std()) > rounding:
            ratio = np.log(ours.std() / truth.std())
            if abs(ratio) > FAR * np.hypot(_error_of_log_std(ours), _error_of_log_std(truth)):
                told.append(f"{name}: deviation {ours.std():.4g} instead of {truth.std():.4g}")
        below = (truth < np.percentile(ours, 10) - rounding).mean()
        if below - 0.1 > FAR * np.sqrt(0.09 * 2 / len(truth)):
            told.append(f"{name}: {below:.0%} of brute force below the 10th percentile {np.percentile(ours, 10):.4g}")
    return told


def _error_of_log_std(sample: FloatArray) -> float:
    """Standard error of log std: sqrt(m4/m2^2 - 1) / (2 sqrt n)."""
    centred = sample - sample.mean()
    kurtosis = (centred**4).mean() / (centred**2).mean() ** 2
    return float(np.sqrt(max(kurtosis - 1, 0.5) / (4 * len(sample))))


def analytic(profile: Profile, setting: str, subsets: list[Subset], **options: Any) -> FloatArray:
    """Metrics (subsets, 6) of one setting."""
    grid = Grid.from_settings([PrivacySetting.parse(setting)])
    return np.asarray(evaluate_analytic(profile, grid, subsets, seed=5, **options)[0])


def fixed(rows: Sequence[int], repeats: int, size: int | None = None) -> list[Subset]:
    """The same users so often, each time with noise of its own."""
    return [Subset(size or len(rows), repeat, np.array(rows), len(rows)) for repeat in range(repeats)]


@dataclass(frozen=True)
class Case:
    """A panel, a setting and its noise in numpy."""

    values: FloatArray
    setting: str
    noise: Noise
    options: dict[str, str] = field(default_factory=dict)
    repeats: int = 300

    def held_to_it(self) -> list[str]:
        """What is wrong on all users of the panel."""
        _, profile = opened(brute.panel(self.values))
        rows = range(len(self.values))
        found = analytic(profile, self.setting, fixed(rows, self.repeats), **self.options)
        return wrong(found, self.masked(rows))

    def masked(self, rows: Sequence[int]) -> FloatArray:
        """Brute force on these users."""
        relative = self.setting.startswith("relative")
        return brute.samples(
            self.values, self.noise, len(rows), self.repeats, relative=relative, rows=rows, **self.options
        )


SCALED, VARIANCE = {"error": "scaled"}, {"aggregate": "variance"}
CASES = {
    "zeros count in relative noise, scaled error": Case(
        brute.water(), "relative-laplace:0.2", brute.laplace(0.2), SCALED
    ),
    "few zeros": Case(brute.water(zeros=0.0065), "relative-gaussian:0.3", brute.gaussian(0.3), SCALED),
    "fifteen readings": Case(brute.heavy(5, 3, 1), "laplace:0.5", brute.laplace(0.5)),
    "fifteen readings of bounded noise": Case(brute.heavy(5, 3, 1), "sine:0.9,0.3", brute.sine(0.9, 0.3)),
    "few small readings dominate": Case(brute.heavy(), "laplace:0.5", brute.laplace(0.5)),
    "few tiny readings dominate": Case(brute.dusty(), "uniform:0.5", brute.uniform(0.5)),
    "variance of few readings": Case(brute.heavy(5, 40, 1), "laplace:0.5", brute.laplace(0.5), VARIANCE),
    "variance of heavy tails": Case(brute.heavy(), "laplace:0.5", brute.laplace(0.5), VARIANCE),
    "variance of heavy tails, bounded noise": Case(brute.heavy(), "sine:0.9,0.3", brute.sine(0.9, 0.3), VARIANCE, 150),
    "variance of heavy tails, relative noise": Case(
        brute.heavy(), "relative-laplace:0.3", brute.laplace(0.3), VARIANCE
    ),
    "variance on both sides of zero": Case(
        brute.temperatures(8), "gaussian:1", brute.gaussian(1), {**SCALED, **VARIANCE}, 150
    ),
    "lattice noise on few decimals": Case(brute.decimals(), "geometric:0.3,0.01", brute.geometric(0.3, 0.01), {}, 60),
    "coarse lattice on few decimals": Case(brute.decimals(), "geometric:0.5,0.1", brute.geometric(0.5, 0.1), {}, 100),
    "lattice noise on any readings": Case(brute.heavy(), "geometric:0.3,0.1", brute.geometric(0.3, 0.1)),
    "lattice noise, scaled error": Case(
        brute.temperatures(12), "geometric:1,0.1", brute.geometric(1, 0.1), SCALED, 100
    ),
    "lattice noise beyond the last bin that has a place": Case(
        brute.tiny_and_usual(), "geometric:5,0.1", brute.geometric(5, 0.1), {}, 60
    ),
    "more steps of the lattice than can be counted": Case(
        np.full((8, 10, 24), 500.0), "geometric:100,0.0001", brute.geometric(100, 0.0001), {}, 60
    ),
    "one noise of eighty is not zero": Case(brute.heavy(4, 40, 20), "geometric:0.15,1", brute.geometric(0.15, 1)),
    "constant readings, relative noise, scaled error": Case(
        np.full((12, 10, 24), 0.7), "relative-laplace:0.2", brute.laplace(0.2), SCALED, 100
    ),
    "bounded noise on readings alike": Case(brute.volts(), "sine:276", brute.sine(276), {}, 100),
    "lattice noise on readings of any digits": Case(
        np.random.default_rng(40).lognormal(0, 0.7, (20, 10, 24)), "geometric:5,1", brute.geometric(5, 1), {}, 60
    ),
    "lattice noise on a step of its own": Case(
        brute.converted(), "geometric:1.4,0.28", brute.geometric(1.4, 0.28), {}, 60
    ),
    "lattice noise on so few readings that they are drawn": Case(
        np.random.default_rng(42).uniform(0.95, 1.05, (1, 40, 6)), "geometric:5,1", brute.geometric(5, 1), {}, 100
    ),
    "lattice noise on constant users": Case(brute.constants(), "geometric:0.4,0.1", brute.geometric(0.4, 0.1)),
    "bounded noise on constant users": Case(brute.constants(), "sine:5", brute.sine(5), {}, 150),
    "noise of nearly one size": Case(
        brute.decimals(), "tabulated:0.9,0,1.1,1", brute.tabulated(0.9, 0, 1.1, 1), {}, 60
    ),
    "variance of twelve readings, relative noise": Case(
        np.random.default_rng(43).lognormal(0, 0.7, (6, 60, 2)),
        "relative-gaussian:0.1",
        brute.gaussian(0.1),
        VARIANCE,
        600,
    ),
    "constants that share a bin, relative noise, scaled error": Case(
        np.broadcast_to(np.array([0.6996, 0.7070])[:, None, None], (2, 20, 24)).copy(),
        "relative-gaussian:0.25",
        brute.gaussian(0.25),
        SCALED,
    ),
    "errors in one bin": Case(1e5 * brute.heavy(), "laplace:0.001", brute.laplace(0.001), {}, 60),
    "sums that cancel": Case(brute.temperatures(4, 30), "laplace:1", brute.laplace(1)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_analytic_method_is_brute_force(name: str) -> None:
    assert CASES[name].held_to_it() == []


@pytest.mark.parametrize(
    ("values", "step"),
    [
        (brute.decimals(), 0.01),
        (brute.temperatures(), 0.1),
        (1000 * brute.decimals(), 10.0),
        (np.full((3, 4, 24), 0.5), 0.5),
        (brute.converted(), 1 / 36),
        (brute.heavy(), None),
        (brute.volts(), None),
        (brute.decimals() + 1e-5 * brute.heavy(12, 20, 24), None),
    ],
)
def test_the_step_of_readings_shows_in_their_profile(values: FloatArray, step: float | None) -> None:
    found = reading_step(opened(brute.panel(values))[1])
    assert found == (step if step is None else pytest.approx(step))


def test_readings_of_any_digits_have_no_steps_and_constant_ones_are_their_own() -> None:
    anywhere = np.random.default_rng(44).lognormal(0, 0.7, (40, 20, 24))
    for values in (anywhere, brute.volts()):
        found, table = reading_values(opened(brute.panel(values))[1])
        assert found is not None
        assert table.shape == (len(values), 1)
    everybody = Subset(15, 0, np.arange(15), 15)
    constant = brute.constants()
    z = denominators.denominators(opened(brute.panel(constant))[1], [everybody], "additive", "relative")
    assert z.values is None
    np.testing.assert_allclose(z.size, np.unique(constant))
    whole = np.random.default_rng(45).poisson(12, (10, 10, 24)) + 1.0
    assert reading_values(opened(brute.panel(whole))[1])[0] is None  # each bin holds one number


def test_lattice_noise_is_drawn_in_each_subset_by_itself() -> None:
    """The means of six users are six values of z, however many users there are."""
    case = CASES["lattice noise, scaled error"]
    _, profile = opened(brute.panel(case.values))
    subsets = draw_subsets(profile, [3, 6], 100, 5)
    found = analytic(profile, case.setting, subsets, **case.options)
    for size in (3, 6):
        masked = brute.samples(case.values, case.noise, size, 100, **case.options)
        ours = found[[each.size == size for each in subsets]]
        assert wrong(ours, masked) == []
        assert wrong(ours + np.array([0, 0, 0.3, 0, 0, 0]), masked) != []


def test_decimals_that_differ_show_in_the_profile() -> None:
    values = brute.mixed_decimals()
    _, profile = opened(brute.panel(values))
    sizes, counts = step_sizes(1.0)[profile.rounded.bin], profile.rounded.count
    coarse = np.abs(sizes / 0.01 - np.rint(sizes / 0.01)) < 1e-6
    assert counts[coarse & (sizes > 0.005)].sum() / counts.sum() == pytest.approx(0.73, abs=0.02)
    setting, noise = "geometric:0.3,0.1", brute.geometric(0.3, 0.1)
    found = analytic(profile, setting, fixed(range(len(values)), 20))[:, 2].mean()
    masked = brute.samples(values, noise, len(values), 20)[:, 2].mean()
    assert abs(found - masked) < 0.02
    evenly = replace(profile, rounded=Counts.gather([], [], []))
    assert analytic(evenly, setting, fixed(range(len(values)), 20))[:, 2].mean() - masked > 0.3


def test_decimals_that_differ_between_users_show_in_each_subset() -> None:
    values = brute.heavy(24, 20, 24) + 0.01
    values = np.where(np.arange(24)[:, None, None] % 2, values.round(1) + 0.1, values.round(3))
    _, profile = opened(brute.panel(values))
    evenly = replace(profile, rounded=Counts.gather([], [], []))
    for rows, too_smooth in ((range(0, 24, 2), 0.0), (range(1, 24, 2), 0.5), (range(24), 0.2)):
        subsets = fixed(rows, 100)
        masked = brute.samples(values, brute.geometric(0.5, 0.1), len(rows), 100, rows=list(rows))[:, 2].mean()
        assert abs(analytic(profile, "geometric:0.5,0.1", subsets)[:, 2].mean() - masked) < 0.02
        assert analytic(evenly, "geometric:0.5,0.1", subsets)[:, 2].mean() - masked > too_smooth


def test_each_lattice_of_a_large_grid_is_by_itself() -> None:
    """What is drawn for one step says nothing of another, and a setting has the same draws alone and in company."""
    _, profile = opened(brute.panel(brute.decimals()))
    subsets = draw_subsets(profile, [6, 12], 2, 3)
    texts = [f"geometric:{b:.3f},{step}" for b in np.linspace(0.1, 2, 150) for step in (0.1, 0.01)]
    alone = [analytic(profile, texts[place], subsets)[:, 2] for place in (20, 21, 180, 181)]
    grid = Grid.from_settings([PrivacySetting.parse(text) for text in texts])
    together = evaluate_analytic(profile, grid, subsets, seed=5)[[20, 21, 180, 181], :, 2]
    np.testing.assert_allclose(together, alone)
    assert np.abs(together[0] - together[1]).min() > 0.3  # while the two steps are far apart


@pytest.mark.parametrize("setting", ["geometric:0.3,0.1", "geometric:0.5,0.01", "geometric:2,0.5"])
def test_a_part_of_the_errors_has_the_entropy_of_all(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of 46,080 errors is drawn, 20 times, and extended to all."""
    _, profile = opened(brute.panel(brute.decimals(24, 80)))
    subsets = fixed(range(24), 20)
    whole = analytic(profile, setting, subsets)[:, 2]
    monkeypatch.setattr(drawn_entropy, "MOST", 11520)
    monkeypatch.setattr(drawn_entropy, "LEAST", 11520)
    part = analytic(profile, setting, subsets)[:, 2]
    assert abs(part.mean() - whole.mean()) < 0.01 + 3 * part.std() / np.sqrt(20)
    monkeypatch.setattr(drawn_entropy, "product_entropies", lambda *of: product_entropies(*of[:-1], 11520))
    assert whole.mean() - analytic(profile, setting, subsets)[:, 2].mean() > 0.05


def test_wide_noise_on_a_fine_lattice_is_drawn() -> None:
    """Decimals of two kinds share most of their multiples; the widest noise has some 400,000 steps."""
    rng = np.random.default_rng(43)
    values = rng.gamma(1.2, 0.1, (20, 14, 48)) + 0.01
    values = np.where(rng.random(values.shape) < 0.8, values.round(2), values.round(3))
    _, profile = opened(brute.panel(values))
    grid = Grid.from_settings([PrivacySetting.parse(f"geometric:{b},0.001") for b in (0.35, 1, 40)])
    masked = [brute.samples(values, brute.geometric(b, 0.001), 20, 20)[:, 2].mean() for b in (0.35, 1, 40)]
    found = evaluate_analytic(profile, grid, fixed(range(20), 1), seed=5)[:, 0, 2]
    np.testing.assert_allclose(found, masked, atol=0.02)


def test_a_wrong_answer_is_told() -> None:
    masked = CASES["few zeros"].masked(range(25))
    assert wrong(masked[:150], masked[150:]) == []
    shifted, wider = masked.copy(), masked.copy()
    shifted[:, 2] += 0.5 * masked[:, 2].std()
    wider[:, 2] += 0.5 * (masked[:, 2] - masked[:, 2].mean())
    assert [line.split(":")[0] for line in wrong(shifted, masked)] == ["local_entropy"]
    assert any("local_entropy: deviation" in line for line in wrong(wider, masked))


def test_each_of_several_sizes_scatters_as_alone() -> None:
    values = np.random.default_rng(41).gamma(2, 0.4, (20, 14, 8))  # users alike: what scatters is the noise
    _, profile = opened(brute.panel(values))
    subsets = draw_subsets(profile, [3, 20], 400, 5)
    found = analytic(profile, "laplace:2", subsets)
    for size in (3, 20):
        mine = found[[subset.size == size for subset in subsets]]
        assert wrong(mine, brute.samples(values, brute.laplace(2), size, 400)) == []


def test_subsets_unlike_the_average_scatter_as_they_do() -> None:
    values = brute.temperatures()
    _, profile = opened(brute.panel(values))
    order = np.argsort(np.abs(values).mean(axis=(1, 2)))
    cold, hot = sorted(order[:6].tolist()), sorted(order[-6:].tolist())
    found = analytic(profile, "laplace:1", [*fixed(cold, 300), *fixed(hot, 300, 7)], error="scaled")
    for rows, part in ((cold, found[:300]), (hot, found[300:])):
        masked = brute.samples(values, brute.laplace(1), 6, 300, error="scaled", rows=rows)
        assert [line for line in wrong(part, masked) if "local" in line] == []


def test_equal_readings_of_a_period_have_no_variance_to_measure() -> None:
    values = np.round(brute.heavy(6, 10, 4), 1)
    values[:, :4] = 0.3  # rounding leaves 1e-17 of a variance here
    panel, profile = opened(brute.panel(values))
    subsets = fixed([1, 4], 100)
    setting = PrivacySetting.parse("laplace:0.5")
    direct = evaluate_direct(panel, profile, [setting], subsets, aggregate="variance", seed=3)[0]
    masked = brute.samples(values, brute.laplace(0.5), 2, 100, aggregate="variance", rows=[1, 4])
    assert direct[:, 3].max() < 100
    assert wrong(direct, masked) == []


def test_a_setting_scores_the_same_alone_and_in_company() -> None:
    _, profile = opened(brute.panel(brute.heavy(12, 30, 6)))
    subsets = draw_subsets(profile, [6, 12], 2, 1)
    many = Grid.from_settings([PrivacySetting.parse(f"laplace:{b:.4f}") for b in np.linspace(0.01, 9, 3000)])
    together = evaluate_analytic(profile, many, subsets, seed=5)
    for place in (3, 1234, 2999):
        alone = analytic(profile, many.texts()[place], subsets)
        np.testing.assert_allclose(together[place, :, 3:], alone[:, 3:], rtol=1e-12)
        np.testing.assert_allclose(together[place, :, :2], alone[:, :2], rtol=1e-12)
        np.testing.assert_allclose(together[place, :, 2], alone[:, 2], atol=0.02)


def test_laws_that_size_and_shape_do_not_tell_apart_score_the_same_in_company() -> None:
    """Of two hundred tables one has half of its mass in a hundredth: what is between the others says nothing of it."""
    _, profile = opened(brute.panel(brute.decimals()))
    subsets = draw_subsets(profile, [3, 12], 2, 1)
    rng = np.random.default_rng(46)
    ends, masses = np.sort(rng.uniform(0.1, 1.5, (200, 4)), axis=1), np.sort(rng.random((200, 3)), axis=1)
    settings = [
        PrivacySetting("tabulated", tuple(float(x) for pair in zip(y, [*c, 1.0], strict=True) for x in pair))
        for y, c in zip(ends.round(3), masses.round(3), strict=True)
    ]
    odd = "tabulated:0.372,0.083,0.703,0.374,0.813,0.458,0.825,1"
    grid = Grid.from_settings([*settings, PrivacySetting.parse(odd)])
    for error in ("relative", "scaled"):
        together = evaluate_analytic(profile, grid, subsets, seed=5, error=error)[-1]  # type: ignore[arg-type]
        np.testing.assert_allclose(together[:, 2], analytic(profile, odd, subsets, error=error)[:, 2], atol=0.03)


def test_both_methods_count_the_periods_that_have_no_error() -> None:
    values = np.round(brute.heavy(6, 10, 4), 1)
    values[:, :4] = 0.3
    panel, profile = opened(brute.panel(values))
    told = []
    for method in ("analytic", "direct"):
        tried = Experiment.on(profile, sizes=(3, 6), repeats=2, aggregate="variance", error="relative", method=method)
        study = evaluate_grid(profile, Grid.from_settings([PrivacySetting.parse("laplace:1")]), tried, panel=panel)
        told.append(study.about["excluded_periods"])
        assert any(f"{told[-1]} periods of subsets have a variance of zero" in line for line in findings(study))
    assert told == [4 * 4, 4 * 4]


@pytest.mark.parametrize("rows", [(1, 4, 7, 20), (0, 3, 5, 6, 9, 11, 14, 18, 21, 23)])
def test_few_users_of_many_under_the_scaled_error_are_brute_force(rows: tuple[int, ...]) -> None:
    """Four users have four values of z, where bounded noise piles up: not those of the average subset."""
    values = brute.net()
    _, profile = opened(brute.panel(values))
    subsets = [*fixed(rows, 200), *fixed(range(24), 200)]
    found = analytic(profile, "sine:0.8", subsets, error="scaled")
    for users, part in ((rows, found[:200]), (range(24), found[200:])):
        masked = brute.samples(values, brute.sine(0.8), len(users), 200, error="scaled", rows=users)
        assert wrong(part, masked) == []
        assert wrong(part + np.array([0, 0, 0.03, 0, 0, 0]), masked) != []
