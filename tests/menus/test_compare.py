"""Two menus or studies on common normalisers."""

from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights, privacy
from halfmask.mechanisms.grid import grid
from halfmask.menus.compare import EDGE, Compared, compare
from halfmask.menus.menu_scale import FRESH, afresh, evaluated
from halfmask.menus.objective_difference import ObjectiveDifference
from halfmask.menus.optimize import optimize
from tests.choice.cases import TOP, as_read, samples, study_of
from tests.menus.cases import street, studied
from tests.refusals import refused

GRIDS = "laplace:b=0.02..3/0.02;sine:k=2,values=0.3|0.6|0.9|1.2"
PEAKED = ";".join(f"sine:0,0,0,0,{number / 100}" for number in range(31, 180, 2))
AROUND = np.linspace(-0.01, 0.01, 8)


def around(privacy: float, utility: float) -> list[list[float]]:
    """Eight samples close to these scores."""
    return samples(privacy + AROUND, utility + AROUND[::-1])


TOP8 = {"gaussian:9": samples([1.0] * 8, [0.0] * 8)}


@cache
def drawn(seed: int, text: str = GRIDS) -> tuple[pa.Table, dict[str, Any]]:
    """A study of the street under a seed."""
    homes = street().profile
    tried = Experiment.on(homes, sizes="50,100,150,all", repeats=5, seed=seed)
    return as_read(evaluate_grid(homes, grid(text), tried))


def test_studies_are_compared_on_the_larger_of_their_normalisers() -> None:
    """The same errors under other company: alone, each study would call its own largest error 1."""
    quiet = study_of({"laplace:1": around(0.3, 0.9), "laplace:2": around(0.5, 0.8)})
    loud = study_of({**TOP8, "gaussian:1": around(0.3, 0.8), "gaussian:2": around(0.5, 0.85)})
    found = compare(quiet, loud, bins=5, names=("quiet", "loud"))
    assert list(found.normalisers) == list(METRICS)
    rounds = {each.bin: each for each in found.rounds}
    assert rounds[0.2, 0.4].verdict == "first wins"
    assert rounds[0.4, 0.6].verdict == "second wins"
    assert rounds[0.8, 1.0].verdict == "no contender"  # only the loud study has a setting there
    assert rounds[0.0, 0.2].verdict == "no contender"
    one = rounds[0.2, 0.4]
    assert one.best[0].utility.median == pytest.approx(0.9)  # type: ignore[union-attr]
    assert one.difference is not None
    assert one.difference.value == pytest.approx(0.2)  # of the objective: median and 10th percentile, 0.1 each
    assert "quiet wins 1, loud 1 of 5" in found.notes()[0]
    assert [each.verdict for each in compare(loud, quiet, bins=5).rounds] == mirrored(found)


def mirrored(found: Compared) -> list[str]:
    """The verdicts as they are with the sides exchanged."""
    other = {"first wins": "second wins", "second wins": "first wins"}
    return [other.get(each.verdict, each.verdict) for each in found.rounds]


def test_a_difference_keeps_its_sign_and_decides() -> None:
    """A higher median with a lower objective does not win: the difference is of what decides."""
    low, high = [0.5] * 3 + [0.8] * 5, [0.7] * 3 + [0.79] * 5
    one = study_of({**TOP8, "laplace:1": samples([0.3] * 8, low)})
    other = study_of({**TOP8, "gaussian:1": samples([0.3] * 8, high)})
    (contest,) = (each for each in compare(one, other).rounds if each.bin == (0.2, 0.4))
    assert contest.best[0].utility.median > contest.best[1].utility.median  # type: ignore[union-attr]
    plain = contest.to_json()
    assert plain["difference"] == pytest.approx(-0.19)
    assert plain["low"] < plain["difference"] < plain["high"]
    assert plain["verdict"] == contest.verdict
    assert contest.winner != 0


def test_one_sample_names_no_winner() -> None:
    one, other = (study_of({**TOP, "laplace:1": samples([0.3], [u])}) for u in (0.9, 0.1))
    contest = compare(one, other).rounds[1]
    assert contest.difference == ObjectiveDifference(pytest.approx(1.6), None, None)
    assert contest.verdict == "no difference"


def test_less_privacy_does_not_win_a_level() -> None:
    """More utility for less privacy is a trade, if the less private side has nothing as private that is better."""
    here, there = {"laplace:1": around(0.25, 0.9)}, {"gaussian:1": around(0.3, 0.8)}
    found = compare(study_of({**TOP8, **here}), study_of({**TOP8, **there})).rounds[1]
    assert found.verdict == "trade"
    assert found.difference is not None
    assert found.difference.low is not None
    assert found.difference.low > 0
    further = {**here, "laplace:2": around(0.31, 0.85)}
    found = compare(study_of({**TOP8, **further}), study_of({**TOP8, **there})).rounds[1]
    assert found.verdict == "first wins"
    assert str(found.best[0].setting) == "laplace:2"  # type: ignore[union-attr]


def test_a_study_compared_with_itself_is_equal_everywhere() -> None:
    found = compare(studied(), studied())
    assert found.paired
    assert {each.verdict for each in found.rounds} <= {"no difference", "no contender"}
    assert any(each.best != (None, None) for each in found.rounds)


def test_seeds_of_one_grid_do_not_win_over_each_other() -> None:
    """Six seeds, as studies and as menus: every win would be false."""
    studies = [drawn(seed) for seed in range(6)]
    menus = [optimize(each).menu for each in studies]
    found = [compare(*pair) for pair in combinations(studies, 2)]
    found += [compare(*pair, profile=street().profile) for pair in pairwise(menus)]
    assert [each.paired for each in found] == [False] * 15 + [True] * 5
    contested = [each for one in found for each in one.rounds if each.difference]
    assert len(contested) > 75
    assert sum(each.winner is not None for each in contested) <= 0.05 * len(contested)
    values = [abs(each.difference.value) for each in contested if each.difference]
    assert max(values) > 0.05, "differences there are"
    for each in contested:
        assert each.difference is not None
        assert each.difference.low is not None
        assert each.difference.high is not None
        assert each.difference.low <= each.difference.value <= each.difference.high


def test_a_better_menu_wins() -> None:
    """The ninth power of a sine is near 0 most of the time: it hides less than Laplace noise as loud."""
    better, worse = drawn(1, "laplace:b=0.02..3/0.02"), drawn(2, PEAKED)
    for one, other, profile, wins in (
        (better, worse, street().profile, 2),
        (optimize(better).menu, optimize(worse).menu, street().profile, 2),
        (better, worse, None, 1),
    ):
        found = compare(one, other, profile=profile)
        verdicts = [each.verdict for each in found.rounds]
        assert verdicts.count("first wins") >= wins
        assert "second wins" not in verdicts
        for each in found.rounds:
            if each.winner is not None:
                assert each.best[0].privacy.median >= each.best[1].privacy.median - EDGE  # type: ignore[union-attr]


def test_menus_are_evaluated_on_fresh_subsets_with_common_normalisers() -> None:
    few, many = optimize(studied("laplace:b=0.05|0.1|0.5")).menu, optimize(studied()).menu
    found = compare(few, many, profile=street().profile, names=("few", "many"))
    largest = np.maximum(few.largest, many.largest)
    assert found.paired
    assert found.samples == (2 * FRESH, 2 * FRESH)
    made = afresh(few.provenance, many.provenance)
    assert made["seed"] not in (few.provenance["seed"], many.provenance["seed"])
    laws, metrics = evaluated([each.setting for each in many.settings[:-1]], street().profile, made)
    medians = dict(zip(laws, np.median(privacy(metrics, largest, Weights()), axis=1), strict=True))
    seen = {each.best[1].setting: each.best[1] for each in found.rounds if each.best[1]}
    assert seen
    for setting, standing in seen.items():
        assert standing.privacy.median == pytest.approx(medians[setting], abs=1e-5)
    assert found.rows()[0][0] == "privacy"


def test_the_order_of_two_menus_changes_nothing() -> None:
    """Nor does it if they were made with other weights, or on other samples."""
    one, other = optimize(studied("laplace:b=0.05|0.1|0.5")).menu, optimize(studied()).menu
    weighted = replace(other, weights=Weights((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)))
    people = street().profile
    for pair in ((one, weighted), (weighted, one)):
        with refused("option.weights", "weights"):
            compare(*pair, profile=people)
    resampled = replace(weighted, provenance={**weighted.provenance, "seed": weighted.provenance["seed"] + 1})
    there = compare(one, resampled, profile=people, weights=Weights(), names=("one", "other"))
    back = compare(resampled, one, profile=people, weights=Weights(), names=("other", "one"))
    assert [each.verdict for each in back.rounds] == mirrored(there)
    for a, b in zip(there.rounds, back.rounds, strict=True):
        assert [None if each is None else each.setting for each in a.best] == [
            None if each is None else each.setting for each in reversed(b.best)
        ]
        if a.difference and b.difference:
            assert a.difference.value == pytest.approx(-b.difference.value, abs=1e-9)
    assert "0.2,0.4,0.4,0.6,0.2,0.2" in there.notes()[1]


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
    with refused("option.profile"):
        compare(made, studied())
    table, about = studied()
    with refused("option.unlike"):
        compare((table, about), (table, {**about, "error": "scaled"}))
