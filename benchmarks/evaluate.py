"""How long a million privacy settings take, on the full-size profile.

Every measurement is a process of its own; the clock starts after imports and a warm-up that compiles the kernels.
Ratios are measured in one run, because machines are noisy; nothing is asserted.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.profile import DAYS, SMALL_USERS, USERS, folder, panel, verdict

SETTING = "laplace:0.5"


def profile_of(users: int) -> Path:
    """The profile of a synthetic panel of so many users, made once."""
    import halfmask

    path = folder() / f"profile-{users}-{DAYS}.profile"
    if not path.exists():
        halfmask.profile(panel(users, DAYS), path)
    return path


def measure(path: str, grid: str, repeats: str, sizes: str) -> None:
    """In the measured process: warm up, evaluate, print seconds and peak memory."""
    import halfmask
    from halfmask.mechanisms.grid import grid as make_grid

    profile = halfmask.Profile.read(path)
    halfmask.evaluate(profile, grid="laplace:b=0.1|0.2;sine:k=5,values=0|0.6", sizes=sizes, repeats=3)
    settings = len(make_grid(grid))
    start = time.perf_counter()
    study = halfmask.evaluate(profile, grid=grid, sizes=sizes, repeats=int(repeats), summary=settings > 100_000)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"seconds": seconds, "gigabytes": peak, "settings": settings, "subsets": len(study.users)}))


def measured(path: Path, grid: str, repeats: int = 3, sizes: str = "default") -> dict[str, float]:
    """One run in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.evaluate", str(path), grid, str(repeats), sizes]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def fft_floor(length: int) -> float:
    """Seconds of one bare real FFT of this length."""
    from scipy.fft import rfft

    rows = np.random.default_rng(0).random((256, length))
    start = time.perf_counter()
    for _ in range(20):
        rfft(rows)
    return (time.perf_counter() - start) / (20 * len(rows))


def obvious_numpy(readings: int) -> float:
    """Seconds of masking and measuring so many readings with plain numpy, as one would write it."""
    rng = np.random.default_rng(0)
    s = rng.gamma(1.0, 0.5, readings) + 0.001
    period = np.repeat(np.arange(DAYS), readings // DAYS + 1)[:readings]
    start = time.perf_counter()
    masked = s + rng.laplace(0, 0.5, readings)
    local = np.abs((masked - s) / s)
    local.mean(), local.std()
    _, counts = np.unique(np.floor(local / 0.001), return_counts=True)
    p = counts / readings
    float(-(p * np.log2(p)).sum())
    total = np.bincount(period, s)
    np.abs((np.bincount(period, masked) - total) / total).mean()
    return time.perf_counter() - start


def run() -> None:
    """The table of the paper's sweep, of the literal grid, of more repeats and of more readings."""
    import halfmask

    large, small = profile_of(USERS), profile_of(SMALL_USERS)
    print(f"evaluate: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    paper = measured(large, "paper")
    _line("paper grid", paper, 8, 4)
    more = measured(large, "paper", repeats=30)
    _line("paper grid, 30 repeats", more, None, None)
    times = more["seconds"] / paper["seconds"]
    print(f"  repeats 3 -> 30: {times:.2f} x the time; bar 3x: {verdict(times <= 3)}")
    few, many = measured(small, "paper", sizes="50,all"), measured(large, "paper", sizes="50,6435")
    times = many["seconds"] / few["seconds"]
    print(f"  readings 1.6 M -> 165.6 M, two sizes: {times:.2f} x the time; bar 1.1x: {verdict(times <= 1.1)}")
    full = measured(large, "full")
    _line("full grid", full, 120, 8)
    each = 2 * full["seconds"] / (full["settings"] * full["subsets"]) * 1e6
    print(f"  {each:.2f} core-us a (setting, subset); one bare FFT of length 1024: {fft_floor(1024) * 1e6:.2f} us")
    readings = 2_000_000
    profile = halfmask.Profile.read(large)
    sizes = [*range(50, 501, 50), *range(1000, USERS, 500), USERS]
    masked = 3 * sum(sizes) / USERS * profile.readings * paper["settings"]
    plain = obvious_numpy(readings) / readings * masked
    print(f"  plain numpy for the paper's study: {plain / 86400:.0f} days, scaled from {readings:,} readings; "
          f"analytic {plain / paper['seconds']:,.0f} x as fast")  # fmt: skip


def _line(name: str, run: dict[str, float], seconds: float | None, gigabytes: float | None) -> None:
    bar = f"; bar {seconds} s, {gigabytes} GB: " if seconds and gigabytes else ""
    met = verdict(run["seconds"] <= (seconds or 0) and run["gigabytes"] <= (gigabytes or 0)) if bar else ""
    print(
        f"  {name}: {run['settings']:,} settings x {run['subsets']} subsets in {run['seconds']:.1f} s, "
        f"peak {run['gigabytes']:.2f} GB{bar}{met}"
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(*sys.argv[1:])
    else:
        run()
