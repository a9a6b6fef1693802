"""The paper's sine mechanism. Its table calls it "cosine" and lists the coefficients from the highest power down."""

import math

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.mechanisms.mechanism import LITTLE, Noise, Parameters, Source, powers
from halfmask_device.laws.sine import MECHANISM

TINY = 1e-250  # smaller |psi| are left to the kernel, which rescales them
AT_ONCE = 2**14  # draws that stay in the nearest caches
CLOSE, NEWTON = 4e-16, 200  # rounding error of a root, and a limit far above the steps that Newton's method needs


class Sine(Noise):
    """Sine noise: psi = sum_k (theta_k sin(2 pi U))^(2k+1), with one uniform U for all terms.

    Coefficients are listed from the lowest power up. Negative ones are refused, because the polynomial
    P(x) = sum_k (theta_k x)^(2k+1) must be increasing on [0, 1]. Then P(|psi| <= y) = (2/pi) arcsin(P^-1(y)).
    """

    form = MECHANISM
    alike = True
    proven = True
    unit_parameters = (1.0, 0.0, 0.0, 0.0, 0.0)

    def cdf(self, parameters: FloatArray, y: FloatArray) -> FloatArray:
        theta = np.ascontiguousarray(parameters, dtype=np.float64)
        rows = np.atleast_2d(np.ascontiguousarray(y, dtype=np.float64))
        if not rows.any():  # P(psi = 0) needs no root
            return np.repeat((theta == 0).all(axis=1, keepdims=True).astype(float), rows.shape[1], axis=1)
        from halfmask.mechanisms.sine_kernel import sine_roots  # imported here because numba is slow to import

        out = np.empty((len(theta), rows.shape[1]))
        sine_roots(theta, self._terms(theta), self.support(theta), rows, out)
        np.arcsin(out, out=out)
        out *= 2 / math.pi
        return out

    def moments(self, parameters: FloatArray) -> FloatArray:
        """Return E|psi|^k = sum_n c_n E|sin|^n, where c_n are the coefficients of the polynomial P(x)^k.

        It is computed in units of P(1), so that only the last product can overflow.
        """
        most = self.support(parameters)
        usable = np.where((most > 0) & (most < np.inf), most, 1.0)
        ratio = np.where(np.isfinite(most)[:, None], self._terms(parameters), 0.0) / usable[:, None]
        product = np.ones((len(parameters), 1))
        unit = np.empty((len(parameters), 4))
        for k in range(1, 5):
            product = _multiply(product, ratio)
            unit[:, k - 1] = product @ _sine_moments(k + 2 * np.arange(product.shape[1], dtype=np.int64))
        with np.errstate(over="ignore"):
            result: FloatArray = powers(usable) * unit
        result[most == np.inf] = np.inf
        return result

    def support(self, parameters: FloatArray) -> FloatArray:
        """Return P(1), the sum of theta_k^(2k+1)."""
        with np.errstate(over="ignore"):
            return np.asarray(self._terms(parameters).sum(axis=1))

    def sample(self, parameters: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        psi, terms = np.zeros(size), self._terms(parameters[None])[0]
        for first in range(0, size, AT_ONCE):
            part = psi[first : first + AT_ONCE]
            x = np.sin(2 * np.pi * rng.random(len(part)))
            if np.isfinite(terms.sum()):
                square = x * x
                for term in terms[::-1]:
                    part *= square
                    part += term
                part *= x
                continue
            with np.errstate(over="ignore"):  # P(1) overflows, but P(x) of a small x need not
                for k, theta in enumerate(parameters):
                    part += (theta * x) ** (2 * k + 1)
        return psi

    def common_sums(self, parameters: FloatArray, n: IntArray, rng: np.random.Generator) -> FloatArray | None:
        """Return sum_k theta_k^(2k+1) X_k,t, with X_k,t the sum of sin(2 pi U)^(2k+1) over n_t draws of U."""
        terms = self._terms(parameters)
        if not np.isfinite(terms).all():
            return None
        x = np.sin(2 * np.pi * rng.random(int(n.sum())))
        sums, power = np.zeros((len(terms), len(n))), x
        for term in terms.T:
            sums += term[:, None] * np.add.reduceat(power, np.cumsum(n) - n)
            power = power * x * x
        return sums

    def fill(self, parameters: FloatArray, values: FloatArray, source: Source, out: FloatArray) -> None:
        from halfmask.mechanisms.draw_kernel import sine  # imported here because numba is slow to import

        sine(values, source.words, self._terms(parameters[None])[0], out)

    def quantile(self, parameters: FloatArray, u: FloatArray) -> FloatArray:
        """Return P(sin(pi (u - 1/2))): it has the distribution of P(sin(2 pi u)) and increases with u."""
        x = np.sin(np.pi * (u - 0.5))
        psi = np.zeros(np.shape(u))
        for k in range(len(parameters) - 1, -1, -1):
            psi = psi * (x * x) + parameters[k] ** (2 * k + 1)
        return np.asarray(psi * x)

    def tail(self, parameters: Parameters, y: FloatArray) -> FloatArray:
        """Return P(psi > y) = arccos(P^-1(y))/pi, by Newton's method in numpy.

        The polynomial P is convex for x >= 0, and each term gives an upper bound of the root. So Newton's method starts
        at the least bound and decreases to the root. Numba would take longer to load than this takes to run.
        """
        theta, y = np.array(parameters), np.asarray(y, np.float64)
        terms, powers_ = self._terms(theta[None])[0], 2 * np.arange(len(theta)) + 1
        if not np.isfinite(terms.sum()) or (0 < y[y > 0].min(initial=1.0) < TINY) or not terms.any():
            return super().tail(parameters, y)
        with np.errstate(divide="ignore"):
            x = np.min([y ** (1 / power) / each for power, each in zip(powers_, theta, strict=True) if each], axis=0)
        x = np.minimum(x, 1.0)
        for _ in range(NEWTON):
            square, value, slope = x * x, np.zeros_like(x), np.zeros_like(x)
            for term, power in zip(terms[::-1], powers_[::-1], strict=True):
                value, slope = value * square + term, slope * square + power * term
            step = np.divide(value * x - y, slope, out=np.zeros_like(x), where=slope > 0)
            x = np.clip(x - step, 0.0, 1.0)
            if np.abs(step).max(initial=0.0) <= CLOSE:
                break
        return np.asarray(np.where(y >= terms.sum(), 0.0, np.arccos(x) / np.pi))

    def grown(self, parameters: FloatArray, factor: float) -> FloatArray:
        """Multiply theta_k by the (2k+1)-th root of the factor, so that every term is multiplied by the factor."""
        return parameters * factor ** (1 / (2 * np.arange(parameters.shape[1]) + 1))

    def essential(self, parameters: FloatArray) -> FloatArray:
        """Set theta_k to 0 if t_k < `LITTLE` (t_0 + ... + t_k), where t_k = theta_k^(2k+1).

        On [0, 1] lower powers of x are larger, so the term t_k x^(2k+1) is at most P(x) t_k / (t_0 + ... + t_k).
        """
        terms = self._terms(parameters)
        return np.where(terms < LITTLE * np.cumsum(terms, axis=1), 0.0, parameters)

    @staticmethod
    def _terms(parameters: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            return np.asarray(parameters ** (2 * np.arange(parameters.shape[1]) + 1))


def _multiply(left: FloatArray, right: FloatArray) -> FloatArray:
    """Multiply polynomials row by row. Coefficients are listed from the lowest power up."""
    product = np.zeros((len(left), left.shape[1] + right.shape[1] - 1))
    for k in range(right.shape[1]):
        product[:, k : k + left.shape[1]] += left * right[:, k : k + 1]
    return product


def _sine_moments(n: IntArray) -> FloatArray:
    """Return E|sin(2 pi U)|^n = Gamma((n+1)/2) / (sqrt(pi) Gamma(n/2 + 1)) for uniform U."""
    return np.array([math.exp(math.lgamma((m + 1) / 2) - math.lgamma(m / 2 + 1)) for m in n]) / math.sqrt(math.pi)
