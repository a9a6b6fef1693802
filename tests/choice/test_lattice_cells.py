"""Errors of lattice noise, counted in bins, whether few or all hands hold a value."""

import numpy as np

from halfmask.choice.lattice_cells import Atoms


def test_every_hand_gets_its_own_errors_and_no_other() -> None:
    rng = np.random.default_rng(5)
    hands, values, steps, bins, columns = 40, 6, 9, 30, 11
    share = rng.random((hands, values)) * (rng.random((hands, values)) < [0, 0.02, 0.1, 0.3, 0.9, 1])
    chance, zeros = rng.random(steps), rng.random(hands)
    place, column = rng.integers(1, bins, (values, steps)), rng.integers(0, columns, bins)
    expected = np.zeros((hands, columns))
    for v in range(values):
        for k in range(steps):
            expected[:, column[place[v, k]]] += share[:, v] * chance[k]
    expected[:, column[0]] += zeros
    assert np.array_equal(Atoms(np.arange(bins), place, chance, share, zeros).expected(column, columns), expected)
