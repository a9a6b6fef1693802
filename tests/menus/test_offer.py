"""The menu one can sign: each level is what it says when readings are masked, and is a menu wherever one is taken."""

import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from halfmask.audits.audit import audit_menu
from halfmask.audits.card_sentences import HIGH_SCORE
from halfmask.audits.quietest_law import reconstruction_floor
from halfmask.choice.mix import mix
from halfmask.errors import OptionError
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.figures.results_folder import ResultsFolder
from halfmask.mechanisms.grid import grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.least_noise import least_noise
from halfmask.menus.menu import Menu, menu_json
from halfmask.menus.menu_requirements import Demand
from halfmask.menus.menu_table import protection_cells
from halfmask.menus.offer import Offer, least_laplace, offer
from halfmask.menus.offer_table import offer_notes, offer_rows, offer_warnings
from halfmask.menus.optimize import optimize
from halfmask.menus.question import Question
from halfmask.menus.study_scores import AnyStudy
from halfmask.menus.total_error import producers_needed, total_error, usual_error
from halfmask.pages.first_section import offer_section, why_dangerous
from halfmask.profiles.profile import Profile
from halfmask.protection.best_guess import guess_error, guess_errors
from halfmask.protection.evidence import population_of
from halfmask_device import law_of
from halfmask_device.setting import MOST_UNMASKED
from tests.audits.cards import few_attacks
from tests.choice.cases import as_read
from tests.evaluation.direct_cases import Case
from tests.menus.cases import QUESTION, street, studied
from tests.refusals import refused


@cache
def made(levels: int = 4) -> Offer:
    return offer(street().profile, studied(), levels=levels, question=QUESTION)


def test_every_level_has_a_guarantee_and_buys_its_part_of_the_guess() -> None:
    """Wrong answers: 2 % less noise misses the level's part."""
    found, people = made().menu, population_of(street().profile)
    for number, each in enumerate(found.settings[:-1]):
        told, target = each.protection, (number + 1) / 5
        assert told is not None
        assert told.guess == guess_error(each.setting, people)
        assert target <= told.guess < target + 0.01  # type: ignore[operator]
        less = PrivacySetting("laplace", (each.setting.parameters[0] * 0.98,))
        assert guess_error(less, people) < target  # type: ignore[operator]
        assert told.pure
        assert told.reading == pytest.approx(0.5 / each.setting.parameters[0])
        assert told.per_unit == pytest.approx(1 / each.setting.parameters[0])
        assert told.window is not None
        assert told.window < 12 * told.reading  # type: ignore[operator]


STEP = 1.2


@cache
def coarse() -> Menu:
    question = replace(QUESTION, step=STEP)
    return offer(street().profile, studied(), question=question).menu


def test_on_a_coarse_lattice_devices_take_every_level_and_what_is_said_is_of_their_noise() -> None:
    """A hundredth less noise is refused or misses the level's part; the continuous law would need less."""
    people = population_of(street().profile)
    for number, each in enumerate(coarse().settings[:-1]):
        told, target, b = each.protection, (number + 1) / 5, each.setting.parameters[0]
        law_of(str(each.setting), str(STEP))  # devices take it
        assert told is not None
        assert told.guess == guess_error(each.setting, people, STEP)
        assert told.guess >= target
        less = PrivacySetting("laplace", (0.98 * b,))
        assert guess_error(less, people, STEP) < target or unmasked(less) > MOST_UNMASKED
        assert told.reading == pytest.approx(STEP / b), "a change of 0.5 is a whole step"
    assert coarse().settings[0] != made().menu.settings[0]
    assert any("leaves" in told for told in offer_warnings(coarse()))
    assert any(guess_error(each.setting, people) > each.protection.guess + 0.02 for each in coarse().settings[:-1])  # type: ignore[union-attr, operator]


def unmasked(setting: PrivacySetting) -> float:
    """How many readings stay as they are: tanh(step/2b)."""
    return math.tanh(STEP / 2 / setting.parameters[0])


def test_where_nothing_is_promised_the_table_says_so() -> None:
    """ "none" would read as the smallest epsilon."""
    head, *rows = offer_rows(made().menu)
    cells = {row[0]: row[head.index("epsilon") : head.index("epsilon") + 2] for row in rows}
    assert cells.pop("N") == ["no promise", "no promise"]
    assert all(float(cell) > 0 for row in cells.values() for cell in row)
    told = protection_cells(made().menu, made().menu.settings[-1])
    assert told[1:3] == ["no promise", "no promise"]


def test_levels_that_a_lattice_makes_one_are_refused() -> None:
    with refused("option.apart", "step", "levels"):
        offer(street().profile, studied(), question=replace(QUESTION, step=8.0))


@pytest.mark.parametrize("change", [0.3, 1.2, 1.3, 3.0])
def test_epsilon_of_another_change_is_as_the_notes_have_it(change: float) -> None:
    """The change in whole steps over b; in proportion to the change itself it would be too small."""
    told = " ".join(offer_notes(coarse()))
    assert "rounded up to whole steps of 1.2 kWh, over b" in told
    assert "proportion" not in told
    for each in coarse().settings[:-1]:
        found = Question(change, 1, step=STEP).asked(each.setting).epsilon
        assert found == pytest.approx(math.ceil(change / STEP) * STEP / each.setting.parameters[0])


def test_levels_are_named_and_numbered_from_the_lightest_up() -> None:
    found = made().menu
    assert found.ids == ("L1", "L2", "L3", "L4", "N")
    assert [each.name for each in found.settings] == [
        "light blur",
        "medium blur",
        "heavy blur",
        "very heavy blur",
        "open",
    ]
    assert len({each.name for each in made(5).menu.settings}) == 6


def test_a_level_says_how_many_producers_it_takes() -> None:
    """With so many the total errs by what was asked or less, with a hundredth fewer by more."""
    found = made().menu
    assert found.question is not None

    def error(setting: PrivacySetting, users: int) -> float:
        return total_error(street().profile, setting, users, step=found.question.step)  # type: ignore[return-value, union-attr]

    for each in found.settings[:-1]:
        assert each.needed is not None
        assert error(each.setting, each.needed) <= 0.01 * (1 + 1e-6)
        assert error(each.setting, math.floor(each.needed * 0.99) - 1) > 0.01
    told = " ".join(offer_warnings(found))
    short = [each for each in found.settings[:-1] if (each.needed or 0) > 200]
    assert short
    assert f"{', '.join(each.id for each in short)}: 200 producers" in told


def test_an_offer_is_a_menu_file_and_a_menu_to_mix(tmp_path: Path) -> None:
    made().menu.write(tmp_path / "offer.json")
    again = Menu.read(tmp_path / "offer.json")
    assert menu_json(again) == menu_json(made().menu)
    assert mix(street().profile, again, step=0.5, repeats=1).table.num_rows > 0


def test_scores_outside_the_study_are_said_to_be_and_never_shown() -> None:
    """A study of quiet settings alone: the strong levels are beyond its range."""
    found = offer(street().profile, studied("laplace:b=0.001|0.01|0.02|0.05"), question=QUESTION).menu
    outside = [each for each in found.settings if each.outside]
    assert outside
    assert all(0 <= value <= 1 for each in found.settings for value in (each.privacy.median, each.utility.p10))
    table = {row[0]: row for row in offer_rows(found)[1:]}
    assert all("outside" in table[each.id] for each in outside)
    assert not any("outside" in table[each.id] for each in found.settings if not each.outside)
    with few_attacks():
        card = audit_menu(found, street().profile, seed=3, window=4)
    for each in found.settings:
        scores = (card[each.id].privacy, card[each.id].utility)
        assert scores == ((None, None) if each.outside else (each.privacy, each.utility))
        assert not each.outside or not any("High score" in told for told in card[each.id].warnings)
    assert any(each.outside and each.privacy.median > HIGH_SCORE for each in found.settings), "the check can fail"


@cache
def still() -> tuple[Profile, AnyStudy]:
    """Readings that all have one size, and a study of them."""
    homes = Case([name for name in "abcd" for _ in range(24)], 4 * list(range(24)), [2.5] * 96).profile
    return homes, as_read(evaluate_grid(homes, grid("laplace:b=0.01|0.05|0.5"), Experiment.on(homes, sizes="all")))


def test_of_readings_that_do_not_vary_the_guess_is_not_known() -> None:
    """Without a report they are guessed exactly: the ratio of errors is 0/0, and null in a file."""
    homes, study = still()
    found = optimize(study, profile=homes, question=QUESTION, max_mean=1, max_std=1).menu
    assert [each.protection.guess for each in found.settings if each.protection] == [None] * len(found.settings)
    assert [each["protection"]["guess"] for each in menu_json(found)["settings"]] == [None] * len(found.settings)
    assert all(protection_cells(found, each)[0] == "-" for each in found.settings)
    assert not any("next to nothing" in why_dangerous(each) for each in found.settings)
    people = population_of(homes)
    assert np.isnan(guess_errors("laplace", np.array([[0.05], [0.5]]), people)).all()
    solved = least_noise(1.0, QUESTION, profile=homes)
    assert [each.guess for each in solved.solutions] == [None] * len(solved.solutions)
    assert population_of(street().profile).varies


def test_no_noise_is_chosen_by_the_guess_of_readings_that_do_not_vary() -> None:
    homes, study = still()
    for ask in (
        lambda: offer(homes, study, question=QUESTION),
        lambda: optimize(study, profile=homes, question=QUESTION, by="hidden"),
        lambda: optimize(study, profile=homes, question=QUESTION, require=(Demand("hidden", 0.2),)),
        lambda: reconstruction_floor(homes, made().menu, 0.2),
    ):
        with refused("option.constant", "profile") as caught:
            ask()
        assert "epsilon" in caught.value.hint


@cache
def trial() -> Profile:
    """Fifty homes over nine days, of which two begin a day earlier and stay a day longer, with next to no readings."""
    rng = np.random.default_rng(4)
    rows = [(f"home-{n}", hour, float(rng.lognormal())) for n in range(50) for hour in range(24, 240, 2)]
    ends = [*range(0, 24, 2), *range(240, 264, 2)]
    rows += [(f"home-{n}", hour, float(rng.uniform(0, 0.002))) for n in range(2) for hour in ends]
    return Case(*zip(*sorted(rows), strict=True)).profile


def test_where_a_few_empty_periods_decide_the_mean_the_median_says_how_many_producers() -> None:
    """By the mean no level could be offered to these fifty; half of their days err by far less."""
    homes = trial()
    quiet = grid("laplace:b=0.0001|0.0005|0.001|0.01")
    study = as_read(evaluate_grid(homes, quiet, Experiment.on(homes, sizes="all")))
    found = offer(homes, study, question=QUESTION, within=0.1).menu
    assert found.provenance["offer"]["decides"] == "median"
    for each in found.settings[:-1]:
        told = each.protection
        assert told is not None
        assert told.usual is not None
        assert told.errors[50] > 10 * told.usual
        assert each.needed == pytest.approx(50 * (told.usual / 0.1) ** 2, abs=1.5)
        assert usual_error(homes, each.setting, each.needed, step=QUESTION.step) <= 0.1  # type: ignore[arg-type,operator]
        by_mean = producers_needed(homes, each.setting, 0.1, step=QUESTION.step)
        assert by_mean is not None
        assert by_mean > 50, "the check can fail"
    enough = [each.id for each in found.settings[:-1] if each.needed is not None and each.needed <= 50]
    assert enough
    page = offer_section(ResultsFolder(Path("trial"), "trial", homes, None, None, None, None, None, found))
    assert "for the wanted error, and there are 50" not in page, "their number is no reason against any level"
    assert "so the median decides" in page
    assert any("so the median decides" in told for told in offer_notes(found))
    assert made().menu.provenance["offer"]["decides"] == "mean"
    assert not any("so the median decides" in told for told in offer_notes(made().menu))


def test_the_cost_of_the_guarantee_is_said_in_one_sentence() -> None:
    found = made()
    assert found.cost is not None
    assert f"{max(found.cost, 0):.3f}" in found.sentence()
    assert any(each.setting.mechanism == "sine" for each in found.paper.settings)


@pytest.mark.parametrize("wrong", [{"levels": 0}, {"levels": 6}, {"within": 0.0}, {"within": 1.0}])
def test_offers_that_are_none_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        offer(street().profile, studied(), **wrong)  # type: ignore[arg-type]


def test_the_least_noise_follows_the_unit() -> None:
    """A panel in Wh: a thousand times the noise, to the width of a bin."""
    people = population_of(street().profile)
    factor = 2.0**10  # whole octaves, so that bins move and do not change
    scaled = type(people)(people.low * factor, people.high * factor, people.share, people.zero)
    for target in (0.2, 0.8):
        one, other = (least_laplace(target, each, Question(0.3, 1)).parameters[0] for each in (people, scaled))
        assert other == pytest.approx(factor * one, rel=2e-2)
