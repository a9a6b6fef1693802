"""Local errors from a profile: mean, standard deviation and entropy of every setting on every subset.

Mean and second moment follow exactly from moments: E e^k = E|psi|^k mean(z^-k). The entropy is that of the histogram
one expects (`expected_entropy`), on a coarse logarithmic grid, with what a fine one adds for the average subset
(`fine`). Subsets differ little from their average, so the entropy is expanded to second order around it; subsets for
which that is not exact enough are computed one by one. Around the expectations the metrics scatter normally, with
known covariance.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.evaluation.analytic.denominators import Denominators
from halfmask.evaluation.analytic.few import few_readings
from halfmask.evaluation.analytic.fine import (
    HANDFUL,
    SAMPLED,
    Correction,
    FineGrid,
    bins_of,
    corrections,
    exactly,
    fine_entropy,
    sampled_corrections,
)
from halfmask.evaluation.analytic.lattice import countable, counted
from halfmask.evaluation.analytic.local_kernel import entropies, expansions
from halfmask.evaluation.analytic.log_grid import LogGrid, make_grid
from halfmask.evaluation.analytic.scales import between_scales
from halfmask.mechanisms.base import Mechanism

PER_OCTAVE = 16
TOLERANCE = 1e-3  # bits of entropy that an expansion may differ from the exact sum,
SCATTER = 0.05  # or this share of what subsets of one size differ by themselves, whichever is more
SPREAD = 0.15  # what the scatter of an expanded subset may be off, as a share
MOST_DIRECTIONS = 12
NODES = 5
CORRECTED = 3  # numbers of errors at which full resolution is looked at
FEW = 12  # with no more subsets than this, each is computed by itself
TAIL = 1e-13
MOST_BY_VALUE = 20_000
MOST_WORK = 3e7  # chances of bins, by value of z and setting: some seconds
FEW_VALUES = 32  # a subset with no more values of z, whose law of z is this far (total variation) from the average,
UNLIKE = 0.1  # has a correction of its own,
MOST_CORRECTED = 5_000  # while (settings, subsets) looked at are no more than this: some ten seconds


Source = Callable[["slice | IntArray"], tuple[FloatArray, FloatArray]]
"""The entropies of some settings, and n times their variance and covariances."""


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
    """Per setting and subset: expectations, and the Cholesky factor of their noise (mean, second moment, entropy)."""

    mean: FloatArray
    second: FloatArray
    entropy: FloatArray
    factor: FloatArray  # (settings, subsets, 3, 3)


class LocalErrors:
    """Local errors of one kind of noise on given subsets.

    ``sizes`` says which subsets were drawn alike; ``probe`` are settings to try the expansion on.
    """

    def __init__(
        self, z: Denominators, sizes: IntArray, law: Mechanism, probe: FloatArray, largest_noise: float
    ) -> None:
        self.z = z
        self.sizes = sizes
        self.keep = 1 - z.zero
        self.kept = float(self.keep.mean())
        self.few = few_readings(z)
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

    def corrections(self, law: Mechanism, parameters: FloatArray) -> FloatArray | None:
        """What full resolution adds to each setting's entropy for the average subset, at a few numbers of errors, and
        then for each of the subsets `of_few_values` (settings, `CORRECTED` + subsets); None where z has so few values,
        or errors do, that each is exact.
        """
        correct = self._correcting(law, parameters)
        return None if correct is None else correct(parameters)

    def _correcting(self, law: Mechanism, parameters: FloatArray) -> Callable[[FloatArray], FloatArray] | None:
        """The same for any of these settings, prepared for all.

        A subset's own correction is given up where it would cost the settings theirs, which matters more.
        """
        if self._exact_by_value(len(parameters)) or countable(self.z, law, parameters):
            return None
        own, _ = self.of_few_values
        found = None
        if 0 < len(own) * min(len(parameters), SAMPLED) <= MOST_CORRECTED:
            found = corrections(parameters, law, self._finely(law, own), MOST_CORRECTED // (4 + len(own)))
        average = self._finely(law, own[:0])
        found = found or corrections(parameters, law, average, MOST_CORRECTED // 4)
        return found or sampled_corrections(parameters, law, average, MOST_CORRECTED // 4)

    def _finely(self, law: Mechanism, own: IntArray) -> Correction:
        """What full resolution adds for the average subset and for each of its ``own``, setting by setting."""
        n = np.exp(self.correction_nodes)
        share = np.concatenate([np.repeat(self.average[None], len(n), axis=0), self.z.share[own]])
        grid, errors = self._grid(share), np.concatenate([n, self.z.n[own]])
        keep = np.concatenate([np.full(len(n), self.kept), self.keep[own]])

        def exact(some: FloatArray) -> FloatArray:
            average = fine_entropy(self.z, self.average, n, self.kept, law, some, self._fine)
            by_itself = [self._of_few_values(law, some, subset) for subset in own]
            coarse = self._entropies(grid, self.cdf(law, some), law.moments(some), errors, keep)[0]
            return np.concatenate([average, *by_itself], axis=1) - coarse

        return exact

    def _of_few_values(self, law: Mechanism, parameters: FloatArray, subset: int) -> FloatArray:
        """Expected entropy (settings, 1) of one subset on a fine grid of its own."""
        z = self.z
        held = np.flatnonzero(z.share[subset])
        alone = replace(z, size=z.size[held], share=z.share[subset : subset + 1, held], n=z.n[subset : subset + 1])
        return fine_entropy(alone, alone.share[0], alone.n, float(self.keep[subset]), law, parameters)

    @cached_property
    def of_few_values(self) -> tuple[IntArray, IntArray]:
        """Subsets of so few users that their means, which the error is scaled by, are no sample of all means; so it is
        with users of constant readings. One of each that are alike, and for every subset its place among them or -1.
        """
        z, place = self.z, np.full(len(self.z.n), -1)
        if z.steps is not None:
            return np.zeros(0, np.int64), place
        apart = np.abs(z.share - self.average).sum(axis=1) / 2
        few = np.flatnonzero(((z.share > 0).sum(axis=1) <= FEW_VALUES) & (apart > UNLIKE))
        if not len(few):
            return few, place
        law = np.column_stack([z.share[few], z.n[few], z.zero[few]])
        _, first, place[few] = np.unique(law, axis=0, return_index=True, return_inverse=True)
        return few[first], place

    @cached_property
    def _fine(self) -> FineGrid:
        return FineGrid.of(self.z, self.average)

    def _exact_by_value(self, settings: int) -> bool:
        """Whether z has so few values that each error's bin can be had from the law itself."""
        z = self.z
        if z.steps is not None or settings * len(z.n) > MOST_BY_VALUE:
            return False
        return len(z.size) <= HANDFUL or settings * len(z.size) * bins_of(z, self.largest_noise) <= MOST_WORK

    def source(self, law: Mechanism, parameters: FloatArray) -> Source:
        """Where the `entropies` of some of these settings come from: few scales, where these serve all.

        Noises on different lattices have nothing in common, so each lattice has a source of its own.
        """
        if len(lattices := _lattices(law, parameters)) > 1:
            return _joined([(held, self.source(law, parameters[held])) for held in lattices])

        def by_themselves(some: FloatArray) -> tuple[FloatArray, FloatArray]:
            return self.entropies(law, some, self.corrections(law, some))

        if (between := between_scales(law, parameters, by_themselves)) is not None:
            return lambda rows: between(parameters[rows])
        correct = self._correcting(law, parameters)

        def distinct(rows: slice | IntArray) -> tuple[FloatArray, FloatArray]:
            own = parameters[rows]
            laws, place = _distinct(law.essential(own), own)
            entropy, noise = self.entropies(law, laws, None if correct is None else correct(laws))
            return entropy[place], noise[place]

        return distinct

    def entropies(
        self, law: Mechanism, parameters: FloatArray, correction: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Expected entropy (settings, subsets), with the settings' `corrections`; and n times its variance and its
        covariances with mean and mean square (settings, subsets, 3).
        """
        moments = law.moments(parameters)
        z, subsets = self.z, len(self.z.n)
        entropy, noise = np.empty((len(parameters), subsets)), np.empty((len(parameters), subsets, 3))
        if correction is None:
            on_lattice = countable(z, law, parameters)
            entropy, noise = (
                counted(z, self.keep, law, parameters)
                if on_lattice
                else exactly(z, self.keep, law, parameters, self.largest_noise)
            )
        else:
            for which, part in self._parts(law, parameters, moments):
                entropy[:, which], noise[:, which] = part
            nodes = len(self.correction_nodes)
            added = correction[:, :nodes] @ _lagrange(self.correction_nodes, np.log(z.n)).T
            if correction.shape[1] > nodes:
                _, place = self.of_few_values
                added[:, place >= 0] = correction[:, nodes + place[place >= 0]]
            entropy = np.clip(entropy + added, 0, np.log2(z.n))
        silent = moments[:, 1] == 0  # no noise: every error is 0
        entropy[silent], noise[silent] = 0, 0
        return entropy, noise

    def metrics(self, law: Mechanism, parameters: FloatArray, entropy: FloatArray, noise: FloatArray) -> LocalMetrics:
        """Expectations and noise for settings of one mechanism, from their `entropies`."""
        moments, z = law.moments(parameters), self.z
        with np.errstate(over="ignore", invalid="ignore"):
            mean = moments[:, :1] * z.inverse[:, 0] * self.keep
            second = moments[:, 1:2] * z.inverse[:, 1] * self.keep
            factor = self._factor(moments, noise)
        return LocalMetrics(mean, second, entropy, factor)

    def _grid(self, share: FloatArray) -> LogGrid:
        return make_grid(self.z, share, self.largest_noise, PER_OCTAVE)

    def _parts(
        self, law: Mechanism, parameters: FloatArray, moments: FloatArray
    ) -> Iterator[tuple[IntArray, tuple[FloatArray, FloatArray]]]:
        """Entropy and its noise for the subsets that are expanded, and for those that are computed one by one."""
        cdf = self.cdf(law, parameters)
        if self.around:
            yield self.around.which, self._expanded(self.around, cdf, moments)
        if self.exact:
            yield self.single, self._exact(self.exact, cdf, moments, self.single)

    def cdf(self, law: Mechanism, parameters: FloatArray) -> FloatArray:
        """P(|psi| <= y) on the edges of every grid here, (settings, edges): laws of z share them."""
        return np.ascontiguousarray(law.cdf(parameters, self.base.y))

    def _exact(
        self, grid: LogGrid, cdf: FloatArray, moments: FloatArray, which: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        return self._entropies(grid, cdf, moments, self.z.n[which], self.keep[which], noise=True)

    def _entropies(
        self, grid: LogGrid, cdf: FloatArray, moments: FloatArray, n: FloatArray, keep: FloatArray, noise: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Entropy (settings, laws) of n errors under each law of the grid, and its noise (settings, laws, 3)."""
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
        """Expand around the average as many subsets as that is exact for; None where it is not worth it."""
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
        """Standard deviation of the entropy over the subsets of each one's size, 0 where there are too few to tell."""
        spread = np.zeros_like(entropy)
        for size in np.unique(self.sizes):
            alike = self.sizes == size
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
        """Cholesky factor of the covariance of (mean, second moment, entropy) over the noise, given the readings."""
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


def _lattices(law: Mechanism, parameters: FloatArray) -> list[IntArray]:
    """Which settings are on one lattice; all are, where noise is on none."""
    if law.lattice(tuple(parameters[0].tolist())) is None:
        return [np.arange(len(parameters))]
    steps = np.array([law.lattice(tuple(setting)) for setting in parameters.tolist()])
    return [np.flatnonzero(steps == step) for step in np.unique(steps)]


def _joined(parts: list[tuple[IntArray, Source]]) -> Source:
    """One source of settings that come from several; each part names its settings, in order."""

    def source(rows: slice | IntArray) -> tuple[FloatArray, FloatArray]:
        wanted = np.arange(sum(len(held) for held, _ in parts))[rows]
        found = []
        for held, of_part in parts:
            mine = np.flatnonzero(np.isin(wanted, held))
            if len(mine):
                found.append((mine, of_part(np.searchsorted(held, wanted[mine]))))
        entropy, noise = (np.concatenate([part[k] for _, part in found]) for k in (0, 1))
        back = np.argsort(np.concatenate([mine for mine, _ in found]))
        return entropy[back], noise[back]

    return source


def _distinct(essential: FloatArray, own: FloatArray) -> tuple[FloatArray, IntArray | slice]:
    """The settings whose laws differ, and which of them is each one's."""
    if np.array_equal(essential, own):
        return own, slice(None)
    laws, place = np.unique(essential, axis=0, return_inverse=True)
    return laws, place.reshape(-1)


def _ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)


def _lagrange(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """Weights of the polynomial through all nodes, at each point."""
    weights = np.ones((len(at), len(nodes)))
    for a, node in enumerate(nodes):
        for b, other in enumerate(nodes):
            if a != b:
                weights[:, a] *= (at - other) / (node - other)
    return weights


def _hats(nodes: FloatArray, at: FloatArray) -> FloatArray:
    """Weights of the straight lines between neighbouring nodes, at each point."""
    return np.stack([np.interp(at, nodes, unit) for unit in np.eye(len(nodes))], axis=1)


def largest_noise(law: Mechanism, parameters: FloatArray) -> float:
    """A value that hardly any noise of these settings exceeds."""
    support = law.support(parameters)
    bounded = support[np.isfinite(support)]
    largest = float(bounded.max(initial=0.0))
    for row in parameters[~np.isfinite(support)]:
        reach = max(float(law.moments(row[None])[0, 0]), 1e-300)
        while reach < 1e300 and law.cdf(row[None], np.array([reach]))[0, 0] < 1 - TAIL:
            reach *= 2
        largest = max(largest, reach)
    return largest
