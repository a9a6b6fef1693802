"""Settings as people type them, and what is said of their protection."""

from functools import cache
from pathlib import Path

import pytest

from halfmask.figures.results_folder import ResultsFolder
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.offer import offer
from halfmask.pages.explore.explorer import typed
from halfmask.pages.explore.view_protection import Protecting
from halfmask.pages.page_numbers import percent
from halfmask.protection.evidence import evidence_from_panel
from tests.menus.cases import QUESTION, street, studied


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("laplace 0.5", "laplace:0.5"),
        (" sine 1, 0.5 ", "sine:1, 0.5"),
        ("laplace:0.5", "laplace:0.5"),
        ("none", "none"),
    ],
)
def test_a_space_does_for_the_colon(text: str, wanted: str) -> None:
    assert PrivacySetting.parse(typed(text)) == PrivacySetting.parse(wanted)


@cache
def offered() -> ResultsFolder:
    """The street's offer, whose levels say who is recognised."""
    seen = evidence_from_panel(street().panel, street().profile)
    made = offer(street().profile, studied(), question=QUESTION, evidence=seen).menu
    return ResultsFolder(Path("street"), "street", street().profile, None, None, None, None, offer=made)


def test_protection_names_guess_epsilon_change_window_and_delta() -> None:
    protect = Protecting(offered(), street().profile)
    told = protect.words(PrivacySetting.parse("laplace:0.5"))
    assert f"Epsilon is {QUESTION.change / 0.5:.3g} " in told
    assert QUESTION.words() in told
    assert "hides next to nothing" not in told
    assert "hides next to nothing" in protect.words(PrivacySetting.parse("laplace:0.001"))
    assert "no finite epsilon" in protect.words(PrivacySetting.parse("sine:0.5"))


def test_recognition_of_a_typed_setting_is_that_of_noise_of_its_deviation() -> None:
    inputs = offered()
    protect = Protecting(inputs, street().profile)
    assert inputs.offer is not None
    for each in inputs.offer.settings:
        assert each.protection is not None
        assert protect.of(each.setting).recognised == pytest.approx(each.protection.recognised)
    low, high = inputs.offer.settings[:2]
    between = PrivacySetting("laplace", ((low.setting.parameters[0] + high.setting.parameters[0]) / 2,))
    shares = [each.protection.recognised for each in (low, high) if each.protection]
    assert protect.of(between).recognised == pytest.approx(sum(filter(None, shares)) / 2)
    assert "are recognised from one masked day" in protect.words(between)
    assert protect.of(PrivacySetting.parse("relative-laplace:0.1")).recognised is None


def test_a_mix_has_the_protection_of_those_in_it() -> None:
    inputs = offered()
    protect = Protecting(inputs, street().profile)
    menu = inputs.offer
    assert menu is not None
    told = protect.mixed(menu, {"L1": 0.25, "L4": 0.25, "N": 0.5})
    guesses = [menu[id].protection.guess for id in ("L1", "L4")]  # type: ignore[union-attr]
    assert f"errs by {percent(sum(filter(None, guesses)) / 4)} of guessing" in told
    assert "of 50 % of users next to nothing is hidden" in told
    assert f"50 % of users have an epsilon, of up to {menu['L1'].protection.window:.3g} {QUESTION.words()}" in told  # type: ignore[union-attr]
    assert "Nobody has a finite epsilon" in protect.mixed(menu, {"N": 1.0})
