"""Symmetric noise whose distribution is given as a table."""

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.mechanisms.mechanism import Noise, Parameters, signs
from halfmask_device.laws.tabulated import MECHANISM


class Tabulated(Noise):
    """Noise with the piecewise linear distribution function of |psi| through (0, 0), (y1, c1), (y2, c2), ...

    The sign is random. Between two points |psi| is uniform. An atom can be approximated by a steep piece.
    """

    form = MECHANISM
    proven = True

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        rows = np.broadcast_to(y, (len(parameters), np.shape(y)[-1]))
        out = np.empty(rows.shape)
        for s, (at, share) in enumerate(zip(*_points(parameters), strict=True)):
            out[s] = np.interp(rows[s], at, share)
        return out

    def moments(self, parameters: FloatArray) -> FloatArray:
        """Return E|psi|^k, a sum over pieces: a piece from u to v with mass c adds c sum_j v^j u^(k-j) / (k+1).

        This equals c (v^(k+1) - u^(k+1)) / ((k+1)(v - u)).
        """
        at, share = _points(parameters)
        u, v, mass = at[:, :-1], at[:, 1:], np.diff(share)
        result = np.zeros((len(parameters), 4))
        with np.errstate(over="ignore"):
            for k in range(1, 5):
                for j in range(k + 1):
                    term = mass / (k + 1)
                    for factor in (v,) * j + (u,) * (k - j):
                        term = np.where(factor > 0, term, 0.0) * factor
                    result[:, k - 1] += term.sum(axis=1)
        return result

    def support(self, parameters: FloatArray) -> FloatArray:
        at, share = _points(parameters)
        return np.asarray(at[np.arange(len(at)), np.argmax(share >= 1, axis=1)])

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        at, share = _points(parameters[None])
        sizes: FloatArray = np.interp(rng.random(size), share[0], at[0])
        return signs(size, rng) * sizes

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        centred = 2 * u - 1
        at, share = _points(parameters[None])
        return np.asarray(np.sign(centred) * np.interp(np.abs(centred), share[0], at[0]))

    def corners(self, parameters: Parameters, end: float) -> tuple[FloatArray, bool]:  # noqa: ARG002
        return np.array([0.0, *parameters[::2]]), True

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        result = parameters.copy()
        result[:, ::2] *= factor
        return result

    def brief(self, text: str, parameters: Parameters) -> str:
        """If there are more than three points, return their number instead of the text."""
        return f"{self.name}, {len(parameters) // 2} points" if len(parameters) > 6 else text


def _points(parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the y and the c of each row of parameters, each with a 0 in front."""
    start = np.zeros((len(parameters), 1))
    return np.hstack([start, parameters[:, ::2]]), np.hstack([start, parameters[:, 1::2]])
