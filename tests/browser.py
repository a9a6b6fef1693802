"""A real browser, for whichever page is to be looked at."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

PATIENCE = 60_000
"""Milliseconds that any test waits for a page."""
expect.set_options(timeout=PATIENCE)


@contextmanager
def launched() -> Iterator[Browser]:
    """While it runs, its event loop lets no other run in this thread."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("needs a browser: `make system` installs chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"], timeout=PATIENCE)
        yield browser
        browser.close()


def within(true: Callable[[], bool]) -> None:
    """Wait until a condition holds; fail after `PATIENCE`."""
    until = time.monotonic() + PATIENCE / 1000
    while not true():
        assert time.monotonic() < until, "still not so"
        time.sleep(0.05)


def accessible(page: Page) -> None:
    """Axe finds nothing wrong on a page."""
    found = Axe().run(page).response["violations"]
    told = [f"{each['id']}: {node['target']} {node['failureSummary']}" for each in found for node in each["nodes"]]
    assert told == []


LOOKS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]
"""Widths and colour schemes in which pages are tested."""
