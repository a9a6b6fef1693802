"""The simulated population: producers as agents, each with its readings, its wishes and its behaviour.

A producer uses the real client of `halfmask_device`: it masks in its own state folder, queues, sends and retries.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from halfmask.menus.menu import Menu
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.streams import stream
from halfmask_device.consent import Consent
from halfmask_device.http_client import Answer, ServiceClient, Transport
from halfmask_device.instants import DAY, MINUTE, instant_text
from halfmask_device.lattice import Lattice
from halfmask_device.protocol import read_instant
from halfmask_device.setting import SPLIT, TOTAL
from halfmask_device.sharing import Sharer

STAY_OUT = ""
FIRST_DAY = date(1971, 1, 4)
"""The simulation's first day, a Monday. It is early because a device derives its keys day by day from 1970."""
TAKEN = frozenset(("accepted", "known"))
FREE = Consent(budget=math.inf, least_producers=1)
"""The consent of simulated producers: what moves them is in the model, and a budget or a floor is not part of it."""
LIE = 500
"""The steps that a liar reports instead of a masked reading."""
TRIES, NEVER = 12, 1e-15
"""Fewest tries of a request, and the largest chance allowed that a lossy network fails all of them."""


@dataclass(frozen=True)
class Behaviour:
    """The chances that a producer leaves for good on a day, is offline on a day, or loses a message."""

    leaves: float = 0.0
    offline: float = 0.0
    loses: float = 0.0


@dataclass(frozen=True)
class World:
    """The inputs of a simulation: the menu, the producers' readings, and how producers behave.

    ``readings``  of each producer, by day
    ``liars``     share of producers who lie
    """

    menu: Menu
    readings: Sequence[Sequence[Sequence[tuple[str, str]]]]
    model: ChoiceModel
    behaviour: Behaviour
    liars: float
    budget: int
    most_reward: int
    lattice: Lattice
    unit: str
    seed: int
    first_day: date = FIRST_DAY


@dataclass(frozen=True)
class Makings:
    """The inputs from which producers are made.

    ``readings``  the readings of each producer, by day
    ``liars``     the share of producers who lie
    ``first``     the number of the producer whose readings come first
    """

    world: World
    address: str
    campaign: str
    folder: Path
    first: int = 0

    def dealt(self, hands: int) -> list["Makings"]:
        """Return the inputs divided into ``hands`` parts, with different producers in each."""
        readings = self.world.readings
        cuts = [len(readings) * hand // hands for hand in range(hands + 1)]
        parts = [(replace(self.world, readings=readings[a:b]), self.first + a) for a, b in pairwise(cuts)]
        return [replace(self, world=world, first=first) for world, first in parts]


class SimulatedDevice(Sharer):
    """A device that keeps its keys: erasing them writes to the disk, and what it protects is not part of the model."""

    def erase_keys(self) -> None:
        return None


class SimulatedProducer:
    """One producer, by its number: its wishes, its readings, and the device that shares them.

    ``truth``  the sum of its reported readings, by day, in steps of the lattice
    ``split``  the part of that sum which was split between two services
    ``moved``  the change of that sum by its lies, by day, in steps of the lattice
    """

    def __init__(self, makings: Makings, n: int, transport: Transport) -> None:
        world = makings.world
        model, self.rng = world.model, stream(world.seed, "simulation.producer", n)
        worth = model.worth + model.spread * float(self.rng.standard_normal())
        self.liar = bool(self.rng.random() < world.liars)
        privacy = {each.id: each.privacy.median for each in world.menu.settings}
        self.appeal = {id: model.take + worth * q + float(self.rng.gumbel()) for id, q in privacy.items()}
        self.stays_out = float(self.rng.gumbel())
        self.money = model.money
        self.address, self.campaign, self.transport = makings.address, makings.campaign, transport
        self.folder = makings.folder / f"device-{n}"
        self.lattice, self.behaviour = world.lattice, world.behaviour
        self.readings = world.readings[n - makings.first]
        self.setting, self.joined, self.gone = STAY_OUT, STAY_OUT, False
        self.truth: dict[int, int] = {}
        self.split: dict[int, int] = {}
        self.moved: dict[int, int] = {}
        self.kept_back: dict[int, list[tuple[str, int]]] = {}
        self.lies: dict[tuple[str, int], str] = {}
        self.last = 0
        self.split_ids = {each.id for each in world.menu.settings if each.setting.release == SPLIT}
        self.totals, self.start = world.menu.release == TOTAL, read_instant(f"{world.first_day.isoformat()}T00:00:00Z")

    @cached_property
    def sharer(self) -> Sharer:
        sharer = SimulatedDevice(self.folder, self._service, clock=lambda: self.now / 1e6)
        sharer.state.fleeting()
        return sharer

    @property
    def now(self) -> int:
        """Return the instant of the device's clock: soon after the end of the last day that it shared."""
        return self.start + (self.last + 1) * DAY + MINUTE

    def _service(self, address: str) -> ServiceClient:
        """Return a client that retries at once, or when the service says.

        It retries so often that lost messages do not end a simulation.
        """
        loses = self.behaviour.loses
        tries = max(TRIES, math.ceil(math.log(NEVER) / math.log(loses)) if loses else 0)
        return ServiceClient(address, unreliable(self.transport, loses, self.rng), tries, pause=0.0)

    def ballot(self, rewards: Mapping[str, float]) -> list[str]:
        """Return the settings that it prefers to not taking part, the best first."""
        value = {id: appeal + self.money * rewards.get(id, 0.0) for id, appeal in self.appeal.items()}
        return [id for id in sorted(value, key=lambda each: -value[each]) if value[id] > self.stays_out]

    def decide(self, rewards: Mapping[str, float]) -> None:
        """Decide by the day's rewards: join, change the setting, or share nothing today; or leave for good.

        A producer that the day's rewards do not attract stays a member, and its earlier reports stay. If it left, the
        service would withdraw its reports of the day before, which is still open. Then the consumer would also count it
        as not taking part at the rewards of that earlier day.
        """
        if not self.gone and self.rng.random() < self.behaviour.leaves:
            self.gone = True
            self._leave()
        self.setting = STAY_OUT if self.gone else next(iter(self.ballot(rewards)), STAY_OUT)
        if self.setting in (STAY_OUT, self.joined):
            return
        if self.joined == STAY_OUT:
            self.sharer.join(self.address, self.campaign, self.setting, consent=FREE)
        else:
            self.sharer.change(self.campaign, self.setting, budget=FREE.budget)
        self.joined = self.setting

    def _leave(self) -> None:
        if self.joined == STAY_OUT:
            return
        self.sharer.send()  # what is queued is not kept back
        self.sharer.leave(self.campaign)  # withdraws its reports of the last day, which is still open
        self.kept_back.clear()
        self.lies = {(name, day): under for (name, day), under in self.lies.items() if day != self.last}

    def share(self, day: int) -> None:
        """Mask and queue the day's readings if the producer takes part. Send the whole queue unless it is offline."""
        self.last = day
        if self.setting != STAY_OUT:
            readings = self.readings[day]
            if self.liar:
                self._lie(day, readings)
                return
            self.kept_back[day] = self._in_steps(day, readings)
            self.sharer.put(readings)
        if self.kept_back and self.rng.random() >= self.behaviour.offline:
            self.catch_up()

    def catch_up(self) -> None:
        """Send the queue, and add the accepted readings to the truth.

        A reading counts once its report is accepted, and never if the report is refused as too late. If the device has
        no receipt yet, or has not masked the day's total, the reading is kept for the next call.
        """
        if not self.kept_back:
            return
        sent = self.sharer.send()
        whole = not sent.waiting and sent.outcomes.keys() <= TAKEN and not self.totals
        fates, split = ({}, set[str]()) if whole else self._fates()
        for day, readings in self.kept_back.items():
            taken = [(time, steps) for time, steps in readings if whole or fates.get(time) in TAKEN]
            self.truth[day] = self.truth.get(day, 0) + sum(steps for _, steps in taken)
            self.split[day] = self.split.get(day, 0) + sum(steps for time, steps in taken if time in split)
        unmasked = None if self.totals else "unknown"
        kept = {
            day: [each for each in own if not whole and fates.get(each[0], unmasked) is None]
            for day, own in self.kept_back.items()
        }
        self.kept_back = {day: own for day, own in kept.items() if own}

    def _in_steps(self, day: int, readings: Sequence[tuple[str, str]]) -> list[tuple[str, int]]:
        """Return what is reported of a day, unmasked: each reading, or the day's total at its first instant."""
        if self.totals:
            total = self.lattice.nearest(sum((Fraction(value) for _, value in readings), Fraction(0)))
            return [(instant_text(self.start + day * DAY), total)] if readings else []
        return [(time, self.lattice.steps(value, "a reading") or 0) for time, value in readings]

    def _fates(self) -> tuple[dict[str, str | None], set[str]]:
        """Return the outcome of the report for each time, None without a receipt; and the times of split ones."""
        with self.sharer.state.memory() as memory:
            query = "SELECT time, outcome, setting FROM queue WHERE campaign = ?"
            rows = memory.execute(query, (self.campaign,)).fetchall()
        return {time: outcome for time, outcome, _ in rows}, {time for time, _, id in rows if id in self.split_ids}

    def _lie(self, day: int, readings: Sequence[tuple[str, str]]) -> None:
        """Claim the setting, but send one constant number all day, which noise would never give."""
        member = self.sharer.member(self.campaign)
        true = self._in_steps(day, readings)
        reports = [{"time": time, "steps": LIE, "setting": self.setting} for time, _ in true]
        answer = self._service(self.address).ask("POST", "/v1/reports", member.token, {"reports": reports})
        results = zip(true, answer["results"], strict=True)
        taken = [steps for (_, steps), each in results if each["status"] in TAKEN]
        self.truth[day] = sum(taken)
        self.moved[day] = LIE * len(taken) - sum(taken)
        if taken:
            self.lies[member.producer, day] = self.setting


def unreliable(transport: Transport, chance: float, rng: np.random.Generator) -> Transport:
    """Return a transport that loses a share of reports: half of these before, half after they reach the service."""

    def carry(method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
        fate = rng.random() if chance else 1.0
        report = method == "POST" and address.endswith(("/v1/reports", "/shares"))
        if fate < chance / 2 and report:
            raise ConnectionResetError("lost on its way there")
        answer = transport(method, address, headers, body)
        if fate < chance and report:
            raise ConnectionResetError("lost on its way back")
        return answer

    return carry
