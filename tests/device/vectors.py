"""Test vectors that Python and the browser's twin share: secret, channel and reading in, report out."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from halfmask_device import Lattice
from halfmask_device.campaign_calendar import Calendar
from halfmask_device.instants import DAY
from halfmask_device.masking import Channel
from halfmask_device.period_totals import total_time
from halfmask_device.secret import Keys, Secret

FILE = Path(__file__).parent / "mask_vectors.json"
CHANNELS = [
    *(("laplace:0.5", "0.001", "0", "20"), ("laplace:100", "0.001", "0", "20"), ("laplace:0.7", "1", "-5", "5")),
    *(
        ("gaussian:0.25", "0.01", "0", "20"),
        ("gaussian:90", "0.01", "0", "20"),
        ("geometric:0.2,0.01", "0.01", "0", "1"),
    ),
    *(("uniform:0.237", "0.01", "0", "9"), ("staircase:1,0.15,0.3", "0.01", "0", "9"), ("none", "0.25", "-1", "1")),
    *(("sine:0.9,0.3,0.6,0.6,0.3", "0.001", "0", "20"), ("tabulated:0.05,0.25,0.1,0.25,0.333,1", "0.01", "0", "9")),
]
LATER = [
    *(("logistic:0.4", "0.001", "0", "20"), ("logistic:80", "0.01", "0", "20"), ("logistic:0.6", "1", "-5", "5")),
    *(("triangular:0.7", "0.001", "0", "20"), ("triangular:90.5", "0.01", "0", "20")),
]
"""Channels that came after the first vectors were stored: theirs follow, so that the first stay as they are."""
TOTALS = [
    *(("laplace:2.5@total", "0.1", "0", "40"), ("gaussian:4@total", "0.01", "0", "40"), ("none@total", "1", "-5", "9")),
    *(("sine:0.9,0.3@total", "0.001", "0", "20"), ("laplace:900@total", "0.1", "0", "40")),
]
"""Channels that mask the total of a period."""
EVERY = [*CHANNELS * 4, *LATER * 8, *TOTALS * 3]


def reported(vector: dict[str, Any]) -> int:
    """The report that Python gives for a vector's input."""
    lattice = Lattice(vector["step"], vector["low"], vector["high"])
    keys = Keys(Secret(vector["from"], bytes.fromhex(vector["chain"]), bytes(32)))
    values = vector.get("values")
    steps = lattice.steps(vector["value"]) if values is None else lattice.nearest(sum(map(Fraction, values)))
    assert steps is not None
    look = (vector["sensor"], vector["time"], vector["day"], keys.of(vector["day"]), steps)
    (noise,) = Channel.of(vector["setting"], lattice).drawn([look]).noises
    return steps + noise


def vectors() -> list[dict[str, Any]]:
    """Inputs over all mechanisms, with Python's reports."""
    found = []
    for number, (setting, step, low, high) in enumerate(EVERY):
        vector: dict[str, Any] = {
            "chain": f"{number * 7919 + 1:064x}", "from": 20_000, "day": 20_000 + number % 3, "setting": setting,
            "step": step, "low": low, "high": high, "sensor": ("", "kitchen", "küche", "a:1")[number % 4],
            "time": f"2024-10-0{4 + number % 3}T{number % 24:02}:30:00", "value": f"{number * 0.137 - 0.5:.4f}",
        }  # fmt: skip
        if setting.endswith("@total"):
            span = Calendar("day", "UTC").span_of(vector["day"] * DAY)
            vector["values"] = [f"{(n * 0.0371) % 0.9 - 0.1:.4f}" for n in range(number % 50)]
            vector["time"] = total_time(span)
        found.append({**vector, "report": str(reported(vector))})
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n")
