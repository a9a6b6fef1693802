"""All attacks together: any setting, any evidence, the same numbers for the same seed, and JSON that anybody reads."""

import json
import math
from functools import partial, update_wrapper

import pytest

from halfmask.data.open_panel import open_panel
from halfmask.plain import to_plain
from halfmask.profiles.build import build_profile
from halfmask.protection.attacks import ATTACKS, Finding, attack
from halfmask.protection.attacks.averaging import WEEK
from halfmask.protection.attacks.seeds import guessable_seed
from halfmask.protection.evidence import Evidence, evidence_from_panel, evidence_from_profile
from tests.evaluation.direct_cases import household
from tests.protection.attack_cases import evidence_of, homes, household_population, setting
from tests.real_data import SWISS, needs_data

SETTINGS = [
    "none",
    "laplace:0.5",
    "sine:0.9,0.3,0.6,0.6,0.3",
    "gaussian:0.5",
    "uniform:1",
    "staircase:1,0.5,0.3",
    "geometric:0.5,0.01",
    "relative-laplace:0.3",
    "relative-gaussian:0.3",
    "tabulated:0.5,0.3,1,1",
    "round:0.5",
    "microaggregate:3",
    "clip:0,2",
    "clip:0,2/laplace:0.5",
    "laplace:0",
    "laplace:1e-12",
    "laplace:1e12",
    "laplace:1e200",
]


def findings(text: str, evidence: Evidence, seed: int = 1) -> list[Finding]:
    """What `attack` finds, with fewer seeds to try."""
    few = update_wrapper(partial(guessable_seed, seeds=50), guessable_seed)  # attacks go by their names
    return attack(setting(text), evidence, seed, attacks=[few if each is guessable_seed else each for each in ATTACKS])


@pytest.mark.parametrize(
    ("text", "source"),
    [(text, source) for source in ("readings", "totals") for text in SETTINGS]
    + [(text, "signed") for text in ("laplace:0.5", "relative-laplace:0.3", "round:0.5")],
)
def test_every_attack_answers_for_every_setting(text: str, source: str) -> None:
    if source == "readings":
        evidence = evidence_of(homes(users=16, days=4))
    else:
        evidence = evidence_from_profile(household(users=12, days=20, signed=source == "signed").profile)
    found = findings(text, evidence)
    assert [each.name for each in found] == [
        *("averaging", "support intersection", "smoothing", "reconstruction"),
        *("reidentification-day", "reidentification-half"),
        *("own-total-day", "own-total-week", "own-total-month", "quietest-week", "presence", "peak"),
        *("floating point", "guessable seed", "colour"),
    ]
    for each in found:
        plain = to_plain(each)
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain
        assert each.words.endswith(".")
        assert (each.value is None) == each.words.startswith(("Does not apply", "Not measured"))
        assert "nan" not in each.words
        if each.value is not None:
            assert each.value >= 0


def test_numbers_that_are_not_finite_become_null() -> None:
    found = Finding(
        "a", "b", math.nan, math.inf, "c.", {"d": [1, math.inf], "e": {"f": -math.inf}, "g": "h", "i": True}
    )
    assert to_plain(found) == {
        **{"name": "a", "metric": "b", "value": None, "baseline": None, "words": "c."},
        "details": {"d": [1, None], "e": {"f": None}, "g": "h", "i": True},
        **{"low": None, "high": None},
    }


def test_attack_repeats_itself_and_tells_how_far_it_is() -> None:
    evidence, steps = evidence_of(homes(users=10, days=4)), []
    found = attack(setting("round:0.5"), evidence, 7, lambda done, of: steps.append((done, of)))
    assert to_plain(found) == [to_plain(each) for each in attack(setting("round:0.5"), evidence, 7)]
    assert steps == [(number + 1, len(ATTACKS)) for number in range(len(ATTACKS))]


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (2, 3), (9, 9)])
def test_little_evidence_is_no_trouble(shape: tuple[int, int]) -> None:
    evidence = evidence_of(homes(users=9, days=5)[: shape[0], : shape[1]], household_population())
    for text in ("laplace:0.5", "microaggregate:2", "relative-gaussian:0.3"):
        assert all(each.words.endswith(".") for each in findings(text, evidence))


def test_another_seed_gives_other_draws_and_like_findings() -> None:
    evidence = evidence_of(homes(users=30, days=4))
    one, other = findings("laplace:0.5", evidence, 1), findings("laplace:0.5", evidence, 2)
    assert one[2].value != other[2].value
    assert one[2].value == pytest.approx(other[2].value, rel=0.25)
    assert one[3].value == other[3].value  # no chance in it


@pytest.mark.slow
@needs_data
def test_swiss_households() -> None:
    panel = open_panel(SWISS)
    profile = build_profile(panel)
    evidence = evidence_from_panel(panel, profile)
    assert evidence.series.shape[0] == 500
    found = {each.name: each for each in attack(setting("laplace:0.5"), evidence, 7)}
    values = {name: each.value for name, each in found.items() if each.value is not None}
    assert found["averaging"].details["mean_law"][WEEK] == pytest.approx(0.0685, rel=0.01)
    assert values["averaging"] == pytest.approx(0.0685 / 2**0.5, rel=0.19)  # the median of 128 trials, 3 deviations
    assert values["smoothing"] == pytest.approx(0.40, abs=0.03)
    assert values["reconstruction"] == pytest.approx(0.358, abs=0.01)
    for name, known in (  # what docs/protection.md prints: if an attack changes, so must the table
        ("reidentification-day", 0.508),
        ("reidentification-half", 0.816),
        ("own-total-day", 0.0688),
        ("own-total-month", 0.0146),
        ("quietest-week", 0.832),
        ("presence", 0.881),
        ("peak", 0.449),
    ):
        assert values[name] == pytest.approx(known, rel=0.02), name
    assert values["floating point"] > 0.4
    assert values["guessable seed"] == 1
    assert values["colour"] == 1
