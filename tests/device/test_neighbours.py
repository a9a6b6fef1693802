"""No report rules out a neighbouring reading where noise is unbounded; a sampler in floating point does."""

import numpy as np
import pytest
from numpy.typing import NDArray

from halfmask_device import Lattice, outputs
from tests.device.laws import TESTS
from tests.statistics import fair_coin

STEPS = Lattice("0.001", "0", "10")
UNBOUNDED = ("laplace:0.004", "gaussian:0.004", "geometric:0.004,0.001", "staircase:0.5,0.002,0.3")
DRAWS = 10_000


@pytest.mark.parametrize("setting", UNBOUNDED)
def test_neighbours_have_the_same_outputs(setting: str) -> None:
    """Every lattice point that is likely enough to be seen is seen from both readings, odd and even alike."""
    ours, theirs = (np.array(outputs(setting, STEPS, value, DRAWS)) for value in ("0.500", "0.501"))
    near = set(range(493, 509))
    assert near <= set(ours.tolist())
    assert near <= set(theirs.tolist())
    assert ruled_out(ours, set(theirs.tolist()), near) == 0


@pytest.mark.parametrize("setting", UNBOUNDED[:2])
def test_the_lowest_bit_tells_nothing(setting: str) -> None:
    wide = setting.replace("0.004", "0.1")
    for value in ("0.500", "0.501"):
        odd = sum(m % 2 for m in outputs(wide, STEPS, value, DRAWS))
        assert fair_coin(odd, DRAWS, TESTS)
    twice = sum((500 + 2 * k) % 2 for k in range(DRAWS))  # noise of two steps would keep the reading's parity
    assert not fair_coin(twice, DRAWS, TESTS)


def ruled_out(outputs_: NDArray[np.int64], possible: set[int], among: set[int]) -> float:
    """The share of outputs that the other reading cannot have given."""
    seen = [m for m in outputs_.tolist() if m in among]
    return sum(m not in possible for m in seen) / len(seen)


def test_a_sampler_in_floating_point_rules_neighbours_out() -> None:
    """s + b ln(u) for u a multiple of 2^-53: most sums cannot come from s' = s + 0.001 by any u near the right one."""
    rng = np.random.default_rng(1)
    s, neighbour, b, n = 0.5, 0.501, 1.0, 2000
    u = rng.integers(1, 2**53, n) / 2**53
    m = s + b * np.log(u)
    wanted = np.exp((m - neighbour) / b)
    around = np.rint(wanted * 2**53)[:, None] + np.arange(-64, 65)
    with np.errstate(divide="ignore", invalid="ignore"):
        met = (neighbour + b * np.log(around / 2**53) == m[:, None]).any(axis=1)
    possible = wanted < 1
    assert 1 - met[possible].mean() > 0.5
    own = np.rint(u * 2**53)[:, None] + np.arange(-64, 65)
    with np.errstate(divide="ignore", invalid="ignore"):
        assert (s + b * np.log(own / 2**53) == m[:, None]).any(axis=1).all()  # the true reading is never ruled out
