"""The analytic method by independent routes: closed forms, exact sums, its own parts against each other."""

import numpy as np
import pytest
from scipy.special import comb

from halfmask.evaluation.analytic import error_summaries
from halfmask.evaluation.analytic.denominators import denominators
from halfmask.evaluation.analytic.evaluate_analytic import METRICS, BlockErrors, SubsetErrors, evaluate_analytic
from halfmask.evaluation.analytic.expected_entropy import expected_entropy
from halfmask.evaluation.analytic.global_errors import period_sums, standard_sums, subset_totals
from halfmask.evaluation.analytic.interpolated_scales import between_scales
from halfmask.evaluation.analytic.local_errors import LocalErrors
from halfmask.evaluation.analytic.log_grid import largest_noise, make_grid
from halfmask.evaluation.sampling import default_sizes, draw_subsets, parse_sizes
from halfmask.mechanisms.grid import Block, Grid, grid
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.profile import Profile
from tests.evaluation.same_answer import awkward, frame, opened
from tests.refusals import refused
from tests.statistics import ks_two_sample

MEAN, STD, ENTROPY, GLOBAL_MEAN = (
    METRICS.index(n) for n in ("local_mean", "local_std", "local_entropy", "global_mean")
)


@pytest.fixture(scope="module")
def many() -> Profile:
    """A panel of unlike users: enough of them for expansions."""
    rng = np.random.default_rng(3)
    level = np.exp(rng.normal(-1, 0.6, (300, 1)))
    return opened(frame(level * rng.gamma(1.5, 0.7, (300, 48 * 6)) + 0.001))[1]


def one(profile: Profile, setting: str, **options: object) -> np.ndarray:
    """Metrics (repeats, 6) of one setting on everybody."""
    subsets = draw_subsets(profile, parse_sizes("all", len(profile)), 200, 1)
    return evaluate_analytic(profile, Grid.from_settings([PrivacySetting.parse(setting)]), subsets, **options)[0]


def test_laplace_on_a_constant_panel_has_closed_forms() -> None:
    _, profile = opened(awkward("constant"))  # every reading 0.5
    metrics = one(profile, "laplace:0.1")
    n, rate = profile.readings, 0.001 * 0.5 / 0.1
    bins = np.exp(-rate * np.arange(200_000)) * -np.expm1(-rate)
    assert metrics[:, MEAN].mean() == pytest.approx(0.2, rel=4 / np.sqrt(n * 200))
    assert metrics[:, STD].mean() == pytest.approx(0.2, rel=1e-2)
    within = 4 * metrics[:, ENTROPY].std() / np.sqrt(200)
    assert metrics[:, ENTROPY].mean() == pytest.approx(expected_entropy(bins, n), abs=within)
    truly = float(-(bins[:50_000] * np.log2(bins[:50_000])).sum())  # without the finite-sample term
    assert metrics[:, ENTROPY].mean() != pytest.approx(truly, abs=within)
    total = 0.5 * 48 * 20
    expected = 0.1 * np.sqrt(2) * np.sqrt(48 * 20) * np.sqrt(2 / np.pi) / total
    assert metrics[:, GLOBAL_MEAN].mean() == pytest.approx(expected, rel=0.05)


def test_sine_variance_is_the_sum_over_pairs_of_powers(many: Profile) -> None:
    theta = np.array([0.9, 0.3, 0.6, 0.6, 0.3])
    power = theta ** (2 * np.arange(5) + 1)
    half = np.add.outer(np.arange(5), np.arange(5)) + 1
    variance = (np.outer(power, power) * comb(2 * half, half) / 4.0**half).sum()
    inverse_square = many.rows["inverse2"].sum() / (many.readings - many.rows["zeros"].sum())
    metrics = one(many, "sine:0.9,0.3,0.6,0.6,0.3")
    second = (metrics[:, STD] ** 2 + metrics[:, MEAN] ** 2).mean()
    assert second == pytest.approx(variance * inverse_square, rel=5e-3)
    assert second != pytest.approx(1.05 * variance * inverse_square, rel=5e-3)


def test_laplace_sums_are_gamma_differences() -> None:
    _, profile = opened(awkward("few users"))
    law, rng = mechanism("laplace"), np.random.default_rng(5)
    subsets = draw_subsets(profile, [1], 1500, 1)
    periods = [
        subset_totals(*each, "sum", "additive", "relative")
        for each in zip(subsets, period_sums(profile, subsets), strict=True)
    ]
    ours = np.concatenate([standard_sums(law, each, 1) for each in periods])
    sums = rng.laplace(0, 1 / np.sqrt(2), (len(ours), 48)).sum(axis=1) / np.sqrt(48)
    assert ks_two_sample(ours, sums, 2)
    assert not ks_two_sample(ours, 1.15 * sums, 2)


def test_expansion_is_as_exact_as_stated(many: Profile) -> None:
    subsets = draw_subsets(many, default_sizes(300), 3, 4)
    z = denominators(many, subsets, "additive", "relative")
    law, parameters = mechanism("sine"), grid("sine").blocks[0].parameters[::900]
    local = LocalErrors(z, subsets, law, parameters[::3], largest_noise(law, parameters), 1)
    assert local.around is not None
    cdf, moments = local.cdf(law, parameters), law.moments(parameters)
    expanded, spread = local._expanded(local.around, cdf, moments)
    which = local.around.which
    exact, exact_spread = local._exact(local._grid(z.share[which]), cdf, moments, which)
    assert np.abs(expanded - exact).max() < 0.005
    np.testing.assert_allclose(np.sqrt(spread[..., 0]), np.sqrt(exact_spread[..., 0]), rtol=0.2)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "uniform"])
def test_scales_between_a_few_are_each_by_itself(many: Profile, name: str) -> None:
    """Of noise that is a scale times a law, a few scales serve all, unless a bound leaves kinks; each is then exact."""
    subsets = draw_subsets(many, default_sizes(300), 3, 4)
    law, scales = mechanism(name), np.geomspace(0.003, 20, 400)[:, None]
    block = BlockErrors(SubsetErrors(many, subsets), Block(name, scales))
    local = block.local
    between = between_scales(law, scales, lambda some: local.closed_form(law, some, None))
    assert (between is None) == (name == "uniform")
    some = slice(1, 400, 57)
    entropy, noise = local.source(law, scales)(some)
    exact, exact_noise = local.entropies(law, scales[some], block.correction(scales[some]))
    np.testing.assert_allclose(entropy, exact, atol=1e-3 if name != "uniform" else 0.02)
    np.testing.assert_allclose(noise, exact_noise, rtol=0.01, atol=1e-9)


def test_smooth_entropies_between_scales_are_those_of_each() -> None:
    scales = np.geomspace(0.1, 10, 500)[:, None]

    def smooth(some: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.sin(np.log2(some)), np.ones((len(some), 1, 3)) * [1, 2, 3] * some[:, :, None] ** np.arange(3)

    between = between_scales(mechanism("laplace"), scales, smooth)
    assert between is not None
    for found, exact in zip(between(scales), smooth(scales), strict=True):
        np.testing.assert_allclose(found, exact, atol=1e-3, rtol=1e-3)


def test_terms_too_small_to_matter_change_no_entropy(many: Profile) -> None:
    subsets = draw_subsets(many, default_sizes(300), 3, 4)
    law, settings = mechanism("sine"), grid("sine:k=5,values=0|0.12|0.3|1.5").blocks[0].parameters
    small = law.essential(settings)
    fewer = (small != settings).any(axis=1)
    assert 0.2 < fewer.mean() < 0.8
    x = np.sin(np.pi / 2 * np.linspace(0.001, 1, 200))
    psi, without = ((np.multiply.outer(t, x) ** (2 * np.arange(5) + 1)[:, None]).sum(axis=1) for t in (settings, small))
    assert ((psi - without) / psi).max() < 5e-5
    block = BlockErrors(SubsetErrors(many, subsets), Block("sine", settings))
    local = block.local
    own, other = (local.closed_form(law, each[fewer], None) for each in (settings, small))
    assert 0 < np.abs(own[0] - other[0]).max() < 2e-4
    together, _ = local.source(law, settings[fewer])(slice(0, 64))
    alone = block.correction(settings[fewer])
    assert alone is not None
    np.testing.assert_allclose(together, local.entropies(law, settings[fewer][:64], alone[:64])[0], atol=0.01)


def test_threads_and_company_do_not_change_a_bit(many: Profile) -> None:
    settings = Grid.from_settings([PrivacySetting.parse(f"laplace:{b}") for b in (0.1, 0.5, 2)])
    subsets = draw_subsets(many, [50, 300], 3, 9)
    both = [evaluate_analytic(many, settings, subsets, seed=9, threads=threads) for threads in (1, 3)]
    assert np.array_equal(both[0], both[1])
    other = evaluate_analytic(many, settings, subsets, seed=10)
    assert not np.array_equal(both[0], other)


def test_cells_are_the_correlation_written_plainly(many: Profile) -> None:
    z = denominators(many, draw_subsets(many, [50, 300], 1, 9), "additive", "relative")
    on = make_grid(z, z.share, 20.0, 16)
    cdf = mechanism("laplace").cdf(np.array([[0.02], [3.0]]), on.y)
    below, cell = on.cells(cdf)
    for s, c in np.ndindex(2, 2):
        plain = [on.share[c] @ np.diff(cdf[s])[j : j + on.share.shape[1]] for j in range(len(on.multiple))]
        np.testing.assert_allclose(cell[s, c], plain, atol=1e-15)
        assert below[s, c] + cell[s, c].sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("periods", [1, 7, 365])
def test_entropies_of_many_scales_in_one_sweep_are_those_of_each(periods: int) -> None:
    """Scales that repeat, that are 0, and that put errors on the edge of a bin."""
    rng = np.random.default_rng(periods)
    errors = error_summaries.ScaledErrors(np.round(np.abs(rng.standard_normal(periods)) / 50, 3))
    scale = np.concatenate([4 * rng.random(3000), np.round(4 * rng.random(2000), 2), [0.0, 0.0]])
    assert len(scale) > error_summaries.MANY_SCALES
    swept = errors.summaries(scale)[:, 2]
    assert np.array_equal(swept, [errors.summaries(np.array([each]))[0, 2] for each in scale])
    if periods > 1:
        assert len(np.unique(swept)) > 5


def test_buckets_serve_like_users(many: Profile) -> None:
    subsets = {p: draw_subsets(p, [300], 1, 2) for p in (many, many.bucketed(40))}
    settings = Grid.from_settings([PrivacySetting.parse("laplace:0.5")])
    users, buckets = (evaluate_analytic(p, settings, s)[0, 0] for p, s in subsets.items())
    np.testing.assert_allclose(buckets, users, rtol=2e-3)


def test_what_the_method_cannot_do_is_said(many: Profile) -> None:
    subsets = draw_subsets(many, [50], 1, 1)
    with refused("option.aggregate", "method", "panel"):
        evaluate_analytic(many, grid("laplace:b=1"), subsets, aggregate="max")
    with refused("option.law", "method", "panel"):
        evaluate_analytic(many, Grid.from_settings([PrivacySetting.parse("round:0.5")]), subsets)
    with refused("option.size", "sizes"):
        parse_sizes("50,301", 300)
    with refused("option.number", "sizes"):
        parse_sizes("many", 300)


def test_a_panel_of_zeros_has_no_errors_to_measure() -> None:
    _, profile = opened(frame(np.zeros((5, 48))))
    with refused("option.all-zero"):
        evaluate_analytic(profile, grid("laplace:b=1"), draw_subsets(profile, [5], 1, 1))


def test_default_sizes_are_the_papers() -> None:
    sizes = default_sizes(6435)
    assert len(sizes) == 22
    assert sizes[:3] == [50, 100, 150]
    assert sizes[9:12] == [500, 1000, 1500]
    assert sizes[-2:] == [6000, 6435]
    assert default_sizes(1000) == [*range(50, 501, 50), 1000]
