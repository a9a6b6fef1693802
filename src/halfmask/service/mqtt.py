"""The broker of reports by MQTT: its address, its topics, and the transport by which a device sends reports.

A broker that acknowledges a message has not stored a report. The service publishes the protocol's answer as a receipt
(see `mqtt_intake`), and a device keeps a report until it has the receipt.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from halfmask.errors import OptionError
from halfmask_device.http_client import TIMEOUT, Answer

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

ROOT = "halfmask/v1"
QOS = 1


def reports_topic(producer: str) -> str:
    return f"{ROOT}/{producer}/reports"


def receipts_topic(producer: str) -> str:
    return f"{ROOT}/{producer}/receipts"


def access_list(user: str) -> str:
    """Return Mosquitto's access list.

    The service reads all reports and writes all receipts. A producer's user name is its id: it writes its own reports
    and reads its own receipts. Patterns with %u cover every producer, including those who join later.
    """
    return "\n".join(
        (
            "# halfmask: the service",
            f"user {user}",
            f"topic read {reports_topic('+')}",
            f"topic write {receipts_topic('+')}",
            "",
            "# each producer: its id is its user name",
            f"pattern write {reports_topic('%u')}",
            f"pattern read {receipts_topic('%u')}",
            "",
        )
    )


@dataclass(frozen=True)
class Broker:
    """The address of a broker, and the user and password for it."""

    host: str
    port: int
    tls: bool
    user: str | None
    password: str | None

    @classmethod
    def parse(cls, url: str) -> "Broker":
        """Parse mqtt://USER:PASSWORD@HOST:PORT, or mqtts:// for TLS."""
        wrong = OptionError(
            "the broker's address is not valid: write it like mqtt://host:1883, or mqtts:// for TLS", kind="address"
        )
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise wrong from None
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname or parts.path.strip("/"):
            raise wrong
        user, password = (None if each is None else unquote(each) for each in (parts.username, parts.password))
        tls = parts.scheme == "mqtts"
        return cls(parts.hostname, port or (8883 if tls else 1883), tls, user, password)

    def client(self, name: str, *, keep: bool) -> "Client":
        """Return a client that acknowledges by hand. If ``keep``, the broker keeps messages while it is away."""
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        client = Client(CallbackAPIVersion.VERSION2, client_id=name, clean_session=not keep, manual_ack=True)
        if self.user is not None:
            client.username_pw_set(self.user, self.password)
        if self.tls:
            client.tls_set()
        client.reconnect_delay_set(1, 60)
        return client


class MqttTransport:
    """A transport for a device: reports go by MQTT and are answered by their receipt. All else goes by ``http``.

    That includes reports that are shares of split totals, because a broker would be a third party that sees them.

    ``producers``  maps the device's tokens to its producers' ids

    Raise OSError if no receipt comes within the timeout, as if nobody had answered: the device sends again later.
    """

    def __init__(
        self, url: str, producers: Mapping[str, str], http: Callable[..., Answer], timeout: float = TIMEOUT
    ) -> None:
        broker = Broker.parse(url)
        self.producers, self.http, self.timeout = producers, http, timeout
        self._receipts: dict[str, dict[str, Any]] = {}
        self._news = threading.Condition()
        self._client = broker.client(f"halfmask-device-{token_hex(8)}", keep=False)
        self._ready = threading.Event()
        topics = [(receipts_topic(each), QOS) for each in producers.values()]
        self._client.on_connect = lambda client, *_: client.subscribe(topics)
        self._client.on_subscribe = lambda *_: self._ready.set()
        self._client.on_message = self._came
        if topics:
            self._client.connect_async(broker.host, broker.port)
            self._client.loop_start()

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _came(self, client: "Client", _: Any, message: "MQTTMessage") -> None:
        client.ack(message.mid, message.qos)
        try:
            receipt = json.loads(message.payload)
        except ValueError:
            return
        with self._news:
            if isinstance(receipt, dict) and receipt.get("id") in self._receipts:
                self._receipts[receipt["id"]] = receipt
                self._news.notify_all()

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        producer = self.producers.get(token)
        if producer is None or urlsplit(address).path != "/v1/reports":
            return self.http(method, address, headers, body)
        own, plain = token_hex(8), json.loads(body or b"{}")
        if any("share" in report for report in plain["reports"]):
            return self.http(method, address, headers, body)
        message = json.dumps({"id": own, "token": token} | plain, separators=(",", ":"))
        if not self._ready.wait(self.timeout):
            raise OSError("the broker does not answer")
        self._receipts[own] = {}
        try:
            self._client.publish(reports_topic(producer), message, QOS)
            with self._news:
                if not self._news.wait_for(lambda: self._receipts[own], self.timeout):
                    raise TimeoutError("no receipt came")
                receipt = self._receipts[own]
        finally:
            del self._receipts[own]
        return int(receipt.get("status", 200)), {}, json.dumps(receipt).encode()
