"""How far the analytic method is from masking every reading, for kinds of readings and of noise.

Masking is written here in plain numpy. Both are means over repeats on all users. The table has the difference of the
local entropy in bits for each setting, and its largest standard error; then the difference of the mean and of the
deviation of the local errors in percent, for the setting with the most significant one.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from halfmask.arrays import FloatArray
from halfmask.data.open_panel import open_panel
from halfmask.evaluation.analytic.evaluate_analytic import evaluate_analytic
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.build import build_profile

REPEATS = 100
SHAPE = (40, 20, 48)
SETTINGS = (
    *("laplace:0.5", "gaussian:0.5", "uniform:0.5", "sine:0.9,0.3", "staircase:1,0.5,0.5"),
    *("geometric:0.5,0.01", "geometric:0.5,0.1"),
)


def panels() -> Iterator[tuple[str, FloatArray, str]]:
    """Kinds of readings (users, days, readings), and the kind of error."""
    rng = np.random.default_rng(1)
    any_digits = rng.gamma(1.5, 0.5, SHAPE) * np.exp(rng.normal(0, 0.5, (SHAPE[0], 1, 1))) + 0.01
    two, three = np.round(any_digits, 2), np.round(any_digits, 3)
    yield "any digits", any_digits, "relative"
    yield "two decimals", two, "relative"
    yield "two decimals or three", np.where(rng.random(SHAPE) < 0.7, two, three), "relative"
    yield "whole numbers", np.asarray(rng.poisson(3, SHAPE) + 1.0), "relative"
    yield "steps of 1/36", np.asarray(np.round(any_digits * 36 + 1) / 36), "relative"
    yield "heavy tails", np.exp(rng.normal(-0.5, 1.4, SHAPE)), "relative"
    yield "40 users, scaled", rng.normal(0.5, 1, SHAPE) + rng.normal(0, 1, (SHAPE[0], 1, 1)), "scaled"
    yield "4 users, scaled", any_digits[:4], "scaled"


def masked(values: FloatArray, setting: PrivacySetting, error: str, rng: np.random.Generator) -> tuple[float, ...]:
    """Mean, deviation and entropy of the local errors when every reading is masked."""
    divisor = np.abs(values)
    if error == "scaled":
        divisor = np.broadcast_to(divisor.mean(axis=(1, 2), keepdims=True), values.shape)
    seen = setting.mask(values.ravel(), rng).reshape(values.shape)
    errors = (np.abs(seen - values) / divisor)[divisor > 0]
    counts = np.unique(np.floor(errors * 1000 + 1e-9), return_counts=True)[1]
    entropy = np.log2(errors.size) - counts @ np.log2(counts) / errors.size
    return float(errors.mean()), float(errors.std()), float(entropy)


def differences(values: FloatArray, error: str) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Of each setting: entropy (bits), mean (%) and deviation (%) of the analytic method less those of masking.

    And the standard errors of these differences.
    """
    users, days, readings = values.shape
    times = np.datetime64("2024-01-01", "us") + np.arange(days * readings) * np.timedelta64(1440 // readings, "m")
    names = [f"u{user:03d}" for user in range(users)]
    frame = pl.DataFrame({"user": np.repeat(names, len(times)), "time": np.tile(times, users), "value": values.ravel()})
    profile = build_profile(open_panel(frame), period="day")
    everybody = [Subset(users, repeat, np.arange(users), users) for repeat in range(REPEATS)]
    rng = np.random.default_rng(2)
    for setting in map(PrivacySetting.parse, SETTINGS):
        grid = Grid.from_settings([setting])
        found = evaluate_analytic(profile, grid, everybody, error=error)[0, :, :3]  # type: ignore[arg-type]
        right = np.array([masked(values, setting, error, rng) for _ in range(REPEATS)])
        unit = np.append(right.mean(axis=0)[:2] / 100, 1)
        around = np.sqrt((found.var(axis=0) + right.var(axis=0)) / REPEATS)
        yield np.roll((found - right).mean(axis=0) / unit, 1), np.roll(around / unit, 1)


def run() -> None:
    """Print the table."""
    columns = ("readings", *(f"`{text}`" for text in SETTINGS), "± at most", "mean", "deviation")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, values, error in panels():
        apart, around = (np.array(each) for each in zip(*differences(values, error), strict=True))
        worst = [int(np.argmax(np.abs(apart[:, k]) / around[:, k])) for k in (1, 2)]
        told = [f"{each:+.4f}" for each in apart[:, 0]] + [f"{around[:, 0].max():.4f}"]
        told += [f"{apart[row, k]:+.2f} ± {around[row, k]:.2f} %" for k, row in zip((1, 2), worst, strict=True)]
        print(f"| {name} | {' | '.join(told)} |", flush=True)


if __name__ == "__main__":
    run()
