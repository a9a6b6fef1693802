"""Producers with readings and wishes of their own.

A producer's client is the real one of `halfmask_device`: it masks on its own state folder, queues, sends and retries.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from halfmask_device.lattice import Lattice
from halfmask_device.sharing import Sharer
from halfmask_device.transport import Answer, ServiceClient, Transport

STAY_OUT = ""
TAKEN = frozenset(("accepted", "known"))
LIE = 500
"""The steps that a liar reports instead of a masked reading."""
TRIES, NEVER = 12, 1e-15
"""How often a request is tried at least, and the chance below which a network is not unlucky in all its tries."""


@dataclass(frozen=True)
class Wishes:
    """What a producer of `halfmask.rewards.model` cares for: what taking part, privacy and money are worth to it."""

    take: float
    worth: float
    money: float


@dataclass(frozen=True)
class Behaviour:
    """Chances per day: to leave for good, to be offline, to lose a message; and whether this producer lies."""

    leaves: float = 0.0
    offline: float = 0.0
    loses: float = 0.0
    lies: bool = False


class ProducerAgent:
    """One producer: what it values, what it has, and the device that shares it.

    By day and in steps, ``truth`` is the sum of its readings that were reported, and ``moved`` by how much its lies
    changed that sum.
    """

    def __init__(
        self,
        address: str,
        campaign: str,
        folder: Path,
        readings: Sequence[Sequence[tuple[str, str]]],
        wishes: Wishes,
        privacy: Mapping[str, float],
        behaviour: Behaviour,
        lattice: Lattice,
        transport: Transport,
        rng: np.random.Generator,
    ) -> None:
        self.lattice, self.transport = lattice, transport
        self.campaign, self.readings, self.behaviour, self.rng = campaign, readings, behaviour, rng
        self.appeal = {id: wishes.take + wishes.worth * q + float(rng.gumbel()) for id, q in privacy.items()}
        self.stays_out = float(rng.gumbel())
        self.money = wishes.money
        self.address, self.folder = address, folder
        self.setting, self.joined, self.gone = STAY_OUT, STAY_OUT, False
        self.truth: dict[int, int] = {}
        self.moved: dict[int, int] = {}
        self.kept_back: dict[int, list[tuple[str, int]]] = {}
        self.lies: dict[tuple[str, int], str] = {}
        self.last = 0
        self._sharer: Sharer | None = None

    @property
    def sharer(self) -> Sharer:
        if self._sharer is None:
            self._sharer = Sharer(self.folder, self._service)
            self._sharer.state.fleeting()
        return self._sharer

    def _service(self, address: str) -> ServiceClient:
        """Tried again at once, or when the service says; so often that losing messages does not end a simulation."""
        loses = self.behaviour.loses
        tries = max(TRIES, math.ceil(math.log(NEVER) / math.log(loses)) if loses else 0)
        return ServiceClient(address, unreliable(self.transport, loses, self.rng), tries, pause=0.0)

    def ballot(self, rewards: Mapping[str, float]) -> list[str]:
        """The settings it would rather have than stay out, best first."""
        value = {id: appeal + self.money * rewards.get(id, 0.0) for id, appeal in self.appeal.items()}
        return [id for id in sorted(value, key=lambda each: -value[each]) if value[id] > self.stays_out]

    def decide(self, rewards: Mapping[str, float]) -> None:
        """Join or change as the day's rewards make it, share nothing that day, or leave for good.

        One whom the day's rewards do not move stays a member, and what it sent before stays. Were it to leave, the
        service would take back its reports of the day before, which is still open, and the consumer would count it as
        one who had not taken part at that day's rewards either.
        """
        if not self.gone and self.rng.random() < self.behaviour.leaves:
            self.gone = True
            self._leave()
        self.setting = STAY_OUT if self.gone else next(iter(self.ballot(rewards)), STAY_OUT)
        if self.setting in (STAY_OUT, self.joined):
            return
        if self.joined == STAY_OUT:
            self.sharer.join(self.address, self.campaign, self.setting)
        else:
            self.sharer.change(self.campaign, self.setting)
        self.joined = self.setting

    def _leave(self) -> None:
        if self.joined == STAY_OUT:
            return
        self.sharer.send()  # nothing that it promised is kept back
        self.sharer.leave(self.campaign)  # which takes back what it sent for the last day, still open
        self.kept_back.clear()
        self.lies = {(name, day): under for (name, day), under in self.lies.items() if day != self.last}

    def share(self, day: int) -> None:
        """Mask and queue the day's readings if it takes part, and send all that is queued unless offline."""
        self.last = day
        if self.setting != STAY_OUT:
            readings = self.readings[day]
            if self.behaviour.lies:
                self._lie(day, readings)
                return
            self.kept_back[day] = self._in_steps(readings)
            self.sharer.put(readings)
        if self.kept_back and self.rng.random() >= self.behaviour.offline:
            self.catch_up()

    def catch_up(self) -> None:
        """Send what is queued. A reading counts once its report is taken, and never where it is refused, as too late;
        while there is no receipt it is kept back, for the next time."""
        if not self.kept_back:
            return
        sent = self.sharer.send()
        whole = not sent.waiting and sent.outcomes.keys() <= TAKEN
        fates = {} if whole else self._fates()
        for day, readings in self.kept_back.items():
            taken = [steps for time, steps in readings if whole or fates.get(time) in TAKEN]
            self.truth[day] = self.truth.get(day, 0) + sum(taken)
        waiting = {} if whole else {time for time, fate in fates.items() if fate is None}
        kept = {day: [each for each in own if each[0] in waiting] for day, own in self.kept_back.items()}
        self.kept_back = {day: own for day, own in kept.items() if own}

    def _in_steps(self, readings: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
        return [(time, self.lattice.steps(value, "a reading") or 0) for time, value in readings]

    def _fates(self) -> dict[str, str | None]:
        """What became of each time's report, as the device remembers it; None without a receipt."""
        with self.sharer.state.memory() as memory:
            return dict(memory.execute("SELECT time, outcome FROM queue WHERE campaign = ?", (self.campaign,)))

    def _lie(self, day: int, readings: Sequence[tuple[str, str]]) -> None:
        """Claim the setting and send one number all day, which no noise would give."""
        member = self.sharer.member(self.campaign)
        reports = [{"time": time, "steps": LIE, "setting": self.setting} for time, _ in readings]
        answer = self._service(self.address).ask("POST", "/v1/reports", member.token, {"reports": reports})
        results = zip(self._in_steps(readings), answer["results"], strict=True)
        taken = [steps for (_, steps), each in results if each["status"] in TAKEN]
        self.truth[day] = sum(taken)
        self.moved[day] = LIE * len(taken) - sum(taken)
        if taken:
            self.lies[member.producer, day] = self.setting


def unreliable(transport: Transport, chance: float, rng: np.random.Generator) -> Transport:
    """A network that loses a share of messages: half on their way there, half on their way back."""

    def carry(method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        fate = rng.random() if chance else 1.0
        if fate < chance / 2 and method == "POST" and address.endswith("/v1/reports"):
            raise ConnectionResetError("lost on its way there")
        answer = transport(method, address, headers, body)
        if fate < chance and method == "POST" and address.endswith("/v1/reports"):
            raise ConnectionResetError("lost on its way back")
        return answer

    return carry
