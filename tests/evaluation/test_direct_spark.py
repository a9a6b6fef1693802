"""The direct method on a real Spark: the same noise, the same numbers up to the rounding of sums."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.evaluation.direct import sorted_readings
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.metrics import ErrorFunction
from halfmask.evaluation.sampling import Subset, draw_subsets
from halfmask.profiles.build import build_profile
from tests.evaluation.direct_cases import Case, household, settings
from tests.refusals import refused

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.usefixtures("spark")]

KINDS = ("laplace:0.5", "sine:0.5,0.5", "microaggregate:3", "relative-gaussian:0.3")


@pytest.fixture(scope="module")
def case() -> Iterator[Case]:
    """A small panel of several blocks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_readings, "BLOCK", 2**12)
        made = household(users=20, days=60, step=2)
        assert len(np.unique(sorted_readings.block_of_row(made.profile))) > 2
        yield made


@pytest.fixture(scope="module")
def on_spark(case: Case) -> Any:
    shuffled = case.table.take(np.random.default_rng(1).permutation(case.table.num_rows))
    return open_panel(shuffled, engine="spark", master="local[2]")


@pytest.mark.parametrize(
    ("aggregate", "error"),
    [
        pytest.param("sum", "relative", marks=pytest.mark.slow),
        ("variance", "scaled"),  # has the sum in it
        pytest.param("max", "scaled", marks=pytest.mark.slow),
        pytest.param("quantile:0.9", "relative", marks=pytest.mark.slow),
    ],
)
def test_spark_has_the_numbers_of_one_machine(case: Case, on_spark: Any, aggregate: str, error: ErrorFunction) -> None:
    subsets = draw_subsets(case.profile, [9, 20], 1, 7)
    here, there = (
        evaluate_direct(panel, case.profile, settings(*KINDS), subsets, aggregate=aggregate, error=error)
        for panel in (case.panel, on_spark)
    )
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-12)
    other = evaluate_direct(
        case.panel, case.profile, settings(*KINDS), subsets, aggregate=aggregate, error=error, seed=8
    )
    assert not np.allclose(other[0], here[0], rtol=1e-6)


def test_zeros_far_from_the_others_have_no_variance_on_spark() -> None:
    """Users with zeros on half of the days, and others a thousand times as large."""
    rng = np.random.default_rng(74)
    values = rng.gamma(2, 0.5, (10, 6, 4))
    values[5:] *= 1e3
    values[:5, :3] = 0.0
    names = np.repeat([f"user-{n}" for n in range(10)], 24).tolist()
    case = Case(names, np.tile(np.arange(0, 24 * 6, 6), 10).tolist(), values.ravel().tolist())
    small = [Subset(5, 0, np.arange(5), 5)]
    here, there = (
        evaluate_direct(panel, case.profile, settings("laplace:0.1"), small, aggregate="variance")
        for panel in (case.panel, open_panel(case.table, engine="spark", master="local[2]"))
    )
    np.testing.assert_allclose(there, here, rtol=1e-9)
    assert there[0, 0, 3] < 1


def test_buckets_and_whole_numbers_as_users_on_spark(case: Case) -> None:
    users = pa.array([int(name[5:]) for name in case.users])
    table = case.table.set_column(0, "user", users).slice(0, 6_000)
    profile = build_profile(open_panel(table)).bucketed(5)
    everybody = [Subset(profile.users, 0, np.arange(len(profile)), profile.users)]
    here, there = (
        evaluate_direct(open_panel(table, engine=engine), profile, settings("laplace:1"), everybody, error="scaled")
        for engine in ("duckdb", "spark")
    )
    np.testing.assert_allclose(there, here, rtol=1e-9)


def test_another_panel_is_refused_on_spark(case: Case) -> None:
    panel = open_panel(case.table.slice(1), engine="spark", master="local[2]")
    with refused("source.other-readings"):
        evaluate_direct(panel, case.profile, settings("none"), case.everybody(1))
    stranger = household(users=21, days=60, step=2)
    panel = open_panel(stranger.table, engine="spark", master="local[2]")
    with refused("source.unknown-user"):
        evaluate_direct(panel, case.profile, settings("none"), case.everybody(1))
