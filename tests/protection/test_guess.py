"""The best guess of many settings at once, beside that of each alone."""

import numpy as np
import pytest

from halfmask.mechanisms.setting import PrivacySetting
from halfmask.protection.evidence import population_of
from halfmask.protection.guess import guess_error, guess_errors
from tests.choice.cases import homes

SIZES = np.geomspace(1e-4, 30, 12)


@pytest.mark.parametrize("name", ["laplace", "gaussian", "uniform", "sine"])
def test_many_at_once_agree_with_one_by_one(name: str) -> None:
    people = population_of(homes().profile)
    together = guess_errors(name, SIZES[:, None], people)
    alone = np.array([guess_error(PrivacySetting(name, (size,)), people) for size in SIZES.tolist()])
    assert together == pytest.approx(alone, abs=0.04)
    assert np.corrcoef(together, alone)[0, 1] > 0.998
    assert together != pytest.approx(np.minimum(1.2 * alone, 1), abs=0.04), "a fifth more would be seen"


def test_from_nothing_to_all() -> None:
    people = population_of(homes().profile)
    found = guess_errors("laplace", np.array([[0.0], [1e-9], [1e9]]), people)
    assert found[0] == 0
    assert 0 < found[1] < 1e-6
    assert found[2] == pytest.approx(1, abs=0.01)
    assert np.isnan(guess_errors("round", np.array([[1.0]]), people)).all()
    assert np.isnan(guess_error(PrivacySetting.parse("clip:0,1/laplace:1"), people))
    assert guess_error(PrivacySetting("laplace", (1e200,)), people) == 1
