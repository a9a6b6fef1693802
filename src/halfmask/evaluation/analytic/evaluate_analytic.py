"""The analytic method: all metrics of all settings on all subsets, from the profile alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import ANALYTIC
from halfmask.evaluation.analytic.denominators import Denominators, ErrorKind, NoiseKind, denominators
from halfmask.evaluation.analytic.global_errors import SubsetTotals, global_summaries, period_sums, subset_totals
from halfmask.evaluation.analytic.local_errors import LocalErrors
from halfmask.evaluation.analytic.log_grid import largest_noise
from halfmask.evaluation.analytic.smallest_divisors import drawn_sums, scatter
from halfmask.evaluation.metrics import GLOBAL, LOCAL, LOCAL_ENTROPY, LOCAL_MEAN, LOCAL_STD, METRICS
from halfmask.evaluation.sampling import Subset
from halfmask.evaluation.scores import Constraint, passing
from halfmask.mechanisms.grid import Block, Grid
from halfmask.mechanisms.mechanism import Mechanism
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

CHUNK = 256
PROBES = 24


@dataclass
class Notes:
    """Facts found during a run, for the study's metadata and notes."""

    excluded_periods: int = 0
    estimated: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class SubsetErrors:
    """Everything that errors on some subsets of a profile depend on, except the noise; each part is computed once."""

    profile: Profile
    subsets: list[Subset]
    aggregate: str = "sum"
    error: ErrorKind = "relative"
    seed: int = 7
    _divisors: dict[NoiseKind, Denominators] = field(default_factory=dict)
    _totals: dict[NoiseKind, list[SubsetTotals]] = field(default_factory=dict)

    @cached_property
    def sums(self) -> FloatArray:
        """The `period_sums` of the subsets."""
        return period_sums(self.profile, self.subsets)

    def divisors(self, kind: NoiseKind) -> Denominators:
        """Return the divisors of local errors for this kind of noise."""
        if kind not in self._divisors:
            self._divisors[kind] = denominators(self.profile, self.subsets, kind, self.error)
        return self._divisors[kind]

    def totals(self, kind: NoiseKind) -> list[SubsetTotals]:
        """Return the periods of each subset."""
        if kind not in self._totals:
            self._totals[kind] = [
                subset_totals(subset, sums, self.aggregate, kind, self.error)
                for subset, sums in zip(self.subsets, self.sums, strict=True)
            ]
        return self._totals[kind]


class BlockErrors:
    """Errors of one mechanism's settings on fixed subsets, with grids made for the noise of a block of settings."""

    def __init__(self, of: SubsetErrors, block: Block) -> None:
        self.of = of
        self.block = block
        self.law, self.kind = _law(block)

    @property
    def totals(self) -> list[SubsetTotals]:
        """The periods of each subset."""
        return self.of.totals(self.kind)

    @cached_property
    def local(self) -> LocalErrors:
        """The local errors, which take longer to prepare than the global ones."""
        law, parameters = self.law, self.block.parameters
        probe = parameters[np.unique(np.linspace(0, len(parameters) - 1, PROBES).astype(int))]
        most = parameters[np.argsort(law.moments(parameters)[:, 1])[-3:]]
        bounded = np.isfinite(law.support(parameters))  # noise without a bound reaches as far as the most spread does
        reach = max(largest_noise(law, parameters[bounded]), largest_noise(law, most))
        return LocalErrors(self.of.divisors(self.kind), self.of.subsets, law, probe, reach, self.of.seed)

    def global_metrics(self) -> FloatArray:
        """Return metrics (settings, subsets, 6) of the block, with the global ones computed and NaN for the others."""
        out = np.full((len(self.block), len(self.totals), len(METRICS)), np.nan)
        moments = self.law.moments(self.block.parameters)
        for index in range(len(self.totals)):
            self.put_global(self.block.parameters, moments, index, out)
        return out

    def correction(self, parameters: FloatArray) -> FloatArray | None:
        """Return the correction of the entropy by a finer grid; None if it is zero.

        It takes most of the time of `metrics`, and differs little between similar settings. A search may therefore use
        the correction of a similar setting.
        """
        found = self.local.correction(self.law, parameters)
        return None if found is None else found(parameters)

    def metrics(self, parameters: FloatArray, correction: FloatArray | None) -> FloatArray:
        """Return metrics (settings, subsets, 6) of settings (settings, parameters), with their `correction`."""
        out = np.empty((len(parameters), len(self.totals), len(METRICS)))
        everything = slice(0, len(parameters))
        self.put_local(parameters, self.local.entropies(self.law, parameters, correction), out, everything)
        moments = self.law.moments(parameters)  # of many subsets the same: for a sine it takes longer than the rest
        for index in range(len(self.totals)):
            self.put_global(parameters, moments, index, out)
        return out

    def put_global(self, parameters: FloatArray, moments: FloatArray, index: int, out: FloatArray) -> int:
        """Write the global metrics of one subset into ``out`` (settings, subsets, 6).

        Return 0, because progress counts local metrics only.
        """
        out[:, index, GLOBAL] = global_summaries(
            self.law, parameters, moments, self.totals[index], self.of.aggregate, self.of.seed
        )
        return 0

    def put_local(
        self,
        parameters: FloatArray,
        entropies: tuple[FloatArray, FloatArray],
        out: FloatArray,
        places: IntArray | slice,
    ) -> int:
        """Write the local metrics of settings into the rows ``places`` of ``out``; return the number of
        settings done.
        """
        mean, second, entropy = self._scattered(parameters, *entropies)
        with np.errstate(over="ignore", invalid="ignore"):
            out[places, :, LOCAL_MEAN] = mean
            out[places, :, LOCAL_STD] = np.sqrt(np.maximum(second - mean**2, 0))
            out[places, :, LOCAL_ENTROPY] = entropy
        return len(mean)

    def _scattered(
        self, parameters: FloatArray, entropy: FloatArray, noise: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean, second moment and entropy: expectations plus random scatter due to a finite number of readings.

        All settings use the same random numbers.
        """
        found = self.local.metrics(self.law, parameters, entropy, noise)
        draws = np.array([_normal(self.of.seed, s.size, s.repeat) for s in self.of.subsets])
        around = np.einsum("quab,ub->qua", found.factor, draws)
        moments = self.law.moments(parameters)
        with np.errstate(over="ignore", invalid="ignore"):
            for each in self.local.smallest:
                u = each.index
                sums = drawn_sums(each, self.of.subsets[u], self.law, parameters, self.of.seed)
                around[:, u, :2] = np.stack(scatter(each, sums, moments, found.factor[:, u], draws[u]), axis=1)
            mean = np.maximum(found.mean + around[..., 0], 0)
            second = np.maximum(found.second + around[..., 1], mean**2)
        return mean, second, np.maximum(found.entropy + around[..., 2], 0)


def evaluate_analytic(
    profile: Profile,
    grid: Grid,
    subsets: list[Subset],
    *,
    aggregate: str = "sum",
    error: ErrorKind = "relative",
    seed: int = 7,
    threads: int | None = None,
    within: Constraint | None = None,
    advance: Callable[[int], None] | None = None,
    notes: Notes | None = None,
) -> FloatArray:
    """Return metrics (settings, subsets, 6) in the order of `METRICS`.

    Noise is drawn once per subset and used for all settings (common random numbers), so that settings are compared
    under equal conditions. The result does not depend on blocks or threads, to the last bit.

    ``within``   constraint, for summaries. Local metrics of settings that break it are NaN and not computed; whether a
                 setting keeps it follows from global metrics alone. The result is then in single precision
    ``advance``  progress callback with the number of settings done
    ``notes``    receives facts about the run
    """
    if aggregate not in ANALYTIC:
        raise OptionError(
            f"aggregate '{aggregate}' has no closed form: use {', '.join(ANALYTIC)}, or `method=direct` `panel=SOURCE`",
            kind="aggregate",
        )
    out = np.empty((len(grid), len(subsets), len(METRICS)), np.float64 if within is None else np.float32)
    notes = notes if notes is not None else Notes()
    start, of = 0, SubsetErrors(profile, subsets, aggregate, error, seed)
    with ThreadPoolExecutor(threads or 2) as pool:
        for block in grid.blocks:
            made = BlockErrors(of, block)
            of.divisors(made.kind)  # before the totals: of a panel of zeros it says that there is no reading to measure
            if made.law.estimated:
                notes.estimated.add(made.law.name)
            notes.excluded_periods = max(notes.excluded_periods, sum(t.excluded for t in made.totals))
            _evaluate_block(made, out[start : start + len(block)], pool, within, advance)
            start += len(block)
    return out


def _evaluate_block(
    made: BlockErrors,
    part: FloatArray,
    pool: ThreadPoolExecutor,
    within: Constraint | None,
    advance: Callable[[int], None] | None,
) -> None:
    """Write the metrics of a block into its part of the result."""
    parameters = made.block.parameters
    moments = made.law.moments(parameters)
    by_period = [pool.submit(made.put_global, parameters, moments, index, part) for index in range(len(made.totals))]
    with _stopping(by_period):  # the local errors are prepared while these run
        early = made.local.source(made.law, parameters) if within is None else None
        _all_of(by_period)
    rows = np.arange(len(parameters)) if within is None else np.flatnonzero(passing(part, within))
    part[..., LOCAL] = np.nan
    if advance and len(rows) < len(parameters):
        advance(len(parameters) - len(rows))
    if not len(rows):
        return
    chosen = parameters[rows]
    source = early or made.local.source(made.law, chosen)

    def some(places: slice) -> int:
        return made.put_local(chosen[places], source(places), part, rows[places])

    _all_of((pool.submit(some, places) for places in _chunks(len(rows))), advance)


def _all_of(jobs: Iterable["Future[int]"], advance: Callable[[int], None] | None = None) -> None:
    """Wait for all jobs; the first error stops them."""
    started = list(jobs)
    with _stopping(started):
        for job in started:
            done = job.result()
            if advance and done:
                advance(done)


@contextmanager
def _stopping(jobs: Sequence["Future[int]"]) -> Iterator[None]:
    """Cancel jobs that have not begun if an error occurs."""
    try:
        yield
    except BaseException:
        for job in jobs:
            job.cancel()
        raise


def _law(block: Block) -> tuple[Mechanism, NoiseKind]:
    """Return the mechanism of a block and its kind of noise; raise an OptionError if it has no noise law."""
    law = mechanism(block.mechanism)
    if law.kind == "direct" or block.inner is not None:
        text = next(iter(block.settings()))
        raise OptionError(
            f"setting {text} has no noise law: evaluate it with `method=direct` `panel=SOURCE`", kind="law"
        )
    return law, law.kind


def _chunks(count: int) -> Iterator[slice]:
    for first in range(0, count, CHUNK):
        yield slice(first, min(first + CHUNK, count))


@lru_cache(2**14)
def _normal(seed: int, size: int, repeat: int) -> tuple[float, ...]:
    return tuple(stream(seed, "evaluation.local", size, repeat).standard_normal(3).tolist())
