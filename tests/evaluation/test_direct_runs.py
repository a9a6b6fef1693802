"""The same numbers whatever the way to them: threads, batches, order of the source, interruptions, buckets."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from halfmask.arrays import FloatArray
from halfmask.data.engines import duckdb as duckdb_engine
from halfmask.data.open_panel import open_panel
from halfmask.errors import SettingError
from halfmask.evaluation.aggregates import aggregate
from halfmask.evaluation.direct import sorted_readings
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.direct.sample_state import LocalState
from halfmask.evaluation.error_decay import decay_exponent
from halfmask.evaluation.metrics import entropy
from halfmask.evaluation.sampling import Subset, draw_subsets
from halfmask.profiles.build import Policies, build_profile
from tests.evaluation.direct_cases import Case, household, settings
from tests.refusals import refused

KINDS = ("laplace:0.5", "sine:0.5,0.5", "gaussian:3", "geometric:0.5,0.1", "microaggregate:3", "clip:0,1/laplace:1")


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """So that a small panel has several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_readings, "BLOCK", 2**12)
        yield


@pytest.fixture(scope="module")
def large() -> Case:
    """Several blocks: 60 users x 576 readings."""
    made = household(users=60, days=24, step=1)
    assert len(np.unique(sorted_readings.block_of_row(made.profile))) > 5
    return made


@pytest.fixture(scope="module")
def subsets(large: Case) -> list[Subset]:
    return draw_subsets(large.profile, [7, 31, 60], 2, 7)


@pytest.fixture(scope="module")
def expected(large: Case, subsets: list[Subset]) -> FloatArray:
    return evaluate_direct(large.panel, large.profile, settings(*KINDS), subsets, threads=1)


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_matter(large: Case, subsets: list[Subset], expected: FloatArray, threads: int) -> None:
    found = evaluate_direct(large.panel, large.profile, settings(*KINDS), subsets, threads=threads)
    np.testing.assert_array_equal(found, expected)
    other = evaluate_direct(large.panel, large.profile, settings(KINDS[0]), subsets, seed=8)
    assert (other[0] != expected[0]).all()


def test_order_and_batches_of_the_source_do_not_matter(
    large: Case, subsets: list[Subset], expected: FloatArray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duckdb_engine, "BATCH_ROWS", 2048)
    shuffled = large.table.take(np.random.default_rng(1).permutation(large.table.num_rows))
    panel = open_panel(shuffled)
    found = evaluate_direct(panel, build_profile(panel), settings(*KINDS), subsets)
    np.testing.assert_array_equal(found, expected)


def test_a_setting_and_a_subset_do_not_depend_on_the_others(
    large: Case, subsets: list[Subset], expected: FloatArray
) -> None:
    found = evaluate_direct(large.panel, large.profile, settings(*KINDS[3:0:-1]), subsets[2:4])
    np.testing.assert_array_equal(found, expected[3:0:-1, 2:4])


@pytest.mark.parametrize("name", ["max", "median"])
def test_aggregates_that_need_all_values_do_not_depend_on_threads(
    large: Case, subsets: list[Subset], name: str
) -> None:
    one, two = (
        evaluate_direct(large.panel, large.profile, settings("laplace:0.5"), subsets, aggregate=name, threads=threads)
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one, two)


def test_buckets_are_users_together(large: Case) -> None:
    bucketed = large.profile.bucketed(10)
    rows = np.arange(len(bucketed))
    everybody = [Subset(60, 0, rows, 60)]
    exact = settings("round:0.5", "microaggregate:3")
    for error in ("relative", "scaled"):
        found = evaluate_direct(large.panel, bucketed, exact, everybody, error=error)
        alone = evaluate_direct(large.panel, large.profile, exact, large.everybody(1), error=error)
        np.testing.assert_allclose(found, alone, rtol=1e-12)


def test_integer_users_and_duplicates_and_bounds() -> None:
    times = pa.array(np.array([0, 0, 3600, 7200, 90000, 0, 3600, 7200], "datetime64[s]"))
    values = [1.0, 9.0, 2.0, 1e6, 4.0, 3.0, np.nan, 5.0]
    panel = open_panel(pa.table({"user": [12, 12, 12, 12, 12, 3, 3, 3], "time": times, "value": values}))
    for policy, first in (("first", 1.0), ("last", 9.0), ("mean", 5.0)):
        profile = build_profile(panel, policies=Policies(duplicates=policy, high=1000.0))  # type: ignore[arg-type]
        assert profile.readings == 5
        found = evaluate_direct(panel, profile, settings("clip:0,2"), [Subset(2, 0, np.arange(2), 2)])[0, 0]
        kept = np.array([first, 2, 4, 3, 5])
        local = (kept - np.minimum(kept, 2)) / kept
        totals = np.array([kept[[0, 1, 3, 4]].sum(), 4])
        masked = np.array([np.minimum(kept, 2)[[0, 1, 3, 4]].sum(), 2])
        errors = (totals - masked) / totals
        np.testing.assert_allclose(found[:2], [local.mean(), local.std()])
        np.testing.assert_allclose(found[3:5], [errors.mean(), errors.std()])


def test_empty_periods_zero_totals_and_one_reading_a_period() -> None:
    hours = [0, 24, 72, 96, 24, 96]
    case = Case(["a", "a", "a", "a", "b", "b"], hours, [2.0, 3.0, 0.0, 1.0, -3.0, 4.0])
    found = evaluate_direct(case.panel, case.profile, settings("round:2"), [Subset(2, 0, np.arange(2), 2)])[0, 0]
    # days: 2 -> 2; 3 - 3 = 0 is left out; 0 is left out; 1 + 4 = 5 -> 0 + 4
    np.testing.assert_allclose(found[3:5], [0.1, 0.1])
    np.testing.assert_allclose(found[0], np.mean([0, 1 / 3, 1, 1 / 3, 0]))
    scaled = evaluate_direct(
        case.panel, case.profile, settings("round:2"), [Subset(2, 0, np.arange(2), 2)], error="scaled"
    )[0, 0]
    np.testing.assert_allclose(scaled[3], np.mean([0, 0, 0, 1]) / np.mean([2, 0, 0, 5]))
    np.testing.assert_allclose(scaled[0], np.mean([0, 1 / 1.5, 0, 1 / 1.5, 1 / 3.5, 0]))
    alone = evaluate_direct(case.panel, case.profile, settings("round:2"), [Subset(1, 0, np.array([1]), 1)])[0, 0]
    np.testing.assert_allclose(alone[3], np.mean([1 / 3, 0]))  # the days on which b has no reading do not count


def test_nothing_but_zeros_is_an_error_that_says_so() -> None:
    case = Case(["a", "a", "b", "b"], [0, 24, 0, 24], [0.0, 0.0, 1.0, -1.0])
    with refused("option.all-zero"):
        evaluate_direct(case.panel, case.profile, settings("laplace:1"), [Subset(1, 0, np.array([0]), 1)])
    case = Case(["a", "b"], [0, 0], [1.0, -1.0])
    with refused("option.zero-aggregate", "aggregate"):
        evaluate_direct(case.panel, case.profile, settings("laplace:1"), case.everybody(1))


def test_errors_beyond_the_counted_bins() -> None:
    """Bins kept one by one give the entropy of all errors."""
    rng = np.random.default_rng(2)
    values = 10.0 ** rng.uniform(-9, 3, 5000)
    masked = values + rng.choice([0.5, 1.0, 2.0], 5000)
    first, second = LocalState(), LocalState()
    first.add(masked[:2000], values[:2000], values[:2000])
    second.add(masked[2000:], values[2000:], values[2000:])
    first = first.merge(second)
    errors = np.abs(masked - values) / values
    assert first.summary().entropy == pytest.approx(entropy(errors), abs=1e-12)
    assert first.summary().mean == pytest.approx(errors.mean(), rel=1e-12)
    assert first.summary().std == pytest.approx(errors.std(), rel=1e-9)


def test_decay_of_sum_and_maximum(large: Case) -> None:
    subsets = draw_subsets(large.profile, [4, 8, 15, 30, 60], 4, 7)
    sizes = [subset.users for subset in subsets]
    noise = settings("laplace:5")
    total = evaluate_direct(large.panel, large.profile, noise, subsets)[0, :, 3]
    largest = evaluate_direct(large.panel, large.profile, noise, subsets, aggregate="max")[0, :, 3]
    assert decay_exponent(sizes, total).exponent == pytest.approx(-0.5, abs=0.12)
    assert decay_exponent(sizes, largest).exponent > -0.3


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("total", "option.aggregate"),
        ("quantile:1.5", "option.share"),
        ("quantile:x", "option.share"),
        ("trimmed:0.6", "option.share"),
        ("no_such_module_at_all:f", "option.not-loaded"),
        ("nowhere.py:f", "option.not-loaded"),
        ("math:pi", "option.not-a-function"),
        ("math:no_such", "option.not-loaded"),
    ],
)
def test_unknown_aggregates(name: str, code: str) -> None:
    with refused(code, "aggregate"):
        aggregate(name)


def test_an_own_function_from_a_file(tmp_path: Path, large: Case) -> None:
    own = tmp_path / "mine.py"
    own.write_text(
        "import numpy as np\ndef middle(v):\n    return np.quantile(v, 0.5)\ndef bad(v):\n    return v[:2]\n"
    )
    found, median = (
        evaluate_direct(large.panel, large.profile, settings("laplace:1"), large.everybody(1), aggregate=name)
        for name in (f"{own}:middle", "median")
    )
    np.testing.assert_array_equal(found, median)
    module, quantile = (
        evaluate_direct(large.panel, large.profile, settings("laplace:1"), large.everybody(1), aggregate=name)
        for name in ("tests.evaluation.test_direct:ninetieth", "quantile:0.9")
    )
    np.testing.assert_array_equal(module, quantile)
    with refused("option.not-finite", "aggregate"):
        evaluate_direct(large.panel, large.profile, settings("none"), large.everybody(1), aggregate=f"{own}:bad")


def test_a_panel_that_is_not_the_profiles_is_refused(large: Case) -> None:
    other = large.table.slice(1)
    with refused("source.other-readings"):
        evaluate_direct(open_panel(other), large.profile, settings("none"), large.everybody(1))
    stranger = household(users=61, days=24, step=1)
    with refused("source.unknown-user"):
        evaluate_direct(stranger.panel, large.profile, settings("none"), large.everybody(1))


def test_bad_options(large: Case) -> None:
    with refused("option.number", "threads"):
        evaluate_direct(large.panel, large.profile, settings("none"), large.everybody(1), threads=0)
    with refused("option.error-function"):
        evaluate_direct(large.panel, large.profile, settings("none"), large.everybody(1), error="absolute")  # type: ignore[arg-type]
    with refused("option.no-checkpoint", "checkpoint"):
        evaluate_direct(large.panel, large.profile, settings("none"), large.everybody(1), resume=True)
    with pytest.raises(SettingError):
        settings("laplace:-1")


def test_progress_counts_readings(large: Case, subsets: list[Subset]) -> None:
    heard: list[tuple[int, int]] = []
    evaluate_direct(
        large.panel, large.profile, settings("none", "round:1"), subsets, progress=lambda d, t: heard.append((d, t))
    )
    masked = 2 * sum(large.profile.rows["readings"][s.rows].sum() for s in subsets)
    assert heard[-1] == (masked, masked)
    assert [d for d, _ in heard] == sorted(d for d, _ in heard)
    assert len(heard) == 12


class StoppedError(Exception):
    pass


def stop_after(samples: int) -> object:
    heard = []

    def progress(_: int, __: int) -> None:
        heard.append(1)
        if len(heard) == samples:
            raise StoppedError

    return progress


def test_resumed_after_every_kind_of_stop(
    large: Case, subsets: list[Subset], expected: FloatArray, tmp_path: Path
) -> None:
    for samples in (1, 8, 13):
        with pytest.raises(StoppedError):
            evaluate_direct(
                large.panel, large.profile, settings(*KINDS), subsets,
                checkpoint=tmp_path, resume=True, progress=stop_after(samples),  # type: ignore[arg-type]
            )  # fmt: skip
    heard: list[int] = []
    found = evaluate_direct(
        large.panel, large.profile, settings(*KINDS), subsets,
        checkpoint=tmp_path, resume=True, progress=lambda d, _: heard.append(d),
    )  # fmt: skip
    np.testing.assert_array_equal(found, expected)
    assert len(heard) == expected.shape[0] * expected.shape[1] - 1 - 8 - 13
    assert not list(tmp_path.glob(".*"))


def test_checkpoints_of_other_runs_and_broken_ones_are_refused(
    large: Case, subsets: list[Subset], tmp_path: Path
) -> None:
    def run(*texts: str, seed: int = 7, resume: bool = True) -> FloatArray:
        return evaluate_direct(
            large.panel,
            large.profile,
            settings(*texts),
            subsets[:2],
            seed=seed,
            checkpoint=tmp_path / "c",
            resume=resume,
        )

    done = run("laplace:1", resume=False)
    np.testing.assert_array_equal(run("laplace:1"), done)
    with refused("option.earlier-run", "resume"):
        run("laplace:1", resume=False)
    with refused("option.another-run", "checkpoint"):
        run("laplace:1", seed=8)
    with refused("option.another-run", "checkpoint"):
        run("laplace:2")
    (tmp_path / "c" / "subset-000001.npy").write_bytes(b"\x93NUMPY")
    with refused("file.damaged"):
        run("laplace:1")
    (tmp_path / "c" / "run.json").write_text("{")
    with refused("file.not-ours"):
        run("laplace:1")


PROGRAM = """
import sys
from pathlib import Path
import numpy as np
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.direct.sample_state import LocalState
from halfmask.evaluation.sampling import draw_subsets
from tests.evaluation.direct_cases import household, settings
case = household(users=20, days=60, step=1)
grid = settings(*(f"laplace:{b}" for b in range(1, 101)))
found = evaluate_direct(case.panel, case.profile, grid, draw_subsets(case.profile, [5, 20], 2, 7),
                        checkpoint=Path(sys.argv[1]), resume=True)
np.save(sys.argv[2], found)
"""


def test_killed_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGKILL once results are there, then again to the end: the array of a run in this process that was left alone."""
    monkeypatch.setattr(sorted_readings, "BLOCK", 2**16)  # as it is in other processes
    root = Path(__file__).parent.parent.parent

    def start(folder: str, output: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", PROGRAM, folder, str(tmp_path / output)], cwd=root)

    folder = tmp_path / "checkpoint"
    victim = start(str(folder), "killed.npy")
    while victim.poll() is None and not list(folder.glob("subset-*.npy")):
        time.sleep(0.01)
    assert victim.poll() is None
    os.kill(victim.pid, signal.SIGKILL)
    assert victim.wait() == -signal.SIGKILL
    left = np.load(folder / "subset-000000.npy")
    assert np.isfinite(left[:, 0]).any()
    assert not (tmp_path / "killed.npy").exists()
    assert start(str(folder), "resumed.npy").wait() == 0
    case, grid = household(users=20, days=60, step=1), settings(*(f"laplace:{b}" for b in range(1, 101)))
    alone = evaluate_direct(case.panel, case.profile, grid, draw_subsets(case.profile, [5, 20], 2, 7))
    np.testing.assert_array_equal(np.load(tmp_path / "resumed.npy"), alone)
