"""One real folder, one real server over it, and one real browser, for all tests of the page."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from halfmask.commands._repeat import command_of
from halfmask.commands.explore import make_results, offer_options, run_offer
from halfmask.pages.explore.explore_server import ExploreServer, OfferMaker
from halfmask.pages.explore.explorer import Explorer
from tests.browser import PATIENCE, launched


@pytest.fixture(scope="session")
def folder(whole: Path) -> Path:
    """A folder with profile, study, menu and mixes; nobody writes into it."""
    return whole


@pytest.fixture(scope="session")
def explorer(folder: Path) -> Explorer:
    return Explorer(folder, command_of)


@contextmanager
def serving(explorer: Explorer | None) -> Iterator[ExploreServer]:
    """Listening on a free port of this machine."""
    offers = OfferMaker(lambda one, wanted: offer_options(one, wanted).command_line(), run_offer)
    with ExploreServer(explorer, offers=offers, results=make_results) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def server(explorer: Explorer) -> Iterator[ExploreServer]:
    """One for all tests of the folder."""
    with serving(explorer) as running:
        yield running


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
    page.on("console", lambda message: said.append(message.text) if "GL Driver" not in message.text else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    return Opened(page, said, asked)
