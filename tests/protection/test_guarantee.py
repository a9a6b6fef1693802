"""Guarantees against closed forms, against densities integrated, and against what a guarantee must always obey."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halfmask.mechanisms import mechanism_registry as registry
from halfmask.mechanisms.mechanism_registry import register
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.plain import to_plain
from halfmask.profiles.build import Policies
from halfmask.protection.guarantees.continuous_noise import loss_cells
from halfmask.protection.guarantees.guarantee import EPSILONS, default_sensitivity, guarantee
from tests.audits import laws
from tests.evaluation.direct_cases import Case
from tests.refusals import refused

FINITE = EPSILONS[:-1]
SINE = "sine:1.2,0.3,1.2,1.5,1.5"
ADDITIVE = [
    SINE,
    "sine:0,0,1",
    "laplace:0.5",
    "gaussian:0.4",
    "uniform:2",
    "staircase:0.5,0.3,0.4",
    "geometric:0.5,0.1",
]
ADDITIVE += ["tabulated:0.5,0.3,0.8,0.3,2,1"]
at_random = settings(max_examples=25, deadline=None, derandomize=True)


def of(text: str, sensitivity: float | None = None, reports: tuple[int, ...] = ()) -> dict[float, float]:
    return dict(guarantee(PrivacySetting.parse(text), sensitivity, reports).delta)


def bounds(found: float, exact: float, slack: float = 1e-5) -> bool:
    """Whether ``found`` is an upper bound on ``exact``, and a close one."""
    return exact - 1e-12 <= found <= exact * (1 + slack) + 1e-9


def test_the_figures_of_the_sine_setting() -> None:
    found = guarantee(PrivacySetting.parse(SINE), 0.1, (48,))
    assert [found.delta[e] for e in (0.0, 0.1, 0.5, 1.0)] == pytest.approx([0.0391, 0.0217, 0.0087, 0.0077], abs=5e-5)
    assert found.certain == pytest.approx(0.0065, abs=5e-5)
    assert found.composed[48][1.0] == pytest.approx(0.356, abs=1e-3)
    assert found.epsilon is None
    assert found.label.startswith("no epsilon guarantee: 0.65")


def test_a_day_of_laplace_reports() -> None:
    found = guarantee(PrivacySetting.parse("laplace:1"), 0.1)
    assert found.epsilon == pytest.approx(0.1)
    assert found.epsilon_at(1e-6, 48) == pytest.approx(3.05, abs=0.01)


@at_random
@given(st.floats(0.01, 20), st.sampled_from(FINITE))
def test_closed_forms_are_met_from_above(scales: float, epsilon: float) -> None:
    assert bounds(of("laplace:1", scales)[epsilon], laws.laplace(epsilon, scales))
    assert bounds(of("gaussian:1", scales)[epsilon], laws.gaussian(epsilon, scales), slack=1e-3)
    assert of("uniform:1", scales)[epsilon] == pytest.approx(min(scales / 2, 1), rel=1e-12)


def test_the_check_rejects_what_merged_cells_would_give() -> None:
    """Masses of merged cells are what post-processing leaves: a lower bound, which would promise too much."""
    edges = np.linspace(-8, 8, 33)
    p, q = (np.diff(laws.norm.cdf(edges - shift)) for shift in (0.0, 1.0))
    exact = laws.gaussian(0.7, 1.0)
    merged = float(np.sum(np.maximum(p - math.exp(0.7) * q, 0)))
    assert merged == pytest.approx(exact, rel=0.05)
    assert not bounds(merged, exact)
    assert not bounds(exact * 1.01, exact)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("theta", [(1.2, 0.3, 1.2, 1.5, 1.5), (0.5,), (0.2, 0.9)])
def test_sine_against_an_integral_over_its_angle(theta: tuple[float, ...], epsilon: float) -> None:
    setting = PrivacySetting("sine", theta)
    for change in (0.1, 0.9):
        assert loss_cells(setting, change).delta(epsilon) == pytest.approx(laws.sine(theta, change, epsilon), abs=1e-5)


@pytest.mark.parametrize("change", [0.17, 0.3, 0.45, 1.3])
def test_staircase_against_its_density(change: float) -> None:
    parameters = (0.5, 0.3, 0.4)
    found = loss_cells(PrivacySetting("staircase", parameters), change)
    for epsilon in (0.0, 0.3, 0.5, 0.7, 1.5):
        exact = laws.integrated(lambda x: laws.staircase(x, *parameters), change, epsilon, end=24)
        assert found.delta(epsilon) == pytest.approx(exact, abs=2e-4)
    losses = np.log(laws.staircase(np.linspace(-9, 9.01, 90_001), *parameters))
    losses -= np.log(laws.staircase(np.linspace(-9, 9.01, 90_001) - change, *parameters))
    assert PrivacySetting("staircase", parameters).pure_epsilon(change) == pytest.approx(losses.max())


def test_geometric_on_its_lattice() -> None:
    setting = PrivacySetting.parse("geometric:0.5,0.1")
    assert setting.pure_epsilon(0.3) == pytest.approx(0.6)
    assert setting.pure_epsilon(0.21) == pytest.approx(0.6), "rounded up to the lattice"
    k = np.arange(-300, 301)
    p = math.tanh(0.1) * np.exp(-0.2 * np.abs(k))
    q = math.tanh(0.1) * np.exp(-0.2 * np.abs(k - 3))
    for epsilon, found in of("geometric:0.5,0.1", 0.25).items():
        if epsilon < math.inf:
            assert found == pytest.approx(np.maximum(p - math.exp(epsilon) * q, 0).sum(), abs=1e-12)


def test_a_lattice_too_fine_to_be_told_apart_still_gives_a_bound() -> None:
    found = of("geometric:10,0.00001", 10)[0.0]
    assert laws.laplace(0.0, 1.0) <= found <= math.tanh(0.5) + 1e-9


@pytest.mark.parametrize("text", ADDITIVE)
def test_delta_falls_as_epsilon_grows_and_composing_only_adds(text: str) -> None:
    found = guarantee(PrivacySetting.parse(text), 0.3, (2, 48))
    for one in (found.delta, *found.composed.values()):
        deltas = [one[e] for e in EPSILONS]
        assert all(b <= a + 1e-9 for a, b in pairwise(deltas))
        assert 0 <= deltas[-1] <= deltas[0] <= 1
    for e in EPSILONS:
        assert found.delta[e] <= found.composed[2][e] + 1e-9
        assert found.composed[2][e] <= found.composed[48][e] + 1e-9
    assert found.delta[0.0] < found.composed[48][0.0]


@at_random
@given(st.sampled_from(["laplace:1", "gaussian:1", "uniform:1"]), st.floats(0.01, 3), st.floats(1.01, 3))
def test_delta_grows_with_the_sensitivity(text: str, change: float, factor: float) -> None:
    small, large = of(text, change), of(text, change * factor)
    assert all(small[e] <= large[e] * (1 + 1e-6) + 1e-9 for e in EPSILONS)
    assert small[0.0] < large[0.0] or large[0.0] == 1


def test_a_smaller_change_may_be_the_worse_and_is_found() -> None:
    """Two narrow bumps at -1 and 1: a change of 2 lays one on the other, a change of 1 none on any."""
    bumps = PrivacySetting.parse("tabulated:0.95,0,1.05,1")
    assert loss_cells(bumps, 2.0).delta(0.0) == pytest.approx(0.5)
    assert of(str(bumps), 2.0)[0.0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("tabulated:0.9,0.1237,1,0.1237,1.1,0.3735,2.4,0.4116,2.9,0.4116,3,0.6992,3.9,1", 3.0),
        pytest.param("sine:0,1", 1.0, marks=pytest.mark.slow),
        pytest.param("sine:0,0,0,0,1.5", 38.443359375, marks=pytest.mark.slow),
        ("staircase:3,1,0.1", 1.3),
    ],
)
def test_no_size_in_between_is_worse(text: str, change: float) -> None:
    """Peaks that meet at multiples of a sixteenth, or of the support, are apart at other changes."""
    setting = PrivacySetting.parse(text)
    found = of(text, change)
    between = [loss_cells(setting, float(size)) for size in np.linspace(change / 110, change, 110)]
    for epsilon in EPSILONS:
        assert max(one.delta(epsilon) for one in between) <= found[epsilon] * (1 + 1e-4)
    coarse = max(loss_cells(setting, change * k / 16).delta(1.0) for k in range(1, 17))
    assert coarse < found[1.0] * 0.999 or text.startswith("staircase"), "sixteen sizes do not do"


def test_what_is_impossible_is_certain_where_corners_meet_but_for_rounding() -> None:
    table = PrivacySetting.parse("tabulated:0.2,0.5692,1.9,0.5692,2.7,1")
    for change in (0.8, 1.7, 2.1, 2.9, 4.6):
        found = loss_cells(table, change)
        assert found.certain == pytest.approx(found.delta(30.0), abs=1e-12)
    assert loss_cells(table, 1.7).certain == 1


@pytest.mark.parametrize(
    "text",
    [*ADDITIVE, "none", "round:1", "relative-laplace:0.5", "clip:0,5/sine:1", "laplace:1e-320", "laplace:1e-300"],
)
def test_json_is_plain_and_complete(text: str) -> None:
    found = guarantee(PrivacySetting.parse(text), 0.3, (48, 1440))
    plain = json.loads(json.dumps(to_plain(found), allow_nan=False))
    assert set(plain) == {"setting", "sensitivity", "step", "epsilon", "delta", "composed", "label", "unit"}
    assert list(plain["delta"]) == ["0", "0.1", "0.5", "1", "2", "5", "inf"]
    assert {key: list(deltas) for key, deltas in plain["composed"].items()} == {
        "48": list(plain["delta"]),
        "1440": list(plain["delta"]),
    }
    assert plain["setting"] == text


@pytest.mark.parametrize(
    "text", ["none", "laplace:0", "round:1", "microaggregate:3", "clip:0,2", "relative-gaussian:1"]
)
def test_what_adds_no_noise_to_some_reading_guarantees_nothing(text: str) -> None:
    found = guarantee(PrivacySetting.parse(text), 0.5, (48,))
    assert found.epsilon is None
    assert set(found.delta.values()) == set(found.composed[48].values()) == {1.0}
    assert found.label.startswith("no epsilon guarantee: ")
    assert found.epsilon_at(1e-6) is None


def test_labels_say_what_there_is() -> None:
    labels = [
        guarantee(PrivacySetting.parse(text), 1.0, ()).label
        for text in ("laplace:2", "gaussian:2", "uniform:1", "geometric:2,0.1")
    ]
    assert labels == [
        "epsilon 0.5 for a change of up to 1 in one reading, delta 0",
        "no epsilon at delta 0: delta 0.0069 at epsilon 1 for a change of up to 1 in one reading",
        "no epsilon guarantee: 50 % of reports rule the other value out for certain, for a change of up to 1 in one "
        "reading",
        "epsilon 0.5 for a change of up to 1 in one reading, delta 0, of readings that are multiples of 0.1",
    ]


def test_clipping_bounds_the_change() -> None:
    clipped = PrivacySetting.parse("clip:2,6/laplace:8")
    assert guarantee(clipped, reports=()).epsilon == pytest.approx(0.5)
    assert guarantee(clipped, 100.0, ()).epsilon == pytest.approx(0.5)
    assert guarantee(clipped, 2.0, ()).epsilon == pytest.approx(0.25)


class StatedUniform:
    """A bounded law that does not say where it ends."""

    name = "stated-uniform"

    def sample(self, parameters: laws.FloatArray, size: int, rng: np.random.Generator) -> laws.FloatArray:
        return parameters[0] * (2 * rng.random(size) - 1)

    def cdf(self, parameters: laws.FloatArray, y: laws.FloatArray) -> laws.FloatArray:
        return np.clip(y / parameters[:, :1], 0, 1)


class SometimesNothing(StatedUniform):
    """Half the time no noise at all: an atom at 0."""

    name = "sometimes-nothing"

    def sample(self, parameters: laws.FloatArray, size: int, rng: np.random.Generator) -> laws.FloatArray:
        return super().sample(parameters, size, rng) * (rng.random(size) < 0.5)

    def cdf(self, parameters: laws.FloatArray, y: laws.FloatArray) -> laws.FloatArray:
        return np.where(np.asarray(y) < 0, 0, (1 + super().cdf(parameters, y)) / 2)


class OneSided(StatedUniform):
    """Never below 0: a change is certain to show as often as the noise is near its end."""

    name = "one-sided"

    def sample(self, parameters: laws.FloatArray, size: int, rng: np.random.Generator) -> laws.FloatArray:
        return parameters[0] * rng.random(size)


class OnALattice(StatedUniform):
    """Six million points: its cdf looks smooth, and yet most readings cannot have given a report."""

    name = "on-a-lattice"

    def sample(self, parameters: laws.FloatArray, size: int, rng: np.random.Generator) -> laws.FloatArray:
        return parameters[0] * rng.integers(-3_000_000, 3_000_001, size) / 3_000_000


class Misstated(StatedUniform):
    """Noise of 95 % of the stated size."""

    name = "misstated"

    def sample(self, parameters: laws.FloatArray, size: int, rng: np.random.Generator) -> laws.FloatArray:
        return 0.95 * super().sample(parameters, size, rng)


class OnlyDraws:
    name = "only-draws"

    def sample(self, parameters: laws.FloatArray, size: int, rng: np.random.Generator) -> laws.FloatArray:
        return rng.laplace(scale=parameters[0], size=size)


@pytest.fixture
def _forget_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_known", dict(registry._known))


@pytest.mark.usefixtures("_forget_plugins")
def test_plug_ins_with_a_stated_law() -> None:
    register(StatedUniform)
    assert list(of("stated-uniform:2", 0.4).values()) == pytest.approx([0.1] * 7, abs=1e-9)
    register(SometimesNothing)
    found = of("sometimes-nothing:2", 0.4)
    assert found[math.inf] == pytest.approx(0.55, abs=1e-9)
    assert found[5.0] >= 0.55 - 1e-9


@pytest.mark.usefixtures("_forget_plugins")
@pytest.mark.parametrize(
    ("plugin", "reason"),
    [(OneSided, "are not symmetric"), (OnALattice, "repeat"), (Misstated, "do not follow the cdf")],
)
def test_a_plug_in_whose_draws_contradict_its_law_gets_no_figure(plugin: type[StatedUniform], reason: str) -> None:
    register(plugin)
    found = guarantee(PrivacySetting.parse(f"{plugin.name}:2"), 0.4, ())
    assert set(found.delta.values()) == {1.0}
    assert reason in found.label


@pytest.mark.usefixtures("_forget_plugins")
def test_a_plug_in_known_from_draws_gets_no_figure_that_could_be_wrong() -> None:
    register(OnlyDraws)
    found = guarantee(PrivacySetting.parse("only-draws:1"), 0.1, ())
    assert found.certain == 1
    assert "known from draws alone" in found.label


def test_published_bounds_come_before_the_range_of_the_readings() -> None:
    values = [0.5, 3.0, -1.0, 0.0]
    case = Case(["a"] * 4, [0, 1, 2, 3], values, policies=Policies(low=-2.0, high=5.0))
    assert default_sensitivity(case.profile) == (7.0, "published bounds, -2 to 5")
    width, origin = default_sensitivity(Case(["a"] * 4, [0, 1, 2, 3], values).profile)
    assert 4.0 <= width <= 4.0 * 2 ** (1 / 64)
    assert "not a published bound" in origin
    positive, _ = default_sensitivity(Case(["a", "a"], [0, 1], [2.0, 3.0]).profile)
    assert 3.0 <= positive <= 3.1, "no reading below 0: from nothing to the largest"
    with refused("option.zeros", "sensitivity"):
        default_sensitivity(Case(["a"], [0], [0.0]).profile)


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.nan, math.inf, None])
def test_a_sensitivity_that_bounds_nothing_is_refused(sensitivity: float | None) -> None:
    with refused("option.range", "sensitivity"):
        guarantee(PrivacySetting.parse("laplace:1"), sensitivity)


def test_other_bad_input_is_refused() -> None:
    with refused("option.range", "reports"):
        guarantee(PrivacySetting.parse("laplace:1"), 1.0, (0,))
    found = guarantee(PrivacySetting.parse("laplace:1"), 1.0, ())
    with refused("option.range", "delta"):
        found.epsilon_at(0.0)


ALL_LAWS = ["laplace:1", "gaussian:1", "uniform:1", "staircase:1,1,0.3", "sine:1", "sine:0,0.9,0.7", "logistic:1"]
ALL_LAWS += ["tabulated:0.5,0.3,0.8,0.3,1.5,1", "tabulated:0.95,0,1.05,1", "geometric:1,0.25"]


@settings(max_examples=20, deadline=None, derandomize=True)
@given(st.sampled_from(ALL_LAWS), st.floats(0.02, 3), st.floats(1.01, 3), st.sampled_from([None, 0.25]))
def test_delta_never_falls_as_the_sensitivity_grows(
    text: str, change: float, factor: float, step: float | None
) -> None:
    setting = PrivacySetting.parse(text)
    small, large = (guarantee(setting, size, (), step=step).delta for size in (change, change * factor))
    assert all(small[e] <= large[e] * (1 + 2e-4) + 1e-9 for e in EPSILONS)


def many_points() -> PrivacySetting:
    """361 narrow bumps at uneven places: 65,000 differences, of which thinning would miss those that matter."""
    rng = np.random.default_rng(8)
    places = np.sort(40 * rng.random(361))
    shares = np.cumsum(rng.random(361) * (np.arange(361) % 2))
    return PrivacySetting("tabulated", tuple(x for pair in zip(places, shares / shares[-1], strict=True) for x in pair))


def test_a_table_too_long_to_be_looked_at_is_not_thinned() -> None:
    table = many_points()
    refused = guarantee(table, 5.0, (48,))
    assert set(refused.delta.values()) == {1.0}
    assert "a table of 361 points has too many differences" in refused.label
    assert "give the step" in refused.label
    deltas = [guarantee(table, change, (), step=0.1).delta for change in (0.5, 1.0, 2.0)]
    for smaller, larger in pairwise(deltas):
        assert all(smaller[e] <= larger[e] + 1e-12 for e in EPSILONS)
    assert deltas[0][0.0] < 1


def test_many_reports_of_small_noise_reach_small_deltas() -> None:
    found = guarantee(PrivacySetting.parse("gaussian:1"), 0.001, ())
    assert found.epsilon_at(1e-9, 17_520) == pytest.approx(0.717, abs=1e-3)
    exact = laws.gaussian(0.7170, 0.001 * math.sqrt(17_520))
    assert exact == pytest.approx(1e-9, rel=0.01)
