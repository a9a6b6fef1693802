"""The laws that devices must draw, from the simulation's own: cells of a lattice, and a test against them."""

from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from halfmask.arrays import FloatArray
from halfmask.mechanisms.setting import PrivacySetting
from halfmask_device import Lattice, noise
from tests.device.opendp import opendp_noise
from tests.statistics import share

LATTICE = Lattice("0.01", "0", "10")
DRAWS = 60_000
SETTINGS = (
    *("laplace:0.2", "gaussian:0.2", "geometric:0.2,0.01", "uniform:0.237", "staircase:1,0.15,0.3"),
    *("sine:0.5,0.3,0.6,0.2,0.3", "tabulated:0.05,0.25,0.1,0.25,0.333,1"),
)
OPENDP = ("laplace:0.2", "gaussian:0.2", "geometric:0.2,0.01")
CASES = [(setting, "own") for setting in SETTINGS] + [(setting, "opendp") for setting in OPENDP]
TESTS = 100
"""Statistical tests in this folder; the entropy is the system's, so each run is a new one."""


@cache
def draws(setting: str, backend: str) -> NDArray[np.int64]:
    """Noise of a device in steps, drawn once for all tests."""
    return np.array(noise(setting, LATTICE, DRAWS) if backend == "own" else opendp_noise(setting, LATTICE, DRAWS // 2))


def simulated(setting: str, most: int, *, scale: float = 1.0) -> FloatArray:
    """`rounded` noise on `LATTICE`; a device's Laplace is discrete, which the simulation calls geometric."""
    name, _, parameters = setting.partition(":")
    return rounded(
        f"geometric:{parameters},{LATTICE.step}" if name == "laplace" else setting, LATTICE, most, scale=scale
    )


def rounded(setting: str, lattice: Lattice, most: int, *, scale: float = 1.0) -> FloatArray:
    """P(k) for k = -most..most, what is further out counted with the ends: the simulation's ``scale`` psi, rounded."""
    parsed = PrivacySetting.parse(setting)
    borders = (np.arange(most) + 0.5) * float(lattice.unit) / scale
    below = parsed.law.cdf(np.array([parsed.parameters]), borders)[0]
    sizes = np.diff(np.concatenate([[0.0], below, [1.0]]))
    halves = sizes[1:] / 2
    return np.concatenate([halves[::-1], sizes[:1], halves])


def fits(sample: NDArray[np.int64], chances: FloatArray, tests: int = TESTS) -> bool:
    """Pearson's test of whether the sample can be of that law; cells of under 100 expected draws are joined.

    With at least 100 a cell the chi-square law is close enough for the rate of false alarms that tests keep to.
    """
    most = len(chances) // 2
    counts = np.bincount(np.clip(sample, -most, most) + most, minlength=len(chances))
    found, expected, kept = [], [], [0, 0.0]
    for count, chance in zip(counts, chances * sample.size, strict=True):
        kept = [kept[0] + count, kept[1] + chance]
        if kept[1] >= 100:
            found.append(kept[0])
            expected.append(kept[1])
            kept = [0, 0.0]
    found[-1] += kept[0]
    expected[-1] += kept[1]
    there, wanted = np.array(found, dtype=float), np.array(expected)
    return bool(chi2.sf(np.sum((there - wanted) ** 2 / wanted), len(there) - 1) > share(tests))
