"""Every path by every role and in every state, from the one table that the application is made of."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from halfmask.service.http import event_stream
from halfmask.service.http.routes import ROUTES, Route
from halfmask.service.rate_limits import Limits
from halfmask.service.request import digest
from halfmask.service.split.split_options import SplitOptions
from halfmask.service.storage.period_rows import KnownRow
from tests.service.split_pair import HELPER, split_request
from tests.service.world import CAMPAIGN, World, running, sqlite_url

ROLES = ("consumer", "operator", "producer", "node", "peer")
TOKENLESS = (None, "no-such-token", "x" * 1000)
BODIES: dict[str, Any] = {
    "add_consumer": {"name": "n"},
    "add_campaign": CAMPAIGN,
    "invite": {"count": 1},
    "join": {"setting": "A"},
    "change_me": {"setting": "B"},
    "put_rewards": {"rewards": {"A": 1}, "from": "2026-11-20"},
    "add_node": {"name": "n"},
    "put_cells": {"version": 1, "periods": {}},
    "exchange": {"open": [], "cells": {}},
    "add_split": split_request(),
    "verify": {"reports": [{"report": "0" * 32, "verifier": ""}]},
    "give_sum": {"reports": []},
    "check_offered": CAMPAIGN,
}
PEER = "fedcba9876543210"
OTHERS = [
    ("POST", "/v1/reports", ("producer",)),
    ("GET", "/metrics", ()),
    ("GET", "/live", ()),
    ("GET", "/ready", ()),
]


@dataclass
class Cast:
    """One of each role, and something for each path to name."""

    world: World
    tokens: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        world = self.world
        made = world.ok("POST", "/v1/consumers", world.operator, {"name": "utility"})
        campaign = world.campaign(made["token"])
        producer = world.join(campaign)
        world.report(producer, ("2026-11-16T11:00:00Z", 1, "A"))
        node = world.ok("POST", f"/v1/campaigns/{campaign}/nodes", world.operator, {"name": "gateway"})
        (entry,) = world.ok("GET", "/v1/me/ledger", producer)["entries"]
        self.tokens = {
            "operator": world.operator,
            "consumer": made["token"],
            "producer": producer,
            "node": node["token"],
            "peer": "p" * 43,
        }
        world.service.split = SplitOptions(HELPER)
        held = world.ok("POST", "/v1/split", made["token"], split_request(campaign))["campaign"]
        with world.store.transaction() as tx:
            if not tx.has_role("peer"):
                tx.add_token(digest(self.tokens["peer"]), "peer", 0, 0, None)
            row = tx.campaign(campaign)
            assert row is not None
            tx.put_known(row.key, [KnownRow(PEER, "2026-11-16", 1, False, {})])
        self.names = {
            "c": campaign,
            "p": "2026-11-15",
            "consumer": made["consumer"],
            "node": node["node"],
            "entry": entry["entry"],
            "h": held,
        }

    def path(self, route: Route, **changed: str) -> str:
        self.world.service.node = "0123456789abcdef" if "peer" in route.roles else ""
        names = {**self.names, **({"node": PEER} if "/peers/" in route.path else {}), **changed}
        return route.path.format(**names)

    def body(self, route: Route) -> Any:
        if route.work.__name__ == "open_page":
            return {"code": self.world.ok("POST", "/v1/me/code", self.tokens["producer"])["code"]}
        if route.work.__name__ == "give":
            return {"consumer": self.names["consumer"]}
        return BODIES.get(route.work.__name__)


@pytest.fixture
def cast(world: World) -> Cast:
    return Cast(world)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_each_path_serves_its_roles_and_no_other(cast: Cast, route: Route) -> None:
    world, body = cast.world, cast.body(route)
    if route.roles:
        for token in TOKENLESS:
            error = world.refused(401, route.method, cast.path(route), token, body)
            assert error["code"] == "unauthenticated"
        for role in set(ROLES) - set(route.roles):
            assert world.refused(403, route.method, cast.path(route), cast.tokens[role], body)["code"] == "forbidden"
        # the token is judged before the body and before what the path names
        world.refused(401, route.method, cast.path(route, c="none"), None, ["no", "object"])
    allowed = next(role for role in ROLES if role in route.roles) if route.roles else None
    answer = world.send(route.method, cast.path(route), cast.tokens[allowed] if allowed else None, body)
    assert answer.status_code == route.status, answer.text
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("route", [each for each in ROUTES if "{c}" in each.path], ids=lambda each: each.path)
def test_what_a_path_names_must_be_there_and_ones_own(cast: Cast, route: Route) -> None:
    world = cast.world
    role = next((role for role in ROLES if role in route.roles), None)
    token = cast.tokens[role] if role else None
    assert world.refused(404, route.method, cast.path(route, c="none"), token, cast.body(route))["field"] == "campaign"
    if role in ("consumer", "node"):
        other = Cast(world)
        assert world.refused(403, route.method, cast.path(route), other.tokens[role], cast.body(route))


@pytest.mark.parametrize("route", [each for each in ROUTES if each.roles], ids=lambda r: f"{r.method} {r.path}")
def test_a_revoked_token_opens_nothing(cast: Cast, route: Route) -> None:
    role = next(role for role in ROLES if role in route.roles)
    if role == "peer":  # the secret of several: its operators replace it
        with cast.world.store.transaction() as tx:
            tx.revoke_token(digest(cast.tokens[role]), 0)
    else:
        cast.world.ok("DELETE", "/v1/token", cast.tokens[role])
    cast.world.refused(401, route.method, cast.path(route), cast.tokens[role], cast.body(route))


@pytest.mark.parametrize(
    "route",
    [each for each in ROUTES if "producer" in each.roles and "node" not in each.roles],
    ids=lambda r: f"{r.method} {r.path}",
)
def test_who_has_left_reads_and_changes_nothing(cast: Cast, route: Route) -> None:
    cast.world.ok("DELETE", "/v1/me", cast.tokens["producer"])
    answer = cast.world.send(route.method, cast.path(route), cast.tokens["producer"], cast.body(route))
    assert answer.status_code == (403 if route.method in ("PATCH", "POST") else 200)


@pytest.mark.parametrize(("method", "path", "roles"), OTHERS)
def test_paths_beside_the_table(cast: Cast, method: str, path: str, roles: tuple[str, ...]) -> None:
    body = {"reports": []} if method == "POST" else None
    for role in ROLES:
        status = cast.world.send(method, path, cast.tokens[role], body).status_code
        if path == "/metrics":
            assert status == (200 if role == "operator" else 403)
        else:
            assert status == (200 if not roles or role in roles else 403)
    assert cast.world.send(method, path, None, body).status_code == (401 if roles else 200)


def test_the_stream_is_for_the_campaigns_consumer(cast: Cast) -> None:
    path = f"/v1/campaigns/{cast.names['c']}/stream"
    cast.world.refused(401, "GET", path)
    for role in ("operator", "producer", "node"):
        cast.world.refused(403, "GET", path, cast.tokens[role])
    cast.world.refused(403, "GET", path, Cast(cast.world).tokens["consumer"])
    cast.world.refused(422, "GET", path, cast.tokens["consumer"], headers={"Last-Event-ID": "x"})


def test_an_open_stream_ends_with_its_token(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer, looked, look = world.consumer(), threading.Event(), event_stream._new
    path = f"/v1/campaigns/{world.campaign(consumer)}/stream"

    def noted(*given: Any) -> Any:
        looked.set()
        return look(*given)

    monkeypatch.setattr(event_stream, "_new", noted)
    opened = asyncio.run_coroutine_threadsafe(world.sending("GET", path, consumer), world.loop)
    assert looked.wait(60)
    assert not opened.done()
    new = world.ok("POST", "/v1/token", consumer)["token"]
    world.ok("GET", path.replace("stream", "ledger"), new)  # only now the old one ends
    assert opened.result(60).status_code == 200
    world.refused(401, "GET", path, consumer)
    world.service.stopping = True
    assert world.send("GET", path, new).status_code == 200


def test_tokens_expire_and_are_renewed(world: World) -> None:
    body = {"name": "n", "expires": "2026-11-16T13:00:00Z"}
    token = world.ok("POST", "/v1/consumers", world.operator, body)["token"]
    campaign = world.campaign(token)
    world.clock.set("2026-11-16T12:59:59.999999Z")
    world.ok("GET", f"/v1/campaigns/{campaign}/ledger", token)
    renewed = world.ok("POST", "/v1/token", token)["token"]
    world.ok("GET", f"/v1/campaigns/{campaign}/ledger", token)
    world.ok("GET", f"/v1/campaigns/{campaign}/ledger", renewed)
    world.refused(401, "GET", f"/v1/campaigns/{campaign}/ledger", token)
    world.clock.set("2026-11-16T13:00:00Z")
    world.refused(401, "GET", f"/v1/campaigns/{campaign}/ledger", renewed)
    world.refused(422, "POST", "/v1/consumers", world.operator, body)


def test_a_lost_consumers_token_is_replaced_by_the_operator(world: World) -> None:
    made = world.ok("POST", "/v1/consumers", world.operator, {"name": "n"})
    campaign = world.campaign(made["token"])
    new = world.ok("POST", f"/v1/consumers/{made['consumer']}/token", world.operator)["token"]
    world.refused(401, "GET", f"/v1/campaigns/{campaign}/ledger", made["token"])
    world.ok("GET", f"/v1/campaigns/{campaign}/ledger", new)


def test_nodes_are_made_by_the_operator_alone(world: World) -> None:
    """Who holds a node's token can invent producers, so that a consumer must not get one."""
    consumer = world.consumer()
    path = f"/v1/campaigns/{world.campaign(consumer)}/nodes"
    world.refused(403, "POST", path, consumer, {"name": "north"})
    node = world.ok("POST", path, world.operator, {"name": "north"})
    world.refused(403, "POST", f"{path}/{node['node']}/token", consumer)
    new = world.ok("POST", f"{path}/{node['node']}/token", world.operator)["token"]
    world.refused(401, "GET", "/v1/node", node["token"])
    assert world.ok("GET", "/v1/node", new)["node"] == node["node"]
    world.refused(404, "POST", f"{path}/nobody/token", world.operator)


def test_tokens_are_not_in_the_store(world: World, tmp_path: Any) -> None:
    consumer = world.consumer()
    producer = world.join(world.campaign(consumer))
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for token in (world.operator, consumer, producer):
        assert len(token) == 64  # hexadecimal digits: 256 bits
        assert token.encode() not in kept


def test_no_token_can_be_taken_for_an_option(world: World) -> None:
    """One that begins with a hyphen, as one of 64 would in base64, is none to give to a command."""
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    invitations = world.ok("POST", f"/v1/campaigns/{campaign}/invitations", consumer, {"count": 30})["invitations"]
    tokens = [world.operator, consumer, *(world.join(campaign) for _ in range(3)), *invitations]
    assert all(token.isalnum() for token in tokens)


def test_limits_say_which_and_when_to_come_back(tmp_path: Any) -> None:
    with running(sqlite_url(tmp_path), Limits(requests_per_second=3, joins_per_minute=2)) as world:
        world.service.requests.timer = world.service.joins.timer = lambda: 0.0  # no bucket fills meanwhile
        consumer = world.consumer()
        campaign = world.campaign(consumer)
        producers = [world.join(campaign) for _ in range(2)]
        answer = world.send("POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "A"})
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert answer.json()["error"]["code"] == "rate_limited"
        assert "2 joins of one campaign a minute" in answer.json()["error"]["message"]
        statuses = [world.send("POST", "/v1/reports", producers[0], {"reports": []}) for _ in range(5)]
        limited = [each for each in statuses if each.status_code == 429]
        assert len(limited) == 2
        assert "3 requests of one token a second" in limited[0].json()["error"]["message"]
        assert "were not taken" in limited[0].json()["error"]["message"]
        assert world.send("POST", "/v1/reports", producers[1], {"reports": []}).status_code == 200


def test_a_campaigns_own_clock_skew(world: World) -> None:
    campaign = world.campaign(world.consumer(), clock_skew_minutes=0)
    producer = world.join(campaign)
    results = world.report(producer, ("2026-11-16T12:00:00Z", 1, "A"), ("2026-11-16T12:00:00.000001Z", 1, "A"))
    assert [each.get("code", each["status"]) for each in results] == ["accepted", "future"]
