"""Messages between device and service: campaign terms and their hash, results of reports, and cells of aggregates.

Messages are JSON, as specified in `docs/protocol.md`. Each class has a strict parser ``read``. Errors name the field
and never repeat a value. Service and device use the same classes, so that they agree.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from halfmask_device.canonical import content_hash
from halfmask_device.epsilon_bound import composed_epsilon
from halfmask_device.errors import HalfmaskError, InputError
from halfmask_device.instants import Instant, parse_instant
from halfmask_device.lattice import Lattice
from halfmask_device.setting import READING, SPLIT, TOTAL, DeviceSetting, law
from halfmask_device.signed_offer import SIGNED, SignedOffer, signature_of

MOST_SETTINGS = 100
MOST_WRITTEN = 10_000
"""Largest number of settings on a menu, and of characters in one setting; a tabulated law is long."""
MOST_READINGS = 10**9
"""Largest allowed number of readings that a campaign expects in a period."""
MOST_STEPS = 2**32
"""The lattice of a split total must have fewer steps than this."""
WIDEST_NOISE = 2**40
"""The largest standard deviation of a split setting's noise, in steps."""
SPLIT_DELTA = 1e-6
"""The delta at which a split setting must have a finite epsilon."""
_DECIMAL = re.compile(r"-?(0|[1-9]\d{0,29})(\.\d{1,30})?", re.ASCII)

Status = Literal["accepted", "known", "refused"]


class MessageError(InputError):
    """A message does not follow the protocol.

    ``field``  the invalid part
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}", field=field)
        self.field = field


def read_instant(text: object, field: str = "time") -> Instant:
    """Parse an RFC 3339 time with an offset."""
    found = parse_instant(text) if isinstance(text, str) else None
    if found is None:
        raise MessageError(field, "is not an RFC 3339 time with an offset, like 2026-11-16T00:30:00Z")
    return found


@dataclass(frozen=True)
class ReportResult:
    """A service's answer to one report. Any status except ``refused`` is a receipt."""

    status: Status
    code: str | None = None
    reward: int | None = None

    def plain(self) -> dict[str, Any]:
        pairs = {"status": self.status, "code": self.code, "reward": self.reward}
        return {name: value for name, value in pairs.items() if value is not None}

    @classmethod
    def read(cls, plain: object) -> "ReportResult":
        body = _object(plain, "result")
        status, code, reward = body.get("status"), body.get("code"), body.get("reward")
        if status not in ("accepted", "known", "refused"):
            raise MessageError("status", "is not accepted, known or refused")
        if code is not None and not isinstance(code, str):
            raise MessageError("code", "is not text")
        return cls(status, code, reward if isinstance(reward, int) else None)


class Cell(NamedTuple):
    """Totals of the reports with one setting, in steps: reports, producers, sum and sum of squares.

    It is the mergeable part of an aggregate. All numbers are integers, so addition is exact in any order. ``Cell()`` is
    neutral.
    """

    reports: int = 0
    producers: int = 0
    sum: int = 0
    squares: int = 0

    def merge(self, other: "Cell") -> "Cell":
        """Return the totals of two disjoint sets of reports.

        Numbers of producers are added too, so each producer must be counted in one cell only: that of its first report.
        """
        return Cell(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    @property
    def possible(self) -> bool:
        """Whether some integers have these totals.

        Required are sum^2 <= reports * squares (Cauchy-Schwarz), |sum| <= squares (since |x| <= x^2), and equal parity
        of sum and squares (as of x and x^2). There may be reports without a producer, but not more producers than
        reports.
        """
        return (
            0 <= self.producers <= self.reports
            and self.sum**2 <= self.reports * self.squares
            and abs(self.sum) <= self.squares
            and (self.squares - self.sum) % 2 == 0
        )


@dataclass(frozen=True)
class CampaignTerms:
    """A consumer's offer of a campaign.

    ``menu``               maps ids to settings
    ``least_producers``    smallest number of producers for which anything is published
    ``begins``, ``ends``   instants; not part of the terms
    ``release``            whether devices mask each "reading" or the "total" of each period
    ``readings_expected``  number of readings of a device in a period; None if not stated
    ``groups``             groups with separate totals; each producer is in one of them
    ``offer``              the whole offer as it was read

    `terms` cannot change for producers who joined: a device stores their hash, `terms_hash`.
    """

    lattice: Lattice
    menu: Mapping[str, str]
    unit: str
    period: str
    time_zone: str
    purpose: str
    least_producers: int
    keep_reports: str
    live: bool
    begins: int
    ends: int
    release: str = READING
    readings_expected: int | None = None
    groups: tuple[str, ...] = ()
    offer: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def read(cls, plain: object) -> "CampaignTerms":
        """Parse an offer. The terms are checked strictly; other fields are only kept in ``offer``."""
        body = _object(plain, "campaign")
        least = body.get("least_producers")
        if not isinstance(least, int) or isinstance(least, bool) or least < 1:
            raise MessageError("least_producers", "is not a whole number above 0")
        live, keep = body.get("live", False), body.get("keep_reports")
        if not isinstance(live, bool):
            raise MessageError("live", "is neither true nor false")
        if keep not in ("until_closed", "always"):
            raise MessageError("keep_reports", "is neither until_closed nor always")
        begins, ends = (read_instant(body.get(name), name) for name in ("begins", "ends"))
        if begins >= ends:
            raise MessageError("ends", "is not after begins")
        lattice = _lattice(body.get("lattice"))
        words = {name: _text(body, name) for name in ("unit", "period", "time_zone", "purpose")}
        release, expected = _release(body)
        menu = _menu(body.get("menu"), lattice, release)
        try:
            signature_of(body["menu"])
        except ValueError as error:
            raise MessageError(f"menu.{SIGNED}", str(error)) from error
        _check_split(body, [text for text in menu.values() if is_split(text)], lattice)
        return cls(
            lattice, menu, **words, least_producers=least, keep_reports=keep, live=live, begins=begins, ends=ends,
            release=release, readings_expected=expected, groups=_groups(body), offer=body,
        )  # fmt: skip

    @cached_property
    def split_id(self) -> str | None:
        """The id of the setting that splits totals between two services; None if the menu has none."""
        return next((id for id, text in self.menu.items() if is_split(text)), None)

    def terms(self) -> dict[str, Any]:
        """Return the terms in canonical form: parsed settings, and decimals with the digits of the step.

        Some fields are present only if they apply: the release (for totals), the helper and its terms (for a split
        setting), and the hash (for a signed offer).
        """
        signed = {SIGNED: self.signature.hash} if self.signature else {}
        lattice = {"step": self.lattice.step, "low": self.lattice.low, "high": self.lattice.high}
        totals = {"release": self.release, "readings_expected": self.readings_expected}
        split = {"split": {name: self.offer["split"].get(name) for name in SPLIT_FIELDS}} if self.split_id else {}
        groups = {"groups": list(self.groups)} if self.groups else {}
        return (
            split
            | signed
            | groups
            | (totals if self.release == TOTAL else {})
            | {
                "keep_reports": self.keep_reports,
                "lattice": lattice,
                "least_producers": self.least_producers,
                "live": self.live,
                "menu": dict(self.menu),
                "period": self.period,
                "purpose": self.purpose,
                "time_zone": self.time_zone,
                "unit": self.unit,
            }
        )

    def terms_hash(self) -> str:
        """Return the SHA-256 of the canonical JSON of `terms`, in hexadecimal."""
        return content_hash(self.terms())

    @property
    def signature(self) -> SignedOffer | None:
        """The signature of the offer that is the menu; None without one."""
        return signature_of(self.offer["menu"])


def _object(plain: object, place: str) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise MessageError(place, "is not a JSON object")
    return plain


def _text(body: Mapping[str, Any], name: str, place: str = "", longest: int = 2000) -> str:
    value, field = body.get(name), f"{place}.{name}" if place else name
    if not isinstance(value, str) or not value.strip() or len(value) > longest:
        raise MessageError(field, f"is missing, empty or not text of at most {longest:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # a lone surrogate cannot be hashed, stored or sent
        raise MessageError(field, "is not valid Unicode text") from error
    return value


def _lattice(plain: object) -> Lattice:
    body = _object(plain, "lattice")
    texts = [body.get(name) for name in ("step", "low", "high")]
    if not all(isinstance(text, str) and _DECIMAL.fullmatch(text) for text in texts):
        raise MessageError("lattice", 'needs step, low and high as decimal text, like "0.001"')
    try:
        return _same_lattice(*texts)
    except HalfmaskError as error:
        raise MessageError("lattice", "needs a step above 0 and low below high, both multiples of it") from error


@lru_cache(maxsize=64)
def _same_lattice(step: str, low: str, high: str) -> Lattice:
    """Return the lattice of these texts. It is cached, because an offer is parsed again before every sending."""
    return Lattice(step, low, high)


def _release(body: Mapping[str, Any]) -> tuple[str, int | None]:
    """Return what a campaign's devices mask, and the number of readings per period (required for totals)."""
    release, expected = body.get("release", READING), body.get("readings_expected")
    if release not in (READING, TOTAL):
        raise MessageError("release", f"is neither {READING} nor {TOTAL}")
    if expected is not None and (type(expected) is not int or not 1 <= expected <= MOST_READINGS):
        raise MessageError("readings_expected", f"is not a whole number from 1 to {MOST_READINGS}")
    if expected is None and release == TOTAL:
        raise MessageError("readings_expected", "is missing: say how many readings a device has in a period, like 48")
    return release, expected


def _groups(body: Mapping[str, Any]) -> tuple[str, ...]:
    found = body.get("groups") or []
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise MessageError("groups", "is not a list of names")
    return tuple(found)


def _menu(plain: object, lattice: Lattice, release: str) -> dict[str, str]:
    """Return the settings by id.

    Each must have the campaign's release, and noise that a device can draw on the lattice.
    """
    entries = _object(plain, "menu").get("settings")
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_SETTINGS:
        raise MessageError("menu", f"needs a list of 1 to {MOST_SETTINGS} settings")
    menu: dict[str, str] = {}
    for number, entry in enumerate(entries):
        place = f"menu.settings[{number}]"
        body = _object(entry, place)
        id, written = _text(body, "id", place, 32), _text(body, "setting", place, MOST_WRITTEN)
        if id in menu:
            raise MessageError(place, "has an id that stands above already")
        try:
            setting = DeviceSetting.parse(written)
            law(setting, lattice.unit)
        except HalfmaskError as error:
            raise MessageError(place, "is a setting whose noise a device cannot draw on this lattice") from error
        if setting.release != release and (setting.release, release) != (SPLIT, TOTAL):
            raise MessageError(
                place, f"masks each {setting.release}, but the campaign's release is {release}: they must be the same"
            )
        menu[id] = setting.text
    return menu


SPLIT_FIELDS = ("helper", "campaign", "terms")
"""The published fields of a split setting: the helper's address, the campaign's id there, and the common terms."""


@lru_cache(maxsize=256)
def is_split(setting: str) -> bool:
    """Return whether a setting splits totals between two services."""
    return DeviceSetting.parse(setting).release == SPLIT


def _check_split(body: Mapping[str, Any], settings: list[str], lattice: Lattice) -> None:
    """Raise a MessageError unless there is at most one split setting, which two services can add up on this lattice."""
    if not settings:
        if body.get("split") is not None:
            raise MessageError("split", "is given, but no setting of the menu ends in @split")
        return
    if len(settings) > 1:
        raise MessageError("menu", "has more than one split setting: keep one of them")
    if body.get("groups"):
        raise MessageError("groups", "cannot be formed in a campaign with a split setting")
    _text(_object(body.get("split"), "split"), "helper", "split")
    width = lattice.ends[1] - lattice.ends[0]
    if width >= MOST_STEPS:
        raise MessageError("lattice", f"has {width:,} steps, and a split total at most {MOST_STEPS - 1:,}")
    plain = DeviceSetting.parse(settings[0])
    if law(plain, lattice.unit).variance > WIDEST_NOISE**2:
        raise MessageError("menu", "has a split setting whose noise is wider than 2^40 steps: take a coarser step")
    change = lattice.text(width)
    if composed_epsilon({(settings[0], lattice.step, change): 1}, SPLIT_DELTA) == math.inf:
        raise MessageError("menu", "has a split setting without a finite epsilon: take laplace or gaussian")
