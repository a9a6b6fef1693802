"""A level is recommended only if its whole day is promised and attacks on it do worse; otherwise page one says why."""

import math
import re
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path

import pytest

from halfmask.audits.card import ReportCard
from halfmask.figures.results_folder import ResultsFolder
from halfmask.menus.menu import Menu
from halfmask.menus.offer import offer
from halfmask.menus.promised_levels import SIGNED
from halfmask.menus.question import usual_bounds, whole_day_of
from halfmask.pages.cover import cover
from halfmask.pages.first_section import offer_section
from halfmask.pages.page_numbers import percent
from halfmask.pages.recommendation import Advice, level_advice
from halfmask.protection.attacks.finding import Finding
from halfmask_device.decimals import SLACK, upwards
from tests.audits.cards import card
from tests.menus import test_promised_levels as promised
from tests.menus.cases import QUESTION, street, studied
from tests.pages.test_first_section import cells, signed
from tests.said import incomplete, named

STEP, HIGH = 0.001, 40.0


@cache
def strong() -> Menu:
    """Levels of epsilon 8, 4, 2 and 1 for a whole day, with an error that 200 producers reach."""
    return offer(
        street().profile, promised.of_totals(), question=promised.whole_day(), epsilons=(8.0, 4.0, 2.0, 1.0), within=0.5
    ).menu


@cache
def weak() -> Menu:
    return offer(street().profile, promised.of_totals(), question=promised.whole_day(), within=0.01).menu


def found(name: str, value: float, ends: tuple[float, float], bare: float, chance: float) -> Finding:
    known = "without_reports" if name.startswith("own-total") else "chance"
    return Finding(name, "", value, bare, "", {known: chance}, *ends)


WORSE = (
    found("reidentification-day", 0.10, (0.05, 0.2), 0.45, 0.002),
    found("own-total-day", 0.2, (0.15, 0.25), 0.0, 0.45),
    found("presence", 0.6, (0.55, 0.65), 1.0, 0.5),
)


def audited(menu: Menu, attacks: tuple[Finding, ...] = WORSE) -> ReportCard:
    """A card of the menu's settings with these results of attacks."""
    one = card().cards[0]
    settings = [replace(one.guarantee, setting=each.setting) for each in menu.settings]
    cards = [
        replace(one, id=each.id, guarantee=asked, attacks=attacks)
        for each, asked in zip(menu.settings, settings, strict=True)
    ]
    return replace(card(), cards=tuple(cards))


def page_of(menu: Menu, of: ReportCard | None) -> str:
    none = ResultsFolder(Path("street"), "street", street().profile, None, None, None, None, None, menu, offer_card=of)
    return unescape(cover(none, []) + offer_section(none))


def told(menu: Menu, of: ReportCard | None) -> list[Advice]:
    return level_advice(menu, street().profile, of)


def kept(menu: Menu, of: ReportCard | None) -> list[str]:
    return [each.id for each in told(menu, of) if not each.against]


def plain(page: str) -> list[str]:
    return [" ".join(re.sub("<[^>]+>", " ", each).split()) for each in re.split("</(?:p|li|td|caption)>", page)]


def test_levels_with_a_small_epsilon_and_weak_attacks_are_recommended() -> None:
    """Epsilon of a whole day is recomputed: Laplace noise keeps the change in whole steps, over b."""
    menu = strong()
    assert kept(menu, audited(menu)) == ["L2", "L3", "L4"]
    for each, one in zip(told(menu, audited(menu)), menu.settings, strict=False):
        assert one.setting.mechanism == "laplace"
        epsilon = math.ceil(HIGH / STEP - 1e-9) * STEP / one.setting.parameters[0]
        assert each.promise is not None
        assert each.promise.epsilon == pytest.approx(epsilon)
        assert (epsilon > SIGNED) == (each.id == "L1")
    page = page_of(menu, audited(menu))
    most = upwards(math.ceil(HIGH / STEP - 1e-9) * STEP / menu.settings[1].setting.parameters[0])
    assert f"Recommended: L2, L3 and L4. Epsilon is at most {most} for any change of a day's total by up to 40" in page
    assert "L1: epsilon 8 for" in page.partition("Not recommended")[2]


def test_a_refused_offer_says_why_and_what_could_be_offered_instead() -> None:
    menu = weak()
    near = menu.provenance["offer"]["closest"]
    assert kept(menu, audited(menu)) == []
    page = page_of(menu, audited(menu))
    assert "No level of this offer can be recommended." in page
    assert page.partition("Not recommended")[2].count(f"is above {SIGNED:g}") == len(menu.settings) - 1
    assert f"{near['producers']:,} of them" in page
    for share in (near["error"], near["split"]):
        assert f"errs by {percent(share)}" in page
        assert f"errs by {percent(1.3 * share)}" not in page
    assert "no level of this offer, and nothing in red" in page


def test_an_offer_of_readings_is_refused_by_its_whole_day() -> None:
    """Of readings masked with Laplace noise: the day's change, and one step for each reading, over b."""
    menu, profile = signed(), street().profile
    low, high = usual_bounds(profile)
    asked = whole_day_of(menu.question, profile)
    assert asked is not None
    table = cells(page_of(menu, audited(menu)))
    for each, one in zip(told(menu, audited(menu)), menu.settings, strict=False):
        epsilon = (high - low + asked.readings * STEP) / one.setting.parameters[0]
        assert each.promise is not None
        assert each.promise.epsilon == pytest.approx(epsilon)
        assert epsilon > SIGNED
        assert epsilon * (1 - SLACK) <= float(table[one.id][4]) <= 1.01 * epsilon
        assert each.against
    page = page_of(menu, audited(menu))
    assert "No level of this offer can be recommended." in page
    assert "neither of which sees a producer's own" in page


@pytest.mark.parametrize(
    ("attack", "recommended"),
    [
        (found("reidentification-day", 0.40, (0.3, 0.5), 0.45, 0.002), False),  # holds the unmasked result
        (found("own-total-day", 0.001, (0.0, 0.01), 0.0, 0.45), False),
        (found("own-total-month", 0.02, (0.01, 0.03), 0.0, 0.4), True),  # an error: larger is weaker
        (found("reidentification-day", 0.01, (0.001, 0.03), 0.009, 0.002), None),  # too few users to tell
    ],
)
def test_what_attacks_must_show(attack: Finding, recommended: bool | None) -> None:
    menu = strong()
    assert bool(kept(menu, audited(menu, (attack,)))) == bool(recommended)
    assert bool(kept(menu, audited(menu, (*WORSE, attack)))) == (recommended is not False)


def test_without_attacks_nothing_is_recommended() -> None:
    assert kept(strong(), None) == []
    assert kept(strong(), audited(strong(), ())) == []
    assert "no attack on it is in the folder" in page_of(strong(), None)


def test_levels_that_too_few_producers_carry_are_not_recommended() -> None:
    made = dict(strong().provenance["offer"]) | {"producers": 2}
    few = replace(strong(), provenance={**strong().provenance, "offer": made})
    short = [each.id for each in few.settings[:-1] if (each.needed or 0) > 2]
    assert short
    assert not set(kept(few, audited(few))) & set(short)


def test_every_epsilon_of_page_one_names_change_window_and_delta() -> None:
    of_readings = offer(street().profile, studied(), question=QUESTION).menu
    for menu in (strong(), weak(), of_readings):
        page = page_of(menu, audited(menu))
        assert len(named(plain(page))) > 1
        assert incomplete(plain(page)) == []
        assert menu is of_readings or "in a row" not in page


def test_every_number_of_the_promises_table_is_recomputed() -> None:
    menu = strong()
    table = cells(page_of(menu, audited(menu)))
    for each in menu.settings[:-1]:
        b = each.setting.parameters[0]
        day, month = map(float, table[each.id][1:3])
        assert HIGH / b * (1 - SLACK) <= day <= 1.01 * HIGH / b
        exact = promised.composed_epsilon(b, HIGH, 30, 1e-6, up=False)
        assert exact * (1 - 1e-3) <= month <= 1.05 * exact
        crowds = [each.protection.errors[users] for users in each.protection.errors] if each.protection else []
        assert table[each.id][3 : 3 + len(crowds)] == [percent(error) for error in crowds]
