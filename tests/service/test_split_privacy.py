"""What each service stores, sends and logs of split totals says nothing about them."""

import base64
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halfmask.arrays import FloatArray
from halfmask.service.storage.split_rows import covered_number, covered_share, split_periods, split_shares
from halfmask.service.storage.tables import metadata
from tests.service.split_pair import AFTER, Device, Pair, link_to, split_pair, text, two_urls
from tests.service.test_split_sums import START
from tests.service.world import World
from tests.statistics import share

PEOPLE = 120
LOW, HIGH = 0, 4000
Columns = dict[str, list[bytes]]


class Heard:
    """A transport to the helper that keeps what the leader sends and hears."""

    def __init__(self, helper: World) -> None:
        self.send, self.bodies = link_to(helper), list[tuple[str, bytes, bytes]]()

    def __call__(self, method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Any:
        answer = self.send(method, address, headers, body)
        self.bodies.append((address, body or b"", answer[2]))
        return answer


def fill(pair: Pair, total: int, random: bytes | None = None) -> Heard:
    """Let everybody report the same total, and both services verify; one report is missing, so no sum is given yet."""
    heard = Heard(pair.helper)
    pair.reach(heard)
    pair.set(AFTER)
    for _ in range(PEOPLE):
        device = pair.join()
        leader, helper = pair.terms.prio3.shard(total, random or os.urandom(64))
        device.made[START] = os.urandom(16).hex(), text(leader), text(helper)
        device.report(START, total)
    pair.join().to_leader(START, total)
    assert pair.close(turns=1)["state"] == "closing"
    return heard


def columns(world: World) -> Columns:
    """Each column that has a row per producer or report, of all tables, as bytes; shares opened by their secrets."""
    found: Columns = {}
    with world.store.engine.connect() as connection:
        periods = connection.execute(split_periods.select()).mappings()
        secrets = {(row["holder"], row["split"], row["time"]): bytes.fromhex(row["secret"]) for row in periods}
        for table in metadata.sorted_tables:
            for row in connection.execute(table.select()).mappings():
                for name, value in (opened(secrets, row) if table is split_shares else row).items():
                    found.setdefault(f"{table.name}.{name}", []).append(as_bytes(value))
    return {name: rows for name, rows in found.items() if len(rows) >= PEOPLE}


def opened(secrets: Mapping[Any, bytes], row: Any) -> dict[str, Any]:
    secret, nonce = secrets[row["holder"], row["split"], row["time"]], row["nonce"]
    number = covered_number(secret, nonce, row["number"]) if row["verdict"] else 0
    return {**row, "share": covered_share(secret, nonce, row["share"]), "number": number}


def as_bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return struct.pack("<q", value) if isinstance(value, int) else str(value).encode()


def bits(rows: list[bytes]) -> FloatArray:
    """How often each bit is set, over the rows; shorter rows are filled with zeros."""
    longest = max(map(len, rows))
    table = np.frombuffer(b"".join(row.ljust(longest, b"\0") for row in rows), np.uint8).reshape(len(rows), longest)
    return np.asarray(np.unpackbits(table, axis=1).mean(axis=0), np.float64)


def told_apart(one: Columns, other: Columns) -> list[str]:
    """The columns whose bits have other frequencies: by Hoeffding's bound, |p - q| <= sqrt(2 log(4/rate) / n)."""
    assert one.keys() == other.keys()
    found = []
    for name in one:
        left, right = bits(one[name]), bits(other[name])
        size = min(len(left), len(right))
        rate = share(2 * 4096 * len(one))
        bound = np.sqrt(2 * np.log(4 / rate) / PEOPLE)
        if len(left) != len(right) or np.max(np.abs(left[:size] - right[:size])) > bound:
            found.append(name)
    return found


def everything(folder: Path, total: int, random: bytes | None = None) -> Columns:
    """All columns of both databases, and the verifiers that the leader sent."""
    folder.mkdir()
    with split_pair(*two_urls(folder)) as pair:
        heard = fill(pair, total, random)
        found = {f"leader {name}": rows for name, rows in columns(pair.leader).items()}
        found |= {f"helper {name}": rows for name, rows in columns(pair.helper).items()}
    sent = [json.loads(body) for path, body, _ in heard.bodies if path.endswith("/verify")]
    found["verifiers"] = [base64.b64decode(each["verifier"]) for body in sent for each in body["reports"]]
    return found


def test_both_databases_are_distributed_alike_for_two_totals(tmp_path: Path) -> None:
    """It takes seconds: hundreds of reports. Shares that are cut with bytes that repeat are told apart at once."""
    low, high = everything(tmp_path / "low", LOW), everything(tmp_path / "high", HIGH)
    assert {"leader split_shares.share", "helper split_shares.number", "verifiers"} <= low.keys()
    assert told_apart(low, high) == []
    leaking = [everything(tmp_path / f"leaking {total}", total, bytes(64)) for total in (LOW, HIGH)]
    assert {"leader split_shares.share", "leader split_shares.number"} <= set(told_apart(*leaking))


CANARY = 3_141_592_653
"""A total in steps; with it no other number in a database, message or log is mistaken."""


def test_a_total_is_nowhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Not in either database or its log file, in a message between the services, in an answer, or in a log line."""
    caplog.set_level("DEBUG")
    lattice = {"step": "0.01", "low": "0", "high": "40000000"}
    settings = [{"id": "S", "setting": "laplace:40000000@split"}]
    changed = {"lattice": lattice, "menu": {"settings": settings}, "rewards": {}}
    with split_pair(*two_urls(tmp_path), **changed) as pair:
        heard = Heard(pair.helper)
        pair.reach(heard)
        pair.set(AFTER)
        bad = pair.join()
        nonce, leader, _ = bad.cut(START, CANARY)
        bad.made[START] = nonce, leader, text(os.urandom(32))
        devices = [pair.join() for _ in range(3)]
        for each in (*devices, bad):
            each.report(START, CANARY)
        before = files(tmp_path)
        entry = pair.close()
        assert entry["split"] == {"counted": 3, "invalid": 1, "missing": 0}
        said = json.dumps(entry).encode() + b"".join(body + answer for _, body, answer in heard.bodies)
        said += "".join(map(str, (vars(record) for record in caplog.records))).encode()
        assert [hits(part) for part in (before, files(tmp_path), said)] == [[], [], []]
        owner = Device(pair, "", "", {})
        assert hits(str(owner.cut(START, CANARY)).encode()) == []
    assert hits(f"a total of {CANARY} steps".encode()) != []


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def hits(content: bytes) -> list[bytes]:
    """The forms of one total, and of three of them, that occur."""
    forms = []
    for total in (CANARY, 3 * CANARY):
        number = f"{total / 100:.2f}"
        forms += [str(total).encode(), number.encode(), f"{total:x}".encode(), number.replace(".", ",").encode()]
        forms += [struct.pack(form, total) for form in ("<q", ">q")]
    return [form for form in forms if form in content]
