"""How long the commands take as a user runs them: a process each, start-up, reading and writing files included.

Cold is the first run after installation, with no compiled code in the cache; warm is the median of later ones, with the
processors' time beside it, which a busy machine does not stretch. Each warm run comes right after one of the bare query
by user and day, also a process of its own: the last columns are medians of both times in units of that. The full grid
runs once. ``HALFMASK_BENCH_USERS`` and ``HALFMASK_BENCH_DAYS`` make the panel smaller, and ``HALFMASK_BENCH_REPEATS``
the wait. Nothing is asserted: a machine has other things to do.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.profile import DAYS, USERS, panel

REPEATS = 3
BARE = "SELECT user, CAST(time AS DATE) AS day, count(*), sum(value) FROM '{}' GROUP BY user, day"
ONCE = "evaluate, full grid"
HALFMASK = [str(Path(sys.executable).with_name("halfmask"))]


def bare(source: Path) -> list[str]:
    """The number and the sum of readings per user and day, by DuckDB."""
    query = BARE.format(str(source).replace("'", "''"))
    return [sys.executable, "-c", f"import duckdb; duckdb.connect().sql({query!r}).to_arrow_table()"]


def commands(source: Path, folder: Path) -> dict[str, list[str]]:
    """Each command by name, in the order in which one makes what the next needs."""
    profile, study, menu = (str(folder / name) for name in ("p.profile", "study.parquet", "menu.json"))
    bounds = ["--epsilon", "8,4,2,1", "--low", "0", "--high", "40"]
    return {
        "--version": [*HALFMASK, "--version"],
        "profile": [*HALFMASK, "profile", str(source), "-o", profile],
        "evaluate": [*HALFMASK, "evaluate", profile, "-o", study, "--grid", "paper"],
        "offer": [*HALFMASK, "offer", profile, "-o", str(folder / "offer.json"), *bounds],
        "optimize": [*HALFMASK, "optimize", study, "-o", menu],
        "audit": [*HALFMASK, "audit", menu, "--profile", profile, "-o", str(folder / "card.json")],
        "report": [*HALFMASK, "report", str(folder)],
        "optimize --refine": [*HALFMASK, "optimize", study, "-o", menu, "--refine", "--profile", profile],
        "demo": [*HALFMASK, "demo", "--folder", str(folder / "demo")],
        ONCE: [*HALFMASK, "evaluate", profile, "-o", str(folder / "full.parquet"), "--grid", "full", "--summary"],
    }


def seconds(command: list[str], cache: Path) -> tuple[float, float]:
    """Wall-clock time of one process, from its start to its end, and the processors' time it took."""
    start, used = time.perf_counter(), os.times()
    done = subprocess.run(
        command, env={**os.environ, "NUMBA_CACHE_DIR": str(cache)}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr.strip()[-400:]}")
    now = os.times()
    return (
        time.perf_counter() - start,
        now.children_user + now.children_system - used.children_user - used.children_system,
    )


def run() -> None:
    """Print the table."""
    users, days = (int(os.environ.get(f"HALFMASK_BENCH_{n}", d)) for n, d in (("USERS", USERS), ("DAYS", DAYS)))
    repeats = int(os.environ.get("HALFMASK_BENCH_REPEATS", REPEATS))
    source = panel(users, days)
    print(f"command line, {users:,} users x {days} days x 48 readings = {users * days * 48 / 1e6:.1f} million rows")
    print(f"{'command':<20}  {'cold s':>7}  {'warm s':>7}  {'its cpu s':>9}  {'x bare':>7}  {'x its cpu':>9}")
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept)
        for name, command in commands(source, folder).items():
            cache = folder / f"cache-{name.replace(' ', '')}"
            cold = 0.0 if name == ONCE else seconds(command, cache)[0]
            pairs = [
                (seconds(bare(source), cache), seconds(command, cache)) for _ in range(1 if name == ONCE else repeats)
            ]
            warm, cpu = (statistics.median(own[k] for _, own in pairs) for k in (0, 1))
            by_clock, by_cpu = (statistics.median(own[k] / plain[k] for plain, own in pairs) for k in (0, 1))
            print(f"{name:<20}  {cold:>7.1f}  {warm:>7.2f}  {cpu:>9.2f}  {by_clock:>7.2f}  {by_cpu:>9.2f}", flush=True)


if __name__ == "__main__":
    run()
