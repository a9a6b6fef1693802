"""Reports by a real Mosquitto: the same results as by HTTP, on disk before they are acknowledged, and each one once."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from halfmask.errors import ExtraError
from halfmask.extras import naming_extras
from halfmask.service.mqtt import Broker, MqttTransport, access_list, receipts_topic, reports_topic
from halfmask.service.mqtt_intake import Intake, background_task
from halfmask.service.storage.sql_store import StoreGoneError
from tests.refusals import refused
from tests.service.links import link
from tests.service.servers import free_port, wait_for_port
from tests.service.test_totals import TOTALS
from tests.service.world import World, sqlite_url

MOSQUITTO = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
TIME = "2026-11-16T11:00:00Z"


def until(holds: Callable[[], Any]) -> None:
    """Wait for a condition, up to a minute."""
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "it did not come to hold"
        time.sleep(0.02)


@contextmanager
def mosquitto(folder: Path, *lines: str) -> Iterator[int]:
    """A broker of its own; its port."""
    port = free_port()
    config = folder / "mosquitto.conf"
    user = ("user root",) if os.geteuid() == 0 else ()  # else it could not read its files
    config.write_text("\n".join((f"listener {port} 127.0.0.1", *user, *(lines or ("allow_anonymous true",)), "")))
    process = subprocess.Popen([MOSQUITTO, "-c", str(config)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        wait_for_port(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mosquitto(tmp_path_factory.mktemp("broker")) as port:
        yield f"mqtt://127.0.0.1:{port}"


@contextmanager
def intake(world: World, url: str) -> Iterator[Intake]:
    """The service's side, subscribed."""
    made = background_task(url)(world.service, world.app.state.writer)
    found = world.wait(made.__aenter__())
    try:
        assert found.subscribed.wait(60)
        yield found
    finally:
        world.wait(made.__aexit__(None, None, None))


class Device:
    """A client that speaks MQTT and knows nothing of ours."""

    def __init__(self, url: str, producer: str, user: str | None = None, password: str | None = None) -> None:
        broker = Broker.parse(url)
        self.client = Client(CallbackAPIVersion.VERSION2)
        if user is not None:
            self.client.username_pw_set(user, password)
        self.receipts: list[Any] = []
        self.ready = threading.Event()
        self.client.on_message = lambda _, __, message: self.receipts.append(json.loads(message.payload))
        self.client.on_subscribe = lambda *_: self.ready.set()
        self.client.connect(broker.host, broker.port)
        self.client.loop_start()
        self.client.subscribe(receipts_topic(producer), 1)
        assert self.ready.wait(60)
        self.topic = reports_topic(producer)

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.client.disconnect()
        self.client.loop_stop()

    def send(self, payload: Any, topic: str | None = None) -> None:
        raw = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.client.publish(topic or self.topic, raw, 1).wait_for_publish(60)

    def answered(self, payload: Any) -> Any:
        before = len(self.receipts)
        self.send(payload)
        until(lambda: len(self.receipts) > before)
        return self.receipts[-1]


def joined(world: World, campaign: str) -> tuple[str, str]:
    made = world.ok("POST", f"/v1/campaigns/{campaign}/producers", None, {"setting": "N"})
    return made["producer"], made["token"]


def report(steps: int = 5, time: str = TIME) -> dict[str, Any]:
    return {"time": time, "steps": steps, "setting": "N"}


def test_receipts_are_the_protocols_results(world: World, broker: str) -> None:
    campaign = world.campaign(world.consumer())
    producer, token = joined(world, campaign)
    with intake(world, broker), Device(broker, producer) as device:
        first = device.answered({"token": token, "id": "one", "reports": [report(), report(6), {"time": 1}]})
        assert first == {
            "id": "one",
            "results": [
                {"status": "accepted", "reward": 5},
                {"status": "refused", "code": "conflict"},
                {"status": "refused", "code": "malformed"},
            ],
        }
        again = device.answered({"token": token, "reports": [report()]})
        assert again == {"results": [{"status": "known", "reward": 5}]}
        assert world.report(token, (TIME, 5, "N")) == again["results"]  # the same store as by HTTP


def test_what_is_not_the_producers_own_is_refused(world: World, broker: str) -> None:
    campaign = world.campaign(world.consumer())
    producer, token = joined(world, campaign)
    _, other = joined(world, campaign)
    with intake(world, broker), Device(broker, producer) as device:
        for payload, status in (
            ({"token": other, "reports": [report()]}, 403),
            ({"token": world.operator, "reports": [report()]}, 403),
            ({"token": "no-such-token", "reports": [report()]}, 401),
            ({"reports": [report()]}, 401),
            ({"token": token, "reports": 3}, 422),
            ({"token": token, "reports": [report()] * 10_001}, 413),
            (b"\xff{", 400),
            (b"[" * 100_000, 400),
        ):
            receipt = device.answered(payload)
            assert receipt["status"] == status
            assert receipt["error"].keys() == {"code", "message", "field"}
        assert device.answered({"token": token, "reports": [report()]})["results"][0]["status"] == "accepted"


def test_topics_that_are_no_producers_hold_up_nobody(world: World, broker: str) -> None:
    """A receipt's topic would be too long to publish on: such messages must not stay with the broker for ever."""
    producer, token = joined(world, world.campaign(world.consumer()))
    longest = "x" * (65_535 - len(reports_topic("")))
    with intake(world, broker), Device(broker, producer) as device:
        for _ in range(25):  # more than the broker lets wait for an acknowledgement
            device.send({"token": token, "reports": [report()]}, reports_topic(longest))
        assert device.answered({"token": token, "reports": [report()]})["results"][0]["status"] == "accepted"
        device.client.publish(device.topic, json.dumps({"token": token, "reports": [report(6)]}), 0)  # at most once
        until(lambda: len(device.receipts) == 2)
        device.client.publish(device.topic, json.dumps({"token": token, "reports": [report()]}), 1, retain=True)
        until(lambda: len(device.receipts) == 3)
        assert [each["results"][0].get("code") for each in device.receipts] == [None, "conflict", None]
    with intake(world, broker), Device(broker, producer) as device:  # what is retained comes again
        until(lambda: len(device.receipts) == 1)
        assert device.receipts[0]["results"] == [{"status": "known", "reward": 5}]
        device.client.publish(device.topic, b"", 1, retain=True).wait_for_publish(60)


def test_what_the_broker_holds_while_the_service_is_away_arrives_once(world: World, broker: str) -> None:
    campaign = world.campaign(world.consumer())
    producer, token = joined(world, campaign)
    times = [f"2026-11-16T10:{minute:02}:00Z" for minute in range(30)]
    with Device(broker, producer) as device:
        with intake(world, broker):
            device.answered({"token": token, "reports": [report(1, times[0])]})
        for place, time in enumerate(times):  # the broker acknowledges all of them, and nothing is stored
            device.send({"token": token, "reports": [report(place + 1, time)]})
        assert len(device.receipts) == 1
        with intake(world, broker):
            until(lambda: len(device.receipts) >= 31)
    statuses = [receipt["results"][0]["status"] for receipt in device.receipts]
    assert (statuses.count("accepted"), statuses.count("known")) == (30, 1)
    assert sum(world.amounts("/v1/me/ledger", token)) == 30 * 5


def test_the_broker_hears_no_acknowledgement_before_the_commit(
    world: World, broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = world.campaign(world.consumer())
    producer, token = joined(world, campaign)
    failing = threading.Event()

    def gone(*_: Any) -> Any:
        failing.set()
        raise StoreGoneError

    with Device(broker, producer) as device:
        with intake(world, broker), monkeypatch.context() as patch:
            patch.setattr(world.service, "accept", gone)
            device.send({"token": token, "reports": [report()]})
            assert failing.wait(60)
        assert device.receipts == []  # neither stored nor answered: the service stopped in between
        with intake(world, broker):  # delivered again, since it was not acknowledged
            until(lambda: device.receipts)
        assert device.receipts[0]["results"] == [{"status": "accepted", "reward": 5}]


def test_a_device_can_send_its_reports_by_mqtt(world: World, broker: str) -> None:
    campaign = world.campaign(world.consumer())
    producer, token = joined(world, campaign)
    headers = {"Authorization": f"Bearer {token}"}
    body = json.dumps({"reports": [report()]}).encode()
    transport = MqttTransport(broker, {token: producer}, link(world))
    try:
        with intake(world, broker):
            status, _, content = transport("POST", "http://service/v1/reports", headers, body)
            assert (status, json.loads(content)["results"][0]["status"]) == (200, "accepted")
            status, _, content = transport("POST", "http://service/v1/reports", {}, body)
            assert (status, json.loads(content)["error"]["code"]) == (401, "unauthenticated")
            status, _, content = transport("GET", "http://service/v1/me", headers, None)  # by HTTP
            assert (json.loads(content)["expected"], json.loads(content)["earned"]) == (5, 0)  # the period is open
        transport.timeout = 0.2
        with pytest.raises(TimeoutError):
            transport("POST", "http://service/v1/reports", headers, body)
    finally:
        transport.close()


def test_totals_come_by_mqtt_by_the_same_rules(world: World, broker: str) -> None:
    campaign = world.campaign(world.consumer(), **TOTALS)
    world.clock.set("2026-11-16T00:10:00Z")
    producer, token = joined(world, campaign)
    transport = MqttTransport(broker, {token: producer}, link(world))
    days = ("2026-11-15T00:00:00Z", "2026-11-15T00:30:00Z", "2026-11-16T00:00:00Z")
    body = json.dumps({"reports": [{"time": day, "steps": 105, "setting": "N"} for day in days]}).encode()
    try:
        with intake(world, broker):
            _, _, content = transport("POST", "http://service/v1/reports", {"Authorization": f"Bearer {token}"}, body)
    finally:
        transport.close()
    results = json.loads(content)["results"]
    assert [each.get("code", each["status"]) for each in results] == ["accepted", "malformed", "future"]


def test_the_access_list_keeps_producers_apart(world: World, tmp_path: Path) -> None:
    campaign = world.campaign(world.consumer())
    (producer, token), (other, _) = joined(world, campaign), joined(world, campaign)
    (tmp_path / "acl").write_text(access_list("halfmask"))
    passwords = tmp_path / "passwords"
    passwords.touch(mode=0o600)
    for user in ("halfmask", producer, other):
        subprocess.run(["mosquitto_passwd", "-b", str(passwords), user, "secret"], check=True, capture_output=True)
    config = ("allow_anonymous false", f"acl_file {tmp_path / 'acl'}", f"password_file {passwords}")
    with mosquitto(tmp_path, *config) as port:
        url = f"mqtt://halfmask:secret@127.0.0.1:{port}"
        with (
            intake(world, url),
            Device(url, producer, producer, "secret") as mine,
            Device(url, producer, other, "secret") as theirs,
        ):
            theirs.send({"token": token, "reports": [report(9)]}, reports_topic(producer))  # dropped by the broker
            assert mine.answered({"token": token, "reports": [report()]})["results"][0]["status"] == "accepted"
            assert theirs.receipts == []
            assert len(mine.receipts) == 1


def test_addresses_of_brokers() -> None:
    assert Broker.parse("mqtt://a") == Broker("a", 1883, False, None, None)
    assert Broker.parse("mqtts://me:p%40ss@b:99") == Broker("b", 99, True, "me", "p@ss")
    for wrong in ("http://a", "mqtt://", "mqtt://a:x", "a:1883", "mqtt://a/topic"):
        with refused("option.address"):
            Broker.parse(wrong)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "paho.mqtt.client", None)
    with pytest.raises(ExtraError) as caught, naming_extras():
        background_task("mqtt://a")
    assert caught.value.fields == ("mqtt",)


@pytest.mark.slow
def test_the_program_sends_by_mqtt_and_waits_for_receipts(broker: str, tmp_path: Path) -> None:
    """``halfmask send --mqtt`` and ``halfmask serve --mqtt``, with Mosquitto between them."""
    from tests.service.process import COMMAND, init, served
    from tests.service.test_serve import begin, days, ended

    url = sqlite_url(tmp_path)
    operator = init(url)
    with served(url, tmp_path / "log", "--mqtt", broker) as service:
        consumer, campaign = begin(service, operator, least_producers=1)
        device = ("--state", str(tmp_path / "device"))

        def run(*words: str) -> str:
            done = subprocess.run([*COMMAND, *words, *device], capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            return done.stdout

        run("join", f"http://{service.host}:{service.port}", "--setting", "N", "--least-producers", "1")
        day = days(ended())[0]
        rows = [f"{day}T{hour:02}:00:00Z,{hour}.5" for hour in range(20)]
        (tmp_path / "readings.csv").write_text("\n".join(["time,value", *rows]) + "\n")
        said = run("send", str(tmp_path / "readings.csv"), "--mqtt", broker)
        assert said == "queued 20 report(s); sent: 20 accepted; rewards expected: 0.100 EUR\n"
        closed = service.ok("POST", f"/v1/campaigns/{campaign}/periods/{day}/close", consumer)
        assert closed["sum"]["estimate"] == sum(hour + 0.5 for hour in range(20))
        metrics = service.connect()
        metrics.request("GET", "/metrics", headers={"Authorization": f"Bearer {operator}"})
        counted = metrics.getresponse().read().decode()
        metrics.close()
        assert 'route="/v1/reports"' not in counted  # nothing came by HTTP


def test_shares_of_split_totals_go_by_http() -> None:
    """A broker would be a third party that sees both shares."""
    sent: list[bytes | None] = []

    def http(*request: Any) -> Any:
        sent.append(request[-1])
        return 200, {}, b"{}"

    transport = MqttTransport("mqtt://127.0.0.1:9", {"token": "producer"}, http, timeout=0.1)
    headers, address = {"Authorization": "Bearer token"}, "http://127.0.0.1:8000/v1/reports"
    try:
        split, plain = (json.dumps({"reports": [each]}).encode() for each in ({"share": "AA=="}, {"steps": 5}))
        assert transport("POST", address, headers, split)[0] == 200
        with pytest.raises(OSError, match="broker"):
            transport("POST", address, headers, plain)
    finally:
        transport.close()
    assert sent == [split]
