"""A street of households large enough for the paper's constraint, and studies of it."""

from functools import cache
from typing import Any

import pyarrow as pa

from halfmask.evaluation.evaluate import evaluate_grid
from halfmask.evaluation.experiment import Experiment
from halfmask.mechanisms.grid import grid
from halfmask.menus.question import Question
from tests.choice.cases import GRID, as_read
from tests.evaluation.direct_cases import Case, household

QUESTION = Question(0.5, 12, 1e-6, "kWh")


@cache
def street() -> Case:
    """Two hundred users over nine days, every two hours."""
    return household(users=200, days=9, step=2)


@cache
def studied(text: str = GRID) -> tuple[pa.Table, dict[str, Any]]:
    """A study of the street, as it is read from its file."""
    homes = street().profile
    return as_read(evaluate_grid(homes, grid(text), Experiment.on(homes, sizes="100,all")))
