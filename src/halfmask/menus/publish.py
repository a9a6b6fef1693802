"""What is published of an offer: public inputs, the public summary, and what follows from both.

An offer that is computed from readings is itself a release about everybody: with and without one home, its figures give
that home's mean use. So everything that is published is computed from a `synthetic_profile`. `calibrate` reads
the profile once, under one epsilon for everything about one producer; the rest is post-processing. How many producers
there are, and how many periods, is public.

Figures of attacks do not follow from the summary, and are not published. A menu that was computed from the readings is
the analyst's own, and says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from halfmask.errors import OptionError
from halfmask.evaluation.sampling import check_not_too_large
from halfmask.menus.menu import CALIBRATION, OWN, Menu, MenuSetting, Score
from halfmask.menus.public_summary import PublicSummary, public_summary
from halfmask.menus.public_totals import Estimate, PublicTotals, private_bounds
from halfmask.menus.published_error import meant, published_error, published_needed, unknown
from halfmask.menus.setting_protection import Protection
from halfmask.menus.synthetic_profile import synthetic_profile
from halfmask.menus.total_error import CROWDS
from halfmask.profiles.profile import Profile
from halfmask_device.decimals import upwards
from halfmask_device.setting import READING

FOR_BOUNDS = 0.2
"""Part of epsilon that is spent on bounds of totals if they are not given."""
DIGITS = 2
"""Significant digits of published figures without an interval."""
EPSILONS = ("epsilon", "reached", "readings", "curve")
"""Figures of an offer that are rounded up, as every epsilon is."""
PRIVATE = ("fingerprint", "asked", "sources", "guarantee_costs")
"""Entries of a menu's provenance that are about the analyst's files, or that the summary is too coarse for."""


@dataclass(frozen=True)
class Calibration:
    """What is known of the producers under one epsilon: the summary, and a synthetic profile.

    ``producers``  number of producers of the real profile, which is public
    ``epsilon``    of all of it, for everything about one producer, at delta 0
    ``periods``    number of periods of the real profile, which is public
    """

    summary: PublicSummary
    profile: Profile
    producers: int
    epsilon: float
    periods: int

    @property
    def low(self) -> float:
        """Return the least total that can be shared."""
        return self._totals.low

    @property
    def high(self) -> float:
        """Return the largest total that can be shared."""
        return self._totals.high

    @property
    def _totals(self) -> PublicTotals:
        if self.summary.totals is None:
            raise OptionError("a calibration has bounds of totals: give `low` and `high`", kind="bounds")
        return self.summary.totals

    def check_chosen(self, release: str) -> None:
        """Raise an OptionError if levels cannot be chosen by an error or a guess, because the summary is too noisy."""
        why = unknown(self.summary, release)
        if why is None and release == READING and not self.summary.share:
            why = "sizes of readings do not exceed the noise of the summary"
        if why is not None:
            raise OptionError(
                f"levels cannot be chosen from the summary: {why}. Give each level's `epsilon`, or spend more on the "
                "summary, `private`",
                kind="noisy",
            )


def calibrate(
    profile: Profile,
    epsilon: float,
    low: float | None = None,
    high: float | None = None,
    a_period: float | None = None,
) -> Calibration:
    """Return what is released about a profile under this epsilon. Each call is one more release.

    ``low``, ``high``  bounds of a producer's total of a period, from public knowledge; a part of epsilon is spent on
                       those that are not given
    ``a_period``       number of a producer's readings in a period, if that is public
    """
    check_not_too_large(profile)
    left = epsilon
    if low is None or high is None:
        found, left = private_bounds(profile, FOR_BOUNDS * epsilon), (1 - FOR_BOUNDS) * epsilon
        low, high = found[0] if low is None else low, found[1] if high is None else high
    summary = public_summary(profile, left, (low, high), a_period)
    if summary is None:
        raise OptionError("no bounds of totals: give `low` and `high`", kind="bounds")
    summary = replace(summary, epsilon=epsilon)
    made = synthetic_profile(summary, profile.users, profile.period, profile.unit)
    if "quantity" in profile.about:
        made = replace(made, about={**made.about, "quantity": profile.about["quantity"]})
    return Calibration(summary, made, profile.users, epsilon, len(profile.periods))


def published(menu: Menu, calibration: Calibration) -> Menu:
    """Return what is published of an offer that was computed from the calibration's synthetic profile.

    Expected errors, and how many producers a level needs, are replaced by `published_error` and `published_needed`,
    rounded to what they mean; their 95 % intervals are in ``provenance["calibration"]``. An OptionError is raised if
    the menu was computed from anything else.
    """
    menu.check_data(calibration.profile)
    made = dict(menu.provenance["offer"])
    crowds = sorted({*(each for each in CROWDS if each <= calibration.producers), int(made["producers"])})
    figures = _Figures(
        calibration.summary,
        crowds,
        int(made["producers"]),
        float(made["within"]),
        menu.question.step if menu.question else None,
    )
    told: dict[str, Any] = {
        "epsilon": calibration.epsilon,
        "delta": 0.0,
        "protects": "everything about one producer",
        "producers": calibration.producers,
    }
    near = made.get("closest")
    if not calibration.summary.interval_known:  # then nothing is said about masked readings
        made |= {name: None for name in ("curve",) if name in made}
        made |= {"closest": {**near, "readings": None}} if near else {}
    if (why := unknown(calibration.summary, menu.settings[0].setting.release)) is not None:
        told["unknown"] = why
        made |= {name: None for name in ("curve", "closest") if name in made}
        settings = tuple(map(_assumed, menu.settings))
    else:
        settings = tuple(map(figures.level, menu.settings))
        told["intervals"] = figures.intervals
    totals = calibration.summary.totals
    if "clipping" in made and totals is not None:
        share, bias = totals.clipped(), totals.clip_bias()
        made["clipping"] = {"low": totals.low, "high": totals.high, "share": _short(share.value)}
        made["clipping"]["bias"] = 0.0 if bias is None else _short(bias.value)
        told["clipping"] = {"share": _interval(share), "bias": None if bias is None else _interval(bias)}
    kept = {name: value for name, value in menu.provenance.items() if name not in PRIVATE}
    return replace(
        menu,
        settings=settings,
        provenance={**kept, "offer": _rounded(made), CALIBRATION: told},
        public=calibration.summary,
    )


def own(menu: Menu) -> Menu:
    """Return a menu with the mark that it is the analyst's own: computed from the readings, and not for publication."""
    return replace(menu, provenance={**menu.provenance, OWN: "computed from readings: not for publication"})


@dataclass(frozen=True)
class _Figures:
    """Published figures of levels, and the intervals of those that were published already."""

    summary: PublicSummary
    crowds: list[int]
    producers: int
    within: float
    step: float | None
    intervals: dict[str, dict[str, Any]] = field(default_factory=dict)

    def level(self, each: MenuSetting) -> MenuSetting:
        """Return a level with published figures, and note their intervals."""
        protection, setting = _without_data(each.protection), each.setting
        errors: dict[int, float] = {}
        needed = None if setting.silent else published_needed(self.summary, setting, self.within, self.step)
        if needed is not None and protection is not None:
            found = {users: published_error(self.summary, setting, users, self.step) for users in self.crowds}
            known = {users: meant(error) for users, error in found.items() if error is not None}
            errors = {users: error.value for users, error in known.items()}
            enough, needed = needed.value <= self.producers, meant(needed)
            if enough:  # also after rounding
                needed = needed._replace(value=min(needed.value, float(self.producers)))
            self.intervals[each.id] = {
                "errors": {users: list(error[1:]) for users, error in known.items()},
                "needed": [int(end) for end in needed[1:]],
            }
        return replace(
            each,
            privacy=Score(_short(each.privacy.median), _short(each.privacy.p10)),
            utility=Score(_short(each.utility.median), _short(each.utility.p10)),
            objective=_short(each.objective),
            protection=protection and replace(protection, errors=errors),
            needed=None if needed is None else int(needed.value),
        )


def _assumed(each: MenuSetting) -> MenuSetting:
    """Return a level without figures that depend on sizes of readings, because these are assumed."""
    if each.setting.silent:
        return replace(each, protection=_without_data(each.protection))
    protection = _without_data(each.protection)
    scores = {"privacy": Score(0.0, 0.0), "utility": Score(0.0, 0.0), "objective": 0.0, "outside": True}
    return replace(each, protection=protection and replace(protection, guess=None), needed=None, **scores)  # type: ignore[arg-type]


def _without_data(found: Protection | None) -> Protection | None:
    """Return what does not need readings, and the error of the best guess in two digits."""
    if found is None:
        return None
    guess = None if found.guess is None else _short(found.guess)
    return replace(found, guess=guess, recognised=None, usual=None, errors={})


def _interval(found: Estimate) -> list[float]:
    return [_short(each) for each in found[1:]]


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") + 0.0  # not -0


def _rounded(made: Mapping[str, Any]) -> dict[str, Any]:
    """Return the offer's own figures in a few digits; what was asked stays as it is."""
    asked = ("step", "within", "producers", "clipping")
    kept = {name: value for name, value in made.items() if name not in PRIVATE}
    return {name: value if name in asked else _shortened(value, name) for name, value in kept.items()}


def _shortened(value: Any, name: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _shortened(each, name) for name, each in value.items()}
    if name in EPSILONS and value is not None:
        return float(upwards(value, DIGITS))
    if isinstance(value, float | int) and not isinstance(value, bool):
        return type(value)(_short(value))
    return value
