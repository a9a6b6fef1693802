"""Local errors from a profile: mean, standard deviation and entropy of every setting on every subset.

Mean and second moment are exact: E e^k = E|psi|^k mean(z^-k). The entropy is the expected one (`expected_entropy`) on a
logarithmic grid, corrected by a finer grid for bounded noise (`fine_correction`). Subsets differ little from their
average, so the entropy is expanded to second order around it. Subsets for which this is not exact enough are computed
one by one. Normal scatter with known covariance is added to the expectations. For noise on a lattice and subsets with
few readings, errors are drawn (`drawn_entropy`).
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.drawn_entropy import drawn_entropies, drawn_subsets, most_drawn
from halfmask.evaluation.analytic.fine_correction import Correction, FineGrid, interpolated
from halfmask.evaluation.analytic.interpolated_scales import between_scales
from halfmask.evaluation.analytic.local_kernel import entropies, expansions
from halfmask.evaluation.analytic.log_grid import LogGrid, largest_noise, make_grid
from halfmask.evaluation.analytic.smallest_divisors import smallest_divisors
from halfmask.evaluation.sampling import Subset
from halfmask.mechanisms.mechanism import Mechanism

PER_OCTAVE, PER_OCTAVE_OF_FEW = 16, 128
"""Cells of the grid per octave; more if z has at most `FEW_VALUES` values, which do not smooth the noise's law."""
TOLERANCE = 1e-3  # bits of entropy that an expansion may differ from the exact sum,
SCATTER = 0.05  # or this share of what subsets of one size differ by themselves, whichever is more
SPREAD = 0.15  # what the scatter of an expanded subset may be off, as a share
MOST_DIRECTIONS = 12
NODES = 5
CORRECTED = 3  # numbers of errors at which the finer grid is looked at
FEW = 12  # with no more subsets than this, each is computed by itself
FEW_VALUES = 32  # a subset with no more values of z, whose law of z is this far (total variation) from the average,
UNLIKE = 0.1  # has a correction of its own,
MOST_OWN = 50  # if there are no more of them than this


Source = Callable[["slice | IntArray"], tuple[FloatArray, FloatArray]]
"""Function of a selection of settings: returns their entropies, and n times their variance and covariances."""


@dataclass(frozen=True)
class Around:
    """Subsets close to their average: coordinates of their laws of z along a few directions."""

    which: IntArray
    grid: LogGrid
    nodes: FloatArray
    weights: FloatArray  # (subsets, nodes): interpolation in log n
    between: FloatArray  # (subsets, every other node): the same on straight lines, which keep a variance positive
    coordinates: FloatArray  # (subsets, directions)
    residual: FloatArray  # (subsets, grid values): what the directions leave


@dataclass(frozen=True)
class LocalMetrics:
    """Expectations per setting and subset, and the Cholesky factor of the scatter of (mean, second moment, entropy)."""

    mean: FloatArray
    second: FloatArray
    entropy: FloatArray
    factor: FloatArray  # (settings, subsets, 3, 3)


class LocalErrors:
    """Local errors of one kind of noise on given subsets.

    ``probe`` are settings on which the expansion is tested.
    """

    def __init__(
        self,
        z: Denominators,
        subsets: Sequence[Subset],
        law: Mechanism,
        probe: FloatArray,
        largest_noise: float,
        seed: int,
    ) -> None:
        self.z = z
        self.subsets = subsets
        self.seed = seed
        self.keep = 1 - z.zero
        self.kept = float(self.keep.mean())
        self.smallest = smallest_divisors(z)
        self.largest_noise = largest_noise
        self.average = base = z.share.mean(axis=0)
        logs = np.log(z.n)
        apart = np.ptp(logs) > 1e-9
        self.correction_nodes = np.linspace(logs.min(), logs.max(), CORRECTED) if apart else logs[:1]
        self.base = self._grid(base[None])
        self.around = self._expand(base, law, probe)
        held = self.around.which if self.around else np.zeros(0, np.int64)
        self.single = np.setdiff1d(np.arange(len(z.n)), held)
        self.exact = self._grid(z.share[self.single]) if len(self.single) else None

    def correction(self, law: Mechanism, parameters: FloatArray) -> Correction | None:
        """Return a function that computes the correction of the entropy by a finer grid; None for noise without a
        bound.

        The function maps settings to an array with a row per setting. Its first columns are for several numbers of
        errors under the average law of z, the others for the subsets `of_few_values`.
        """
        if not np.isfinite(law.support(parameters)).all():
            return None
        own, _ = self.of_few_values
        z, n = self.z, np.exp(self.correction_nodes)
        grid = self._grid(np.concatenate([np.repeat(self.average[None], len(n), axis=0), z.share[own]]))
        errors, keep = np.append(n, z.n[own]), np.append(np.full(len(n), self.kept), self.keep[own])

        def exact(some: FloatArray) -> FloatArray:
            laws = [
                (self._fine, n, self.kept),
                *((FineGrid(z, z.share[u], z.steps[u]), z.n[[u]], self.keep[u]) for u in own),
            ]

            def one(setting: FloatArray) -> FloatArray:
                return np.concatenate([fine.entropies(law, setting[None], *of) for fine, *of in laws])

            with ThreadPoolExecutor(2) as pool:
                fine = np.array(list(pool.map(one, some)))
            return fine - self._entropies(grid, self.cdf(law, some), law.moments(some), errors, keep)[0]

        return interpolated(parameters, law, exact)

    @cached_property
    def of_few_values(self) -> tuple[IntArray, IntArray]:
        """Subsets of few users, for errors scaled by users' means, which are then the only values of z.

        The first array has one subset for each group of equal ones. The second has, for every subset, the index of its
        group, or -1. If there are more than `MOST_OWN` groups, none has its own correction.
        """
        z, place = self.z, np.full(len(self.z.n), -1)
        apart = np.abs(z.share - self.average).sum(axis=1) / 2
        few = np.flatnonzero(((z.share > 0).sum(axis=1) <= FEW_VALUES) & (apart > UNLIKE))
        if z.values is not None or not len(few):
            return np.zeros(0, np.int64), place
        law = np.column_stack([z.share[few], z.n[few], z.zero[few]])
        _, first, alike = np.unique(law, axis=0, return_index=True, return_inverse=True)
        if len(first) > MOST_OWN:
            return np.zeros(0, np.int64), place
        place[few] = alike.reshape(-1)
        return few[first], place

    @cached_property
    def _fine(self) -> FineGrid:
        return FineGrid(self.z, self.average, self.z.steps.mean(axis=0))

    def source(self, law: Mechanism, parameters: FloatArray) -> Source:
        """Return a function that computes the `entropies` of some of these settings, by interpolation
        over scales if possible.
        """
        correction = self.correction(law, parameters)

        def closed(some: FloatArray) -> tuple[FloatArray, FloatArray]:
            return self.closed_form(law, some, None if correction is None else correction(some))

        between = between_scales(law, parameters, closed)

        def found(rows: slice | IntArray) -> tuple[FloatArray, FloatArray]:
            own = parameters[rows]
            if between is not None:
                entropy, noise = between(own)
            else:
                laws, place = _distinct(law.essential(own), own)
                entropy, noise = (part[place] for part in closed(laws))
            return self._with_drawn(law, own, entropy, noise, len(parameters))

        return found

    def entropies(
        self, law: Mechanism, parameters: FloatArray, correction: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the expected entropy (settings, subsets), with ``correction`` added, and its scatter (settings,
        subsets, 3).

        The scatter is n times the entropy's variance, and its covariances with mean and mean square.
        """
        return self._with_drawn(law, parameters, *self.closed_form(law, parameters, correction), len(parameters))

    def closed_form(
        self, law: Mechanism, parameters: FloatArray, correction: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return `entropies` from the grid alone."""
        moments = law.moments(parameters)
        z, subsets = self.z, len(self.z.n)
        entropy, noise = np.empty((len(parameters), subsets)), np.empty((len(parameters), subsets, 3))
        for which, part in self._parts(law, parameters, moments):
            entropy[:, which], noise[:, which] = part
        if correction is not None:
            nodes, (_, place) = len(self.correction_nodes), self.of_few_values
            added = correction[:, :nodes] @ _lagrange(self.correction_nodes, np.log(z.n)).T
            added[:, place >= 0] = correction[:, nodes + place[place >= 0]]
            entropy = np.clip(entropy + added, 0, np.log2(z.n))
        silent = moments[:, 1] == 0  # no noise: every error is 0
        entropy[silent], noise[silent] = 0, 0
        return entropy, noise

    def _with_drawn(
        self, law: Mechanism, parameters: FloatArray, entropy: FloatArray, noise: FloatArray, settings: int
    ) -> tuple[FloatArray, FloatArray]:
        """Replace the entropies of subsets that are drawn; a draw already contains its scatter."""
        which = drawn_subsets(self.z, law, parameters[0])
        if len(which):
            most = most_drawn(settings, len(which))
            drawn = drawn_entropies(self.z, which, self.subsets, law, parameters, self.seed, most)
            entropy[:, which], noise[:, which] = drawn, 0
        return entropy, noise

    def metrics(self, law: Mechanism, parameters: FloatArray, entropy: FloatArray, noise: FloatArray) -> LocalMetrics:
        """Return expectations and scatter for settings of one mechanism, from their `entropies`."""
        moments, z = law.moments(parameters), self.z
        with np.errstate(over="ignore", invalid="ignore"):
            mean = moments[:, :1] * z.inverse[:, 0] * self.keep
            second = moments[:, 1:2] * z.inverse[:, 1] * self.keep
            factor = self._factor(moments, noise)
        return LocalMetrics(mean, second, entropy, factor)

    def _grid(self, share: FloatArray) -> LogGrid:
        few = self.z.values is None and len(self.z.size) <= FEW_VALUES
        return make_grid(self.z, share, self.largest_noise, PER_OCTAVE_OF_FEW if few else PER_OCTAVE)

    def _parts(
        self, law: Mechanism, parameters: FloatArray, moments: FloatArray
    ) -> Iterator[tuple[IntArray, tuple[FloatArray, FloatArray]]]:
        """Yield entropy and scatter for the subsets that are expanded, then for those computed one by one."""
        cdf = self.cdf(law, parameters)
        if self.around:
            yield self.around.which, self._expanded(self.around, cdf, moments)
        if self.exact:
            yield self.single, self._exact(self.exact, cdf, moments, self.single)

    def cdf(self, law: Mechanism, parameters: FloatArray) -> FloatArray:
        """Return P(|psi| <= y) on the edges of the grids, (settings, edges); all laws of z share the edges."""
        return np.ascontiguousarray(law.cdf(parameters, self.base.y))

    def _exact(
        self, grid: LogGrid, cdf: FloatArray, moments: FloatArray, which: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        return self._entropies(grid, cdf, moments, self.z.n[which], self.keep[which], noise=True)

    def _entropies(
        self, grid: LogGrid, cdf: FloatArray, moments: FloatArray, n: FloatArray, keep: FloatArray, noise: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the entropy (settings, laws) of n errors under each law of the grid, and its scatter
        (settings, laws, 3).
        """
        out = np.empty((len(cdf), len(n)))
        around = np.empty((len(cdf), len(n), 3 if noise else 0))
        for rows in grid.batches(len(cdf), len(n)):
            below, cell = grid.cells(cdf[rows])
            change = np.empty((len(cell), len(n), cell.shape[2] + 1 if noise else 0))
            entropies(
                cdf[rows], below, cell, grid.first_bin, grid.part, grid.dense, grid.bins, grid.multiple,
                grid.cell_error, n, keep, out[rows], around[rows], change,
            )  # fmt: skip
            if noise:
                around[rows], _ = grid.noise(cdf[rows], grid.share, keep, moments[rows], around[rows], change)
        return out, around

    def _expand(self, base: FloatArray, law: Mechanism, probe: FloatArray) -> Around | None:
        """Return the expansion of the subsets for which it is exact enough; None if they are too few."""
        z = self.z
        if len(z.n) <= FEW:
            return None
        around = self._around(base, np.arange(len(z.n)))
        cdf, moments = self.cdf(law, probe), law.moments(probe)
        expanded, spread = self._expanded(around, cdf, moments)
        exact, exact_spread = self._exact(self._grid(z.share), cdf, moments, np.arange(len(z.n)))
        allowed = np.maximum(TOLERANCE, SCATTER * self._scatter(exact))
        right = np.abs(expanded - exact) < allowed
        own, average = (np.sqrt(each[..., 0] / z.n) for each in (exact_spread, spread))
        alike = np.abs(own - average) < np.maximum(TOLERANCE, SPREAD * np.maximum(own, self._scatter(exact)))
        close = np.flatnonzero((right & alike).all(axis=0))
        return self._around(base, close) if len(close) > FEW else None

    def _scatter(self, entropy: FloatArray) -> FloatArray:
        """Return the standard deviation of the entropy over subsets of equal size; 0 for fewer than three subsets."""
        spread = np.zeros_like(entropy)
        sizes = np.array([subset.size for subset in self.subsets])
        for size in np.unique(sizes):
            alike = sizes == size
            if alike.sum() >= 3:
                spread[:, alike] = entropy[:, alike].std(axis=1, keepdims=True)
        return spread

    def _around(self, base: FloatArray, which: IntArray) -> Around:
        z = self.z
        scale = np.sqrt(np.where(base > 0, base, 1))
        left, size, right = np.linalg.svd((z.share[which] - base) / scale, full_matrices=False)
        # what k directions leave of a subset's chi-squared distance, in bits: the second-order term they miss
        left_out = np.concatenate([np.cumsum(((left * size) ** 2)[:, ::-1], axis=1)[:, ::-1].max(axis=0), [0.0]])
        few_enough = np.flatnonzero(left_out / (2 * np.log(2)) < TOLERANCE / 4)
        directions = min(int(few_enough[0]), MOST_DIRECTIONS)
        along = right[:directions] * scale
        coordinates = (left * size)[:, :directions]
        residual = z.share[which] - base - coordinates @ along
        grid = self._grid(np.concatenate([base[None], along, residual]))
        logs = np.log(z.n[which])
        nodes = np.linspace(logs.min(), logs.max(), NODES) if np.ptp(logs) > 1e-9 else logs[:1]
        return Around(
            which=which,
            grid=replace(grid, share=grid.share[: 1 + directions]),
            nodes=np.exp(nodes),
            weights=_lagrange(nodes, logs),
            between=_hats(nodes[::2], logs),
            coordinates=coordinates,
            residual=grid.share[1 + directions :],
        )

    def _expanded(self, around: Around, cdf: FloatArray, moments: FloatArray) -> tuple[FloatArray, FloatArray]:
        (values, slopes, bends, gradient), noise = self._run(around.grid, cdf, moments, around.nodes)
        c = around.coordinates
        entropy = values @ around.weights.T
        entropy += np.einsum("qac,ua,uc->qu", slopes, around.weights, c, optimize=True)
        squares = (c[:, :, None] * c[:, None, :]).reshape(len(c), -1)
        flat = bends.reshape(*bends.shape[:2], squares.shape[1])
        for node in range(flat.shape[1]):
            entropy += flat[:, node] @ (0.5 * around.weights[:, node, None] * squares).T
        entropy += gradient @ around.residual.T
        return np.clip(entropy, 0, np.log2(self.z.n[around.which])), np.einsum("qak,ua->quk", noise, around.between)

    def _run(
        self, grid: LogGrid, cdf: FloatArray, moments: FloatArray, n: FloatArray
    ) -> tuple[tuple[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]:
        settings, directions = len(cdf), grid.share.shape[0] - 1
        values = np.empty((settings, len(n)))
        slopes = np.empty((settings, len(n), directions))
        bends = np.empty((settings, len(n), directions, directions))
        gradient = np.empty((settings, len(grid.inverse)))
        noise = np.empty((settings, len(n[::2]), 3))
        for rows in grid.batches(settings, directions + 1):
            below, cell = grid.cells(cdf[rows])
            change = np.empty((len(cell), noise.shape[1], cell.shape[2] + 1))
            expansions(
                cdf[rows], below, cell, grid.first_bin, grid.part, grid.dense, grid.bins, grid.multiple,
                grid.cell_error, n, self.kept, values[rows], slopes[rows], bends[rows], noise[rows], change,
            )  # fmt: skip
            noise[rows], slope = grid.noise(cdf[rows], grid.share[:1], self.kept, moments[rows], noise[rows], change)
            gradient[rows] = slope[:, len(n) // 2 // 2]
        return (values, slopes, bends, gradient), noise

    def _factor(self, moments: FloatArray, noise: FloatArray) -> FloatArray:
        """Return the Cholesky factor of the covariance of (mean, second moment, entropy) over the noise,
        for fixed readings.
        """
        m1, m2, m3, m4 = (moments[:, k, None] for k in range(4))
        w2, w3, w4 = (self.z.inverse[:, k] * self.keep for k in (1, 2, 3))
        n = self.z.n
        v11, v12, v22 = (m2 - m1**2) * w2 / n, (m3 - m1 * m2) * w3 / n, (m4 - m2**2) * w4 / n
        v33, v13, v23 = (noise[..., k] / n for k in range(3))
        factor = np.zeros((*v11.shape, 3, 3))
        a = np.sqrt(np.maximum(v11, 0))
        b = _ratio(v12, a)
        c = _ratio(v13, a)
        d = np.sqrt(np.maximum(v22 - b**2, 0))
        e = _ratio(v23 - b * c, d)
        # the entropy's covariances are the average subset's where it is expanded: keep them within its variance
        excess = np.sqrt(np.maximum((c**2 + e**2) / np.maximum(v33, 1e-300), 1))
        c, e = c / excess, e / excess
        f = np.sqrt(np.maximum(v33 - c**2 - e**2, 0))
        for (row, column), value in {(0, 0): a, (1, 0): b, (1, 1): d, (2, 0): c, (2, 1): e, (2, 2): f}.items():
            factor[:, :, row, column] = np.where(np.isfinite(value), value, 0)
        return factor


def _distinct(essential: FloatArray, own: FloatArray) -> tuple[FloatArray, IntArray | slice]:
    """Return the settings with different laws, and for each setting the index of its law."""
    if np.array_equal(essential, own):
        return own, slice(None)
    laws, place = np.unique(essential, axis=0, return_inverse=True)
    return laws, place.reshape(-1)


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)


def _lagrange(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """Return the weights of the polynomial through all nodes, at each point."""
    weights = np.ones((len(at), len(nodes)))
    for a, node in enumerate(nodes):
        for b, other in enumerate(nodes):
            if a != b:
                weights[:, a] *= (at - other) / (node - other)
    return weights


def _hats(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """Return the weights of linear interpolation between neighbouring nodes, at each point."""
    return np.stack([np.interp(at, nodes, unit) for unit in np.eye(len(nodes))], axis=1)


def entropy_of_one(z: Denominators, law: Mechanism, setting: FloatArray) -> float:
    """Return the expected entropy of one setting (1, parameters) on the first subset of z."""
    everybody = [Subset(0, 0, np.zeros(0, np.int64), 0)]
    local = LocalErrors(z, everybody, law, setting, largest_noise(law, setting), 0)
    correction = local.correction(law, setting)
    return float(local.entropies(law, setting, None if correction is None else correction(setting))[0][0, 0])
