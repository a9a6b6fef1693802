"""The quietest law above both demands: certified, agreeing with the attack itself, and beaten by no known family."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halfmask.audits.quietest_law import Quietest, Reconstruction, reconstruction_floor, reconstruction_of
from halfmask.audits.score_limit import pieces, tabulated
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.attack_floor import louder
from halfmask.menus.menu import noise_std
from halfmask.protection.attacks.reconstruction import lattice_errors
from tests.choice.cases import homes, menu
from tests.generated import cases
from tests.refusals import refused

DEVIATION = 0.5
EDGES = pieces(DEVIATION**2, 2)


@cache
def quietest() -> Quietest:
    return Quietest(homes().profile, menu())


@cache
def undoing() -> Reconstruction:
    return reconstruction_of(quietest().population, EDGES, DEVIATION)


def masses(text: str) -> np.ndarray:
    """A setting's law on the pieces."""
    setting = PrivacySetting.parse(text)
    below = setting.law.cdf(np.array([setting.parameters]), EDGES)[0]
    return np.asarray(np.diff(below) / below[-1])


def error(setting: PrivacySetting) -> float:
    found = lattice_errors(setting, quietest().population)
    return found.best / found.prior


@pytest.mark.parametrize("text", ["gaussian:0.5", "uniform:0.8", "sine:0.7,0,0,0,0", "laplace:0.2"])
def test_the_share_that_is_left_is_what_the_attack_says(text: str) -> None:
    law = masses(text)
    left, found = np.sqrt(undoing().value(law)), error(tabulated(EDGES, law))
    assert left == pytest.approx(found, rel=0.02)
    assert left != pytest.approx(1.1 * found, rel=0.02)


def test_slope_and_bend_are_those_of_the_share() -> None:
    p, way = masses("gaussian:0.5"), masses("sine:0.7,0,0,0,0") - masses("gaussian:0.5")
    slope, bend = undoing().slope_and_bend(p)
    at = [undoing().value(p + step * way) for step in (-1e-3, 0.0, 1e-3)]
    assert slope @ way == pytest.approx((at[2] - at[0]) / 2e-3, rel=1e-3)
    assert -way @ bend @ way == pytest.approx((at[2] - 2 * at[1] + at[0]) / 1e-6, rel=0.02)


@cases(40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 1.0]), st.floats(0.05, 0.95))
def test_the_share_is_concave_between_0_and_1(seed: int, shape: float, part: float) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.dirichlet(np.full(len(EDGES) - 1, shape), 2) + 1e-12
    between = undoing().value(part * one + (1 - part) * other)
    assert between >= part * undoing().value(one) + (1 - part) * undoing().value(other) - 1e-9
    assert -1e-9 <= between <= 1


@pytest.mark.parametrize(("privacy", "least"), [(0.3, 0.3), (0.45, 0.1), (0.1, 0.6)])
def test_the_quietest_law_keeps_both_demands_and_its_certificate(privacy: float, least: float) -> None:
    law = quietest().law(privacy, least, 1.0)
    assert law is not None
    score = quietest().scale.score(law.edges)
    assert score.value(law.masses) >= privacy
    assert reconstruction_of(quietest().population, law.edges, 1.0).value(law.masses) >= least**2
    assert law.masses.sum() == pytest.approx(1, abs=1e-9)
    assert 0.995 * law.variance <= law.lower_bound <= law.variance


@pytest.mark.parametrize(("privacy", "least"), [(0.3, 0.3), (0.1, 0.6)])
def test_no_known_family_is_quieter(privacy: float, least: float) -> None:
    law = quietest().law(privacy, least, 1.0)
    assert law is not None
    for name, ending in (("laplace", ""), ("gaussian", ""), ("uniform", ""), ("sine", ",0,0,0,0")):
        sizes = np.geomspace(0.05, 8, 16)
        each = [PrivacySetting.parse(f"{name}:{size!r}{ending}") for size in sizes.tolist()]
        kept = [one for one in each if quietest().scale.privacy(one) >= privacy and error(one) >= least]
        assert min(noise_std(one) or 0 for one in kept) ** 2 >= law.lower_bound


def test_a_proposal_is_a_setting_that_does_what_it_says() -> None:
    setting, law = quietest().setting(0.42, 0.4, 1.0), quietest().law(0.42, 0.4, 1.0)
    assert setting is not None
    assert law is not None
    assert len(setting.parameters) <= 80
    assert quietest().scale.privacy(setting) == pytest.approx(0.42, abs=2e-3)
    assert error(setting) == pytest.approx(0.4, abs=5e-3)
    assert noise_std(setting) == pytest.approx(law.variance**0.5, rel=0.02)


def test_what_cannot_be_had_is_not_proposed() -> None:
    assert quietest().setting(0.3, 0.999, 0.01) is None


def test_the_floor_measures_the_attack_and_is_checked() -> None:
    floor = reconstruction_floor(homes().profile, menu(), 0.3)
    weak, strong = PrivacySetting.parse("laplace:0.01"), PrivacySetting.parse("laplace:5")
    assert floor.measure(weak) == pytest.approx(error(weak))
    assert floor.short(weak) > 0 > floor.short(strong)
    raised = louder(weak, floor)
    assert raised is not None
    assert 0 <= floor.measure(raised) - 0.3 < 0.01
    for wrong in (0.0, 1.0, -0.1, float("nan")):
        with refused("option.floor"):
            reconstruction_floor(homes().profile, menu(), wrong)
