"""Registers: differences of large files, and registers among meters that export readings."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from halfmask.data.open_panel import open_panel
from halfmask.data.options import ReadOptions
from halfmask.profiles.build import Policies, build_profile
from halfmask.profiles.first_look import ways_out
from tests.commands.program import process
from tests.refusals import refused


def test_a_large_text_file_of_registers_is_read_to_its_end(tmp_path: Path) -> None:
    # In a process of its own, which can be ended: a query that read the file twice waited for itself for ever.
    meters, steps = 4, 17_000
    times = [f"{datetime(2024, 1, 1) + i * timedelta(minutes=30):%Y-%m-%d %H:%M}" for i in range(steps)]
    rows = [f"M{meter},{time},{0.5 * i}" for meter in range(meters) for i, time in enumerate(times)]
    source = tmp_path / "x.csv"
    source.write_text("\n".join(["meter,time,kwh", *rows]))
    ended = process("profile", source, "--register", "-o", tmp_path / "x.profile")
    assert ended.returncode == 0, ended.stderr
    assert f"{meters * (steps - 1):,} used as readings + {meters} first state" in ended.stdout


START = datetime(2024, 5, 1)
HOURS = [START + i * timedelta(hours=1) for i in range(240)]


def mixed(registers: Sequence[int], meters: int = 20) -> dict[str, list[float]]:
    """Hourly readings of some meters for ten days; of a few, the states of their registers."""
    used = np.random.default_rng(4).gamma(2.0, 0.2, (meters, len(HOURS))).round(3)
    states = 5000 + np.cumsum(used, axis=1)
    return {f"H{i}": (states if i in registers else used)[i].round(3).tolist() for i in range(meters)}


def long(table: dict[str, list[float]]) -> str:
    rows = [f"{meter},{t},{v}" for meter, values in table.items() for t, v in zip(HOURS, values, strict=True)]
    return "\n".join(["meter,time,kwh", *rows])


def wide(table: dict[str, list[float]]) -> str:
    rows = [f"{t},{','.join(map(str, cells))}" for t, *cells in zip(HOURS, *table.values(), strict=True)]
    return "\n".join([",".join(["time", *table]), *rows])


@pytest.mark.parametrize("shape", [long, wide])
@pytest.mark.parametrize("registers", [[7], [0, 4, 8, 12, 16], list(range(0, 20, 2))])
def test_registers_among_readings_are_told_apart_by_user(
    registers: list[int], shape: Callable[[dict[str, list[float]]], str], tmp_path: Path
) -> None:
    source = tmp_path / "x.csv"
    source.write_text(shape(mixed(registers)))
    with refused("reading.register") as caught:
        build_profile(open_panel(source))
    assert caught.value.place.startswith(f"users H{registers[0]}")
    readings, states, *_ = ways_out(str(caught.value), ReadOptions())
    kept, differences = (build_profile(open_panel(source, **way)) for way in (readings, states))
    assert (kept.users, kept.readings) == (20 - len(registers), (20 - len(registers)) * 240)
    assert (differences.users, differences.readings) == (len(registers), len(registers) * 239)
    assert float(differences.cells[..., 1].sum()) < 239 * len(registers)
    assert build_profile(open_panel(source, register=False)).users == 20


def test_what_rises_for_a_day_among_others_is_no_register(tmp_path: Path) -> None:
    source = tmp_path / "x.csv"
    rows = [
        f"{meter},{t},{v}" for meter, values in mixed([7]).items() for t, v in zip(HOURS[:40], values, strict=False)
    ]
    source.write_text("\n".join(["meter,time,value", *rows]))
    assert build_profile(open_panel(source), policies=Policies(high=np.inf)).users == 20
