"""Studies on disk: columns, metadata, the summary, and what happens to damaged files."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import halfmask
from halfmask.evaluation.analytic.evaluate_analytic import METRICS
from halfmask.evaluation.evaluate import evaluate_grid, findings
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.scores import Constraint, Weights, normalisers, passing, pooled, privacy, utility
from halfmask.evaluation.study import read_study
from halfmask.mechanisms.grid import grid
from halfmask.profiles.profile import Profile
from tests.evaluation.same_answer import frame, opened
from tests.refusals import refused

GRID = "laplace:b=0.01|0.1|0.5;sine:k=2,values=0|0.3"


@pytest.fixture(scope="module")
def profile() -> Profile:
    rng = np.random.default_rng(8)
    return opened(frame(rng.gamma(2, 0.3, (120, 48 * 5)) + 0.01))[1]


def test_a_study_has_the_columns_that_others_rely_on(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "study.parquet"
    study = halfmask.evaluate(profile, path, grid=GRID, sizes="50,all", repeats=2, seed=3)
    table, about = read_study(path)
    assert table.column_names == ["setting", "mechanism", "parameters", "users", "repeat", *METRICS]
    assert table.num_rows == 6 * 4
    first = table.slice(0, 1).to_pylist()[0]
    assert (first["setting"], first["mechanism"], first["parameters"]) == ("laplace:0.01", "laplace", [0.01])
    assert (first["users"], first["repeat"]) == (50, 0)
    assert table["setting"].to_pylist()[-1] == "sine:0.3,0.3"
    for index, name in enumerate(METRICS):
        np.testing.assert_array_equal(np.asarray(table[name]).reshape(6, 4), study.metrics[..., index])
    assert (about["seed"], about["engine"], about["aggregate"], about["period"]) == (3, "analytic", "sum", "day")
    assert about["fingerprint"] == profile.fingerprint()
    assert "noise cancels" in findings(halfmask.evaluate(profile, grid="laplace:b=1", sizes="20,60,all"))[0]


def test_same_seed_same_bytes(profile: Profile, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.parquet", "b.parquet", "c.parquet")]
    for path, seed in zip(paths, (3, 3, 4), strict=True):
        halfmask.evaluate(profile, path, grid=GRID, sizes="50", seed=seed)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes() != paths[2].read_bytes()


def test_the_summary_says_what_the_samples_say(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "summary.parquet"
    samples = halfmask.evaluate(profile, grid=GRID, sizes="50,all").metrics
    halfmask.evaluate(profile, path, grid=GRID, sizes="50,all", summary=True)
    table, about = read_study(path)
    assert table.num_rows == 6
    largest = normalisers(samples, passing(samples, Constraint()))
    q, u = privacy(samples, largest, Weights()), utility(samples, largest, Weights())
    np.testing.assert_allclose(np.asarray(table["privacy_median"]), np.percentile(q, 50, axis=1), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(table["utility_p10"]), np.percentile(u, 10, axis=1), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(table["global_std"]), pooled(samples)[1], rtol=1e-5)
    assert about["form"] == "summary"
    np.testing.assert_allclose([about["normalisers"][name] for name in METRICS], largest, rtol=1e-6)


def test_settings_that_break_the_constraint_have_no_scores(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "summary.parquet"
    halfmask.evaluate(profile, path, grid="laplace:b=0.1|1000", sizes="50", summary=True)
    table = read_study(path)[0]
    assert table["privacy_median"].null_count == table["local_entropy"].null_count == 1
    assert table["global_entropy"].null_count == 0


@pytest.mark.parametrize("cut", [0, 4, 1000])
def test_damaged_studies_are_refused(profile: Profile, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "study.parquet"
    halfmask.evaluate(profile, path, grid=GRID, sizes="50")
    path.write_bytes(path.read_bytes()[:cut])
    with refused("file.not-ours"):
        read_study(path)


def test_foreign_and_missing_studies_are_refused(tmp_path: Path) -> None:
    import pyarrow as pa

    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign.parquet")
    with refused("file.not-ours"):
        read_study(tmp_path / "foreign.parquet")
    with refused("file.missing"):
        read_study(tmp_path / "none.parquet")
    page = json.dumps({"format": "halfmask study", "version": 99})
    pq.write_table(pa.table({"a": [1]}).replace_schema_metadata({b"halfmask": page}), tmp_path / "new.parquet")
    with refused("file.version"):
        read_study(tmp_path / "new.parquet")


def test_a_grid_too_large_for_memory_offers_the_summary(profile: Profile) -> None:
    with refused("option", "summary", "sizes", "repeats"):
        evaluate_grid(profile, grid("full"), Experiment.on(profile, repeats=40))


def test_weights_must_add_up() -> None:
    with refused("option.weights"):
        Weights(privacy=(0.5, 0.5, 0.5))
    with refused("option.weights"):
        Weights(utility=(-0.2, 0.6, 0.6))
