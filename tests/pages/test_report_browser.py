"""The report page in a real browser: nothing from outside, no error, for every eye and for the keyboard alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser import LOOKS, accessible, launched, looking, unreached
from tests.pages.served import Visit


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_everybody_can_use_it(browser: Browser, reported: Path, width: int, scheme: str) -> None:
    visit, address = Visit(browser, **looking(width, scheme)), (reported / "report.html").as_uri()
    page = visit.page
    page.goto(address)
    accessible(page)
    for details in page.locator("details").all():
        details.locator("summary").click()
    accessible(page)
    assert unreached(page) == []
    assert {url.partition("#")[0] for url in visit.asked if not url.startswith("data:")} == {address}
    assert visit.wrong == []
    page.close()


def test_its_contents_lead_to_its_sections(browser: Browser, reported: Path) -> None:
    visit = Visit(browser, **looking(1280, "light"))
    page = visit.page
    page.goto((reported / "report.html").as_uri())
    links = page.locator("nav a")
    for link in links.all():
        target = link.get_attribute("href") or ""
        link.focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**{target}")
        assert page.locator(target).count() == 1
    assert links.count() >= 3
    assert visit.wrong == []
