"""Tiny studies, menus and mixes made by hand, and one small folder made by the real steps."""

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa

from halfmask.audits.audit import audit_menu
from halfmask.choice.mix import Mix, mix
from halfmask.commands.offer import offer
from halfmask.commands.profile import profile
from halfmask.data.synth import synth
from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.scores import Weights
from halfmask.evaluation.study import Study
from halfmask.mechanisms.grid import Grid, grid
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.menus.menu import Menu, MenuSetting, Score, none_setting
from halfmask.menus.optimize import optimize
from halfmask.profiles.profile import Profile
from halfmask.protection.attacks.seeds import guessable_seed

SEED = 7
GRID = "laplace:b=0.02..1/0.02;sine:k=3,values=0|0.1|0.3|0.6|0.9"
SIZES = "20,40,60"
FIGURES = (
    *("levels", "lasting", "offer", "algorithm", "users", "trajectories", "noise", "cdfs", "mixes"),
    *("protection", "guarantees", "trade-off", "equal-readings", "limit", "readings"),
)
"""What the folder of `whole_folder` has, in the order of the report."""


def study_of(metrics: dict[str, Sequence[Sequence[float]]], users: Sequence[int]) -> Study:
    """A study whose every sample is written down: six numbers a sample, by setting."""
    made = Grid.from_settings(PrivacySetting.parse(text) for text in metrics)
    values = np.array([metrics[text] for text in made.texts()], float)
    about = {"aggregate": "sum", "error": "relative", "engine": "analytic", "fingerprint": "hand", "seed": 1}
    return Study(made, np.array(users), np.arange(len(users)), values, about)


def local(value: float, error: float = 0.0) -> list[float]:
    """Six metrics: all local ones ``value``, all global ones ``error``."""
    return [value] * 3 + [error] * 3


def menu_of(entries: dict[str, tuple[str, float, float]], fingerprint: str = "hand") -> Menu:
    """A menu of two bins by hand: id -> setting, median privacy, median utility; normalisers are 1."""
    settings = [
        MenuSetting(
            name,
            PrivacySetting.parse(text),
            (0.0, 0.5) if q < 0.5 else (0.5, 1.0),
            Score(q, q - 0.01),
            Score(u, u - 0.1),
            2 * u - 0.1,
            0.1,
        )
        for name, (text, q, u) in entries.items()
    ]
    constraints = {"max_mean": 0.5, "max_std": 0.5, "omega": 0.2}
    about = {"fingerprint": fingerprint, "bins": 2}
    return Menu((*settings, none_setting()), dict.fromkeys(METRICS, 1.0), Weights(), constraints, (), about)


def mix_of(rows: Sequence[tuple[str | None, float | None, float, float]], fingerprint: str = "hand") -> Mix:
    """Mixes by hand: dominant id, its share, privacy, utility."""
    dominant, share, privacy, utility = zip(*rows, strict=True)
    table = pa.table(
        {
            "A": pa.array([0.0] * len(rows)),
            "N": pa.array([0.0] * len(rows)),
            "repeat": pa.array([0] * len(rows)),
            "privacy": pa.array(privacy, pa.float64()),
            "utility": pa.array(utility, pa.float64()),
            "dominant": pa.array(dominant, pa.string()),
            "dominant_share": pa.array(share, pa.float64()),
        }
    )
    about = {"ids": ["A", "N"], "repeats": 1, "seed": 1, "step": 0.5, "fingerprint": fingerprint}
    return Mix(table, about)


def small_profile(folder: Path) -> Profile:
    """Sixty users for a week, profiled to ``folder/homes.profile``."""
    panel = folder.parent / f"{folder.name}-panel.parquet"
    synth(panel, users=60, days=7, seed=1)
    return profile(panel, folder / "homes.profile")


def whole_folder(folder: Path) -> Path:
    """A folder with all that a report is made of, by the steps that users take."""
    folder.mkdir()
    made = small_profile(folder)
    tried = Experiment.on(made, sizes=SIZES, seed=SEED)
    evaluate_grid(made, grid(GRID), tried, threads=1).write(folder / "study.parquet")
    menu = optimize(folder / "study.parquet", profile=made).menu
    menu.write(folder / "menu.json")
    offer(made, folder / "offer.json", study=folder / "study.parquet", protect="day", private=0)
    mix(made, menu, step=0.5, repeats=2, seed=SEED).write(folder / "mix.parquet")
    with patch.object(guessable_seed, "__defaults__", (600,)):  # its search for a seed has tests of its own
        audit_menu(menu, made, seed=SEED).write(folder / "card.json")
    return folder
