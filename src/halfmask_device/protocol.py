"""What passes between device and service: campaigns with the hash of their terms, reports, results, cells, instants.

Wire forms are JSON as `docs/protocol.md` says; each class reads its own (`read`, strict; errors name the field and
never repeat a value) and writes it (`plain`). Service and device share these classes, so that neither can drift.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from halfmask_device.errors import HalfmaskError, InputError
from halfmask_device.lattice import Lattice
from halfmask_device.laws import Law, law
from halfmask_device.setting import DeviceSetting

IMPLAUSIBLE = 1e-12
MOST_REPORTS = 10_000
MOST_STEPS = 2**63
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,18}))?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DECIMAL = re.compile(r"-?(0|[1-9]\d{0,29})(\.\d{1,30})?", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

Status = Literal["accepted", "known", "refused"]
CODES = (
    *("malformed", "unknown_setting", "outside_campaign", "future", "conflict", "closed", "implausible"),
    "budget_spent",
)


class MessageError(InputError):
    """A message does not keep to the protocol; ``field`` says where."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}", field=field)
        self.field = field


def instant(text: object, field: str = "time") -> int:
    """Microseconds since 1970 of an RFC 3339 time with an offset; digits beyond the microsecond are cut off."""
    found = _TIME.fullmatch(text) if isinstance(text, str) and len(text) < 60 else None
    if found is None:
        raise MessageError(field, "is no RFC 3339 time with an offset, like 2026-11-16T00:30:00Z")
    day, clock, fraction, offset = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}.{(fraction or '')[:6]:0<6}{offset.upper()}")
        return (moment - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError) as error:
        raise MessageError(field, "is no time that exists") from error


def instant_text(microseconds: int) -> str:
    """An instant as RFC 3339 in UTC, with a fraction only where it has one."""
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat().replace("+00:00", "Z")


@dataclass(frozen=True)
class Report:
    """A masked reading in whole steps of the lattice, and the menu id that masked it."""

    time: str
    steps: int
    setting: str

    def plain(self) -> dict[str, Any]:
        return {"time": self.time, "steps": self.steps, "setting": self.setting}

    @classmethod
    def read(cls, plain: object) -> "Report":
        body = _object(plain, "report")
        steps = body.get("steps")
        if not isinstance(steps, int) or isinstance(steps, bool) or abs(steps) >= MOST_STEPS:
            raise MessageError("steps", "is no whole number of 64 bits")
        instant(body.get("time"))
        return cls(_text(body, "time"), steps, _text(body, "setting"))


@dataclass(frozen=True)
class ReportResult:
    """What a service says of one report; a result of any status but ``refused`` is its receipt."""

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
            raise MessageError("code", "is no text")
        return cls(status, code, reward if isinstance(reward, int) else None)


@dataclass(frozen=True)
class WireCell:
    """The mergeable part of an aggregate, exact in steps. ``Cell()`` is neutral; merging is addition."""

    reports: int = 0
    producers: int = 0
    sum: int = 0
    squares: int = 0

    def merge(self, other: "WireCell") -> "WireCell":
        """Of disjoint reports and producers together; associative and commutative."""
        return WireCell(
            self.reports + other.reports,
            self.producers + other.producers,
            self.sum + other.sum,
            self.squares + other.squares,
        )

    @classmethod
    def of(cls, steps: Iterable[int], producers: int) -> "WireCell":
        """The cell of these reports."""
        values = list(steps)
        return cls(len(values), producers, sum(values), sum(value * value for value in values))

    def plain(self) -> dict[str, int]:
        return {"reports": self.reports, "producers": self.producers, "sum": self.sum, "squares": self.squares}

    @classmethod
    def read(cls, plain: object, place: str = "cell") -> "WireCell":
        body = _object(plain, place)
        numbers = [body.get(name) for name in ("reports", "producers", "sum", "squares")]
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in numbers):
            raise MessageError(place, "needs reports, producers, sum and squares as whole numbers")
        found = cls(*numbers)  # type: ignore[arg-type]
        found._check(place)
        return found

    def _check(self, place: str) -> None:
        """What no reports could add up to: squares >= |sum|, squares * reports >= sum^2 (Cauchy-Schwarz).

        A cell may have reports and no producer: each counts once, under the setting of its first report.
        """
        possible = (
            0 <= self.producers <= self.reports
            and self.squares >= abs(self.sum)
            and self.squares * self.reports >= self.sum**2
            and (self.squares - self.sum) % 2 == 0
        )
        if not possible:
            raise MessageError(place, "holds numbers that no reports add up to")


@dataclass(frozen=True)
class CampaignTerms:
    """A consumer's offer. ``menu`` maps ids to settings; ``offer`` is the whole offer as it was read.

    Its terms are what cannot change under those who joined; a device pins their hash, `terms_hash`.
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
    offer: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def read(cls, plain: object) -> "CampaignTerms":
        """Strict about the terms; whatever else an offer holds is kept in ``offer`` as it is."""
        body = _object(plain, "campaign")
        least = body.get("least_producers")
        if not isinstance(least, int) or isinstance(least, bool) or least < 1:
            raise MessageError("least_producers", "is no whole number above 0")
        live, keep = body.get("live", False), body.get("keep_reports")
        if not isinstance(live, bool):
            raise MessageError("live", "is neither true nor false")
        if keep not in ("until_closed", "always"):
            raise MessageError("keep_reports", "is neither until_closed nor always")
        begins, ends = (instant(body.get(name), name) for name in ("begins", "ends"))
        if begins >= ends:
            raise MessageError("ends", "is not after begins")
        lattice = _lattice(body.get("lattice"))
        words = {name: _text(body, name) for name in ("unit", "period", "time_zone", "purpose")}
        menu = _menu(body.get("menu"), lattice)
        return cls(
            lattice, menu, **words, least_producers=least, keep_reports=keep, live=live, begins=begins, ends=ends,
            offer=body,
        )  # fmt: skip

    def terms(self) -> dict[str, Any]:
        """The terms in canonical form: settings as parsed, decimals with the step's digits."""
        lattice = {"step": self.lattice.step, "low": self.lattice.low, "high": self.lattice.high}
        return {
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

    def terms_hash(self) -> str:
        """SHA-256 of the canonical JSON of `terms`: keys sorted, no spaces, UTF-8; as hexadecimal text."""
        return hashlib.sha256(canonical(self.terms())).hexdigest()

    def law(self, setting: str) -> Law:
        """The lattice law of one of the menu's ids."""
        return law(DeviceSetting.parse(self.menu[setting]), self.lattice.unit)

    def implausible(self, steps: int, setting: str) -> bool:
        """Whether the setting's noise reaches ``steps`` from the nearer end of the range with a chance below 1e-12."""
        low, high = self.lattice.ends
        return max(low - steps, steps - high) > self.law(setting).furthest(IMPLAUSIBLE)


def canonical(plain: object) -> bytes:
    """JSON with sorted keys and no spaces, in UTF-8: the same bytes for the same content."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _object(plain: object, place: str) -> dict[str, Any]:
    if not isinstance(plain, dict):
        raise MessageError(place, "is no JSON object")
    return plain


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value.strip() or len(value) > 2000:
        raise MessageError(name, "is missing, empty or no text of at most 2,000 characters")
    try:
        value.encode()
    except UnicodeEncodeError as error:  # a lone surrogate cannot be hashed, stored or sent
        raise MessageError(name, "is no valid Unicode text") from error
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
    """One lattice for all messages that name it: an offer is read again before every sending."""
    return Lattice(step, low, high)


def _menu(plain: object, lattice: Lattice) -> dict[str, str]:
    """Ids and settings, each of which a device can draw on the lattice."""
    entries = _object(plain, "menu").get("settings")
    if not isinstance(entries, list) or not entries:
        raise MessageError("menu", "has no settings")
    menu: dict[str, str] = {}
    for number, entry in enumerate(entries):
        place = f"menu.settings[{number}]"
        body = _object(entry, place)
        id, written = _text(body, "id"), _text(body, "setting")
        if id in menu:
            raise MessageError(place, "has an id that stands above already")
        try:
            setting = DeviceSetting.parse(written)
            law(setting, lattice.unit)
        except HalfmaskError as error:
            raise MessageError(place, "is a setting whose noise a device cannot draw on this lattice") from error
        menu[id] = setting.text
    return menu
