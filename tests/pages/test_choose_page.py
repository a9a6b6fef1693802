"""The producer's page in a real browser: choose, look at own readings, join, send, offline and back, leave."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import launched
from tests.pages.served import MENU, Hosted, Visit, hosted, midnight
from tests.service.split_pair import two_urls
from tests.service.test_split_kills import Street, deployment, until


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with hosted(tmp_path_factory.mktemp("choose")) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as started:
        yield started


@pytest.fixture
def campaign(service: Hosted) -> str:
    return service.campaign()


def opened(browser: Any, service: Hosted, campaign: str, **options: Any) -> Visit:
    visit = Visit(browser, **options)
    visit.page.goto(f"{service.address}/?campaign={campaign}")
    expect(visit.page.locator("#choice")).to_be_visible()
    return visit


def readings(path: Path, days: int = 1, per_day: int = 48, back: int = 1) -> Path:
    """A file whose columns are a meter, the value with a decimal comma, a count and the time, the latest row first."""
    rows = []
    for k in range(days * per_day):
        time = midnight(-back) + timedelta(minutes=k * 1440 / per_day)
        rows.append(f"M1;{(k % 7) / 5:.3f};{k};{time:%d.%m.%Y %H:%M}".replace(".", ",", 1))
    path.write_text("meter;Verbrauch (kWh);no;Zeit\n" + "\n".join(reversed(rows)) + "\n")
    return path


def choose(visit: Visit, place: int) -> None:
    visit.page.locator("#level").fill(str(place))


def joined(visit: Visit, place: int = 1) -> None:
    choose(visit, place)
    visit.page.locator("#by-page").check()
    visit.page.locator("#agree").check()
    visit.page.locator("#join-now").click()
    expect(visit.page.locator("#member")).to_be_visible()


def heights(points: str | None) -> list[float]:
    return [float(each.partition(",")[2]) for each in (points or "").split()]


def test_the_slider_goes_from_open_to_private_and_redraws_the_curve(
    browser: Browser, service: Hosted, campaign: str
) -> None:
    visit = opened(browser, service, campaign)
    page, seen = visit.page, []
    for place in range(len(MENU)):
        choose(visit, place)
        level = ["N", "A", "B"][place]
        expect(page.locator("#level-name")).to_contain_text(f"Level {level}")
        seen.append(page.locator("#curve .seen").get_attribute("points"))
    assert len(set(seen)) == 3
    true = page.locator("#curve .true").get_attribute("points")
    assert heights(seen[0]) == pytest.approx(heights(true), abs=0.3)  # on the lattice
    assert heights(seen[1]) != pytest.approx(heights(true), abs=5)
    assert visit.wrong == []


def test_the_odds_on_the_page_are_those_of_the_noise(browser: Browser, service: Hosted, campaign: str) -> None:
    """For Laplace noise of 500 steps and a change of 500 the best guess is right with (1 + TV)/2 = 1 - e^(-1/2) / 2."""
    levels = service.ok("GET", f"/v1/campaigns/{campaign}/levels")["levels"]
    found = {each["id"]: each for each in levels}
    assert [each["id"] for each in levels] == ["N", "A", "B"]
    assert found["A"]["odds"]["one"] == pytest.approx(1 - 0.5 * 2.718281828 ** (-0.5), abs=2e-3)
    assert found["B"]["odds"]["one"] == pytest.approx(1 - 0.5 * 2.718281828 ** (-0.05), abs=2e-3)
    assert 0.5 < found["B"]["odds"]["day"] < found["B"]["odds"]["month"] < 1
    assert found["A"]["month_reward"] == 2 * 48 * 30
    visit = opened(browser, service, campaign)
    choose(visit, 2)
    expect(visit.page.locator("#odds")).to_contain_text("53 of 100")
    expect(visit.page.locator("#hides")).to_have_class(re.compile("no"))


def test_own_readings_are_drawn_day_by_day_and_nothing_leaves_the_page(
    browser: Browser, service: Hosted, campaign: str, tmp_path: Path
) -> None:
    visit = opened(browser, service, campaign)
    page, before = visit.page, len(visit.asked)
    page.locator("#own-part summary").click()
    page.set_input_files("#own", readings(tmp_path / "mine.csv", days=30, back=30))
    expect(page.locator("#own-told")).to_contain_text("1,440 readings")
    days = {page.locator("#which-day").inner_text()}
    for _ in range(2):
        page.locator("#before").click()
        days.add(page.locator("#which-day").inner_text())
    assert len(days) == 3
    assert len((page.locator("#curve .true").get_attribute("points") or "").split()) == 48
    choose(visit, 2)
    assert visit.asked[before:] == []
    page.set_input_files("#own", {"name": "x.csv", "mimeType": "text/csv", "buffer": b"no numbers here\n"})
    expect(page.locator("#own-told")).to_contain_text("no column of times")
    assert len(visit.asked) == before
    assert visit.wrong == []


def test_from_joining_to_a_booked_reward_offline_and_back_and_leaving(
    browser: Browser, service: Hosted, campaign: str, tmp_path: Path
) -> None:
    context = browser.new_context()
    visit = opened(context, service, campaign)
    page = visit.page
    joined(visit)
    page.set_input_files("#file", readings(tmp_path / "day.csv"))
    expect(page.locator("#state")).to_contain_text("48 accepted")
    expect(page.locator("#rewards")).to_contain_text("0.10")
    sent = [json.loads(body)["reports"] for body in visit.bodies if '"reports"' in body]
    (reports,) = sent
    raw = {round(1000 * (k % 7) / 5) for k in range(48)}
    assert len(reports) == 48
    assert sum(each["steps"] in raw for each in reports) < 12  # masked: hardly any equals a reading
    stored = page.evaluate("JSON.stringify(localStorage)")
    assert "1.2" not in re.findall(r"value[^,}]*", stored)
    context.set_offline(True)
    page.set_input_files("#file", readings(tmp_path / "today.csv", per_day=288, back=1))
    expect(page.locator("#state")).to_contain_text("Nothing is lost")
    waiting = page.evaluate("Object.values(JSON.parse(localStorage.halfmask).campaigns)[0].waiting.length")
    assert waiting == 288 - 48
    context.set_offline(False)
    expect(page.locator("#state")).to_contain_text("refused", timeout=60_000)  # not at the campaign's times
    page.reload()
    expect(page.locator("#member")).to_be_visible()
    page.locator("#leave").click()
    page.locator("#leave-yes").click()
    expect(page.locator("#state")).to_contain_text("you have left")
    context.close()


def test_the_same_reading_gets_the_same_report_after_joining_again(
    browser: Browser, service: Hosted, campaign: str, tmp_path: Path
) -> None:
    visit = opened(browser, service, campaign)
    page, file = visit.page, readings(tmp_path / "day.csv")
    for _ in range(2):
        joined(visit)
        page.set_input_files("#file", file)
        expect(page.locator("#state")).to_contain_text("48 accepted")
        page.locator("#leave").click()
        page.locator("#leave-yes").click()
        page.locator("#forget").click()
        expect(page.locator("#join")).to_be_visible()
    first, second = (json.loads(body)["reports"] for body in visit.bodies if '"reports"' in body)
    assert first == second


def test_a_receipt_says_who_what_until_when_and_the_promise(browser: Browser, service: Hosted, campaign: str) -> None:
    visit = opened(browser, service, campaign)
    joined(visit, 2)
    with visit.page.expect_download() as saved:
        visit.page.locator("#receipt").click()
    text = saved.value.path().read_text()
    terms = service.ok("GET", f"/v1/campaigns/{campaign}")
    for said in (terms["name"], terms["purpose"], terms["ends"], "laplace:5", "epsilon", service.address):
        assert said in text


def test_a_paired_device_is_seen_and_can_leave_but_a_code_works_once(
    browser: Browser, service: Hosted, campaign: str
) -> None:
    device = service.ok("POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "B"})["token"]
    code = service.ok("POST", "/v1/me/code", device)["code"]
    visit = opened(browser, service, campaign)
    page = visit.page
    page.locator("#code").fill(code.lower())
    page.locator("#device-way button").click()
    expect(page.locator("#by")).to_contain_text("your device masks")
    token = page.evaluate("Object.values(JSON.parse(localStorage.halfmask).campaigns)[0].token")
    status, refused = service.served.send("PATCH", "/v1/me", token, {"setting": "N"})
    assert (status, refused["error"]["code"]) == (403, "forbidden")
    assert service.served.send("POST", "/v1/reports", token, {"reports": []})[0] == 403
    assert service.served.send("POST", f"/v1/campaigns/{campaign}/pages", None, {"code": code})[0] == 403
    page.locator("#leave").click()
    page.locator("#leave-yes").click()
    expect(page.locator("#state")).to_contain_text("you have left")
    assert service.ok("GET", "/v1/me", device)["state"] == "left"


def test_who_leaves_a_split_level_by_the_page_is_withdrawn_at_both_services(browser: Browser, tmp_path: Path) -> None:
    with deployment(tmp_path, two_urls(tmp_path)) as both:
        street = Street(both)
        for send in (send for person in range(3) for send in street.report(0, person, 1000)):
            assert send()
        code = both.served[0].ok("POST", "/v1/me/code", street.people[1]["token"])["code"]
        page = Visit(browser).page
        page.goto(f"{both.addresses[0]}/?campaign={street.campaign}")
        page.locator("#code").fill(code)
        page.locator("#device-way button").click()
        expect(page.locator("#by")).to_contain_text("your device masks")
        page.locator("#leave").click()
        page.locator("#leave-yes").click()
        expect(page.locator("#state")).to_contain_text("you have left")
        until(lambda: stored_shares(both.urls[1]) == 2, "the helper still has the share")
        assert stored_shares(both.urls[0]) == 2


def stored_shares(url: str) -> int:
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
        return int(connection.execute("SELECT count(*) FROM split_shares").fetchone()[0])


def test_what_others_named_is_shown_as_text(browser: Browser, service: Hosted) -> None:
    bad = "<img src=x onerror=alert(1)>"
    menu = {"settings": [{"id": "A", "name": bad, "setting": "laplace:0.5"}]}
    campaign = service.campaign(name=bad, purpose=bad, unit=bad[:40], menu=menu, rewards={})
    visit = opened(browser, service, campaign)
    assert visit.page.locator("img").count() == 0
    expect(visit.page.locator("#asks")).to_contain_text(bad)
    assert visit.wrong == []


def test_a_campaign_that_has_ended_asks_for_nothing(browser: Browser, service: Hosted, campaign: str) -> None:
    visit = opened(browser, service, campaign)
    page = visit.page
    joined(visit)
    assert page.locator("#give").is_visible()
    page.clock.set_fixed_time(midnight(60))
    page.reload()
    expect(page.locator("#forget")).to_be_visible()
    for place in ("#give", "#leave"):
        expect(page.locator(place)).to_be_hidden()
    page.locator("#forget").click()
    expect(page.locator("#ended")).to_be_visible()
    assert page.locator("#join").is_hidden()


def test_a_browsers_budget_stays_that_of_its_first_level(
    browser: Browser, service: Hosted, campaign: str, tmp_path: Path
) -> None:
    found = service.ok("GET", f"/v1/campaigns/{campaign}/levels")["levels"]
    month = {each["id"]: each["epsilon"]["month"] for each in found}
    left = round(100 * (1 - month["A"] / 30 / month["B"]))  # after one day of A
    assert left < 90  # by A's own budget 97
    visit = opened(browser, service, campaign)
    page = visit.page
    joined(visit, 2)
    choose(visit, 1)
    page.locator("#change").click()
    expect(page.locator("#change")).to_be_hidden()
    page.set_input_files("#file", readings(tmp_path / "day.csv"))
    expect(page.locator("#budget-left")).to_have_text(f"{left} %")


def test_the_page_speaks_in_the_campaigns_nouns(browser: Browser, service: Hosted) -> None:
    campaign = service.campaign(nouns={"one": "station", "many": "stations"})
    page = opened(browser, service, campaign).page
    expect(page.locator("#asks")).to_contain_text("every station")
    page.locator("details", has=page.locator("#never")).locator("summary").click()
    expect(page.locator("#never")).to_contain_text("stations")


def test_a_producer_names_its_group_when_it_joins(browser: Browser, service: Hosted) -> None:
    campaign = service.campaign(groups=["north", "south's"])
    visit = opened(browser, service, campaign)
    page = visit.page
    page.get_by_label("Your group").select_option("south's")
    expect(page.locator("#command")).to_contain_text(r"--group 'south'\''s'")
    joined(visit)
    (sent,) = [json.loads(body) for body in visit.bodies if '"group"' in body]
    assert sent["group"] == "south's"
    assert page.locator("#group").is_hidden()
    assert visit.wrong == []


def test_a_browser_that_asks_for_german_gets_german(browser: Browser, service: Hosted) -> None:
    menu = {"settings": [{"id": "A", "name": "light blur", "setting": "laplace:0.5"}]}
    visit = opened(browser, service, service.campaign(menu=menu, rewards={"A": 2}), locale="de-AT")
    page = visit.page
    expect(page.locator("html")).to_have_attribute("lang", "de")
    expect(page.locator("#asks")).to_contain_text("alle Haushalte")
    expect(page.locator("#level-name")).to_have_text("Stufe A: leicht verwischt")
    expect(page.locator("#earns")).to_have_text(re.compile(r"2,88\s€ im Monat"))
    expect(page.locator("#exact")).to_contain_text("0,001")
    assert visit.wrong == []


def test_nobody_joins_over_a_connection_that_others_can_read(browser: Browser, service: Hosted, campaign: str) -> None:
    visit = Visit(browser)
    page, outside = visit.page, "http://meters.test"

    def passed_on(route: Any) -> None:
        route.fulfill(response=route.fetch(url=route.request.url.replace(outside, service.address)))

    page.route(f"{outside}/**", passed_on)
    page.goto(f"{outside}/?campaign={campaign}")
    expect(page.locator("#insecure")).to_be_visible()
    expect(page.locator("#choice")).to_be_visible()
    assert page.locator("#join").is_hidden()


def test_pages_come_with_a_strict_policy_and_without_the_outside(
    browser: Browser, service: Hosted, campaign: str
) -> None:
    visit = opened(browser, service, campaign)
    answer = visit.page.request.get(service.address + "/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-frame-options"] == "DENY"
    assert {url.partition("?")[0].startswith(service.address) for url in visit.asked} == {True}
    visit.page.goto("about:blank")
    visit.page.set_content(f"<iframe src='{service.address}/'></iframe>")
    frame = visit.page.locator("iframe").element_handle().content_frame()  # type: ignore[union-attr]
    assert frame is None or frame.locator("#level").count() == 0
