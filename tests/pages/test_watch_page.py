"""The consumer's page in a real browser: sign in, totals, what if, tables, live, a new campaign."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import launched, within
from tests.pages.served import MENU, Hosted, Visit, hosted, midnight
from tests.service.split_processes import two_services

PRODUCERS = 4


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with hosted(tmp_path_factory.mktemp("watch")) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


def filled(service: Hosted, **changed: Any) -> str:
    """A campaign whose yesterday is closed, with reports of a few producers."""
    campaign = service.campaign(**changed)
    tokens = [join(service, campaign) for _ in range(PRODUCERS)]
    for place, token in enumerate(tokens):
        report(service, token, midnight(-1) + timedelta(hours=6), 1000 * (place + 1))
    day = midnight(-1).date().isoformat()
    service.ok("POST", f"/v1/campaigns/{campaign}/periods/{day}/close", service.consumer)
    return campaign


def join(service: Hosted, campaign: str, setting: str = "A") -> str:
    return str(service.ok("POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": setting})["token"])


def report(service: Hosted, token: str, time: Any, steps: int, setting: str = "A") -> str:
    body = {"reports": [{"time": time.isoformat(), "steps": steps, "setting": setting}]}
    return str(service.ok("POST", "/v1/reports", token, body)["results"][0]["status"])


def signed_in(browser: Browser, service: Hosted, campaign: str, **options: Any) -> Visit:
    visit = Visit(browser, **options)
    page = visit.page
    page.goto(f"{service.address}/watch?campaign={campaign}")
    page.locator("#token").fill(service.consumer)
    page.locator("#sign-in button").click()
    expect(page.locator("#seen")).to_be_visible()
    return visit


def test_the_last_total_its_band_and_the_levels_are_the_services(browser: Browser, service: Hosted) -> None:
    campaign = filled(service)
    visit = signed_in(browser, service, campaign)
    page, day = visit.page, midnight(-1).date().isoformat()
    entry = service.ok("GET", f"/v1/campaigns/{campaign}/periods", service.consumer)["periods"][0]
    assert entry["sum"]["estimate"] == 10.0
    expect(page.locator("#today")).to_have_text("10 kWh")
    row = page.locator("#periods tbody tr", has_text=day)
    expect(row).to_contain_text(f"{entry['sum']['low']:.4g}")
    expect(row.locator("td").last).to_have_text(str(PRODUCERS))
    expect(page.locator("#levels tbody tr").first).to_contain_text(str(PRODUCERS))
    expect(page.locator("#money")).to_contain_text("0.01")
    assert page.locator("#totals .band").count() == 1
    assert page.locator("#totals .hatched").count() == 1
    assert visit.wrong == []


def test_the_token_is_in_no_place_that_scripts_can_read(browser: Browser, service: Hosted) -> None:
    visit = signed_in(browser, service, filled(service))
    page = visit.page
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("JSON.stringify([localStorage, sessionStorage])") == "[{},{}]"
    assert page.locator("#token").input_value() == ""
    assert service.consumer not in page.content()
    page.reload()
    expect(page.locator("#seen")).to_be_visible()
    page.locator("#sign-out").click()
    expect(page.locator("#sign-in")).to_be_visible()
    page.reload()
    expect(page.locator("#sign-in")).to_be_visible()
    page.locator("#token").fill("not a token")
    page.locator("#sign-in button").click()
    expect(page.locator("#trouble")).to_contain_text("not a consumer's")


def test_what_others_named_is_shown_as_text(browser: Browser, service: Hosted) -> None:
    bad = "<img src=x onerror=alert(1)>"
    menu = {"settings": [{"id": "A", "name": bad, "setting": "laplace:0.5"}]}
    visit = signed_in(browser, service, service.campaign(name=bad, purpose=bad, groups=[bad], menu=menu, rewards={}))
    assert visit.page.locator("img").count() == 0
    expect(visit.page.locator("#name")).to_have_text(bad)
    expect(visit.page.locator("#group option").last).to_have_text(bad)
    assert visit.wrong == []


def test_too_few_producers_are_counted_and_named(browser: Browser, service: Hosted) -> None:
    campaign = service.campaign(least_producers=20)
    for _ in range(2):
        join(service, campaign)
    visit = signed_in(browser, service, campaign)
    expect(visit.page.locator("#today")).to_have_text("2 of 20. Totals appear at 20.")


def test_days_without_a_total_are_folded_into_one_row(browser: Browser, service: Hosted) -> None:
    campaign = service.campaign(begins=midnight(-9).isoformat(), grace_minutes=60)
    visit = signed_in(browser, service, campaign)
    rows = visit.page.locator("#periods tbody tr")
    expect(rows.last).to_contain_text(
        f"{midnight(-9).date()} to {midnight(-1 if midnight_was_long_ago() else -2).date()}"
    )
    assert rows.count() <= 3


def midnight_was_long_ago() -> bool:
    return datetime.now(UTC) - midnight() > timedelta(minutes=61)


def test_a_closed_period_appears_by_itself(browser: Browser, service: Hosted) -> None:
    campaign = service.campaign()
    tokens = [join(service, campaign) for _ in range(PRODUCERS)]
    context = browser.new_context()
    visit = signed_in(context, service, campaign)  # type: ignore[arg-type]
    page, day = visit.page, midnight(-1).date().isoformat()
    expect(page.locator("#live")).to_have_text("live")
    for token in tokens:
        report(service, token, midnight(-1) + timedelta(hours=6), 500)
    service.ok("POST", f"/v1/campaigns/{campaign}/periods/{day}/close", service.consumer)
    expect(page.locator("#today")).to_have_text("2 kWh")
    context.close()


def test_a_lost_connection_says_when_the_last_update_was(browser: Browser, tmp_path: Path) -> None:
    with hosted(tmp_path) as service:
        page = signed_in(browser, service, service.campaign()).page
        expect(page.locator("#live")).to_have_text("live")
        service.served.stop()
        expect(page.locator("#live")).to_have_text(re.compile(r"connection lost, last update \d\d:\d\d"))


def test_tables_can_be_downloaded_and_the_call_is_the_same(browser: Browser, service: Hosted) -> None:
    campaign = filled(service)
    page = signed_in(browser, service, campaign).page
    for kind, begins in (("csv", b"period,state"), ("parquet", b"PAR1")):
        with page.expect_download() as saved:
            page.locator(f"#{kind}").click()
        assert saved.value.path().read_bytes().startswith(begins)
    page.locator("details", has=page.locator("#call")).locator("summary").click()
    expect(page.locator("#call")).to_contain_text(f"{service.address}/v1/campaigns/{campaign}/periods")
    expect(page.locator("#call")).to_contain_text("$HALFMASK_TOKEN")


def test_groups_have_totals_of_their_own(browser: Browser, service: Hosted) -> None:
    campaign, path = service.campaign(groups=["north", "south", "west"]), "producers"
    for place, group in enumerate(["north"] * 3 + ["south"] * 4):
        body = {"setting": "N", "group": group}
        token = service.ok("POST", f"/v1/campaigns/{campaign}/{path}", None, body)["token"]
        report(service, token, midnight(-1) + timedelta(hours=6), 1000 * (place + 1), "N")
    day = midnight(-1).date().isoformat()
    service.ok("POST", f"/v1/campaigns/{campaign}/periods/{day}/close", service.consumer)
    visit = signed_in(browser, service, campaign)
    page = visit.page
    rows = page.locator("#groups tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(1).locator("td").first).to_have_text("22")
    expect(rows.nth(1).locator("td").last).to_have_text("4")
    expect(rows.nth(2)).to_contain_text("withheld")
    total = page.locator("#periods tbody tr", has_text=day).locator("td").first
    expect(total).to_have_text("28")
    page.get_by_label("Totals of").select_option("north")
    expect(total).to_have_text("6")
    expect(page.locator("#today")).to_have_text("28 kWh")
    assert visit.wrong == []


def test_a_campaign_with_a_split_level_is_made_with_its_helper(browser: Browser, tmp_path: Path) -> None:
    with two_services(tmp_path) as (leader, helper):
        tokens = [
            each.served.ok("POST", "/v1/consumers", each.operator, {"name": "utility"})["token"]
            for each in (leader, helper)
        ]
        visit = Visit(browser)
        page = visit.page
        page.goto(f"{leader.address}/watch")
        page.locator("#token").fill(tokens[0])
        page.locator("#sign-in button").click()
        question = {"unit": "kWh", "step": 0.1, "low": 0, "high": 60, "readings": 48, "period": "day"}
        menu = {"settings": [{"id": "S", "setting": "laplace:60@split"}, {"id": "N", "setting": "none@total"}]}
        offer = json.dumps(menu | {"question": question}).encode()
        page.set_input_files("#offer", {"name": "offer.json", "mimeType": "application/json", "buffer": offer})
        days = {name: midnight(later).date().isoformat() for name, later in (("begins", 1), ("ends", 30))}
        for name, value in {"name": "Oak Road", "purpose": "to plan", "time_zone": "UTC", **days}.items():
            page.locator(f"#make-{name}").fill(value)
        expect(page.locator("#make-helper")).to_have_attribute("aria-invalid", "true")
        page.locator("#make-helper").fill(helper.address)
        page.locator("#make-helper_token").fill(tokens[1])
        expect(page.locator("#make-told")).to_have_text("Everything fits.")
        page.locator("#post").click()
        expect(page.locator("#name")).to_have_text("Oak Road")
        id = page.url.rpartition("=")[2]
        within(lambda: leader.served.ok("GET", f"/v1/campaigns/{id}")["split"]["campaign"])
        page.reload()
        expect(page.locator("#seen")).to_be_visible()
        assert page.locator("#unready").is_hidden()
        assert visit.wrong == []


def test_other_rewards_are_predicted_and_published(browser: Browser, service: Hosted) -> None:
    campaign = filled(service)
    page = signed_in(browser, service, campaign).page
    page.locator("#what-if summary").click()
    expect(page.locator("#forecast")).to_contain_text("A 100 %")
    page.locator("#reward-A").fill("7")
    expect(page.locator("#forecast")).to_contain_text("0.03 EUR")
    page.locator("#publish").click()
    expect(page.locator("#published")).to_contain_text("Published")
    (later,) = service.ok("GET", f"/v1/campaigns/{campaign}")["later_rewards"]
    assert later["rewards"]["A"] == 7
    assert later["from"] == midnight(1).date().isoformat()


def test_refused_reports_are_told_by_reason(browser: Browser, service: Hosted) -> None:
    campaign = filled(service)
    assert report(service, join(service, campaign), midnight(3), 1) == "refused"
    page = signed_in(browser, service, campaign).page
    expect(page.locator("#refused")).to_contain_text("Of a time to come: 1")
    entry = service.ok("GET", f"/v1/campaigns/{campaign}/periods", service.consumer)["periods"][0]
    expect(page.locator("#influence")).to_contain_text(f"{entry['influence']['1']:,.0f} kWh")


def test_a_campaign_is_made_from_an_offer_in_a_form_that_checks_itself(
    browser: Browser, service: Hosted, tmp_path: Path
) -> None:
    visit = signed_in(browser, service, filled(service))
    page, offer = visit.page, tmp_path / "offer.json"
    question = {"change": 0.5, "unit": "kWh", "step": 0.001, "readings": 48, "period": "day"}
    offer.write_text(json.dumps({"settings": MENU, "question": question}))
    page.locator("#new").click()
    page.set_input_files("#offer", {"name": "x.json", "mimeType": "application/json", "buffer": b"[1]"})
    expect(page.locator("#offer-told")).to_contain_text("not an offer")
    page.set_input_files("#offer", offer)
    expect(page.locator("#make-unit")).to_have_value("kWh")
    assert not page.locator("#make-unit").is_editable()
    values = {
        "name": "Oak Road", "purpose": "to plan", "begins": midnight(1).date().isoformat(), "low": "0", "high": "20",
        "ends": midnight(0).date().isoformat(), "time_zone": "Europe/Dublin", "reward-A": "2", "budget": "1000",
    }  # fmt: skip
    for name, value in values.items():
        page.locator(f"#make-{name}").fill(value)
    expect(page.locator("#make-ends")).to_have_attribute("aria-invalid", "true")
    assert page.locator("#post").is_disabled()
    page.locator("#make-ends").fill(midnight(30).date().isoformat())
    expect(page.locator("#make-told")).to_have_text("Everything fits.")
    expect(page.locator("#seen-by-producers section")).to_have_count(3)
    page.locator("#post").click()
    expect(page.locator("#name")).to_have_text("Oak Road")
    made = service.ok("GET", f"/v1/campaigns/{page.url.rpartition('=')[2]}")
    assert made["menu"]["settings"] == MENU
    assert (made["rewards"]["A"], made["budget"], made["time_zone"]) == (2, 1000, "Europe/Dublin")
    assert made["begins"].startswith(str((midnight(1) - timedelta(hours=1)).date())) or "T00" in made["begins"]
    assert visit.wrong == []


def test_two_browsers_from_joining_to_a_booked_reward(browser: Browser, service: Hosted, tmp_path: Path) -> None:
    campaign = service.campaign(least_producers=1)
    household = Visit(browser)
    page = household.page
    page.goto(f"{service.address}/?campaign={campaign}")
    page.locator("#by-page").check()
    page.locator("#agree").check()
    page.locator("#join-now").click()
    expect(page.locator("#member")).to_be_visible()
    rows = [f"{midnight(-1) + timedelta(minutes=30 * k):%Y-%m-%d %H:%M},{k % 5}" for k in range(48)]
    (tmp_path / "day.csv").write_text("time,kwh\n" + "\n".join(rows))
    page.set_input_files("#file", tmp_path / "day.csv")
    expect(page.locator("#rewards")).to_contain_text("0.10 expected")
    utility = signed_in(browser, service, campaign).page
    expect(utility.locator("#today")).to_contain_text("No total yet")
    day = midnight(-1).date().isoformat()
    service.ok("POST", f"/v1/campaigns/{campaign}/periods/{day}/close", service.consumer)
    expect(utility.locator("#periods")).to_contain_text(day)
    expect(utility.locator("#money")).to_contain_text("0.10")
    expect(page.locator("#rewards")).to_contain_text("0.10 earned")
