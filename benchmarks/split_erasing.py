"""How long the transaction that gives a split sum takes to erase the period's shares, and how long the steps after it.

``HALFMASK_BENCH_SHARES`` names another number of shares. The yardstick deletes the same rows in that transaction.
Nothing is asserted.
"""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial

from sqlalchemy import delete

from halfmask.service.storage.split_rows import HELPER, Holding, NewShare, split_shares
from halfmask.service.storage.sql_store import Store, prepare_database

SHARES = int(os.environ.get("HALFMASK_BENCH_SHARES", "100000"))
AT_ONCE = 1000
ERASED, DELETED, KEPT = 1, 2, 3
"""Periods, by their time."""
HOLDING = Holding(HELPER, 1)


def fill(store: Store) -> None:
    for start in range(0, SHARES, AT_ONCE):
        for time_ in (ERASED, DELETED, KEPT):
            names = [[os.urandom(16).hex() for _ in range(2)] for _ in range(min(AT_ONCE, SHARES - start))]
            with store.transaction() as tx:
                tx.add_shares(HOLDING, [NewShare(time_, *pair, os.urandom(32)) for pair in names])


def erase(store: Store) -> None:
    with store.transaction() as tx:
        tx.erase_shares(HOLDING, ERASED)


def clear(store: Store) -> None:
    with store.transaction() as tx:
        tx.clear_erased()


def delete_all(store: Store) -> None:
    with store.transaction() as tx:
        tx.connection.execute(delete(split_shares).where(split_shares.c.time == DELETED))


def taken(work: Callable[[], None]) -> tuple[float, float]:
    """Seconds by the clock, and of the processor."""
    clock, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - used


def run() -> None:
    """Print what a transaction takes that erases the shares, and one that deletes them."""
    print(f"erasing {SHARES:,} shares, SQLite, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder, closing(prepare_database(f"sqlite:///{folder}/b.db")[0]) as store:
        fill(store)
        erased = taken(partial(erase, store))
        steps = [taken(partial(clear, store)) for _ in range(SHARES // AT_ONCE)]
        deleted = taken(partial(delete_all, store))
    for name, (seconds, used) in (("erased", erased), ("longest later step", max(steps)), ("deleted", deleted)):
        print(f"  {name:20} {seconds:6.2f} s by the clock, {used:5.2f} s of processor", flush=True)
