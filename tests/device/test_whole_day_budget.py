"""The budget that a device keeps by default: set by the first level, over all campaigns, with consent for each more."""

import io
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halfmask.commands import join as join_command
from halfmask.commands.ledger import ledger
from halfmask.commands.status import status
from halfmask_device import Budget, Lattice, State
from halfmask_device.budget_guard import Guard, UserNotes
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.consent import Consent
from halfmask_device.instants import HOUR, instant_text
from halfmask_device.level_epsilon import CampaignLevel, planned_reports, readings_a_day
from halfmask_device.masking import Channel, mask
from halfmask_device.privacy_budget import is_open, read_budgets, trust_of, windows_with, write_budgets
from halfmask_device.protocol import CampaignTerms
from halfmask_device.reading_times import day_of
from halfmask_device.setting import law_of
from halfmask_device.sharing import Sharer
from tests.device.test_privacy_ledger import exact_epsilon
from tests.device.test_sharing import FREE, READINGS, Wire, joined, queue
from tests.refusals import refused
from tests.said import incomplete
from tests.service.test_totals import TOTALS
from tests.service.world import CAMPAIGN, World, instant, running, sqlite_url

ONE = Consent(least_producers=1)
COARSE = {"lattice": {"step": "0.1", "low": "0", "high": "2"}, "rewards": {}, "every_minutes": 60}
LONG = {"begins": "2026-09-01T00:00:00Z", "ends": "2027-03-01T00:00:00Z"}
DELTA = 1e-6


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path)) as world:
        yield world


def menu(*settings: str) -> dict[str, Any]:
    return {"settings": [{"id": "ABCDEFGH"[n], "setting": each} for n, each in enumerate(settings)]}


def hourly(days: int, first: str = "2026-09-03") -> list[tuple[str, str]]:
    dates = [date.fromisoformat(first) + timedelta(days=n) for n in range(days)]
    return [(f"{each}T{hour:02}:00:00Z", "1") for each in dates for hour in range(24)]


def by_masses(setting: str, step: str, change: float, count: int) -> float:
    """Epsilon of many reports from the noise's probabilities alone: the pure sum, or Renyi divergences added up."""
    law, moved = law_of(setting, step), round(change / float(step))
    most = min(law.furthest(1e-250), 6000)
    logs = np.log(np.maximum([law.mass(k) for k in range(-most, most + moved + 1)], 1e-300))
    here, there = logs[moved:], logs[:-moved]
    pure = count * float(np.max(np.abs(here - there)[: 2 * most - moved]))
    best = pure if setting.startswith("laplace") else math.inf
    for order in np.concatenate([np.linspace(1.02, 20, 800), np.geomspace(20, 4096, 400)]):
        renyi = float(np.logaddexp.reduce(order * here + (1 - order) * there)) / (order - 1)
        added = count * renyi + math.log1p(-1 / order) - (math.log(DELTA) + math.log(order)) / (order - 1)
        best = min(best, added)
    return best


@pytest.mark.parametrize("setting", ["laplace:4", "laplace:0.5", "gaussian:3", "gaussian:30"])
def test_the_first_level_joined_sets_the_budget(setting: str, world: World, tmp_path: Path) -> None:
    """Epsilon of 30 days of hourly readings, each of which may change from one end of the range to the other."""
    sharer, _, _ = joined(tmp_path / "state", Wire(world), consent=ONE, menu=menu(setting), **COARSE)
    budget = read_budgets(sharer.state)["local"]
    assert (budget.change, budget.window, budget.delta, budget.then) == (None, "30-days", DELTA, "stop")
    assert budget.epsilon is not None
    assert budget.epsilon == pytest.approx(by_masses(setting, "0.1", 2.0, 30 * 24), rel=0.02)
    assert budget.epsilon < by_masses(setting, "0.1", 2.0, 33 * 24)
    if setting == "gaussian:30":
        assert exact_epsilon({setting: 30 * 24}, "0.1", 2.0, DELTA) <= budget.epsilon
    if setting == "laplace:0.5":  # the pure sum is 30 days of 24 readings, 2/0.5 each
        assert budget.epsilon <= 30 * 24 * 4


def test_days_at_the_expected_rate_never_stop_and_twice_as_many_do(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "a", Wire(world), consent=ONE, menu=menu("laplace:4"), **COARSE | LONG)
    assert sharer.put(hourly(70)).refused == {}
    every = COARSE | LONG | {"every_minutes": 30}
    other, _, _ = joined(tmp_path / "b", Wire(world), consent=ONE, menu=menu("laplace:4"), **every)
    halves = [(time.replace(":00:00Z", f":{minute}:00Z"), "1") for time, _ in hourly(40) for minute in ("00", "30")]
    assert other.put(halves).refused == {}


def test_the_window_of_30_days_rolls(world: World, tmp_path: Path) -> None:
    """A budget of ten days: ten are reported, twenty are not, and when the first leaves the window one more is."""
    sharer, _, _ = joined(tmp_path / "state", Wire(world), consent=FREE, menu=menu("laplace:4"), **COARSE | LONG)
    ten = Budget(None).epsilon_of({"laplace:4@0.1,0,2": 240})
    assert ten == pytest.approx(by_masses("laplace:4", "0.1", 2.0, 240), rel=0.02)
    write_budgets(sharer.state, {"local": Budget(ten)})
    readings = hourly(62)
    found = [sharer.put(readings[24 * day : 24 * day + 24]).reports for day in range(62)]
    assert found == [24] * 10 + [0] * 20 + [24] * 10 + [0] * 20 + [24] * 2
    again = sharer.put(readings)
    assert (again.known, again.refused) == (22 * 24, {"budget": 40 * 24})
    assert sharer.put(list(reversed(hourly(40, "2026-09-20")))).refused["budget"] > 0


def test_readings_in_any_order_never_exceed_the_budget_in_any_window(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", Wire(world), consent=FREE, menu=menu("laplace:4"), **COARSE | LONG)
    write_budgets(sharer.state, {"local": Budget(100.0)})
    readings = hourly(90)
    order = np.random.default_rng(5).permutation(len(readings))
    for part in np.array_split(order, 40):
        sharer.put([readings[n] for n in part])
    told: dict[date, int] = {}
    for time, _, _ in queue(sharer):
        day = date.fromisoformat(time[:10])
        told[day] = told.get(day, 0) + 1
    most = max(sum(told.get(day + timedelta(days=n), 0) for n in range(30)) for day in told)
    assert by_masses("laplace:4", "0.1", 2.0, most) <= 100 < 1.02 * by_masses("laplace:4", "0.1", 2.0, most + 1)


def test_an_independent_window_search_agrees() -> None:
    days = [3, 40, 41, 100]
    counted = [0, 3, 20, 32, 33, 55, 69, 70, 71, 99, 129, 130]
    brute = {
        (day - 29, day) for day in {*days, *counted} if any(day - 29 <= each <= day for each in days)
    }  # every window of 30 days in a row ends somewhere; those that end on no counted day hold no more
    assert set(windows_with(days, counted, "30-days")) == brute


def clones(world: World, count: int) -> list[str]:
    consumer = world.consumer()
    changed = {"least_producers": 1, "rewards": {}, "every_minutes": 30}
    settings = [f"laplace:{0.248 + n / 1e6:.6f}" for n in range(count)]
    return [world.campaign(consumer, menu=menu(setting), **changed) for setting in settings]


def test_twenty_clones_cannot_be_joined_without_consent_to_each(world: World, tmp_path: Path) -> None:
    """Twenty looks at each reading would average the noise away."""
    ids = clones(world, 20)
    sharer = Wire(world).sharer(tmp_path / "state")
    with refused("option.least_producers", "least_producers"):
        sharer.join("http://service", ids[0], "A")
    sharer.join("http://service", ids[0], "A", consent=ONE)
    first = read_budgets(sharer.state)["local"].epsilon
    assert first is not None
    for n, id in enumerate(ids[1:], 2):
        with refused("option.also", "also") as caught:
            sharer.join("http://service", id, "A", consent=replace(ONE, budget=math.inf))
        alone, together = (float(each) for each in numbers(caught.value.message))
        assert alone == pytest.approx(first, rel=1e-3)
        assert together == pytest.approx(n * first, rel=1e-2)
        assert incomplete([caught.value.message]) == []
        with refused("option.budget", "budget"):
            sharer.join("http://service", id, "A", consent=replace(ONE, also=True, budget=(n - 0.5) * first))
        assert len(sharer.memberships()) == n - 1
        sharer.join("http://service", id, "A", consent=replace(ONE, also=True, budget=1.01 * n * first))
    assert len(sharer.memberships()) == 20


def numbers(text: str) -> list[str]:
    return [part.split()[0] for part in text.split("epsilon ")[1:]]


def test_clones_that_are_left_and_joined_one_after_the_other_need_consent_too(world: World, tmp_path: Path) -> None:
    """The readings of days that were reported could be reported again."""
    ids, wire = clones(world, 3), Wire(world)
    sharer = wire.sharer(tmp_path / "state")
    sharer.join("http://service", ids[0], "A", consent=ONE)
    half_hours = [(f"2026-11-16T{n // 2:02}:{30 * (n % 2):02}:00Z", "1") for n in range(24)]
    sharer.put(half_hours)
    sharer.send()
    sharer.leave(ids[0])
    with refused("option.also", "also"):
        sharer.join("http://service", ids[1], "A", consent=ONE)
    sharer.join("http://service", ids[1], "A", consent=replace(ONE, also=True))
    assert sharer.put(half_hours).refused == {}, "30 days of one level are the budget, and this is a day told twice"
    sharer.leave(ids[1])
    world.clock.set("2026-11-17T02:00:00Z")
    sharer.send()
    sharer.join("http://service", ids[2], "A", consent=ONE)  # the keys of that day are erased
    assert sharer.put(half_hours).refused == {"forgotten": 24}


def test_one_campaign_that_changes_its_menu_is_another(world: World, tmp_path: Path) -> None:
    """A service could offer clones one after the other under one campaign's name."""
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire, consent=ONE)
    sharer.put(READINGS)
    sharer.send()
    sharer.leave(campaign)
    offer = world.ok("GET", f"/v1/campaigns/{campaign}") | {"menu": menu("laplace:0.500001")}
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("halfmask_device.sharing.find_campaign", lambda *_: offer)
        with refused("option.also", "also"):
            sharer.join("http://service", campaign, "A", consent=ONE)
    sharer.join("http://service", campaign, "A", consent=ONE)


def test_campaigns_with_equal_laws_share_their_reports_and_the_budget(world: World, tmp_path: Path) -> None:
    changed = {"menu": menu("laplace:4"), **COARSE}
    sharer, _, consumer = joined(tmp_path / "state", Wire(world), consent=ONE, **changed)
    second = world.campaign(consumer, least_producers=1, **changed)
    with refused("option.also", "also"):
        sharer.join("http://service", second, "A", consent=ONE)
    sharer.join("http://service", second, "A", consent=replace(ONE, also=True))
    assert sharer.put(hourly(10, "2026-11-16")).refused == {}
    (standing,) = sharer.budgets()
    assert standing.planned == standing.budget.epsilon


def test_the_device_has_a_floor_for_the_least_cohort(world: World, tmp_path: Path) -> None:
    wire, consumer = Wire(world), world.consumer()
    for least in (19, 20):
        sharer, campaign = wire.sharer(tmp_path / str(least)), world.campaign(consumer, least_producers=least)
        if least < 20:
            with refused("option.least_producers", "least_producers"):
                sharer.join("http://service", campaign, "A")
            token = world.join(campaign, "A")
            with refused("option.least_producers", "least_producers"):
                sharer.adopt("http://service", campaign, token)
            assert not (tmp_path / str(least)).exists()
            sharer.join("http://service", campaign, "A", consent=Consent(least_producers=19))
        else:
            sharer.join("http://service", campaign, "A")


def test_without_a_finite_epsilon_no_budget_can_be_kept_and_the_open_days_are_counted(
    world: World, tmp_path: Path
) -> None:
    wire = Wire(world)
    sharer, campaign, _ = joined(tmp_path / "state", wire, "N", consent=ONE)
    assert read_budgets(sharer.state)["local"].epsilon == math.inf
    assert sharer.put([*READINGS, ("2026-11-17T00:00:00Z", "1")]).refused == {}
    (standing,) = sharer.budgets()
    assert (standing.left, standing.open, standing.spent) == (None, 2, 0.0)
    said = " ".join(standing.words())
    assert "none" in said
    assert "2" in said
    sharer.change(campaign, "A", budget=60_000.0)  # from here on
    with refused("option.budget", "budget"):
        sharer.change(campaign, "N")
    with refused("option.budget", "budget"):
        sharer.change(campaign, "B")  # sine noise is bounded
    assert sharer.put([("2026-11-16T20:00:00Z", "1")]).reports == 1
    (standing,) = sharer.budgets()
    assert (standing.open, standing.spent) == (2, pytest.approx(20 / 0.5))
    assert standing.left == pytest.approx(60_000 - 40)
    sharer.change(campaign, "N", budget=math.inf)
    assert sharer.put([("2026-11-16T21:00:00Z", "1")]).reports == 1


def test_which_laws_have_no_finite_epsilon() -> None:
    lattice = Lattice("0.001", "0", "20")
    for text in ("none", "sine:0.9,0.3,0.6,0.6,0.3", "uniform:3", "none@total"):
        assert is_open(Channel.of(text, lattice).name)
    for text in ("laplace:0.5", "gaussian:2", "logistic:1", "staircase:1,0.5,0.3", "geometric:1,0.001"):
        assert not is_open(Channel.of(text, lattice).name)


def test_a_campaign_that_says_no_interval_gets_its_budget_with_the_first_readings(world: World, tmp_path: Path) -> None:
    changed = COARSE | LONG | {"every_minutes": None}
    sharer, _, consumer = joined(tmp_path / "state", Wire(world), consent=ONE, menu=menu("laplace:4"), **changed)
    assert read_budgets(sharer.state)["local"].epsilon is None
    assert sharer.budgets()[0].left is None
    assert incomplete(sharer.budget_words()) == []
    assert sharer.put(hourly(1)[:1]).reports == 1
    assert read_budgets(sharer.state)["local"].epsilon is None
    assert sharer.put(hourly(31)).refused == {}
    epsilon = read_budgets(sharer.state)["local"].epsilon
    assert epsilon == pytest.approx(by_masses("laplace:4", "0.1", 2.0, 30 * 24), rel=0.02)
    later = world.campaign(consumer, least_producers=1, menu=menu("laplace:5"), **changed)
    with refused("option.budget", "budget"):  # by the interval seen, its reports come on top
        sharer.join("http://service", later, "A", consent=replace(ONE, also=True))


def test_readings_a_day_follow_the_median_gap() -> None:
    times = [f"2026-11-16T{hour:02}:{minute:02}:0{hour % 2}Z" for hour in range(24) for minute in (0, 30)]
    assert readings_a_day(times) == 48
    assert readings_a_day([*times, times[0], "2026-12-16T00:00:00Z"]) == 48
    assert readings_a_day(times[:1] * 3) is None


def terms(**changed: Any) -> CampaignTerms:
    body = CAMPAIGN | {"menu": menu("laplace:2.5"), "rewards": {}} | changed
    of_totals = "@total" in str(body["menu"])
    return CampaignTerms.read({"readings_expected": 48, **body, "release": "total"} if of_totals else body)


def test_how_many_reports_a_level_makes() -> None:
    def reports(seen: int | None = None, setting: str = "laplace:2.5", **changed: Any) -> int | None:
        level = CampaignLevel.of(terms(menu=menu(setting), **changed), "A")
        return level.reports("30-days", seen)

    assert reports() is None
    assert reports(seen=24) == 720
    assert reports(every_minutes=30) == 1440
    assert reports(every_minutes=30, readings_expected=24) == 720
    assert reports(readings_expected=2, period="hour") == 1440
    assert reports(readings_expected=336, period="week") == 1440
    for period, most in (("half_hour", 1440), ("hour", 720), ("day", 30), ("week", 5), ("month", 2), ("year", 1)):
        assert reports(setting="laplace:2.5@total", period=period, every_minutes=30) == most
    spring = {"begins": "2027-01-10T00:00:00Z", "ends": "2027-06-01T00:00:00Z", "setting": "laplace:2.5@total"}
    assert reports(**spring, time_zone="Europe/Dublin") == 31, "two days begin on the 28 March of UTC"
    assert reports(**spring, time_zone="UTC") == reports(**spring, time_zone="Asia/Kathmandu") == 30
    one, same = (CampaignLevel.of(terms(every_minutes=minutes), "A") for minutes in (30, 60))
    assert planned_reports([one, same], "day", None) == {one.law: 48}


def test_a_level_that_releases_totals_is_charged_once_a_period() -> None:
    """A daily total of up to 20 with laplace:2.5: epsilon 8 a day, whatever the sampling interval."""
    level = CampaignLevel.of(terms(menu=menu("laplace:2.5@total")), "A")
    budget = Budget(None)
    assert budget.epsilon_of({level.law: 1}) == pytest.approx(20 / 2.5)
    assert by_masses("laplace:2.5", "0.05", 20.0, 30) == pytest.approx(budget.epsilon_of({level.law: 30}), rel=0.02)


def test_split_and_local_reports_are_counted_apart(tmp_path: Path) -> None:
    """Each has its sum, since they trust different parties."""
    state, lattice = State(tmp_path / "state"), Lattice("0.1", "0", "10")
    write_budgets(state, {"local": Budget(30.0), "split": Budget(20.0)})

    nothing = Guard(state, Channel.of("laplace:1", lattice), [], UserNotes())
    assert mask(state, Channel.of("laplace:1", lattice), [], nothing).reports == []

    def told(setting: str) -> list[int]:
        """Of ten days, how many reports by a setting are made."""
        channel = Channel.of(setting, lattice)
        days = [day_of("2026-11-01") + n for n in range(10)]
        readings = [("", f"2026-11-{n + 1:02}", day, state.keys.of(day), 50) for n, day in enumerate(days)]
        masked = mask(state, channel, readings, Guard(state, channel, [], UserNotes()))
        assert set(masked.refused.values()) <= {"budget"}
        return [n for n, report in enumerate(masked.reports) if report is not None]

    assert told("laplace:1") == [0, 1, 2]
    assert told("laplace:2@split") == [0, 1, 2, 3]
    assert told("laplace:5@total") == []
    write_budgets(state, {"local": Budget(34.0)})
    assert told("laplace:5@total") == [0, 1]
    assert told("laplace:2@split") == [0, 1, 2, 3]
    assert trust_of(Channel.of("laplace:1@split", lattice).name) == "split"
    assert trust_of(Channel.of("laplace:1@total", lattice).name) == "local"


def test_a_smaller_budget_keeps_the_queue_back_and_a_larger_one_sends_the_same_bytes(
    world: World, tmp_path: Path
) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire, consent=ONE, menu=menu("laplace:4"), **COARSE)
    sharer.put(READINGS)
    before = queue(sharer)
    ledger(state=tmp_path / "state", budget=5.0)  # twelve reports of 2/4 are 6
    with refused("option.budget", "budget"):
        sharer.send()
    assert not any(b'"reports"' in body for body in wire.sent)
    assert queue(sharer) == before
    assert sharer.put([("2026-11-16T20:00:00Z", "1")]).refused == {"budget": 1}
    ledger(state=tmp_path / "state", budget=6.0)
    sent = sharer.send()
    assert (sent.outcomes, sent.waiting, sent.held) == ({"accepted": 12}, 0, 0)
    (body,) = [body for body in wire.sent if b'"reports"' in body]
    assert [f'"steps":{steps},'.encode() in body for _, steps, _ in before] == [True] * 12


def test_days_within_the_budget_go_out_while_others_wait(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire, consent=FREE, menu=menu("laplace:4"), **COARSE | LONG)
    world.clock.set("2026-11-16T12:00:00Z")
    sharer.put([*hourly(1, "2026-10-01")[:4], *hourly(3, "2026-11-10")])
    write_budgets(sharer.state, {"local": Budget(3.0)})
    sent = sharer.send()
    assert (sum(sent.outcomes.values()), sent.waiting, sent.held) == (4, 72, 72)
    write_budgets(sharer.state, {"local": Budget(3.0, then="warn")})
    assert sharer.send().waiting == 0


def test_what_is_said_can_be_recomputed_and_names_change_window_and_delta(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire, consent=ONE, menu=menu("laplace:0.5"), **COARSE)
    days = by_masses("laplace:0.5", "0.1", 2.0, 720), by_masses("laplace:0.5", "0.1", 2.0, 12)
    (standing,) = sharer.budgets()
    assert (standing.planned, standing.spent, standing.left) == (
        pytest.approx(days[0], rel=0.02), 0.0, pytest.approx(days[0], rel=0.02),
    )  # fmt: skip
    sharer.put(READINGS)
    (standing,) = sharer.budgets()
    assert (standing.spent, standing.day) == (pytest.approx(days[1]), "2026-11-16")
    assert standing.left == pytest.approx(standing.budget.epsilon - standing.spent)
    words = sharer.budget_words()
    assert incomplete(words) == []
    (shown,) = numbers(words[0])
    assert standing.budget.epsilon <= float(shown) <= 1.001 * standing.budget.epsilon
    shown_status = status(state=tmp_path / "state")
    assert shown_status.budgets[0].budget == standing.budget
    capsys.readouterr()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "members"), [("y\n", 2), ("n\n", 1), ("\n", 1)])
def test_on_a_terminal_join_asks(
    answer: str, members: int, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    wire = Wire(world)
    _, _, consumer = joined(tmp_path / "state", wire, consent=FREE)
    second = world.campaign(consumer, least_producers=1)
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr("halfmask_device.sharing.Sharer", lambda state, **_: wire.sharer(state))
    options = join_command.Join(
        "http://service", campaign=second, setting="A", state=tmp_path / "state", least_producers=1
    )
    if members == 1:
        with refused("option.also", "also"):
            join_command.main(options)
    else:
        join_command.main(options)
        said = capsys.readouterr().err
        assert incomplete(said.splitlines()) == []
        assert "epsilon" in said
    assert len(Sharer(tmp_path / "state").memberships()) == members


@pytest.mark.parametrize("zone", ["Europe/Dublin", "America/New_York", "Pacific/Auckland", "UTC"])
def test_daily_totals_never_stop_at_the_budget_of_their_own_level(zone: str, world: World, tmp_path: Path) -> None:
    """Also when clocks change, and two days begin on one day of UTC."""
    times = {"begins": "2027-02-10T00:00:00Z", "ends": "2027-05-10T00:00:00Z", "time_zone": zone}
    begins = next(Calendar("day", zone).spans(instant(times["begins"]) + 1, instant(times["ends"]))).ends
    ends = list(Calendar("day", zone).spans(begins, instant(times["ends"])))[-1].begins
    times |= {"begins": instant_text(begins), "ends": instant_text(ends)}
    level = {"menu": menu("laplace:2.5@total"), "least_producers": 1, "readings_expected": 1}
    campaign = world.campaign(world.consumer(), **TOTALS | {"rewards": {}} | level | times)
    sharer = Wire(world).sharer(tmp_path / "state")
    sharer.join("http://service", campaign, "A", consent=ONE)
    days = list(Calendar("day", zone).spans(begins, ends))
    sharer.put([(instant_text(span.begins + 12 * HOUR), "1") for span in days])
    world.clock.now = ends
    sent = sharer.send()
    assert sum(sent.outcomes.values()) == len(days) > 80
    (standing,) = sharer.budgets()
    assert standing.budget.epsilon == pytest.approx(by_masses("laplace:2.5", "0.1", 40.0, 30), rel=0.04)
