"""How long the audit of a menu takes, part by part, beside the naive way to compose a year of reports.

The panel is the demo's: 1,000 users, 120 days. Wall seconds count on an idle machine; core-seconds stand beside them,
because other programs disturb these less. Masking and OpenDP's samplers are printed in the same run. Nothing is
asserted.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from benchmarks.device import OPENDP, draws, masking
from benchmarks.profile import folder, panel

GRID = "laplace:b=0.05..8/0.05;sine:k=5,values=0|0.6|1.2|1.8"
USERS, DAYS = 1000, 120
YEAR = 17_520
KINDS = ("profile", "study.parquet", "menu.json")


def timed(what: str, work: Callable[[], object]) -> float:
    """Run, print and return seconds."""
    start, cores = time.perf_counter(), time.process_time()
    work()
    took, used = time.perf_counter() - start, time.process_time() - cores
    print(f"  {what}: {took:.2f} s, {used:.2f} core-seconds")
    return took


def commanded(*options: str) -> tuple[float, float]:
    """Seconds and core-seconds of `halfmask audit`, start of the program included, as people run it."""
    line = [sys.executable, "-m", "halfmask", "audit", *options]
    before, start = os.times(), time.perf_counter()
    subprocess.run(line, check=True, capture_output=True)
    after, took = os.times(), time.perf_counter() - start
    return took, after.children_user + after.children_system - before.children_user - before.children_system


def composed_naively(step: float, epsilon: float, reports: int) -> float:
    """Seconds to convolve the losses of Laplace reports one by one; losses lie between -epsilon and epsilon."""
    loss = np.arange(-epsilon, epsilon + step / 2, step)
    one = np.exp(-np.abs(loss))
    one /= one.sum()
    start = time.perf_counter()
    many = one
    for _ in range(reports - 1):
        many = np.convolve(many, one)
    return time.perf_counter() - start


def run() -> None:
    """Guarantees, then a menu of six settings with attacks on readings."""
    import halfmask
    from halfmask.mechanisms.setting import PrivacySetting
    from halfmask.protection.guarantees.guarantee import guarantee

    print(f"audit: load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for setting in ("laplace:0.5", "gaussian:0.5", "sine:1.2,0.3,1.2,1.5,1.5"):
        took, used = commanded("--setting", setting, "--sensitivity", "0.34", "--step", "0.001")
        print(f"  halfmask audit --setting {setting} --step 0.001: {took:.2f} s, {used:.2f} core-seconds (bar: 1 s)")
    guarantee(PrivacySetting.parse("laplace:1"), 0.1)  # imports
    took = timed("laplace:1, a year of reports", lambda: guarantee(PrivacySetting.parse("laplace:1"), 0.1, (YEAR,)))
    part = composed_naively(0.001, 0.1, 480)
    naive = part * (YEAR / 480) ** 2  # each convolution is as long as the reports before it
    print(
        f"  the same, convolved one report at a time (scaled from 480): {naive:,.0f} s, {naive / took:,.0f} x as long"
    )
    sine = PrivacySetting.parse("sine:1.2,0.3,1.2,1.5,1.5")
    timed("sine, a year of reports", lambda: guarantee(sine, 0.1, (YEAR,)))
    readings, profile, study, menu = panel(USERS, DAYS), *(folder() / f"audit.{kind}" for kind in KINDS)
    halfmask.profile(readings, profile)
    halfmask.evaluate(profile, study, grid=GRID)
    settings = halfmask.optimize(study, menu).menu.settings
    named = (str(menu), "--profile", str(profile), "--panel", str(readings))
    commanded(*named)  # compiles, once on every machine
    took, used = commanded(*named)
    what = f"halfmask audit of {len(settings)} settings, attacks on readings of {USERS:,} users"
    print(f"  {what}: {took:.2f} s, {used:.2f} core-seconds")
    print(f"  bar: under 10 s on two cores: {'kept' if took < 10 else 'missed'}")
    print("  masking, readings and draws a core-second (bar: 100,000 at once, 5,000 one by one)")
    draws(OPENDP)
    masking()
