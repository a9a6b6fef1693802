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
from pathlib import Path

import pytest

from halfmask.errors import FileFormatError, HalfmaskError, OptionError, ReadingError, RunError
from halfmask_device import Lattice, Producer, State
from tests.device.laws import TESTS
from tests.statistics import fair_coin

LATTICE = Lattice("0.001", "0", "10")
READINGS = [(f"2026-01-01 {hour:02}:00", f"0.{hour:03}") for hour in range(24)]
STREAM = """
import io, sys
from halfmask_device import Lattice, Producer, mask_csv
device = Producer("laplace:1", Lattice("0.001", "0", "10"), sys.argv[1])
mask_csv(open(0, "rb", closefd=False), sys.stdout.buffer, device, time="time", value="value")
"""


def device(folder: Path, setting: str = "laplace:1") -> Producer:
    return Producer(setting, LATTICE, folder / "state")


def started(folder: Path) -> subprocess.Popen[bytes]:
    """A process that masks what comes through its pipe."""
    command = [sys.executable, "-c", STREAM, str(folder / "state")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def test_the_same_reading_gives_the_same_report(tmp_path: Path) -> None:
    first = list(device(tmp_path).reports(READINGS))
    assert list(device(tmp_path).reports(READINGS)) == first
    assert list(device(tmp_path, "gaussian:5").reports(READINGS)) == first  # a second draw would be a second look
    assert list(device(tmp_path, "none").reports(READINGS)) == first
    assert [device(tmp_path).report(*each) for each in reversed(READINGS)] == first[::-1]
    assert list(device(tmp_path / "other").reports(READINGS)) != first


def test_equal_readings_at_other_times_or_of_other_sensors_have_their_own_noise(tmp_path: Path) -> None:
    ours = device(tmp_path, "laplace:1000")
    assert len({ours.report(str(number), 5) for number in range(30)}) > 25
    assert len({ours.report("1", 5, str(sensor)) for sensor in range(30)}) > 25
    assert ours.report("1", "5.0") == ours.report(" 1 ", 5.0) == ours.report("1", 5.0001)  # one lattice point
    twice = list(ours.reports([("7", 1), ("7", 1), ("7", None), ("7", 1)]))
    assert twice[0] == twice[1] == twice[3]
    assert twice[2] is None


def test_many_readings_keep_their_order_over_batches(tmp_path: Path) -> None:
    readings = [(str(number), number % 7) for number in range(2500)]
    ours = device(tmp_path, "none")
    assert list(ours.reports(readings)) == [1000 * (number % 7) for number in range(2500)]
    with pytest.raises(ReadingError, match="row 2101, column value"):
        list(ours.reports([*readings[:2100], ("x", "much")]))
    with pytest.raises(ReadingError, match="row 1, column time"):
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


@pytest.mark.parametrize("rows", [1, 40, 2500])
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
    ours = Producer("laplace:1", Lattice("0.00001", "0", "10"), tmp_path / "state")
    for number in range(50):
        ours.report(f"2031-07-{number:02}", "7.77123")
    ours.report("2031-08-01", "")
    folder = tmp_path / "state"
    assert {path.name for path in folder.iterdir()} == {"secret", "noise.sqlite", "terms.json"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        content = path.read_bytes()
        for raw in (b"7.77123", b"777123", b"2031-0"):
            assert raw not in content
    with sqlite3.connect(folder / "noise.sqlite") as store:
        assert store.execute("SELECT count(*) FROM noise").fetchone() == (50,)
    store.close()


def flip(path: Path, old: bytes, new: bytes) -> None:
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))


def drop_table(folder: Path) -> None:
    with sqlite3.connect(folder / "noise.sqlite") as store:
        store.execute("DROP TABLE noise")
    store.close()


def change_noise(folder: Path) -> None:
    with sqlite3.connect(folder / "noise.sqlite") as store:
        store.execute("UPDATE noise SET noise = noise + 1")
    store.close()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "no secret": lambda folder: (folder / "secret").unlink(),
    "an empty secret": lambda folder: (folder / "secret").write_bytes(b""),
    "half a secret": lambda folder: (folder / "secret").write_bytes(b"x" * 16),
    "another secret": lambda folder: (folder / "secret").write_bytes(b"x" * 32),
    "no store": lambda folder: (folder / "noise.sqlite").unlink(),
    "an empty store": lambda folder: (folder / "noise.sqlite").write_bytes(b""),
    "half a store": lambda folder: os.truncate(folder / "noise.sqlite", 5000),
    "a foreign store": lambda folder: (folder / "noise.sqlite").write_bytes(b"nothing of the kind" * 500),
    "no table": drop_table,
    "changed noise": change_noise,
    "broken terms": lambda folder: (folder / "terms.json").write_text('{"format": '),
    "foreign terms": lambda folder: (folder / "terms.json").write_text("[]"),
    "terms of a newer version": lambda folder: flip(folder / "terms.json", b'"version": 1', b'"version": 2'),
    "terms without a step": lambda folder: flip(folder / "terms.json", b'"step"', b'"stop"'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_is_told_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "state"
    list(device(tmp_path).reports(READINGS))
    DAMAGE[damage](folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(FileFormatError) as told:
        list(device(tmp_path).reports(READINGS))
    assert str(folder) in str(told.value)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_begun_folder_without_a_secret_is_begun_anew(tmp_path: Path) -> None:
    """What a process leaves that is killed before its secret is there: nothing was drawn, so nothing is lost."""
    State(tmp_path / "state")
    (tmp_path / "state" / "secret").unlink()
    assert device(tmp_path, "none").report("1", 2) == 2000


@pytest.mark.parametrize("file", ["secret", "noise.sqlite"])
def test_what_others_can_read_is_refused(tmp_path: Path, file: str) -> None:
    device(tmp_path)
    (tmp_path / "state" / file).chmod(0o644)
    with pytest.raises(RunError, match="chmod 600"):
        device(tmp_path)


def test_a_copy_of_the_folder_gives_the_same_reports(tmp_path: Path) -> None:
    first = list(device(tmp_path).reports(READINGS))
    shutil.copytree(tmp_path / "state", tmp_path / "copy" / "state")
    assert list(device(tmp_path / "copy").reports(READINGS)) == first


def test_a_lattice_does_not_change_under_a_device(tmp_path: Path) -> None:
    device(tmp_path)
    with pytest.raises(OptionError, match=r"0\.000 to 10\.000 in steps of 0\.001, not on 0 to 10"):
        Producer("laplace:1", Lattice("1", "0", "10"), tmp_path / "state")


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(HalfmaskError, match="state"):
        device(tmp_path)
