"""The variance as aggregate against its definition, computed with fractions, so that nothing is rounded.

Nothing here uses the package but to get the answer that is checked.
"""

from fractions import Fraction
from math import floor, log2
from statistics import fmean, pstdev, pvariance

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.evaluation.analytic.evaluate_analytic import evaluate_analytic
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from tests.evaluation import brute
from tests.evaluation.same_answer import opened
from tests.statistics import mean_within

GLOBAL_MEAN = METRICS.index("global_mean")
TESTS = 4


def first_twenty(repeats: int) -> list[Subset]:
    """The first twenty users of a panel, each time with new noise."""
    return [Subset(20, repeat, np.arange(20), 20) for repeat in range(repeats)]


def exact_variances(values: FloatArray) -> list[Fraction]:
    """Population variance of each period of a panel (users, periods, readings), without rounding."""
    return [pvariance([Fraction(float(x)) for x in period.ravel()]) for period in np.moveaxis(values, 1, 0)]


def exact_metrics(true: list[Fraction], masked: list[Fraction]) -> list[float]:
    """Mean, standard deviation and entropy of |masked - true| / true over the periods whose value is not zero."""
    errors = [abs(m - t) / abs(t) for t, m in zip(true, masked, strict=True) if t]
    counts = np.unique([floor(error * 1000) for error in errors], return_counts=True)[1]
    entropy = -sum(count / len(errors) * log2(count / len(errors)) for count in counts)
    return [fmean(errors), pstdev(map(float, errors)), entropy]


def far_from_the_others() -> FloatArray:
    """Fifty homes; the first twenty are small next to the others, and have equal readings on half of the days."""
    rng = np.random.default_rng(71)
    values = rng.gamma(1.5, 0.4, (50, 24, 4)) + 0.01
    values[20:] *= 4e5
    values[:20, :8] = 0.0
    values[:20, 8:12] = 1 / 3
    return np.asarray(values)


def test_the_variance_of_a_small_subset_is_exact() -> None:
    values = far_from_the_others()
    panel, profile = opened(brute.panel(values))
    found = evaluate_direct(
        panel, profile, [PrivacySetting.parse("round:0.25")], first_twenty(1), aggregate="variance"
    )[0, 0]
    drawn = values[:20]
    right = exact_metrics(exact_variances(drawn), exact_variances(0.25 * np.rint(drawn / 0.25)))
    assert exact_variances(drawn)[:12] == [0] * 12
    np.testing.assert_allclose(found[GLOBAL_MEAN:], right, rtol=1e-9)


@pytest.mark.parametrize("setting", ["laplace:0.1", "relative-laplace:0.1"])
def test_both_methods_have_the_variance_of_a_small_subset(setting: str) -> None:
    """Both leave out the periods of equal readings, and agree on the others with masking by hand."""
    values, repeats = far_from_the_others(), 200
    panel, profile = opened(brute.panel(values))
    subsets, single = first_twenty(repeats), PrivacySetting.parse(setting)
    analytic = evaluate_analytic(profile, Grid.from_settings([single]), subsets, aggregate="variance", seed=5)[0]
    direct = evaluate_direct(panel, profile, [single], subsets, aggregate="variance", seed=6)[0]
    relative = setting.startswith("relative")
    right, wrong = (  # of so many repeats that their own error does not count
        brute.samples(
            values, brute.laplace(b), 20, 10 * repeats, relative=relative, aggregate="variance", rows=range(20)
        )[:, GLOBAL_MEAN].mean()
        for b in (0.1, 0.12)
    )
    for found in (analytic[:, GLOBAL_MEAN], direct[:, GLOBAL_MEAN]):
        assert mean_within(found, right, TESTS)
        assert not mean_within(found, wrong, TESTS)
