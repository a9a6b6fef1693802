"""Many reports together: against laws whose sum of losses is known exactly, always from above."""

import math
from dataclasses import replace

import numpy as np
import pytest

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.guarantees.composition import LossDistribution, loss_distribution
from halfmask.protection.guarantees.continuous_noise import loss_cells
from halfmask.protection.guarantees.lattice_noise import lattice_loss_cells
from tests.audits import laws
from tests.statistics import mean_within

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0)


def one_report(text: str, change: float, largest: float = math.inf) -> LossDistribution:
    return loss_distribution([loss_cells(PrivacySetting.parse(text), change, largest)], largest)


def lattice_report(scale: int, change: int) -> LossDistribution:
    found = lattice_loss_cells(PrivacySetting.parse(f"laplace:{scale}"), 1.0, change)
    assert found is not None
    return loss_distribution([found], change / scale)


def is_bound(found: float, exact: float, slack: float = 2e-3) -> bool:
    """Whether ``found`` is an upper bound, and a close one."""
    return exact - 1e-11 <= found <= exact * (1 + slack) + 1e-8


@pytest.mark.parametrize(("sigma", "reports"), [(1.0, 1), (10.0, 48), (30.0, 1440), (100.0, 17520), (300.0, 17520)])
def test_gaussian_reports_add_up_as_known(sigma: float, reports: int) -> None:
    found = one_report(f"gaussian:{sigma:g}", 1.0).composed(reports)
    exact = {e: laws.gaussian(e, math.sqrt(reports) / sigma) for e in EPSILONS}
    assert all(is_bound(found.delta(e), exact[e]) for e in EPSILONS), exact


@pytest.mark.parametrize("reports", [10**5, 10**7])
def test_the_rounding_of_very_many_reports_is_allowed_for(reports: int) -> None:
    """A coin that lies a little, so often that the sum of losses is binomial and known.

    The power of a transform rounds by more the more reports there are: an allowance of 1e-12 is too little for some.
    """
    loss = 0.9 / math.sqrt(reports)
    true = 1 / (1 + math.exp(-loss))
    one = LossDistribution(loss, -1, np.array([1 - true, 0.0, true]), 0.0)
    middle, reach = round(reports * true), round(10 * math.sqrt(reports))
    k = np.arange(middle - reach, middle + reach)
    ratio = np.log((reports - k[:-1]) / (k[1:])) + loss
    weight = np.exp(np.append(0.0, np.cumsum(ratio)) - np.cumsum(ratio).max())
    weight /= weight.sum()
    found, short = one.composed(reports), []
    for epsilon in np.arange(0.0, 5.5, 0.25).tolist():
        exact = float(weight @ np.maximum(-np.expm1(epsilon - loss * (2 * k - reports)), 0.0))
        assert exact * (1 - 1e-9) <= found.delta(epsilon) <= exact * 1.001
        short.append(replace(found._plain, rounding=1e-12).delta(epsilon) < exact * (1 - 1e-6))
    assert any(short) == (reports == 10**7), "the check can fail"


def optimistic(loss: LossDistribution) -> LossDistribution:
    """The same with every loss moved down a step."""
    return replace(loss, first=loss.first - 1)


def test_rounding_losses_down_is_caught() -> None:
    wrong = optimistic(one_report("gaussian:100", 1.0)).composed(17520)
    exact = {e: laws.gaussian(e, math.sqrt(17520) / 100) for e in EPSILONS}
    assert not any(is_bound(wrong.delta(e), exact[e]) for e in EPSILONS if e < 5)


def lattice_losses(scale: int, change: int) -> dict[int, float]:
    """The loss of discrete Laplace noise of ``scale`` steps, in units of 1/scale, and its probability."""
    a = math.exp(-1 / scale)
    losses: dict[int, float] = {}
    for k in range(-60 * scale, 60 * scale + 1):
        loss = abs(k - change) - abs(k)
        losses[loss] = losses.get(loss, 0.0) + (1 - a) / (1 + a) * a ** abs(k)
    return losses


def convolved(losses: dict[int, float], reports: int) -> dict[int, float]:
    total = {0: 1.0}
    for _ in range(reports):
        grown: dict[int, float] = {}
        for one, p in total.items():
            for other, q in losses.items():
                grown[one + other] = grown.get(one + other, 0.0) + p * q
        total = grown
    return total


@pytest.mark.parametrize(("scale", "change"), [(4, 1), (7, 3), (10, 10)])
def test_lattice_reports_against_every_sum_written_out(scale: int, change: int) -> None:
    pure = change / scale
    found = lattice_report(scale, change).composed(6)
    total = convolved(lattice_losses(scale, change), 6)
    for e in (0.0, 0.1, 0.5, 1.0):
        exact = sum(p * max(-math.expm1(e - loss / scale), 0) for loss, p in total.items())
        assert is_bound(found.delta(e), exact)
    assert found.delta(6 * pure) == 0


def test_laplace_reports_against_a_convolution_on_a_fine_grid() -> None:
    """The loss of one report is d/b or -d/b, or d/b - 2x/b for noise x between 0 and d; here on a grid of 2^-14."""
    width, reports = 2.0**-14, 8
    pure = round(0.1 / width) * width
    inner = (np.arange(1, 2 * round(pure / width), 1) - round(pure / width)) * width
    masses = np.concatenate([[math.exp(-pure) / 2], np.exp(-(pure - inner) / 2) * width / 4, [0.5]])
    masses /= masses.sum()
    total = np.ones(1)
    for _ in range(reports):
        total = np.convolve(total, masses)
    losses = (np.arange(len(total)) - len(total) // 2) * width
    found = one_report("laplace:1", pure, pure).composed(reports)
    for e in (0.0, 0.1, 0.3, 0.5):
        exact = float(np.sum(total * np.maximum(-np.expm1(e - losses), 0)))
        assert found.delta(e) == pytest.approx(exact, rel=1e-3)


def sine_losses(theta: tuple[float, ...], change: float, shape: tuple[int, int], seed: int) -> laws.FloatArray:
    """Losses of drawn reports, from the density 1/(pi P'(x) sqrt(1 - x^2)) at psi = P(x); infinite out of reach."""
    powers = 2 * np.arange(len(theta)) + 1
    noise = np.polynomial.Polynomial(np.insert(np.array(theta) ** powers, np.arange(len(theta)), 0.0))
    grid = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 2**18))
    x = np.sin(2 * np.pi * np.random.default_rng(seed).random(shape))
    z = np.clip(np.interp(noise(x) - change, noise(grid), grid), -1 + 1e-14, 1 - 1e-14)
    height_x, height_z = (1 / (noise.deriv()(each) * np.sqrt(1 - each**2)) for each in (x, z))
    return np.where(np.abs(noise(x) - change) < noise(1.0), np.log(height_x / height_z), np.inf)


def test_a_day_of_sine_reports_against_days_drawn() -> None:
    theta = (1.2, 0.3, 1.2, 1.5, 1.5)
    found = one_report("sine:" + ",".join(map(str, theta)), 0.1).composed(48).delta(1.0)
    days = sine_losses(theta, 0.1, (40_000, 48), seed=6).sum(axis=1)
    drawn = -np.expm1(np.minimum(1.0 - days, 0))
    assert mean_within(drawn, found, tests=2)
    assert not mean_within(drawn, found * 1.1, tests=2)
    assert not mean_within(drawn, found / 1.1, tests=2)


def test_infinite_losses_are_exact_however_likely() -> None:
    for share in (0.05, 0.5, 0.9999, 1 - 1e-15, 1.0):
        loss = LossDistribution(0.1, 0, np.array([1 - share]), share)
        for reports in (1, 48, 17520):
            exact = 1 - (1 - share) ** reports
            assert loss.composed(reports).delta(1.0) == pytest.approx(exact, abs=1e-12)


def test_epsilon_at_undoes_delta() -> None:
    found = one_report("gaussian:50", 1.0).composed(1440)
    for delta in (1e-6, 1e-3, 0.1):
        assert found.delta(found.epsilon_at(delta)) == pytest.approx(delta, rel=1e-6)
    assert one_report("uniform:1", 0.1).composed(2).epsilon_at(0.09) == math.inf
    assert one_report("laplace:1", 0.1, 0.1).composed(3).epsilon_at(1e-300) == pytest.approx(0.3)


def test_several_changes_are_bounded_together() -> None:
    """Neither of these two is the worse at every epsilon; the bound is above both and not above their sum."""
    wide, narrow = (loss_cells(PrivacySetting.parse(text), 0.3) for text in ("gaussian:1", "uniform:10"))
    both = loss_distribution([wide, narrow])
    assert wide.delta(0.0) > narrow.delta(0.0)
    assert wide.delta(5.0) < narrow.delta(5.0)
    for reports in (1, 48):
        worst = both.composed(reports)
        single = [loss_distribution([one]).composed(reports) for one in (wide, narrow)]
        for e in EPSILONS:
            apart = [one.delta(e) for one in single]
            assert max(apart) - 1e-9 <= worst.delta(e) <= sum(apart) + 1e-3
