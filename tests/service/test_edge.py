"""What operators watch and choose: metrics of several processes, readiness, the access log, floors, other origins."""

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from halfmask.service.counters import WAITING, Counters
from halfmask.service.floors import Floors
from halfmask.service.http.app import EdgeOptions, create_app
from halfmask.service.http.read_request import parse_post
from halfmask.service.http.readiness import KEPT
from tests.service.process import served
from tests.service.servers import free_port, fresh_database, wait_for_port
from tests.service.world import CAMPAIGN, World, fresh, sqlite_url


def metrics(world: World) -> dict[str, float]:
    page = world.send("GET", "/metrics", world.operator).text
    return read_metrics(page)


def read_metrics(page: str) -> dict[str, float]:
    lines = [line.rpartition(" ") for line in page.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def test_a_histogram_counts_each_request_once(world: World) -> None:
    for _ in range(3):
        world.ok("GET", "/v1/campaigns")
    found = metrics(world)
    buckets = [
        value
        for name, value in found.items()
        if name.startswith('halfmask_request_seconds_bucket{route="/v1/campaigns"')
    ]
    assert buckets == sorted(buckets)
    assert len(buckets) == 14
    assert buckets[-1] == found['halfmask_request_seconds_count{route="/v1/campaigns"}'] == 3
    assert 0 < found['halfmask_request_seconds_sum{route="/v1/campaigns"}'] < 60
    assert found['halfmask_requests_total{method="GET",route="/v1/campaigns",status="200"}'] == 3


def test_metrics_have_a_valid_form(world: World) -> None:
    """Each family is named once, before its series, which come together."""
    consumer = world.consumer()
    world.report(world.join(world.campaign(consumer)), ("2026-11-16T11:00:00Z", 1, "A"))
    families: list[str] = []
    for line in world.send("GET", "/metrics", world.operator).text.splitlines():
        if line.startswith("# TYPE "):
            families.append(line.split()[2])
        else:
            assert re.fullmatch(r'[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [0-9.e+-]+', line), line
            assert line.startswith(families[-1])
    assert len(families) == len(set(families))


def test_closing_lag_is_how_late_the_oldest_period_is(world: World) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer)
    assert metrics(world)["halfmask_closing_lag_seconds"] == 39_600  # the 15th, due at 01:00
    world.periods(campaign, consumer)
    assert metrics(world)["halfmask_closing_lag_seconds"] == metrics(world)["halfmask_periods_due"] == 0
    world.clock.set("2026-11-17T01:30:00Z")
    assert metrics(world)["halfmask_closing_lag_seconds"] == 1800
    assert metrics(world)["halfmask_disk_free_bytes"] > 0


def test_processes_count_together_and_what_the_dead_counted_stays(tmp_path: Path) -> None:
    words = (
        "import sys; from pathlib import Path; from halfmask.service.counters import *\n"
        "made = Counters(Path(sys.argv[1])); made.add('a', 2); made.put(WAITING, 7)\n"
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", words, str(tmp_path)], env=os.environ, check=False)
    own = Counters(tmp_path)
    own.add("a")
    own.put(WAITING, 1)
    assert own.totals() == {"a": 5, WAITING: 1}
    again = Counters(tmp_path)  # the same process number
    again.add("b", 0.5)
    assert again.totals() == {"a": 5, WAITING: 0, "b": 0.5}


@pytest.mark.slow
def test_two_workers_count_every_request(postgres_address: str, tmp_path: Path) -> None:
    url = fresh_database(postgres_address)
    operator = fresh(url)
    port = free_port()
    with served(url, tmp_path / "log", "--workers", "2", "--access-log", port=port) as service:
        wait_for_port(port, service.process)
        for _ in range(50):
            service.ok("GET", "/v1/campaigns")
        for _ in range(5):
            answer = httpx.get(
                f"http://{service.host}:{service.port}/metrics", headers={"Authorization": f"Bearer {operator}"}
            )
            found = read_metrics(answer.text)
            assert found['halfmask_request_seconds_count{route="/v1/campaigns"}'] == 50


def test_ready_only_while_writes_are_taken(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = world.app.routes  # the route is made with the application
    assert any(getattr(each, "path", "") == "/ready" for each in ready)
    monkeypatch.setattr("halfmask.service.http.readiness.KEPT", -1.0)
    assert KEPT > 0
    assert world.ok("GET", "/ready") == {"status": "ready", "clock": "steady"}
    monkeypatch.setattr(world.store, "least_room", 2**62)
    assert world.refused(503, "GET", "/ready")["code"] == "storage_full"
    assert world.ok("GET", "/live") == {"status": "alive"}
    assert world.ok("GET", "/v1/health") == {"status": "ok"}
    monkeypatch.setattr(world.store, "least_room", 0)
    assert world.ok("GET", "/ready") == {"status": "ready", "clock": "steady"}
    world.service.stopping = True
    assert world.refused(503, "GET", "/ready")["code"] == "stopping"
    world.service.stopping = False


def with_edge(world: World, edge: EdgeOptions) -> World:
    """The same service behind another edge."""
    app = create_app(world.service, close_every=None, edge=edge)
    world._client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")
    world.wait(app.router.lifespan_context(app).__aenter__())
    return world


def test_the_access_log_has_routes_and_no_values(world: World, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("halfmask.service").propagate = True
    with_edge(world, EdgeOptions(access_log=True))
    with caplog.at_level(logging.INFO, "halfmask.service"):
        world.send("GET", "/v1/campaigns/secret-name?from=secret-query", "secret-token")
        world.send("GET", "/secret-path")
    found = [vars(record) for record in caplog.records if record.message == "request"]
    assert [(each["method"], each["route"], each["status"]) for each in found] == [
        ("GET", "/v1/campaigns/{c}", 404),
        ("any", "none", 404),
    ]
    assert "secret" not in json.dumps([str(each) for each in found])


def test_pages_of_other_origins_are_answered_only_if_they_are_named(world: World) -> None:
    origin = {"Origin": "https://meters.example.org"}
    asked = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    assert "access-control-allow-origin" not in world.send("GET", "/v1/campaigns", headers=origin).headers
    assert world.send("OPTIONS", "/v1/reports", headers=asked).status_code == 405
    with_edge(world, EdgeOptions(origins=("https://meters.example.org",)))
    for method, path in (("GET", "/v1/campaigns"), ("POST", "/v1/reports")):
        answer = world.send(method, path, headers=origin)
        assert answer.headers["access-control-allow-origin"] == "https://meters.example.org"
        assert "access-control-allow-credentials" not in answer.headers
        other = world.send(method, path, headers={"Origin": "https://elsewhere.example"})
        assert "access-control-allow-origin" not in other.headers
    preflight = world.send("OPTIONS", "/v1/reports", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://meters.example.org"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/v1/me", "DELETE, GET, PATCH"),
        ("/v1/campaigns", "GET, POST"),
        ("/v1/token", "DELETE, POST"),
        ("/v1/reports", "POST"),
        ("/v1/campaigns/any/periods/any/close", "POST"),
    ],
)
def test_a_refused_method_lists_all_that_the_path_has(world: World, path: str, allowed: str) -> None:
    answer = world.send("PUT" if path != "/v1/campaigns/any/rewards" else "GET", path)
    assert answer.status_code == 405
    assert answer.headers["allow"] == allowed


OPEN = {"settings": [{"id": "A", "setting": "laplace:0.5"}, {"id": "N", "setting": "none"}]}
NEARLY_OPEN = {"settings": [{"id": "A", "setting": "laplace:0.0006"}]}
MASKED = {"settings": [{"id": "A", "setting": "laplace:0.5"}]}


def test_the_operators_floors_hold_for_every_campaign(world: World) -> None:
    consumer = world.consumer()
    world.service.floors = Floors(least_producers=20, open_settings=False, live=False)
    fine: dict[str, Any] = {**CAMPAIGN, "least_producers": 20, "menu": MASKED, "rewards": {}, "budget": 0}
    for field, changed in (
        ("least_producers", {"least_producers": 19}),
        ("menu", {"menu": OPEN}),
        ("menu", {"menu": NEARLY_OPEN}),
        ("live", {"live": True}),
    ):
        assert world.refused(422, "POST", "/v1/campaigns", consumer, fine | changed)["field"] == field
    world.ok("POST", "/v1/campaigns", consumer, fine)


def test_nul_in_a_query_is_refused_on_every_database(any_world: World) -> None:
    consumer = any_world.consumer()
    campaign = any_world.campaign(consumer)
    for after in ("a\x00b", "\x00", "é", "x" * 65):
        error = any_world.refused(422, "GET", f"/v1/campaigns/{campaign}/ledger", consumer, params={"after": after})
        assert error["field"] == "after"
    for name in ("from", "to", "limit", "population", "weighted"):
        any_world.refused(422, "GET", f"/v1/campaigns/{campaign}/periods", consumer, params={name: "a\x00b"})


def serve(*words: str, folder: Path, **env: str) -> Any:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HALFMASK_SERVE")}
    return subprocess.run(
        [sys.executable, "-m", "halfmask", *words], env=clean | env, capture_output=True, text=True, cwd=folder
    )


def test_options_come_from_the_command_line_then_the_environment_then_the_file(tmp_path: Path) -> None:
    fresh(sqlite_url(tmp_path))
    file = (
        f'db = "{sqlite_url(tmp_path)}"\nport = 1001\nhost = "127.0.0.3"\nworkers = 1\ncors = ["https://a.example"]\n'
    )
    (tmp_path / "serve.toml").write_text(file)
    words = ["serve", "--config", str(tmp_path / "serve.toml"), "--check-config", "--port", "1003"]
    done = serve(*words, folder=tmp_path, HALFMASK_SERVE_PORT="1002", HALFMASK_SERVE_REQUESTS_PER_SECOND="7")
    assert done.returncode == 0, done.stderr
    found = {words[0]: words[1] for line in done.stdout.splitlines() if len(words := line.split()) == 2}
    assert found["port"] == "1003"
    assert found["requests_per_second"] == "7.0"
    assert found["host"] == "127.0.0.3"
    assert found["cors"] == "https://a.example"
    done = serve("admin", "list", "consumers", "--config", str(tmp_path / "serve.toml"), folder=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "env", "config"),
    [
        (["--db", "postgresql://me:hunter2@127.0.0.1/x"], {}, ""),
        (["--mqtt", "mqtt://me:hunter2@127.0.0.1"], {}, ""),
        (["--upstream", "https://above.example", "--upstream-token", "hunter2"], {}, ""),
        (["--peer", "https://peer.example", "--peer-token", "hunter2"], {}, ""),
        ([], {"HALFMASK_SERVE_PORT": "many"}, ""),
        ([], {"HALFMASK_SERVE_UPSTREAM_TOKEN": "hunter2"}, ""),
        ([], {}, 'db = "postgresql://me:hunter2@127.0.0.1/x"\n'),
        ([], {}, "prot = 80\n"),
        ([], {}, "port = \n"),
        ([], {}, 'cors = ["https://a.example/path"]\n'),
        ([], {}, 'db = "sqlite:////nowhere/halfmask.db"\n'),
    ],
    ids=[
        "typed database password", "typed broker password", "typed upstream token", "typed peer token", "not a number",
        "half of a pair", "file for everybody", "unknown name", "not TOML", "not an origin", "no database",
    ],
)  # fmt: skip
def test_a_wrong_configuration_is_refused_without_repeating_its_secrets(
    tmp_path: Path, words: list[str], env: dict[str, str], config: str
) -> None:
    fresh(sqlite_url(tmp_path))
    (tmp_path / "serve.toml").write_text(config)
    (tmp_path / "serve.toml").chmod(0o644)
    given = ["--config", str(tmp_path / "serve.toml")] if config else []
    base = {} if "db" in config or "--db" in words else {"HALFMASK_SERVE_DB": sqlite_url(tmp_path)}
    done = serve("serve", "--check-config", *given, *words, folder=tmp_path, **base, **env)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.startswith("halfmask: ")
    assert "hunter2" not in done.stdout + done.stderr


def test_closing_leaving_and_revoking_go_on_while_the_disk_is_full(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    consumer = world.consumer()
    campaign = world.campaign(consumer, least_producers=1)
    stays, leaves = world.join(campaign), world.join(campaign)
    report = ("2026-11-16T11:00:00Z", 1000, "A")
    for token in (stays, leaves):
        world.report(token, report)
    monkeypatch.setattr(world.store, "has_room", lambda: False)
    assert world.refused(507, "POST", "/v1/reports", stays, {"reports": []})["code"] == "storage_full"
    assert world.refused(507, "POST", "/v1/token", stays)["code"] == "storage_full"
    assert world.ok("DELETE", "/v1/me", leaves)["withdrawn"] == 1
    world.ok("DELETE", "/v1/token", leaves)
    world.clock.set("2026-11-17T02:00:00Z")
    period = world.periods(campaign, consumer)["2026-11-16"]
    assert (period["state"], period["reports"]) == ("closed", 1)
    assert world.close_period(campaign, consumer, "2026-11-16")["state"] == "closed"


def test_a_body_is_parsed_only_for_a_token_that_exists(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    token, parsed = world.join(world.campaign(world.consumer())), []

    def parse(raw: bytes, *rest: Any) -> Any:
        parsed.append(raw)
        return parse_post(raw, *rest)

    monkeypatch.setattr("halfmask.service.http.app.parse_post", parse)
    assert world.refused(401, "POST", "/v1/reports", "0" * 64, content=b"[" * 100_000)["code"] == "unauthenticated"
    assert parsed == []
    assert world.refused(400, "POST", "/v1/reports", token, content=b"[" * 100_000)["code"] == "not_json"
    assert len(parsed) == 1
