"""Theorem 1 as a test: does noise cancel in this aggregate, under these settings?

The theorem asks three things of an aggregate g and a masking f(s, psi). They are tried on drawn values:

    recursive    g(A + B) = g({g(A), g(B)}), however the values are divided
    neutral      there is an e with g(A + {e}) = g(A), and the noise alone comes to it: g(Psi) -> e
    commutes     g(f(S, Psi)) = f(g(S), g(Psi))

They are enough, not needed: a mean is not recursive (groups of unlike size count alike), and noise cancels in it. So
the error itself is measured too: |g(M) - g(S)| / |g(S)| over growing numbers of users, as a power of that number.
The values are 0.1 + 2 Beta(1, 3): skewed, so that nothing cancels by symmetry alone, and bounded, so that no aggregate
comes closer only because its true value grows, as the maximum of heavy-tailed readings does. Their mean is 0.6.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import OptionError, SettingError
from halfmask.evaluation.aggregates import aggregate
from halfmask.evaluation.decay import decay_exponent
from halfmask.mechanisms.mechanism import mechanism
from halfmask.mechanisms.setting import PrivacySetting

SIZES = tuple(2**k for k in range(5, 14))
REPEATS = 60
MEAN = 0.6
TRIES = 40
"""How often an equation is tried; one case that fails it is enough."""

FEW, MANY = 256, 16_384
"""Users whose noise alone is looked at: where it comes to the neutral element, it is 8 times nearer for 64 times as
many."""
FAR = 100.0
ELEMENTS = {0.0: "0", 1.0: "1", -FAR: "anything far below the others", FAR: "anything far above the others"}
"""What is tried as a neutral element. Far is 50 times the largest value, and no further, so that squares and
exponentials stay numbers."""

CLOSE = 1e-9
CANCELS, IN_PART = -0.35, -0.15
STEEPEST = -1.0
"""Independent noise goes as N^(-1/2): a slope that may be below this is of means that a few huge errors decide."""
NAMES = (
    *("sum", "mean", "count", "variance", "variance-uncorrected", "max", "min", "median", "quantile:0.9", "product"),
    "geometric-mean",
)
"""The aggregates that the table of all pairs shows."""

Function = Callable[[FloatArray], float]


@dataclass(frozen=True)
class Condition:
    """Whether one of the theorem's conditions holds, and a case that shows where it does not."""

    holds: bool
    case: str = ""


@dataclass(frozen=True)
class Cancellation:
    """What was found for one aggregate and one setting, or several in equal shares.

    ``exponent`` is the slope of log error on log users with its 95 % interval; ``error`` the error at the largest
    number of users; ``users`` how many bring the mean error to the wanted accuracy, None where no number does.
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

    @property
    def cancels(self) -> bool:
        """Whether the error falls about as fast as independent noise does, N^(-1/2), or there is none."""
        return self.error == 0 or (self.exponent <= CANCELS and _settled(self.low, self.high))

    def verdict(self) -> str:
        """The finding in a sentence."""
        if self.error == 0:
            return "noise does not reach it at all"
        if self.cancels:
            return "noise cancels: more users make it more accurate"
        if self.exponent <= IN_PART and _settled(self.low, self.high):
            return "noise cancels only in part: more users help little"
        return "noise does not cancel: more users do not make it more accurate"


def cancellation(
    name: str,
    settings: Sequence[PrivacySetting],
    *,
    accuracy: float = 0.01,
    repeats: int = REPEATS,
    rng: np.random.Generator,
) -> Cancellation:
    """Try the theorem's conditions and measure the decay of the error."""
    if not settings:
        raise OptionError("name at least one mechanism or setting to mask with")
    if not 0 < accuracy < 1:
        raise OptionError(f"an accuracy of {accuracy:g} is not a share between 0 and 1: 0.01 is within 1 %")
    plain = plain_function(name)
    masked = _corrected(plain, settings) if name == "variance" else plain
    if name == "product":
        plain = masked = _log_product  # the product itself leaves the range of numbers
    errors = _errors(plain, masked, settings, repeats, rng, _ratio_of_logs if name == "product" else _ratio)
    plain = plain_function(name)
    exponent, low, high, users = _decay(errors, accuracy)
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
        users,
    )


def setting_of(text: str) -> PrivacySetting:
    """A setting, or a mechanism by its name alone: every parameter is then half of the values' mean."""
    if ":" in text or "/" in text or not mechanism(text).parameter_names:
        return PrivacySetting.parse(text)
    try:
        return PrivacySetting(text, (MEAN / 2,) * len(mechanism(text).parameter_names))
    except SettingError as error:
        raise SettingError(f"{text} needs its parameters here ({error})") from error


def plain_function(name: str) -> Function:
    """g as a function of one array."""
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
        raise OptionError(f"aggregate '{name}' is not known here: use {', '.join(NAMES)}, or file.py:function")
    return lambda v: found(np.sort(v))


def _corrected(plain: Function, settings: Sequence[PrivacySetting]) -> Function:
    """The variance less what is known of the noise: users are divided evenly, so noise variances are averaged."""
    noise = float(np.mean([_variance(each) for each in settings]))
    relative = {each.kind for each in settings} == {"relative"}
    if relative:
        return lambda v: float((v.var() - noise * v.mean() ** 2) / (1 + noise))
    return lambda v: plain(v) - noise


def _variance(setting: PrivacySetting) -> float:
    if setting.kind == "direct" or setting.inner is not None:
        return 0.0
    return float(setting.law.moments(np.array([setting.parameters]))[0, 1])


def _values(size: int, rng: np.random.Generator) -> FloatArray:
    return 0.1 + 2 * rng.beta(1, 3, size)


def _mask(settings: Sequence[PrivacySetting], values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Every setting masks an equal share of the users."""
    parts = np.array_split(values, len(settings))
    return np.concatenate([each.mask(part, rng) for each, part in zip(settings, parts, strict=True)])


def _errors(
    plain: Function,
    masked: Function,
    settings: Sequence[PrivacySetting],
    repeats: int,
    rng: np.random.Generator,
    ratio: Callable[[float, float], float],
) -> FloatArray:
    """Relative errors (sizes, repeats)."""
    errors = np.empty((len(SIZES), repeats))
    for row, size in enumerate(SIZES):
        for column in range(repeats):
            values = _values(size, rng)
            errors[row, column] = ratio(plain(values), masked(_mask(settings, values, rng)))
    return errors


def _ratio(true: float, seen: float) -> float:
    return 0.0 if true == seen else abs(seen - true) / abs(true)


def _log_product(values: FloatArray) -> float:
    return float(np.log(np.maximum(np.abs(values), 1e-300)).sum())


def _ratio_of_logs(true: float, seen: float) -> float:
    """|P / Q - 1| of two products by their logarithms; at most 1e6, since it can pass every number."""
    return min(abs(math.expm1(min(seen - true, 20.0))), 1e6)


def _settled(low: float, high: float) -> bool:
    """Whether a slope between these is that of noise which cancels, whole or in part."""
    return low >= STEEPEST and high < 0


def _decay(errors: FloatArray, accuracy: float) -> tuple[float, float, float, float | None]:
    """The exponent over the larger half of the sizes, its interval, and the users for an accuracy."""
    sizes, means = np.array(SIZES), errors.mean(axis=1)
    later = slice(len(sizes) // 2, None)
    if not (means[later] > 0).all():
        return -math.inf, -math.inf, -math.inf, 1.0
    found = decay_exponent(sizes[later], means[later])
    count = errors.shape[1]
    noise = errors[later].std(axis=1, ddof=1) / (means[later] * math.sqrt(count))
    x = np.log(sizes[later])
    spread = float(((x - x.mean()) ** 2).sum())
    reach = 1.96 * max(found.error, float(np.sqrt(((x - x.mean()) ** 2 * noise**2).sum())) / spread)
    users = None
    if _settled(found.exponent - reach, found.exponent + reach) and found.exponent <= IN_PART:
        users = max(1.0, sizes[-1] * (means[-1] / accuracy) ** (-1 / found.exponent))
    return found.exponent, found.exponent - reach, found.exponent + reach, users


def _recursive(g: Function, rng: np.random.Generator) -> Condition:
    for sizes in ((1, 3), (2, 2), (5, 7, 1)) * (TRIES // 3):
        parts = [np.round(_values(size, rng), 2) for size in sizes]
        whole, nested = g(np.concatenate(parts)), g(np.array([g(part) for part in parts]))
        if not _same(whole, nested):
            told = " and ".join(_list(part) for part in parts)
            return Condition(False, f"of {told} together it is {whole:.4g}, of their results {nested:.4g}")
    return Condition(True)


def _neutral(g: Function, settings: Sequence[PrivacySetting], rng: np.random.Generator) -> Condition:
    """A neutral element, whatever the signs and sizes of the others, and noise that comes to it as more users share.

    How near noise is to e is |g(Psi) - e| beside |g(S) - e|: of a sum it falls as N^(-1/2), of a norm it stays.
    """
    values = np.round(_values(5, rng), 2)
    others = (values, 2 + values, -values, values * [1, -1, 1, -1, 1])
    sets = [each for each in others if math.isfinite(_quiet(g, each))]
    found = [e for e in ELEMENTS if all(_same(_quiet(g, each), _quiet(g, np.append(each, e))) for each in sets)]
    if not found:
        return Condition(False, f"no value can join {_list(values)} without changing {g(values):.4g}")
    e, alone = found[0], 1.0 if all(each.kind == "relative" for each in settings) else 0.0
    beside, came = [], math.nan
    for users in (FEW, MANY):
        drawn = [_quiet(g, _mask(settings, np.full(users, alone), rng)) for _ in range(TRIES)]
        held = [_quiet(g, _values(users, rng)) for _ in range(TRIES)]
        came = float(np.median(drawn))
        beside.append(float(np.mean(np.abs(np.array(drawn) - e))) / max(abs(float(np.median(held)) - e), 1e-300))
    if beside[1] <= beside[0] / 2:
        return Condition(True)
    return Condition(False, f"its neutral element is {ELEMENTS[e]}, but noise alone of {MANY:,} comes to {came:.4g}")


def _commutes(g: Function, settings: Sequence[PrivacySetting], rng: np.random.Generator) -> Condition:
    """g(S masked) against g(S) masked by g(noise)."""
    relative = all(each.kind == "relative" for each in settings)
    for _ in range(TRIES):
        values = np.round(_values(4, rng), 2)
        masked = _mask(settings, values, rng)
        noise = masked / values if relative else masked - values
        whole = _quiet(g, masked)
        apart = g(values) * _quiet(g, noise) if relative else g(values) + _quiet(g, noise)
        if not _same(whole, apart):
            return Condition(False, f"of {_list(masked)} it is {whole:.4g}, of values and noise apart {apart:.4g}")
    return Condition(True)


def _quiet(g: Function, values: FloatArray) -> float:
    """g, or NaN where it has no finite number for values that nobody measures."""
    with np.errstate(all="ignore"):
        try:
            return g(values)
        except OptionError:
            return math.nan


def _same(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= CLOSE * max(abs(one), abs(other))


def _list(values: FloatArray) -> str:
    return "{" + ", ".join(f"{each:.3g}" for each in values) + "}"
