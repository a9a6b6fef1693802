"""The page in a real browser: drawn, alive, complete without the net, fit for phones, the dark and the keyboard."""

import json
import re
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, Page, expect

from halfmask.choice.mix import mix, parse_shares
from halfmask.figures.results_folder import paper_menu, paper_name
from halfmask.menus.menu import Menu
from halfmask.menus.optimize import optimize
from halfmask.pages.explore.explore_page import write_alone
from halfmask.pages.explore.explore_server import ExploreServer
from halfmask.pages.explore.explorer import Explorer
from halfmask.profiles.store import load_profile
from tests.explore.conftest import Opened, opened
from tests.pages.studies import FIGURES


def drawn(page: Page, name: str) -> None:
    """Scroll to a figure and wait until it is drawn."""
    page.locator(f"#figure-{name}").scroll_into_view_if_needed()
    expect(page.locator(f"#figure-{name} .plot[data-ready] .main-svg").first).to_be_visible(timeout=60_000)


def settings_shown(page: Page) -> list[str]:
    return page.locator("#menu-table td.setting").all_inner_texts()


def texts(menu: Menu) -> list[str]:
    return [str(each.setting) for each in menu.settings]


def luminance(page: Page, script: str) -> float:
    """From 0, black, to 1, white, of a colour that a script finds."""
    channels = [float(value) for value in re.findall(r"[\d.]+", page.evaluate(script))[:3]]
    return sum(weight * channel / 255 for weight, channel in zip((0.3, 0.59, 0.11), channels, strict=True))


BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"
TICKS = "() => getComputedStyle(document.querySelector('#figure-algorithm .xtick text')).fill"


def test_the_page_draws_every_figure_by_itself(live: Opened, server: ExploreServer) -> None:
    page = live.page
    for name in FIGURES:
        drawn(page, name)
        assert page.locator(f"#figure-{name} .plot").get_attribute("aria-labelledby") == f"caption-{name}"
        assert len(page.locator(f"#caption-{name}").inner_text()) > 60
    assert live.said == []
    assert any(url.endswith("plotly.min.js") for url in live.asked)
    assert [url for url in live.asked if not url.startswith((server.address, "data:", "blob:"))] == []


def test_another_omega_chooses_another_menu(page: Page, folder: Path) -> None:
    saved, other = Menu.read(folder / "menu.json"), optimize(folder / "study.parquet", omega=0.004).menu
    assert texts(other) != texts(saved)
    assert settings_shown(page) == texts(saved)
    page.get_by_label("Largest dispersion, omega").fill("0.004")
    expect(page.locator("#menu-table td.setting")).to_have_text(texts(other))
    expect(page.locator("#menu-status")).to_contain_text("chosen in")
    expect(page.locator("#menu-command")).to_contain_text("--omega 0.004")
    drawn(page, "users")
    expect(page.locator("#figure-users .legendtext")).to_have_text([*map(paper_name, other.ids)])
    page.get_by_role("button", name="Back to the folder's menu").click()
    expect(page.locator("#menu-table td.setting")).to_have_text(texts(saved))
    expect(page.get_by_label("Largest dispersion, omega")).to_have_value("0.1")
    expect(page.locator("#menu-command")).not_to_contain_text("--omega")


def test_a_bad_weight_is_told_beside_it_and_can_be_mended(page: Page, folder: Path) -> None:
    weight = page.locator("input[name=privacy-mean]")
    weight.fill("-0.9")
    error = page.locator(".weights:has(input[name=privacy-mean]) .error")
    expect(error).to_have_text("the privacy weights (-0.9, 0.4, 0.4) are not three numbers from 0 that add up to 1")
    assert weight.get_attribute("aria-invalid") == "true"
    assert page.locator(".error").count() == 1
    assert settings_shown(page) == texts(Menu.read(folder / "menu.json"))
    weight.fill("0.6")
    expect(page.locator(".error")).to_have_count(0)
    others = [page.locator(f"input[name=privacy-{each}]") for each in ("std", "entropy")]
    for other in others:  # changing one weight rescales the others
        expect(other).to_have_value("0.2")
    expect(page.locator("#menu-command")).to_contain_text("--weights 0.6,0.2,0.2,0.6,0.2,0.2")
    others[0].fill("0")
    expect(weight).to_have_value("0.75")
    expect(others[1]).to_have_value("0.25")


def test_sliders_give_the_numbers_of_the_function(page: Page, folder: Path) -> None:
    menu, profile = paper_menu(Menu.read(folder / "menu.json")), load_profile(folder / "homes.profile")
    slider = page.get_by_label(f"share of users who take {menu.ids[1]}")
    slider.focus()
    before = page.locator("#mix-scores").get_attribute("data-shares")
    for _ in range(5):
        page.keyboard.press("PageUp")
    expect(page.locator("#mix-scores")).not_to_have_attribute("data-shares", before or "")
    page.keyboard.press("PageUp")
    percents = [int(text.removesuffix(" %")) for text in page.locator("#mix-sliders output").all_inner_texts()]
    assert sum(percents) == 100
    assert percents[1] > 50
    asked = ",".join(f"{id}={share / 100:g}" for id, share in zip(menu.ids, percents, strict=True) if share)
    expect(page.locator("#mix-scores")).to_have_attribute("data-shares", asked)
    made = mix(profile, menu, shares=parse_shares(asked), repeats=10).table
    told = [f"{np.median(made[score].to_numpy()):.3f}" for score in ("privacy", "utility")]
    assert page.locator("#mix-scores b").all_inner_texts() == told
    equal = mix(profile, menu, shares=parse_shares(before or ""), repeats=10).table
    assert told[0] != f"{np.median(equal['privacy'].to_numpy()):.3f}"


def test_one_slider_can_take_everyone(page: Page) -> None:
    page.get_by_label("share of users who take N").focus()
    page.keyboard.press("End")
    expect(page.locator("#mix-scores")).to_have_attribute("data-shares", "N=1")
    assert page.locator("#mix-scores b").all_inner_texts() == ["0.000", "1.000"]
    expect(page.locator("#mix-protection")).to_contain_text("Nobody has a finite epsilon")
    page.keyboard.press("Home")
    percents = [int(text.removesuffix(" %")) for text in page.locator("#mix-sliders output").all_inner_texts()]
    assert (percents[-1], sum(percents)) == (0, 100)


def test_any_setting_can_be_tried(page: Page) -> None:
    field = page.get_by_label("Try a setting")
    field.fill("laplace 0.2")
    expect(page.locator("#setting-sentence")).to_contain_text("8 times out of 10")
    expect(page.locator("#figure-shown .plot[data-ready] .main-svg").first).to_be_visible()
    expect(page.locator("#figure-trajectories .legendtext", has_text="laplace:0.2")).to_have_count(1)
    scores = page.locator("#setting-scores b").all_inner_texts()
    expect(page.locator("#setting-sentence")).to_contain_text("Epsilon is")
    field.fill("laplace:0.9")
    expect(page.locator("#setting-scores b").first).not_to_have_text(scores[0])
    field.fill("laplace 90")
    expect(page.locator("#setting-errors")).to_contain_text("Outside the study's range")
    assert page.locator("#setting-scores b").all_inner_texts() == ["outside", "outside"]
    field.fill("laplace:0.9,1")
    error = page.locator("#setting-form .error")
    expect(error).to_have_text("laplace takes 1 parameter(s), 2 given: write laplace:b")
    expect(page.locator("#setting-found")).to_be_hidden()
    expect(page.locator("#figure-trajectories .legendtext", has_text="laplace:0.9")).to_have_count(0)
    field.fill("")
    expect(error).to_have_count(0)


def test_hovering_tells_setting_privacy_and_utility(page: Page, folder: Path) -> None:
    drawn(page, "algorithm")
    page.locator("#figure-algorithm .scatterlayer .trace").last.locator(".points path").last.hover(force=True)
    label = page.locator("#figure-algorithm .hoverlayer .hovertext").first
    expect(label).to_contain_text("utility")
    told = re.search(r"((?:sine|laplace):[\d.,]+?)(?:privacy ([\d.]+)).*?utility ([\d.]+)", label.text_content() or "")
    assert told is not None
    scored = optimize(folder / "study.parquet").scored
    row = scored.texts.to_pylist().index(told[1])
    assert told[2] == f"{scored.privacy_median[row]:.3f}"
    assert told[3].startswith(f"{scored.utility_median[row]:.3f}")


def test_no_button_sends_data_away(page: Page) -> None:
    drawn(page, "algorithm")
    buttons = page.locator("#figure-algorithm .modebar-btn")
    titles = [buttons.nth(number).get_attribute("data-title") for number in range(buttons.count())]
    assert titles == ["Download plot as a PNG", "Zoom", "Pan", "Zoom in", "Zoom out", "Reset axes"]


def test_the_legend_hides_a_mechanism_by_keyboard(page: Page) -> None:
    drawn(page, "noise")
    lines = page.locator("#figure-noise .scatterlayer .js-line")
    assert lines.count() == 4
    entry = page.get_by_role("button", name="show or hide sine").and_(page.locator("#figure-noise .traces"))
    entry.focus()
    page.keyboard.press("Enter")
    expect(lines).to_have_count(2)
    page.keyboard.press("Enter")
    expect(lines).to_have_count(4)


def test_a_phone_shows_all_without_scrolling_sideways(browser: Browser, server: ExploreServer) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark", reduced_motion="reduce")
    page = opened(context, server.address).page
    for name in FIGURES:
        drawn(page, name)
    page.get_by_label("Try a setting").fill("laplace:0.5")
    expect(page.locator("#figure-shown .plot[data-ready]")).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    assert luminance(page, BACKGROUND) < 0.2
    assert luminance(page, TICKS) > 0.7
    context.close()


def test_figures_follow_when_the_light_changes(page: Page) -> None:
    drawn(page, "algorithm")
    assert luminance(page, TICKS) < 0.3
    page.emulate_media(color_scheme="dark")
    expect(page.locator("#figure-algorithm .xtick text").first).to_have_css("fill", "rgb(231, 233, 236)")
    assert luminance(page, BACKGROUND) < 0.2
    page.emulate_media(color_scheme="light")


def test_every_input_has_a_name_and_motion_can_be_reduced(page: Page) -> None:
    nameless = page.evaluate(
        "() => [...document.querySelectorAll('input')].filter(e => !e.labels.length && !e.ariaLabel).length"
    )
    assert nameless == 0
    assert page.evaluate("() => document.querySelectorAll('input').length") > 12
    headings = page.locator("h1, h2").all_inner_texts()
    sections = ("The menu", "What privacy costs", "Free choice", "What it really protects", "The readings")
    assert headings[1:] == [*sections, "How to repeat it"]
    smooth = "() => getComputedStyle(document.documentElement).scrollBehavior"
    assert page.evaluate(smooth) == "auto"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(smooth) == "smooth"
    page.emulate_media(reduced_motion="reduce")


def test_the_file_that_stands_alone_opens_offline(browser: Browser, explorer: Explorer, tmp_path: Path) -> None:
    target = tmp_path / "explore.html"
    write_alone(explorer, target)
    context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True, reduced_motion="reduce")
    alone = opened(context, target.as_uri())
    page = alone.page
    held = json.loads(page.locator("#figures-data").text_content() or "")
    assert sorted(each["name"] for each in held) == sorted(FIGURES)
    for name in (FIGURES[0], FIGURES[-1]):  # the same script draws the same figures as on the live page
        drawn(page, name)
    assert alone.said == []
    assert [url for url in alone.asked if not url.startswith(("data:", "blob:"))] == [target.as_uri()]
    expect(page.locator("header .note")).to_contain_text("the live controls are left out")
    assert page.locator("form, input").count() == 0
    assert settings_shown(page) == texts(explorer.inputs.menu) if explorer.inputs.menu else False
    context.close()
