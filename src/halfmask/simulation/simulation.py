"""The model of a simulation: a step is a day, in which agents act; a row has what the live service published.

Only the simulation knows the truth about a period: the sum of the readings, in steps of the lattice, whose reports
arrived in time and were not withdrawn. For a liar its true readings count, not what it sent. The same seed repeats
everything except the devices' noise, which only a test may replace.
"""

import asyncio
import math
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from halfmask.evaluation.split_totals import SERVICES
from halfmask.rewards.asked_panel import AskedPanel
from halfmask.simulation.producer_crowd import Ask, crowds
from halfmask.simulation.simulated_consumer import SimulatedConsumer
from halfmask.simulation.simulated_producers import Makings, World
from halfmask.simulation.simulated_service import Connections, Host
from halfmask.simulation.simulation_result import Row, SimulationResult
from halfmask.streams import stream
from halfmask_device.http_client import ServiceClient
from halfmask_device.instants import DAY, MINUTE
from halfmask_device.protocol import read_instant
from halfmask_device.setting import SPLIT, TOTAL

GRACE_DAYS = 3
LEARN_EVERY = 5
POLL = 0.05
"""Seconds between two questions whether the helper has answered."""
ENTRIES = 10_000
"""Entries of the ledger per request."""


class Simulation:
    """Producers and a consumer that use one service. A ``step`` is a day."""

    def __init__(
        self,
        world: World,
        host: Host,
        folder: Path,
        tell: Callable[[str], None],
        watch: Callable[[Row], None],
        processes: int | None = None,
    ) -> None:
        self.world, self.host, self.folder, self.watch, self.processes = world, host, folder, watch, processes
        self.days = min(map(len, world.readings))
        self.start = read_instant(f"{world.first_day.isoformat()}T00:00:00Z")
        self.ids, self.totals = world.menu.ids, world.menu.release == TOTAL
        self.connections = Connections()
        self.service = ServiceClient(host.address, self.connections)
        self.consumer_token, self.campaign = self._open()
        reports = 1.0 if self.totals else float(np.mean([len(day) for user in world.readings for day in user]))
        variance = np.array([(each.noise_std or 0.0) ** 2 for each in world.menu.settings])
        split = np.array([each.setting.release == SPLIT for each in world.menu.settings])
        self.consumer = SimulatedConsumer(
            self.ids,
            np.array([each.privacy.median for each in world.menu.settings]),
            AskedPanel(
                len(world.readings),
                reports,
                self._size(),
                np.where(split, 0.0, variance),
                np.where(split, SERVICES * variance, 0.0),
            ),
            float(world.budget),
            world.most_reward,
            LEARN_EVERY,
            stream(world.seed, "simulation.consumer"),
            tell,
        )
        self.learns = host.moves and world.budget > 0
        fixed = [dict.fromkeys(self.ids, world.most_reward // 2 if world.budget else 0)]
        self.rewards = self.consumer.first() if self.learns else fixed
        self.rows: list[Row] = []
        self.spent: list[int] = []
        self.crowds: list[Ask] = []

    def _size(self) -> float:
        """Return the mean |s| of readings, or of days, over some producers.

        A real consumer would take it from a profile.
        """
        drawn = self.world.readings[:: max(1, len(self.world.readings) // 50)]
        if self.totals:
            return float(np.mean([abs(sum(float(v) for _, v in day)) for user in drawn for day in user if day]))
        return float(np.mean([abs(float(v)) for user in drawn for day in user for _, v in day]))

    def _every(self) -> int | None:
        """Return the longest interval, in minutes, that divides an hour and all times of readings.

        None if it is not whole.

        The campaign takes reports only at its multiples, so that a producer cannot be paid for more reports than it has
        readings.
        """
        times = {time for user in self.world.readings for day in user for time, _ in day}
        every = math.gcd(60 * MINUTE, *map(read_instant, times))
        return every // MINUTE if every % MINUTE == 0 else None

    def _open(self) -> tuple[str, str]:
        """Create a consumer and its campaign on the service. Return the consumer's token and the campaign's id."""
        world = self.world
        token = self.service.ask("POST", "/v1/consumers", self.host.operator, {"name": "simulation"})["token"]
        settings = [{"id": each.id, "setting": str(each.setting)} for each in world.menu.settings]
        terms: dict[str, Any] = {
            "name": "simulation",
            "purpose": "to see whether what was worked out holds",
            "unit": world.unit,
            "lattice": {"step": world.lattice.step, "low": world.lattice.low, "high": world.lattice.high},
            "period": "day",
            "time_zone": "UTC",
            "begins": f"{world.first_day.isoformat()}T00:00:00Z",
            "ends": f"{(world.first_day + timedelta(days=self.days)).isoformat()}T00:00:00Z",
            "grace_minutes": (GRACE_DAYS + (0 if self.host.moves else self.days)) * 1440,
            "menu": {"settings": settings},
            "rewards": dict.fromkeys(self.ids, world.most_reward // 2 if world.budget else 0),
            "budget": world.budget,
            "least_producers": 20,
            "keep_reports": "always",
            "every_minutes": None if self.totals else self._every(),
        }
        if self.totals:
            counts = [len(day) for user in world.readings for day in user if day]
            terms |= {"release": TOTAL, "readings_expected": round(float(np.median(counts)))}
        if any(each.setting.release == SPLIT for each in world.menu.settings):
            terms["split"] = self._helper()
        campaign = str(self.service.ask("POST", "/v1/campaigns", token, terms)["campaign"])
        while "split" in terms and not self.service.ask("GET", f"/v1/campaigns/{campaign}")["split"]["terms"]:
            time.sleep(POLL)
        return str(token), campaign

    def _helper(self) -> dict[str, Any]:
        """Return the second service of a split campaign, and a consumer's token of it."""
        helper = self.host.helper
        if helper is None:
            raise RuntimeError("a split level needs a host with a helper")
        helping = ServiceClient(helper.address, self.connections)
        token = helping.ask("POST", "/v1/consumers", helper.operator, {"name": "simulation"})["token"]
        return {"helper": helper.address, "token": token, "wait_minutes": 0}

    async def run(self) -> SimulationResult:
        """Run all days and return the result."""
        with crowds(Makings(self.world, self.host.address, self.campaign, self.folder), self.processes) as self.crowds:
            for day in range(self.days):
                await self.step(day)
            self.host.set_clock(self.start + (self.days + 1) * DAY)
            await self._each("act", "catch_up")
            self.spent[-1] = self._spent()
            for day in range(len(self.rows), self.days):
                await self._close(day)
            if self.learns:
                self.consumer.learn()  # from the last days too
            ballots = await self._each("ballots", self._paid(self.days - 1))
            lied = await self._each("lied")
        self.connections.close()
        return SimulationResult(
            tuple(self.rows),
            tuple(ballot for part in ballots for ballot in part),
            self.consumer.model,
            {name: under for part in lied for name, under in part.items()},
            self.campaign,
            self.host.db,
        )

    async def step(self, day: int) -> None:
        """Run a day: announce rewards, let producers choose and share, and close the day before."""
        self.host.set_clock(self.start + day * DAY - MINUTE)
        self._announce(day)
        self.host.set_clock(self.start + day * DAY + MINUTE)
        await self._each("act", "decide", self._paid(day))
        self.host.set_clock(self.start + (day + 1) * DAY + MINUTE)
        await self._each("act", "share", day)
        self.spent.append(self._spent())
        if day:
            await self._close(day - 1)

    async def _each(self, name: str, *said: Any) -> list[Any]:
        """Return the results of one call to all crowds."""
        return await asyncio.gather(*(ask(name, *said) for ask in self.crowds))

    def _paid(self, day: int) -> dict[str, int]:
        return self.rewards[min(day, len(self.rewards) - 1)]

    def _announce(self, day: int) -> None:
        """Set the rewards of a day that has not begun.

        If the service has a real clock, all days have begun, so the rewards do not change.
        """
        if not self.learns:
            return
        if day >= len(self.rewards):
            adapted = None
            if day % LEARN_EVERY == 0:
                adapted = self.consumer.pay(self.consumer.budget - self.spent[-1], self.days - day)
            self.rewards.append(adapted if adapted is not None else self.rewards[-1])
        body = {"rewards": self._paid(day), "from": self._key(day)}
        self.service.ask("PUT", f"/v1/campaigns/{self.campaign}/rewards", self.consumer_token, body)

    def _key(self, day: int) -> str:
        return (self.world.first_day + timedelta(days=day)).isoformat()

    def _spent(self) -> int:
        spent, after = 0, ""
        while after is not None:
            path = f"/v1/campaigns/{self.campaign}/ledger?limit={ENTRIES}&after={after}"
            ledger = self.service.ask("GET", path, self.consumer_token)
            spent += sum(int(entry["amount"]) for entry in ledger["entries"])
            after = ledger["next"]
        return spent + int(ledger["expected"])

    async def _close(self, day: int) -> None:
        """Close a period, and record what was published with the truth."""
        path = f"/v1/campaigns/{self.campaign}/periods/{self._key(day)}/close"
        while (period := self.service.ask("POST", path, self.consumer_token)).get("state") != "closed":
            await asyncio.sleep(POLL)  # its helper's sum is not there yet
        counts = {id: int(each["producers"]) for id, each in (period["settings"] or {}).items()}
        paid = self._paid(day)
        self.consumer.observe(paid, counts)
        taken = np.array([counts.get(id, 0) for id in self.ids], float)
        total, privacy = period["sum"], self.consumer.privacy
        told, unit = await self._each("truth", day), self.world.lattice.unit
        truth, split, moved = (float(sum(each) * unit) for each in zip(*told, strict=True))
        left_out = period.get("left_out") or ()
        truth = (0.0 if "plain" in left_out else truth - split) + (0.0 if "split" in left_out else split)
        self.rows.append(
            Row(
                day,
                paid,
                counts,
                int(period["reports"] or 0),
                self.spent[day],
                truth,
                None if total is None else float(total["estimate"]),
                None if total is None else float(total["low"]),
                None if total is None else float(total["high"]),
                float(taken @ privacy / taken.sum()) if taken.sum() else None,
                moved,
            )
        )
        self.watch(self.rows[-1])


def simulate(
    world: World,
    host: Host,
    folder: Path,
    *,
    tell: Callable[[str], None] = lambda _: None,
    watch: Callable[[Row], None] = lambda _: None,
) -> SimulationResult:
    """Run a whole simulation and return its result.

    ``tell``   callback for messages of the consumer
    ``watch``  callback, called with the row of each day when it is closed
    """
    return asyncio.run(Simulation(world, host, folder, tell, watch).run())
