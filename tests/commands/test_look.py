"""What `halfmask look` prints fits on a page, and the commands that it advises work."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from halfmask.commands.look import Look, commands, look
from tests.commands.program import halfmask
from tests.data import exports_of_devices, exports_of_meters, exports_of_services
from tests.data.exports import Export, write

ASKED = (
    exports_of_meters.telegrams_of_a_meters_port,
    exports_of_meters.a_plug_that_measures_two_directions,
    exports_of_services.two_energies_of_a_meter,
)


def wide(folder: Path) -> Path:
    """Rows of very many nested fields and long texts."""
    rows = [
        {
            "time": f"2026-01-01T{hour:02}:00:00",
            "payload": {f"k{i}": {"a": "x" * 500, "b": [1, 2, 3]} for i in range(400)},
        }
        for hour in range(24)
    ]
    return write(folder / "wide.json", json.dumps(rows))


@pytest.mark.parametrize(
    "source",
    [
        wide,
        lambda folder: exports_of_meters.statistics_of_home_automation(folder).source,
        lambda folder: exports_of_meters.homes_of_a_supplier_with_prices(folder).source,
        lambda folder: exports_of_devices.an_inverter_with_six_rows_of_names(folder).source,
    ],
)
def test_at_most_sixty_lines_are_printed(source: Callable[[Path], Path], tmp_path: Path) -> None:
    path = source(tmp_path)
    done = halfmask("look", str(path), cwd=tmp_path)
    printed = done.stdout.splitlines()
    assert 0 < len(printed) <= 60
    table = printed[1 : printed.index("", 1)]
    assert all(len(line.rstrip()) <= 80 for line in table)


@pytest.mark.parametrize("make", ASKED)
def test_a_command_that_is_advised_works(make: Callable[[Path], Export], tmp_path: Path) -> None:
    options = Look(str(make(tmp_path).source))
    seen = look(options)
    assert seen.problem
    line, *_ = commands(options, seen)
    program, *words = shlex.split(line)
    assert program == "halfmask"
    done = halfmask(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.profile"))
