"""Real data sets that some tests try besides the synthetic ones. They are no part of the repository.

``HALFMASK_DATA`` names the folder that holds them (CONTRIBUTING.md says where they come from); without it, one beside
the checkout is looked for. Tests that need a file which is not there are skipped.
"""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get("HALFMASK_DATA") or Path(__file__).parents[2] / "shared" / "data")
SWISS = DATA / "ch_households_halfhourly.parquet"
PEDESTRIANS = DATA / "melbourne_pedestrians_hourly.parquet"
needs_data = pytest.mark.skipif(
    not (SWISS.is_file() and PEDESTRIANS.is_file()), reason="no real data sets: HALFMASK_DATA names their folder"
)
