"""One real folder, one real server over it, and one real browser, for all tests of the page."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from halfmask.commands._repeat import command_of
from halfmask.pages.explore.explore_server import ExploreServer
from halfmask.pages.explore.explorer import Explorer
from tests.browser import PATIENCE, launched


@pytest.fixture(scope="session")
def folder(whole: Path) -> Path:
    """A folder with profile, study, menu and mixes; nobody writes into it."""
    return whole


@pytest.fixture(scope="session")
def explorer(folder: Path) -> Explorer:
    return Explorer(folder, command_of)


@pytest.fixture(scope="session")
def server(explorer: Explorer) -> Iterator[ExploreServer]:
    """Listening on a free port of this machine."""
    with ExploreServer(explorer) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for the tests of a file."""
    with launched() as running:
        yield running


@dataclass(frozen=True)
class Opened:
    """A page with all that it said on its console, errors included, and all that it asked for, from the first."""

    page: Page
    said: list[str]
    asked: list[str]


def opened(context: BrowserContext, address: str) -> Opened:
    """The page at an address in a window of its own."""
    page, said, asked = context.new_page(), list[str](), list[str]()
    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    return Opened(page, said, asked)


@pytest.fixture(scope="module")
def desk(browser: Browser) -> Iterator[BrowserContext]:
    """A wide screen of one who wants no motion: scrolling takes no time. Its pages share what it keeps of plotly."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture(scope="module")
def live(desk: BrowserContext, server: ExploreServer) -> Opened:
    """The page, loaded once: a load understands four megabytes of plotly."""
    return opened(desk, server.address)


@pytest.fixture
def page(live: Opened) -> Iterator[Page]:
    """The page for a test that may turn its controls; they are turned back after it, but for the shares of a mix."""
    live.page.locator("#mix-scores div").first.wait_for()
    yield live.page
    live.page.get_by_label("Try a setting").fill("")
    live.page.get_by_role("button", name="Back to the folder's menu").click()
    expect(live.page.locator("#setting-found")).to_be_hidden()
    expect(live.page.locator("#menu-status")).to_have_text("")
    expect(live.page.locator(".error")).to_have_count(0)
