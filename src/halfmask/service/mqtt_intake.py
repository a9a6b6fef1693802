"""Reports by MQTT: the same checks and the same store as by HTTP, and receipts on the producer's own topic.

The service acknowledges to the broker after the commit, and publishes the protocol's answer as a receipt. A message
that is not acknowledged when the service stops is delivered again when it is back. If its reports were stored before,
the answer is "known".
"""

import asyncio
import json
import logging
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from halfmask.service.background_tasks import BackgroundTask
from halfmask.service.http.read_request import LONGEST_TOKEN, MOST_BYTES, body_too_large, parse_post
from halfmask.service.mqtt import QOS, Broker, receipts_topic, reports_topic
from halfmask.service.refusal import Refusal, forbidden, unauthenticated
from halfmask.service.request import digest
from halfmask.service.service import Service, Writer
from halfmask.service.storage.sql_store import Transaction
from halfmask.service.storage.tables import Plain

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage

log = logging.getLogger("halfmask.service")
LONGEST_ID = 64
LONGEST = 60.0
"""Longest pause in seconds between two attempts while the store cannot be reached. The broker keeps the message."""
_PRODUCER = re.compile(r"[0-9a-f]{16}", re.ASCII)
"""The form of producers' ids."""


class Intake:
    """Takes reports from a broker between `start` and `stop`."""

    def __init__(self, service: Service, writer: Writer, broker: Broker, name: str) -> None:
        self.service, self.writer = service, writer
        self.loop = asyncio.get_running_loop()
        self.client = broker.client(f"halfmask-{name}", keep=True)
        self.client.on_connect = self._connected
        self.client.on_message = self._came
        self.subscribed = threading.Event()
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._where = (broker.host, broker.port)

    def start(self) -> None:
        self.client.connect_async(*self._where)
        self.client.loop_start()

    async def stop(self) -> None:
        """Stop. Messages that are not written yet are not acknowledged, so the broker delivers them again."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await run_in_threadpool(self.client.disconnect)
        await run_in_threadpool(self.client.loop_stop)

    def _connected(self, client: "Client", _: Any, __: Any, reason: Any, ___: Any) -> None:
        if reason.is_failure:
            log.warning("the broker refuses the service", extra={"reason": str(reason)})
            return
        log.info("connected to the broker")
        client.subscribe(reports_topic("+"), QOS)

    def _came(self, _: "Client", __: Any, message: "MQTTMessage") -> None:
        self.loop.call_soon_threadsafe(self._begin, message)

    def _begin(self, message: "MQTTMessage") -> None:
        task = self.loop.create_task(self._serve(message))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, message: "MQTTMessage") -> None:
        """Decide, commit, publish the receipt, acknowledge: in this order, so that a stop repeats the message."""
        producer = message.topic.split("/")[2]
        if _PRODUCER.fullmatch(producer):  # only a producer sends reports or waits for a receipt
            receipt = await self._receipt(producer, bytes(message.payload), patient=message.qos > 0)
            self.client.publish(receipts_topic(producer), json.dumps(receipt, separators=(",", ":")), QOS)
        self.client.ack(message.mid, message.qos)

    async def _receipt(self, producer: str, raw: bytes, *, patient: bool) -> Plain:
        """Return the receipt of a message.

        If ``patient``, wait while the store cannot be reached: the broker sends no more until the message is
        acknowledged.
        """
        pause = 1.0
        named: Plain = {}
        while True:
            try:
                token, named = _envelope(raw)
                if token is None:
                    raise unauthenticated()
                return named | {"results": await self._take(producer, token, raw)}
            except Refusal as refusal:
                if refusal.status < 500 or not patient:
                    return named | {"status": refusal.status} | refusal.body()
            except Exception as error:  # one message must not end the intake
                log.exception("a message failed", extra={"kind": type(error).__name__})
                return named | {"status": 500} | Refusal(500, "failed", "the service failed").body()
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST)

    async def _take(self, producer: str, token: str, raw: bytes) -> Any:
        now = self.service.clock()
        self.service.requests.take(token, "this message and its reports were not taken")
        await run_in_threadpool(self.service.store.read, lambda tx: _check_topic(tx, producer, token))
        post = parse_post(raw, token, now)
        if any(isinstance(value, tuple) for value in post.steps):
            raise Refusal(422, "http_only", "split reports are sent by HTTP alone, to both services", "share")
        return await self.writer.submit(post)


def _check_topic(tx: Transaction, producer: str, token: str) -> None:
    """Refuse a producer's token on another producer's topic. `report_decisions` makes all other checks of the token."""
    who = tx.identities([token]).get(token)
    if who is not None and who.role == "producer" and tx.producer(who.subject).public != producer:
        raise forbidden("this topic is another producer's")


def _envelope(raw: bytes) -> tuple[str | None, Plain]:
    """Return the token's hash, or None if it is missing, and the message's id, which its receipt repeats."""
    if len(raw) > MOST_BYTES:
        raise body_too_large()
    try:
        plain = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Refusal(400, "not_json", "the message is not JSON in UTF-8") from None
    token, own = (plain.get("token"), plain.get("id")) if isinstance(plain, dict) else (None, None)
    named = {"id": own} if isinstance(own, str) and len(own) <= LONGEST_ID and own.isascii() else {}
    return digest(token) if isinstance(token, str) and 0 < len(token) <= LONGEST_TOKEN else None, named


def background_task(url: str) -> BackgroundTask:
    """Return the background task that takes reports from a broker.

    The broker keeps a session under the service's name.
    """
    broker = Broker.parse(url)
    broker.client("", keep=False)  # fails at the start if the package is missing

    @asynccontextmanager
    async def run(service: Service, writer: Writer) -> AsyncIterator[Intake]:
        intake = Intake(service, writer, broker, service.name)
        intake.start()
        try:
            yield intake
        finally:
            await intake.stop()

    return run
