"""Registers: differences of large files, and registers among meters that export readings."""

from datetime import datetime, timedelta
from pathlib import Path

from tests.cli.program import process


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
