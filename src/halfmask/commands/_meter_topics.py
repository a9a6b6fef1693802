"""Messages of a meter, from a broker: each state of its registers with the instant at which it arrived."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from queue import Empty, SimpleQueue
from secrets import token_hex
from typing import TYPE_CHECKING

from halfmask.errors import OptionError
from halfmask.service.mqtt import Broker
from halfmask_device.meter_messages import RegisterField, find_register

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

SCHEMES = ("mqtt://", "mqtts://")
PASSWORD = "HALFMASK_MQTT_PASSWORD"
"""Environment variable with the password of the user in the broker's address."""
QOS = 1


class MeterTopics:
    """Listens to a meter's topics.

    ``path``  the field of the register in a JSON message, if it is not one that is recognised
    ``unit``  the register's unit; without it, the unit that goes with topic or field
    ``tell``  callback that receives notes for the user
    """

    def __init__(
        self, url: str, topics: Sequence[str], path: str, unit: str | None, tell: Callable[[str], object]
    ) -> None:
        if any(sign in topic for topic in topics for sign in "+#"):
            raise OptionError(
                "a `topic` names one register: write it without + and #, once for each register of the meter",
                kind="topic",
            )
        self._path, self._unit, self._tell = path, unit, tell
        self._topics, self._fields = tuple(topics), dict[str, RegisterField]()
        self._came: SimpleQueue[tuple[str, int, bytes]] = SimpleQueue()
        broker = Broker.parse(url)
        self._client = broker.client(f"halfmask-meter-{token_hex(8)}", keep=False)
        if broker.user is not None and broker.password is None:
            self._client.username_pw_set(broker.user, os.environ.get(PASSWORD))
        self._client.on_connect = self._connected
        self._client.on_message = self._take
        self._client.connect_async(broker.host, broker.port)
        self._client.loop_start()

    def _connected(self, client: "Client", _: object, __: object, reason: object, ___: object) -> None:
        if getattr(reason, "is_failure", False):
            self._tell(f"the meter's broker refuses the connection ({reason}): check user and {PASSWORD}")
            return
        client.subscribe([(each, QOS) for each in self._topics])

    def _take(self, client: "Client", _: object, message: "MQTTMessage") -> None:
        client.ack(message.mid, message.qos)
        if not message.retain:  # the state of an unknown time
            self._came.put((message.topic, time.time_ns() // 1000, bytes(message.payload)))

    def states(self, wait: float, unit: str) -> Iterator[tuple[str, int, Decimal]]:
        """Yield topic, instant and state in ``unit`` of messages that are there or come within ``wait`` seconds."""
        while True:
            try:
                topic, when, payload = self._came.get(timeout=wait)
            except Empty:
                return
            wait = 0.0
            place = self._fields.get(topic) or find_register(topic, payload, self._path, self._unit)
            if place is None:
                self._tell(f"a message of {topic} shows no register: name its field by --value, and its --unit")
                continue
            self._fields[topic] = place
            state, factor = place.read(payload), place.factor(unit)
            if state is not None:
                yield topic, when, state * factor

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
