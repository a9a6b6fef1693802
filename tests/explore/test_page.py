"""The page in a real browser: every control changes the picture, the address keeps the state, nothing is covered."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Browser, Page, expect

from halfmask.menus.menu import Menu
from halfmask.pages.explore.explore_server import ExploreServer
from tests.browser import LOOKS, PATIENCE, accessible, unreached, within
from tests.explore.conftest import Opened, opened, serving

DRAWN = "#scatter[data-drawn]"


def points(page: Page) -> int:
    """How many points the picture has, once no answer is awaited."""
    page.locator(DRAWN).wait_for()
    page.locator("#controls:not([aria-busy])").wait_for()
    return int(page.locator("#scatter").get_attribute("data-drawn") or -1)


def picture(page: Page) -> str:
    """What lies over the points: axes, lines, marks."""
    points(page)
    return str(page.locator("#scatter > svg").inner_html())


def another(page: Page, before: str) -> None:
    """Wait for another picture."""
    within(lambda: picture(page) != before)


@pytest.fixture(scope="module")
def live(browser: Browser, server: ExploreServer) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    yield opened(context, server.address)
    context.close()


@pytest.fixture
def page(live: Opened, server: ExploreServer) -> Iterator[Page]:
    """The page, back at its start after each test."""
    points(live.page)
    yield live.page
    live.page.get_by_role("button", name="Back to the start").click()
    expect(live.page).to_have_url(server.address)
    points(live.page)


def test_it_opens_on_the_offer_without_outside_requests(live: Opened, server: ExploreServer, folder: Path) -> None:
    page = live.page
    assert points(page) > 100
    offer = Menu.read(folder / "offer.json")
    for each in offer.settings[:-1]:
        expect(page.locator("#cards").get_by_text(str(each.setting), exact=True)).to_be_visible()
    assert page.locator("#scatter .mark.offer").count() == len(offer.settings) - 1
    assert live.said == []
    assert [url for url in live.asked if not url.startswith((server.address, "data:"))] == []


def test_all_is_on_one_screen(page: Page) -> None:
    for name in ("#controls", "#scatter", "#cards"):
        box = page.locator(name).bounding_box()
        assert box is not None
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900
    assert page.evaluate("document.documentElement.scrollHeight") <= 900


@pytest.mark.parametrize(
    ("label", "value"),
    [("Producers", "50000"), ("Error at most, %", "3"), ("Epsilon at most", "0.5"), ("Largest day", "7")],
)
def test_every_number_changes_the_picture_and_the_address(page: Page, label: str, value: str) -> None:
    before = picture(page)
    if label == "Largest day":  # nothing else is protected by it
        page.get_by_label("Protect").select_option("whole-day")
        another(page, before)
        before = picture(page)
    control = page.locator("#controls").get_by_label(label)
    control.fill(value)
    another(page, before)
    name = control.get_attribute("name") or ""
    within(lambda: value in parse_qs(urlsplit(page.url).query).get(name, []))


def test_every_choice_and_layer_changes_the_picture(page: Page) -> None:
    for change in (
        lambda: page.get_by_label("Protect").select_option("month"),
        lambda: page.get_by_label("a split total").check(),
        lambda: page.get_by_label("each reading").check(),
        lambda: page.get_by_label("Across").select_option("privacy"),
        lambda: page.get_by_label("Upwards").select_option("utility"),
        lambda: page.get_by_label("paper's menu").check(),
        lambda: page.get_by_label("limit of noise").check(),
        lambda: page.get_by_role("checkbox", name="front").uncheck(),
        lambda: page.get_by_label("levels to offer").uncheck(),
    ):
        before = picture(page)
        change()
        another(page, before)


def test_filters_leave_fewer_points(page: Page) -> None:
    every = points(page)
    page.get_by_label("promise only").check()
    expect(page.locator("#scatter")).not_to_have_attribute("data-drawn", str(every))
    promised = points(page)
    page.get_by_label("laplace").uncheck()
    expect(page.locator("#scatter")).not_to_have_attribute("data-drawn", str(promised))
    assert 0 < points(page) < promised < every
    page.get_by_label("gaussian").uncheck()
    expect(page.locator("#scatter")).to_have_attribute("data-drawn", "0")


def test_nothing_fits_offers_what_does(page: Page) -> None:
    page.get_by_label("Epsilon at most").fill("0.001")
    expect(page.locator("#sentence")).to_contain_text("Nothing fits")
    page.locator("#closest button").first.click()
    expect(page.locator("#sentence")).to_contain_text("Offer these levels")
    expect(page.locator("#closest")).to_be_hidden()


def test_a_setting_is_pinned_by_keyboard_and_by_name_and_the_address_restores_it(page: Page, browser: Browser) -> None:
    page.get_by_label("Try a setting").fill("laplace 0.5")
    page.keyboard.press("Enter")
    expect(page.locator(".card.pinned")).to_have_count(1)
    page.locator("#scatter").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tip")).to_contain_text("epsilon")
    page.keyboard.press("Enter")
    expect(page.locator(".card.pinned")).to_have_count(2)
    page.get_by_label("Across").select_option("noise")
    points(page)
    other = browser.new_page()
    other.goto(page.url)
    expect(other.locator(".card.pinned")).to_have_count(2)
    expect(other.get_by_label("Across")).to_have_value("noise")
    assert other.locator("#cards").inner_text() == page.locator("#cards").inner_text()
    other.close()
    page.get_by_role("button", name="Unpin laplace:0.5", exact=False).first.click()
    expect(page.locator(".card.pinned")).to_have_count(1)


def test_a_point_under_the_pointer_says_what_it_is(page: Page) -> None:
    box = page.locator("#scatter .mark.offer").nth(1).bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page.locator(".tip")).to_contain_text("error")
    page.mouse.move(2, 2)
    expect(page.locator(".tip")).to_be_hidden()


def test_a_mistake_is_named_and_changes_nothing(page: Page) -> None:
    before = picture(page)
    page.get_by_label("Try a setting").fill("<b>laplace")
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.locator("#status")).to_contain_text("<b>laplace")
    page.locator("#controls").get_by_label("Producers").fill("0")
    expect(page.locator("#status")).to_contain_text("Producers")
    assert picture(page) == before


@pytest.mark.slow  # a whole offer is made
def test_the_offer_is_saved_as_the_command_makes_it(page: Page, tmp_path: Path) -> None:
    page.get_by_label("a split total").check()
    page.get_by_label("Protect").select_option("whole-day")
    points(page)
    page.get_by_text("As a command").click()
    command = page.locator("#command").inner_text()
    with page.expect_download(timeout=3 * PATIENCE) as saving:  # a whole offer is made
        page.get_by_role("button", name="Save offer.json").click()
    saving.value.save_as(tmp_path / "offer.json")
    menu = Menu.read(tmp_path / "offer.json")
    assert menu.question is not None
    assert (menu.question.release, menu.question.protect) == ("split", "whole-day")
    menu.check_publishable()
    asked = menu.provenance["asked"]
    assert f"--epsilon {asked['epsilon']}" in command
    assert f"--within {asked['within']}" in command


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_everybody_can_use_it(browser: Browser, server: ExploreServer, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
    page = opened(context, server.address).page
    points(page)
    accessible(page)
    if width < 900:
        boxes = [page.locator(name).bounding_box() for name in ("#picture", "#controls", "#pinned")]
        for one, other in itertools.pairwise(boxes):
            assert one is not None
            assert other is not None
            assert one["y"] + one["height"] <= other["y"] + 1
    assert unreached(page) == []
    context.close()


def test_everybody_can_drop_a_file(browser: Browser) -> None:
    with serving(None) as empty:
        for width, scheme in LOOKS:
            context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=scheme)  # type: ignore[arg-type]
            found = opened(context, empty.address)
            accessible(found.page)
            assert unreached(found.page) == []
            assert found.said == []
            context.close()


def test_a_dropped_file_goes_the_whole_way(browser: Browser, folder: Path, tmp_path: Path) -> None:
    readings = tmp_path / "street<b>.csv"
    csv.write_csv(pq.read_table(folder.parent / f"{folder.name}-panel.parquet"), readings)
    with serving(None) as empty:
        context = browser.new_context()
        found = opened(context, empty.address)
        accessible(found.page)
        bad = tmp_path / "bad.csv"
        bad.write_text("nothing,here\nof,use\n")
        found.page.locator("#file").set_input_files(bad)
        expect(found.page.locator("#failed")).to_be_visible()
        assert str(tmp_path) not in found.page.locator("#failed").inner_text()
        found.page.locator("#file").set_input_files(readings)
        expect(found.page.locator("h1")).to_have_text("street_b_")
        assert points(found.page) > 1000
        assert [text for text in found.said if "Failed to load" not in text] == []
        context.close()
