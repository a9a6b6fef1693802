"""Axes of privacy and requirements: bins by brute force, and what each requirement costs."""

import math
from dataclasses import replace

import numpy as np
import pytest

from halfmask.errors import OptionError
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, menu_json
from halfmask.menus.menu_requirements import Demand, meeting, parse_demand
from halfmask.menus.optimize import optimize
from halfmask.menus.recognised_share import recognised_share, recognised_shares
from halfmask.menus.setting_protection import protection_of
from halfmask.menus.study_protection import StudyProtection
from halfmask.menus.study_scores import score_study
from halfmask.menus.total_error import total_error
from halfmask.protection.best_guess import guess_error
from halfmask.protection.evidence import evidence_from_panel, population_of
from tests.menus.cases import QUESTION, street, studied
from tests.refusals import refused

SETTINGS = "laplace:b=0.02|0.05|0.1|0.2|0.4|0.8|1.6;gaussian:sigma=0.1|0.5;sine:k=2,values=0.1|0.6"


def study():  # type: ignore[no-untyped-def]
    return studied(SETTINGS)


def facts() -> StudyProtection:
    return StudyProtection.of(score_study(*study()), street().profile, QUESTION)


def test_facts_of_all_settings_are_those_of_each() -> None:
    """What is interpolated or vectorised, against one setting at a time."""
    found, people = facts(), population_of(street().profile)
    for row, setting in enumerate(found.settings):
        alone = QUESTION.epsilon(setting)
        assert found.guess[row] == pytest.approx(guess_error(setting, people), abs=0.04)
        assert found.epsilon[row] == pytest.approx(math.inf if alone is None else alone, rel=1e-3)
        assert found.promising[row] == (alone is not None)
        assert found.error(500)[row] == pytest.approx(total_error(street().profile, setting, 500), rel=1e-4)


def test_facts_between_the_nodes_are_close_to_those_of_each() -> None:
    found = StudyProtection.of(score_study(*studied("laplace:b=0.01..3/0.01")), street().profile, QUESTION)
    for row in range(0, 300, 29):
        setting = found.settings[row]
        assert found.guess[row] == pytest.approx(guess_error(setting, found.population), abs=5e-3)
        assert found.epsilon[row] == pytest.approx(QUESTION.epsilon(setting), rel=5e-3)


def test_on_a_coarse_lattice_the_guess_is_that_of_the_noise_drawn() -> None:
    """In the menu, as a requirement of one setting, and along the axis; the continuous law's differs."""
    profile, question = street().profile, replace(QUESTION, step=1.2)
    people, setting = population_of(profile), PrivacySetting.parse("laplace:0.5")
    drawn, smooth = guess_error(setting, people, 1.2), guess_error(setting, people)
    assert drawn < smooth - 0.02
    between = Demand("hidden", (drawn + smooth) / 2)
    assert meeting([between], profile, replace(question, step=0.001))(setting)
    assert not meeting([between], profile, question)(setting)
    found = StudyProtection.of(score_study(*studied("laplace:b=0.3..1/0.1")), profile, question)
    assert found.guess == pytest.approx([guess_error(each, people, 1.2) for each in found.settings])
    told = optimize(study(), by="hidden", bins=3, profile=profile, question=question).menu
    for each in told.settings[:-1]:
        assert each.protection is not None
        assert each.protection.guess == guess_error(each.setting, people, 1.2)


@pytest.mark.parametrize("by", ["hidden", "epsilon"])
def test_every_setting_lies_in_its_bin_and_is_the_best_of_it(by: str) -> None:
    found = optimize(study(), by=by, bins=3, profile=street().profile, question=QUESTION)  # type: ignore[arg-type]
    axis, values = found.axis, found.axis.values
    upwards = by == "hidden"
    assert axis.upwards == upwards
    for each in found.menu.settings[:-1]:
        low, high = each.bin
        assert each.protection is not None
        own = each.protection.guess if by == "hidden" else each.protection.window
        assert own is not None
        assert low * (1 - 1e-9) <= own <= high * (1 + 1e-9)
        inside = found.admissible & (values >= low) & (values < high if upwards else values <= high)
        assert each.objective == pytest.approx(np.nanmax(found.scored.objective[inside]))
    order = [each.protection.guess for each in found.menu.settings[:-1] if each.protection]
    assert order == sorted(order)  # type: ignore[type-var]


def test_no_setting_of_a_menu_that_requires_a_guarantee_is_without_one() -> None:
    free = optimize(study(), profile=street().profile, question=QUESTION)
    kept = optimize(study(), profile=street().profile, question=QUESTION, require=[Demand("guarantee")])
    assert any(each.setting.mechanism == "sine" for each in free.menu.settings)
    assert not any(each.setting.mechanism == "sine" for each in kept.menu.settings)
    promises = [each.protection for each in kept.menu.settings[:-1]]
    assert all(each is not None and None not in (each.reading, each.window) for each in promises)


def test_costs_are_the_utility_given_up_bin_by_bin() -> None:
    asked = [Demand("guarantee"), parse_demand("hidden=0.2")]
    free = optimize(study(), profile=street().profile, question=QUESTION)
    both = optimize(study(), profile=street().profile, question=QUESTION, require=asked)
    assert both.costs is not None
    alone = [optimize(study(), profile=street().profile, question=QUESTION, require=[each]) for each in asked]
    for bin_ in both.costs.bins:
        menus = [free.menu, *(each.menu for each in alone), both.menu]
        best = [each[bin_.id].utility.median if bin_.id in each.ids else None for each in menus]
        assert [bin_.free, *bin_.alone, bin_.together] == best
    assert both.costs.rows()[0] == ["id", "best utility", "cost of guarantee", "cost of hidden=0.2", "cost of all"]


def test_what_hides_next_to_nothing_is_said_of_every_such_setting() -> None:
    """Judged by the guess, not by the score: both of the quiet settings, whatever bin they are in."""
    found = optimize(studied("laplace:b=0.0001|0.002|0.5;sine:k=2,values=0.005|0.6"), profile=street().profile)
    hidden = [each.id for each in found.menu.settings if each.protection and (each.protection.guess or 0) < 0.05][:-1]
    assert hidden
    told = [note.partition(",")[0] for note in found.notes if "hides next to nothing" in note]
    assert told == hidden


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("guarantee", Demand("guarantee")),
        ("hidden=0.2", Demand("hidden", 0.2)),
        ("epsilon=4", Demand("epsilon", 4.0)),
        ("recognised=10%", Demand("recognised", 0.1)),
        ("error=2%@500", Demand("error", 0.02, 500)),
    ],
)
def test_requirements_are_read(text: str, wanted: Demand) -> None:
    assert parse_demand(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "",
        "guarantee=1",
        "hidden",
        "hidden=x",
        "hidden=2",
        "epsilon=0",
        "error=2%",
        "error=2%@0",
        "luck=1",
        "hidden=.2@5",
    ],
)
def test_other_requirements_are_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"write|number"):
        parse_demand(text)


def test_axes_and_requirements_need_a_profile() -> None:
    with refused("option.profile"):
        optimize(study(), by="hidden")
    with refused("option.profile"):
        optimize(study(), require=[Demand("guarantee")])


def test_requirements_that_nothing_meets_name_themselves() -> None:
    with refused("option.unmet"):
        optimize(study(), require=[parse_demand("epsilon=0.000001")], profile=street().profile, question=QUESTION)


def test_fewer_are_recognised_the_more_noise_there_is() -> None:
    """The rate falls from that of unmasked days to about chance; deviations that are no numbers stay so."""
    seen = evidence_from_panel(street().panel, street().profile)
    deviations = np.array([0.0, 0.1, 1.0, 100.0, np.nan])
    shares = recognised_shares(seen, deviations)
    assert np.isnan(shares[-1])
    assert (np.diff(shares[:-1]) <= 0).all()
    assert shares[0] == recognised_share(seen, PrivacySetting("none"))
    assert shares[0] > 5 / 200 > shares[3]


def test_a_menu_keeps_what_its_settings_protect(tmp_path) -> None:  # type: ignore[no-untyped-def]
    found = optimize(study(), profile=street().profile, question=QUESTION).menu
    found.write(tmp_path / "menu.json")
    again = Menu.read(tmp_path / "menu.json")
    assert menu_json(again) == menu_json(found)
    assert again.question == QUESTION
    people = population_of(street().profile)
    for each in again.settings:
        fresh = protection_of(each.setting, people, QUESTION)
        assert each.protection is not None
        assert (each.protection.guess, each.protection.window) == (fresh.guess, fresh.window)
