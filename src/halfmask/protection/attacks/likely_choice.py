"""A conditional logit: which of several options is chosen, learned on choices that are known.

The probability of option k is proportional to exp(f . x_k), with x_k its features. The factors f maximise the
mean log-likelihood of the known choices, less ridge/2 times the squares of f's distance from a start, in units in which
each feature has a standard deviation of 1.
"""

import numpy as np

from halfmask.arrays import BoolArray, FloatArray

MOST_STEPS = 12
LARGEST_STEP = 4.0
CLOSE = 1e-3


def learned_factors(x: FloatArray, chosen: FloatArray, held: BoolArray, start: FloatArray, ridge: float) -> FloatArray:
    """Return the factors of the features, by Newton steps.

    ``x``       (choices, options, features)
    ``chosen``  (choices, options) share of each option in the choice; adds up to 1
    ``held``    (choices, options) whether there is such an option
    ``start``   (features,) factors without any known choice
    """
    scale = x[held].std(axis=0) + 1e-12
    x, start = np.where(held[:, :, None], x / scale, 0.0), start * scale
    factor, count = start.copy(), len(x)
    for _ in range(MOST_STEPS):
        share = _shares(x @ factor, held)
        mean = np.einsum("nk,nkf->nf", share, x)
        weighted = (x * np.sqrt(share)[:, :, None]).reshape(-1, x.shape[2])
        bend = (weighted.T @ weighted - mean.T @ mean) / count + ridge * np.eye(x.shape[2])
        slope = np.einsum("nk,nkf->f", chosen - share, x) / count - ridge * (factor - start)
        step = np.linalg.solve(bend, slope)
        largest = float(np.abs(step).max())
        factor += step * min(1.0, LARGEST_STEP / max(largest, LARGEST_STEP))
        if largest < CLOSE:
            break
    return np.asarray(factor / scale)


def _shares(score: FloatArray, held: BoolArray) -> FloatArray:
    score = np.where(held, score, -np.inf)
    share = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(share / share.sum(axis=1, keepdims=True))
