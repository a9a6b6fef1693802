"""Readings masked and measured per second: the direct method against numpy written the obvious way.

Both have the readings at hand, and turn by turn mask all of them once and compute the six metrics. The method's time
includes fetching its blocks from disk and merging its parts; reading the source, which happens once for any number of
samples, is printed apart.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from halfmask.arrays import FloatArray
from halfmask.data.open_panel import open_panel
from halfmask.evaluation.aggregates import aggregate
from halfmask.evaluation.direct.masked_sample import LocalEngine, SampleQuestion
from halfmask.evaluation.direct.sorted_readings import gather
from halfmask.evaluation.metrics import global_error, summary
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.build import build_profile

USERS, DAYS, STEPS = 300, 300, 48
ROUNDS = 5
THREADS = 2
HALF_HOUR = 1_800_000_000


def readings() -> pa.Table:
    """Half-hourly readings of homes, three decimals, one home after the other."""
    rng = np.random.default_rng(1)
    size = DAYS * STEPS
    values = np.round(rng.lognormal(np.repeat(rng.normal(-1, 0.6, USERS), size), 0.8), 3)
    times = np.tile(np.arange(size, dtype=np.int64) * HALF_HOUR, USERS)
    names = np.repeat([f"home-{n:04d}" for n in range(USERS)], size)
    return pa.table({"user": names, "time": pa.array(times, pa.timestamp("us")), "value": values})


def entropy(errors: FloatArray) -> float:
    """As one would write it."""
    counts = np.unique(np.floor(errors / 0.001), return_counts=True)[1]
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())


def obvious(values: FloatArray, days: NDArray[np.int64], true: FloatArray, noise: FloatArray) -> list[float]:
    """The six metrics, as one would write them; true totals are known, as they are to the method after one sample."""
    masked = values + noise
    present = values != 0
    local = np.abs((masked[present] - values[present]) / values[present])
    errors = np.abs((np.bincount(days, masked) - true) / true)
    return [local.mean(), local.std(), entropy(local), errors.mean(), errors.std(), entropy(errors)]


def laplace(size: int, rng: np.random.Generator) -> FloatArray:
    return rng.laplace(0, 0.5, size)


def sine(size: int, rng: np.random.Generator) -> FloatArray:
    x = np.sin(2 * np.pi * rng.random(size))
    return sum(((theta * x) ** (2 * k + 1) for k, theta in enumerate((0.9, 0.3, 0.6, 0.6, 0.3))), np.zeros(size))


PAIRS: dict[str, Callable[[int, np.random.Generator], FloatArray]] = {
    "laplace:0.5": laplace,
    "sine:0.9,0.3,0.6,0.6,0.3": sine,
}


def run() -> None:
    """Print rates and factors; a factor of 3 is asked for, 8 is the aim."""
    table = readings()
    values = table["value"].to_numpy()
    days = table["time"].cast(pa.int64()).to_numpy() // (STEPS * HALF_HOUR)
    panel = open_panel(table)
    profile = build_profile(panel)
    start = time.perf_counter()
    held = gather(panel, profile)
    print(
        f"direct method: {len(values):,} readings brought to disk at {_rate(len(values), start)} M/s, {THREADS} threads"
    )
    true = np.bincount(days, values)
    question = SampleQuestion.of(profile, aggregate("sum"), "relative", 7)
    rng = np.random.default_rng(3)
    with ThreadPoolExecutor(THREADS) as pool:
        engine = LocalEngine(question, profile, held, pool, None)
        for text, draw in PAIRS.items():
            setting = PrivacySetting.parse(text)
            ours, plain = [], []
            for repeat in range(ROUNDS + 1):
                everybody = Subset(USERS, repeat, np.arange(USERS), USERS)
                ours.append(_seconds(lambda s=setting, e=everybody: _sample(engine, s, e, true)))
                plain.append(_seconds(lambda d=draw: obvious(values, days, true, d(len(values), rng))))
            fast, slow = median(ours[1:]), median(plain[1:])  # the first round compiles
            print(
                f"  {text:26} {len(values) / fast / 1e6:6.1f} M/s against {len(values) / slow / 1e6:5.1f} M/s of plain "
                f"numpy: {slow / fast:.1f} x (asked 3 x, aim 8 x)"
            )


def _sample(engine: LocalEngine, setting: PrivacySetting, subset: Subset, true: FloatArray) -> list[float]:
    ((local, masked),) = engine.outcomes([setting], subset)
    return [*local, *summary(global_error(masked, true))]


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _rate(count: int, start: float) -> str:
    return f"{count / (time.perf_counter() - start) / 1e6:.1f}"


if __name__ == "__main__":
    run()
