"""What axe finds wrong in a page, as lines that name rule and element."""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SIZES = ((390, 844), (1280, 900))
SCHEMES = ("light", "dark")


def wrong_in(page: Page) -> list[str]:
    """Run all of axe's rules on the page as it is."""
    found: Any = Axe().run(page).response
    assert len(found["passes"]) > 5  # the rules have run
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]
