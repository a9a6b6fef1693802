"""Flags for reports that do not look like what their setting claims. A flag is a reason to ask, never to exclude.

Some tests compare the reports with the law of the claimed noise. They are valid for any readings: their chance is an
upper bound for an honest producer, so their flags are proof. Other tests compare a producer with its peers
(`peer_outliers`). Their chance assumes that honest producers differ no more than a tail that falls off exponentially.
At most a share ``false_alarm`` of runs over honest producers has any flag, all tests together (Bonferroni).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from halfmask.service.campaign import LatticeNoise, cell_width
from halfmask.service.peer_outliers import peer_outliers
from halfmask.service.storage.report_rows import ReportRow
from halfmask.streams import stream
from halfmask_device.instants import DAY

FALSE_ALARM = 1e-3
"""The chance that one run over honest producers flags any of them."""
LEAST_REPORTS = 8
DAYS_BACK = 7
"""A producer's reports are compared with its own of up to this number of days before."""
MODULI = (2, 5, 10)
RATES = tuple(2.0**power for power in range(-3, 11))


ANY, PEERS = "any readings", "like its peers"


@dataclass(frozen=True)
class Suspect:
    """A flagged producer.

    ``chance``   bounds the probability of such reports from an honest one
    ``assumes``  "any readings" if the bound holds for all readings, or "like its peers"
    """

    producer: int
    setting: str
    reports: int
    reason: str
    chance: float
    assumes: str = ANY


@dataclass(frozen=True)
class Suspicions:
    """The flagged producers, the number of (producer, setting) tested, and what the variance test can detect.

    ``needed``  per setting, how many reports prove that steady readings were sent without any noise
    """

    suspects: tuple[Suspect, ...]
    tested: int
    false_alarm: float
    needed: Mapping[str, int]


def find_suspects(
    reports: Iterable[ReportRow], noises: Mapping[str, LatticeNoise], false_alarm: float = FALSE_ALARM
) -> Suspicions:
    """Return what tests of a campaign's reports find; reports must be sorted by producer and time.

    A producer's reports with one setting are tested only if they are at least `LEAST_REPORTS`.
    """
    series: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for producer, time, steps, setting, _ in reports:
        series[producer, setting].append((time, steps))
    long = {key: each for key, each in series.items() if len(each) >= LEAST_REPORTS}
    masked = {key: each for key, each in long.items() if noises[key[1]].variance > 0}
    part = false_alarm / 4  # for tests of single producers, of pairs, of a producer's past, and of peers
    level = part / max(1, 4 * len(masked))
    found: list[Suspect] = []
    for (producer, setting), each in masked.items():
        values, noise = [step for _, step in each], noises[setting]
        for reason, chance in (
            ("constant", constant(values, noise)),
            ("too little noise", too_little_noise(values, noise)),
            ("too little noise", too_close_together(values, noise)),
            ("on a coarser lattice", coarser(values, noise)),
        ):
            if chance < level:
                found.append(Suspect(producer, setting, len(each), reason, chance))
                break
    found += _copies(masked, noises, part)
    found += _own_copies(masked, noises, part)
    found += [
        Suspect(producer, setting, len(long[producer, setting]), reason, chance, PEERS)
        for producer, setting, reason, chance in peer_outliers(long, part)
    ]
    needed = {name: reports_for_proof(noise, level) for name, noise in noises.items() if noise.variance > 0}
    return Suspicions(tuple(found), len(masked), false_alarm, needed)


@lru_cache(maxsize=1024)
def largest_mass(noise: LatticeNoise) -> float:
    """Return max_k P(K = k): for any reading, no value of a report is more likely than this."""
    masses = noise.masses(1) if noise.furthest <= 10**6 else noise.masses(cell_width(noise.furthest / 10**5))
    return min(1.0, float(max(masses[0], masses[1:].max(initial=0.0))))


def constant(steps: Sequence[int], noise: LatticeNoise) -> float:
    """Return (max mass)^(n - 1) >= P(all n reports are equal), for any readings; 1 if the reports are not equal."""
    return largest_mass(noise) ** (len(steps) - 1) if len(set(steps)) == 1 else 1.0


def too_little_noise(steps: Sequence[int], noise: LatticeNoise) -> float:
    """Return a bound on the chance that honest reports vary as little as these, for every sequence of readings.

    For disjoint pairs of successive reports let D = m' - m = d + (K' - K), d the change of the reading, and W = sum
    exp(-D^2/(2 tau^2)), tau^2 = 2 Var K. Chernoff: P(W >= w) <= exp(-l w) prod E exp(l exp(-D^2/(2 tau^2))). The
    function under E has a Fourier transform >= 0 (it is a series of Gaussians), and so has the law of K' - K, whose
    transform is |phi|^2. So the expectation is largest at d = 0: readings that vary cannot make honest noise look
    small.
    """
    differences = np.array(steps[1::2], dtype=float) - np.array(steps[: len(steps) // 2 * 2 : 2], dtype=float)
    total = float(np.exp(-(differences**2) / (4 * noise.variance)).sum())
    return math.exp(min(0.0, *(differences.size * log - rate * total for rate, log in _logs(noise))))


@lru_cache(maxsize=256)
def _logs(noise: LatticeNoise) -> tuple[tuple[float, float], ...]:
    """Return (l, log E exp(l exp(-(K' - K)^2/(2 tau^2)))) for a range of l."""
    width = cell_width(math.sqrt(noise.variance) / 200)
    side = noise.masses(width)
    mass = np.concatenate([side[:0:-1], side])
    size = 1 << (2 * mass.size).bit_length()
    law = np.maximum(np.fft.irfft(np.abs(np.fft.rfft(mass, size)) ** 2, size), 0.0)
    place = np.minimum(np.arange(size), size - np.arange(size)) * float(width)
    weight = np.exp(-(place**2) / (4 * noise.variance))
    return tuple((rate, rate + math.log(float(law @ np.exp(rate * (weight - 1))))) for rate in RATES)


BLOCK = 8
DRAWS = 20_000


def too_close_together(steps: Sequence[int], noise: LatticeNoise) -> float:
    """Return a bound on the chance that honest reports lie as close to the median of their block as these.

    T = sum over blocks of `BLOCK` reports of sum |m - median| is a convex, symmetric function of the reports. If the
    law of the noise is log-concave, readings that vary can only make T larger (Anderson's inequality). Chernoff:
    P(T <= t) <= exp(l t) (E exp(-l T_block))^blocks. The expectations are means of draws, raised by five standard
    errors. The bound is 1 for other laws.
    """
    blocks = np.array(steps[: len(steps) // BLOCK * BLOCK], dtype=float).reshape(-1, BLOCK)
    rates = _block_logs(noise)
    if not blocks.size or not rates:
        return 1.0
    total = float(np.abs(blocks - np.median(blocks, axis=1, keepdims=True)).sum())
    return math.exp(min(0.0, *(rate * total + len(blocks) * log for rate, log in rates)))


@lru_cache(maxsize=256)
def _block_logs(noise: LatticeNoise) -> tuple[tuple[float, float], ...]:
    """Return (l, log E exp(-l T)) for a range of l, T of one block of noise; nothing if the law is not log-concave."""
    width = cell_width(math.sqrt(noise.variance) / 100)
    side = noise.masses(width)
    inner = side[: int(np.searchsorted(np.cumsum(side), 0.5 - 1e-4)) + 1]
    if inner.size < 3 or np.any(inner[1:-1] ** 2 < inner[:-2] * inner[2:] * (1 - 1e-6)):
        return ()
    mass = np.concatenate([side[:0:-1], side])
    rng = stream(0, "service.suspects")
    draws = (rng.choice(mass.size, (DRAWS, BLOCK), p=mass / mass.sum()) - side.size + 1.0) * width
    sums = np.abs(draws - np.median(draws, axis=1, keepdims=True)).sum(axis=1)
    found = []
    for power in range(-6, 5):
        rate = 2.0**power / math.sqrt(noise.variance)
        values = np.exp(-rate * sums)
        found.append((rate, math.log(float(values.mean() + 5 * values.std() / math.sqrt(DRAWS)))))
    return tuple(found)


def reports_for_proof(noise: LatticeNoise, level: float) -> int:
    """Return how many reports of a steady reading without noise are proof at this level: W is the number of pairs."""
    gain = max(rate - log for rate, log in _logs(noise))
    return 2 * math.ceil(-math.log(level) / gain)


def coarser(steps: Sequence[int], noise: LatticeNoise) -> float:
    """Return a bound on the chance that honest reports agree this often modulo 2, 5 or 10.

    If they do, their noise is on a coarser lattice, or missing. P(m = r mod q) <= (1 + sum_{j=1}^{q-1} |phi(2 pi
    j/q)|)/q for every reading.
    """
    from scipy.stats import binom

    chance = 1.0
    for modulus in MODULI:
        most = Counter(step % modulus for step in steps).most_common(1)[0][1]
        share = _residue_bound(noise, modulus)
        chance = min(chance, len(MODULI) * modulus * float(binom.sf(most - 1, len(steps), share)))
    return min(1.0, chance)


@lru_cache(maxsize=1024)
def _residue_bound(noise: LatticeNoise, modulus: int) -> float:
    if noise.furthest > 10**6:
        return 1 / modulus * (1 + 1e-9)  # a law this wide is even over residues
    side = noise.masses(1)
    k = np.arange(side.size)
    angles = 2 * math.pi * np.arange(1, modulus) / modulus
    phi = [side[0] + 2 * float(side[1:] @ np.cos(angle * k[1:])) for angle in angles]
    return min(1.0, (1 + float(sum(map(abs, phi)))) / modulus)


def _copies(
    series: Mapping[tuple[int, str], list[tuple[int, int]]], noises: Mapping[str, LatticeNoise], false_alarm: float
) -> list[Suspect]:
    """Return producers whose reports agree too often with another producer's.

    At each time the chance that two honest reports agree is at most the largest mass.
    """
    from scipy.stats import binom

    same: Counter[tuple[tuple[int, str], tuple[int, str]]] = Counter()
    at: dict[tuple[int, int], list[tuple[int, str]]] = defaultdict(list)
    for key, each in series.items():
        for point in each:
            at[point].append(key)
    for keys in at.values():
        same.update(combinations(keys[:50], 2))
    pairs = max(1, len(series) * (len(series) - 1) // 2)
    found = []
    for (one, two), agree in same.items():
        both = len({time for time, _ in series[one]} & {time for time, _ in series[two]})
        share = min(largest_mass(noises[one[1]]), largest_mass(noises[two[1]]))
        chance = min(1.0, float(binom.sf(agree - 1, both, share)))
        if both >= LEAST_REPORTS and chance * pairs < false_alarm:
            found += [Suspect(*each, both, "copy of another producer", chance) for each in (one, two)]
    return found


def _own_copies(
    series: Mapping[tuple[int, str], list[tuple[int, int]]], noises: Mapping[str, LatticeNoise], false_alarm: float
) -> list[Suspect]:
    """Return producers whose reports are too often the same as at the same time of an earlier day."""
    from scipy.stats import binom

    level, found = false_alarm / max(1, DAYS_BACK * len(series)), []
    for (producer, setting), each in series.items():
        steps, share = dict(each), largest_mass(noises[setting])
        for days in range(1, DAYS_BACK + 1):
            both = [step == steps[time - days * DAY] for time, step in each if time - days * DAY in steps]
            chance = min(1.0, float(binom.sf(sum(both) - 1, len(both), share))) if len(both) >= LEAST_REPORTS else 1.0
            if chance < level:
                found.append(Suspect(producer, setting, len(both), "copy of its own past", chance))
                break
    return found
