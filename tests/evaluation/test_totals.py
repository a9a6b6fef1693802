"""Settings that end in @total: evaluated on the readings as their law is evaluated on the users' totals themselves."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.study import Study
from halfmask.mechanisms.grid import Grid, grid
from halfmask.mechanisms.setting import PrivacySetting, release_of
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from tests.evaluation.direct_cases import HOUR, START, Case, household, settings
from tests.refusals import refused

LAWS = ("laplace:2.5", "gaussian:1", "sine:0.3,0.6", "relative-laplace:0.2", "staircase:1,2,0.5", "none")
COUNTS = ("readings", "zeros", "negatives", "members", "empty", "all_zero", "expected", "first", "last")
SUMS = ("sum_abs", "inverse1", "inverse2", "inverse3", "inverse4", "scale1", "scale2", "scale3", "scale4")


def of_totals(case: Case) -> Case:
    """The same households, with a row for each home and day that holds the day's total."""
    days, users = np.unique(case.days), np.unique(case.users)
    rows = [(user, 24 * day, case.values[(case.users == user) & (case.days == day)]) for user in users for day in days]
    held = [(user, hour, float(np.sum(values))) for user, hour, values in rows if len(values)]
    names, hours, totals = zip(*held, strict=True)
    return Case(list(names), list(hours), list(totals))


def alike(one: Profile, other: Profile) -> None:
    """Counts are equal, and sums to within rounding."""
    assert one.labels.tolist() == other.labels.tolist()
    assert one.periods.tolist() == other.periods.tolist()
    for name in COUNTS:
        assert one.rows[name].tolist() == other.rows[name].tolist(), name
    for name in SUMS:
        assert one.rows[name] == pytest.approx(other.rows[name], rel=1e-9), name
    assert one.cells == pytest.approx(other.cells, rel=1e-9, abs=1e-12)
    for name in ("histogram", "scales"):
        mine, theirs = (getattr(each, name) for each in (one, other))
        assert (
            np.stack([mine.row, mine.bin, mine.count]).tolist()
            == np.stack([theirs.row, theirs.bin, theirs.count]).tolist()
        )
    assert one.bin_index.tolist() == other.bin_index.tolist()
    assert one.bin_counts.tolist() == other.bin_counts.tolist()
    assert one.bin_negatives.tolist() == other.bin_negatives.tolist()
    assert one.bin_sizes == pytest.approx(other.bin_sizes, rel=1e-9)
    assert one.step == other.step


@pytest.mark.parametrize("signed", [False, True])
def test_the_profile_of_totals_is_that_of_a_panel_of_totals(signed: bool) -> None:
    homes = household(users=12, days=20, signed=signed)
    alike(released(homes.profile, "total"), of_totals(homes).profile)
    assert released(homes.profile, "total").fingerprint() == homes.profile.fingerprint()


def test_a_day_whose_readings_cancel_has_a_total_of_zero() -> None:
    case = Case(["a"] * 3 + ["b"], [0, 1, 2, 0], [0.1, 0.2, -0.3, 1.0])
    totals = released(case.profile, "total")
    assert totals.rows["zeros"].tolist() == [1, 0]
    assert totals.cells[0, 0].tolist() == [1, 0, 0, 0, 0]


@pytest.fixture(scope="module")
def homes() -> Case:
    return household(users=20, days=25)


@pytest.mark.parametrize("aggregate", ["sum", "mean"])
def test_analytic_results_are_those_of_the_totals_as_readings(homes: Case, aggregate: str) -> None:
    daily = of_totals(homes)
    asked = {"sizes": (10, 20), "repeats": 2, "aggregate": aggregate}
    mine = evaluate_grid(homes.profile, ";".join(f"{law}@total" for law in LAWS), Experiment(**asked))
    theirs = evaluate_grid(daily.profile, ";".join(LAWS), Experiment(**asked))
    assert mine.metrics == pytest.approx(theirs.metrics, rel=1e-6, abs=1e-9)
    assert [str(each) for each in mine.grid.settings()] == [f"{law}@total" for law in LAWS]
    assert mine.experiment.fingerprint == homes.profile.fingerprint()
    readings = evaluate_grid(homes.profile, ";".join(LAWS), Experiment(**asked))
    assert not np.allclose(readings.metrics[:5], mine.metrics[:5], rtol=0.1)


@pytest.mark.parametrize("buckets", [0, 7])
@pytest.mark.parametrize("aggregate", ["sum", "mean", "median"])
def test_the_direct_method_masks_the_totals(homes: Case, aggregate: str, buckets: int) -> None:
    """Its masked totals have the errors of noise on the totals, by plain numpy."""
    case = Case(homes.users.tolist(), homes.hours, homes.values.tolist(), buckets=buckets)
    repeats = 150
    found = evaluate_direct(
        case.panel, case.profile, settings("laplace:2.5@total"), case.everybody(repeats), aggregate=aggregate
    )[0]
    daily = of_totals(homes)
    days = [np.flatnonzero(daily.days == day) for day in np.unique(daily.days)]
    of = {"sum": np.sum, "mean": np.mean, "median": np.median}[aggregate]
    rng = np.random.default_rng(3)
    naive = []
    for _ in range(repeats):
        masked = daily.values + rng.laplace(0, 2.5, len(daily.values))
        local = np.abs(masked - daily.values) / daily.values
        true, seen = (np.array([of(values[day]) for day in days]) for values in (daily.values, masked))
        both = (np.abs(seen - true) / np.abs(true)).mean()
        naive.append([local.mean(), local.std(), both])
    for column, index in ((0, 0), (1, 1), (3, 2)):
        theirs = np.array(naive)[:, index]
        gap = abs(found[:, column].mean() - theirs.mean())
        error = np.sqrt((found[:, column].var() + theirs.var()) / repeats)
        assert gap < 5 * error
        assert abs(1.3 * found[:, column].mean() - theirs.mean()) > 5 * error


def test_hashed_users_keep_their_totals(tmp_path: Path, homes: Case) -> None:
    hashed = build_profile(homes.panel, buckets=5)
    assert hashed.buckets == 5
    assert hashed.totals is not None
    alike(released(hashed, "total"), released(homes.profile, "total").bucketed(5))
    hashed.write(tmp_path / "profile")
    again = Profile.read(tmp_path / "profile")
    assert again.totals is not None
    alike(again.totals, hashed.totals)
    study, whole = (
        evaluate_grid(each, "laplace:2.5@total;gaussian:1@total", Experiment(sizes=(20,), repeats=1))
        for each in (again, homes.profile)
    )
    assert study.metrics[..., 3:] == pytest.approx(whole.metrics[..., 3:], rel=1e-6)
    assert study.metrics[..., :2] == pytest.approx(whole.metrics[..., :2], rel=1e-6)
    assert study.metrics[..., 2] == pytest.approx(whole.metrics[..., 2], abs=0.01)


def test_totals_of_hashed_users_add_up_over_parts(homes: Case) -> None:
    names = np.array(homes.users)
    parts = []
    for some in (names < "user-009", names >= "user-009"):
        moments = np.array(homes.hours, np.int64)[some] * HOUR + START
        table = pa.table(
            {"user": names[some].tolist(), "time": pa.array(moments, pa.timestamp("us")), "value": homes.values[some]}
        )
        parts.append(build_profile(open_panel(table), buckets=5))
    together = parts[0] + parts[1]
    assert together.totals is not None
    alike(released(together, "total"), released(homes.profile, "total").bucketed(5))
    few = together.subset(together.labels[:3].tolist())
    assert few.totals is not None
    assert few.totals.labels.tolist() == together.labels[:3].tolist()


def test_the_automatic_grid_fits_the_totals(tmp_path: Path, homes: Case) -> None:
    tried = Experiment(sizes=(20,), repeats=1)
    study = evaluate_grid(homes.profile, "auto@total", tried)
    typical = np.abs(of_totals(homes).values).mean() / np.abs(homes.values).mean()
    assert study.grid.scale == pytest.approx(typical * evaluate_grid(homes.profile, "auto", tried).grid.scale, rel=1e-6)
    assert study.grid.release == "total"
    study.write(tmp_path / "study.parquet")
    assert Study.read(tmp_path / "study.parquet") == study


def test_a_clipped_setting_masks_clipped_totals(homes: Case) -> None:
    found = evaluate_direct(
        homes.panel, homes.profile, settings("clip:0,8/none@total"), homes.everybody(1), aggregate="sum"
    )[0, 0]
    daily = of_totals(homes)
    assert found[0] == pytest.approx(np.mean(np.maximum(daily.values - 8, 0) / daily.values))


@pytest.mark.parametrize("text", ["laplace:1;laplace:1@total", "laplace:1;laplace:2@split"])
def test_one_grid_has_one_release(text: str) -> None:
    with refused("setting.release"):
        grid(text)
    with refused("setting.release"):
        Grid.from_settings([PrivacySetting.parse(each) for each in text.split(";")])
    with refused("setting.release"):
        release_of(PrivacySetting.parse(each) for each in text.split(";"))


def test_nobody_sees_the_values_that_a_split_setting_masks() -> None:
    assert release_of(PrivacySetting.parse(each) for each in ("laplace:1@total", "laplace:2@split")) == "total"
    with refused("setting.release"):
        grid("laplace:2@split")
    with refused("setting.release"):
        Grid.from_settings([PrivacySetting.parse("laplace:2@split")])


def test_an_unknown_release_is_refused() -> None:
    with refused("setting.release"):
        PrivacySetting.parse("laplace:1@sum")
