"""The served pages for everybody: axe on each state, light and dark, narrow and wide; the keyboard alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import LOOKS, accessible, launched, looking, unreached, wrong_in
from tests.pages.served import Hosted, Visit, hosted
from tests.pages.test_choose_page import choose, joined, opened, readings
from tests.pages.test_watch_page import filled, signed_in


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with hosted(tmp_path_factory.mktemp("accessible")) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.fixture(scope="module")
def campaign(service: Hosted) -> str:
    return filled(service)


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_axe_finds_nothing_and_the_keyboard_reaches_all(
    browser: Browser, service: Hosted, campaign: str, tmp_path: Path, width: int, scheme: str
) -> None:
    look = looking(width, scheme)
    visit = opened(browser, service, campaign, **look)
    accessible(visit.page)
    for details in visit.page.locator("details").all():
        details.locator("summary").click()
    choose(visit, 0)
    accessible(visit.page)
    assert unreached(visit.page) == []
    joined(visit)
    visit.page.set_input_files("#file", readings(tmp_path / "day.csv"))
    expect(visit.page.locator("#state")).to_contain_text("48 came too late")
    accessible(visit.page)
    assert unreached(visit.page) == []
    visit.page.locator("#leave").click()
    accessible(visit.page)
    signing = Visit(browser, **look)
    signing.page.goto(f"{service.address}/watch")
    expect(signing.page.locator("#sign-in")).to_be_visible()
    accessible(signing.page)
    watch = signed_in(browser, service, campaign, **look)
    page = watch.page
    for details in page.locator("#seen details").all():
        details.locator("summary").click()
    expect(page.locator("#forecast")).not_to_be_empty()
    accessible(page)
    assert unreached(page) == []
    page.locator("#new").click()
    accessible(page)
    assert unreached(page) == []
    for each in (visit, signing, watch):
        assert each.wrong == []
        each.page.close()


def test_axe_would_find_a_picture_without_a_name(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<html lang=en><title>x</title><main><h1>x</h1><img src='x'><p>x</p><a href='/'>y</a></main>")
    assert any(each.startswith("image-alt") for each in wrong_in(page))


def test_the_keyboard_alone_chooses_joins_and_leaves(browser: Browser, service: Hosted, campaign: str) -> None:
    visit = opened(browser, service, campaign)
    page = visit.page

    def reach(place: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.locator(place).evaluate("each => each === document.activeElement"):
                return
        raise AssertionError(f"{place} cannot be reached")

    reach("#level")
    page.keyboard.press("End")
    expect(page.locator("#level-name")).to_contain_text("Level B")
    reach("[name=by][value=device]")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#by-page")).to_be_checked()
    reach("#agree")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#member")).to_be_visible()
    expect(page.locator("#member h2")).to_be_focused()
    reach("#leave")
    page.keyboard.press("Enter")
    expect(page.locator("#sure")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#sure")).not_to_be_visible()
    page.keyboard.press("Enter")
    reach("#leave-yes") if not page.locator("#leave-yes").evaluate("e => e === document.activeElement") else None
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_contain_text("you have left")


def test_what_a_keyboard_does_not_reach_is_noticed(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<a href='/'>x</a><button>y</button>")
    page.evaluate("void (onkeydown = (event) => { event.preventDefault(); document.links[0].focus(); })")
    (missed,) = unreached(page)
    assert missed.startswith("<button")
