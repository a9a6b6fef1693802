"""The served pages for everybody: axe on each state, light and dark, narrow and wide; the keyboard alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.accessibility import SCHEMES, SIZES, wrong_in
from tests.browser import launched
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


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(
    browser: Browser, service: Hosted, campaign: str, tmp_path: Path, size: tuple[int, int], scheme: str
) -> None:
    look = {"viewport": {"width": size[0], "height": size[1]}, "color_scheme": scheme, "bypass_csp": True}
    visit = opened(browser, service, campaign, **look)
    pages = [visit]
    assert wrong_in(visit.page) == []
    for details in visit.page.locator("details").all():
        details.locator("summary").click()
    choose(visit, 0)
    assert wrong_in(visit.page) == []
    joined(visit)
    visit.page.set_input_files("#file", readings(tmp_path / "day.csv"))
    expect(visit.page.locator("#state")).to_contain_text("48 came too late")
    assert wrong_in(visit.page) == []
    visit.page.locator("#leave").click()
    assert wrong_in(visit.page) == []
    watch = Visit(browser, **look)
    watch.page.goto(f"{service.address}/watch")
    expect(watch.page.locator("#sign-in")).to_be_visible()
    assert wrong_in(watch.page) == []
    pages += [watch, signed_in(browser, service, campaign, **look)]
    page = pages[-1].page
    for details in page.locator("#seen details").all():
        details.locator("summary").click()
    assert wrong_in(page) == []
    page.locator("#new").click()
    assert wrong_in(page) == []
    for each in pages:
        assert each.page.evaluate("document.documentElement.scrollWidth") <= size[0]


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
