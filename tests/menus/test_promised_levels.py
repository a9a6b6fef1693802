"""Levels by their promise: every epsilon recomputed from the law itself, every error by adding up noise."""

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.least_noise import least_noise
from halfmask.menus.menu import Menu
from halfmask.menus.offer import Offer, offer
from halfmask.menus.offer_table import offer_notes, offer_rows
from halfmask.menus.promised_levels import clipping, settings_keeping
from halfmask.menus.question import Question, periods_in, question_of, usual_bounds
from halfmask.menus.study_scores import AnyStudy
from halfmask.menus.total_error import total_error
from halfmask.protection.guarantees.whole_days import spread_epsilon
from tests.choice.cases import as_read
from tests.menus.cases import street, studied
from tests.refusals import refused

STEP = 0.001
LOW, HIGH = 0.0, 40.0


@cache
def of_totals() -> AnyStudy:
    homes = street().profile
    return as_read(evaluate_grid(homes, "auto@total", Experiment.on(homes, sizes="100,all")))


def whole_day(release: str = "total", **named: float) -> Question:
    return question_of("whole-day", release, street().profile, **{"low": LOW, "high": HIGH, **named})  # type: ignore[arg-type]


@cache
def signed() -> Offer:
    return offer(street().profile, of_totals(), question=whole_day(), epsilons=(8.0, 4.0, 2.0, 1.0))


def log_pmf(b: float, k: np.ndarray, step: float = STEP) -> np.ndarray:
    """Log probability of k steps of discrete Laplace noise, up to a constant."""
    return -np.abs(k) * step / b


def losses(b: float, change: float, step: float = STEP) -> tuple[np.ndarray, np.ndarray]:
    """Every privacy loss of one report and its probability."""
    shift = math.ceil(change / step - 1e-9)
    k = np.arange(-int(60 * b / step), int(60 * b / step) + shift + 1)
    mass = np.exp(log_pmf(b, k, step))
    return log_pmf(b, k, step) - log_pmf(b, k - shift, step), mass / mass.sum()


def composed_epsilon(b: float, change: float, reports: int, delta: float, up: bool) -> float:
    """Epsilon of independent reports at delta, with losses rounded up (an upper bound) or down to a grid."""
    loss, mass = losses(b, change, 0.05)
    grid = 0.002
    place = (np.ceil if up else np.floor)(loss / grid - 1e-12).astype(int)
    low = place.min()
    size = 1 << int(reports * (place.max() - low + 1)).bit_length()
    one = np.bincount(place - low, mass, size)
    all_ = np.fft.irfft(np.fft.rfft(one) ** reports, size).clip(0)
    total = (np.arange(size) + reports * low) * grid
    least, most = 0.0, float(total.max())
    for _ in range(60):
        middle = (least + most) / 2
        above = total > middle
        kept = float((all_[above] * -np.expm1(middle - total[above])).sum())
        least, most = (middle, most) if kept > delta else (least, middle)
    return most


def test_each_level_keeps_its_epsilon_and_hardly_less_noise_would() -> None:
    found = signed().menu
    assert [str(each.setting) for each in found.settings] == [
        *(f"laplace:{b}@total" for b in ("5", "10", "20", "40")),
        "none@total",
    ]
    for each, epsilon in zip(found.settings, (8.0, 4.0, 2.0, 1.0), strict=False):
        assert each.promise is not None
        b = each.setting.parameters[0]
        assert losses(b, HIGH - LOW)[0].max() == pytest.approx(epsilon)
        assert (each.promise.epsilon, each.promise.delta) == (pytest.approx(epsilon), 0.0)
        assert (each.promise.protect, each.promise.change) == ("whole-day", HIGH - LOW)
        assert losses(0.97 * b, HIGH - LOW)[0].max() > epsilon * 1.02
    assert found.settings[-1].promise is not None
    assert found.settings[-1].promise.epsilon is None


def test_the_month_is_thirty_days_composed() -> None:
    month = whole_day().month()
    assert month.window == 30
    for b in (20.0, 40.0, 160.0):
        found = month.epsilon(PrivacySetting("laplace", (b,), release="total"))
        assert found is not None
        low, high = (composed_epsilon(b, HIGH, 30, 1e-6, up) for up in (False, True))
        assert low <= found * 1.005
        assert found <= high * 1.005
        assert not low <= 0.8 * found


def test_home_is_every_period_of_the_data() -> None:
    asked = question_of("home", "total", street().profile, low=LOW, high=HIGH)
    assert asked.window == len(street().profile.periods) == 9
    found = asked.epsilon(PrivacySetting("laplace", (400.0,), release="total"))
    assert found is not None
    assert found <= 9 * HIGH / 400


@pytest.mark.parametrize(("period", "days", "count"), [("day", 30, 30), ("hour", 30, 720), ("week", 30, 5)])
def test_a_month_of_other_periods(period: str, days: int, count: int) -> None:
    assert periods_in(days, period) == count


def test_a_day_of_readings_adds_its_changes_up() -> None:
    """By trying every way to spread a change over three readings of a coarse lattice."""
    step, change = 0.5, 4.0
    for setting in (PrivacySetting("laplace", (1.5,)), PrivacySetting("staircase", (0.7, 1.0, 0.5))):
        told = spread_epsilon(setting, change, 3, 1, step)
        assert told is not None

        def one(moved: float, setting: PrivacySetting = setting) -> float:
            steps = math.ceil(moved / step - 1e-9) * step
            return (setting.law.pure_epsilon(setting.parameters, steps) or 0.0) if steps else 0.0

        shares = np.arange(0, change + 0.05, 0.1)
        worst = max(one(a) + one(b) + one(max(change - a - b, 0.0)) for a in shares for b in shares if a + b <= change)
        assert worst <= told
        assert told <= 2.2 * worst
        assert spread_epsilon(setting, change, 3, 30, step) == pytest.approx(30 * told)
    assert spread_epsilon(PrivacySetting("gaussian", (1.0,)), change, 3, 1, step) is None


def test_a_days_total_moves_by_all_of_its_readings() -> None:
    asked = question_of("day", "total", street().profile, change=0.13, window=48, low=LOW, high=HIGH)
    found = asked.epsilon(PrivacySetting("laplace", (2.0,), release="total"))
    assert found == pytest.approx(48 * 0.13 / 2, rel=1e-3)
    alone = question_of("reading", "total", street().profile, change=0.13, window=48, low=LOW, high=HIGH)
    assert alone.epsilon(PrivacySetting("laplace", (2.0,), release="total")) == pytest.approx(0.13 / 2, rel=1e-3)


@pytest.mark.parametrize(("release", "draws"), [("reading", None), ("total", 200), ("split", 2)])
def test_errors_of_totals_are_those_of_the_noise_that_is_added(release: str, draws: int | None) -> None:
    homes, rng = street(), np.random.default_rng(4)
    setting = PrivacySetting("laplace", (3.0,), release=release)
    days = [homes.values[homes.days == day] for day in np.unique(homes.days)]
    errors = [
        np.abs(rng.laplace(0, 3.0, (4000, draws or len(values))).sum(axis=1)).mean() / values.sum() for values in days
    ]
    found = total_error(homes.profile, setting, 200)
    assert found == pytest.approx(np.mean(errors), rel=0.02)
    assert found != pytest.approx(1.1 * np.mean(errors), rel=0.02)


def test_the_default_offer_has_just_the_wanted_error() -> None:
    made = offer(street().profile, of_totals(), question=whole_day(), within=0.02, producers=200).menu
    last = made.settings[3]
    assert last.promise is not None
    error = total_error(street().profile, last.setting, 200, step=STEP)
    assert error is not None
    assert error <= 0.02
    assert error > 0.02 * 0.93  # epsilon is rounded up to two digits
    halves = [each.promise.epsilon / last.promise.epsilon for each in made.settings[:3]]  # type: ignore[union-attr, operator]
    assert halves == pytest.approx([8, 4, 2], rel=2e-3)
    assert last.needed is not None
    assert last.needed <= 200


def test_what_comes_closest_is_said_with_its_figures() -> None:
    near = signed().menu.provenance["offer"]["closest"]
    homes = street().profile
    (level,) = settings_keeping(whole_day(), [near["epsilon"]])
    assert near["error"] == total_error(homes, level, 200, step=STEP)
    (split,) = settings_keeping(whole_day("split"), [near["epsilon"]])
    assert near["split"] == total_error(homes, split, 200, step=STEP)
    assert near["split"] < near["error"] / 5
    assert total_error(homes, level, near["producers"], step=STEP) == pytest.approx(0.01, rel=0.01)
    assert near["readings"] > 3 * near["reached"] > 3 * near["epsilon"]


def test_clipping_is_counted_on_the_totals() -> None:
    homes = street()
    totals = np.array(
        [homes.values[(homes.users == u) & (homes.days == d)].sum() for u in np.unique(homes.users) for d in range(9)]
    )
    found = clipping(homes.profile, 0, 20)
    assert found.share == pytest.approx(np.mean(totals > 20), abs=0.01)
    assert found.bias == pytest.approx((np.minimum(totals, 20) - totals).sum() / totals.sum(), rel=0.02)
    low, high = usual_bounds(homes.profile)
    assert low == 0
    assert 0.99 < np.mean(totals <= high) <= 1
    assert clipping(homes.profile, low, high).share <= 0.006


def test_the_offer_file_holds_release_and_promise(tmp_path: Path) -> None:
    signed().menu.write(tmp_path / "offer.json")
    held = json.loads((tmp_path / "offer.json").read_text())
    assert [each["release"] for each in held["settings"]] == ["total"] * 5
    promises = [each["promise"] for each in held["settings"]]
    assert promises[3] == {"protect": "whole-day", "change": 40.0, "epsilon": 1.0, "delta": 0.0}
    assert Menu.read(tmp_path / "offer.json") == signed().menu
    assert held["settings"][0]["id"] == "L1"


def test_the_table_has_the_promises() -> None:
    head, *rows = offer_rows(signed().menu)
    column = head.index("epsilon, a whole day")
    assert [row[column] for row in rows] == ["8", "4", "2", "1", "no promise"]
    assert offer_notes(signed().menu)


def test_split_levels_have_no_score_that_looks_like_others() -> None:
    made = offer(street().profile, of_totals(), question=whole_day("split"), epsilons=(2.0, 1.0)).menu
    assert [row[-2] for row in offer_rows(made)[1:3]] == ["split"] * 2
    assert str(made.settings[1].setting) == "laplace:40@split"
    assert made.settings[1].needed is not None
    assert made.settings[0].protection is not None
    assert made.settings[0].protection.guess is None


@cache
def side_by_side() -> Menu:
    return offer(street().profile, of_totals(), question=whole_day(), epsilons=(8.0, 4.0), split=1.0).menu


def test_open_blurred_and_split_levels_side_by_side(tmp_path: Path) -> None:
    made = side_by_side()
    assert [(each.id, str(each.setting)) for each in made.settings] == [
        ("L1", "laplace:5@total"),
        ("L2", "laplace:10@total"),
        ("S", "laplace:40@split"),
        ("N", "none@total"),
    ]
    split = made["S"]
    assert split.promise is not None
    assert (split.promise.epsilon, split.promise.delta) == (pytest.approx(losses(40.0, HIGH)[0].max()), 0.0)
    assert split.protection is not None
    homes = street()
    drawn = np.abs(np.random.default_rng(1).laplace(0, 40.0, (100_000, 2)).sum(axis=1)).mean()
    days = [homes.values[homes.days == day].sum() for day in np.unique(homes.days)]
    assert split.protection.errors[200] == pytest.approx(np.mean(drawn / np.array(days)), rel=0.02)
    assert split.protection.errors[100] == pytest.approx(2 * split.protection.errors[200])
    made.write(tmp_path / "offer.json")
    assert Menu.read(tmp_path / "offer.json") == made
    held = json.loads((tmp_path / "offer.json").read_text())["settings"]
    assert [each["release"] for each in held] == ["total", "total", "split", "total"]
    assert [each.get("against") for each in held[1:]] == ["everyone", "everyone but the two services together", None]


def test_a_split_level_that_keeps_error_and_promise_is_an_answer() -> None:
    named = {"question": whole_day(), "epsilons": (8.0,), "within": 0.03, "producers": 200}
    alone = offer(street().profile, of_totals(), **named)  # type: ignore[arg-type]
    both = offer(street().profile, of_totals(), split=1.0, **named)  # type: ignore[arg-type]
    assert alone.menu.provenance["offer"]["closest"] is not None
    assert both.menu.provenance["offer"]["closest"] is None


def test_a_split_level_needs_levels_of_totals() -> None:
    for question in (question_of("day", "reading", street().profile, change=0.5), whole_day("split")):
        with refused("option.split", "split"):
            offer(street().profile, of_totals(), question=question, split=1.0)


def test_releases_and_bounds_that_do_not_fit_are_refused() -> None:
    with refused("option.release", "study"):
        offer(street().profile, studied(), question=whole_day())
    with refused("option.release", "study"):
        offer(street().profile, of_totals())
    with refused("option.range", "high"):
        question_of("whole-day", "total", street().profile, low=5, high=5)
    with refused("option"):
        question_of("whole-day", "total", None)


def test_solve_finds_the_least_noise_for_a_whole_day() -> None:
    found = {each.mechanism: each for each in least_noise(1.0, whole_day()).solutions}
    assert found["laplace"].setting.parameters[0] == pytest.approx(40, rel=2e-3)
    assert found["gaussian"].noise_std > 2 * found["laplace"].noise_std
    assert all(each.setting.release == "total" for each in found.values())


def test_a_homes_promise_is_not_about_one_day() -> None:
    with refused("option.protect", "protect"):
        question_of("home", "total", None, low=LOW, high=HIGH)


def test_changes_of_readings_add_up_as_decimals() -> None:
    assert question_of("day", "total", None, change=0.3, window=48, low=LOW, high=HIGH).reports == (14.4, 1)
