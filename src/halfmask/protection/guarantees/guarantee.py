"""The guarantee of a setting against any attacker: epsilon and delta(epsilon), for one report and for many."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from halfmask.errors import OptionError
from halfmask.mechanisms.privacy_loss import LossCells
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.plain import Share, Size
from halfmask.profiles.bins import edge
from halfmask.profiles.profile import Profile
from halfmask.protection.guarantees.composition import LossDistribution, loss_distribution
from halfmask.protection.guarantees.continuous_noise import (
    MOST_CHANGES,
    critical_changes,
    is_still,
    loss_cells,
    reach_of,
)
from halfmask.protection.guarantees.lattice_noise import (
    check_step,
    lattice_loss_cells,
    lattice_steps,
    points,
    rounded_masses,
    rounded_up,
)
from halfmask.results import Shown
from halfmask.streams import stream
from halfmask_device.decimals import number_text, upwards

if TYPE_CHECKING:
    import pyarrow as pa

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 5.0, math.inf)
REPORTS = (48, 1440, 17520)
"""Numbers of half-hourly reports of a day, a month and a year."""
CHANGES = 16
"""Sizes of the change tried first per reach of the noise, if the largest need not be the worst."""
NEAR_OVERLAP = tuple(place * (1 - 2.0**-k) for place in (1, 2) for k in (6, 10, 14))
"""Shares of the reach just below those at which peaks at the noise's ends, or at 0, meet again."""
HALVINGS = 6
"""Times that the intervals next to the worst change are halved."""
MOST_REPORTS = 10**7
"""Most reports that are composed: half-hours of 570 years."""
MOST_SUMS = 2**22
"""Most lattice points times changes."""
DRAWS, SEED = 2**17, 5
"""Draws that test a plug-in's stated law; the seed is fixed, so that a plug-in is always judged alike."""
REPEATS = 5
"""Equal draws that rounding may give."""

Deltas = Mapping[float, Share]


@dataclass(frozen=True)
class Guarantee(Shown):
    """The most that reports with a setting reveal about a change of a reading by up to ``sensitivity``.

    ``epsilon``   pure epsilon of one report; None if there is none
    ``delta``     by epsilon, an upper bound on delta(epsilon) of one report
    ``composed``  by number of reports, such bounds for a change in every one of them
    ``label``     the guarantee in plain words
    ``step``      step of the lattice that the noise is drawn on; None for the continuous law, which no device draws
    ``unit``      unit of a reading
    ``loss``      privacy loss of one report; None if nothing is promised
    """

    setting: PrivacySetting
    sensitivity: Size
    epsilon: Size | None
    delta: Deltas
    composed: Mapping[int, Deltas]
    label: str
    step: float | None = None
    unit: str = ""
    loss: LossDistribution | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<Guarantee of {self.setting}: {self.label}>"

    def to_arrow(self) -> "pa.Table":
        """Return delta(epsilon) as a table: one row per number of reports, one column per epsilon."""
        import pyarrow as pa

        rows = [
            {"reports": reports, **{f"delta_at_{epsilon:g}": delta for epsilon, delta in deltas.items()}}
            for reports, deltas in ((1, self.delta), *self.composed.items())
        ]
        return pa.Table.from_pylist(rows)

    @cached_property
    def losses(self) -> LossDistribution | None:
        """The loss of one report; None if nothing is promised. It is computed again for a guarantee from a file."""
        if self.loss is not None or self.certain >= 1:
            return self.loss
        return guarantee(self.setting, self.sensitivity, (), step=self.step).loss

    @property
    def size(self) -> str:
        """The change in words, not rounded, because no promise holds for a larger one."""
        return f"a change of {number_text(self.sensitivity)} {self.unit}".strip()

    @property
    def certain(self) -> float:
        """delta(infinity): the probability of a report that the other reading cannot give."""
        return self.delta[math.inf]

    def epsilon_at(self, delta: float, reports: int = 1) -> float | None:
        """Return an epsilon that this number of reports keeps at ``delta``; None if no finite one does."""
        if not 0 < delta < 1:
            raise OptionError(
                f"delta is {number_text(delta)}; it is a probability: give one between 0 and 1, like 1e-6",
                kind="range",
                field="delta",
            )
        if self.losses is None:
            return None
        epsilon = self.losses.composed(_count(reports)).epsilon_at(delta)
        return epsilon if math.isfinite(epsilon) else None


def guarantee(
    setting: PrivacySetting,
    sensitivity: float | None = None,
    reports: Sequence[int] = REPORTS,
    *,
    step: float | None = None,
    unit: str = "",
) -> Guarantee:
    """Return the guarantee of one setting for a change of a reading by up to ``sensitivity``, in the readings' unit.

    With a ``step`` it holds for the noise that a device draws on this lattice, for a change of ceil(sensitivity/step)
    steps; without one, for the continuous law. For ``clip:lo,hi/inner`` the default sensitivity is hi - lo, because
    clipping limits every change to that.

    For some noise a larger change may be better hidden than a smaller one. The bound is then the largest over several
    sizes of the change: on a lattice all of them, for ``tabulated`` all critical ones. For continuous sine noise and
    plug-ins some sizes are tried, then more around the worst.

    A setting without a known law gets delta = 1, the only valid bound, and a label with the reason. Composition assumes
    that the noise of every report is independent and that every reading is changed.
    """
    change = _change(setting, sensitivity)
    counts = [_count(number) for number in reports]
    noise = setting.noise
    if step is not None:
        check_step(noise, step)
    lattice = noise.law.lattice(noise.parameters) or step
    moved = change if lattice is None else rounded_up(change, lattice)
    reason = _unprotected(noise)
    epsilon = noise.pure_epsilon(moved)
    largest = math.inf if epsilon is None else epsilon
    every = [] if reason else _every_change(noise, moved, largest, lattice)
    if not every:
        ones = dict.fromkeys(EPSILONS, 1.0)
        label = f"no epsilon guarantee: {reason or _too_many(noise)}"
        return Guarantee(setting, change, None, ones, dict.fromkeys(counts, ones), label, step, unit)
    delta = {value: max(one.delta(value) for one in every) for value in EPSILONS}
    loss = loss_distribution(every, largest)
    composed = {number: _composed(loss, number, delta[math.inf]) for number in counts}
    label = _label(noise, f"{number_text(change)} {unit}".strip(), epsilon, delta)
    return Guarantee(setting, change, epsilon, delta, composed, label, step, unit, loss)


def drawn_guarantee(
    setting: PrivacySetting, sensitivity: float | None, reports: Sequence[int], step: float | None, unit: str = ""
) -> Guarantee:
    """Return the guarantee of the noise that a device draws, on the setting's own lattice or else on ``step``."""
    own = setting.noise.law.lattice(setting.noise.parameters) if setting.noise.kind == "additive" else None
    return guarantee(setting, sensitivity, reports, step=step if own is None else own, unit=unit)


def default_sensitivity(profile: Profile) -> tuple[float, str]:
    """Return the largest change of a reading, and a text that says where this number comes from.

    If the policies have both bounds, it is their difference, which is public. Otherwise it is the range of the readings
    themselves, to the width of a logarithmic bin, with 0 included if there are zeros. That range is derived from
    private data, and does not bound anybody's next reading.
    """
    policies = profile.about.get("policies")
    bounds = policies if isinstance(policies, Mapping) else {}  # "mixed" where profiles of several were added
    if "low" in bounds and "high" in bounds:
        return bounds["high"] - bounds["low"], f"published bounds, {bounds['low']:g} to {bounds['high']:g}"
    positive, negative = profile.bin_counts > profile.bin_negatives, profile.bin_negatives > 0
    largest = edge(profile.bin_index + 1)
    ends = [*largest[positive].tolist(), *(-largest[negative]).tolist()]
    if profile.rows["zeros"].any() or not negative.any() or not positive.any():
        ends.append(0.0)
    width = max(ends) - min(ends)
    if not width:
        raise OptionError(
            "the profile holds zeros only, so no change can be read from it: give a sensitivity",
            kind="zeros",
            field="sensitivity",
        )
    width = float(upwards(width, 4))  # as it is printed
    return width, "the range of the readings themselves, which is not a published bound: give one where there is one"


def _change(setting: PrivacySetting, sensitivity: float | None) -> float:
    """Return the largest change that reaches the noise."""
    width = setting.law.width(setting.parameters)
    change = width if sensitivity is None else min(sensitivity, width)
    if not 0 < change < math.inf:
        given = "no sensitivity is given" if change == math.inf else f"the sensitivity is {number_text(change)}"
        raise OptionError(
            f"{setting}: {given}; say how far a reading may change, above 0, in the readings' unit",
            kind="range",
            field="sensitivity",
        )
    return change


def _count(reports: int) -> int:
    if int(reports) != reports or reports < 1:
        raise OptionError(
            f"{reports} reports cannot be composed: give a whole number from 1 on", kind="range", field="reports"
        )
    if reports > MOST_REPORTS:
        raise OptionError(
            f"{reports:,} reports are more than are added up: give {MOST_REPORTS:,} at the most",
            kind="many",
            field="reports",
        )
    return int(reports)


def _unprotected(setting: PrivacySetting) -> str | None:
    """Return the reason why only the bound 1 holds, or None if the noise has a law to compute one from."""
    if setting.kind == "relative":
        return "noise in proportion to the reading leaves a reading of 0 as it is"
    if setting.law.deterministic:
        return f"{setting.mechanism} adds no chance, so a change that shows at all shows for certain"
    if setting.kind == "direct":
        return f"{setting.mechanism} masks by a rule of its own, and no law of it is known to compute with"
    if setting.law.estimated:
        return f"the law of {setting.mechanism} is known from draws alone, which bound no tail: state its cdf"
    if is_still(setting):
        return "no noise is added, so the report is the reading itself"
    return None if setting.law.proven else _contradicted(setting)


def _contradicted(setting: PrivacySetting) -> str | None:
    """Return how a plug-in's own draws contradict its stated law; None if they do not.

    The stated law is symmetric, has the stated cdf, and has atoms at 0 only. The three are tested on `DRAWS` draws, by
    the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart and by counting repeated values. A correct plug-in fails
    with probability 1e-8.
    """
    psi = np.sort(np.asarray(setting.sample(DRAWS, stream(SEED, "guarantees.draws")), np.float64))
    size = np.sort(np.abs(psi))
    below, mirrored = (np.searchsorted(each, psi, side="right") for each in (psi, -psi[::-1]))
    share = np.searchsorted(size, size, side="right") / DRAWS
    slack = math.sqrt(math.log(2 / 1e-9) / (2 * DRAWS))
    if np.abs(below - mirrored).max() > 2 * slack * DRAWS:
        return f"draws of {setting.mechanism} are not symmetric around 0, and figures hold for symmetric noise alone"
    if np.abs(setting.cdf(size) - share).max() > slack + 1 / DRAWS:
        return f"draws of {setting.mechanism} do not follow the cdf that it states"
    if np.count_nonzero(np.diff(size[size > 0]) == 0) > REPEATS:
        return f"draws of {setting.mechanism} repeat, and figures hold for noise without lattice alone"
    return None


def _every_change(setting: PrivacySetting, change: float, largest: float, step: float | None) -> list[LossCells]:
    """Return the loss for each size of the change that matters; empty if a table has too many of them."""
    if step is not None:
        found = _every_step(setting, step, lattice_steps(change, step), largest)
        if found:
            return found
    if setting.law.falling:
        return [loss_cells(setting, change, largest)]
    if change >= 2 * reach_of(setting):
        return [loss_cells(setting, change, largest)]  # the readings share no possible report: nothing is worse
    sizes = critical_changes(setting, change)
    if sizes is not None:
        return [loss_cells(setting, size, largest) for size in sizes] if len(sizes) <= MOST_CHANGES else []
    return _searched(setting, change, largest)


def _every_step(setting: PrivacySetting, step: float, steps: int, largest: float) -> list[LossCells]:
    """Return the loss for each change up to ``steps`` that matters; empty if the lattice is too fine to sum over."""
    if setting.law.falling:
        one = lattice_loss_cells(setting, step, steps, largest)
        return [] if one is None else [one]
    masses = rounded_masses(setting, step)
    if masses is not None and steps >= len(masses):
        return [points(masses, len(masses), largest)]  # the readings share no possible report: nothing is worse
    if masses is None or len(masses) * steps > MOST_SUMS:
        return []
    return [points(masses, apart, largest) for apart in range(1, steps + 1)]


def _searched(setting: PrivacySetting, change: float, largest: float) -> list[LossCells]:
    """Return the loss at fixed shares of the noise's reach up to ``change``, at ``change``, and around the worst."""
    reach = reach_of(setting)
    shares = np.append(np.arange(1, 2 * CHANGES + 1) / CHANGES, NEAR_OVERLAP)
    found = {size: loss_cells(setting, size, largest) for size in {*(shares * reach)[shares * reach < change], change}}
    deltas = {size: [one.delta(value) for value in EPSILONS] for size, one in found.items()}
    for _ in range(HALVINGS):
        sizes = sorted(found)
        worst = {max(range(len(sizes)), key=lambda at: deltas[sizes[at]][k]) for k in range(len(EPSILONS))}
        around = {
            (sizes[low] + sizes[low + 1]) / 2 for at in worst for low in (at - 1, at) if 0 <= low < len(sizes) - 1
        }
        for size in around - found.keys():
            found[size] = loss_cells(setting, size, largest)
            deltas[size] = [found[size].delta(value) for value in EPSILONS]
    return list(found.values())


def _too_many(setting: PrivacySetting) -> str:
    return (
        f"a table of {len(setting.parameters) // 2} points has too many differences to look at: give the step of the "
        "lattice that it is drawn on, or take at most 40 points"
    )


def _composed(loss: LossDistribution, reports: int, certain: float) -> dict[float, float]:
    together = loss.composed(reports)
    deltas = {value: together.delta(value) for value in EPSILONS if value < math.inf}
    return {**deltas, math.inf: 1.0 if certain >= 1 else -math.expm1(reports * math.log1p(-certain))}


def _label(noise: PrivacySetting, size: str, epsilon: float | None, delta: Deltas) -> str:
    certain = delta[math.inf]
    of = f"for a change of up to {size} in one reading"
    step = noise.law.lattice(noise.parameters)
    if epsilon is not None and step is not None:
        return f"epsilon {upwards(epsilon)} {of}, delta 0, of readings that are multiples of {step:g}"
    if epsilon is not None:
        return f"epsilon {upwards(epsilon)} {of}, delta 0"
    if certain > 0:
        return f"no epsilon guarantee: {upwards(100 * certain)} % of reports rule the other value out for certain, {of}"
    return f"no epsilon at delta 0: delta {upwards(delta[1.0], 2)} at epsilon 1 {of}"
