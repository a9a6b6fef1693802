"""One real folder, one real server over it, and one real browser, for all tests of the page."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from halfmask.commands._repeat import command_of
from halfmask.pages.explore.explorer import Explorer
from halfmask.pages.explore.server import ExploreServer

expect.set_options(timeout=60_000)
CHROMIUM = shutil.which("chromium")


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
    """A browser for the tests of one file: while it runs, its event loop lets no other run in this thread."""
    if CHROMIUM is None:
        pytest.skip("the page needs a browser: `make system` installs chromium")
    with sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def desk(browser: Browser) -> Iterator[BrowserContext]:
    """A wide screen; its pages share what the browser keeps of plotly."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(desk: BrowserContext, server: ExploreServer) -> Iterator[Page]:
    """The page, loaded anew, for tests that turn its controls."""
    opened = _loaded(desk, server)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def still(desk: BrowserContext, server: ExploreServer) -> Iterator[Page]:
    """The page, loaded once, for tests that leave it as they found it."""
    opened = _loaded(desk, server)
    yield opened
    opened.close()


def _loaded(desk: BrowserContext, server: ExploreServer) -> Page:
    opened = desk.new_page()
    opened.set_default_timeout(60_000)
    opened.goto(server.address)
    opened.locator("#mix-scores div").first.wait_for()
    return opened
