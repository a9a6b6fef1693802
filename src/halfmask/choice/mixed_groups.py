"""Groups of users with one setting each, and the six metrics of all groups together, computed from the profile.

A choice assigns a setting to each group. All quantities are sums over groups, so each group's contribution under each
setting is computed once, and a choice adds them up:

- local errors: the expected number of errors in each cell of the histogram, and sums of their powers
- global error: the sum of a group's noise in each period

Groups with a split setting have the local errors of `blind_errors`. Together they add the noise of `split_noise` once.

The entropy is that of the histogram of all groups. Noise on a lattice has errors in few bins, which cells do not
resolve. Errors are then drawn (see `halfmask.evaluation.analytic.drawn_entropy`).

All choices use the same random numbers. Random deviations of the local errors' mean and second moment from their
expectations are drawn. Those of the entropy are neglected: they are below 0.01 bits from 100,000 readings on. If few
readings determine the second moment (`halfmask.evaluation.analytic.smallest_divisors`), the scatter of the local
deviation is up to 50 % too large.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import ANALYTIC
from halfmask.evaluation.analytic.denominators import Denominators, ErrorKind, NoiseKind, denominators
from halfmask.evaluation.analytic.drawn_entropy import drawn_inverses
from halfmask.evaluation.analytic.error_summaries import mixed_entropies, row_summaries
from halfmask.evaluation.analytic.expected_entropy import entropies_of_counts
from halfmask.evaluation.analytic.local_errors import PER_OCTAVE
from halfmask.evaluation.analytic.log_grid import BIN_WIDTH, DENSE, LogGrid, largest_noise, make_grid
from halfmask.evaluation.analytic.noise_sums import enough, sums_of_few
from halfmask.evaluation.analytic.variance_errors import Nodes, few_enough, node_sums
from halfmask.evaluation.sampling import Subset
from halfmask.evaluation.split_totals import blind_errors, check_split, error_scale, split_noise
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.profile import Profile
from halfmask.streams import stream
from halfmask_device.setting import SPLIT

HANDFUL = 32
FINE_PER_OCTAVE = 512
"""Cells per octave if the divisor z has at most `HANDFUL` values, too few to smooth the edge of bounded noise."""
KINDS: tuple[NoiseKind, ...] = ("additive", "relative")
LEAST_DRAWN, MOST_DRAWN = 2**12, 2**17
"""Least number of errors drawn per group, and largest number for all groups together."""
ROOM = 2**25
"""Number of drawn errors that are kept in memory. With many settings, fewer than `MOST_DRAWN` are drawn for each."""


@dataclass(frozen=True, eq=False)
class LocalParts:
    """Local errors of U groups under each of G settings.

    ``cells``      (G, U, J) expected number of errors in each cell of the histogram
    ``bins_held``  (J,) number of bins of width 0.001 in each cell
    ``sums``       (G, U, 6) number of errors and their sums, see `_local_sums`
    ``drawn``      (G, M) errors drawn for all groups, one group after another; empty if no noise lies on a lattice
    ``ends``       (U,) index after the last drawn error of each group
    """

    cells: FloatArray
    bins_held: FloatArray
    sums: FloatArray
    drawn: FloatArray
    ends: IntArray

    def entropies(self, choice: IntArray, counts: FloatArray, n: FloatArray) -> FloatArray:
        """Return the entropy of each choice (R, U).

        ``counts``  (R, J) expected number of errors in each cell
        ``n``       (R,) number of errors
        """
        if self.drawn.size:
            return np.asarray(mixed_entropies(self.drawn, self.ends, choice, n))
        return np.asarray(entropies_of_counts(counts, self.bins_held, n))

    def alone(self) -> FloatArray:
        """Return the entropy (G, U) of each group alone under each setting."""
        out, starts = np.empty(self.sums.shape[:2]), np.append(0, self.ends[:-1])
        for u, (start, end) in enumerate(zip(starts, self.ends, strict=True)):
            own = replace(self, drawn=self.drawn[:, start:end], ends=np.array([end - start]))
            out[:, u] = own.entropies(np.arange(len(out))[:, None], self.cells[:, u], self.sums[:, u, 0])
        return out


@dataclass(frozen=True, eq=False)
class MixedGroups:
    """Contributions of U groups under each of G settings.

    ``local``  local errors
    ``noise``  (G, U, T) error that the group's noise adds to each period's aggregate; 0 for a split setting
    ``split``  (G, T) error that all groups with a split setting add together; 0 for other settings
    ``shift``  (G, U, T) for the variance only: contribution to the period's mean noise, whose square is subtracted
    ``draws``  (2,) standard normal numbers for the scatter of the local mean and second moment
    """

    local: LocalParts
    noise: FloatArray
    split: FloatArray
    shift: FloatArray
    draws: FloatArray

    def metrics(self, choice: IntArray) -> FloatArray:
        """Return the six metrics of each row of ``choice`` (R, U), the index of each group's setting."""
        settings, groups = self.local.sums.shape[:2]
        one_hot = np.zeros((len(choice), settings, groups))
        np.put_along_axis(one_hot, choice[:, None, :], 1.0, axis=1)
        taken: FloatArray = one_hot.reshape(len(choice), -1)
        sums, cells, noise, shift = (
            taken @ part.reshape(settings * groups, -1)
            for part in (self.local.sums, self.local.cells, self.noise, self.shift)
        )
        out = np.empty((len(choice), 6))
        n, mean, second, *spread = sums.T
        out[:, 0], out[:, 1] = self._scattered(n, mean / n, second / n, spread)
        out[:, 2] = self.local.entropies(choice, cells, n)
        noise = noise + one_hot.max(axis=2) @ self.split
        out[:, 3:] = row_summaries(np.abs(noise - shift**2))
        return out

    def _scattered(
        self, n: FloatArray, mean: FloatArray, second: FloatArray, spread: list[FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of the local errors, with the random scatter of a finite number of
        readings.
        """
        v11, v12, v22 = (part / n**2 for part in spread)
        first = np.sqrt(np.maximum(v11, 0))
        along = np.divide(v12, first, out=np.zeros(len(n)), where=first > 0)
        across = np.sqrt(np.maximum(v22 - along**2, 0))
        mean = np.maximum(mean + first * self.draws[0], 0)
        second = np.maximum(second + along * self.draws[0] + across * self.draws[1], mean**2)
        return mean, np.sqrt(second - mean**2)


def build_groups(
    profile: Profile,
    settings: Sequence[PrivacySetting],
    deals: Sequence[Sequence[IntArray]],
    *,
    aggregate: str,
    error: ErrorKind,
    seed: int,
) -> Iterator[MixedGroups]:
    """Yield the `MixedGroups` of each division of users into groups.

    ``deals``  lists of disjoint groups, given as rows of the profile; each list has equally many groups
    """
    everyone = [rows for groups in deals for rows in groups]
    _check(profile, settings, everyone, aggregate)
    subsets = [Subset(number, 0, rows, len(rows)) for number, rows in enumerate(everyone)]
    of_z = {kind: denominators(profile, subsets, kind, error) for kind in _kinds(settings)}
    cells, bins_held, sums = local_parts(settings, of_z)
    for repeat, groups in enumerate(deals):
        own = slice(repeat * len(groups), (repeat + 1) * len(groups))
        drawn, ends = drawn_errors(settings, {kind: z.of(own) for kind, z in of_z.items()}, (seed, repeat))
        local = LocalParts(cells[:, own], bins_held, sums[:, own], drawn, ends)
        _put_guesses(settings, local, profile, groups, error, (seed, repeat))
        noise, shift, together = _noise(profile, settings, groups, aggregate, error, (seed, repeat))
        draws = stream(seed, "choice.local", repeat).standard_normal(2)
        yield MixedGroups(local, noise, together, shift, draws)


def _kinds(settings: Sequence[PrivacySetting]) -> list[NoiseKind]:
    return [kind for kind in KINDS if any(each.kind == kind for each in settings)]


def parts_alone(settings: Sequence[PrivacySetting], laws: Callable[[NoiseKind], Denominators]) -> LocalParts:
    """Return local errors of groups that are evaluated one by one.

    ``laws``  returns the distribution of each group's divisors z for a kind of noise
    """
    of_z = {kind: laws(kind) for kind in _kinds(settings)}
    return LocalParts(*local_parts(settings, of_z), *drawn_errors(settings, of_z, (0, 0)))


def drawn_errors(
    settings: Sequence[PrivacySetting], of_z: Mapping[NoiseKind, Denominators], key: tuple[int, int]
) -> tuple[FloatArray, IntArray]:
    """Return errors drawn for all groups (settings, errors), and the index after each group's last error."""
    n = next(iter(of_z.values())).n
    if not any(each.kind == "additive" and each.law.lattice(each.parameters) is not None for each in settings):
        return np.zeros((len(settings), 0)), np.zeros(len(n), np.int64)
    most = np.clip(ROOM // len(settings), LEAST_DRAWN * len(n), MOST_DRAWN)
    count = np.maximum(np.rint(n * np.minimum(most / n.sum(), 1)), 1).astype(np.int64)
    drawn = np.empty((len(settings), int(count.sum())))
    for kind, z in of_z.items():
        inverse = np.concatenate(
            [drawn_inverses(z, u, int(m), stream(key[0], "choice.drawn", key[1], u)) for u, m in enumerate(count)]
        )
        for g in (number for number, each in enumerate(settings) if each.kind == kind):
            rng, parameters = stream(key[0], "choice.drawn-noise", key[1]), np.array(settings[g].parameters)
            drawn[g] = np.abs(settings[g].law.sample(parameters, len(inverse), rng)) * inverse
    return drawn, np.cumsum(count)


def local_parts(
    settings: Sequence[PrivacySetting], of_z: Mapping[NoiseKind, Denominators]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``cells``, ``bins_held`` and ``sums`` of `LocalParts`, from the distribution of each group's divisors."""
    sums: dict[int, FloatArray] = {}
    parts: dict[int, FloatArray] = {}
    few_values = all(len(z.size) <= HANDFUL for z in of_z.values())
    bins_held = np.zeros(0)
    for kind, z in of_z.items():
        of_kind = [number for number, each in enumerate(settings) if each.kind == kind]
        grid = _grid(z, [settings[number] for number in of_kind], FINE_PER_OCTAVE if few_values else PER_OCTAVE)
        held = np.concatenate([np.ones(grid.bins), grid.multiple[grid.dense :]])
        bins_held = held if len(held) > len(bins_held) else bins_held
        for number in of_kind:
            parts[number] = (_cells_of_few if few_values else _cells)(settings[number], z, grid)
            sums[number] = _local_sums(settings[number], z)
    if not parts:
        raise OptionError("there is no setting", kind="setting")
    cells = np.zeros((len(settings), len(sums[0]), len(bins_held)))
    for number, part in parts.items():
        cells[number, :, : part.shape[1]] = part
    return cells, bins_held, np.stack([sums[number] for number in range(len(settings))])


def _check(profile: Profile, settings: Sequence[PrivacySetting], groups: Sequence[IntArray], aggregate: str) -> None:
    if any(each.release == SPLIT for each in settings):
        check_split(aggregate)
    if aggregate not in ANALYTIC:
        raise OptionError(
            f"aggregate '{aggregate}' of the menu's study has no closed form: mixes take {ANALYTIC}", kind="aggregate"
        )
    for each in settings:
        if each.kind == "direct" or each.inner is not None:
            raise OptionError(f"setting {each} has no noise law, so mixes with it cannot be computed: leave it out")
        if each.kind == "relative" and aggregate == "variance":
            raise OptionError(f"setting {each} is relative noise: mixes with it take sum or mean, not variance")
    for rows in groups:
        if not (profile.rows["readings"] - profile.rows["zeros"])[rows].any():
            raise OptionError(f"{len(rows)} users together have no reading but zeros: take larger shares (`step`)")


def _grid(z: Denominators, settings: Sequence[PrivacySetting], per_octave: int) -> LogGrid:
    """Return a grid with the same fine cells for all kinds of noise."""
    reach = max(largest_noise(each.law, np.array(each.parameters)[None]) for each in settings)
    spread = DENSE * BIN_WIDTH / (2 ** (1 / per_octave) - 1)  # errors up to which cells are spread
    return make_grid(z, z.share, max(reach, 2 * max(spread, 0.5) * float(z.size[-1])), per_octave)


def _put_guesses(
    settings: Sequence[PrivacySetting],
    local: LocalParts,
    profile: Profile,
    groups: Sequence[IntArray],
    error: ErrorKind,
    key: tuple[int, int],
) -> None:
    """Replace the local errors of split settings by those of `blind_errors`. Errors beyond the last cell go into it."""
    split = [number for number, each in enumerate(settings) if each.release == SPLIT]
    ends, everyone = np.cumsum(local.bins_held) * BIN_WIDTH, np.concatenate(list(groups))
    starts = np.append(0, local.ends[:-1])
    for u, rows in enumerate(groups if split else ()):
        rng = stream(key[0], "choice.split", key[1], u)
        errors = blind_errors(profile, rows, everyone, error, rng)
        n = local.sums[split[0], u, 0]
        at = np.minimum(np.searchsorted(ends, errors, side="right"), len(ends) - 1)
        local.cells[split, u] = np.bincount(at, minlength=len(ends)) * (n / len(errors))
        local.sums[split, u] = [n, n * errors.mean(), n * (errors**2).mean(), 0.0, 0.0, 0.0]
        if local.drawn.size:
            local.drawn[split, starts[u] : local.ends[u]] = rng.choice(errors, local.ends[u] - starts[u])


def _cells(setting: PrivacySetting, z: Denominators, grid: LogGrid) -> FloatArray:
    """Return the expected number of local errors in each cell, by cross-correlation of the distributions of noise and
    divisors.
    """
    cdf = setting.law.cdf(np.array(setting.parameters)[None], grid.y)[0]
    nodes = grid.share.shape[1]
    steps = np.lib.stride_tricks.sliding_window_view(np.diff(cdf), len(grid.multiple))
    cell = grid.share @ np.ascontiguousarray(steps)  # in one piece, or the product is computed without BLAS
    spread = np.zeros((grid.dense, grid.bins))
    reach = grid.first_bin[:, None] + np.arange(grid.part.shape[1])
    np.add.at(spread, (np.arange(grid.dense)[:, None], reach), grid.part)
    share = np.concatenate([cell[:, : grid.dense] @ spread, cell[:, grid.dense :]], axis=1)
    share[:, 0] += grid.share @ cdf[:nodes]
    share *= (1 - z.zero)[:, None]
    share[:, 0] += z.zero
    return np.asarray(share * z.n[:, None])


def _cells_of_few(setting: PrivacySetting, z: Denominators, grid: LogGrid) -> FloatArray:
    """Return `_cells`, computed from the noise's distribution at each of few values of the divisor z.

    An error on an edge between bins belongs to the upper bin.
    """
    ratio = 2 ** (1 / grid.per_octave)
    edges = np.append(grid.cell_error, grid.cell_error[-1] * ratio) * 2 / (1 + ratio)
    near = np.minimum(np.arange(grid.bins + 1) * BIN_WIDTH, edges[grid.dense])
    at = np.outer(z.size * (1 - 1e-10), np.concatenate([near, edges[grid.dense + 1 :]]))
    cdf = setting.law.cdf(np.repeat([setting.parameters], len(z.size), axis=0), at)
    cdf[:, 0] = 0
    share = z.share @ np.diff(cdf, axis=1) * (1 - z.zero)[:, None]
    share[:, 0] += z.zero
    return np.asarray(share * z.n[:, None])


def _local_sums(setting: PrivacySetting, z: Denominators) -> FloatArray:
    """Return n, n E e, n E e^2, n Var e, n Cov(e, e^2), n Var e^2 of local errors e, (U, 6), for fixed readings.

    E e^k = E|psi|^k mean(z^-k), for noise psi and divisors z.
    """
    m1, m2, m3, m4 = setting.moments
    w = z.inverse * ((1 - z.zero) * z.n)[:, None]
    return np.stack(
        [
            z.n,
            m1 * w[:, 0],
            m2 * w[:, 1],
            (m2 - m1**2) * w[:, 1],
            (m3 - m1 * m2) * w[:, 2],
            (m4 - m2**2) * w[:, 3],
        ],
        axis=1,
    )


def _noise(
    profile: Profile,
    settings: Sequence[PrivacySetting],
    groups: Sequence[IntArray],
    aggregate: str,
    error: ErrorKind,
    key: tuple[int, int],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the fields ``noise``, ``shift`` and ``split`` of `MixedGroups`, for periods that have an error."""
    sums = np.stack([profile.cells[rows].sum(axis=0) for rows in groups])
    together = sums.sum(axis=0)
    kept, scale = error_scale(together, aggregate, error)
    count = together[kept, 0]
    mean = together[kept, 1] / count
    noise = np.zeros((len(settings), len(groups), int(kept.sum())))
    shift, split = np.zeros_like(noise), np.zeros((len(settings), noise.shape[2]))
    for g, u in np.ndindex(noise.shape[:2]):
        rng, part = stream(key[0], "choice.totals", key[1], g, u), sums[u][kept]
        if settings[g].release == SPLIT:
            if not u:
                split[g] = split_noise(settings[g], len(scale), rng) / scale
        elif aggregate == "variance":
            change, total = _variance_noise(settings[g], part, mean, rng)
            noise[g, u], shift[g, u] = change / scale, total / np.sqrt(count * scale)
        else:
            noise[g, u] = noise_sums(settings[g], part, rng) / scale
    return noise, shift, split


def noise_sums(setting: PrivacySetting, sums: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return one draw of the sum of all noise in each period.

    ``sums``  (T, 5) number of readings and their power sums in each period

    The draw is exact if the mechanism can draw sums. Otherwise it is normal, except in periods with few readings
    (`sums_of_few`). For relative noise, the variance of the sum is right; so is the kurtosis if sums are exact.
    """
    law, parameters = setting.law, np.array(setting.parameters)
    n, squares, fourth = sums[:, 0], sums[:, 2], sums[:, 4]
    additive = setting.kind == "additive"
    deviation = np.sqrt(setting.moments[1] * (n if additive else squares))
    k = n if additive else squares * np.divide(squares, fourth, out=np.zeros(len(n)), where=fourth > 0)
    drawn = deviation * law.standard_sums(k, rng)
    if additive and not law.exact_sums and deviation.any():
        few, exact = sums_of_few(law, parameters, n, float(enough(law.moments(parameters[None]))[0]), rng)
        drawn[few] = exact
    return np.asarray(drawn)


def _variance_noise(
    setting: PrivacySetting, sums: FloatArray, mean: FloatArray, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the sums over a group's readings of 2 (s - mean) psi + psi^2 - sigma^2, and of psi.

    Each period's readings are represented by three values (`halfmask.evaluation.analytic.variance_errors`). Sums are
    normal for values that represent many readings; otherwise the noise of each reading is drawn.
    """
    law, parameters = setting.law, np.array(setting.parameters)
    change, total, held = np.zeros(len(sums)), np.zeros(len(sums)), sums[:, 0] > 0
    nodes = Nodes.of(sums[held])
    moments = setting.moments
    normal = rng.standard_normal((2, *nodes.count.shape))
    first, square = node_sums(nodes.count, normal, moments, few_enough(moments), law, parameters, rng)
    change[held] = (2 * (nodes.value - mean[held]) * first + square - nodes.count * moments[1]).sum(axis=0)
    total[held] = first.sum(axis=0)
    return change, total
