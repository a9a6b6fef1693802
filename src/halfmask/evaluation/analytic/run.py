"""The analytic method: every metric of every setting on every subset, from the profile alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from halfmask.arrays import FloatArray, IntArray
from halfmask.errors import OptionError
from halfmask.evaluation.aggregates import ANALYTIC
from halfmask.evaluation.analytic.denominators import Denominators, ErrorKind, NoiseKind, denominators
from halfmask.evaluation.analytic.few import FewReadings, drawn_errors, drawn_sums, scatter_of_few, whole_sample
from halfmask.evaluation.analytic.local import LocalErrors, LocalMetrics, Source, largest_noise
from halfmask.evaluation.analytic.totals import SubsetTotals, global_summaries, period_sums, subset_totals
from halfmask.evaluation.metrics import GLOBAL, LOCAL, LOCAL_ENTROPY, LOCAL_MEAN, LOCAL_STD, METRICS
from halfmask.evaluation.sampling import Subset
from halfmask.evaluation.scores import Constraint, passing
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.grid import Block, Grid
from halfmask.mechanisms.mechanism import mechanism
from halfmask.profiles.profile import Profile
from halfmask.streams import stream

CHUNK = 256
PROBES = 24


@dataclass
class Notes:
    """What a run found out: for the study's metadata and the reader."""

    excluded_periods: int = 0
    estimated: set[str] = field(default_factory=set)


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
    """Metrics (settings, subsets, 6) in the order of `METRICS`.

    Where only settings ``within`` a constraint count, as in a summary, the others are spared the local metrics, which
    are NaN, and all are in single precision. Whether a setting keeps it follows from the global metrics alone.

    Noise is drawn once for each subset and serves all settings (common random numbers), so settings are compared on
    the same ground, and neither blocks nor threads change a bit of the result.
    """
    if aggregate not in ANALYTIC:
        raise OptionError(
            f"aggregate '{aggregate}' has no closed form: use {', '.join(ANALYTIC)}, or `method=direct` `panel=SOURCE`"
        )
    out = np.empty((len(grid), len(subsets), len(METRICS)), np.float64 if within is None else np.float32)
    notes = notes if notes is not None else Notes()
    start, sums = 0, period_sums(profile, subsets)
    laws_of_z: dict[NoiseKind, Denominators] = {}
    with ThreadPoolExecutor(threads or 2) as pool:
        for block in grid.blocks:
            law = mechanism(block.mechanism)
            kind = _kind(law, block)
            if law.estimated:
                notes.estimated.add(law.name)
            part = out[start : start + len(block)]
            if kind not in laws_of_z:
                laws_of_z[kind] = denominators(profile, subsets, kind, error)
            totals = [
                subset_totals(s, part_sums, aggregate, kind, error) for s, part_sums in zip(subsets, sums, strict=True)
            ]
            notes.excluded_periods = max(notes.excluded_periods, sum(t.excluded for t in totals))
            moments = law.moments(block.parameters)
            by_period = [
                pool.submit(_global_part, law, block, moments, t, index, aggregate, seed, part)
                for index, t in enumerate(totals)
            ]
            with _stopping(by_period):  # the local errors are prepared while these run
                local = local_errors(laws_of_z[kind], subsets, law, block)
                early = local.source(law, block.parameters) if within is None else None
                _all_of(by_period)
            rows = np.arange(len(block)) if within is None else np.flatnonzero(passing(part, within))
            part[..., LOCAL] = np.nan
            if advance and len(rows) < len(block):
                advance(len(block) - len(rows))
            if len(rows):
                chosen = block.parameters[rows]
                source = early or local.source(law, chosen)
                _all_of(
                    (
                        pool.submit(_local_part, local, law, chosen, some, source, subsets, seed, part, rows[some])
                        for some in _chunks(len(rows))
                    ),
                    advance,
                )
            start += len(block)
    return out


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
    """Jobs that have not begun are cancelled on an error."""
    try:
        yield
    except BaseException:
        for job in jobs:
            job.cancel()
        raise


def global_part(
    profile: Profile, subsets: Sequence[Subset], block: Block, *, aggregate: str, error: ErrorKind, seed: int
) -> FloatArray:
    """The same with the global metrics alone, which cost far less; the local ones are NaN."""
    law = mechanism(block.mechanism)
    kind = _kind(law, block)
    out = np.full((len(block), len(subsets), len(METRICS)), np.nan)
    for index, each in enumerate(zip(subsets, period_sums(profile, subsets), strict=True)):
        totals = subset_totals(*each, aggregate, kind, error)
        _global_part(law, block, law.moments(block.parameters), totals, index, aggregate, seed, out)
    return out


def _kind(law: Mechanism, block: Block) -> NoiseKind:
    if law.kind == "direct" or block.inner is not None:
        text = next(iter(block.settings()))
        raise OptionError(f"setting {text} has no noise law: evaluate it with `method=direct` `panel=SOURCE`")
    return law.kind


def _chunks(count: int) -> Iterator[slice]:
    for first in range(0, count, CHUNK):
        yield slice(first, min(first + CHUNK, count))


def local_errors(z: Denominators, subsets: list[Subset], law: Mechanism, block: Block) -> LocalErrors:
    """Local errors on these subsets, laid out for the settings of a block."""
    parameters = block.parameters
    probe = parameters[np.unique(np.linspace(0, len(block) - 1, PROBES).astype(int))]
    spread = law.moments(parameters)[:, 1]
    largest = parameters[np.argsort(spread)[-3:]]
    sizes = np.array([subset.size for subset in subsets], np.int64)
    return LocalErrors(z, sizes, law, probe, _reach(law, parameters, largest))


def _reach(law: Mechanism, parameters: FloatArray, largest: FloatArray) -> float:
    """How far the block's noise reaches: by its support, or by its most spread settings where there is none."""
    bounded = np.isfinite(law.support(parameters))
    return max(largest_noise(law, parameters[bounded]), largest_noise(law, largest))


def _local_part(
    local: LocalErrors,
    law: Mechanism,
    parameters: FloatArray,
    rows: slice,
    source: Source,
    subsets: list[Subset],
    seed: int,
    out: FloatArray,
    places: IntArray | slice,
) -> int:
    found = local.metrics(law, parameters[rows], *source(rows))
    mean, second, entropy = _scattered(found, local.few, law, parameters[rows], subsets, seed)
    with np.errstate(over="ignore", invalid="ignore"):
        out[places, :, LOCAL_MEAN] = mean
        out[places, :, LOCAL_STD] = np.sqrt(np.maximum(second - mean**2, 0))
        out[places, :, LOCAL_ENTROPY] = entropy
    return len(found.mean)


def _scattered(
    found: LocalMetrics,
    few: list[FewReadings],
    law: Mechanism,
    parameters: FloatArray,
    subsets: list[Subset],
    seed: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The expectations with the noise of finitely many readings around them, from the same draws for every setting."""
    draws = np.array([_drawn(seed, s.size, s.repeat) for s in subsets])
    noise = np.einsum("quab,ub->qua", found.factor, draws)
    moments = law.moments(parameters)
    with np.errstate(over="ignore", invalid="ignore"):
        for each in few:
            if not each.whole:
                u = each.index
                sums = drawn_sums(each, subsets[u], law, parameters, seed)
                noise[:, u, :2] = np.stack(scatter_of_few(each, sums, moments, found.factor[:, u], draws[u]), axis=1)
        mean = np.maximum(found.mean + noise[..., 0], 0)
        second = np.maximum(found.second + noise[..., 1], mean**2)
        entropy = np.maximum(found.entropy + noise[..., 2], 0)
        for each in few:
            if each.whole:
                u = each.index
                errors = drawn_errors(each, subsets[u], law, parameters, seed)
                mean[:, u], second[:, u], entropy[:, u] = np.array([whole_sample(each, e) for e in errors]).T
    return mean, second, entropy


@lru_cache(2**14)
def _drawn(seed: int, size: int, repeat: int) -> tuple[float, ...]:
    return tuple(stream(seed, "evaluation.local", size, repeat).standard_normal(3).tolist())


def _global_part(
    law: Mechanism,
    block: Block,
    moments: FloatArray,
    totals: SubsetTotals,
    index: int,
    aggregate: str,
    seed: int,
    out: FloatArray,
) -> int:
    out[:, index, GLOBAL] = global_summaries(law, block.parameters, moments, totals, aggregate, seed)
    return 0
