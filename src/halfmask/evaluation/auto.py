"""The grid ``auto``: the paper's grid scaled to the data, and extended until noise breaks the constraint.

Local and global errors are ratios, so scores do not change if readings and noise are given in another unit. But the
paper's grid contains absolute numbers. With readings in Wh instead of kWh, none of its settings breaks the constraint,
and the normalisers depend on the grid. Here the grid's noise is multiplied by

    c = mean |s| of the data / mean |s| of the paper's data

If the noisiest setting of a mechanism still keeps the constraint, its noisiest octave is repeated with twice, four
times, ... the noise until one setting breaks it. The normalisers are then determined by the constraint, and scores of
different data have the same meaning. Less noise is never needed: the paper's sine grid goes down to 0.03^9 = 2e-14 of a
unit.
"""

from collections.abc import Sequence

import numpy as np

from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import ANALYTIC
from halfmask.evaluation.analytic.denominators import ErrorKind
from halfmask.evaluation.analytic.evaluate_analytic import BlockErrors, SubsetErrors
from halfmask.evaluation.sampling import Subset
from halfmask.evaluation.scores import Constraint, passing
from halfmask.mechanisms.grid import AUTO, TYPICAL, Block, Grid, grid, joined, scaled
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.profiles.profile import Profile

OCTAVES = 40
"""Largest number of octaves that are added: 1e12 times the paper's noise."""
PER_OCTAVE = 500
"""Largest number of settings in an added octave."""


def typical_size(profile: Profile) -> float:
    """Return mean |s| over the usable readings, zeros included."""
    total = float(profile.rows["sum_abs"].sum())
    if not 0 < total < np.inf:
        raise OptionError(
            "the readings are all zero, or beyond the largest number: no grid fits them; name one", kind="all-zero"
        )
    return total / profile.readings


def auto_grid(
    profile: Profile,
    subsets: Sequence[Subset],
    *,
    aggregate: str = "sum",
    error: ErrorKind = "relative",
    seed: int = 7,
    constraint: Constraint | None = None,
) -> Grid:
    """Return the grid ``auto`` for a profile and the subsets on which it will be evaluated.

    One setting per mechanism and octave is tested against the constraint. If the aggregate has no closed form, the sum
    is used for the test. A mechanism that keeps the constraint for all `OCTAVES` is not extended.
    """
    scale = typical_size(profile) / TYPICAL
    tried = aggregate if aggregate in ANALYTIC else "sum"
    blocks, of = list[Block](), SubsetErrors(profile, list(subsets), tried, error, seed)
    for each in grid("paper").blocks:
        block = scaled(each, scale)
        errors = BlockErrors(of, _ladder(block)).global_metrics()
        breaking = np.flatnonzero(~passing(errors, constraint or Constraint()))
        added = int(breaking[0]) if len(breaking) else 0
        blocks += [block, *(_octave(block, 2.0 ** (k + 1)) for k in range(added))]
    return Grid(joined(blocks), AUTO, scale)


def _ladder(block: Block) -> Block:
    """Return the noisiest setting of a block, and settings with 2, 4, ... times its noise."""
    spread = mechanism(block.mechanism).moments(block.parameters)[:, 1]
    top = Block(block.mechanism, block.parameters[[int(np.argmax(spread))]])
    rungs = [top.parameters, *(scaled(top, 2.0**k).parameters for k in range(1, OCTAVES + 1))]
    return Block(block.mechanism, np.concatenate(rungs))


def _octave(block: Block, factor: float) -> Block:
    """Return the block's settings with more than half its largest noise, at most `PER_OCTAVE`, with noise multiplied by
    ``factor``.
    """
    spread = np.sqrt(mechanism(block.mechanism).moments(block.parameters)[:, 1])
    upper = np.flatnonzero(spread > spread.max() / 2)
    order = upper[np.argsort(spread[upper], kind="stable")]
    taken = order[np.unique(np.linspace(0, len(order) - 1, PER_OCTAVE).round().astype(np.int64))]
    return scaled(Block(block.mechanism, block.parameters[np.sort(taken)]), factor)
