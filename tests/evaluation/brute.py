"""Masking by brute force, in plain numpy: readings in an array, noise from numpy's generator, nothing of halfmask.

The panels are made to be awkward, and nothing in the package was tuned on them.
"""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from halfmask.arrays import FloatArray
from tests.evaluation.same_answer import frame

Noise = Callable[[np.random.Generator, tuple[int, ...]], FloatArray]


def entropy(errors: FloatArray) -> float:
    """Plug-in entropy in bits of bins of 0.001."""
    counts = np.unique(np.floor(errors / 0.001 + 1e-9), return_counts=True)[1]
    share = counts / counts.sum()
    return float(-(share * np.log2(share)).sum())


def laplace(b: float) -> Noise:
    return lambda rng, shape: rng.laplace(0, b, shape)


def gaussian(sigma: float) -> Noise:
    return lambda rng, shape: rng.normal(0, sigma, shape)


def uniform(a: float) -> Noise:
    return lambda rng, shape: rng.uniform(-a, a, shape)


def sine(*theta: float) -> Noise:
    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        x = np.sin(2 * np.pi * rng.random(shape))
        return np.asarray(sum((t * x) ** (2 * k + 1) for k, t in enumerate(theta)))

    return draw


def geometric(b: float, step: float) -> Noise:
    p = -np.expm1(-step / b)
    return lambda rng, shape: step * (rng.geometric(p, shape) - rng.geometric(p, shape)).astype(float)


def tabulated(*pairs: float) -> Noise:
    """|psi| even between neighbouring values y, which it is below with the chances c; the sign a coin."""
    y, c = (np.array([0.0, *part]) for part in (pairs[::2], pairs[1::2]))

    def draw(rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        u = rng.random(shape)
        piece = np.searchsorted(c, u, side="right")  # those without mass are passed over
        within = (u - c[piece - 1]) / (c[piece] - c[piece - 1])
        return np.asarray((y[piece - 1] + within * (y[piece] - y[piece - 1])) * rng.choice([-1.0, 1.0], shape))

    return draw


def samples(
    values: FloatArray,
    noise: Noise,
    size: int,
    repeats: int,
    *,
    relative: bool = False,
    error: str = "relative",
    aggregate: str = "sum",
    seed: int = 99,
    rows: Sequence[int] | None = None,
) -> FloatArray:
    """The six metrics (repeats, 6) of random subsets of ``size`` users; ``values`` (users, periods, readings).

    With ``rows``, of these users every time.
    """
    rng = np.random.default_rng(seed)
    out = np.empty((repeats, 6))
    variance = float(np.mean(noise(np.random.default_rng(0), (2_000_000,)) ** 2)) if aggregate == "variance" else 0.0
    for repeat in range(repeats):
        s = values[rng.choice(len(values), size, replace=False) if rows is None else list(rows)]
        psi = noise(rng, s.shape)
        m = s * (1 + psi) if relative else s + psi
        divisor = np.abs(s)
        if error == "scaled":
            divisor = np.broadcast_to(np.abs(s).mean(axis=(1, 2), keepdims=True), s.shape)
        held = divisor > 0
        local = np.abs(m - s)[held] / divisor[held]
        total = _global(s, m, aggregate, error, relative, variance)
        out[repeat] = [f(e) for e in (local, total) for f in (np.mean, np.std, entropy)]
    return out


def _global(s: FloatArray, m: FloatArray, aggregate: str, error: str, relative: bool, variance: float) -> FloatArray:
    by_period = [np.moveaxis(a, 1, 0).reshape(a.shape[1], -1) for a in (s, m)]
    true, seen = (a.sum(axis=1) for a in by_period)
    if aggregate == "mean":
        true, seen = (a.mean(axis=1) for a in by_period)
    if aggregate == "variance":
        true, seen = (a.var(axis=1) for a in by_period)
        true = np.where(np.ptp(by_period[0], axis=1) == 0, 0.0, true)
        seen = (seen - variance * by_period[1].mean(axis=1) ** 2) / (1 + variance) if relative else seen - variance
    divisor = np.full(len(true), np.abs(true).mean()) if error == "scaled" else np.abs(true)
    return np.abs(seen - true)[divisor > 0] / divisor[divisor > 0]


def panel(values: FloatArray) -> pl.DataFrame:
    """(users, periods, readings) as a frame of days."""
    users, days, readings = values.shape
    return frame(values.reshape(users, days * readings), step_minutes=1440 // readings)


def water(users: int = 25, days: int = 20, zeros: float = 0.5) -> FloatArray:
    """Litres in an hour: half of them zero, heavy tails."""
    rng = np.random.default_rng(31)
    litres = np.round(np.exp(rng.normal(2.2, 1.3, (users, days, 24))), 1)
    return np.where(rng.random(litres.shape) < zeros, 0.0, litres)


def temperatures(stations: int = 30, days: int = 30) -> FloatArray:
    """Degrees, one decimal, on both sides of zero; stations differ a lot."""
    rng = np.random.default_rng(32)
    level = rng.normal(4, 9, (stations, 1, 1))
    own = np.exp(rng.normal(0, 0.8, (stations, 1, 1)))
    return np.round(level + own * rng.normal(0, 2, (stations, days, 12)), 1)


def heavy(users: int = 20, days: int = 40, readings: int = 2) -> FloatArray:
    """Few readings a day, of very unequal sizes."""
    rng = np.random.default_rng(33)
    return np.asarray(np.exp(rng.normal(-0.5, 1.4, (users, days, readings))))


def dusty(users: int = 12, days: int = 20) -> FloatArray:
    """Ordinary readings, and five that a subtraction left at 1e-17."""
    rng = np.random.default_rng(34)
    values = rng.gamma(2, 0.5, (users, days, 12)) + 0.01
    values.reshape(-1)[rng.choice(values.size, 5, replace=False)] = 1e-17 * rng.random(5)
    return values


def decimals(users: int = 12, days: int = 20) -> FloatArray:
    """Two decimals, as most meters give them."""
    rng = np.random.default_rng(35)
    return np.round(rng.gamma(1.2, 0.4, (users, days, 24)), 2) + 0.01


def mixed_decimals(users: int = 12, days: int = 20) -> FloatArray:
    """Seven readings of ten have two decimals, the others three."""
    rng = np.random.default_rng(36)
    values = rng.gamma(1.2, 0.4, (users, days, 24)) + 0.01
    return np.where(rng.random(values.shape) < 0.7, np.round(values, 2), np.round(values, 3))


def tiny_and_usual(users: int = 10, days: int = 12) -> FloatArray:
    """Three decimals; a third of the readings are of one or two thousandths."""
    rng = np.random.default_rng(7004)
    usual = np.round(rng.gamma(3, 0.7, (users, days, 24)), 3) + 0.001
    return np.where(rng.random(usual.shape) < 0.35, rng.choice([0.001, 0.002], usual.shape), usual)


def net(users: int = 24, days: int = 20) -> FloatArray:
    """Net metering: two decimals, on both sides of zero, heavy tails; users differ in sign and size."""
    rng = np.random.default_rng(7003)
    return np.round(rng.normal(0.4, 1, (users, 1, 1)) + rng.standard_t(3, (users, days, 12)), 2)


def volts(users: int = 12, days: int = 10) -> FloatArray:
    """Any digits, all within a few percent of each other: a profile has seven bins of them."""
    return np.asarray(np.random.default_rng(37).normal(230, 2, (users, days, 24)))


def converted(users: int = 12, days: int = 20) -> FloatArray:
    """Pulses of 0.1 MJ in kWh: multiples of 1/36."""
    return np.round(np.random.default_rng(38).gamma(2, 10, (users, days, 24)) + 1) / 36


def constants(users: int = 15, days: int = 10) -> FloatArray:
    """Every user has one reading, again and again."""
    level = np.round(np.random.default_rng(39).lognormal(1, 0.8, (users, 1, 1)), 2)
    return np.broadcast_to(level, (users, days, 16)).copy()
