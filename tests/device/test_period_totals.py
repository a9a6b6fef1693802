"""Totals on the device: its own readings added up, clipped, masked once, and sent once the period has ended."""

import math
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halfmask
from halfmask_device import Producer, period_totals, read_ledger
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.consent import Consent
from halfmask_device.epsilon_bound import composed_epsilon
from halfmask_device.errors import ReadingError
from halfmask_device.instants import HOUR, MINUTE, instant_text
from halfmask_device.lattice import Lattice, exact_reading
from halfmask_device.masking import Channel
from halfmask_device.period_totals import total_time
from halfmask_device.privacy_budget import Budget, write_budgets
from halfmask_device.report_history import ReportHistory
from halfmask_device.setting import law_of
from halfmask_device.sharing import Sharer
from tests.device.test_sharing import FREE, Wire, counts, queue
from tests.refusals import refused
from tests.service.test_totals import TOTALS
from tests.service.world import World, instant, running, sqlite_url
from tests.statistics import mean_within

DAY = "2026-11-15"
BEGINS, ENDS = instant("2026-11-15T00:00:00Z"), instant("2026-11-16T00:00:00Z")
SECRET_READING = "7.77123"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path)) as world:
        world.clock.set("2026-11-15T00:00:00Z")
        yield world


def device(folder: Path, wire: Wire) -> Sharer:
    """A device whose clock is that of the service."""
    return Sharer(folder, wire.service, clock=lambda: wire.world.clock.now / 1e6)


def joined(folder: Path, world: World, setting: str = "N", **changed: Any) -> tuple[Sharer, str, str]:
    consumer = world.consumer()
    campaign = world.campaign(consumer, **TOTALS | {"least_producers": 1} | changed)
    sharer = device(folder, Wire(world))
    sharer.join("http://service", campaign, setting, consent=FREE)
    return sharer, campaign, consumer


def half_hours(first: int = 0, last: int = 48, value: str = "0.31") -> list[tuple[str, str]]:
    return [(instant_text(BEGINS + n * 30 * MINUTE), value) for n in range(first, last)]


def sum_of(world: World, campaign: str, consumer: str, key: str = DAY) -> Any:
    world.clock.now += 3 * 3600 * 1_000_000
    return world.periods(campaign, consumer)[key]["sum"]


def stored(sharer: Sharer) -> bytes:
    sharer.state.close()
    return b"".join(path.read_bytes() for path in sharer.state.folder.iterdir() if path.is_file())


def test_a_day_is_added_up_exactly_and_sent_once_it_has_ended(world: World, tmp_path: Path) -> None:
    sharer, campaign, consumer = joined(tmp_path / "state", world)
    for n, reading in enumerate(half_hours()):
        world.clock.now = BEGINS + (n + 1) * 30 * MINUTE - 1
        assert sharer.put([reading]).gathered == 1
        assert sharer.send().outcomes == {}
    assert queue(sharer) == []
    world.clock.now = ENDS
    assert sharer.totals_due()
    assert sharer.send().outcomes == {"accepted": 1}
    assert not sharer.totals_due()
    assert queue(sharer) == [("2026-11-15T00:00:00Z", "149", "N")]  # 48 x 0.31 = 14.88
    assert sharer.send().outcomes == {}
    assert sum_of(world, campaign, consumer)["estimate"] == 14.9


def test_the_service_counts_by_its_own_clock(world: World, tmp_path: Path) -> None:
    sharer, campaign, _ = joined(tmp_path / "state", world)
    sharer.put(half_hours())
    sharer._clock = lambda: ENDS / 1e6  # fast
    assert sharer.send().outcomes == {"future": 1}
    assert counts(sharer, campaign) == {"waiting": (1, 0)}
    world.clock.now = ENDS
    assert sharer.send().outcomes == {"accepted": 1}


def test_readings_are_added_before_they_are_rounded_and_the_sum_is_clipped(world: World, tmp_path: Path) -> None:
    low = {"lattice": {"step": "0.1", "low": "0", "high": "1"}, "period": "hour", "readings_expected": 3}
    sharer, _, _ = joined(tmp_path / "state", world, **low)
    hours = [["0.04", 0.04, Decimal("0.04")], ["0.5", "0.25", "9e99"], ["-3", "1", "0.02"], ["0.1", "0.2", "-0.25"]]
    readings = [
        (instant_text(BEGINS + h * HOUR + n * 20 * MINUTE), value)
        for h, hour in enumerate(hours)
        for n, value in enumerate(hour)
    ]
    sharer.put(readings)
    world.clock.now = BEGINS + 4 * HOUR
    notes = sharer.send().notes
    assert [steps for _, steps, _ in queue(sharer)] == ["1", "10", "0", "1"]
    assert sum("range" in note for note in notes) == 1


def test_one_total_one_draw_whatever_is_repeated(world: World, tmp_path: Path) -> None:
    """The report has the noise of one draw, and the same readings have the same report on a restored device."""
    sharer, campaign, _ = joined(tmp_path / "state", world, "A")
    sharer.put(half_hours())
    world.clock.now = ENDS
    sharer.send()
    ((time, steps, setting),) = queue(sharer)
    assert (time, setting) == ("2026-11-15T00:00:00Z", "A")
    lattice = Lattice("0.1", "0", "40")
    channel = Channel.of("laplace:2.5@total", lattice)
    span = Calendar("day", "Europe/Dublin").span_of(BEGINS)
    day = BEGINS // (24 * HOUR)
    key = sharer.state.keys.of(day)
    drawn = channel.drawn([("", total_time(span), day, key, 149)])
    assert int(steps) == 149 + drawn.noises[0]
    with sharer.state.memory() as memory:
        assert list(memory.execute("SELECT day, law, reports FROM counts")) == [(day, channel.name, 1)]
        memory.execute("DELETE FROM queue")
        memory.execute("DELETE FROM gathered")
        memory.execute("DELETE FROM seen")
    sharer.put(half_hours())
    sharer.send()
    assert queue(sharer) == [(time, steps, setting)]
    assert counts(sharer, campaign)["known"][0] == 1


def test_a_total_and_a_reading_of_one_value_draw_apart(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", world, "A")
    lattice, key = Lattice("0.1", "0", "40"), sharer.state.keys.of(20_000)
    span = Calendar("day", "UTC").span_of(20_000 * 24 * HOUR)
    month = Calendar("month", "UTC").span_of(span.begins)
    same = [("", each, 20_000, key, 149) for each in (total_time(span), total_time(month), "2024-10-04T00:00:00")]
    found = [tuple(Channel.of(setting, lattice).drawn(same).tags) for setting in ("laplace:2.5", "laplace:2.5@total")]
    assert len({tag for tags in found for tag in tags}) == 6


def test_too_few_readings_send_nothing_unless_the_owner_allows_it(world: World, tmp_path: Path) -> None:
    sharer, campaign, consumer = joined(tmp_path / "state", world)
    sharer.put(half_hours(5))  # 43 of 48 are 89.6 %
    world.clock.now = ENDS
    sent = sharer.send()
    assert sent.outcomes == {}
    assert len(sent.notes) == 1
    assert "43 of 48" in sent.notes[0]
    assert [(of, each.readings, each.fixed) for of, each in sharer.gathered()] == [(campaign, 43, False)]
    assert (sharer.totals_due(), sharer.totals_due(partial=True)) == (False, True)
    assert sharer.send(partial=True).outcomes == {"accepted": 1}
    assert sum_of(world, campaign, consumer)["estimate"] == 13.3  # 43 x 0.31
    sharer.put(half_hours(4, 5))


def test_nine_tenths_are_enough(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", world)
    sharer.put(half_hours(4, 47))
    sharer.put(half_hours(47, 48))
    world.clock.now = ENDS
    assert sharer.send().outcomes == {"accepted": 1}  # 44 of 48 are 91.7 %


def test_readings_that_fill_up_in_time_count(world: World, tmp_path: Path) -> None:
    sharer, campaign, consumer = joined(tmp_path / "state", world)
    sharer.put(half_hours(10))
    world.clock.now = ENDS
    assert sharer.send().outcomes == {}
    sharer.put(half_hours(0, 10))
    assert sharer.send().outcomes == {"accepted": 1}
    assert sum_of(world, campaign, consumer)["estimate"] == 14.9


def test_what_stays_partial_is_erased_when_the_service_takes_it_no_more(world: World, tmp_path: Path) -> None:
    sharer, campaign, _ = joined(tmp_path / "state", world)
    sharer.put(half_hours(10, value=SECRET_READING))
    assert SECRET_READING.encode() in stored(sharer)  # an unfinished period is kept
    world.clock.now = ENDS + 60 * MINUTE
    (note,) = sharer.send().notes
    assert "38 of 48" in note
    assert counts(sharer, campaign) == {"partial": (1, 0)}
    assert SECRET_READING.encode() not in stored(sharer)
    assert sharer.put(half_hours(0, 10)).refused == {"late": 10}
    assert sharer.send(partial=True).outcomes == {}


def test_the_last_readings_are_waited_for_until_half_the_grace(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", world)
    sharer.put(half_hours(0, 46))  # enough, but the last hour may still come
    world.clock.now = ENDS
    assert not sharer.totals_due()
    assert sharer.send().outcomes == {}
    world.clock.now = ENDS + 30 * MINUTE
    assert sharer.send().outcomes == {"accepted": 1}


def test_a_later_reading_ends_the_wait(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", world)
    sharer.put(half_hours(0, 46))
    world.clock.now = ENDS
    sharer.put([("2026-11-16T00:00:00Z", "0.1")])
    assert sharer.send().outcomes == {"accepted": 1}


def test_late_readings_change_nothing_and_the_owner_is_told_once(world: World, tmp_path: Path) -> None:
    sharer, campaign, consumer = joined(tmp_path / "state", world)
    sharer.put(half_hours(0, 47)[1:] + half_hours(47))
    world.clock.now = ENDS
    sharer.send()
    before = queue(sharer)
    late = sharer.put([*half_hours(0, 1), ("2026-11-15T00:10:00Z", "3"), *half_hours(1)])
    assert (late.refused, late.gathered, len(late.notes)) == ({"late": 2}, 47, 1)
    again = sharer.put([*half_hours(0, 1), ("2026-11-15T00:10:00Z", "3")])
    assert (again.refused, again.notes) == ({"late": 2}, [])  # told once
    assert sharer.gathered() == []
    assert sharer.send().outcomes == {}
    assert queue(sharer) == before
    assert sum_of(world, campaign, consumer)["estimate"] == 14.6


def test_rows_come_again_and_other_values_are_refused(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", world)
    sharer.put(half_hours())
    again = sharer.put([*half_hours(), ("2026-11-15T00:00:00+00:00", "0.3100"), ("2026-11-15T01:00:00+01:00", "0.31")])
    assert (again.gathered, again.refused) == (50, {})
    assert sharer.put(half_hours(value="0.32")).refused == {"revision": 48}
    assert sharer.put([("2026-11-15T00:00:00Z", "NA"), ("2026-11-01T00:00:00Z", "1")]).refused == {
        "missing": 1,
        "outside_campaign": 1,
    }
    world.clock.now = ENDS
    sharer.send()
    assert [steps for _, steps, _ in queue(sharer)] == ["149"]


def test_no_reading_no_report(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", world)
    world.clock.now = ENDS
    assert sharer.send(partial=True).outcomes == {}
    sharer.put([("2026-11-16T00:30:00Z", None)])
    world.clock.now = ENDS + 24 * HOUR
    assert sharer.send(partial=True).outcomes == {}
    assert queue(sharer) == []


@pytest.mark.parametrize(("day", "hours"), [("2027-03-28", 23), ("2026-10-25", 25)])
@pytest.mark.parametrize("a_day", [24, 48, 96])
def test_a_day_on_which_clocks_change_counts_whole(
    world: World, tmp_path: Path, day: str, hours: int, a_day: int
) -> None:
    local = Calendar("day", "Europe/Dublin").named(day)
    assert local is not None
    world.clock.now = local.begins
    bounds = {"begins": instant_text(local.begins), "ends": instant_text(local.ends)}
    sharer, campaign, consumer = joined(tmp_path / "state", world, readings_expected=a_day, **bounds)
    every = 24 * HOUR // a_day
    times = range(local.begins, local.ends, every)
    assert len(times) == hours * a_day // 24
    for when in times[:-1]:
        sharer.put([(instant_text(when), "0.1")])
    world.clock.now = local.ends
    sharer.put([(instant_text(times[-1]), "0.1")])
    assert sharer.send().outcomes == {"accepted": 1}
    assert sum_of(world, campaign, consumer, day)["estimate"] == pytest.approx(len(times) / 10)


@pytest.mark.parametrize(("period", "minutes"), [("quarter_hour", 15), ("half_hour", 30)])
def test_load_curves_are_totals_of_short_periods(world: World, tmp_path: Path, period: str, minutes: int) -> None:
    terms = {"period": period, "readings_expected": minutes, "grace_minutes": 24 * 60}
    sharer, campaign, consumer = joined(tmp_path / "state", world, **terms)
    sharer.put([(instant_text(BEGINS + n * MINUTE), "0.1") for n in range(24 * 60)])
    world.clock.now = ENDS
    assert sharer.send().outcomes == {"accepted": 24 * 60 // minutes}
    world.clock.now += 24 * HOUR
    found = world.periods(campaign, consumer)
    sums = [found[span.key]["sum"]["estimate"] for span in Calendar(period, "UTC").spans(BEGINS, ENDS)]
    assert sums == pytest.approx([minutes / 10] * (24 * 60 // minutes))


@pytest.mark.parametrize("place", ["mask", "_end"])
def test_a_device_that_dies_at_any_step_reports_the_same_total(
    world: World, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies before the total is masked, or after that and before the report is queued; then late readings come."""
    sharer, campaign, consumer = joined(tmp_path / "state", world, "A")
    sharer.put(half_hours(1))
    world.clock.now = ENDS
    true = period_totals.mask

    def dying(*given: Any, **more: Any) -> Any:
        if place == "_end":
            true(*given, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(period_totals, "mask", dying)
    with pytest.raises(KeyboardInterrupt):
        sharer.send()
    monkeypatch.setattr(period_totals, "mask", true)
    sharer.state.close()
    again = device(tmp_path / "state", Wire(world))
    assert again.put(half_hours(0, 1)).refused == {"late": 1}
    assert again.totals_due()
    assert again.send().outcomes == {"accepted": 1}
    with again.state.memory() as memory:
        assert [n for (n,) in memory.execute("SELECT reports FROM counts")] == [1]
    assert sum_of(world, campaign, consumer)["estimate"] == int(queue(again)[0][1]) / 10


KILLED = """
import sys
from halfmask_device.sharing import Sharer
sharer = Sharer(sys.argv[1], create=False)
for line in sys.stdin:
    time, value = line.split()
    sharer.put([(time, value)])
    print(time, flush=True)
"""


def test_kill_9_loses_no_reading_that_was_taken(world: World, tmp_path: Path) -> None:
    sharer, campaign, consumer = joined(tmp_path / "state", world)
    sharer.state.close()
    sent: list[tuple[str, str]] = []
    rng = random.Random(5)
    while len(sent) < 48:
        command = [sys.executable, "-c", KILLED, str(tmp_path / "state")]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for time, value in half_hours()[len(sent) : len(sent) + rng.randrange(10, 25)]:
                process.stdin.write(f"{time} {value}\n")
                process.stdin.flush()
                assert process.stdout.readline().strip() == time
                sent.append((time, value))
            os.kill(process.pid, signal.SIGKILL)
    world.clock.now = ENDS
    assert device(tmp_path / "state", Wire(world)).send().outcomes == {"accepted": 1}
    assert sum_of(world, campaign, consumer)["estimate"] == 14.9


def test_no_reading_stays_after_its_total_was_sent(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", world, "A")
    sharer.put(half_hours(value=SECRET_READING)[:24] + half_hours()[24:])
    assert SECRET_READING.encode() in stored(sharer)
    world.clock.now = ENDS
    assert sharer.send().outcomes == {"accepted": 1}
    assert SECRET_READING.encode() not in stored(sharer)


def test_who_leaves_keeps_no_reading(world: World, tmp_path: Path) -> None:
    sharer, campaign, _ = joined(tmp_path / "state", world, "A")
    sharer.put(half_hours(0, 20, SECRET_READING))
    sharer.leave(campaign)
    assert SECRET_READING.encode() not in stored(sharer)
    world.clock.now = ENDS
    assert sharer.gathered() == []


def test_a_level_counts_from_the_period_that_has_not_ended(world: World, tmp_path: Path) -> None:
    sharer, campaign, _ = joined(tmp_path / "state", world, "A")
    sharer.put(half_hours())
    sharer.change(campaign, "N")
    world.clock.now = ENDS
    sharer.send()
    assert [(steps, setting) for _, steps, setting in queue(sharer)] == [("149", "N")]


def test_a_zone_that_a_device_lacks_is_named(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sharer, _, _ = joined(tmp_path / "state", world)

    def none(name: str) -> Any:
        raise KeyError(name)

    monkeypatch.setattr("halfmask_device.campaign_calendar.time_zone", none)
    with refused("run.time_zone"):
        sharer.put(half_hours())


def test_numbers_are_read_exactly() -> None:
    assert [exact_reading(each) for each in ("1.50", 0.1, None, " nan ", "-inf", "1e-999999999", "-1e999999999")] == [
        *(Decimal("1.5"), Decimal("0.1"), None, None, None, Decimal(0), Decimal("-1e60"))
    ]
    for wrong in ("one", True, "1,5", "0x10"):
        with pytest.raises(ReadingError):
            exact_reading(wrong)


def test_the_sum_over_homes_is_exact_without_noise_and_has_one_draw_a_home_with(world: World, tmp_path: Path) -> None:
    """With `none@total` the sums are exact; with Laplace noise they err by one draw a home, and not one a reading."""
    homes, periods, each_hour = 15, 240, 12
    use = np.random.default_rng(8).integers(0, 400, (homes, periods, each_hour))  # in 0.001
    terms = {"period": "hour", "readings_expected": each_hour, "grace_minutes": periods * 60, "least_producers": homes}
    consumer, ends = world.consumer(), BEGINS + periods * HOUR
    campaigns = {id: world.campaign(consumer, **TOTALS | terms) for id in ("N", "A")}
    times = [instant_text(BEGINS + n * 5 * MINUTE) for n in range(periods * each_hour)]
    world.clock.now = ends
    for home in range(homes):
        for id, campaign in campaigns.items():
            sharer = device(tmp_path / f"{id}{home}", Wire(world))
            sharer.join("http://service", campaign, id, consent=FREE)
            sharer.state.fleeting()
            sharer.put(zip(times, (f"{value / 1000:.3f}" for value in use[home].ravel().tolist()), strict=True))
            assert sharer.send().outcomes == {"accepted": periods}
            sharer.state.close()
    world.clock.now = ends + (periods + 1) * HOUR
    totals = ((use.sum(axis=2) + 50) // 100).sum(axis=0)
    exact, noisy = (list(world.periods(campaigns[id], consumer).values())[:periods] for id in ("N", "A"))
    assert [round(10 * each["sum"]["estimate"]) for each in exact] == totals.tolist()
    assert {each["producers"] for each in noisy} == {homes}
    error = np.array([10 * each["sum"]["estimate"] for each in noisy]) - totals
    variance = homes * law_of("laplace:2.5", "0.1").variance
    assert noisy[0]["sum"]["standard_error"] == pytest.approx(0.1 * variance**0.5)
    assert mean_within(error, 0, 5)
    assert mean_within(error**2 / variance, 1, 5)
    assert not mean_within(error**2 / (each_hour * variance), 1, 5)
    assert not mean_within(each_hour * error**2 / variance, 1, 5)
    assert not mean_within(error + 2 * variance**0.5, 0, 5)


@pytest.mark.parametrize("more", [{}, {"rng": np.random.default_rng(1)}])
def test_an_array_and_a_single_reading_have_no_period(tmp_path: Path, more: dict[str, Any]) -> None:
    with refused("option.release", "setting"):
        halfmask.mask([0.4, 0.7], "laplace:2.5@total", **more)
    with refused("setting.release"):
        Producer("laplace:2.5@total", Lattice("0.1", "0", "40"), tmp_path / "state")
    assert not (tmp_path / "state").exists()


def test_the_ledger_bounds_a_change_of_the_total_and_of_one_reading(world: World, tmp_path: Path) -> None:
    """Laplace noise of 10 on a range of 40: epsilon 4 for any total, and 0.1 for a reading that changes by 1."""
    menu = {"settings": [{"id": "A", "setting": "laplace:10@total"}]}
    sharer, _, _ = joined(tmp_path / "state", world, "A", menu=menu, rewards={}, grace_minutes=10_000)
    sharer.put([(instant_text(BEGINS + n * 30 * MINUTE), "0.3") for n in range(96)])
    world.clock.now = BEGINS + 48 * HOUR
    assert sharer.send().outcomes == {"accepted": 2}
    ledger = read_ledger(sharer.state, "1")
    assert [(each.window, each.reports, each.totals) for each in ledger.days] == [(DAY, 1, 1), ("2026-11-16", 1, 1)]
    for day in ledger.days:
        assert (day.whole, day.epsilon, day.one) == pytest.approx((4, 4, 0.1))
    assert ledger.total.whole == pytest.approx(8)
    assert ledger.total.one == pytest.approx(0.1)
    assert composed_epsilon({("laplace:10", "0.1", "40"): 2}, 1e-6) == pytest.approx(8)
    spent = sharer.budgets()[0]
    assert spent.budget.epsilon_of({"laplace:10@total@0.1,0.0,40.0": 30}) == pytest.approx(
        composed_epsilon({("laplace:10", "0.1", "40"): 30}, 1e-6)
    )


def test_programs_that_send_at_once_report_one_total(world: World, tmp_path: Path) -> None:
    joined(tmp_path / "state", world, "A")[0].put(half_hours())
    world.clock.now = ENDS
    sharers = [device(tmp_path / "state", Wire(world)) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        sent = list(pool.map(Sharer.send, sharers))
    assert {name for each in sent for name in each.outcomes} <= {"accepted", "known"}
    assert sum(each.outcomes["accepted"] for each in sent) == 1
    with sharers[0].state.memory() as memory:
        assert list(memory.execute("SELECT reports, revisions FROM counts")) == [(1, 0)]
    assert len(queue(sharers[0])) == 1


def test_a_total_that_the_budget_does_not_hold_waits_for_a_larger_one(world: World, tmp_path: Path) -> None:
    """Laplace noise of 2.5 on a range of 40 has epsilon 16 per day: a budget of 20 holds one day of two."""
    sharer, campaign, _ = joined(tmp_path / "state", world, "A", grace_minutes=3 * 24 * 60)
    write_budgets(sharer.state, {"local": Budget(20.0)})
    sharer.put([(instant_text(BEGINS + n * 30 * MINUTE), "0.31") for n in range(96)])
    world.clock.now = BEGINS + 48 * HOUR
    sent = sharer.send()
    assert sent.outcomes == {"accepted": 1}
    assert any("budget" in note for note in sent.notes)
    assert [each.span.key for _, each in sharer.gathered()] == ["2026-11-16"]
    write_budgets(sharer.state, {"local": Budget(40.0)})
    assert sharer.send().outcomes == {"accepted": 1}
    assert counts(sharer, campaign)["accepted"][0] == 2


def test_a_coarser_level_masks_totals_too_and_the_total_keeps_its_report(world: World, tmp_path: Path) -> None:
    menu = {"settings": [{"id": "A", "setting": "laplace:2.5@total"}, {"id": "C", "setting": "laplace:40@total"}]}
    sharer, _, _ = joined(tmp_path / "state", world, "A", menu=menu, rewards={})
    write_budgets(sharer.state, {"local": Budget(2.0, then="coarser")})
    sharer.put(half_hours())
    world.clock.now = ENDS
    assert sharer.send().outcomes == {"accepted": 1}
    ((_, steps, setting),) = queue(sharer)
    assert setting == "C"
    write_budgets(sharer.state, {"local": Budget(100.0)})
    with sharer.state.memory() as memory:
        memory.execute("DELETE FROM queue")
        memory.execute("DELETE FROM gathered")
    sharer.put(half_hours())
    assert sharer.send().outcomes == {"known": 1}
    assert queue(sharer)[0][1:] == (steps, "C")


def test_one_meter_shares_readings_with_one_campaign_and_totals_with_another(world: World, tmp_path: Path) -> None:
    """The second is one more look at the same readings, so it needs consent, and both are charged."""
    sharer, campaign, consumer = joined(tmp_path / "state", world, "A")
    readings = world.campaign(consumer, least_producers=1, grace_minutes=600)
    with refused("option.also"):
        sharer.join("http://service", readings, "A", consent=Consent(least_producers=1))
    both = Consent(also=True, budget=math.inf, least_producers=1)
    sharer.join("http://service", readings, "A", consent=both)
    queued = sharer.put(half_hours())
    assert (queued.gathered, queued.reports) == (48, 48)
    world.clock.now = ENDS
    assert sharer.send().outcomes == {"accepted": 49}
    with sharer.state.memory() as memory:
        laws = dict(memory.execute("SELECT law, reports FROM counts"))
    assert laws == {"laplace:2.5@total@0.1,0.0,40.0": 1, "laplace:0.5@0.001,0.000,20.000": 48}
    (day,) = read_ledger(sharer.state, "1").days
    assert (day.reports, day.totals) == (49, 1)
    assert sharer.leave(campaign).left


def test_a_producer_that_joins_again_reports_its_periods_again_with_the_same_noise(
    world: World, tmp_path: Path
) -> None:
    """Leaving withdrew the report; the history of the new membership begins anew."""
    sharer, campaign, _ = joined(tmp_path / "state", world, "A")
    sharer.put(half_hours())
    world.clock.now = ENDS
    sharer.send()
    first = queue(sharer)
    assert sharer.history(campaign).accepted == 1
    assert sharer.history(campaign).earned == 2
    assert sharer.history(campaign, ENDS) == ReportHistory()
    sharer.leave(campaign)
    sharer.join("http://service", campaign, "A", consent=FREE)
    assert sharer.history(campaign) == ReportHistory()
    assert sharer.put(half_hours()).gathered == 48
    assert sharer.send().outcomes == {"accepted": 1}
    assert queue(sharer)[-1] == first[0]
    assert sharer.history(campaign).last == BEGINS
