"""A budget binds from when it is set, charges what goes out alone, and what it made coarser stays so."""

import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from halfmask.commands.ledger import ledger
from halfmask.commands.mask import mask
from halfmask_device import Asked, Budget, Lattice, Producer, State, agree, mask_csv, read_ledger
from halfmask_device.errors import StoppedError
from halfmask_device.privacy_budget import write_budgets
from tests.device.test_sharing import FREE, Wire, joined, queue
from tests.refusals import refused
from tests.service.world import World, running, sqlite_url

LATTICE = Lattice("0.1", "0", "10")
MENU = (
    '{"settings": [{"id": "A", "setting": "laplace:1"}, {"id": "B", "setting": "laplace:100"},'
    ' {"id": "N", "setting": "none"}]}'
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with running(sqlite_url(tmp_path)) as world:
        yield world


def readings(count: int, day: str = "2026-01-01") -> list[tuple[str, str]]:
    return [(f"{day}T{number // 60:02}:{number % 60:02}:00Z", "5") for number in range(count)]


def rows(count: int, day: str = "2026-01-01") -> bytes:
    return "".join(f"{time},{value}\n" for time, value in readings(count, day)).encode()


def charged(folder: Path) -> int:
    return read_ledger(State(folder), "1").total.reports


def device(folder: Path) -> Producer:
    menu = folder.with_name("menu.json")
    menu.write_text(MENU)
    terms = agree(folder, Asked(setting="A", menu=menu, step="0.1", low="0", high="10"))
    return Producer(terms.setting_text, terms.lattice, folder)


def test_a_device_that_runs_keeps_to_each_budget_of_now(tmp_path: Path) -> None:
    """Set, raised and taken away by another process, while this one goes on."""
    folder = tmp_path / "state"
    running = device(folder)
    assert len(list(running.reports(readings(40)))) == 40  # none so far
    ledger(state=folder, change="1", budget=1.0, window="day")
    assert running.report("2026-01-02T00:00:00Z", 5) is not None
    with refused("reading.budget", place="row 1, column time"):
        running.report("2026-01-02T00:01:00Z", 5)
    ledger(state=folder, change="1", budget=3.0, window="day")
    assert len(list(running.reports(readings(3, "2026-01-02")))) == 3
    with pytest.raises(StoppedError):
        running.report("2026-01-02T00:03:00Z", 5)
    ledger(state=folder, no_budget=True)
    assert len(list(running.reports(readings(40, "2026-01-02")))) == 40


class Piped:
    """A pipe that gives one part after another; between them something is done."""

    def __init__(self, *parts: bytes | Callable[[], object]) -> None:
        self._parts = list(parts)

    def read1(self, size: int, /) -> bytes:  # noqa: ARG002
        while self._parts:
            part = self._parts.pop(0)
            if isinstance(part, bytes):
                return part
            part()
        return b""


def test_a_pipe_that_is_being_masked_keeps_to_a_budget_that_is_set_meanwhile(tmp_path: Path) -> None:
    folder, out = tmp_path / "state", io.BytesIO()
    source = Piped(
        b"time,value\n",
        rows(1),
        lambda: ledger(state=folder, change="1", budget=3.0, window="day"),
        rows(40, "2026-01-02"),
    )
    with refused("reading.budget", place="row 5, column time"):
        mask_csv(source, out, device(folder), time="time", value="value")
    written = out.getvalue().decode().splitlines()
    assert [line.split(",")[0] for line in written[1:]] == [time for time, _ in readings(1) + readings(3, "2026-01-02")]
    assert charged(folder) == 4, "what goes out is charged, and nothing else"


def test_a_campaign_keeps_to_a_budget_that_is_set_between_two_batches(world: World, tmp_path: Path) -> None:
    sharer, _, _ = joined(tmp_path / "state", Wire(world))  # laplace:0.5: epsilon 2 for a change of 1

    def coming() -> Iterator[tuple[str, str]]:
        yield from readings(1000, "2026-11-16")
        write_budgets(State(tmp_path / "state"), {"local": Budget(10, "1", "day")})
        yield from readings(12, "2026-11-17")

    found = sharer.put(coming())
    assert (found.reports, found.refused) == (1005, {"budget": 7})


def test_rows_before_the_budget_go_out_each_time_and_are_charged_once(tmp_path: Path) -> None:
    folder, source = tmp_path / "state", tmp_path / "readings.csv"
    source.write_bytes(b"time,value\n" + rows(30))
    device(folder)
    ledger(state=folder, change="1", budget=8.0, window="day")
    written = []
    for name in ("one.csv", "two.csv"):
        with refused("reading.budget", place="row 9, column time"):
            mask(source, output=tmp_path / name, state=folder)
        written.append((tmp_path / name).read_text().splitlines())
    assert written[0] == written[1]
    assert len(written[0]) == 1 + 8
    assert charged(folder) == 8


def test_rows_before_a_revised_reading_go_out(tmp_path: Path) -> None:
    """Those after it are not masked, and so not charged."""
    known = device(tmp_path / "state")
    first = known.report("2026-01-01T00:05:00Z", 6)
    reports = known.reports(readings(30))
    assert [next(reports) for _ in range(5)] == list(known.reports(readings(5)))
    with refused("reading.revision", place="row 6, column time"):
        next(reports)
    assert charged(tmp_path / "state") == 6
    assert known.report("2026-01-01T00:05:00Z", 6) == first


def test_what_a_budget_made_coarser_stays_so_without_it(tmp_path: Path) -> None:
    """Also under another budget, from another process, and with another menu."""
    folder = tmp_path / "state"
    device(folder)
    ledger(state=folder, change="1", budget=8.5, window="day", then="coarser")
    running = device(folder)
    reports = list(running.reports(readings(30)))
    assert any("reported by laplace:100" in note for note in running.notes)
    spent = charged(folder)
    assert spent == 30
    ledger(state=folder, no_budget=True)
    assert list(running.reports(readings(30))) == reports
    assert list(device(folder).reports(readings(30))) == reports
    ledger(state=folder, change="1", budget=100.0, window="day", then="stop")
    assert list(running.reports(readings(30))) == reports
    ledger(state=folder, no_budget=True)
    other = tmp_path / "other.json"
    other.write_text('{"settings": [{"id": "A", "setting": "laplace:1"}]}')
    terms = agree(folder, Asked(setting="A", menu=other), change=True)
    assert list(Producer(terms.setting_text, terms.lattice, folder).reports(readings(30))) == reports
    assert charged(folder) == spent, "no reading had a second look"


TWO = {"settings": [{"id": "A", "setting": "laplace:0.5"}, {"id": "B", "setting": "laplace:50"}]}


def test_a_campaign_that_is_joined_again_gets_no_finer_look_at_what_was_coarser(world: World, tmp_path: Path) -> None:
    sharer, campaign, _ = joined(tmp_path / "state", Wire(world), menu=TWO, rewards={})
    write_budgets(sharer.state, {"local": Budget(10.5, "1", "day", then="coarser")})
    sharer.put(readings(12, "2026-11-16"))
    told = queue(sharer)
    assert [setting for _, _, setting in told].count("B") > 5
    write_budgets(sharer.state, {"local": Budget(math.inf)})
    sharer.send()
    sharer.leave(campaign)
    sharer.join("http://service", campaign, "A", consent=FREE)
    sharer.put(readings(12, "2026-11-16"))
    assert queue(sharer)[12:] == told
    assert read_ledger(sharer.state, "1").total.reports == 12


def test_a_budget_lets_no_campaign_hear_what_another_was_told(world: World, tmp_path: Path) -> None:
    """Two campaigns of one menu and lattice, by different settings: under a budget, too, each hears its own."""
    sharer, fine, consumer = joined(tmp_path / "state", Wire(world), "A", menu=TWO, rewards={})
    coarse = world.campaign(consumer, least_producers=1, menu=TWO, rewards={})
    sharer.join("http://service", coarse, "B", consent=FREE)
    write_budgets(sharer.state, {"local": Budget(1000, "1", "day", then="coarser")})
    sharer.put(readings(12, "2026-11-16"))
    with sharer.state.memory() as memory:
        told = set(memory.execute("SELECT campaign, setting FROM queue"))
    assert told == {(fine, "A"), (coarse, "B")}
