"""The store on real databases of each kind: the contract of a kind, and what the statements of the store do."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from halfmask.service.serve import initialise
from halfmask.service.storage.campaign_rows import EntryRow
from halfmask.service.storage.database_kinds import Sqlite
from halfmask.service.storage.period_rows import ClosedRow, KnownRow, SnapshotRow
from halfmask.service.storage.report_rows import PERIODS, ReportRow, buckets_of
from halfmask.service.storage.sql_store import Store, open_store, prepare_database
from halfmask.service.storage.tables import newest_version, version_of
from halfmask.testing.database_contract import DATABASE_CHECKS
from halfmask_device.protocol import Cell
from tests.service.world import CAMPAIGN

FAR = 2**62
TERMS = CAMPAIGN | {"budget": 100}


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    made, _ = prepare_database(database)
    yield made
    made.close()


def begun(store: Store, producers: int = 2) -> tuple[int, list[int]]:
    with store.transaction() as tx:
        campaign = tx.add_campaign("street", tx.add_consumer("c", "n", 0), TERMS, 0)
        return campaign, [tx.add_producer(f"p{each}", campaign, "A", 0) for each in range(producers)]


@pytest.mark.parametrize("check", DATABASE_CHECKS)
def test_a_kind_of_database_keeps_its_contract(check: Callable[[str], None], database: str) -> None:
    check(database)


def test_a_kind_of_database_with_a_fault_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sqlite, "stored", lambda *_: {})
    found = set()
    for number, check in enumerate(DATABASE_CHECKS):
        try:
            check(f"sqlite:///{tmp_path}/{number}.db")
        except (AssertionError, KeyError):
            found.add(check.__name__)
    assert {"reports_are_found_by_key_and_by_time", "a_report_is_not_stored_twice"} <= found
    assert "ids_that_differ_in_case_are_two" not in found


def test_reports_are_found_by_key_and_by_time(store: Store) -> None:
    campaign, (one, two) = begun(store)
    bucket = campaign * PERIODS + 20_000
    rows = [ReportRow(two, -5, -FAR, "B", 0), ReportRow(one, 10, FAR, "A", 3), ReportRow(one, 2, 7, "N", 0)]
    with store.transaction() as tx:
        tx.make_room(*buckets_of(campaign))
        tx.add_reports(bucket, rows)
    with store.reading() as tx:
        assert tx.standing(bucket, {two: [-5, 10], one: [10]}) == {two: {-5: (-FAR, "B", 0)}, one: {10: (FAR, "A", 3)}}
        assert tx.standing(bucket, {one: [3]}) == {}
        assert list(tx.reports(campaign, -5, 10)) == [rows[2], rows[0]]
        assert list(tx.reports(campaign, -4, 11)) == [rows[2], rows[1]]
        assert list(tx.reports(campaign + 1, -5, 11)) == []
        assert tx.reports_of(bucket, [two]) == [rows[0]]
    with store.transaction() as tx:
        assert tx.withdraw(bucket, two) == [rows[0]]
        assert tx.withdraw(bucket, two) == []
    with store.reading() as tx:
        assert list(tx.reports(campaign, -FAR, FAR)) == list(tx.reports_in(bucket)) == rows[:0:-1]


def test_the_budget_is_spent_if_it_fits(store: Store) -> None:
    campaign, _ = begun(store)
    with store.transaction() as tx:
        assert tx.spend(campaign, 60)
        assert not tx.spend(campaign, 41)
        assert tx.spend(campaign, 40)
        assert tx.spend(campaign, -10)
    with store.transaction() as tx:
        assert tx.lock(campaign) == (100, 90)


def test_a_ledger_is_read_in_parts(store: Store) -> None:
    campaign, _ = begun(store)
    with store.transaction() as tx:
        for period in "rpq":
            rows = [EntryRow(f"{period}{number}", campaign, number % 2, number, period, 0) for number in range(5)]
            tx.add_entries(rows)
        tx.add_entries([EntryRow("other", campaign + 1, 1, 99, "p", 0)])
        tx.show_entries(campaign, ["p", "r", "none"])
    with store.reading() as tx:
        found: list[EntryRow] = []
        while page := tx.shown_entries(campaign, found[-1].public if found else None, 3):
            found += page
        assert [entry.public for entry in found] == [f"{period}{number}" for period in "pr" for number in range(5)]
        assert tx.hidden_spending(campaign) == 10
        own = tx.entries_of(0, None, 4)
        assert [entry.public for entry in own + tx.entries_of(0, own[-1].public, 9)] == [
            f"{period}{number}" for period in "pqr" for number in (0, 2, 4)
        ]


def test_rows_of_periods_live_looks_and_nodes_come_back_as_they_were(store: Store) -> None:
    campaign, (one, two) = begun(store)
    cells = {"A": {"reports": 1, "producers": 1, "sum": -(10**40), "squares": 10**80}}
    row = ClosedRow("2026-11-16", 5, 6, cells, {"period": "2026-11-16", "name": "Zoë ☂"})
    with store.transaction() as tx:
        tx.add_closed(campaign, [row])
        assert tx.closed(campaign, 0, 9) == {}
        assert tx.unpublished(campaign) == tx.unpublished() == [(campaign, row)]
        for _ in range(2):  # the second changes nothing
            tx.publish(campaign, {row.period: row.entry})
        assert tx.unpublished() == []
        assert not tx.add_to_cells(campaign, "2026-11-16", {"A": Cell(2, 1, 10**20, 10**40)})
        assert tx.add_to_cells(campaign, "2026-11-16", {"A": Cell(1, -1, -3, 9), "B": Cell(1, 1, 5, 25)})
        assert tx.deletable(5) == []
        assert tx.deletable(6) == [(campaign, "2026-11-16")]
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
        assert tx.closed(campaign, -(2**62), 2**62) == {"2026-11-16": row}
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
        assert tx.node_cells(campaign, ["p"]) == [("p", cells)]
        counted = {"A": Cell(3, 0, 10**20 - 3, 10**40 + 9), "B": Cell(1, 1, 5, 25)}
        assert tx.cells(campaign, ["p", "2026-11-16"]) == {"2026-11-16": counted}
        assert tx.periods_with_cells(campaign) == ["2026-11-16"]
        assert tx.node_name(node) == "n"
        assert tx.known(campaign, ["p"]) == [KnownRow("", "p", 4, True, cells)]
        assert [each.node for each in tx.known(campaign, ["q", "p"])] == ["", "b"]
        assert (tx.newest(campaign, ""), tx.newest(campaign, "b"), tx.newest(campaign, "c")) == (4, 9, 0)
        assert (tx.fact("node"), tx.fact("other")) == ("one", None)
        tx.untouch(campaign, "p", [one])
        assert tx.touched(campaign, "p") == [two]
        tx.forget_open(campaign, ["p"])
        assert (tx.snapshots(campaign), tx.node_cells(campaign, ["p"])) == ({}, [])
        assert [tx.forget_changes(campaign, "p", 1) for _ in range(2)] == [2, 0]
        assert (tx.touched(campaign, "p"), tx.changes(campaign, "p")) == ([], {})
        tx.remove_cells(campaign, "2026-11-16")
        assert tx.cells(campaign, ["2026-11-16"]) == {}


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
        assert found["a" * 64] == ("producer", one, campaign, 77, None, None, None, None)
        assert found["b" * 64] == ("consumer", 9, None, None, 50, 60, None, None)
        assert len(found) == 2
        assert tx.schedule(campaign) == [(-FAR, {"A": 2}), (5, {"A": 3})]
        assert tx.producer(one).left == 77
        assert tx.owed(campaign) == []
        assert tx.earned(one) == (0, 0)
        entry = tx.entry(campaign, "e1")
        assert entry is not None
        reversal = tx.reversal(entry)
        assert reversal is not None
        assert (entry.amount, reversal.amount, reversal.reverses) == (5, -5, "e1")


def test_the_schema_is_made_once_and_asked_for(database: str) -> None:
    token = initialise(database)
    assert token is not None
    store = open_store(database)
    assert version_of(store.engine) == newest_version()
    store.close()
