"""The page that is signed: every number is the offer's, recomputed; danger stands first; nothing is claimed for all."""

import math
import re
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from halfmask.audits.card_sentences import ALMOST
from halfmask.figures.promises_and_errors import most_right
from halfmask.figures.results_folder import ResultsFolder
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu
from halfmask.menus.offer import offer
from halfmask.menus.optimize import optimize
from halfmask.menus.promised_levels import SIGNED, closest
from halfmask.menus.question import Question, question_of, usual_bounds
from halfmask.menus.setting_protection import Protection
from halfmask.menus.total_error import total_error
from halfmask.pages.cover import cover
from halfmask.pages.first_section import dangers, offer_section, why_dangerous
from halfmask.pages.offered_levels import scores_table
from halfmask.pages.page_numbers import percent
from halfmask.profiles.profile import Profile
from halfmask.protection.best_guess import guess_error
from halfmask.protection.evidence import evidence_from_panel, population_of
from halfmask.protection.guarantees.guarantee import guarantee
from halfmask_device.decimals import SLACK, number_text, upwards
from tests.audits.cards import card, two_settings
from tests.menus.cases import QUESTION, street, studied


@cache
def signed() -> Menu:
    case = street()
    seen = evidence_from_panel(case.panel, case.profile)
    return offer(case.profile, studied(), question=QUESTION, evidence=seen).menu


@cache
def inputs() -> ResultsFolder:
    paper = optimize(studied("laplace:b=0.0002|0.05|0.5;sine:k=2,values=0.001|0.6"), profile=street().profile).menu
    return ResultsFolder(Path("street"), "street", street().profile, None, paper, None, None, None, signed())


def cells(page: str) -> dict[str, list[str]]:
    """Rows of the page's first table by their first word."""
    body = re.findall(r"<tbody>(.*?)</tbody>", page, flags=re.S)[0]
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.S) for row in body.split("</tr>")]
    return {row[0].split()[0]: [unescape(cell) for cell in row] for row in rows if row}


def test_every_number_of_the_table_is_recomputed() -> None:
    """From the profile, by the functions that the offer was not made with where there are two ways."""
    page, people, profile = offer_section(inputs()), population_of(street().profile), street().profile
    table = cells(page)
    for each in signed().settings[:-1]:
        row = table[each.id]
        promise = guarantee(each.setting, QUESTION.change, (QUESTION.window,), step=QUESTION.step)
        assert row[0] == f"{each.id} {each.name}"
        assert row[1] == percent(guess_error(each.setting, people, QUESTION.step))
        for cell, bound in ((row[2], promise.epsilon), (row[3], promise.epsilon_at(QUESTION.delta, QUESTION.window))):
            assert bound is not None
            assert bound * (1 - SLACK) <= float(cell) <= 1.01 * bound, "rounded up, never down"
        assert row[5:7] == [percent(total_error(profile, each.setting, users)) for users in (100, 200)]
        scored = cells(scores_table(signed()))[each.id]
        assert scored[1:] == [f"{each.privacy.median:.2f}", f"{each.utility.median:.2f}"]
        wrong = guarantee(each.setting, 1.3 * QUESTION.change, ())
        assert float(row[2]) < (wrong.epsilon or 0)


def numbers(text: str) -> set[str]:
    """Every number in a text, as it is written."""
    return {found.rstrip(".,") for found in re.findall(r"\d[\d,]*(?:\.\d+)?(?:e-?\d+)?", text)}


def allowed() -> set[str]:
    """Every number that page one may say in its sentences, from the offer, the paper's menu and the profile alone."""
    menu, people = signed(), population_of(street().profile)
    made, profile = menu.provenance["offer"], street().profile
    ends = [menu.settings[0].protection, menu.settings[-2].protection, menu.settings[-1].protection]
    told = [percent(each.guess) + percent(each.recognised) for each in ends if each]
    told += [percent(guess_error(each.setting, people, QUESTION.step)) for each in inputs().menu.settings[:-1]]  # type: ignore[union-attr]
    told += [str(each.setting) for each in inputs().menu.settings]  # type: ignore[union-attr]
    told += [f"{each.needed:,}" for each in menu.settings if each.needed]
    told += [upwards(max(made["guarantee_costs"], 0), 2), percent(made["within"]), f"{made['producers']:,}"]
    told += [
        QUESTION.size,
        f"{QUESTION.window}",
        number_text(QUESTION.delta),
        QUESTION.drawn(),
        "delta 0",
        f"{SIGNED:g}",
    ]
    told += [f"{profile.readings:,}", *(str(day.astype("datetime64[D]")) for day in ends_of(profile))]
    told += inputs().warnings()
    told += [inputs().menu.question.words(), *_of_a_day(menu, profile)]  # type: ignore[union-attr]
    return numbers(" ".join(told)) | {"1", "100"}  # scores run from 0 to 1; 100 % would tell nothing


def _of_a_day(menu: Menu, profile: Profile) -> list[str]:
    """What page one says of a whole day: epsilons of spread changes, and what totals of producers would need."""
    low, high = usual_bounds(profile)
    day = question_of("whole-day", "reading", profile, step=QUESTION.step, unit="kWh")
    total = question_of("whole-day", "total", profile, step=QUESTION.step, unit="kWh")
    made = menu.provenance["offer"]
    near = closest(total, profile, made["within"], made["producers"], SIGNED, scaled=False)
    told = [day.words(), "30", number_text(high - low), f"{near.producers:,}", percent(near.error), percent(near.split)]
    changed = high - low + day.readings * 0.001
    return told + [upwards(changed / each.setting.parameters[0]) for each in menu.settings[:-1]]


def ends_of(profile: Profile) -> list[np.datetime64]:
    last = profile.periods[-1] + 86_400_000_000 - 1
    return [np.datetime64(int(at), "us") for at in (profile.periods[0], last)]


def test_every_number_of_the_sentences_is_the_offers() -> None:
    page = offer_section(inputs())
    spoken = unescape(re.sub(r"<table.*?</table>", " ", page, count=1, flags=re.S))
    spoken = re.sub(r"<[^>]*>|fingerprint \w+|\bL\d\b", " ", spoken)
    assert len(numbers(spoken)) > 10
    assert numbers(spoken) - allowed() == set()
    assert "0.777" in numbers(spoken + " 0.777 of utility") - allowed()


def test_every_epsilon_stands_with_its_change_window_and_delta() -> None:
    page = offer_section(inputs())
    for told in ("0.5 kWh", "each of 12 readings in a row", "delta 1e-6"):
        assert told in page


def test_what_hides_nothing_is_red_beside_its_own_menu_alone() -> None:
    menu = inputs().menu
    assert menu is not None
    page = dangers(inputs(), menu, None)
    hidden = [each for each in menu.settings[:-1] if why_dangerous(each, menu.question)]
    assert hidden
    for each in hidden:
        assert f"Paper {each.id} ({each.setting}) " in page
    assert not any(why_dangerous(each, signed().question) for each in signed().settings[:-1])
    assert "hides next to nothing" not in offer_section(inputs())


def test_what_promises_nothing_is_red_too() -> None:
    menu = inputs().menu
    assert menu is not None
    bounded = [each for each in menu.settings[:-1] if each.setting.mechanism == "sine" and not why_dangerous(each)]
    assert bounded  # it hides something
    page = unescape(dangers(inputs(), menu, None))
    for each in bounded:
        assert f"Paper {each.id} ({each.setting}) promises nothing: it keeps no epsilon for a change" in page
    kept = [each for each in menu.settings[:-1] if each.setting.mechanism == "laplace" and not why_dangerous(each)]
    assert kept
    assert not any(f"({each.setting})" in page for each in kept)


def test_the_box_says_how_often_a_day_gives_a_change_away() -> None:
    """By the card, where there is one: rounded up, and never as less than it is."""
    bare = Protection(0.5)
    seen = card()
    entry = replace(two_settings()["B"], protection=bare)
    certain = seen["B"].typical.composed[seen.day][math.inf]
    told = why_dangerous(entry, QUESTION, seen)
    (share,) = re.findall(r"certain, (> 99|\S+) % of the time", told)
    assert share == "> 99" if certain > ALMOST else float(share) >= 100 * certain * (1 - SLACK)
    assert f"a day's {seen.day:,} reports give a change of" in told
    assert "of the time" not in why_dangerous(entry, QUESTION)
    assert why_dangerous(entry) == ""  # a menu that does not say what its epsilons are about


def test_an_epsilon_that_is_not_kept_is_no_promise() -> None:
    assert cells(offer_section(inputs()))["N"][2:4] == ["no promise", "no promise"]


def test_levels_that_too_few_producers_carry_are_not_recommended() -> None:
    page = offer_section(inputs())
    carried = [each.id for each in signed().settings[:-1] if (each.needed or 0) <= 200]
    short = [each for each in signed().settings[:-1] if (each.needed or 0) > 200]
    assert short
    assert "no level of this offer" in page  # readings do not keep a whole day
    assert carried
    for each in short:
        assert f"{each.id} ({each.name}) needs {each.needed:,} producers" in page


@pytest.mark.parametrize("claim", ["without showing them", "says little", "cannot be recognised", "anonymous"])
def test_nothing_is_claimed_for_all_settings(claim: str) -> None:
    from halfmask.pages.report import page_of

    assert claim not in page_of(inputs(), ())


def test_without_an_offer_there_is_nothing_to_sign() -> None:
    none = ResultsFolder(Path("street"), "street", street().profile, None, inputs().menu, None, None)
    assert "nothing here to sign" in cover(none, [])
    assert "halfmask offer" in offer_section(none)


def test_the_cover_says_what_the_strongest_level_promises_and_why_it_is_refused() -> None:
    page = unescape(re.sub(r"<[^>]*>", " ", cover(inputs(), [])))
    assert "No level of this offer can be recommended" in page
    assert "What would allow epsilon 5" in page
    assert len(page.split()) < 200


@pytest.mark.parametrize("scale", [5.0, 10.0, 40.0])
def test_the_best_guesser_of_a_total_is_right_as_often_as_the_noise_lets_it(scale: float) -> None:
    """Of two totals 40 apart under Laplace noise the best guess is right (1 + TV)/2 of the time."""
    day = Question(40.0, 1, 1e-6, "kWh", 0.001, "whole-day", "total", 48, "day", 0.0, 40.0)
    exact = 1 - np.exp(-20 / scale) / 2
    for release in ("total", "split"):
        assert most_right(day, PrivacySetting.parse(f"laplace:{scale:g}@{release}")) == pytest.approx(exact, abs=1e-4)
    assert most_right(day, PrivacySetting.parse("none@total")) == 1
    spread = replace(day, release="reading")  # bounded by e^epsilon/(1 + e^epsilon), with the epsilon of the whole day
    assert most_right(spread, PrivacySetting.parse(f"laplace:{scale:g}")) == pytest.approx(
        1 / (1 + np.exp(-40 / scale)), abs=1e-3
    )
