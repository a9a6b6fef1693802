"""The law that a device draws: bounds against sums written out over its probabilities."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.guarantee import EPSILONS, Guarantee, guarantee
from halfmask.protection.guarantees.lattice_noise import lattice_masses, lattice_steps, rounded_up
from halfmask.protection.guarantees.promises import per_unit
from halfmask_device import DeviceSetting
from halfmask_device.epsilon_bound import per_unit as spent_per_unit
from halfmask_device.epsilon_bound import pure
from tests.refusals import refused

FINITE = EPSILONS[:-1]
MECHANISMS = [
    "laplace:1",
    "gaussian:1",
    "uniform:1",
    "staircase:1,1,0.3",
    "sine:1",
    "sine:0,0.9,0.7",
    "tabulated:0.5,0.3,0.8,0.3,1.5,1",
]
EVERY = [*MECHANISMS, "geometric:1", "logistic:1"]
SLACK = 1e-11
FINE = 500
"""Cells of the lower bound in a deviation of the loss."""


def of(text: str, change: float, step: float, reports: tuple[int, ...] = ()) -> Guarantee:
    return guarantee(PrivacySetting.parse(text), change, reports, step=step)


@cache
def drawn(text: str, step: Fraction) -> tuple[FloatArray, int]:
    """P(k) for k = -K..K of a device's noise and K, from the definitions in `halfmask_device.laws` by another route.

    Discrete laws by their formula; rounded ones by P((k - 1/2) step < X <= (k + 1/2) step), with the distribution
    function of X written out.
    """
    name, _, numbers = text.partition(":")
    parameters = [Fraction(number) for number in numbers.split(",")]
    if name in ("laplace", "gaussian", "geometric"):
        scale = float(parameters[0] / step)
        last = math.ceil(40 * scale) + 1 if name != "gaussian" else math.ceil(9 * scale) + 1
        k = np.arange(-last, last + 1)
        weight = np.exp(-np.abs(k) / scale) if name != "gaussian" else np.exp(-((k / scale) ** 2) / 2)
        return weight / weight.sum(), last
    ends = {
        "uniform": lambda: parameters[0],
        "staircase": lambda: parameters[1] * 40,
        "sine": lambda: sum((p ** (2 * i + 1) for i, p in enumerate(parameters)), Fraction(0)),
        "tabulated": lambda: parameters[-2],
        "logistic": lambda: parameters[0] * 34,
    }
    last = math.floor(ends[name]() / step + Fraction(1, 2)) + 1
    below = [size_below(name, parameters, float((k + Fraction(1, 2)) * step)) for k in range(last + 1)]
    sizes = np.diff([0.0, *below])
    return np.concatenate([sizes[:0:-1] / 2, sizes[:1], sizes[1:] / 2]), last


def size_below(name: str, parameters: list[Fraction], y: float) -> float:
    """P(|X| <= y), by formulas of their own."""
    p = [float(each) for each in parameters]
    if name == "uniform":
        return min(y / p[0], 1.0)
    if name == "staircase":
        epsilon, width, gamma = p
        whole, part = divmod(y / width, 1)
        first = gamma / (gamma + math.exp(-epsilon) * (1 - gamma))
        within = first * part / gamma if part < gamma else first + (1 - first) * (part - gamma) / (1 - gamma)
        return 1 - math.exp(-epsilon * whole) * (1 - (1 - math.exp(-epsilon)) * within)
    if name == "logistic":
        return math.tanh(y / p[0] / 2)
    if name == "tabulated":
        return float(np.interp(y, [0.0, *p[::2]], [0.0, *p[1::2]]))
    low, high = 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum((t * middle) ** (2 * i + 1) for i, t in enumerate(p)) < y else (low, middle)
    return 2 / math.pi * math.asin(high)


def exact(p: FloatArray, apart: int, epsilon: float) -> float:
    """max over changes of 1 to ``apart`` steps of the sum of (P(k) - e^epsilon P(k - d))+."""
    found = 0.0
    for d in range(1, min(apart, len(p)) + 1):
        q = np.concatenate([np.zeros(d), p[: len(p) - d]])
        beyond = p[len(p) - d :].sum() if d < len(p) else 1.0  # where only the other reading reports: nothing is added
        assert beyond >= 0
        with np.errstate(invalid="ignore"):
            found = max(found, float(np.sum(np.where(q > 0, np.maximum(p - math.exp(epsilon) * q, 0), p))))
    return found


def test_the_counter_examples() -> None:
    """Step 1, change 1: what the device draws tells more than the continuous law would."""
    laplace = of("laplace:1", 1, 1, (48,))
    assert laplace.delta[0.5] == pytest.approx(0.288, abs=5e-4)
    assert laplace.composed[48][5.0] >= 0.9937
    assert of("gaussian:0.5", 1, 1).delta[5.0] == pytest.approx(0.0676, abs=5e-5)
    assert guarantee(PrivacySetting.parse("laplace:1"), 1, ()).delta[0.5] == pytest.approx(0.221, abs=5e-4)
    assert guarantee(PrivacySetting.parse("laplace:1"), 2, ()).epsilon == 2, (
        "the law of d + step is no bound on epsilon"
    )
    assert guarantee(PrivacySetting.parse("gaussian:0.5"), 1, ()).delta[5.0] == pytest.approx(0.0323, abs=5e-5)


@pytest.mark.parametrize("text", MECHANISMS)
@pytest.mark.parametrize("step", ["0.001", "0.02", "0.3", "1", "3", "10"])
@pytest.mark.parametrize("change", [0.1, 1.0])
def test_one_report_is_bounded_by_the_sum_over_the_drawn_law(text: str, step: str, change: float) -> None:
    p, _ = drawn(text, Fraction(step))
    if step == "0.001" and not text.startswith(("laplace", "gaussian")):
        change /= 10  # the sum written out is over all changes
    apart = lattice_steps(change, float(step))
    found = of(text, change, float(step))
    discrete = text.startswith(("laplace", "gaussian", "uniform", "staircase"))  # there the largest change is the worst
    for epsilon in FINITE:
        if discrete:
            q = np.concatenate([np.zeros(apart), p])[: len(p)]
            least = float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0)))
        else:
            least = exact(p, apart, epsilon)
        assert found.delta[epsilon] >= least * (1 - 1e-9) - SLACK
        assert found.delta[epsilon] <= least * (1 + 2e-3) + 1e-7


def test_the_check_rejects_the_continuous_law() -> None:
    p, _ = drawn("laplace:1", Fraction(1))
    q = np.concatenate([[0.0], p[:-1]])
    least = float(np.sum(np.maximum(p - math.exp(0.5) * q, 0)))
    assert guarantee(PrivacySetting.parse("laplace:1"), 1, ()).delta[0.5] < least - SLACK


def composed_exactly(p: FloatArray, apart: int, reports: int, epsilon: float) -> float:
    """delta of n independent reports, by adding up losses one report at a time and keeping every distinct sum."""
    q = np.concatenate([np.zeros(apart), p])[: len(p)]
    infinite = float(p[q == 0].sum())
    losses: dict[float, float] = {}
    for mass, other in zip(p[q > 0], q[q > 0], strict=True):
        if mass > 1e-18:
            loss = round(math.log(mass / other), 9)
            losses[loss] = losses.get(loss, 0.0) + float(mass)
    total = {0.0: 1.0}
    for _ in range(reports):
        grown: dict[float, float] = {}
        for one, mass in total.items():
            for other, more in losses.items():
                key = round(one + other, 9)
                grown[key] = grown.get(key, 0.0) + mass * more
        total = grown
    finite = sum(mass * max(-math.expm1(epsilon - loss), 0.0) for loss, mass in total.items())
    return 1 - (1 - infinite) ** reports + finite


@pytest.mark.parametrize(
    ("text", "step", "reports"),
    [
        ("laplace:1", "1", 48),
        ("laplace:1", "0.5", 12),
        ("gaussian:0.5", "1", 6),
        ("gaussian:1", "2", 4),
        ("uniform:1", "0.3", 5),
        ("staircase:1,1,0.3", "1", 3),
        ("sine:1", "0.5", 5),
        ("tabulated:1,0.3,2,1", "1", 4),
    ],
)
def test_several_reports_are_bounded_by_every_sum_written_out(text: str, step: str, reports: int) -> None:
    p, _ = drawn(text, Fraction(step))
    found = of(text, float(step), float(step), (reports,)).composed[reports]
    for epsilon in FINITE:
        least = composed_exactly(p, 1, reports, epsilon)
        assert least * (1 - 1e-7) - SLACK <= found[epsilon] <= least * 1.01 + 1e-6
    assert found[0.5] > composed_exactly(p, 1, reports - 1, 0.5), "one report fewer is told apart"


def by_transform(p: FloatArray, apart: int, reports: int, epsilons: Sequence[float]) -> list[float]:
    """Lower bounds on delta of n reports: losses rounded down to a fine grid, added up by a transform without tilt.

    delta rises with every loss, so rounding down never raises it. The transform's window holds 30 deviations of the sum
    on either side, or all of it, and errs by rounding alone, below 1e-10 in all.
    """
    q = np.concatenate([np.zeros(apart), p])[: len(p)]
    held = (p > 0) & (q > 0)
    none_infinite = (1 - float(p[(p > 0) & (q == 0)].sum())) ** reports
    if not held.any():
        return [1 - none_infinite] * len(epsilons)
    mass = p[held]
    loss = np.log(mass) - np.log(q[held])
    deviation = math.sqrt(float(np.average((loss - np.average(loss, weights=mass)) ** 2, weights=mass))) or 1.0
    width = max(deviation / FINE, float(np.abs(loss).max()) / 2**16)
    place = np.floor(loss / width).astype(np.int64)
    span = int(np.ptp(place)) + 1
    size = 1 << min(reports * span, 2 * span + int(60 * FINE * math.sqrt(reports))).bit_length()
    sums = np.fft.irfft(np.fft.rfft(np.bincount(place % size, weights=mass, minlength=size)) ** reports, size)
    centre = round(reports * float(mass @ place) / float(mass.sum()))
    first = reports * int(place.min()) if size >= reports * span else centre - size // 2
    index = first + np.arange(size)
    sums = np.maximum(sums[index % size], 0.0)
    return [1 - none_infinite + float(sums @ -np.expm1(np.minimum(at - index * width, 0))) for at in epsilons]


def never_below(text: str, step: str, change: float, reports: Sequence[int]) -> None:
    p, _ = drawn(text, Fraction(step))
    apart = lattice_steps(change, float(step))
    setting = text if not text.startswith("geometric") else f"{text},{step}"
    found = of(setting, change, float(step), tuple(reports)).composed
    for count in reports:
        for epsilon, least in zip(FINITE, by_transform(p, apart, count, FINITE), strict=True):
            assert found[count][epsilon] >= least * (1 - 1e-6) - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("text", EVERY)
@pytest.mark.parametrize("step", ["0.001", "0.01", "0.1", "1", "10"])
@pytest.mark.parametrize("change", [0.02, 0.5])
def test_many_reports_are_never_below_the_drawn_law(text: str, step: str, change: float) -> None:
    if step == "0.001" and not text.startswith(("laplace", "gaussian", "geometric")):
        change /= 10  # the bound is then over all changes
    never_below(text, step, change, (1, 2, 48, 1440))


@pytest.mark.parametrize(
    ("text", "step"), [("laplace:1", "1"), ("gaussian:1", "0.1"), ("sine:1", "0.1"), ("geometric:1", "10")]
)
def test_a_day_and_a_month_are_never_below_the_drawn_law(text: str, step: str) -> None:
    never_below(text, step, 0.5, (48, 1440))


def test_the_sum_over_the_drawn_law_catches_the_continuous_one() -> None:
    p, _ = drawn("laplace:1", Fraction(1))
    smooth = guarantee(PrivacySetting.parse("laplace:1"), 1, (48,)).composed[48]
    assert smooth[5.0] < by_transform(p, 1, 48, [5.0])[0] - 0.01


def test_lattice_masses_are_those_of_the_device() -> None:
    for text in MECHANISMS:
        for step in ("0.1", "1", "3"):
            p, last = drawn(text, Fraction(step))
            found = lattice_masses(PrivacySetting.parse(text), float(step))
            middle = len(found) // 2
            width = min(middle, last)
            assert found[middle - width : middle + width + 1] == pytest.approx(
                p[last - width : last + width + 1], abs=1e-12
            )
            assert found.sum() == pytest.approx(1, abs=1e-12)


def test_a_change_is_counted_in_rounded_up() -> None:
    assert [lattice_steps(change, 0.1) for change in (0.3, 0.30001, 0.01, 1.0)] == [3, 4, 1, 10]
    assert rounded_up(0.21, 0.1) == 0.3
    assert of("laplace:1", 0.21, 0.1).epsilon == pytest.approx(0.3)
    assert of("laplace:1", 0.21, 0.1).sensitivity == 0.21


def test_a_finer_lattice_comes_to_the_continuous_law() -> None:
    for text in ("laplace:1", "gaussian:1", "uniform:1", "staircase:1,1,0.3", "sine:1"):
        smooth = guarantee(PrivacySetting.parse(text), 0.5, (48,))
        fine = of(text, 0.5, 1e-6, (48,))
        for epsilon in EPSILONS:
            assert fine.delta[epsilon] == pytest.approx(smooth.delta[epsilon], rel=2e-4, abs=1e-8)
            assert fine.composed[48][epsilon] == pytest.approx(smooth.composed[48][epsilon], rel=2e-3, abs=1e-8)


@pytest.mark.parametrize("text", [*MECHANISMS, "geometric:1,0.1"])
@pytest.mark.parametrize("step", [None, 0.1])
def test_a_change_beyond_all_noise_has_an_answer_or_a_reason(text: str, step: float | None) -> None:
    setting = PrivacySetting.parse(text)
    if step is not None or text.startswith("geometric"):
        with refused("option.fine", "step"):
            guarantee(setting, 1e308, (48,), step=step)
        step = 1e305
    if not text.startswith("geometric"):
        found = guarantee(setting, 1e308, (48,), step=step)
        assert [found.delta[5.0], found.composed[48][5.0]] == pytest.approx([1, 1])


def test_bad_lattices_are_refused() -> None:
    with refused("option.range", "step"):
        of("laplace:1", 1, 0.0)
    with refused("option.own", "step"):
        of("geometric:1,0.1", 1, 0.2)
    with refused("option.fine", "step"):
        lattice_masses(PrivacySetting.parse("sine:1"), 1e-9)


def test_more_reports_than_can_be_added_up_get_a_reason() -> None:
    with refused("option.many", "reports"):
        of("laplace:1", 1, 0.001, (10**12,))


@pytest.mark.parametrize("width", ["0.99999999999999", "0.999999999999999"])
def test_a_change_a_hair_wider_than_a_stair_reaches_into_the_next(width: str) -> None:
    """Reports of two readings 1 apart can differ by two stairs: epsilon 2, on the card and in the ledger."""
    assert of(f"staircase:1,{width},0.3", 1, 0.001).epsilon == 2
    assert pure(DeviceSetting.parse(f"staircase:1,{width},0.3"), "1", "0.001") == 2
    assert of("staircase:1,0.1,0.3", 0.3, 0.1).epsilon == 3
    assert pure(DeviceSetting.parse("staircase:1,0.1,0.3"), "0.3", "0.1") == 3


def test_epsilon_per_unit_is_of_a_unit_rounded_up_to_the_lattice() -> None:
    """On steps of 2 a change of 1 may move a report by 2."""
    assert per_unit(PrivacySetting.parse("laplace:5"), 2.0) == pytest.approx(0.4)
    assert of("laplace:5", 1, 2.0).epsilon == pytest.approx(0.4)
    assert spent_per_unit({("laplace:5", "2"): 3}) == pytest.approx(1.2)
