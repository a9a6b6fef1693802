"""Two menus or studies on common normalisers."""

from dataclasses import replace

import numpy as np
import pytest

from halfmask.errors import OptionError
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights
from halfmask.menus.compare import Compared, compare
from halfmask.menus.optimize import optimize
from halfmask.menus.placed import place
from tests.choice.cases import TOP, samples, study_of
from tests.menus.cases import street, studied


def test_studies_are_compared_on_the_larger_of_their_normalisers() -> None:
    """The same errors under other company: alone, each study would call its own largest error 1."""
    quiet = study_of({"laplace:1": samples([0.3], [0.9]), "laplace:2": samples([0.5], [0.8])})
    loud = study_of({**TOP, "gaussian:1": samples([0.3], [0.8]), "gaussian:2": samples([0.5], [0.85])})
    found = compare(quiet, loud, bins=5, names=("quiet", "loud"))
    assert list(found.normalisers) == list(METRICS)
    rounds = {each.bin: each for each in found.rounds}
    assert rounds[0.2, 0.4].winner == 0
    assert rounds[0.4, 0.6].winner == 1
    assert rounds[0.8, 1.0].winner == 1  # only the loud study has a setting there
    assert rounds[0.0, 0.2].winner is None
    assert rounds[0.2, 0.4].best[0].utility.median == pytest.approx(0.9)  # type: ignore[union-attr]
    assert "quiet wins 1, loud 2 of 5" in found.notes()[0]
    swapped = compare(loud, quiet, bins=5)
    assert [each.winner for each in swapped.rounds] == [
        None if w is None else 1 - w for w in (e.winner for e in found.rounds)
    ]


def test_a_study_compared_with_itself_is_equal_everywhere() -> None:
    found = compare(studied(), studied())
    assert all(each.winner is None for each in found.rounds)
    assert any(each.best != (None, None) for each in found.rounds)


def test_menus_are_evaluated_on_the_profile_with_common_normalisers() -> None:
    few, many = optimize(studied("laplace:b=0.05|0.1|0.5")).menu, optimize(studied()).menu
    found = compare(few, many, profile=street().profile, names=("few", "many"))
    largest = np.maximum(few.largest, many.largest)
    placed = place([each.setting for each in many.settings[:-1]], street().profile, few, largest)
    seen = {each.best[1].setting: each.best[1] for each in found.rounds if each.best[1]}
    assert seen
    for setting, standing in seen.items():
        assert standing.privacy == placed[setting].privacy
    assert found.rows()[0][0] == "privacy"


def swapped(found: Compared) -> list[tuple[object, object, object]]:
    """The rounds as they would stand with the sides exchanged."""
    return [(each.best[1], each.best[0], None if each.winner is None else 1 - each.winner) for each in found.rounds]


def test_the_order_of_two_menus_changes_nothing() -> None:
    """Nor where they were made with other weights, or on other samples: that is asked for, or said."""
    one, other = optimize(studied("laplace:b=0.05|0.1|0.5")).menu, optimize(studied()).menu
    weighted = replace(other, weights=Weights((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))
    people = street().profile
    for pair in ((one, weighted), (weighted, one)):
        with pytest.raises(OptionError, match=r"weigh errors differently.*name `weights`"):
            compare(*pair, profile=people)
    resampled = replace(weighted, provenance={**weighted.provenance, "seed": weighted.provenance["seed"] + 1})
    there = compare(one, resampled, profile=people, weights=Weights(), names=("one", "other"))
    back = compare(resampled, one, profile=people, weights=Weights(), names=("other", "one"))
    assert [(*each.best, each.winner) for each in back.rounds] == swapped(there)
    assert there.samples == back.samples
    assert there.samples is not None
    assert "both are scored with the weights 0.2,0.4,0.4,0.6,0.2,0.2" in there.notes()
    assert any("different samples" in told for told in back.notes())
    assert compare(one, other, profile=people).samples is None


def test_a_setting_on_the_edge_of_a_level_is_in_it_though_its_score_trembles() -> None:
    """A refined setting of 0.20000016 was evaluated again, in other company, as 0.19999976, and lost its level."""
    for edge, level in ((0.2 - 4e-7, (0.2, 0.4)), (0.2 + 4e-7, (0.2, 0.4)), (0.199, (0.0, 0.2)), (1.0, (0.8, 1.0))):
        study = study_of({**TOP, "laplace:1": samples([edge], [0.9])})
        bare = study_of(TOP)
        found = compare(study, bare, bins=5)
        held = [each.bin for each in found.rounds if each.best[0] and str(each.best[0].setting) == "laplace:1"]
        assert held == [level]


def test_what_cannot_be_compared_says_why() -> None:
    made = optimize(studied()).menu
    with pytest.raises(OptionError, match="profile"):
        compare(made, studied())
    table, about = studied()
    with pytest.raises(OptionError, match="differ in error"):
        compare((table, about), (table, {**about, "error": "scaled"}))
