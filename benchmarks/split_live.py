"""What a promise about a whole day costs: split totals beside plain levels, each from a live run against real services.

A level is shared by all producers: synthetic homes with the real client, against one service in a process of its own,
and for split totals against two. ``HALFMASK_BENCH_PRODUCERS`` and ``HALFMASK_BENCH_DAYS`` make the runs smaller. Plain
totals run for a third of the days, and half-hours, which make 48 times as many reports, for a tenth. Nothing is
asserted.
"""

import json
import math
import os
import tempfile
import time
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

import halfmask
from halfmask.commands.simulate import Simulate, panel
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score, noise_std, none_setting
from halfmask.rewards.choice_model import ChoiceModel
from halfmask.simulation.simulated_producers import FIRST_DAY, Behaviour, World
from halfmask.simulation.simulated_service import hosted
from halfmask.simulation.simulation import simulate
from halfmask.simulation.simulation_result import SimulationResult
from halfmask_device.epsilon_bound import composed_epsilon
from halfmask_device.lattice import Lattice
from halfmask_device.protocol import read_instant
from halfmask_device.setting import READING, SPLIT, DeviceSetting, law_of
from halfmask_device.split_services import cut_total
from halfmask_device.split_terms import SplitTerms

PRODUCERS = int(os.environ.get("HALFMASK_BENCH_PRODUCERS", "1000"))
DAYS = int(os.environ.get("HALFMASK_BENCH_DAYS", "30"))
HIGH, HALF_HOURS, STEP, DELTA = 100, 48, "0.001", 1e-6
ALL_JOIN = ChoiceModel(take=50.0, worth=100.0, money=1.0, spread=0.0)
"""Producers who take the level with the most privacy, whatever it is."""
BEHAVIOUR = Behaviour(leaves=0.002, offline=0.05, loses=0.02)


class Level(NamedTuple):
    """A row of the table: its name, its setting, and the days that it runs."""

    name: str
    setting: str
    days: int


def levels() -> list[Level]:
    """Return a split level, the same promise by own totals, and the same error by own totals and by half-hours."""
    same = HIGH * math.sqrt(2 / PRODUCERS)  # two draws of the split level's noise, shared among all
    return [
        Level("split between two services", f"laplace:{HIGH}@split", DAYS),
        Level("own total, same promise", f"laplace:{HIGH}@total", max(3, DAYS // 3)),
        Level("own total, same error", f"laplace:{same:.3g}@total", max(3, DAYS // 3)),
        Level("every half-hour, same error", f"laplace:{same / math.sqrt(HALF_HOURS):.3g}", max(3, DAYS // 10)),
    ]


def only(level: Level, offer: Menu) -> Menu:
    """Return a menu of this level and of the open one, which nobody takes."""
    setting, score = PrivacySetting.parse(level.setting), Score(0.5, 0.5)
    release = READING if setting.release == READING else "total"
    own = MenuSetting("A", setting, (0.0, 1.0), score, score, 0.0, noise_std(setting, float(STEP)))
    return replace(offer, settings=(own, none_setting(release)), question=None)


def shared(level: Level, offer: Menu, folder: Path) -> SimulationResult:
    """Let all producers share by a level."""
    asked = Simulate(producers=PRODUCERS, days=level.days, seed=1)
    folder.mkdir()
    _, readings = panel(folder, asked, FIRST_DAY)
    lattice = Lattice(STEP, "0", str(HIGH))
    world = World(only(level, offer), readings, ALL_JOIN, BEHAVIOUR, 0.0, 0, 6, lattice, "kWh", 1)
    before = read_instant("1971-01-03T00:00:00Z")
    with hosted(folder, before, split=level.setting.endswith(f"@{SPLIT}")) as host:
        return simulate(world, host, folder)


def epsilons(setting: str) -> tuple[float, float]:
    """Return epsilon for any change of a day's total by up to `HIGH`, and for such changes of 30 days at `DELTA`.

    Of half-hours it is pure epsilon: the changes of a day's readings add up to the change of its total.
    """
    plain = DeviceSetting.parse(setting)
    a_day = HIGH / plain.parameters[0]
    if plain.release == READING:
        return a_day, 30 * a_day
    return a_day, composed_epsilon({(setting, STEP, str(HIGH)): 30}, DELTA)


def of_one_report(setting: str) -> tuple[int, float]:
    """Return the bytes of a report, both shares of a split one, and the milliseconds of making it."""
    plain, time_of = DeviceSetting.parse(setting), "1971-01-04T00:00:00Z"
    if plain.release != SPLIT:
        noise = law_of(setting, STEP)
        noise.prepare()
        from halfmask_device.random_bits import Bits

        item: dict[str, object] = {"time": time_of, "steps": 30_000 + noise.draw(Bits.fresh()), "setting": "A"}
        return len(json.dumps(item, separators=(",", ":"))), _milliseconds(lambda: noise.draw(Bits.fresh()))
    lattice = {"step": STEP, "low": "0.000", "high": f"{HIGH}.000"}
    terms = SplitTerms("https://a", "c", "https://b", lattice, "day", "UTC", "", "", 60, 20, setting, "0" * 64)
    nonce, leader, helper = cut_total(terms, 30_000)
    shares = [b64encode(each).decode() for each in (leader, helper)]
    items = [
        {"time": time_of, "setting": "A", "report": nonce.hex(), "share": shares[0]},
        {"time": time_of, "report": nonce.hex(), "share": shares[1]},
    ]
    size = sum(len(json.dumps(each, separators=(",", ":"))) for each in items)
    return size, _milliseconds(lambda: cut_total(terms, 30_000))


def _milliseconds(work: object, count: int = 200) -> float:
    began = time.process_time()
    for _ in range(count):
        work()  # type: ignore[operator]
    return 1000 * (time.process_time() - began) / count


def run() -> None:
    """Run each level, and print the table."""
    print(
        f"split_live: {PRODUCERS:,} homes, totals up to {HIGH} kWh; epsilon: any change of a day's total by up "
        f"to that at delta 0, and of 30 such days at delta {DELTA:g}"
    )
    print(
        f"  {'level':28} {'setting':18} {'days':>4} {'mean error':>10} {'epsilon, day':>12} {'30 days':>8} {'held':>6} "
        f"{'bytes':>6} {'ms':>6}"
    )
    with tempfile.TemporaryDirectory(prefix="halfmask-bench-") as folder:
        at = Path(folder)
        halfmask.synth(output=at / "panel.parquet", users=100, days=14, seed=1)
        profile = halfmask.profile(at / "panel.parquet", unit="kWh")
        offer = halfmask.offer(profile, epsilon="1", low=0, high=HIGH, private=0).menu
        for number, level in enumerate(levels()):
            result = shared(level, offer, at / str(number))
            error = float(np.mean([row.error for row in result.rows if row.error is not None]))
            held, published = result.held
            a_day, a_month = epsilons(level.setting)
            size, milliseconds = of_one_report(level.setting)
            print(
                f"  {level.name:28} {level.setting:18} {level.days:4} {error:10.2%} {a_day:12.3g} {a_month:8,.3g} "
                f"{f'{held}/{published}':>6} {size:6} {milliseconds:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    run()
