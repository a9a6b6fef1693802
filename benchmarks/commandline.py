"""How long the commands take as a user runs them: a process each, start-up, reading and writing files included.

Cold is the first run after installation, with no compiled code in the cache; warm is the median of later ones (of long
commands, of one), with the processors' time beside it, which a busy machine does not stretch. The bare query, also a
process of its own, is what the last column is in units of. ``HALFMASK_BENCH_USERS`` and ``HALFMASK_BENCH_DAYS`` make
the panel smaller, and ``HALFMASK_BENCH_REPEATS`` the wait. Nothing is asserted: a machine has other things to do.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.profile import BARE, DAYS, USERS, panel

REPEATS = 3
LONG = 10.0
"""Seconds of warm runs after which a command is not run once more."""
HALFMASK = [str(Path(sys.executable).with_name("halfmask"))]


def commands(source: Path, folder: Path) -> dict[str, list[str]]:
    """Each command by name, in the order in which one makes what the next needs."""
    profile, study, menu = (str(folder / name) for name in ("p.profile", "study.parquet", "menu.json"))
    query = BARE.format(str(source).replace("'", "''"))
    bare = [sys.executable, "-c", f"import duckdb; duckdb.connect().execute({query!r}).fetchall()"]
    return {
        "bare query": bare,
        "--version": [*HALFMASK, "--version"],
        "profile": [*HALFMASK, "profile", str(source), "-o", profile],
        "evaluate": [*HALFMASK, "evaluate", profile, "-o", study, "--grid", "paper"],
        "optimize": [*HALFMASK, "optimize", study, "-o", menu],
        "optimize --refine": [*HALFMASK, "optimize", study, "-o", menu, "--refine", "--profile", profile],
        "audit": [*HALFMASK, "audit", menu, "--profile", profile, "-o", str(folder / "card.json")],
        "report": [*HALFMASK, "report", str(folder)],
        "demo": [*HALFMASK, "demo", "--folder", str(folder / "demo")],
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
    print(f"{'command':<18}  {'cold s':>7}  {'warm s':>7}  {'its cpu s':>9}  {'x bare query':>12}")
    with tempfile.TemporaryDirectory() as kept:
        folder, bare = Path(kept), 1.0
        for name, command in commands(source, folder).items():
            cache = folder / f"cache-{name.replace(' ', '')}"
            cold, _ = seconds(command, cache)
            later = [seconds(command, cache)]
            while len(later) < repeats and sum(wall for wall, _ in later) < LONG:
                later.append(seconds(command, cache))
            warm, cpu = (statistics.median(each[k] for each in later) for k in (0, 1))
            bare = warm if name == "bare query" else bare
            print(f"{name:<18}  {cold:>7.1f}  {warm:>7.1f}  {cpu:>9.1f}  {warm / bare:>12.1f}", flush=True)


if __name__ == "__main__":
    run()
