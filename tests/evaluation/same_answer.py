"""Panels and settings on which both methods are held against each other."""

import numpy as np
import polars as pl

from halfmask.data.open_panel import open_panel
from halfmask.data.panel import Panel
from halfmask.evaluation.analytic.evaluate_analytic import evaluate_analytic
from halfmask.evaluation.direct.run import evaluate_direct
from halfmask.evaluation.sampling import draw_subsets
from halfmask.mechanisms.grid import Grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.build import build_profile
from halfmask.profiles.profile import Profile
from halfmask.profiles.totals import released
from tests.real_data import PEDESTRIANS, SWISS

START = np.datetime64("2024-01-01T00:00", "us")

# Every mechanism at scales from hardly any noise to much more than a reading.
SETTINGS = [
    "none",
    *(f"laplace:{b}" for b in (0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 1, 3, 10)),
    *(f"gaussian:{s}" for s in (0.001, 0.02, 0.1, 0.5, 2, 8)),
    *(f"uniform:{a}" for a in (0.002, 0.05, 0.1, 0.3, 1, 5)),
    *(f"sine:{c}" for c in ("0.03", "0.3,0,0,0,0", "0,0.18,0,0,0", "0.9,0.3,0.6,0.6,0.3", "0.3,0.9,0,0.6,0.6")),
    *(
        f"sine:{c}"
        for c in ("1.2,0.3,1.2,1.5,1.5", "0,0,0,0,1.8", "1.8,1.8,1.8,1.8,1.8", "0.6,0.6", "0,0,1.2", "0,1.5,0.3")
    ),
    *(f"staircase:{p}" for p in ("1,0.1,0.5", "0.5,0.5,0.4", "2,1,0.3", "0.2,0.02,0.5", "1,3,0.2")),
    *(f"geometric:{p}" for p in ("0.01,0.00001", "0.3,0.0001", "1,0.001", "5,0.001")),
    *(f"relative-laplace:{b}" for b in (0.001, 0.01, 0.1, 0.3, 1, 3)),
    *(f"relative-gaussian:{s}" for s in (0.001, 0.02, 0.1, 0.5, 1, 2)),
    *(
        f"tabulated:{t}"
        for t in ("0.1,0.2,1,1", "0.01,0.5,0.02,1", "1,0.1,2,0.9,4,1", "0.3,1", "0.05,0.05,0.1,1", "2,0.5,2.5,1")
    ),
]


def frame(values: np.ndarray, step_minutes: int = 30) -> pl.DataFrame:
    """A panel frame from an array (users, times)."""
    users, times = values.shape
    moments = START + np.arange(times) * np.timedelta64(step_minutes, "m")
    return pl.DataFrame(
        {
            "user": np.repeat([f"u{k:04d}" for k in range(users)], times),
            "time": np.tile(moments, users),
            "value": values.ravel(),
        }
    )


def awkward(name: str) -> pl.DataFrame:
    """Panels made to break approximations."""
    rng = np.random.default_rng(11)
    if name == "few users":
        return frame(rng.gamma(2, 0.3, (3, 48 * 30)))
    if name == "heavy tails":
        return frame(np.exp(rng.normal(-1, 1.5, (40, 48 * 14))))
    if name == "many zeros":
        return frame(np.where(rng.random((30, 48 * 14)) < 0.4, 0, rng.gamma(2, 0.3, (30, 48 * 14))))
    if name == "negative values":
        return frame(rng.normal(0.6, 0.5, (30, 48 * 14)))
    if name == "one reading a period":
        return frame(rng.gamma(2, 0.3, (60, 90)), step_minutes=1440)
    if name == "constant":
        return frame(np.full((20, 48 * 14), 0.5))
    raise KeyError(name)


AWKWARD = ("few users", "heavy tails", "many zeros", "negative values", "one reading a period", "constant")


def real(name: str) -> pl.DataFrame:
    """A part of a real dataset that both methods get through in seconds."""
    if name == "swiss households":
        data = pl.read_parquet(SWISS)
        return data.filter(pl.col("user").is_in(data["user"].unique(maintain_order=True)[:60].to_list()))
    data = pl.read_parquet(PEDESTRIANS)
    scaled = pl.col("value") / 1000  # thousands of people an hour: the settings' noise is of that size
    return data.filter(pl.col("time").dt.year() == 2014, pl.col("time").dt.month() <= 3).with_columns(scaled)


def both(
    panel: Panel,
    profile: Profile,
    settings: list[str],
    size: int,
    repeats: int,
    error: str = "relative",
    aggregate: str = "sum",
    release: str = "reading",
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Metrics (settings, repeats, 6) of both methods, on subsets and noise of their own."""
    grid = Grid.from_settings([PrivacySetting.parse(text).released(release) for text in settings])
    ours = draw_subsets(profile, [size], repeats, 1)
    theirs = draw_subsets(profile, [size], repeats, 2)
    analytic = evaluate_analytic(released(profile, release), grid, ours, error=error, aggregate=aggregate, seed=1)
    direct = evaluate_direct(panel, profile, list(grid.settings()), theirs, error=error, aggregate=aggregate, seed=2)
    return grid.texts(), analytic, direct


def opened(data: pl.DataFrame, period: str = "day") -> tuple[Panel, Profile]:
    """A panel and its profile."""
    panel = open_panel(data)
    return panel, build_profile(panel, period=period)


def deviations(analytic: np.ndarray, direct: np.ndarray) -> np.ndarray:
    """Difference of the two methods' means in standard errors: (settings, 6); 0 where both agree to rounding."""
    difference = analytic.mean(axis=1) - direct.mean(axis=1)
    error = np.sqrt((analytic.var(axis=1) + direct.var(axis=1)) / (analytic.shape[1] - 1))
    rounding = 1e-9 * np.maximum(np.abs(direct).mean(axis=1), 1e-3)
    return np.where(np.abs(difference) <= rounding, 0, difference / np.maximum(error, rounding))
