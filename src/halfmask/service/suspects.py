"""Flags for reports that do not look like what their setting claims. A flag is a reason to ask, never to exclude.

Each test compares the reports with the law of the claimed noise, and is valid for any readings: its chance is an upper
bound for an honest producer. So flags with a chance are proof: at most a share ``false_alarm`` of runs over honest
producers has any, all tests together (Bonferroni). A flag without a chance, for reports that vary far more than their
peers', proves nothing: readings differ.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from halfmask.service.campaign import LatticeNoise, cell_width
from halfmask.service.storage.report_rows import ReportRow

FALSE_ALARM = 1e-3
"""The chance that one run over honest producers flags any of them with proof."""
LEAST_REPORTS = 8
UNUSUAL = 8.0
"""Reports are unusual if their log variance is this many median absolute deviations above their peers' median."""
MODULI = (2, 5, 10)
RATES = tuple(2.0**power for power in range(-3, 11))


@dataclass(frozen=True)
class Suspect:
    """A flagged producer. ``chance`` bounds the probability of such reports from an honest one; None without proof.

    The bound holds for any readings.
    """

    producer: int
    setting: str
    reports: int
    reason: str
    chance: float | None


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
    alone, together = false_alarm / 2, false_alarm / 2  # half for tests of single producers, half for pairs
    level = alone / max(1, 3 * len(masked))
    found: list[Suspect] = []
    for (producer, setting), each in masked.items():
        values, noise = [step for _, step in each], noises[setting]
        for reason, chance in (
            ("constant", constant(values, noise)),
            ("too little noise", too_little_noise(values, noise)),
            ("on a coarser lattice", coarser(values, noise)),
        ):
            if chance < level:
                found.append(Suspect(producer, setting, len(each), reason, chance))
                break
    found += _copies(masked, noises, together)
    found += _unusual(long)
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


def _unusual(series: Mapping[tuple[int, str], list[tuple[int, int]]]) -> list[Suspect]:
    """Return producers whose reports vary far more than those of at least nine peers. It proves nothing."""
    logs: dict[str, dict[int, float]] = defaultdict(dict)
    for (producer, setting), each in series.items():
        variance = float(np.var([float(step) for _, step in each]))
        if variance > 0:
            logs[setting][producer] = math.log(variance)
    found = []
    for setting, of in logs.items():
        values = np.array(list(of.values()))
        middle = float(np.median(values))
        spread = max(float(np.median(np.abs(values - middle))), 0.05)
        for producer, value in of.items():
            if len(of) >= 10 and (value - middle) / spread > UNUSUAL:
                reports = len(series[producer, setting])
                found.append(Suspect(producer, setting, reports, "varies far more than its peers", None))
    return found
