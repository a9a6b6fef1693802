"""A campaign's terms, checked field by field, and the periods, noise and rewards that follow from them.

`LatticeNoise` is the law of a setting's noise on the campaign's lattice, as the device draws it.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import available_timezones

from halfmask.errors import OptionError, SettingError
from halfmask.service.refusal import unfit
from halfmask.service.split.split_options import plain_address
from halfmask.service.storage.campaign_rows import UPSTREAM
from halfmask.service.storage.report_rows import buckets_of
from halfmask_device.campaign_calendar import KINDS, Calendar, Span
from halfmask_device.instants import DAY, MINUTE, Instant, parse_instant
from halfmask_device.lattice import Lattice
from halfmask_device.protocol import CampaignTerms, MessageError, is_split
from halfmask_device.setting import FURTHEST, READING, TOTAL, DeviceSetting, law

if TYPE_CHECKING:
    from halfmask.arrays import FloatArray

IMPLAUSIBLE = 1e-12
"""A report is refused if noise reaches it, from the nearer end of the range, with a chance smaller than this."""
NEGLIGIBLE = 1e-16


class LatticeNoise:
    """A symmetric law of K steps: its variance, its fourth moment, and the furthest K that is still plausible."""

    def __init__(self, setting: str, step: Fraction) -> None:
        self.law = law(DeviceSetting.parse(setting), step)
        self.furthest = self.law.furthest(IMPLAUSIBLE)
        self.variance, self.fourth = self.law.variance, self.law.fourth

    @lru_cache(maxsize=64)  # noqa: B019 - laws are few and live as long as the process
    def masses(self, width: int) -> "FloatArray":
        """Return P(K in cell j) for j = 0, 1, ...; cell j holds the ``width`` (odd) integers around j width.

        The last cell is reached when the remaining probability is below any rounding.
        """
        import numpy as np

        first = (width + 1) // 2
        count = max(1, math.ceil(self.law.furthest(NEGLIGIBLE) / width) + 1)
        beyond = np.array([self.law.above(first + j * width) for j in range(count)] + [0.0])
        result: FloatArray = np.concatenate([[1 - 2 * beyond[0]], beyond[:-1] - beyond[1:]])
        return np.maximum(result, 0.0)


def cell_width(wanted: float) -> int:
    """Return the smallest odd number of steps that is at least ``wanted``."""
    return max(1, 2 * math.ceil((wanted - 1) / 2) + 1)


@lru_cache(maxsize=1024)
def lattice_noise(setting: str, step: Fraction) -> LatticeNoise:
    """Return the law of a setting on a lattice. It is cached, so campaigns share it."""
    return LatticeNoise(setting, step)


def check_reach(noise: LatticeNoise, ends: tuple[int, int]) -> None:
    """Raise SettingError if a plausible report would not fit 63 bits: stores hold reports as 64-bit integers."""
    if max(abs(ends[0]), abs(ends[1])) + noise.furthest >= FURTHEST:
        raise SettingError("a report could lie beyond 64-bit integers: take a coarser step", kind="reach")


MOST_MONEY = 2**53
LATEST = 253_370_764_800_000_000
"""The beginning of the year 9999, the last year that calendars know."""
MOST_PERIODS = 100_000
LONGEST_GRACE = 60 * 24 * 366
"""Most minutes of grace: a year."""
DEFAULTS: dict[str, Any] = {
    "release": READING,
    "readings_expected": None,
    "period": "day",
    "time_zone": "UTC",
    "grace_minutes": 60,
    "rewards": {},
    "currency": "EUR/1000",
    "budget": 0,
    "least_producers": 20,
    "join": "open",
    "keep_reports": "until_closed",
    "live": False,
    "clock_skew_minutes": 5,
    "every_minutes": None,
    "groups": [],
    "most_per_period": None,
    "split": None,
    "nouns": {"one": "home", "many": "homes"},
}
REQUIRED = ("name", "purpose", "unit", "lattice", "begins", "ends", "menu")
MOST_GROUPS, LONGEST_GROUP = 1000, 64
JOIN = ("open", "invitation")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,32}", re.ASCII)
_zones = lru_cache(maxsize=1)(available_timezones)


@dataclass(frozen=True)
class Campaign:
    """A consumer's campaign. ``terms`` holds the checked terms; everything else is derived from them."""

    key: int
    public: str
    consumer: int
    terms: Mapping[str, Any]
    peered: bool = False
    """Whether peers keep it too. Then a period closes once every node with cells in it has sent its final cells."""

    @cached_property
    def begins(self) -> Instant:
        return _instant(self.terms, "begins")

    @cached_property
    def ends(self) -> Instant:
        return _instant(self.terms, "ends")

    @cached_property
    def grace(self) -> Instant:
        return int(self.terms["grace_minutes"]) * MINUTE

    @cached_property
    def skew(self) -> Instant:
        return int(self.terms["clock_skew_minutes"]) * MINUTE

    @cached_property
    def every(self) -> Instant:
        """Return the interval between the times for which reports are taken; 0 if reports may be of any time."""
        return int(self.terms.get("every_minutes") or 0) * MINUTE

    @cached_property
    def calendar(self) -> Calendar:
        return Calendar(self.terms["period"], self.terms["time_zone"])

    @cached_property
    def lattice(self) -> Lattice:
        return Lattice(**{name: self.terms["lattice"][name] for name in ("step", "low", "high")})

    @cached_property
    def noises(self) -> dict[str, LatticeNoise]:
        """Return the noise of each setting of the menu, by the setting's id."""
        step = self.lattice.unit
        return {each["id"]: lattice_noise(each["setting"], step) for each in self.terms["menu"]["settings"]}

    @cached_property
    def plausible(self) -> dict[str, tuple[int, int]]:
        """Return for each setting the smallest and largest plausible report, in steps, of a reading in range."""
        low, high = self.lattice.ends
        return {name: (low - noise.furthest, high + noise.furthest) for name, noise in self.noises.items()}

    @property
    def totals(self) -> bool:
        """Return whether producers report the totals of their periods, and not their readings."""
        return bool(self.terms.get("release", READING) == TOTAL)

    @cached_property
    def split_id(self) -> str | None:
        """Return the id of the setting that splits totals between two services; None if the menu has none."""
        return next((each["id"] for each in self.terms["menu"]["settings"] if is_split(each["setting"])), None)

    @property
    def shared(self) -> bool:
        """Return whether this node sends its cells to other nodes."""
        return self.peered or self.consumer == UPSTREAM

    @property
    def live(self) -> bool:
        return bool(self.terms["live"])

    @property
    def least(self) -> int:
        return int(self.terms["least_producers"])

    @property
    def too_few(self) -> str:
        """The reason why a period with fewer producers than the least cohort is withheld."""
        return "no reports" if self.least == 1 else f"fewer than {self.least} producers"

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of which each producer names one; none without groups."""
        return tuple(self.terms.get("groups", ()))

    @property
    def keeps(self) -> bool:
        """Return whether reports are kept after their period has closed."""
        return bool(self.terms["keep_reports"] == "always")

    def bucket(self, span: Span) -> int:
        """Return the number under which the reports of a period are stored together."""
        return buckets_of(self.key)[0] + self.calendar.number_of(span)

    def room(self, span: Span) -> tuple[int, int]:
        """Return the range of buckets that are deleted together with a period's: its own, or all if they are kept."""
        bucket = self.bucket(span)
        return buckets_of(self.key) if self.keeps else (bucket, bucket + 1)

    def deadline(self, span: Span) -> Instant:
        """Return the instant when the period closes: its end, or the campaign's if that is earlier, plus the grace."""
        return min(span.ends, self.ends) + self.grace

    def spans(self, until: Instant, since: Instant | None = None) -> list[Span]:
        """Return the campaign's periods that have begun by ``until`` and have not ended by ``since``."""
        first = self.begins if since is None else max(self.begins, since)
        return list(self.calendar.spans(first, min(self.ends, until + 1)))

    def named_span(self, key: object, field: str) -> Span:
        """Return the campaign's period that a request names in ``field``, or refuse it."""
        span = self.span(key) if isinstance(key, str) else None
        if span is None:
            raise unfit(field, f"{field!r} must be a period of the campaign, written like those that are listed")
        return span

    def span(self, key: str) -> Span | None:
        """Return the campaign's period of this name; None if the name is unknown."""
        span = self.calendar.named(key)
        return span if span and span.ends > self.begins and span.begins < self.ends else None


def check_campaign(plain: Any) -> dict[str, Any]:
    """Return the campaign's terms with defaults filled in. Refuse the first field that does not fit, by its name."""
    if not isinstance(plain, dict):
        raise unfit("", "a campaign is a JSON object")
    known = (*REQUIRED, *DEFAULTS)
    if plain.keys() - set(known):
        raise unfit("", f"a field is not known; a campaign has {', '.join(known)}")
    for name in REQUIRED:
        if name not in plain:
            raise unfit(name, f"{name} is missing")
    terms = {name: plain.get(name, DEFAULTS.get(name)) for name in known}
    for name, longest in (("name", 200), ("purpose", 2000), ("unit", 40), ("currency", 40)):
        check_text(terms[name], name, longest)
    for name in ("menu", "lattice"):
        _check_sendable(terms[name], name)
    _check_times(terms)
    check_whole(terms["least_producers"], "least_producers", 1, 10**9)
    ids = _check_menu(_as_devices_read_it(terms))
    if terms["release"] == TOTAL:
        _check_totals(terms)
    _check_groups(terms)
    if isinstance(made := plain["menu"].get("provenance"), dict) and "own" in made:
        raise unfit("menu", "menu holds figures that were computed from readings: offer the published menu")
    terms["split"] = _check_split(terms["split"], int(terms["grace_minutes"] or 0))
    terms["rewards"] = check_rewards(terms["rewards"], ids)
    check_whole(terms["budget"], "budget", 0, MOST_MONEY)
    if terms["most_per_period"] is not None:
        check_whole(terms["most_per_period"], "most_per_period", 0, MOST_MONEY)
    _check_nouns(terms["nouns"])
    if terms["join"] not in JOIN:
        raise unfit("join", f"join must be one of {', '.join(JOIN)}")
    return terms


def _check_nouns(nouns: Any) -> None:
    if not isinstance(nouns, dict) or nouns.keys() != {"one", "many"}:
        raise unfit("nouns", 'nouns must say what producers are, like {"one": "station", "many": "stations"}')
    for word in nouns.values():
        check_text(word, "nouns", 40)


def _as_devices_read_it(terms: dict[str, Any]) -> CampaignTerms:
    """Parse the terms as devices do, so that no campaign is offered that they would refuse."""
    try:
        return CampaignTerms.read(terms)
    except MessageError as error:
        raise unfit(error.field, error.message) from None


def check_text(value: Any, field: str, longest: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > longest or _CONTROL.search(value):
        raise unfit(field, f"{field} must be text of 1 to {longest} characters, none of them a control character")
    return value


def _check_sendable(value: Any, field: str) -> None:
    """Refuse JSON that can be read but not sent again: a lone surrogate, or a number too large for a float."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise unfit(field, f"{field} holds text that is not UTF-8, or a number that is too large") from None


def check_whole(value: Any, field: str, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise unfit(field, f"{field} must be a whole number from {least} to {most}")
    return value


def check_rewards(value: Any, ids: set[str]) -> dict[str, int]:
    """Return the reward per report by setting id, in whole units of money. An id that is not named earns nothing."""
    if not isinstance(value, dict) or value.keys() - ids:
        raise unfit("rewards", "rewards must be an object from the menu's ids to whole numbers")
    return {name: check_whole(amount, "rewards", 0, MOST_MONEY) for name, amount in value.items()}


def _instant(terms: Mapping[str, Any], name: str) -> Instant:
    found = parse_instant(terms[name]) if isinstance(terms[name], str) else None
    if found is None or not 0 <= found < LATEST:
        raise unfit(name, f"{name} must be a time since 1970 as RFC 3339 has it, like 2026-11-16T00:00:00+00:00")
    return found


def _check_times(terms: dict[str, Any]) -> None:
    begins, ends = _instant(terms, "begins"), _instant(terms, "ends")
    check_whole(terms["grace_minutes"], "grace_minutes", 0, LONGEST_GRACE)
    check_whole(terms["clock_skew_minutes"], "clock_skew_minutes", 0, 60 * 24)
    if terms["every_minutes"] is not None and 60 % check_whole(terms["every_minutes"], "every_minutes", 1, 60):
        raise unfit("every_minutes", "every_minutes must divide an hour, like 15, 30 or 60")
    for name in ("period", "time_zone"):
        check_text(terms[name], name, 64)
    if terms["period"] not in KINDS:
        raise unfit("period", f"the period must be one of {', '.join(KINDS)}")
    if terms["time_zone"] not in _zones():
        raise unfit("time_zone", "the time zone must be a name of the IANA database, like Europe/Dublin")
    span = Calendar(terms["period"], terms["time_zone"]).span_of(begins)
    if (ends - begins) // min(span.ends - span.begins, DAY * 20) > MOST_PERIODS:
        raise unfit("period", f"the campaign would have more than {MOST_PERIODS} periods: take a longer one")


def _check_groups(terms: dict[str, Any]) -> None:
    """Refuse groups that are not distinct names. Refuse them in live campaigns too.

    A look at an open period is of all groups. Together with the groups of the closed period it could show fewer
    producers than the least cohort.
    """
    groups = terms["groups"]
    if not isinstance(groups, list) or len(groups) > MOST_GROUPS:
        raise unfit("groups", f"groups must be a list of at most {MOST_GROUPS:,} names")
    for name in groups:
        check_text(name, "groups", LONGEST_GROUP)
    if len({name.strip() for name in groups}) != len(groups) or any(name != name.strip() for name in groups):
        raise unfit("groups", "groups must differ, and not begin or end with a space")
    if groups and terms["live"]:
        raise unfit("groups", "a live campaign has no groups: looks at open periods would reveal withheld ones")


def _check_totals(terms: dict[str, Any]) -> None:
    """Refuse a campaign of totals that begins or ends within a period, which would cut its total off.

    Refuse one without a grace too: totals come after the end of their period, when it would be closed.
    """
    check_whole(terms["grace_minutes"], "grace_minutes", 1, LONGEST_GRACE)
    calendar = Calendar(terms["period"], terms["time_zone"])
    for name in ("begins", "ends"):
        if not calendar.begins_at(_instant(terms, name)):
            raise unfit(name, f"{name} must be the first instant of a {terms['period']} in {terms['time_zone']}")


def _check_split(split: Any, grace: int) -> dict[str, Any] | None:
    """Return what is published of a campaign's helper: its address, and how long to wait for it. The token is not."""
    if split is None:
        return None
    if not isinstance(split, dict) or split.keys() - {"helper", "token", "wait_minutes"}:
        raise unfit("split", "split must be an object with helper, token and, if wanted, wait_minutes")
    try:
        helper = plain_address(check_text(split.get("helper"), "split.helper", 200), "helper")
    except OptionError as error:
        raise unfit("split.helper", error.message) from None
    wait = check_whole(split.get("wait_minutes", grace), "split.wait_minutes", 0, LONGEST_GRACE)
    return {"helper": helper, "wait_minutes": wait}


def _check_menu(read: CampaignTerms) -> set[str]:
    """Return the menu's ids. Refuse an unusual id, a law that takes long to compute, and reports too large to store."""
    for place, (id, setting) in enumerate(read.menu.items()):
        field = f"menu.settings[{place}]"
        if not _ID.fullmatch(id):
            raise unfit(field, "a setting needs an id of 1 to 32 letters, digits, '_', '.' or '-'")
        try:
            chosen = DeviceSetting.parse(setting)
            if len(chosen.parameters) > chosen.known.quick:
                raise unfit(field, f"more than {chosen.known.quick} parameters: the law takes long to compute")
            check_reach(lattice_noise(setting, read.lattice.unit), read.lattice.ends)
        except SettingError as error:
            raise unfit(field, error.message) from None
    return set(read.menu)
