"""Theorem 1 as a test: whether noise cancels in an aggregate for given settings.

The theorem has three conditions on an aggregate g and a masking f(s, psi). They are tested on random values:

    recursive    g(A + B) = g({g(A), g(B)}), for every division into A and B
    neutral      there is an e with g(A + {e}) = g(A), and the aggregate of the noise alone tends to it: g(Psi) -> e
    commutes     g(f(S, Psi)) = f(g(S), g(Psi))

They are sufficient but not necessary: a mean is not recursive (groups of different size count equally), but noise
cancels in it. The error itself is therefore measured too: |g(M) - g(S)| / |g(S)| for growing numbers of users, as a
power of that number. The values are 0.1 + 2 Beta(1, 3). They are skewed, so that nothing cancels by symmetry alone.
They are bounded, so that no relative error falls only because the true value grows, as the maximum of heavy-tailed
readings does. Their mean is 0.6.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError, SettingError
from halfmask.evaluation.aggregates import aggregate
from halfmask.evaluation.error_decay import decay_exponent
from halfmask.evaluation.users_needed import NoiseShares, UsersNeeded, by_formula, draw_values, estimated
from halfmask.mechanisms.mechanism_registry import mechanism
from halfmask.mechanisms.setting import PrivacySetting

SIZES = tuple(2**k for k in range(5, 14))
REPEATS = 60
MEAN = 0.6
TRIES = 40
"""How often an equation is tested; one counterexample is enough."""

FEW, MANY = 256, 16_384
"""Numbers of users whose noise alone is aggregated. If it tends to the neutral element, it is 8 times nearer for 64
times as many.
"""
FAR = 100.0
ELEMENTS = {0.0: "0", 1.0: "1", -FAR: "anything far below the others", FAR: "anything far above the others"}
"""Candidates for a neutral element. `FAR` is 50 times the largest value, small enough for squares and exponentials to
be finite.
"""

CLOSE = 1e-9
CANCELS, IN_PART = -0.35, -0.15
STEEPEST = -1.0
"""Independent noise falls as N^(-1/2). A slope that may be below this comes from means dominated by a
few huge errors.
"""
NAMES = (
    *("sum", "mean", "count", "variance", "variance-uncorrected", "max", "min", "median", "quantile:0.9", "product"),
    "geometric-mean",
)
"""The aggregates in the table of all pairs."""

Function = Callable[[FloatArray], float]


@dataclass(frozen=True)
class Condition:
    """Whether one of the theorem's conditions holds, and a counterexample if not."""

    holds: bool
    case: str = ""


@dataclass(frozen=True)
class Cancellation:
    """The result for one aggregate and one setting, or several in equal shares.

    ``exponent``, ``low``, ``high``  slope of log error on log users, with its 95 % interval
    ``error``                        error at the largest number of users
    ``accuracy``                     the wanted mean error
    ``users``                        number of users from which on the mean error is within the accuracy; None if no
                                     tested number is enough
    ``users_low``, ``users_high``    95 % interval of ``users``; infinite if not known
    ``known``                        whether a formula gives ``users``: for sums, means and variances with symmetric
                                     noise
    """

    aggregate: str
    settings: tuple[PrivacySetting, ...]
    recursive: Condition
    neutral: Condition
    commutes: Condition
    exponent: float
    low: float
    high: float
    error: float
    accuracy: float
    users: float | None
    users_low: float
    users_high: float
    known: bool

    @property
    def cancels(self) -> bool:
        """Whether the error falls about as fast as that of independent noise, N^(-1/2), or is 0.

        This is so if a formula says so, or if the whole interval of the exponent is below `CANCELS`.
        """
        return self.error == 0 or self.known or (self.high <= CANCELS and self.falls)

    @property
    def undecided(self) -> bool:
        """Whether the exponent's interval allows both noise that cancels and noise that does not."""
        return not self.cancels and self.low <= CANCELS and self.high > IN_PART

    @property
    def falls(self) -> bool:
        """Whether the error falls with the number of users, as for noise that cancels at least in part."""
        return _falls(self.exponent, self.low, self.high)

    @property
    def out_of_reach(self) -> bool:
        """Whether no number of users is enough: the error does not fall, and is too large even for the
        most users drawn.
        """
        return self.users is None and not self.falls and self.users_low >= SIZES[-1]

    def verdict(self) -> str:
        """Return the result as a sentence."""
        if self.error == 0:
            return "noise does not reach it at all"
        if self.cancels:
            return "noise cancels: more users make it more accurate"
        if self.undecided:
            return "these draws do not show whether noise cancels: take more `repeats`"
        if self.falls:
            return "noise cancels only in part: more users help little"
        return "noise does not cancel: more users do not make it more accurate"

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain values; None for numbers that are not finite."""
        cancels = None if self.undecided else self.cancels
        plain = {**asdict(self), "settings": [str(each) for each in self.settings], "cancels": cancels}
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in plain.items()
        }


def cancellation(
    name: str,
    settings: Sequence[PrivacySetting],
    *,
    accuracy: float = 0.01,
    repeats: int = REPEATS,
    rng: np.random.Generator,
) -> Cancellation:
    """Test the theorem's conditions and measure how the error falls with the number of users."""
    if not settings:
        raise OptionError("name at least one mechanism or setting to mask with")
    if not 0 < accuracy < 1:
        raise OptionError(
            f"an accuracy of {accuracy:g} is not a share between 0 and 1: 0.01 is within 1 %",
            kind="share",
            field="accuracy",
        )
    plain = plain_function(name)
    errors_of = partial(_errors, name, plain, settings, repeats, rng)
    errors = np.array([errors_of(size) for size in SIZES])
    exponent, low, high = _decay(errors)
    users = by_formula(name, settings, accuracy) if errors.any() else 1.0
    needed = (
        estimated(SIZES, errors, accuracy, errors_of, falls=_falls(exponent, low, high))
        if users is None
        else UsersNeeded(users, users, users)
    )
    return Cancellation(
        name,
        tuple(settings),
        _recursive(plain, rng),
        _neutral(plain, settings, rng),
        _commutes(plain, settings, rng),
        exponent,
        low,
        high,
        float(errors[-1].mean()),
        accuracy,
        needed.users,
        needed.low,
        needed.high,
        users is not None,
    )


def setting_of(text: str) -> PrivacySetting:
    """Return a setting from its text, or from a mechanism's name alone, with every parameter half of the
    values' mean.
    """
    if ":" in text or "/" in text or not mechanism(text).parameter_names:
        return PrivacySetting.parse(text)
    try:
        return PrivacySetting(text, (MEAN / 2,) * len(mechanism(text).parameter_names))
    except SettingError as error:
        raise SettingError(f"{text} needs its parameters here ({error})") from error


def plain_function(name: str) -> Function:
    """Return the aggregate g as a function of one array."""
    own: dict[str, Function] = {
        "sum": lambda v: float(v.sum()),
        "mean": lambda v: float(v.mean()),
        "count": lambda v: float(len(v)),
        "variance": lambda v: float(v.var()),
        "variance-uncorrected": lambda v: float(v.var()),
        "max": lambda v: float(v.max()),
        "min": lambda v: float(v.min()),
        "product": lambda v: float(v.prod()),
        "geometric-mean": lambda v: float(np.exp(np.log(np.maximum(np.abs(v), 1e-300)).mean())),
    }
    if name in own:
        return own[name]
    found = aggregate(name).function
    if found is None:
        raise OptionError(
            f"aggregate '{name}' is not known here: use {', '.join(NAMES)}, or file.py:function",
            kind="aggregate",
            field="aggregate",
        )
    return lambda v: found(np.sort(v))


def _mask(settings: Sequence[PrivacySetting], values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return values masked by all settings, each applied to an equal share of the users."""
    parts = np.array_split(values, len(settings))
    return np.concatenate([each.mask(part, rng) for each, part in zip(settings, parts, strict=True)])


def _errors(
    name: str, plain: Function, settings: Sequence[PrivacySetting], repeats: int, rng: np.random.Generator, size: int
) -> FloatArray:
    """Return the relative errors (repeats,) of an aggregate over ``size`` users."""
    masked, ratio = NoiseShares.of(settings).corrected if name == "variance" else plain, _ratio
    if name == "product":
        plain, masked, ratio = _log_product, _log_product, _ratio_of_logs  # a product leaves the range of numbers
    drawn = (draw_values(size, rng) for _ in range(repeats))
    return np.array([ratio(plain(values), masked(_mask(settings, values, rng))) for values in drawn])


def _ratio(true: float, seen: float) -> float:
    return 0.0 if true == seen else abs(seen - true) / abs(true)


def _log_product(values: FloatArray) -> float:
    return float(np.log(np.maximum(np.abs(values), 1e-300)).sum())


def _ratio_of_logs(true: float, seen: float) -> float:
    """Return |P / Q - 1| of two products from their logarithms, at most 1e6, because it may exceed all floats."""
    return min(abs(math.expm1(min(seen - true, 20.0))), 1e6)


def _falls(exponent: float, low: float, high: float) -> bool:
    """Return whether an exponent with this interval shows that the error falls, as for noise that
    cancels at least in part.
    """
    return exponent <= IN_PART and low >= STEEPEST and high < 0


def _decay(errors: FloatArray) -> tuple[float, float, float]:
    """Return the exponent over the larger half of the sizes, and both ends of its interval."""
    sizes, means = np.array(SIZES), errors.mean(axis=1)
    later = slice(len(sizes) // 2, None)
    if not (means[later] > 0).all():
        return -math.inf, -math.inf, -math.inf
    found = decay_exponent(sizes[later], means[later])
    count = errors.shape[1]
    noise = errors[later].std(axis=1, ddof=1) / (means[later] * math.sqrt(count))
    x = np.log(sizes[later])
    spread = float(((x - x.mean()) ** 2).sum())
    reach = 1.96 * max(found.error, float(np.sqrt(((x - x.mean()) ** 2 * noise**2).sum())) / spread)
    return found.exponent, found.exponent - reach, found.exponent + reach


def _recursive(g: Function, rng: np.random.Generator) -> Condition:
    for sizes in ((1, 3), (2, 2), (5, 7, 1)) * (TRIES // 3):
        parts = [np.round(draw_values(size, rng), 2) for size in sizes]
        whole, nested = g(np.concatenate(parts)), g(np.array([g(part) for part in parts]))
        if not _same(whole, nested):
            told = " and ".join(_list(part) for part in parts)
            return Condition(False, f"of {told} together it is {whole:.4g}, of their results {nested:.4g}")
    return Condition(True)


def _neutral(g: Function, settings: Sequence[PrivacySetting], rng: np.random.Generator) -> Condition:
    """Test for a neutral element that works for values of any sign and size, and to which noise tends with more users.

    The distance of noise from e is |g(Psi) - e| divided by |g(S) - e|: for a sum it falls as N^(-1/2), for a norm it
    stays constant.
    """
    values = np.round(draw_values(5, rng), 2)
    others = (values, 2 + values, -values, values * [1, -1, 1, -1, 1])
    sets = [each for each in others if math.isfinite(_quiet(g, each))]
    found = [e for e in ELEMENTS if all(_same(_quiet(g, each), _quiet(g, np.append(each, e))) for each in sets)]
    if not found:
        return Condition(False, f"no value can join {_list(values)} without changing {g(values):.4g}")
    e, alone = found[0], 1.0 if all(each.kind == "relative" for each in settings) else 0.0
    beside, came = [], math.nan
    for users in (FEW, MANY):
        drawn = [_quiet(g, _mask(settings, np.full(users, alone), rng)) for _ in range(TRIES)]
        held = [_quiet(g, draw_values(users, rng)) for _ in range(TRIES)]
        came = float(np.median(drawn))
        beside.append(float(np.mean(np.abs(np.array(drawn) - e))) / max(abs(float(np.median(held)) - e), 1e-300))
    if beside[1] <= beside[0] / 2:
        return Condition(True)
    return Condition(False, f"its neutral element is {ELEMENTS[e]}, but noise alone of {MANY:,} comes to {came:.4g}")


def _commutes(g: Function, settings: Sequence[PrivacySetting], rng: np.random.Generator) -> Condition:
    """Test whether g(S masked) equals g(S) masked by g(noise)."""
    relative = all(each.kind == "relative" for each in settings)
    for _ in range(TRIES):
        values = np.round(draw_values(4, rng), 2)
        masked = _mask(settings, values, rng)
        noise = masked / values if relative else masked - values
        whole = _quiet(g, masked)
        apart = g(values) * _quiet(g, noise) if relative else g(values) + _quiet(g, noise)
        if not _same(whole, apart):
            return Condition(False, f"of {_list(masked)} it is {whole:.4g}, of values and noise apart {apart:.4g}")
    return Condition(True)


def _quiet(g: Function, values: FloatArray) -> float:
    """Return g, or NaN if it is not finite or not defined for these values."""
    with np.errstate(all="ignore"):
        try:
            return g(values)
        except OptionError:
            return math.nan


def _same(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= CLOSE * max(abs(one), abs(other))


def _list(values: FloatArray) -> str:
    return "{" + ", ".join(f"{each:.3g}" for each in values) + "}"
