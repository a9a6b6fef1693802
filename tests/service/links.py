"""Links between services of one process: messages that arrive, and messages that are lost, doubled or late."""

import random
from collections.abc import Mapping
from urllib.parse import urlsplit

from halfmask_device.http_client import Answer, Transport
from tests.service.world import World


def link(world: World) -> Transport:
    """A transport that reaches one service."""

    def send(method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        path = urlsplit(address).path
        answer = world.send(method, path, headers=dict(headers), content=body)
        return answer.status_code, dict(answer.headers), answer.content

    return send


class Faulty:
    """A transport over another that loses messages or answers, doubles them, and lets old ones come late."""

    def __init__(self, transport: Transport, rng: random.Random) -> None:
        self.transport, self.rng, self.broken = transport, rng, True
        self.faults = 0
        self._late: list[tuple[str, str, Mapping[str, str], bytes | None]] = []

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        if not self.broken:
            return self.transport(method, address, headers, body)
        sent = (method, address, headers, body)
        what = self.rng.choice(("right", "lost", "answer lost", "doubled", "late"))
        self.faults += what != "right"
        if what == "lost":
            raise OSError("lost")
        if what == "late":
            self._late.append(sent)
            raise OSError("late")
        answer = self.transport(*sent)
        if what == "doubled":
            self.transport(*sent)
        while self._late and self.rng.random() < 0.5:
            self.transport(*self._late.pop(self.rng.randrange(len(self._late))))
        if what == "answer lost":
            raise OSError("the answer was lost")
        return answer
