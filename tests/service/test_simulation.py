"""Random operations by many producers against two workers, with lost answers and a store that fails, beside a model.

The model decides on its own what each answer must be, from the protocol's words. Every report's value is a number of
its own, so that sums prove that each accepted report counts exactly once.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from halfmask.service.serve import initialise
from halfmask.service.storage.sql_store import Store, StoreGoneError, Transaction, open_store
from halfmask_device.instants import DAY, MINUTE, Instant, instant_text
from tests.service.world import Clock, World, instant, sqlite_url

BEGINS = instant("2026-11-15T00:00:00Z")
DAYS = 12
GRACE = 120 * MINUTE
LEAST = 3
BUDGET = 2_000
SETTINGS = {"A": 2, "N": 5}


class Flaky(Store):
    """A store that fails on demand: before anything was written, or after it was, as a lost connection does."""

    def __init__(self, inner: Store) -> None:
        self.inner, self.fault = inner, ""

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        fault, self.fault = self.fault, ""
        if fault == "before":
            raise StoreGoneError
        with self.inner.transaction() as tx:
            yield tx
        if fault == "after":
            raise StoreGoneError

    def reading(self) -> Any:
        return self.inner.reading()

    def has_room(self) -> bool:
        return True

    def close(self) -> None:
        self.inner.close()


@dataclass
class Model:
    """What must be true: all reports that stand, who has left, what is closed, what is spent."""

    now: Instant = BEGINS + 600 * MINUTE
    producers: list[str] = field(default_factory=list)
    left: set[int] = field(default_factory=set)
    reports: dict[tuple[int, Instant], tuple[int, str, int]] = field(default_factory=dict)
    closed: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """Day: producers, reports, sum."""
    rewards: dict[int, dict[str, int]] = field(default_factory=dict)
    spent: int = 0
    nodes: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    """(node, day): version, reports, sum."""

    def reward(self, day: int, setting: str) -> int:
        begun = [self.rewards[each] for each in sorted(self.rewards) if each <= day]
        return begun[-1].get(setting, 0) if begun else SETTINGS[setting]

    def close_due(self) -> None:
        for day in range(DAYS):
            if self.now >= BEGINS + (day + 1) * DAY + GRACE:
                self.close(day)

    def close(self, day: int) -> None:
        if day in self.closed:
            return
        own = {key: each for key, each in self.reports.items() if (key[1] - BEGINS) // DAY == day}
        cells = [each for (_, of), each in self.nodes.items() if of == day]
        people = len({producer for producer, _ in own}) + sum(reports for _, reports, _ in cells)
        reports = len(own) + sum(reports for _, reports, _ in cells)
        self.closed[day] = (people, reports, sum(each[0] for each in own.values()) + sum(each[2] for each in cells))
        for key in own:
            del self.reports[key]

    def post(self, producer: int, time: Instant, steps: int, setting: str) -> str:
        day = (time - BEGINS) // DAY
        if time > self.now + 5 * MINUTE:
            return "future"
        stands = self.reports.get((producer, time))
        if stands is not None:
            return f"known {stands[2]}" if stands[:2] == (steps, setting) else "conflict"
        if day in self.closed or self.now >= BEGINS + (day + 1) * DAY + GRACE:
            return "closed"
        due = self.reward(day, setting)
        paid = due if self.spent + due <= BUDGET else 0
        self.spent += paid
        self.reports[producer, time] = (steps, setting, paid)
        return f"accepted {paid}"

    def leave(self, producer: int) -> None:
        self.left.add(producer)
        self.spent -= sum(each[2] for key, each in self.reports.items() if key[0] == producer)
        self.reports = {key: each for key, each in self.reports.items() if key[0] != producer}


class Simulation:
    """Operations, each on one of two workers, checked as they are answered."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.chance, self.model, self.clock = random.Random(seed), Model(), Clock()
        self.clock.now = self.model.now
        operator = initialise(sqlite_url(folder))
        assert operator is not None
        self.operator = operator
        self.stores = [Flaky(open_store(sqlite_url(folder), least_room=0)) for _ in range(2)]
        self.workers = [World(store, self.clock, operator) for store in self.stores]
        self.consumer = self.workers[0].consumer()
        terms = {"begins": instant_text(BEGINS), "ends": instant_text(BEGINS + DAYS * DAY), "time_zone": "UTC"}
        menu = {"settings": [{"id": "A", "setting": "laplace:1"}, {"id": "N", "setting": "none"}]}
        self.campaign = self.workers[0].campaign(
            self.consumer, **terms, grace_minutes=120, menu=menu, rewards=SETTINGS, budget=BUDGET,
            least_producers=LEAST, lattice={"step": "1", "low": "0", "high": "1000000000"},
        )  # fmt: skip
        self.path = f"/v1/campaigns/{self.campaign}"
        self.nodes = [self.ask("POST", f"{self.path}/nodes", self.operator, {"name": "n"}) for _ in range(2)]
        self.shown: dict[str, Any] = {}
        self.value = 0
        self.versions = [0, 0]

    def close(self) -> None:
        for worker, store in zip(self.workers, self.stores, strict=True):
            worker.close()
            store.close()

    def ask(self, method: str, path: str, token: str | None, body: Any = None) -> Any:
        """Ask a worker until it answers; the store may fail first, before or after it has written."""
        for fault in (self.chance.choices(["", "before", "after"], [8, 1, 1])[0], ""):
            which = self.chance.randrange(2)
            self.stores[which].fault = fault
            answer = self.workers[which].send(method, path, token, body)
            self.stores[which].fault = ""
            if answer.status_code != 503:
                assert answer.is_success, answer.text
                return answer.json()
        raise AssertionError("no answer")

    def step(self) -> None:
        operations: list[tuple[int, Callable[[], None]]] = [
            (70, self.post), (8, self.advance), (4, self.join), (1, self.leave), (3, self.close_period),
            (1, self.pay), (4, self.send_cells), (4, self.look),
        ]  # fmt: skip
        weights, works = zip(*operations, strict=True)
        self.model.close_due()
        self.chance.choices(works, weights)[0]()

    def advance(self) -> None:
        self.model.now = self.clock.now = self.model.now + self.chance.randrange(1, 240 * MINUTE)

    def join(self) -> None:
        self.model.producers.append(self.ask("POST", f"{self.path}/producers", None, {"setting": "A"})["token"])

    def here(self) -> list[int]:
        return [each for each in range(len(self.model.producers)) if each not in self.model.left]

    def leave(self) -> None:
        if len(self.here()) > 4:
            producer = self.chance.choice(self.here())
            self.ask("DELETE", "/v1/me", self.model.producers[producer])
            self.model.leave(producer)

    def post(self) -> None:
        if not self.here():
            return self.join()
        producer = self.chance.choice(self.here())
        sent = [self.report(producer) for _ in range(self.chance.randrange(1, 5))]
        body = {"reports": [{"time": instant_text(t), "steps": steps, "setting": s} for t, steps, s in sent]}
        expected = [self.model.post(producer, *each) for each in sent]
        for _ in range(self.chance.choice([1, 1, 2])):  # sometimes the answer is lost, and all is sent again
            results = self.ask("POST", "/v1/reports", self.model.producers[producer], body)["results"]
        for result, wanted in zip(results, expected, strict=True):
            found = f"{result['status']} {result['reward']}" if "reward" in result else result["code"]
            assert found in (wanted, wanted.replace("accepted", "known")), (found, wanted)
        return None

    def report(self, producer: int) -> tuple[Instant, int, str]:
        """A new value; or an old one again, or another for its time; mostly of the last two days."""
        mine = [key for key in self.model.reports if key[0] == producer]
        if mine and self.chance.random() < 0.3:
            key = self.chance.choice(mine)
            steps, setting, _ = self.model.reports[key]
            return key[1], steps + self.chance.choice([0, 0, 1]), setting
        self.value += 1
        back = self.chance.randrange(-10 * MINUTE, 2 * DAY)
        time = max(BEGINS, min(self.model.now - back, BEGINS + DAYS * DAY - 1))
        return time, self.value * self.value, self.chance.choice("AN")

    def close_period(self) -> None:
        ended = [day for day in range(DAYS) if BEGINS + (day + 1) * DAY <= self.model.now]
        if ended:
            day = self.chance.choice(ended[-2:])
            self.model.close(day)
            self.check(self.ask("POST", f"{self.path}/periods/{self.name(day)}/close", self.consumer))

    def pay(self) -> None:
        day = (self.model.now - BEGINS) // DAY + 1
        if day < DAYS:
            self.model.rewards[day] = {"A": self.chance.randrange(4), "N": self.chance.randrange(9)}
            self.ask(
                "PUT",
                f"{self.path}/rewards",
                self.consumer,
                {"rewards": self.model.rewards[day], "from": self.name(day)},
            )

    def send_cells(self) -> None:
        """A node's state of a day; it may be old news that was held up on the way."""
        node, day = self.chance.randrange(2), min((self.model.now - BEGINS) // DAY, DAYS - 1)
        version = max(0, self.versions[node] + self.chance.choice([1, 1, 0, -2]))
        self.versions[node] = max(version, self.versions[node])
        reports = self.chance.randrange(1, 50)
        cell = {"reports": reports, "producers": reports, "sum": 7 * reports, "squares": 49 * reports}
        body = {"version": version, "periods": {self.name(day): {"N": cell}}}
        self.ask("PUT", f"{self.path}/cells/{self.nodes[node]['node']}", self.nodes[node]["token"], body)
        stored = self.model.nodes.get((node, day))
        if day not in self.model.closed and (stored is None or version > stored[0]):
            self.model.nodes[node, day] = (version, reports, 7 * reports)

    def look(self) -> None:
        for entry in self.ask("GET", f"{self.path}/periods", self.consumer)["periods"]:
            self.check(entry)

    def check(self, entry: dict[str, Any]) -> None:
        day = (instant(f"{entry['period']}T00:00:00Z") - BEGINS) // DAY
        if day not in self.model.closed:
            assert (entry["state"], entry["withheld"], entry["sum"]) == ("open", "open", None)
            return
        assert self.shown.setdefault(entry["period"], entry) == entry  # a closed period never changes
        people, reports, total = self.model.closed[day]
        if people < LEAST:
            assert entry["withheld"] == f"fewer than {LEAST} producers"
        else:
            found = (entry["producers"], entry["reports"], entry["sum"]["estimate"])
            assert found == (people, reports, float(total))

    def finish(self) -> None:
        """Close everything, and compare sums and ledgers."""
        self.model.now = self.clock.now = BEGINS + (DAYS + 1) * DAY
        self.model.close_due()
        self.look()
        assert len(self.shown) == DAYS
        ledger = self.ask("GET", f"{self.path}/ledger", self.consumer)
        own = [self.ask("GET", "/v1/me/ledger", token)["entries"] for token in self.model.producers]
        states = [self.ask("GET", "/v1/me", token) for token in self.model.producers]
        listed = sum(entry["amount"] for entry in ledger["entries"])
        assert listed + ledger["expected"] == self.model.spent <= BUDGET
        assert sum(entry["amount"] for entries in own for entry in entries) == self.model.spent
        assert [each["earned"] for each in states] == [sum(entry["amount"] for entry in entries) for entries in own]
        shown = {key for key, entry in self.shown.items() if entry["withheld"] is None}
        assert listed == sum(entry["amount"] for entries in own for entry in entries if entry["period"] in shown)

    @staticmethod
    def name(day: int) -> str:
        return instant_text(BEGINS + day * DAY)[:10]


def run(folder: Path, seed: int, steps: int) -> Simulation:
    simulation = Simulation(folder, seed)
    try:
        for _ in range(steps):
            simulation.step()
        simulation.finish()
    finally:
        simulation.close()
    return simulation


@pytest.mark.parametrize("seed", [1, 2])
def test_random_operations_agree_with_the_model(tmp_path: Path, seed: int) -> None:
    simulation = run(tmp_path, seed, 300)
    assert simulation.model.spent > 0
    assert sum(people >= LEAST for people, _, _ in simulation.model.closed.values()) >= 2


@pytest.mark.slow
def test_ten_thousand_random_operations_agree_with_the_model(tmp_path: Path) -> None:
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        run(folder, 100 + seed, 500)


def test_a_planted_double_count_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that does not recognise what it has, and stores it a microsecond later."""
    real = Transaction.add_reports

    def forget(*_: Any) -> Any:
        return {}

    def store_beside(self: Transaction, bucket: int, rows: Any) -> None:
        for row in rows:
            while self.connection.exec_driver_sql(
                "SELECT 1 FROM reports WHERE bucket = ? AND producer = ? AND time = ?", (bucket, *row[:2])
            ).first():
                row = (row[0], row[1] + 1, *row[2:])
            real(self, bucket, [row])

    monkeypatch.setattr(Transaction, "standing", forget)
    monkeypatch.setattr(Transaction, "add_reports", store_beside)
    with pytest.raises(AssertionError):
        run(tmp_path, 1, 300)


def test_the_sums_alone_find_a_planted_double_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One report in fifty is added up twice when it is accepted; all answers to producers are right."""
    from halfmask.service import report_decisions

    seen = count()

    def twice(rows: Any, first: Any) -> Any:
        return added([row for row in rows for _ in range(2 if next(seen) % 50 == 0 else 1)], first)

    added = report_decisions.added_cells
    monkeypatch.setattr(report_decisions, "added_cells", twice)
    with pytest.raises(AssertionError):
        run(tmp_path, 1, 300)
