"""What a device remembers: the first draw stays, whatever happens to the process; damage is told, not mended."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from halfmask.errors import FileFormatError
from halfmask_device import Lattice, Producer, State, device_state, read_ledger
from halfmask_device.masking import Channel
from halfmask_device.reading_times import day_of
from halfmask_device.secret import Keys, Secret
from tests.device.laws import TESTS
from tests.refusals import refused
from tests.statistics import fair_coin

LATTICE = Lattice("0.001", "0", "10")
READINGS = [(f"2026-01-01 {hour:02}:00", f"0.{hour:03}") for hour in range(24)]
FILES = {"secret", "memory.sqlite", "memory.sqlite-wal", "memory.sqlite-shm", "terms.json"}
STREAM = """
import io, sys
from halfmask_device import Lattice, Producer, mask_csv
from tests.refusals import refused
device = Producer("laplace:1", Lattice("0.001", "0", "10"), sys.argv[1])
mask_csv(open(0, "rb", closefd=False), sys.stdout.buffer, device, time="time", value="value")
"""


def device(folder: Path, setting: str = "laplace:1", **consent: bool) -> Producer:
    return Producer(setting, LATTICE, folder / "state", **consent)


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A process that masks what comes through its pipe."""
    command = [sys.executable, "-c", STREAM, str(folder / "state")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_the_same_reading_gives_the_same_report(tmp_path: Path) -> None:
    first = list(device(tmp_path).reports(READINGS))
    assert list(device(tmp_path).reports(READINGS)) == first
    again = list(device(tmp_path, "gaussian:5", change=True).reports(READINGS))  # a new draw would be a second look
    assert again == first
    assert list(device(tmp_path, "none", change=True).reports(READINGS)) == first
    later = [(f"2026-01-02 {hour:02}:00", 1) for hour in range(24)]
    assert list(device(tmp_path, "none").reports(later)) == [1000] * 24
    assert list(device(tmp_path, "laplace:1", change=True).reports(later)) == [1000] * 24  # told already
    assert [device(tmp_path).report(*each) for each in reversed(READINGS)] == first[::-1]
    assert list(device(tmp_path / "other").reports(READINGS)) != first


def test_equal_readings_at_other_times_or_of_other_sensors_have_their_own_noise(tmp_path: Path) -> None:
    ours = device(tmp_path, "laplace:1000")
    assert len({ours.report(str(number), 5) for number in range(30)}) > 25
    assert len({ours.report("1", 5, str(sensor)) for sensor in range(30)}) > 25
    assert ours.report("1", "5.0") == ours.report(" 1 ", 5.0) == ours.report("1", 5.0001)  # one lattice point
    twice = list(ours.reports([("77", 1), ("77", 1), ("77", None), ("77", 1)]))
    assert twice[0] == twice[1] == twice[3]
    assert twice[2] is None


def test_many_readings_keep_their_order_over_batches(tmp_path: Path) -> None:
    readings = [(str(number), number % 7) for number in range(2500)]
    ours = device(tmp_path, "none")
    assert list(ours.reports(readings)) == [1000 * (number % 7) for number in range(2500)]
    with refused("reading.number"):
        list(ours.reports([*readings[:2100], ("x", "much")]))
    with refused("reading.missing", place="row 1, column time"):
        ours.report(" ", 1)


def test_processes_at_once_agree_on_every_report(tmp_path: Path) -> None:
    rows = "time,value\n" + "".join(f"{number},{number % 10}\n" for number in range(300))
    crowd = [started(tmp_path) for _ in range(4)]
    for process in crowd:
        assert process.stdin is not None
        process.stdin.write(rows.encode())
        process.stdin.close()
    said = [process.stdout.read() for process in crowd if process.stdout is not None]
    assert [process.wait(60) for process in crowd] == [0] * 4
    for process in crowd:
        process.stdout.close()  # type: ignore[union-attr]
    assert len(set(said)) == 1
    assert said[0].count(b"\n") == 301
    assert said[0] != rows.encode()


def test_the_log_is_asked_for_again_where_sqlite_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where several processes open a new folder at the same moment."""
    with closing(sqlite3.connect(tmp_path / "x")) as other, closing(sqlite3.connect(tmp_path / "x", timeout=0)) as ours:
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN")
        other.execute("SELECT * FROM t").fetchall()
        waits: list[float] = []
        monkeypatch.setattr(device_state.time, "sleep", lambda seconds: (waits.append(seconds), other.commit()))
        device_state._log_ahead(ours)
        assert len(waits) == 1
        assert ours.execute("PRAGMA journal_mode").fetchone() == ("wal",)


@pytest.mark.parametrize("rows", [1, 40, pytest.param(2500, marks=pytest.mark.slow)])
def test_a_killed_process_leaves_every_report_it_handed_out(tmp_path: Path, rows: int) -> None:
    process = started(tmp_path)
    assert process.stdin is not None
    assert process.stdout is not None
    text = "time,value\n" + "".join(f"{number},{number % 10}\n" for number in range(rows))
    process.stdin.write(text.encode())
    process.stdin.flush()
    handed_out = [process.stdout.readline() for _ in range(2)]
    handed_out += [process.stdout.readline() for _ in range(rows // 4)]
    process.send_signal(signal.SIGKILL)
    handed_out += process.stdout.readlines()
    process.stdout.close()
    process.stdin.close()
    assert process.wait(60) == -signal.SIGKILL
    reports = [line.split(b",") for line in handed_out[1:] if line.endswith(b"\n")]
    again = device(tmp_path)
    assert len(reports) >= 1
    for number, report in reports:
        repeated = again.report(number.decode(), int(number) % 10)
        assert repeated is not None
        assert again.lattice.text(repeated).encode() == report.strip()


@pytest.mark.parametrize("delay", [0.02, 0.05, 0.08, 0.12, 0.2])
def test_a_process_killed_while_it_begins_leaves_a_folder_that_can_be_begun(tmp_path: Path, delay: float) -> None:
    process = started(tmp_path)
    time.sleep(delay)
    process.kill()
    process.communicate()
    reports = list(device(tmp_path).reports(READINGS))
    assert list(device(tmp_path).reports(READINGS)) == reports


def test_reports_are_not_clipped(tmp_path: Path) -> None:
    """Of a reading at the end of the range half the reports lie beyond it, so that totals stay unbiased."""
    reports = [report for report in device(tmp_path).reports((str(n), 11) for n in range(4000)) if report is not None]
    beyond, within = sum(report > 10_000 for report in reports), sum(report < 10_000 for report in reports)
    assert fair_coin(beyond, beyond + within, TESTS)
    assert beyond > 1000


def test_the_folder_is_private_and_holds_nothing_raw(tmp_path: Path) -> None:
    """Nor by chance: of so fine a lattice, neither the noise is 0 nor five bytes of a random tag are the reading's."""
    ours = Producer("laplace:1", Lattice("0.000000001", "0", "10"), tmp_path / "state")
    for number in range(28):
        ours.report(f"2031-07-{number + 1:02}", "7.771234567")
    ours.report("2031-08-01", "")
    folder = tmp_path / "state"
    files = {path.name for path in folder.iterdir()}
    assert {"secret", "memory.sqlite", "terms.json"} <= files <= FILES
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in (*folder.iterdir(), tmp_path / "state.secret"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        content = path.read_bytes()
        steps = 7_771_234_567
        for raw in (b"7.77123", b"777123", b"2031-0", *(steps.to_bytes(5, order) for order in ("big", "little"))):
            assert raw not in content


def flip(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    path.chmod(0o600)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no secret": lambda folder: ((folder / "secret").unlink(), folder.with_name("state.secret").unlink()),
    "an empty secret": lambda folder: (folder / "secret").write_bytes(b""),
    "half a secret": lambda folder: os.truncate(folder / "secret", 60),
    "another digit in the secret": lambda folder: flip(folder / "secret", b'"day": 0', b'"day": 1'),
    "a foreign memory": lambda folder: (folder / "memory.sqlite").write_bytes(b"nothing of the kind" * 500),
    "half a memory": lambda folder: os.truncate(folder / "memory.sqlite", 5000),
    "broken terms": lambda folder: (folder / "terms.json").write_text('{"format": '),
    "foreign terms": lambda folder: (folder / "terms.json").write_text("[]"),
    "terms of a newer version": lambda folder: flip(folder / "terms.json", b'"version": 2', b'"version": 3'),
    "terms without a step": lambda folder: flip(folder / "terms.json", b'"step"', b'"stop"'),
    "terms with less noise": lambda folder: flip(folder / "terms.json", b"laplace:1", b"laplace:0.1"),
    "terms without a seal": lambda folder: flip(folder / "terms.json", b'"seal"', b'"deal"'),
    "an older version's folder": lambda folder: write(folder / "noise.sqlite", b""),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_told_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "state"
    list(device(tmp_path).reports(READINGS))
    DAMAGE[damage](folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in ("", ".json")}
    with pytest.raises(FileFormatError) as told:
        list(device(tmp_path).reports(READINGS))
    assert str(folder) in str(told.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in ("", ".json")} == before


def test_two_secrets_that_are_not_of_one_chain_are_told_apart(tmp_path: Path) -> None:
    device(tmp_path)
    device(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "state" / "secret", tmp_path / "state" / "secret")
    with refused("option.two_devices"):
        device(tmp_path)


@pytest.mark.parametrize("file", ["state/secret", "state/memory.sqlite", "state.secret"])
def test_what_others_can_read_is_refused(tmp_path: Path, file: str) -> None:
    device(tmp_path)
    (tmp_path / file).chmod(0o644)
    with refused("run.private"):
        device(tmp_path)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    device(tmp_path)
    (tmp_path / "state").chmod(mode)
    with refused("run.private"):
        device(tmp_path)


LOSSES: dict[str, Callable[[Path, Path], object]] = {
    "restored from a copy": lambda folder, copy: (shutil.rmtree(folder), shutil.copytree(copy, folder)),
    "rolled back file by file": lambda folder, copy: shutil.copytree(copy, folder, dirs_exist_ok=True),
    "emptied": lambda folder, _: [path.unlink() for path in folder.iterdir()],
    "removed": lambda folder, _: shutil.rmtree(folder),
    "without its memory": lambda folder, _: [path.unlink() for path in folder.glob("memory*")],
    "without its terms": lambda folder, _: (folder / "terms.json").unlink(),
    "without the secret inside": lambda folder, _: (folder / "secret").unlink(),
    "without the secret beside": lambda folder, _: folder.with_name("state.secret").unlink(),
}


@pytest.mark.parametrize("loss", LOSSES)
def test_whatever_happens_to_the_folder_no_reading_gets_a_second_draw(tmp_path: Path, loss: str) -> None:
    folder, copy = tmp_path / "state", tmp_path / "copy"
    early = list(device(tmp_path).reports(READINGS[:12]))
    shutil.copytree(folder, copy)
    first = list(device(tmp_path).reports(READINGS))
    assert first[:12] == early
    LOSSES[loss](folder, copy)
    assert list(device(tmp_path).reports(READINGS)) == first


def test_a_cloned_device_gives_the_same_reports(tmp_path: Path) -> None:
    device(tmp_path)
    shutil.copytree(tmp_path / "state", tmp_path / "clone" / "state")
    ours, clone = device(tmp_path), device(tmp_path / "clone")
    assert [ours.report(*each) for each in READINGS] == [clone.report(*each) for each in READINGS]
    assert list(device(tmp_path / "other").reports(READINGS)) != list(ours.reports(READINGS))


def test_another_value_for_a_time_is_refused_and_counted_when_it_is_asked_for(tmp_path: Path) -> None:
    ours = device(tmp_path)
    first = ours.report("2026-01-01 00:30", "1.5")
    for when in ("2026-01-01 00:30", "2026-01-01T00:30", "2026-01-01T00:30:00.000", "20260101T0030"):
        with refused("reading.revision"):
            ours.report(when, "1.6")
        assert ours.report(when, "1.5") == first
    assert ours.report("2026-01-01T00:30Z", "1.6") is not None  # another time: naive ones name no instant
    revising = device(tmp_path, revise=True)
    revised = revising.report("2026-01-01 00:30", "1.6")
    assert revised == revising.report("2026-01-01 00:30", "1.6")
    assert any("one more observation" in note for note in revising.notes)
    with refused("reading.revision"):
        ours.report("2026-01-01 00:30", "1.5")  # what was revised stays so
    (day,) = read_ledger(State(tmp_path / "state"), "1").days
    assert (day.window, day.reports, day.revisions) == ("2026-01-01", 3, 1)


def test_one_batch_with_two_values_for_a_time_is_refused_as_well(tmp_path: Path) -> None:
    with refused("reading.revision", place="row 3, column time"):
        list(device(tmp_path).reports([("2026-01-01", 1), ("2026-01-02", 1), ("2026-01-01", 2)]))


@pytest.mark.parametrize("time", ["00:30", "7:15", "23:59:59", "12.30", "1:05 pm"])
def test_a_time_of_day_is_refused(tmp_path: Path, time: str) -> None:
    with refused("reading.time_of_day"):
        device(tmp_path).report(time, 1)


def test_times_without_a_date_are_masked_and_noted(tmp_path: Path) -> None:
    ours = device(tmp_path)
    assert ours.report("t1", 5) == ours.report("t1", 5)
    assert any("no date" in note for note in ours.notes)
    dated = device(tmp_path / "dated")
    assert dated.report("1767225600", 5) == dated.report("2026-01-01T00:00:00Z", 5)  # seconds since 1970
    assert dated.report("1767225600000", 5) == dated.report("2026-01-01T01:00:00+01:00", 5)
    assert dated.notes == []


def test_deleted_days_cannot_be_masked_again_and_later_ones_go_on_as_they_would(tmp_path: Path) -> None:
    device(tmp_path)
    shutil.copytree(tmp_path / "state", tmp_path / "twin" / "state")
    state = State(tmp_path / "state")
    state.forget(day_of("2026-01-01"))
    stolen = (tmp_path / "state" / "secret").read_bytes()
    assert stolen == (tmp_path / "state.secret").read_bytes()
    assert Secret.read(tmp_path / "twin" / "state" / "secret").chain.hex().encode() not in stolen
    ours, twin = device(tmp_path), device(tmp_path / "twin")
    assert ours.report("2026-01-01", 5) == twin.report("2026-01-01", 5)
    with refused("reading.forgotten"):
        ours.report("2025-12-31", 5)
    shutil.copy(tmp_path / "twin" / "state" / "secret", tmp_path / "state" / "secret")  # rolled back
    with refused("reading.forgotten"):
        device(tmp_path).report("2025-12-31", 5)


def test_days_to_come_are_not_forgotten(tmp_path: Path) -> None:
    device(tmp_path)
    with refused("option.future", "forget_before"):
        State(tmp_path / "state").forget_before("2149-01-01")
    assert device(tmp_path).report("2026-01-01", 5) is not None


def test_threads_share_a_device(tmp_path: Path) -> None:
    ours = device(tmp_path)
    days = [[(f"2026-{month:02}-{day:02}", "0.5") for day in range(1, 25)] for month in range(1, 13)]
    with ThreadPoolExecutor(12) as pool:
        told = list(pool.map(lambda readings: [ours.report(*each) for each in readings], days))
    alone = device(tmp_path)
    assert told == [[alone.report(*each) for each in readings] for readings in days]
    assert read_ledger(State(tmp_path / "state"), "1").total.reports == 12 * 24


def test_threads_derive_the_keys_of_days_that_one_would() -> None:
    secret = Secret.new()
    wanted = [Keys(secret).of(day) for day in range(0, 20_000, 500)]
    for _ in range(20):
        shared = Keys(secret)
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(shared.of, range(0, 20_000, 500))) == wanted


def test_no_noise_on_a_folder_that_promised_some_needs_consent(tmp_path: Path) -> None:
    device(tmp_path)
    for setting in ("none", "laplace:0.01"):
        with refused("option.change", "change"):
            device(tmp_path, setting)
    assert device(tmp_path, "none", change=True).report("2026-01-01", 2) == 2000
    assert device(tmp_path, "none").report("2026-01-01", 2) == 2000


def test_a_copy_of_the_folder_gives_the_same_reports(tmp_path: Path) -> None:
    first = list(device(tmp_path).reports(READINGS))
    shutil.copytree(tmp_path / "state", tmp_path / "copy" / "state")
    assert list(device(tmp_path / "copy").reports(READINGS)) == first


def test_a_lattice_does_not_change_under_a_device(tmp_path: Path) -> None:
    device(tmp_path)
    with refused("option.lattice", "step", "low", "high", "state"):
        Producer("laplace:1", Lattice("1", "0", "10"), tmp_path / "state")


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with refused("run.state"):
        device(tmp_path)


def test_a_look_is_remembered_where_it_would_be_if_it_were_drawn() -> None:
    """Settings of before are only looked up, without their noise: over sensors, days and times of any spelling."""
    channel = Channel.of("laplace:0.5", Lattice("0.001", "0", "10"))
    assert Channel.of("laplace:0.5", Lattice("0.001", "0", "10")) is channel
    looks = [(s, time, day, bytes([day]) * 32, 7) for s in ("", "a:1") for day in (3, 4) for time in ("x", "é", "1:x")]
    assert len(set(channel.drawn(looks).slots)) == len(looks)
