"""Settings as people type them, and what is said of their protection."""

import pytest

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.promise import default_question
from halfmask.pages.explore.explorer import _protected, typed
from tests.menus.cases import street


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


def test_protection_names_guess_epsilon_change_window_and_delta() -> None:
    asked = default_question(street().profile)
    told = _protected(PrivacySetting.parse("laplace:0.5"), street().profile)
    assert f"Epsilon is {asked.change / 0.5:.3g} " in told
    assert asked.words() in told
    assert "hides next to nothing" not in told
    assert "hides next to nothing" in _protected(PrivacySetting.parse("laplace:0.001"), street().profile)
    assert "no finite epsilon" in _protected(PrivacySetting.parse("sine:0.5"), street().profile)
