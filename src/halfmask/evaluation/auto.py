"""The grid ``auto``: the paper's grid in the data's own scale, extended until noise breaks the constraint.

Local and global errors are ratios, so readings and noise in another unit have the same scores. The paper's grid is in
absolute numbers and has not: with readings in Wh instead of kWh no setting of it breaks the constraint, and the
normalisers are then those of the grid. Here the grid's noise is multiplied by

    c = mean |s| of the data / mean |s| of the paper's data

and if the noisiest setting of a mechanism still keeps the constraint, its noisiest octave is repeated at twice, four
times, ... the noise until one breaks it: the normalisers then sit at the constraint, and scores mean the same
everywhere. At the quiet end nothing has to be added: the paper's sine grid goes down to 0.03^9 = 2e-14 of a unit.
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
"""Noise is doubled so often at the most: 1e12 times the paper's."""
PER_OCTAVE = 500
"""Settings that an added octave holds at the most."""


def typical_size(profile: Profile) -> float:
    """Mean |s| over the usable readings, zeros included."""
    total = float(profile.rows["sum_abs"].sum())
    if not 0 < total < np.inf:
        raise OptionError("the readings are all zero, or beyond the largest number: no grid fits them; name one")
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
    """The grid ``auto`` for a profile and the subsets it will be evaluated on.

    Which noise breaks the constraint is tried on one setting for each mechanism and octave; of an aggregate without
    closed form it is tried on the sum. A mechanism whose noise breaks nothing in `OCTAVES` is not extended.
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
    """The noisiest setting of a block, and that with 2, 4, ... times its noise."""
    spread = mechanism(block.mechanism).moments(block.parameters)[:, 1]
    top = Block(block.mechanism, block.parameters[[int(np.argmax(spread))]])
    rungs = [top.parameters, *(scaled(top, 2.0**k).parameters for k in range(1, OCTAVES + 1))]
    return Block(block.mechanism, np.concatenate(rungs))


def _octave(block: Block, factor: float) -> Block:
    """The settings with more than half the largest noise of a block, at most `PER_OCTAVE` of them, grown."""
    spread = np.sqrt(mechanism(block.mechanism).moments(block.parameters)[:, 1])
    upper = np.flatnonzero(spread > spread.max() / 2)
    order = upper[np.argsort(spread[upper], kind="stable")]
    taken = order[np.unique(np.linspace(0, len(order) - 1, PER_OCTAVE).round().astype(np.int64))]
    return scaled(Block(block.mechanism, block.parameters[np.sort(taken)]), factor)
