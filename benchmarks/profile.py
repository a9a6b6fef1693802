"""How long readings take to become a profile, beside the barest query over the same file.

Every measurement is a process of its own, so that its peak memory is its own. The clock starts after imports and a
warm-up on a tiny panel, so that compilation is not in it. Both sides alternate; medians are printed, with the
processors' time beside the clock's, which a busy machine does not stretch. Nothing is asserted: a machine has other
things to do.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

USERS, DAYS = 6435, 536
SMALL_USERS = 64
REPEATS = 3
MOST_TIMES_AS_LONG = 4
MOST_MEMORY = 1.0  # GB
LEAST_OF_CSV = 0.5
CSV_USERS = 2560
BARE = "SELECT user, count(*), sum(value) FROM '{}' GROUP BY user"


def folder() -> Path:
    """Where panels are kept between runs: ``HALFMASK_BENCH_DIR``, or a folder among the temporary files."""
    path = Path(os.environ.get("HALFMASK_BENCH_DIR") or Path(tempfile.gettempdir()) / "halfmask-bench")
    path.mkdir(parents=True, exist_ok=True)
    return path


def panel(users: int, days: int) -> Path:
    """A synthetic panel of this size, made once."""
    from halfmask.data.synth import synth

    path = folder() / f"panel-{users}-{days}.parquet"
    if not path.exists():
        start = time.perf_counter()
        synth(path, users=users, days=days, seed=1)
        print(f"made {path.name} in {time.perf_counter() - start:.1f} s")
    return path


def bare(source: str, _: str) -> None:
    """DuckDB's own count and sum per user."""
    import duckdb

    duckdb.connect().execute(BARE.format(source.replace("'", "''"))).fetchall()


def bare_csv(source: str, _: str) -> None:
    """DuckDB's own look at a CSV file, with a count and a sum per user; it never reads the times."""
    import duckdb

    quoted = source.replace("'", "''")
    duckdb.connect().execute(f"SELECT user, count(*), sum(value) FROM read_csv('{quoted}') GROUP BY user").fetchall()


def days_csv(source: str, _: str) -> None:
    """The same per user and day, which is what a profile asks as well: every time has to be read."""
    import duckdb

    query = "SELECT user, CAST(time AS DATE) AS day, count(*), sum(value) FROM read_csv('{}') GROUP BY user, day"
    duckdb.connect().sql(query.format(source.replace("'", "''"))).to_arrow_table()


def whole(source: str, output: str) -> None:
    """The command as users run it, saving included."""
    import halfmask

    halfmask.profile(source, output)


def in_groups(source: str, output: str) -> None:
    """The same in groups of users, as if memory were short."""
    from halfmask.profiles import compiled_count

    compiled_count.MOST_USERS = 1_000
    whole(source, output)


WORK: dict[str, Callable[[str, str], None]] = {
    "bare": bare,
    "read_csv": bare_csv,
    "by day": days_csv,
    "profile": whole,
    "groups": in_groups,
}


def measure(name: str, source: str, tiny: str, output: str) -> None:
    """In the measured process: warm up, take the time, print it with the peak memory."""
    WORK[name](tiny, output)
    start, used = time.perf_counter(), time.process_time()
    WORK[name](source, output)
    seconds, cpu = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"seconds": seconds, "cpu": cpu, "gigabytes": peak}))


def measured(name: str, source: Path, tiny: Path, output: Path) -> dict[str, float]:
    """Seconds and gigabytes of one run in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.profile", name, str(source), str(tiny), str(output)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(ended.stdout)
    return found


def alternated(names: tuple[str, ...], source: Path, tiny: Path, output: Path) -> dict[str, dict[str, float]]:
    """Medians over alternating runs."""
    runs = {name: [] for name in names}  # type: dict[str, list[dict[str, float]]]
    for _ in range(REPEATS):
        for name in names:
            runs[name].append(measured(name, source, tiny, output))
    return {
        name: {key: statistics.median(run[key] for run in of_name) for key in ("seconds", "cpu", "gigabytes")}
        for name, of_name in runs.items()
    }


def verdict(met: bool) -> str:
    """A bar, met or missed."""
    return "met" if met else "missed"


def report(source: Path, rows: int, tiny: Path) -> float:
    """Print the comparison for one panel; the seconds of the profile."""
    output = folder() / "bench.profile"
    found = alternated(("bare", "profile"), source, tiny, output)
    size = output.stat().st_size
    found["groups"] = measured("groups", source, tiny, output)
    print(f"{rows:,} rows")
    for name, run in found.items():
        rate = rows / run["seconds"] / 1e6
        clocks = f"{run['seconds']:8.3f} s   cpu {run['cpu']:7.2f} s"
        print(f"  {name:12} {clocks}   {rate:6.1f} M rows/s   peak {run['gigabytes']:.2f} GB")
    profile = found["profile"]
    ratio, work = (profile[key] / found["bare"][key] for key in ("seconds", "cpu"))
    met = verdict(ratio <= MOST_TIMES_AS_LONG)
    print(f"  profile against bare: {ratio:.2f} x ({work:.2f} x the cpu); bar {MOST_TIMES_AS_LONG}x: {met}")
    peak = profile["gigabytes"]
    print(f"  peak memory: {peak:.2f} GB; bar {MOST_MEMORY:g} GB: {verdict(peak < MOST_MEMORY)}")
    print(f"  size of the profile: {size / 1e6:.1f} MB, {size / rows:.3f} bytes a row")
    return profile["seconds"]


def csv_of(source: Path) -> Path:
    """The same panel as CSV, made once. ``HALFMASK_BENCH_CSV_USERS`` says how many users; 12800 make 10 GB."""
    import duckdb

    path = source.with_suffix(".csv")
    if not path.exists():
        duckdb.connect().execute(f"COPY (FROM '{source}') TO '{path}' (HEADER)")
    return path


def report_csv(users: int) -> None:
    """Print profile and bare queries for the panel as CSV, side by side; the bar is of the one that reads no times."""
    source, tiny = csv_of(panel(users, DAYS)), csv_of(panel(3, 4))
    found = alternated(("read_csv", "by day", "profile"), source, tiny, folder() / "bench.profile")
    rate = {name: source.stat().st_size / run["seconds"] / 1e6 for name, run in found.items()}
    print(f"CSV of {source.stat().st_size / 1e9:.2f} GB, {users * DAYS * 48:,} rows")
    for name, run in found.items():
        clocks = f"{run['seconds']:8.3f} s   cpu {run['cpu']:7.2f} s"
        print(f"  {name:12} {clocks}   {rate[name]:6.0f} MB/s   peak {run['gigabytes']:.2f} GB")
    share, work = rate["profile"] / rate["read_csv"], found["read_csv"]["cpu"] / found["profile"]["cpu"]
    met = verdict(share >= LEAST_OF_CSV)
    print(f"  profile at {share:.2f} of read_csv + group-by ({work:.2f} by the cpu); bar {LEAST_OF_CSV}: {met}")
    share, work = rate["profile"] / rate["by day"], found["by day"]["cpu"] / found["profile"]["cpu"]
    print(f"  profile at {share:.2f} of read_csv + group-by user and day ({work:.2f} by the cpu)")


def run() -> None:
    """Profile against bare query at 1.6 M and 165.6 M rows, and the growth between."""
    tiny = panel(3, 4)
    sizes = {users: users * DAYS * 48 for users in (SMALL_USERS, USERS)}
    print(f"profile: medians of {REPEATS} alternating runs, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    seconds = {users: report(panel(users, DAYS), rows, tiny) for users, rows in sizes.items()}
    growth = seconds[USERS] / seconds[SMALL_USERS]
    linear = sizes[USERS] / sizes[SMALL_USERS]
    print(f"growth: {growth:.0f} x the time for {linear:.0f} x the rows; bar linear: {verdict(growth <= linear)}")
    report_csv(int(os.environ.get("HALFMASK_BENCH_CSV_USERS") or CSV_USERS))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*sys.argv[1:])
    else:
        run()
