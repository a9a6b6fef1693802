"""Keys of a day are erased once no campaign takes reports of it any more, whenever the program is killed."""

import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from halfmask.commands._shared_options import Display
from halfmask.commands.status import Status, status
from halfmask.commands.status import main as show_status
from halfmask_device import Lattice, Producer, State
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.instants import DAY, MINUTE, instant_text, of_datetime
from halfmask_device.key_expiry import first_day_needed, needed_until
from halfmask_device.membership import Membership
from halfmask_device.reading_times import day_of
from halfmask_device.secret import Secret, places
from tests.device.test_sharing import FREE, READINGS, Wire, joined, lost, queue
from tests.refusals import refused
from tests.service.world import CAMPAIGN, World, running, sqlite_url


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path)) as world:
        yield world


def member(**changed: object) -> Membership:
    return Membership("http://service", "c", "p", "A", "", dict(CAMPAIGN | changed), "token")


@pytest.mark.parametrize("period", ["hour", "day", "week", "month", "year"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Dublin", "America/New_York", "Pacific/Auckland", "Asia/Kathmandu"])
def test_a_key_is_needed_until_the_service_closes_the_last_period_of_its_day(period: str, zone: str) -> None:
    """As the service's own calendar has it, by trying every reading of the day."""
    begins, ends = datetime(2026, 3, 10, tzinfo=UTC), datetime(2027, 2, 3, 12, tzinfo=UTC)
    of = member(period=period, time_zone=zone, begins=begins.isoformat(), ends=ends.isoformat(), grace_minutes=90)
    calendar, last = Calendar(period, zone), of_datetime(ends)
    for day in range(day_of("2026-03-10"), day_of("2027-02-04"), 9):
        times = [min(day * DAY + minute * MINUTE, last - 1) for minute in range(0, 24 * 60, 15)]
        closes = max(min(calendar.span_of(time).ends, last) for time in times) + 90 * MINUTE
        assert needed_until(of, day) == closes
        assert first_day_needed([of], closes - 1) <= day or closes // DAY < day  # type: ignore[operator]
        assert first_day_needed([of], closes) == min(first_day_needed([of], closes), closes // DAY)


def test_the_first_day_needed_is_that_of_the_campaign_that_needs_it_longest() -> None:
    hours, months = member(period="hour", grace_minutes=0), member(period="month", grace_minutes=0)
    now = of_datetime(datetime(2026, 11, 20, 12, tzinfo=UTC))
    assert first_day_needed([hours], now) == day_of("2026-11-20")
    assert first_day_needed([hours, months], now) == day_of("2026-11-15")
    assert first_day_needed([], now) is None
    later = of_datetime(datetime(2027, 1, 5, tzinfo=UTC))
    assert first_day_needed([hours, months], later) == day_of("2026-12-01")
    to_come = member(begins="2026-12-01T00:00:00Z", ends="2026-12-09T00:00:00Z")
    assert first_day_needed([to_come], now) == day_of("2026-11-20"), (
        "today's key may be used by a campaign joined today"
    )


def test_without_time_zones_keys_are_kept_until_the_campaign_is_over() -> None:
    of = member(time_zone="Nowhere/Known", grace_minutes=60)
    assert instant_text(needed_until(of, day_of("2026-11-16"))) == "2026-12-01T01:00:00Z"


def link(folder: Path) -> int:
    """The oldest day that both copies of the secret still give."""
    days = {Secret.read(path).day for path in places(folder)}
    assert len(days) == 1
    return days.pop()


def test_keys_are_erased_after_the_grace_and_not_before(world: World, tmp_path: Path) -> None:
    wire, folder = Wire(world), tmp_path / "state"
    sharer, _, _ = joined(folder, wire)  # days in Dublin, an hour of grace
    sharer.put(READINGS)
    sharer.send()
    told = queue(sharer)
    assert sharer.keys_kept() == [(day_of("2026-11-16"), of_datetime(datetime(2026, 11, 17, 1, tzinfo=UTC)))]
    world.clock.set("2026-11-17T00:59:59Z")
    sharer.send()
    assert link(folder) == day_of("2026-11-16")
    assert sharer.put(READINGS).known == 12, "the same reports, as long as they can be sent"
    assert queue(sharer) == told
    world.clock.set("2026-11-17T01:00:00Z")
    sharer.send()
    assert link(folder) == day_of("2026-11-17")
    assert sharer.keys_kept() == []
    assert sharer.put(READINGS).refused == {"forgotten": 12}
    assert sharer.put([("2026-11-17T00:30:00Z", "1")]).reports == 1


def test_a_report_without_a_receipt_is_sent_as_it_was_after_its_key_is_erased(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire)
    sharer.put(READINGS)
    wire.faults = [lost] * 4
    with refused("run.no_answer"):
        sharer.send()
    before = queue(sharer)
    world.clock.set("2026-11-17T01:00:00Z")
    wire.faults = [lost] * 4
    with refused("run.no_answer"):
        sharer.send()
    assert link(tmp_path / "state") == day_of("2026-11-17")
    assert queue(sharer) == before
    assert sharer.send().outcomes == {"closed": 12}
    assert all(f'"steps":{steps},'.encode() in wire.sent[-1] for _, steps, _ in before)


def test_the_longest_of_several_campaigns_keeps_the_keys_also_after_leaving_it(world: World, tmp_path: Path) -> None:
    wire, folder = Wire(world), tmp_path / "state"
    sharer, _, consumer = joined(folder, wire)
    months = world.campaign(consumer, least_producers=1, period="month")
    sharer.join("http://service", months, "A", consent=FREE)
    sharer.put(READINGS)
    sharer.send()
    sharer.leave(months)
    world.clock.set("2026-11-30T00:00:00Z")
    sharer.send()
    assert link(folder) == day_of("2026-11-15")
    world.clock.set("2026-12-01T01:00:00Z")
    sharer.send()
    assert link(folder) == day_of("2026-12-01")


def test_status_erases_what_is_over_and_says_until_when_keys_are_kept(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire)
    sharer.put([*READINGS, ("2026-11-17T00:30:00Z", "1")])
    monkeypatch.setattr("halfmask_device.sharing.Sharer", lambda state, **_: wire.sharer(state))
    assert status(state=tmp_path / "state").keys == {
        "2026-11-16": "2026-11-17T01:00:00Z", "2026-11-17": "2026-11-18T01:00:00Z",
    }  # fmt: skip
    world.clock.set("2026-11-17T01:00:00Z")
    show_status(Status(state=tmp_path / "state"), shown=Display(explain=True))
    said = capsys.readouterr().err
    assert re.findall(r"20\d\d-\d\d-\d\d\b(?!T)", said.split("key", 1)[1]) == ["2026-11-17"]
    assert instant_text(of_datetime(datetime(2026, 11, 18, 1, tzinfo=UTC))) in said
    assert link(tmp_path / "state") == day_of("2026-11-17")


KILLED = """
import os, signal, sys
from halfmask_device import State
left = int(sys.argv[2])

def counted(of):
    def call(*words, **more):
        global left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return of(*words, **more)
    return call

state = State(sys.argv[1])
for name in ("open", "fsync", "replace", "rename", "link", "unlink", "close", "write"):
    setattr(os, name, counted(getattr(os, name)))
import pathlib
pathlib.Path.replace = lambda self, to: os.replace(self, to)
pathlib.Path.unlink = counted(pathlib.Path.unlink)
state.forget(int(sys.argv[3]))
"""


def secrets_of(folder: Path) -> bytes:
    """All bytes of the folder and of what lies next to it, leftovers included."""
    files = [path for path in (*folder.iterdir(), *folder.parent.iterdir()) if path.is_file()]
    return b"".join(path.read_bytes() for path in files)


def test_an_erasure_that_is_killed_at_any_step_leaves_the_old_or_the_new_and_is_completed(tmp_path: Path) -> None:
    original, day = tmp_path / "original" / "state", day_of("2026-11-16")
    lattice = Lattice("0.1", "0", "10")
    reports = [Producer("laplace:1", lattice, original).report(f"2026-11-{n}T00:00:00Z", 5) for n in (16, 17, 18)]
    before = State(original).secret
    before = before.forget(day - 3)
    State(original).forget(day - 3)
    links = [before.forget(day - 3 + n).chain.hex().encode() for n in range(3)]
    ended, states = -signal.SIGKILL, []
    for step in range(40):
        if ended == 0:
            break
        folder = tmp_path / str(step) / "state"
        shutil.copytree(original.parent, folder.parent)
        command = [sys.executable, "-c", KILLED, str(folder), str(step), str(day)]
        ended = subprocess.run(command, check=False, capture_output=True).returncode
        assert ended in (0, -signal.SIGKILL)
        states.append(tuple(Secret.read(path).day - day for path in places(folder)))
        state = State(folder)  # as after a restart
        assert state.secret.day - day == max(states[-1])
        assert link(folder) == state.secret.day
        state.forget(day)
        assert not any(each in secrets_of(folder) for each in links)
        again = Producer("laplace:1", lattice, folder)
        assert [again.report(f"2026-11-{n}T00:00:00Z", 5) for n in (16, 17, 18)] == reports
        with refused("reading.forgotten"):
            again.report("2026-11-15T00:00:00Z", 5)
    assert ended == 0
    assert {(-3, -3), (0, -3), (0, 0)} <= set(states)


def test_what_a_program_that_was_killed_left_is_removed(tmp_path: Path) -> None:
    """A temporary file of the first secret would give every key for ever."""
    state = State(tmp_path / "state")
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    process = int(dead.stdout)
    leftovers = [tmp_path / "state" / f".secret.{process}-00.part", tmp_path / f".state.secret.{process}-00.part"]
    for each in leftovers:
        each.write_bytes(state.secret.written())
    other = tmp_path / "state" / f".terms.json.{process}-00.part"
    other.touch()
    state.forget(day_of("2026-11-16"))
    assert not any(each.exists() for each in leftovers)
    assert other.exists()


def test_many_days_pass_with_the_oldest_key_never_older_than_the_grace(world: World, tmp_path: Path) -> None:
    wire = Wire(world)
    sharer, _, _ = joined(tmp_path / "state", wire, grace_minutes=120)
    start = datetime(2026, 11, 16, 12, tzinfo=UTC)
    for hour in range(0, 24 * 10, 5):
        now = start + timedelta(hours=hour)
        world.clock.set(now.isoformat())
        assert sharer.put([((now - timedelta(minutes=5)).isoformat(), "1")]).reports == 1
        assert sharer.send().waiting == 0
        oldest = max((now - timedelta(hours=2)).date().isoformat(), "2026-11-15")
        assert link(tmp_path / "state") == day_of(oldest)
