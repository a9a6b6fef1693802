"""The live demo: what its services publish of three days, and its page in a real browser."""

import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from halfmask.simulation.live_demo import LAST_LINE, PLAN, LiveState, run_live_demo
from tests.browser import LOOKS, accessible, launched, unreached
from tests.commands.program import halfmask as program
from tests.pages.served import Visit

HOMES = 60
OPTIONS = ("--users", str(HOMES), "--no-browser")


def width(day: dict[str, Any]) -> float:
    return float(day["found"]["high"] - day["found"]["low"])


def test_the_page_shows_both_sides_and_its_button_goes_on() -> None:
    """A split of 60 homes carries 2 draws instead of 60: at the same promise the band is narrower by sqrt(30)."""
    ready, may_end = threading.Event(), threading.Event()
    address, days, found = list[str](), list[dict[str, Any]](), list[LiveState]()

    def opened(at: str) -> None:
        address.append(at)
        ready.set()

    def run() -> None:
        found.append(run_live_demo(HOMES, 1, opened, days.append, 60, lambda: bool(may_end.wait(600)) and None))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(60)
        with launched() as browser:
            visit = Visit(browser, bypass_csp=True)  # axe is another script
            page = visit.page
            page.goto(address[0])
            for number in (1, 2):
                expect(page.locator("#on")).to_have_text(PLAN[number].title)
                page.locator("#on").click()
            expect(page.locator("#last")).to_have_text(LAST_LINE)
            assert page.locator("#results tbody tr").count() == 3
            page.locator("#level").fill("3")
            expect(page.locator("#level-name")).to_contain_text("split")
            assert page.locator("#curve circle").count() == 30
            assert {url.startswith(address[0].removesuffix("/demo")) for url in visit.asked} == {True}
            assert visit.wrong == []
            for wide, scheme in LOOKS:
                page.set_viewport_size({"width": wide, "height": 844})
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                accessible(page)
            assert unreached(page) == []
            for side, other in (("phone", "utility"), ("utility", "phone")):
                with page.expect_popup() as opening:
                    page.locator(f".{side} .alone").click()
                alone = opening.value
                expect(alone.locator(f".{side}")).to_be_visible()
                expect(alone.locator(f".{other}")).to_be_hidden()
                accessible(alone)
                alone.close()
    finally:
        may_end.set()
        thread.join(60)
    (state,) = found
    looks = [point for point in state.points if point["day"] == 0 and point["found"]]
    assert [point["arrived"] for point in looks] == [20, 40, 60, 60]
    assert width(looks[0]) > 1.5 * width(looks[2])
    assert [point["found"] for point in state.points if point["day"] == 2][:3] == [None, None, None]
    a_little, more, split = map(width, days)
    assert more > 8 * a_little
    assert 4 < more / split < 7


def test_the_command_prints_a_line_per_day_and_the_last_line(tmp_path: Path) -> None:
    ended = program("demo", "--live", *OPTIONS, cwd=tmp_path)
    lines = ended.stdout.splitlines()
    assert len(lines) == 5
    assert [line.partition(":")[0] for line in lines[1:4]] == [each.title for each in PLAN]
    assert lines[-1] == LAST_LINE
    assert list(tmp_path.iterdir()) == []
