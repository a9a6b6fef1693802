"""The agents: producers with readings and wishes of their own, and a consumer who learns what to pay.

A producer's client is the real one of `halfmask_device`: it masks on its own state folder, queues, sends and retries.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import HalfmaskError, OptionError
from halfmask.rewards.design import designed
from halfmask.rewards.fit import fit, grouped
from halfmask.rewards.model import ChoiceModel
from halfmask.rewards.search import Problem, best
from halfmask.rewards.totals import AskedPanel
from halfmask_device.lattice import Lattice
from halfmask_device.sharing import Sharer
from halfmask_device.transport import Answer, ServiceClient, Transport

STAY_OUT = ""
LIE = 500
"""The steps that a liar reports instead of a masked reading."""


@dataclass
class Behaviour:
    """Chances per day: to leave for good, to be offline, to lose a message; and whether this producer lies."""

    leaves: float = 0.0
    offline: float = 0.0
    loses: float = 0.0
    lies: bool = False


class ProducerAgent:
    """One producer: what it values, what it has, and the device that shares it."""

    def __init__(
        self,
        address: str,
        campaign: str,
        folder: Path,
        readings: Sequence[Sequence[tuple[str, str]]],
        worth: float,
        model: ChoiceModel,
        privacy: Mapping[str, float],
        behaviour: Behaviour,
        lattice: Lattice,
        transport: Transport,
        rng: np.random.Generator,
    ) -> None:
        self.lattice, self.transport = lattice, transport
        self.campaign, self.readings, self.behaviour, self.rng = campaign, readings, behaviour, rng
        self.appeal = {id: model.take + worth * q + float(rng.gumbel()) for id, q in privacy.items()}
        self.stays_out = float(rng.gumbel())
        self.money, self.privacy = model.money, privacy
        self.address, self.folder = address, folder
        self.setting, self.gone, self.sent = STAY_OUT, False, 0
        self.truth: dict[int, int] = {}
        self.lied_as: set[str] = set()
        self._sharer: Sharer | None = None

    @property
    def sharer(self) -> Sharer:
        if self._sharer is None:
            self._sharer = Sharer(self.folder, self._service)
            self._sharer.state.fleeting()
        return self._sharer

    def _service(self, address: str) -> ServiceClient:
        return ServiceClient(
            address, unreliable(self.transport, self.behaviour.loses, self.rng), 12, sleep=lambda _: None
        )

    def ballot(self, rewards: Mapping[str, float]) -> list[str]:
        """The settings it would rather have than stay out, best first."""
        value = {id: appeal + self.money * rewards.get(id, 0.0) for id, appeal in self.appeal.items()}
        return [id for id in sorted(value, key=lambda each: -value[each]) if value[id] > self.stays_out]

    def decide(self, rewards: Mapping[str, float]) -> None:
        """Join, change or leave, as the day's rewards make it; whoever leaves for good stays away."""
        if not self.gone and self.rng.random() < self.behaviour.leaves:
            self.gone = True
        wanted = STAY_OUT if self.gone else next(iter(self.ballot(rewards)), STAY_OUT)
        if wanted == self.setting:
            return
        if self.setting == STAY_OUT:
            self.sharer.join(self.address, self.campaign, wanted)
        elif wanted == STAY_OUT:
            self.sharer.send()  # nothing that it promised is kept back
            self.sharer.leave(self.campaign)
        else:
            self.sharer.change(self.campaign, wanted)
        self.setting = wanted

    def share(self, day: int) -> None:
        """Mask and queue the day's readings, and send all that is queued unless offline."""
        if self.setting == STAY_OUT:
            return
        readings = self.readings[day]
        if self.behaviour.lies:
            self._lie(day, readings)
            return
        self.truth[day] = sum(self.lattice.steps(value, "a reading") or 0 for _, value in readings)
        self.sharer.put(readings)
        if self.rng.random() >= self.behaviour.offline:
            self.catch_up()

    def catch_up(self) -> None:
        """Send what is queued."""
        if self.setting != STAY_OUT and not self.behaviour.lies:
            sent = self.sharer.send()
            self.sent += sent.outcomes["accepted"] + sent.outcomes["known"]

    def _lie(self, day: int, readings: Sequence[tuple[str, str]]) -> None:
        """Claim the setting and send one number all day, which no noise would give."""
        member = self.sharer.member(self.campaign)
        reports = [{"time": time, "steps": LIE, "setting": self.setting} for time, _ in readings]
        self._service(self.address).ask("POST", "/v1/reports", member.token, {"reports": reports})
        self.truth[day] = LIE * len(readings)
        self.lied_as.add(member.producer)


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


@dataclass
class ConsumerAgent:
    """Pays, looks, learns and pays differently, within its budget."""

    ids: tuple[str, ...]
    privacy: FloatArray
    panel: AskedPanel
    budget: float
    explore: int
    rng: np.random.Generator
    tell: Callable[[str], None]
    paid: list[FloatArray] = field(default_factory=list)
    seen: list[FloatArray] = field(default_factory=list)
    model: ChoiceModel | None = None

    def first(self, most: int) -> list[dict[str, int]]:
        """Rewards of the days from which it learns, drawn at random."""
        drawn = designed(len(self.ids), max(self.explore, 2), 0, most, self.rng)
        return [dict(zip(self.ids, map(int, row), strict=True)) for row in drawn]

    def look(self, rewards: Mapping[str, float], counts: Mapping[str, int]) -> None:
        """Note what a closed period paid and how many took each setting."""
        self.paid.append(np.array([rewards.get(id, 0.0) for id in self.ids]))
        self.seen.append(np.array([counts.get(id, 0) for id in self.ids], float))

    def learn(self) -> ChoiceModel | None:
        """The model that fits all that was seen; None where it cannot be told yet."""
        rows = [(paid, seen) for paid, seen in zip(self.paid, self.seen, strict=True) if seen.sum()]
        if len(rows) < 2:
            return None
        paid, seen = (np.array(each) for each in zip(*rows, strict=True))
        try:
            found = fit(grouped(paid, seen, self.privacy, self.panel.producers))
        except OptionError as error:
            self.tell(f"the consumer learns nothing yet: {error}")
            return None
        self.model = found.model
        return self.model

    def pay(self, left: float, days: int) -> dict[str, int] | None:
        """Whole rewards that are expected to spend what is left evenly over the days left; None: as before."""
        model = self.learn()
        if model is None or days < 1:
            return None
        per_report = max(left, 0.0) / (days * self.panel.producers * self.panel.reports)
        try:
            paid = best(Problem(self.panel, model.population(self.privacy), self.privacy, per_report)).rewards
        except HalfmaskError as error:
            self.tell(f"the consumer keeps its rewards: {error}")
            return None
        return dict(zip(self.ids, (int(each) for each in np.floor(paid)), strict=True))
