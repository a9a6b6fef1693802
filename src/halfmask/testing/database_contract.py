"""The contract of a kind of database: what a service requires of every kind.

    @pytest.mark.parametrize("check", DATABASE_CHECKS)
    def test_my_kind(check):
        check("mykind://user:password@host/an_empty_database")

Each check takes the address of an empty database. Its kind is in
`halfmask.service.storage.database_kinds.DATABASES`. A database that acknowledges a write before it is on disk is
refused by `prepare` itself.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from itertools import count

from halfmask.extras import naming_extras

with naming_extras():
    from halfmask.service.storage.campaign_rows import EntryRow
    from halfmask.service.storage.report_rows import PERIODS, ReportRow, buckets_of
    from halfmask.service.storage.sql_store import Store, StoreConflictError, prepare_database

__all__ = ["DATABASE_CHECKS"]
PATIENCE = 60
"""Seconds that a thread of a check may take."""
TERMS = {"budget": 100}
FAR = 2**62
"""Steps of a report that need 63 bits."""


def a_transaction_is_all_or_nothing(address: str) -> None:
    """After an error nothing of a transaction is stored, and nothing of a savepoint within it."""
    with _store(address) as store:
        campaign, one, _ = _begun(store)
        with suppress(ZeroDivisionError), store.transaction() as tx:
            tx.add_reports(campaign * PERIODS, [ReportRow(one, 1, 5, "A", 2)])
            tx.spend(campaign, 2)
            raise ZeroDivisionError
        with store.transaction() as tx:
            _same(tx.lock(campaign), (100, 0))
            tx.add_reports(campaign * PERIODS, [ReportRow(one, 2, 5, "A", 0)])
            with suppress(ZeroDivisionError), tx.connection.begin_nested():
                tx.add_reports(campaign * PERIODS, [ReportRow(one, 3, 5, "A", 0)])
                raise ZeroDivisionError
            tx.add_reports(campaign * PERIODS, [ReportRow(one, 4, 5, "A", 0)])
        with store.reading() as tx:
            _same(sorted(tx.standing(campaign * PERIODS, {one: [1, 2, 3, 4]})[one]), [2, 4])


def reports_are_found_by_key_and_by_time(address: str) -> None:
    """Large numbers and negative times are read back unchanged, also if a query asks for few reports among many."""
    with _store(address) as store:
        campaign, one, two = _begun(store)
        bucket = campaign * PERIODS
        rows = [ReportRow(two, -5, -FAR, "B", 0), ReportRow(one, 10, FAR, "A", 3), ReportRow(one, 2, 7, "N", 0)]
        with store.transaction() as tx:
            tx.add_reports(bucket, rows)
        with store.reading() as tx:
            _same(
                tx.standing(bucket, {two: [-5, 10], one: [10]}),
                {two: {-5: (-FAR, "B", 0)}, one: {10: (FAR, "A", 3)}},
            )
            _same(list(tx.reports(campaign, -5, 10)), [rows[2], rows[0]])
        with store.transaction() as tx:
            tx.add_reports(bucket, [(each, time, time, "A", 1) for each in (one, two) for time in range(20, 3000, 2)])
        with store.reading() as tx:
            _same(
                tx.standing(bucket, {one: [21, 2998], two: [24]}),
                {one: {2998: (2998, "A", 1)}, two: {24: (24, "A", 1)}},
            )
            _same(sorted(tx.standing(bucket, {one: range(20, 3000)})[one]), list(range(20, 3000, 2)))


def reports_of_a_bucket_are_deleted_in_steps(address: str) -> None:
    """Deleting leaves the reports of other buckets, ends, and leaves room for more."""
    with _store(address) as store:
        campaign, one, two = _begun(store)
        low, high = buckets_of(campaign)
        other, *_ = buckets_of(campaign + 1)
        rows = [(each, time, time, "A", 1) for each in (one, two) for time in range(-7, 8)]
        with store.transaction() as tx:
            tx.make_room(*buckets_of(campaign + 1))
            for bucket in (low, low + 1, other):
                tx.add_reports(bucket, rows)
            _same(tx.first_reports(low, [one, two, 0]), {one: (-7, "A"), two: (-7, "A")})
        steps = 0
        while steps < 100:
            with store.transaction() as tx:
                if not tx.clear_reports(low, high, 7):
                    break
            steps += 1
        with store.transaction() as tx:
            _same((0 < steps <= 9, list(tx.reports(campaign, -9, 9))), (True, []))
            _same([tuple(row) for row in tx.reports_in(other)], rows)
            tx.make_room(low, high)
            tx.add_reports(low, rows)
            _same([tuple(row) for row in tx.reports_in(low)], rows)


def a_report_is_not_stored_twice(address: str) -> None:
    """A second report of one producer for one time is an error, and does not change the first."""
    with _store(address) as store:
        campaign, one, _ = _begun(store)
        for steps in (5, 6):
            with suppress(Exception), store.transaction() as tx:  # each driver has its own error
                tx.add_reports(campaign * PERIODS, [ReportRow(one, 1, steps, "A", 0)])
        with store.reading() as tx:
            _same(tx.standing(campaign * PERIODS, {one: [1]}), {one: {1: (5, "A", 0)}})


def ids_that_differ_in_case_are_two(address: str) -> None:
    """Ids that differ only in upper and lower case are different ids."""
    with _store(address) as store:
        lower, *_ = _begun(store)
        with store.transaction() as tx:
            upper = tx.add_campaign("STREET", 1, TERMS, 0)
            found = [tx.campaign(name) for name in ("street", "STREET")]
        _same([each and each.key for each in found], [lower, upper])


def a_locked_campaign_has_one_writer(address: str) -> None:
    """Without the lock two threads would read the same balance, and one of their additions would be lost."""
    with _store(address) as store:
        campaign, *_ = _begun(store)

        def add_up() -> None:
            for _ in range(20):
                with store.transaction() as tx:
                    _, committed = tx.lock(campaign)
                    tx.add_entries([EntryRow("e", campaign, 1, committed, "p", 0)])
                    tx.spend(campaign, 1)

        _together(*[add_up] * 4)
        with store.reading() as tx:
            _same([entry.amount for entry in tx.ledger_of_campaign(campaign)], list(range(80)))


def the_first_of_two_facts_stays(address: str) -> None:
    """If several threads store a fact at once, all of them read back the first."""
    with _store(address) as store:
        found: list[str] = []

        def put(value: str) -> None:
            with store.transaction() as tx:
                found.append(tx.first_fact("node", value))

        _together(*[lambda each=f"{number}": put(each) for number in range(6)])
        with store.reading() as tx:
            _same(found, [tx.fact("node")] * 6)


def a_deadlock_is_a_conflict(address: str) -> None:
    """If two processes lock two campaigns in opposite order, one gets a `StoreConflictError` and can try again."""
    with _store(address) as one, _store(address) as other:
        with one.transaction() as tx:
            if tx.alone:
                return
            keys = [tx.add_campaign(name, 1, TERMS, 0) for name in ("one", "two")]
        both, conflicts, done = threading.Barrier(2, timeout=PATIENCE), list[int](), list[int]()

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
                conflicts.append(order[0])

        _together(lambda: work(one, keys), lambda: work(other, keys[::-1]))
        _same((bool(conflicts), sorted(done)), (True, keys))


DATABASE_CHECKS: tuple[Callable[[str], None], ...] = (
    a_transaction_is_all_or_nothing,
    reports_are_found_by_key_and_by_time,
    a_report_is_not_stored_twice,
    reports_of_a_bucket_are_deleted_in_steps,
    ids_that_differ_in_case_are_two,
    a_locked_campaign_has_one_writer,
    the_first_of_two_facts_stays,
    a_deadlock_is_a_conflict,
)
"""Every check; each raises an AssertionError if the kind of database does not keep it."""


@contextmanager
def _store(address: str) -> Iterator[Store]:
    with closing(prepare_database(address)[0]) as store:
        yield store


def _begun(store: Store) -> tuple[int, int, int]:
    """Return the key of a new campaign with a budget of 100, and those of two producers."""
    with store.transaction() as tx:
        campaign = tx.add_campaign("street", tx.add_consumer("c", "n", 0), TERMS, 0)
        one, two = (tx.add_producer(name, campaign, "A", 0) for name in ("p0", "p1"))
        tx.make_room(*buckets_of(campaign))
        return campaign, one, two


def _same(found: object, expected: object) -> None:
    if found != expected:
        raise AssertionError(f"found {found!r}, expected {expected!r}")


def _together(*work: Callable[[], None]) -> None:
    """Run functions in threads at the same time."""
    threads = [threading.Thread(target=each) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
