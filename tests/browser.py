"""A real browser, for whichever page is to be looked at."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

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


LOOKS = [(width, scheme) for width in (390, 1280) for scheme in ("light", "dark")]
"""Widths and colour schemes in which pages are tested."""


def looking(width: int, scheme: str) -> dict[str, Any]:
    """Options of a browser's page for a look. Axe is a script of its own, which the pages' policies forbid."""
    return {"viewport": {"width": width, "height": 844}, "color_scheme": scheme, "bypass_csp": True}


def wrong_in(page: Page) -> list[str]:
    """What axe finds wrong in a page as it is, as lines that name rule and element."""
    found: Any = Axe().run(page).response
    assert len(found["passes"]) > 5  # the rules have run
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def accessible(page: Page) -> None:
    """Axe finds nothing wrong on a page, and it is not wider than its window."""
    found = wrong_in(page)
    assert not found, "\n".join(found)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def with_modules(page: Page, right: str = "", wrong: str = "") -> None:
    """Open an empty page that can import the pages' own modules, with ``wrong`` in place of ``right`` in each."""
    folder = files("halfmask").joinpath("pages")

    def module(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        text = (
            folder.joinpath(name).read_text(encoding="utf-8").replace(right or wrong, wrong)
            if name
            else "<!doctype html>"
        )
        route.fulfill(body=text, content_type="text/javascript" if name else "text/html")

    page.unroute_all()
    page.route("http://page.test/**", module)
    page.goto("http://page.test/")


MARK_REACHABLE = """() => {
  const usable = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const found = [...document.querySelectorAll(usable)].filter((each) =>
    each.checkVisibility({ visibilityProperty: true }) && !each.disabled && each.tabIndex >= 0
    && !(each.type === "radio" && !each.checked));
  found.forEach((each, place) => { each.dataset.reach = place; });
  return found.map((each) => each.outerHTML.slice(0, 100));
}"""


def unreached(page: Page) -> list[str]:
    """What Tab alone does not get to, of everything that a pointer can use; of radio buttons only the chosen one."""
    usable = page.evaluate(MARK_REACHABLE)
    assert usable
    left = set(range(len(usable)))
    for _ in range(5 * len(usable) + 20):  # the parts of a date are reached one by one
        page.keyboard.press("Tab")
        left.discard(int(page.evaluate("document.activeElement.dataset.reach ?? -1")))
        if not left:
            break
    return [usable[place] for place in sorted(left)]
