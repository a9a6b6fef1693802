"""Campaigns of totals: one report a producer and period, at its first instant, once it has ended."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfmask
from halfmask.service.lake_writer import fill
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.instants import HOUR, MINUTE, instant_text
from halfmask_device.protocol import CampaignTerms
from halfmask_device.setting import law_of
from tests.service.links import link
from tests.service.test_gateway import gateway, node_token, services
from tests.service.test_peers import Net
from tests.service.world import CAMPAIGN, World, instant
from tests.statistics import mean_within

MENU = {
    "settings": [
        {"id": "A", "setting": "laplace:2.5@total"},
        {"id": "B", "setting": "gaussian:4@total"},
        {"id": "N", "setting": "none@total"},
    ]
}
TOTALS: dict[str, Any] = {
    "release": "total",
    "readings_expected": 48,
    "menu": MENU,
    "lattice": {"step": "0.1", "low": "0", "high": "40"},
}
FIRST, NEXT = "2026-11-15T00:00:00Z", "2026-11-16T00:00:00Z"
DAY = "2026-11-15"


def menu(*settings: str) -> dict[str, Any]:
    return {"settings": [{"id": f"S{number}", "setting": each} for number, each in enumerate(settings)]}


def codes(results: list[dict[str, Any]]) -> list[str]:
    return [each.get("code", each["status"]) for each in results]


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"menu": menu("laplace:2.5@total", "laplace:2.5")}, "menu.settings[1]"),
        ({"menu": menu("laplace:2.5", "laplace:2.5@total")}, "menu.settings[0]"),
        ({"menu": menu("laplace:2.5@total", "none")}, "menu.settings[1]"),
        ({"menu": menu("laplace:40@split")}, "split"),
        ({"menu": menu("laplace:2.5@total", "laplace:40@split")}, "split"),
        ({"menu": menu("laplace:2.5@month")}, "menu.settings[0]"),
        ({"menu": menu("laplace:2.5@total@total")}, "menu.settings[0]"),
        ({"release": "reading"}, "menu.settings[0]"),
        ({"release": "split"}, "release"),
        ({"release": None}, "release"),
        ({"release": ["total"]}, "release"),
        ({"release": "Total"}, "release"),
        ({"readings_expected": None}, "readings_expected"),
        ({"readings_expected": 0}, "readings_expected"),
        ({"readings_expected": 47.5}, "readings_expected"),
        ({"readings_expected": True}, "readings_expected"),
        ({"readings_expected": "48"}, "readings_expected"),
        ({"readings_expected": 10**10}, "readings_expected"),
        ({"begins": "2026-11-15T00:00:00.000001Z"}, "begins"),
        ({"begins": "2026-11-15T01:00:00Z"}, "begins"),
        ({"ends": "2026-11-30T12:00:00Z"}, "ends"),
        ({"period": "week"}, "begins"),  # 15 November is a Sunday
        ({"period": "month", "begins": "2026-11-01T00:00:00Z", "ends": "2026-12-15T00:00:00Z"}, "ends"),
        ({"time_zone": "Europe/Paris"}, "begins"),
        ({"period": "half_hour", "begins": "2026-11-15T00:15:00Z"}, "begins"),
        ({"period": "quarter_hour", "ends": "2026-11-30T00:10:00Z"}, "ends"),
        ({"grace_minutes": 0}, "grace_minutes"),
    ],
)
def test_what_is_no_campaign_of_totals(world: World, changed: dict[str, Any], field: str) -> None:
    terms = CAMPAIGN | TOTALS | changed
    assert world.refused(422, "POST", "/v1/campaigns", world.consumer(), terms)["field"] == field
    assert world.ok("GET", "/v1/campaigns") == {"campaigns": []}


def test_the_description_for_machines_has_the_release(world: World) -> None:
    described = world.ok("GET", "/openapi.json")
    schema = described["paths"]["/v1/campaigns"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    assert schema["properties"]["release"]["enum"] == ["reading", "total"]
    assert "half_hour" in schema["properties"]["period"]["enum"]
    assert not {"release", "readings_expected", "period"} & set(schema["required"])


def test_readings_need_a_menu_of_readings(world: World) -> None:
    consumer = world.consumer()
    for setting in ("laplace:2.5@total", "laplace:2.5@split"):
        error = world.refused(422, "POST", "/v1/campaigns", consumer, CAMPAIGN | {"menu": menu("none", setting)})
        assert error["field"] == "menu.settings[1]"


def test_the_terms_say_what_is_released_and_the_hash_pins_it(world: World) -> None:
    consumer = world.consumer()
    plain = world.ok("GET", f"/v1/campaigns/{world.campaign(consumer)}")
    offer = world.ok("GET", f"/v1/campaigns/{world.campaign(consumer, **TOTALS)}")
    assert (plain["release"], plain["readings_expected"]) == ("reading", None)
    assert (offer["release"], offer["readings_expected"], offer["menu"]) == ("total", 48, MENU)
    terms = CampaignTerms.read(offer)
    assert terms.terms()["release"] == "total"
    assert len({CampaignTerms.read(offer | {"readings_expected": n}).terms_hash() for n in (47, 48)}) == 2
    assert "release" not in CampaignTerms.read(plain).terms()  # the hashes of campaigns of readings stay as they were


def test_one_report_a_period_at_its_first_instant_once_it_has_ended(world: World) -> None:
    producer = world.join(world.campaign(world.consumer(), **TOTALS))
    world.clock.set("2026-11-16T00:00:00Z")
    world.clock.now -= 1  # the day ends with this clock's next microsecond, and five minutes ahead are not allowed
    assert codes(world.report(producer, (FIRST, 105, "A"))) == ["future"]
    world.clock.now += 1
    results = world.report(
        producer,
        *(("2026-11-15T00:00:00.000001Z", 105, "A"), ("2026-11-15T00:30:00Z", 105, "Z"), ("yesterday", 105, "A")),
        *(("2020-01-01T00:30:00Z", 105, "A"), ("2026-11-14T00:00:00Z", 105, "Z"), ("2026-11-14T00:00:00Z", 105, "A")),
        *(("2026-12-01T00:00:00Z", 105, "A"), (NEXT, 105, "A"), ("0001-01-01T00:00:00Z", 105, "A")),
        *(("9999-12-31T23:59:59Z", 105, "A"), ("9999-12-31T00:00:00Z", 105, "A")),
        (FIRST, 105, "A"),
        *((FIRST, 105, "A"), (FIRST, 106, "A"), (FIRST, 105, "B"), ("2026-11-15T01:00:00+01:00", 105, "A")),
    )
    assert codes(results) == [
        *("malformed", "malformed", "malformed", "malformed", "unknown_setting", "outside_campaign"),
        *("outside_campaign", "future", "malformed", "malformed", "malformed"),
        *("accepted", "known", "conflict", "conflict", "known"),
    ]
    world.clock.set("2026-11-16T01:00:00Z")
    other = world.join(world.campaign(world.consumer(), **TOTALS))
    assert codes(world.report(other, (FIRST, 105, "A"))) == ["closed"]


def test_implausible_is_what_a_total_cannot_be(world: World) -> None:
    producers = [world.join(world.campaign(world.consumer(), **TOTALS)) for _ in range(3)]
    world.clock.set("2026-11-16T00:10:00Z")
    far = law_of("laplace:2.5@total", "0.1").furthest(1e-12)
    assert codes(world.report(producers[0], (FIRST, 401, "N"))) == ["implausible"]
    assert codes(world.report(producers[0], (FIRST, 401 + far, "A"))) == ["implausible"]
    assert codes(world.report(producers[1], (FIRST, -far - 1, "A"))) == ["implausible"]
    assert [codes(world.report(producers[n], (FIRST, s, "A"))) for n, s in ((0, 400 + far), (1, -far))] == 2 * [
        ["accepted"]
    ]
    assert codes(world.report(producers[2], (FIRST, 400, "N"))) == ["accepted"]


def test_the_sum_is_of_the_producers_totals_and_says_so(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, **TOTALS)
    totals = [105, 33, 400, 0]
    world.clock.set("2026-11-16T00:10:00Z")
    for total in totals:
        world.report(world.join(campaign, "N"), (FIRST, total, "N"))
    period = world.close_period(campaign, consumer, DAY)
    assert (period["reports"], period["producers"], period["release"]) == (4, 4, "total")
    assert period["sum"] == {"estimate": 53.8, "standard_error": 0.0, "low": 53.8, "high": 53.8}
    assert period["mean"]["estimate"] == 13.45
    assert period["variance"]["estimate"] == pytest.approx(np.var(np.array(totals) / 10))
    assert world.periods(campaign, consumer)[DAY]["sum"] == period["sum"]


def test_the_error_is_that_of_one_draw_a_producer(world: World) -> None:
    """Known totals under the device's law: errors have the stated size; twice or half the variance is noticed."""
    consumer, periods, home = world.consumer(), 800, 12.3
    terms = TOTALS | {"period": "quarter_hour", "grace_minutes": 12060}
    campaign = world.campaign(consumer, **terms)
    producers = [world.join(campaign) for _ in range(5)]
    begins = instant(FIRST)
    world.clock.now = begins + periods * 15 * MINUTE
    noisy = halfmask.mask(np.full((5, periods), home), "laplace:2.5", step="0.1", low="0", high="40")
    for producer, own in zip(producers, noisy, strict=True):
        sent = [(instant_text(begins + n * 15 * MINUTE), round(10 * each), "A") for n, each in enumerate(own)]
        assert set(codes(world.report(producer, *sent))) == {"accepted"}
    world.clock.set("2026-12-03T00:00:00Z")
    sums = [each["sum"] for each in world.periods(campaign, consumer).values() if each["sum"]]
    assert len(sums) == periods
    stated = 0.1 * np.sqrt(5 * law_of("laplace:2.5@total", "0.1").variance)
    assert [each["standard_error"] for each in sums] == pytest.approx([stated] * periods)
    squares = np.array([(each["estimate"] - 5 * home) ** 2 for each in sums]) / stated**2
    assert mean_within(squares, 1, 3)
    assert not mean_within(squares, 2, 3)
    assert not mean_within(squares, 0.5, 3)


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-15", 24)])
@pytest.mark.parametrize(("period", "a_day"), [("hour", 1), ("half_hour", 2), ("quarter_hour", 4)])
def test_a_local_day_has_as_many_short_periods_as_it_is_long(
    world: World, day: str, hours: int, period: str, a_day: int
) -> None:
    local = Calendar("day", "Europe/Dublin").named(day)
    assert local is not None
    world.clock.now = local.begins - 1
    consumer, bounds = world.consumer(), {"begins": instant_text(local.begins), "ends": instant_text(local.ends)}
    campaign = world.campaign(consumer, **TOTALS | bounds | {"period": period})
    producers = [world.join(campaign, "N") for _ in range(3)]
    spans = list(Calendar(period, "Europe/Dublin").spans(local.begins, local.ends))
    assert len(spans) == hours * a_day
    assert {two.begins - one.begins for one, two in pairwise(spans)} == {HOUR // a_day}
    world.clock.now = local.ends
    for producer in producers:
        results = world.report(producer, *((instant_text(span.begins), 7, "N") for span in spans))
        assert set(codes(results[-a_day:])) == {"accepted"}  # the others' grace is over
    world.clock.now += 2 * HOUR
    found = world.periods(campaign, consumer)
    assert list(found) == [span.key for span in spans]
    assert found[spans[-1].key]["sum"]["estimate"] == 2.1


def test_names_of_short_periods_can_be_asked_for(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, **TOTALS | {"period": "half_hour"})
    world.clock.set("2026-11-15T14:00:00Z")
    for _ in range(3):
        world.report(world.join(campaign, "N"), ("2026-11-15T13:30:00Z", 11, "N"))
    assert world.close_period(campaign, consumer, "2026-11-15T1330Z")["sum"]["estimate"] == pytest.approx(3.3)
    asked = world.periods(campaign, consumer, **{"from": "2026-11-15T1300Z", "to": "2026-11-15T1330Z"})
    assert list(asked) == ["2026-11-15T1300Z", "2026-11-15T1330Z"]
    path = f"/v1/campaigns/{campaign}/periods"
    for wrong in ("2026-11-15T13Z", "2026-11-15T1315Z", "2026-11-15T13:30Z", "2026-11-15"):
        assert world.refused(422, "GET", path, consumer, params={"from": wrong})["field"] == "from"


def test_a_live_campaign_shows_totals_that_came(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, live=True, **TOTALS)
    world.clock.set("2026-11-16T00:10:00Z")
    producers = [world.join(campaign, "N") for _ in range(3)]
    for producer in producers[:2]:
        world.report(producer, (FIRST, 50, "N"))
    assert world.periods(campaign, consumer)[DAY]["withheld"] == "fewer than 3 producers"
    world.report(producers[2], (FIRST, 50, "N"))
    shown = world.periods(campaign, consumer)[DAY]
    assert (shown["state"], shown["sum"]["estimate"], shown["release"]) == ("open", 15.0, "total")


def test_who_leaves_withdraws_the_total_of_the_open_period(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, **TOTALS)
    world.clock.set("2026-11-16T00:10:00Z")
    producers = [world.join(campaign, "N") for _ in range(4)]
    for producer in producers:
        world.report(producer, (FIRST, 50, "N"))
    assert world.ok("DELETE", "/v1/me", producers[0])["withdrawn"] == 1
    assert world.close_period(campaign, consumer, DAY)["sum"]["estimate"] == 15.0


def test_a_gateway_sends_cells_of_totals(tmp_path: Path) -> None:
    with services(tmp_path, "above", "below") as (above, below):
        consumer = above.consumer()
        campaign = above.campaign(consumer, **TOTALS)
        token = node_token(above, campaign)
        sender = gateway(below, link(above), token)
        below.wait(sender.round())
        for world in (above, below):
            world.clock.set("2026-11-16T00:10:00Z")
            for number in range(3):
                world.report(world.join(campaign, "N"), (FIRST, 100 + number, "N"))
        below.wait(sender.round())
        path = f"/v1/campaigns/{campaign}/cells/{sender.node}"
        twice = {"reports": 3, "producers": 2, "sum": 300, "squares": 30_000}  # a producer has one total a period
        body = {"version": 2**60, "periods": {DAY: {"N": twice}}}
        assert above.refused(422, "PUT", path, token, body)["field"] == "periods"
        above.clock.set("2026-11-16T01:00:00Z")
        period = above.periods(campaign, consumer)[DAY]
        assert (period["producers"], period["sum"]["estimate"], period["release"]) == (6, 60.6, "total")


def test_peers_agree_on_totals(tmp_path: Path) -> None:
    with services(tmp_path, "one", "two") as worlds:
        net = Net(worlds, [(0, 1)])
        for world in worlds:
            world.clock.set("2026-11-15T12:00:00Z")
        consumer = worlds[0].consumer()
        campaign = worlds[0].campaign(consumer, **TOTALS)
        for _ in range(2):
            net.round()
        for world in worlds:
            world.clock.set("2026-11-16T00:10:00Z")
            for number in range(2):
                world.report(world.join(campaign, "N"), (FIRST, 200 + number, "N"))
        for _ in range(3):
            net.round()
        for world in worlds:
            world.clock.set("2026-11-16T01:00:11Z")
        for _ in range(3):
            net.round()
        period = worlds[0].periods(campaign, consumer)[DAY]
        assert (period["producers"], period["sum"]["estimate"]) == (4, 80.2)


def test_the_lake_holds_one_row_a_producer_and_period(world: World, tmp_path: Path) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, keep_reports="always", **TOTALS | {"period": "half_hour"})
    world.clock.set("2026-11-15T14:00:00Z")
    for total in (11, 12, 13):
        world.report(world.join(campaign, "N"), ("2026-11-15T13:30:00Z", total, "N"))
    world.clock.set("2026-11-15T15:00:00Z")
    world.periods(campaign, consumer)  # closes what is past its deadline
    assert fill(world.service, tmp_path / "lake", "one") > 0
    cells = halfmask.aggregate(tmp_path / "lake")[campaign, "2026-11-15T1330Z"]["N"]
    assert cells == (3, 3, 36, 434)
