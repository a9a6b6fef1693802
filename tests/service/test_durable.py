"""What was accepted is on disk and stays so: before every answer, through backups and migrations, for a long time."""

import os
import re
import shutil
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from halfmask.service.serve import initialise
from tests.service.fleet import Fleet, wait_until
from tests.service.process import PATIENCE, children, served
from tests.service.world import sqlite_url

pytestmark = pytest.mark.slow
NO_LIMIT = ("--requests-per-second", "0")
SOAK = float(os.environ.get("HALFMASK_SOAK_MINUTES", "30"))
_CALL = re.compile(r"^\d+ +(?:<\.\.\. )?(\w+)(?: resumed>|\()(.*)$")


def answers_after_flushes(trace: str) -> list[int]:
    """Of each answer 200 in a trace of system calls, how many flushes had ended since the one before."""
    found, flushes = [], 0
    for line in trace.splitlines():
        call = _CALL.match(line)
        if call is None:
            continue
        name, rest = call.groups()
        if name == "fdatasync" and rest.rstrip().endswith("= 0"):
            flushes += 1
        elif name in ("write", "writev", "sendto", "sendmsg") and "HTTP/1.1 200" in rest:
            found.append(flushes)
            flushes = 0
    return found


def test_the_disk_is_flushed_before_every_acknowledgement(tmp_path: Path) -> None:
    """By the system's own account: one client, one report after the other, and between them a question."""
    tracer = shutil.which("strace")
    if tracer is None:
        pytest.skip("no strace on this machine: `make system` installs it")
    url, trace = sqlite_url(tmp_path), tmp_path / "trace"
    operator = initialise(url)
    assert operator is not None
    calls = "trace=fdatasync,write,writev,sendto,sendmsg"
    before = (tracer, "-f", "-qq", "-e", calls, "-s", "32", "-o", str(trace))
    with served(url, tmp_path / "log", *NO_LIMIT, before=before) as service:
        fleet = Fleet(service, operator, 1)
        (meter,) = fleet.meters
        held = trace.stat().st_size
        for number in range(20):
            meter.sent.append((f"{fleet.day}T10:00:{number:02}Z", number))
            meter.deliver(meter.sent[-1:])
            service.ok("GET", "/v1/campaigns")  # nothing is written for it
        meter.hang_up()
        with trace.open("rb") as file:
            file.seek(held)
            said = file.read().decode(errors="replace")
        for child in children(service.process.pid):  # the tracer itself heeds no signal
            os.kill(child, signal.SIGTERM)
        assert service.process.wait(PATIENCE) == 0
    told = answers_after_flushes(said)
    reports, questions = told[0::2], told[1::2]
    assert len(reports) == len(questions) == 20
    assert min(reports) >= 1, "an acknowledgement left before the disk was flushed"
    assert max(questions) == 0, "the trace would show flushes that nobody made"


def test_a_backup_under_load_is_whole_and_replays_to_the_same_sums(tmp_path: Path) -> None:
    """The file is copied while meters send, as docs/operating.md says; devices send again what they still hold."""
    url, copy = sqlite_url(tmp_path), tmp_path / "restored" / "service.db"
    copy.parent.mkdir()
    operator = initialise(url)
    assert operator is not None
    with served(url, tmp_path / "log", *NO_LIMIT) as service:
        fleet = Fleet(service, operator, 4, keep_reports="always")
        with fleet.sending():
            wait_until(lambda: fleet.acknowledged > 200, "nothing was acknowledged")
            with closing(sqlite3.connect(tmp_path / "service.db")) as live, closing(sqlite3.connect(copy)) as held:
                live.backup(held, pages=16, sleep=0.001)
            before = fleet.acknowledged
            wait_until(lambda: fleet.acknowledged > before + 100, "nothing was acknowledged")
        service.stop(signal.SIGKILL)
    with closing(sqlite3.connect(copy)) as held:
        assert held.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept = held.execute("SELECT count(*), coalesce(sum(reward), 0) FROM reports").fetchone()
        committed = held.execute("SELECT committed FROM campaigns").fetchone()[0]
        booked = held.execute("SELECT sum(amount) FROM entries").fetchone()[0]
    assert kept == (committed, booked)  # a copy in the middle of a transaction would not add up
    assert 200 <= kept[0] < fleet.acknowledged
    with served(f"sqlite:///{copy}", tmp_path / "log", *NO_LIMIT) as service:
        fleet.service = service
        fleet.replay()
        fleet.check()


def resident(process: int) -> int:
    """Kilobytes of memory that a process holds."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[0])


def test_half_a_load_for_half_an_hour_leaves_memory_as_it_was(tmp_path: Path) -> None:
    """Single reports at half of what a busy machine takes; the first fifth of the time is for warming up."""
    url = sqlite_url(tmp_path)
    operator = initialise(url)
    assert operator is not None
    with served(url, tmp_path / "log", *NO_LIMIT) as service:
        fleet = Fleet(service, operator, 24, pause=24 / 700)
        for meter in fleet.meters:
            meter.sizes = (1,)
        begun, sizes = time.monotonic(), []
        with fleet.sending():
            while (passed := time.monotonic() - begun) < SOAK * 60:
                sizes.append((passed, resident(service.process.pid)))
                time.sleep(min(5.0, SOAK * 6))
        warm = [size for passed, size in sizes if passed >= SOAK * 12]
        grown = max(warm[len(warm) // 2 :]) / max(warm[: max(1, len(warm) // 4)]) - 1
        counted = fleet.check()
        print(f"{counted} reports in {SOAK:g} minutes; {warm[0]} to {warm[-1]} kB, {grown:+.1%}")
        assert grown < 0.10
        assert fleet.seen(0) == fleet.seen(503) == 0
        assert service.stop() == 0
    assert '"level": "error"' not in (tmp_path / "log").read_text()


def test_the_parser_of_traces_finds_an_answer_without_a_flush() -> None:
    flushed = '7 fdatasync(9) = 0\n8 sendto(5, "HTTP/1.1 200 OK\\r\\n", 99, 0, NULL, 0) = 99\n'
    early = '7 fdatasync(9 <unfinished ...>\n8 writev(5, [{iov_base="HTTP/1.1 200 OK\\r\\n"}], 1) = 99\n'
    late = "7 <... fdatasync resumed>) = 0\n"
    assert answers_after_flushes(flushed + early + late) == [1, 0]
    assert answers_after_flushes(flushed + early.splitlines()[0] + "\n" + late + early.splitlines()[1]) == [1, 1]
