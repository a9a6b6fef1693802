"""The contract of a store, on real databases of each kind."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count

import pytest
from sqlalchemy.exc import IntegrityError

from halfmask.service.serve import initialise
from halfmask.service.storage.booking_rows import EntryRow
from halfmask.service.storage.node_cell_rows import KnownRow
from halfmask.service.storage.period_rows import ClosedRow
from halfmask.service.storage.report_rows import ReportRow
from halfmask.service.storage.snapshot_rows import SnapshotRow
from halfmask.service.storage.sql_store import Store, StoreConflictError, open_store, prepare
from halfmask.service.storage.table_versions import newest_version, version_of
from tests.service.world import CAMPAIGN

FAR = 2**62
TERMS = CAMPAIGN | {"budget": 100}


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    made, _ = prepare(database)
    yield made
    made.close()


def begun(store: Store, producers: int = 2) -> tuple[int, list[int]]:
    with store.transaction() as tx:
        campaign = tx.add_campaign("street", tx.add_consumer("c", "n", 0), TERMS, 0)
        return campaign, [tx.add_producer(f"p{each}", campaign, "A", 0) for each in range(producers)]


def test_a_transaction_is_all_or_nothing(store: Store) -> None:
    campaign, (one, _) = begun(store)

    class Stopped(Exception):  # noqa: N818
        pass

    def write_and_stop() -> None:
        with store.transaction() as tx:
            tx.add_reports([ReportRow(one, 1, 5, "A", 2)])
            tx.spend(campaign, 2)
            raise Stopped

    with pytest.raises(Stopped):
        write_and_stop()
    with store.reading() as tx:
        assert tx.standing({one: [1]}) == {}
        assert tx.campaign(campaign) == tx.campaign("street")
    with store.transaction() as tx:
        assert tx.lock(campaign) == (100, 0)


def test_a_savepoint_undoes_its_own_part_alone(store: Store) -> None:
    _, (one, _) = begun(store)
    with store.transaction() as tx:
        tx.add_reports([ReportRow(one, 1, 5, "A", 0)])
        with suppress(ZeroDivisionError), tx.savepoint():
            tx.add_reports([ReportRow(one, 2, 5, "A", 0)])
            raise ZeroDivisionError
        tx.add_reports([ReportRow(one, 3, 5, "A", 0)])
    with store.reading() as tx:
        assert sorted(tx.standing({one: [1, 2, 3]})[one]) == [1, 3]


def test_reports_are_found_by_key_and_by_time(store: Store) -> None:
    campaign, (one, two) = begun(store)
    rows = [ReportRow(two, -5, -FAR, "B", 0), ReportRow(one, 10, FAR, "A", 3), ReportRow(one, 2, 7, "N", 0)]
    with store.transaction() as tx:
        tx.add_reports(rows)
    with store.reading() as tx:
        assert tx.standing({two: [-5, 10], one: [10]}) == {two: {-5: (-FAR, "B", 0)}, one: {10: (FAR, "A", 3)}}
        assert tx.standing({one: [3]}) == {}
        assert list(tx.reports(campaign, -5, 10)) == [rows[2], rows[0]]
        assert list(tx.reports(campaign, -4, 11)) == [rows[2], rows[1]]
        assert list(tx.reports(campaign + 1, -5, 11)) == []
        assert tx.reports_of([two], -100, 100) == [rows[0]]
    with store.transaction() as tx:
        assert tx.withdraw(one, 3, 11) == 1
        tx.remove_reports(campaign, -5, -4)
    with store.reading() as tx:
        assert list(tx.reports(campaign, -FAR, FAR)) == [rows[2]]


def test_few_reports_are_found_among_many(store: Store) -> None:
    """A range of time that holds far more than what is asked for; and more keys than one statement takes."""
    _, (one, two) = begun(store)
    with store.transaction() as tx:
        tx.add_reports([(each, time, time, "A", 1) for each in (one, two) for time in range(0, 3000, 2)])
    with store.reading() as tx:
        few = tx.standing({one: [0, 1, 2998], two: [4]})
        assert few[one][2998] == (2998, "A", 1)
        assert few[two] == {4: (4, "A", 1)}
        assert 1 not in few[one]
        many = tx.standing({one: range(3000)})
        assert sorted(many[one]) == list(range(0, 3000, 2))


def test_a_report_cannot_be_stored_twice(store: Store) -> None:
    _, (one, _) = begun(store)
    with store.transaction() as tx:
        tx.add_reports([ReportRow(one, 1, 5, "A", 0)])

    def again() -> None:
        with store.transaction() as tx:
            tx.add_reports([ReportRow(one, 1, 6, "A", 0)])

    with pytest.raises((IntegrityError, sqlite3.IntegrityError)):
        again()


def test_the_budget_is_spent_if_it_fits(store: Store) -> None:
    campaign, _ = begun(store)
    with store.transaction() as tx:
        assert tx.spend(campaign, 60)
        assert not tx.spend(campaign, 41)
        assert tx.spend(campaign, 40)
        assert tx.spend(campaign, -10)
    with store.transaction() as tx:
        assert tx.lock(campaign) == (100, 90)


def test_one_transaction_at_a_time_works_on_a_campaign(store: Store) -> None:
    """Without the lock two threads would read the same balance and one of their additions would be lost."""
    campaign, _ = begun(store)

    def add_up() -> None:
        for _ in range(20):
            with store.transaction() as tx:
                _, committed = tx.lock(campaign)
                entry = EntryRow("e", campaign, 1, committed, "p", 0)
                tx.add_entries([entry])
                assert tx.spend(campaign, 1)

    threads = [threading.Thread(target=add_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with store.reading() as tx:
        assert [entry.amount for entry in tx.ledger_of_campaign(campaign)] == list(range(80))


def test_a_fact_that_two_processes_put_is_the_first_ones(store: Store) -> None:
    found: list[str] = []

    def put(value: str) -> None:
        with store.transaction() as tx:
            found.append(tx.first_fact("node", value))

    threads = [threading.Thread(target=put, args=(f"{number}",)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    with store.reading() as tx:
        assert found == [tx.fact("node")] * 6


def test_a_ledger_is_read_in_parts(store: Store) -> None:
    campaign, _ = begun(store)
    with store.transaction() as tx:
        tx.add_entries([EntryRow(f"e{number}", campaign, 1, number, "p", 0) for number in range(5)])
        tx.add_entries([EntryRow("other", campaign + 1, 1, 99, "p", 0)])
    with store.reading() as tx:
        first = tx.ledger_of_campaign(campaign, most=3)
        rest = tx.ledger_of_campaign(campaign, first[-1].public, 3)
        assert [entry.amount for entry in first + rest] == [0, 1, 2, 3, 4]
        assert tx.ledger_of_campaign(campaign, "e4") == []


def test_a_deadlock_is_told_as_one_and_the_same_again_does(database: str) -> None:
    """Two processes lock two campaigns in opposite order: the database gives one of them up.

    Whoever was given up and tries again may be ahead of the other, which still waits: then it is told once more.
    """
    if database.startswith("sqlite"):
        return  # one transaction at a time
    both, told, done = threading.Barrier(2, timeout=60), list[int](), list[int]()

    def lock(store: Store, order: list[int], meet: bool) -> None:
        with store.transaction() as tx:
            tx.lock(order[0])
            if meet:
                both.wait()
            tx.lock(order[1])

    def work(store: Store, order: list[int]) -> None:
        for turn in count():
            with suppress(StoreConflictError):
                lock(store, order, meet=turn == 0)
                done.append(order[0])
                return
            told.append(order[0])

    with closing(prepare(database)[0]) as one, closing(prepare(database)[0]) as other:
        with one.transaction() as tx:
            keys = [tx.add_campaign(name, 1, TERMS, 0) for name in ("one", "two")]
        threads = [threading.Thread(target=work, args=pair) for pair in ((one, keys), (other, keys[::-1]))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert told
        assert sorted(done) == keys


def test_rows_of_periods_live_looks_and_nodes_come_back_as_they_were(store: Store) -> None:
    campaign, (one, two) = begun(store)
    cells = {"A": {"reports": 1, "producers": 1, "sum": -(10**40), "squares": 10**80}}
    row = ClosedRow("2026-11-16", 5, 6, cells, {"period": "2026-11-16", "name": "Zoë ☂"})
    with store.transaction() as tx:
        tx.add_closed(campaign, [row])
        tx.put_snapshot(campaign, "p", SnapshotRow(1, cells, {"a": 1}))
        tx.put_snapshot(campaign, "p", SnapshotRow(2, cells, {"a": 2}))
        assert tx.touch(campaign, "p", [one, two, one]) == 2
        assert tx.touch(campaign, "p", [one]) == 2
        tx.put_shown(campaign, "p", 1, {one: cells, two: {}})
        tx.put_shown(campaign, "p", 3, {one: cells})
        node = tx.add_node("n", campaign, "gateway", 0)
        tx.put_node_cells(campaign, node, "p", 3, {})
        tx.put_node_cells(campaign, node, "p", 4, cells)
        for each in (
            KnownRow("", "p", 3, False, {}),
            KnownRow("", "p", 4, True, cells),
            KnownRow("b", "q", 9, False, {}),
        ):
            tx.put_known(campaign, [each])
        assert tx.first_fact("node", "one") == tx.first_fact("node", "two") == "one"
    with store.transaction() as tx:
        assert tx.closed(campaign) == tx.closed(campaign, ["2026-11-16", "x"]) == {"2026-11-16": row}
        assert tx.closed_keys(campaign, ["x"]) == set()
        assert tx.closed_keys(campaign, ["x", "2026-11-16"]) == tx.closed_keys(campaign) == {"2026-11-16"}
        ((number, period),) = tx.events(campaign, 0)
        assert (period, tx.events(campaign, number)) == ("2026-11-16", [])
        assert tx.snapshots(campaign) == {"p": SnapshotRow(2, cells, {"a": 2})}
        assert tx.shown(campaign, "p", [one, two]) == {one: cells}
        assert tx.changes(campaign, "p") == {one: ([1, 3], False)}
        tx.put_shown(campaign, "p", 4, {one: {}})
        assert (tx.shown(campaign, "p", [one]), tx.changes(campaign, "p")) == ({}, {one: ([1, 3, 4], True)})
        assert (tx.node_version(node, "p"), tx.node_version(node, "q")) == (4, None)
        assert tx.node_cells(campaign, "p") == [cells]
        assert tx.node_name(node) == "n"
        assert tx.known(campaign, ["p"]) == [KnownRow("", "p", 4, True, cells)]
        assert [each.node for each in tx.known(campaign, ["q", "p"])] == ["", "b"]
        assert (tx.newest(campaign, ""), tx.newest(campaign, "b"), tx.newest(campaign, "c")) == (4, 9, 0)
        assert (tx.fact("node"), tx.fact("other")) == ("one", None)
        tx.untouch(campaign, "p", [one])
        assert tx.touched(campaign, "p") == [two]
        tx.forget_live(campaign, "p")
        tx.forget_node_cells(campaign, "p")
        assert (tx.snapshots(campaign), tx.touched(campaign, "p"), tx.node_cells(campaign, "p")) == ({}, [], [])


def test_tokens_invitations_and_rewards(store: Store) -> None:
    campaign, (one, two) = begun(store)
    with store.transaction() as tx:
        tx.add_token("a" * 64, "producer", one, 1, None)
        tx.add_token("b" * 64, "consumer", 9, 1, 50)
        tx.add_invitations(campaign, ["x", "y"])
        assert tx.use_invitation(campaign, "x", one)
        assert not tx.use_invitation(campaign, "x", two)
        assert not tx.use_invitation(campaign + 1, "y", two)
        tx.put_schedule(campaign, 5, {"A": 1})
        tx.put_schedule(campaign, -FAR, {"A": 2})
        tx.put_schedule(campaign, 5, {"A": 3})
        tx.set_left(one, 77)
        tx.revoke_tokens("consumer", 9, 60)
        tx.add_entries([EntryRow("e1", campaign, one, 5, "p", 1), EntryRow("e2", campaign, one, -5, "p", 2, "e1")])
    with store.reading() as tx:
        found = tx.identities(["a" * 64, "b" * 64, "c" * 64])
        assert found["a" * 64] == ("producer", one, campaign, 77, None, None)
        assert found["b" * 64] == ("consumer", 9, None, None, 50, 60)
        assert len(found) == 2
        assert tx.schedule(campaign) == [(-FAR, {"A": 2}), (5, {"A": 3})]
        assert tx.producer(one).left == 77
        assert tx.owed(campaign) == [("p0", 0)]
        entry, reversal = tx.entry(campaign, "e1"), tx.reversal(campaign, "e1")
        assert entry is not None
        assert reversal is not None
        assert (entry.amount, reversal.amount, reversal.reverses) == (5, -5, "e1")


def test_ids_that_differ_in_case_are_two(store: Store) -> None:
    """MySQL compares text without case unless told otherwise."""
    begun(store)
    with store.transaction() as tx:
        tx.add_campaign("STREET", 1, TERMS, 0)
        lower, upper = tx.campaign("street"), tx.campaign("STREET")
        assert lower is not None
        assert upper is not None
        assert lower.key != upper.key


def test_the_schema_is_made_once_and_asked_for(database: str) -> None:
    token = initialise(database)
    assert token is not None
    store = open_store(database)
    assert version_of(store.engine) == newest_version()
    store.close()
