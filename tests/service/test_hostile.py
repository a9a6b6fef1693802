"""What nobody should send: no answer of 5xx, nothing invalid stored, nothing that was sent is repeated."""

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from halfmask.service import campaign_requests, service
from halfmask.service.http import read_request
from halfmask.service.http.read_request import parse_post
from halfmask.service.rate_limits import Buckets, Limits
from halfmask.service.refusal import Refusal
from halfmask_device import instants
from tests.service.process import init, served
from tests.service.test_routes import BODIES, ROUTES, Cast
from tests.service.world import CAMPAIGN, World, running, sqlite_url

CANARY = "8675309.424242"
DEEP = b'{"reports":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
RAW = [
    b"",
    b"\x00",
    b"\xff\xfe{}",
    b"NaN",
    b"[]",
    b"null",
    b'"text"',
    b"{",
    b'{"reports": NaN}',
    b'{"reports": {"a": 1}}',
    b'{"reports": "\\ud800"}',
    b'{"reports": ' + b"9" * 5000 + b"}",
    b"{" + b'"a":1,' * 1000 + b'"b":2}',
    DEEP,
    json.dumps({"name": CANARY * 100, "setting": CANARY, "reports": CANARY}).encode(),
    b'{"name": "\\ud800", "setting": "\\udfff", "count": 1e400, "version": -0.0, "periods": null, "rewards": []}',
]
ODD = [
    *(None, True, False, 0, -1, 1.5, 1e308, 10**40, -(10**40), "", "x" * 3000, "\ud800", "a\x00b", [], {}, [[]]),
    *(
        "'; DROP TABLE reports; --",
        "../../etc/passwd",
        "%00",
        "NaN",
        CANARY,
        {"$gt": ""},
        "١٢٣",
        "2026-02-30T00:00:00Z",
    ),
]
REPORTS: list[Any] = [
    *(None, 1, "x", [], {}, {"time": "2026-11-16T11:00:00Z", "steps": 1}),
    *({"time": "2026-11-16T11:00:00Z", "steps": value, "setting": "A"} for value in ODD if type(value) is not int),
    *({"time": value, "steps": 1, "setting": "A"} for value in ODD),
    *({"time": "2026-11-16T11:00:00Z", "steps": 1, "setting": value} for value in ODD if not isinstance(value, str)),
    {"time": "2026-11-16T11:00:00", "steps": 1, "setting": "A"},
    {"time": "2026-11-16T11:00:00+25:00", "steps": 1, "setting": "A"},
    {"time": "2026-W47-1T11:00:00Z", "steps": 1, "setting": "A"},
    {"time": "20261116T110000Z", "steps": 1, "setting": "A"},
]


def fine(answer: Any) -> None:
    """Whatever was sent: an answer below 500, in the protocol's form, that holds nothing of it."""
    assert answer.status_code < 500, answer.text
    assert CANARY not in answer.text
    if not answer.is_success:
        assert answer.json()["error"].keys() == {"code", "message", "field"}


@pytest.mark.parametrize("raw", RAW, ids=range(len(RAW)))
def test_bodies_that_are_none(world: World, raw: bytes) -> None:
    cast = Cast(world)
    for route in (
        each for each in ROUTES if each.method != "GET" and each.work.__name__ not in ("revoke_token", "leave")
    ):
        role = next(iter(route.roles), None)
        token = cast.tokens[role] if role and route.path != "/v1/token" else None
        fine(world.send(route.method, cast.path(route), token, content=raw))
    answer = world.send("POST", "/v1/reports", cast.tokens["producer"], content=raw)
    fine(answer)
    assert answer.status_code in (400, 422)


def test_one_bad_report_spoils_no_other(world: World) -> None:
    producer = world.join(world.campaign(world.consumer()))
    good = {"time": "2026-11-16T10:00:00Z", "steps": 1, "setting": "A"}
    body = json.dumps({"reports": [*REPORTS, good]}).encode()
    answer = world.send("POST", "/v1/reports", producer, content=body)
    assert answer.status_code == 200, answer.text
    *bad, last = answer.json()["results"]
    assert last == {"status": "accepted", "reward": 2}
    assert {each["code"] for each in bad} == {"malformed"}
    nan = body.replace(b'"steps": 1.5', b'"steps": NaN')
    assert nan != body
    again = world.send("POST", "/v1/reports", producer, content=nan).json()["results"]
    assert [each["status"] for each in again] == [*["refused"] * len(bad), "known"]


def test_a_number_of_many_digits_spoils_no_other_report(world: World) -> None:
    producer = world.join(world.campaign(world.consumer()))
    huge = b'{"time": "2026-11-16T10:00:00Z", "steps": -' + b"9" * 5000 + b', "setting": "A"}'
    good = b'{"time": "2026-11-16T10:00:01Z", "steps": 1, "setting": "A"}'
    body = b'{"reports": [%b, %b, %b]}' % (huge, b"9" * 5000, good)
    results = world.send("POST", "/v1/reports", producer, content=body).json()["results"]
    assert [each.get("code") for each in results] == ["implausible", "malformed", None]
    assert results[-1]["status"] == "accepted"


def test_a_population_of_many_digits_is_refused_and_empty_bounds_are_none(world: World) -> None:
    consumer = world.consumer()
    path = f"/v1/campaigns/{world.campaign(consumer)}/periods"
    many = "0" * 19 + "1" + "0" * 5000
    assert world.refused(422, "GET", path, consumer, params={"population": many})["field"] == "population"
    assert world.ok("GET", path, consumer, params={"from": "", "to": ""}) == world.ok("GET", path, consumer)


def test_a_wrong_method_is_told_the_right_ones_and_a_slash_is_another_path(world: World) -> None:
    answer = world.send("GET", "/v1/reports")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert world.send("GET", f"/v1/campaigns/{world.campaign(world.consumer())}/").status_code == 404


def test_huge_steps_are_whole_numbers_that_no_noise_reaches(world: World) -> None:
    producer = world.join(world.campaign(world.consumer()))
    times = [f"2026-11-16T10:00:0{second}Z" for second in range(4)]
    steps = (2**63, -(2**63) - 1, 10**40, -(10**400))
    results = world.report(producer, *((time, value, "A") for time, value in zip(times, steps, strict=True)))
    assert [each["code"] for each in results] == ["implausible"] * 4
    assert world.report(producer, (times[0], 5, "A"))[0]["status"] == "accepted"
    assert world.report(producer, (times[0], 10**40, "A"))[0]["code"] == "conflict"


@pytest.mark.parametrize("field", CAMPAIGN)
def test_a_campaign_with_one_odd_field_is_refused_and_named(world: World, field: str) -> None:
    consumer = world.consumer()
    for value in ODD:
        raw = json.dumps(CAMPAIGN | {field: value}).encode()
        answer = world.send("POST", "/v1/campaigns", consumer, content=raw)
        fine(answer)
        if not answer.is_success:
            assert answer.status_code == 422
            assert answer.json()["error"]["field"].split(".")[0] == field
    offers = json.dumps(world.ok("GET", "/v1/campaigns"))
    assert "\\u0000" not in offers


def test_what_a_campaign_cannot_be(world: World) -> None:
    consumer = world.consumer()
    menu = CAMPAIGN["menu"]["settings"]
    for field, value in {
        "ends": CAMPAIGN["begins"],
        "period": "fortnight",
        "time_zone": "Mars/Olympus",
        "lattice": {"step": "0", "low": "0", "high": "1"},
        "menu": {"settings": [menu[0], menu[0]]},
        "rewards": {"Z": 1},
        "budget": -1,
    }.items():
        assert (
            world.refused(422, "POST", "/v1/campaigns", consumer, CAMPAIGN | {field: value})["field"]
            .split(".")[0]
            .split("[")[0]
            == field
        )
    for setting in ("laplace:0.00001", "laplace:1e300", "round:1", "relative-laplace:1", "no-such:1", "laplace:x"):
        body = CAMPAIGN | {"menu": {"settings": [{"id": "A", "setting": setting}]}, "rewards": {}}
        assert world.refused(422, "POST", "/v1/campaigns", consumer, body)["field"] == "menu.settings[0]"
    assert world.refused(422, "POST", "/v1/campaigns", consumer, CAMPAIGN | {"least_producer": 1})["field"] == ""
    own = CAMPAIGN | {"menu": {**CAMPAIGN["menu"], "provenance": {"own": "computed from readings"}}}
    assert world.refused(422, "POST", "/v1/campaigns", consumer, own)["field"] == "menu"
    for odd in (None, 1, "own", ["own"], {"own name": 1}):
        body = CAMPAIGN | {"menu": {**CAMPAIGN["menu"], "provenance": odd}}
        world.ok("POST", "/v1/campaigns", consumer, body)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/campaigns/%00",
        "/v1/campaigns/..%2f..",
        "/v1/campaigns/'",
        "/v1/campaigns/" + "x" * 5000,
        "//v1",
        "/v1/campaigns/%ff/periods",
    ],
)
def test_paths_with_tricks(world: World, path: str) -> None:
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        fine(world.send(method, path, world.operator, {}))


def test_odd_values_in_every_small_body(world: World) -> None:
    cast = Cast(world)
    shown_again = ("add_campaign", "check_offered")  # a draft of a campaign goes back to whoever sent it
    for route in (each for each in ROUTES if each.work.__name__ in BODIES and each.work.__name__ not in shown_again):
        token = cast.tokens[route.roles[0]] if route.roles else None
        for field in BODIES[route.work.__name__]:
            for value in ODD:
                raw = json.dumps({**BODIES[route.work.__name__], field: value}).encode()
                fine(world.send(route.method, cast.path(route), token, content=raw))
    for query in ("from", "to", "population", "weighted"):
        for value in (each for each in ODD if isinstance(each, str) and each.isprintable() and each != "\ud800"):
            path = f"/v1/campaigns/{cast.names['c']}/periods"
            fine(world.send("GET", path, cast.tokens["consumer"], params={query: value}))


CELL = {"reports": 3, "producers": 3, "sum": 30, "squares": 300}


@pytest.mark.parametrize(
    "cell",
    [
        CELL | {"reports": -1},
        CELL | {"producers": 4},
        CELL | {"squares": 299},
        CELL | {"sum": 10**9},
        CELL | {"sum": 1.0},
        CELL | {"reports": True},
        CELL | {"more": 1},
        {"reports": 1},
        None,
    ],
)
def test_cells_that_no_reports_add_up_to(world: World, cell: Any) -> None:
    cast = Cast(world)
    path = f"/v1/campaigns/{cast.names['c']}/cells/{cast.names['node']}"
    for body in (
        {"version": 1, "periods": {"2026-11-16": {"N": cell}}},
        {"version": 1, "periods": {"2026-11-16": {"N": CELL, "A": cell}}},
        {"version": 1, "periods": {"2026-11-16": {"Z": CELL}}},
        {"version": 1, "periods": {"someday": {"N": CELL}}},
        {"version": -1, "periods": {}},
    ):
        world.refused(422, "PUT", path, cast.tokens["node"], body)
    with world.store.reading() as tx:
        assert tx.node_cells(1, ["2026-11-16"]) == []


def test_bodies_are_bounded(world: World) -> None:
    producer = world.join(world.campaign(world.consumer()))
    report = {"time": "2026-11-16T10:00:00Z", "steps": 1, "setting": "A"}
    many = {"reports": [report] * 10_001}
    assert world.refused(413, "POST", "/v1/reports", producer, many)["code"] == "too_many_reports"
    assert len(world.ok("POST", "/v1/reports", producer, {"reports": [report] * 10_000})["results"]) == 10_000
    large = b" " * (2**20 + 1)
    assert world.refused(413, "POST", "/v1/reports", producer, content=large)["code"] == "too_large"
    assert world.refused(413, "POST", "/v1/consumers", world.operator, content=large)["code"] == "too_large"
    told = {"Content-Length": str(2**40)}
    assert world.refused(413, "POST", "/v1/reports", producer, content=b"{}", headers=told)["code"] == "too_large"

    async def endless() -> Any:
        while True:
            yield b" " * 65536

    assert world.refused(413, "POST", "/v1/reports", producer, content=endless())["code"] == "too_large"


def test_a_client_that_sends_too_much_hears_so(tmp_path: Path) -> None:
    """Plain clients send all of a body before they read: a connection that closes under them hides the answer."""
    url = sqlite_url(tmp_path)
    init(url)
    with served(url, tmp_path / "log") as service:
        for size in (2**20 + 1, 2**22, 2**23):
            for path in ("/v1/reports", "/v1/consumers"):
                connection = service.connect()
                connection.request("POST", path, b" " * size, {"Authorization": "Bearer x"})
                answer = connection.getresponse()
                assert (answer.status, json.loads(answer.read())["error"]["code"]) == (413, "too_large")
                connection.close()


@pytest.mark.parametrize("field", [b'"x": "\xff"', b'"\xff": 1'])
def test_a_body_is_utf_8_also_where_it_is_passed_over(world: World, field: bytes) -> None:
    producer = world.join(world.campaign(world.consumer()))
    report = b'{"time": "2026-11-16T10:00:00Z", "steps": 1, "setting": "A"}'
    body = b'{"reports": [' + report + b"], " + field + b"}"
    assert world.refused(400, "POST", "/v1/reports", producer, content=body)["code"] == "not_json"
    fine = body.replace(b"\xff", "é".encode())
    assert world.ok("POST", "/v1/reports", producer, content=fine)["results"][0]["status"] == "accepted"


def test_times_are_rfc_3339_to_the_microsecond() -> None:
    def time_of(text: str) -> int | None:
        body = json.dumps({"reports": [{"time": text, "steps": 1, "setting": "A"}]}).encode()
        (moment,) = parse_post(body, "token", 0).times
        return moment

    noon = time_of("2026-11-16T12:00:00Z")
    assert noon == 1_794_830_400_000_000
    for same in (
        "2026-11-16t12:00:00z",
        "2026-11-16T13:00:00+01:00",
        "2026-11-16 12:00:00.000000999Z",
        "2026-11-16T06:30:00.0-05:30",
    ):
        assert time_of(same) == noon
    assert time_of("2026-11-16T12:00:00.1Z") == noon + 100_000
    assert time_of("2026-11-16T12:59:00+00:59") == noon
    assert [time_of(f"2026-11-16T12:59:00{offset}") for offset in ("+00:60", "-01:99", "+24:00")] == [None] * 3
    assert isinstance(parse_post(b"{}", "token", 0).refusal, Refusal)


def test_the_memory_of_times_holds_no_long_text(world: World) -> None:
    producer = world.join(world.campaign(world.consumer()))
    before = instants._parsed.cache_info().currsize
    for number in range(3):
        assert world.report(producer, (f"{number}" + "1" * 100_000, 1, "A"))[0]["code"] == "malformed"
    assert instants._parsed.cache_info().currsize == before


def test_reports_that_wait_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = world.join(world.campaign(world.consumer()))
    many = {"reports": [{"time": f"2026-11-16T10:00:{second:02}Z", "steps": 1, "setting": "A"} for second in range(11)]}
    monkeypatch.setattr(service, "MOST_OF_ONE", 10)
    told = world.refused(429, "POST", "/v1/reports", producer, many)
    assert told["field"] == "waiting reports of one producer"
    monkeypatch.setattr(service, "MOST_OF_ONE", 11)
    monkeypatch.setattr(service, "MOST_WAITING", 10)
    assert world.refused(503, "POST", "/v1/reports", producer, many)["code"] == "busy"
    monkeypatch.setattr(service, "MOST_WAITING", 11)
    for _ in range(3):  # what has been written waits no longer
        assert len(world.ok("POST", "/v1/reports", producer, many)["results"]) == 11


def test_bodies_that_come_slowly_are_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = world.join(world.campaign(world.consumer()))

    async def never() -> Any:
        yield b"{"
        await asyncio.Event().wait()

    async def parts() -> Any:
        for _ in range(4):
            yield b" " * 100

    monkeypatch.setattr(read_request, "MOST_HELD", 250)
    assert world.refused(503, "POST", "/v1/reports", producer, content=parts())["code"] == "busy"
    monkeypatch.setattr(read_request, "MOST_HELD", 300)
    assert world.refused(400, "POST", "/v1/reports", producer, content=parts())["code"] == "not_json"
    monkeypatch.setattr(read_request, "SLOWEST", 0.01)
    assert world.refused(400, "POST", "/v1/reports", producer, content=never())["code"] == "too_slow"
    assert read_request._Held.size == 0


def test_the_time_of_a_request_is_when_all_of_it_has_come(world: World) -> None:
    """A body that begins before the deadline and ends after it is late; so is a change of rewards."""
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1, grace_minutes=60)
    producer = world.join(campaign)

    def slowly(until: str, body: dict[str, Any]) -> Any:
        async def parts() -> Any:
            raw = json.dumps(body).encode()
            yield raw[:9]
            world.clock.set(until)
            yield raw[9:]

        return parts()

    world.clock.set("2026-11-17T00:59:59Z")
    report = {"time": "2026-11-16T10:00:00Z", "steps": 7, "setting": "N"}
    late = slowly("2026-11-17T01:00:00Z", {"reports": [report]})
    assert world.ok("POST", "/v1/reports", producer, content=late)["results"] == [
        {"status": "refused", "code": "closed"}
    ]
    rewards = {"rewards": {"N": 9}, "from": "2026-11-18"}
    path = f"/v1/campaigns/{campaign}/rewards"
    fine(world.send("PUT", path, consumer, content=slowly("2026-11-17T23:59:59Z", rewards)))
    begun = slowly("2026-11-18T00:00:00Z", rewards | {"rewards": {"N": 10}})
    assert world.refused(409, "PUT", path, consumer, content=begun)["field"] == "from"
    assert world.report(producer, ("2026-11-18T00:00:00Z", 7, "N"))[0] == {"status": "accepted", "reward": 9}


def test_what_cannot_go_out_again_is_not_taken_in(world: World) -> None:
    consumer = world.consumer()
    for odd in ('"\\ud800"', "1e400", "-1e400"):
        for field, mark in (("menu", '"setting": "none"'), ("lattice", '"high": "20"')):
            raw = json.dumps(CAMPAIGN).replace(mark, f'{mark}, "more": {odd}')
            assert world.refused(422, "POST", "/v1/campaigns", consumer, content=raw)["field"] == field
    powers = "sine:" + ",".join(["0.1"] * 33)
    body = CAMPAIGN | {"menu": {"settings": [{"id": "A", "setting": powers}]}, "rewards": {}}
    assert world.refused(422, "POST", "/v1/campaigns", consumer, body)["field"] == "menu.settings[0]"
    assert world.ok("GET", "/v1/campaigns")["campaigns"] == []


def test_names_that_a_store_cannot_hold(any_world: World) -> None:
    world = any_world
    campaign = world.campaign(world.consumer())
    for path in ("a%00b", f"{campaign}/cells/%00", f"{campaign}/periods/%00/close", f"{campaign}/ledger/%00/reversal"):
        for method in ("GET", "POST", "PUT"):
            fine(world.send(method, f"/v1/campaigns/{path}", world.operator, {}))
    world.refused(401, "GET", "/v1/campaigns/a%00b/periods")  # the token is judged first
    for odd in ("a\x00b", "\ud800"):
        raw = json.dumps({"consumer": odd}).encode()
        fine(world.send("POST", f"/v1/campaigns/{campaign}/consumers", world.operator, content=raw))


def test_a_menu_that_takes_long_holds_up_no_report(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer, go, check = world.consumer(), threading.Event(), campaign_requests.check_campaign
    producer = world.join(world.campaign(consumer))

    def slowly(plain: Any) -> Any:
        assert go.wait(60)
        return check(plain)

    monkeypatch.setattr(campaign_requests, "check_campaign", slowly)
    offered = asyncio.run_coroutine_threadsafe(world.sending("POST", "/v1/campaigns", consumer, CAMPAIGN), world.loop)
    world.refused(403, "POST", "/v1/campaigns", producer, CAMPAIGN)  # not even looked at
    assert world.report(producer, ("2026-11-16T10:00:00Z", 1, "A"))[0]["status"] == "accepted"
    assert not offered.done()
    go.set()
    assert offered.result(60).status_code == 201


def test_who_has_no_invitation_uses_up_no_joins(tmp_path: Path) -> None:
    with running(sqlite_url(tmp_path), Limits(requests_per_second=None, joins_per_minute=2)) as world:
        world.service.joins.timer = lambda: 0.0  # no time passes, however long this takes
        consumer = world.consumer()
        campaign = world.campaign(consumer, join="invitation")
        path = f"/v1/campaigns/{campaign}"
        for _ in range(5):
            world.refused(403, "POST", f"{path}/producers", None, {"setting": "A", "invitation": "guessed"})
        first, second, third = world.ok("POST", f"{path}/invitations", consumer, {"count": 3})["invitations"]
        for each in (first, second):
            world.join(campaign, invitation=each)
        for _ in range(2):  # an invitation that came too early is not used up
            world.refused(429, "POST", f"{path}/producers", None, {"setting": "A", "invitation": third})


def test_a_rate_below_one_takes_one_at_a_time() -> None:
    now = [0.0]
    slow = Buckets("requests of one token", 0.5, 1, lambda: now[0])
    slow.take("a", "dropped")
    with pytest.raises(Refusal) as told:
        slow.take("a", "dropped")
    assert told.value.after == 2
    now[0] = 2.0
    slow.take("a", "dropped")
