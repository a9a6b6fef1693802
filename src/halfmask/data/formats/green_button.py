"""Read Green Button files: XML feeds of the Energy Services Provider Interface (NAESB REQ.21).

A feed has entries for meters (UsagePoint), series (MeterReading), kinds of series (ReadingType), blocks of readings
(IntervalBlock) and clocks (LocalTimeParameters), connected by links. A reading is its value times ten to the power of
the multiplier of its kind. Its time is in seconds since 1970, and the clock's offsets convert it to local time.
For safety, documents with a DOCTYPE are refused, so that entities are not expanded. The depth of elements and the
length of their texts are limited.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree.ElementTree import ParseError, XMLParser

import pyarrow as pa

from halfmask.data.encodings import opened
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.formats._converted import Row, open_converted
from halfmask.errors import SourceError

SCHEMA = pa.schema(
    [(name, pa.float64() if name == "value" else pa.string()) for name in ("meter", "channel", "time", "value", "unit")]
)
_NAMESPACE = b"naesb.org/espi"
_SEARCHED = 1 << 16
_DEPTH, _TEXT = 32, 4096
_PIECE = 1 << 20
_UNITS = {
    "5": "A", "29": "V", "31": "J", "33": "Hz", "38": "W", "42": "m3", "61": "VA", "63": "var", "71": "VAh",
    "72": "Wh", "73": "varh", "106": "Ah", "119": "ft3", "128": "US gal", "130": "imp gal", "132": "Btu", "134": "l",
    "169": "therm",
}  # fmt: skip
_COMMODITIES = {"1": "electricity", "2": "electricity", "7": "gas", "9": "water"}
_CLOCK = ("tzOffset", "dstOffset", "dstStartRule", "dstEndRule")
_FLOWS = {"1": "taken", "4": "net", "19": "fed in", "20": "total"}
_KEPT = frozenset(("flowDirection", "commodity", "intervalLength", "powerOfTenMultiplier", "uom", *_CLOCK))
"""The elements of ReadingType and LocalTimeParameters that are used."""
Properties = dict[str, str]


class GreenButton(Format):
    """Green Button feeds; any other XML is refused."""

    kind = "Green Button (ESPI)"
    extensions = (".xml",)

    def sniff(self, file: str, head: bytes) -> bool:
        if b"<" not in head[:4]:
            return False
        with open(file, "rb") as stream:
            return _NAMESPACE in stream.read(_SEARCHED)

    def open(self, asked: OpenRequest) -> DuckDBTable:
        return open_converted(asked, SCHEMA, _rows)


@dataclass
class _Entry:
    """One entry of a feed: its links by relation, its properties, and its readings as pairs of second and value."""

    links: dict[str, list[str]] = field(default_factory=dict)
    kind: str = ""
    properties: Properties = field(default_factory=dict)
    readings: list[tuple[int, int]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the entry's own address."""
        return (self.links.get("self") or [""])[0].rstrip("/")

    def related(self) -> set[str]:
        return {link.rstrip("/") for link in self.links.get("related", ())}


class _Entries:
    """Collects the entries of a feed from the events of an XML parser."""

    def __init__(self) -> None:
        self.entries: list[_Entry] = []
        self._path: list[str] = []
        self._text: list[str] = []
        self._reading: Properties = {}

    def start(self, tag: str, attributes: Properties) -> None:
        name = tag.rpartition("}")[2]
        self._path.append(name)
        self._text = []
        if len(self._path) > _DEPTH:
            raise ValueError(f"more than {_DEPTH} elements within each other")
        if name == "entry" or not self.entries:
            self.entries.append(_Entry())
        entry = self.entries[-1]
        if name == "link":
            entry.links.setdefault(attributes.get("rel", ""), []).append(attributes.get("href", ""))
        elif name in _PARTS:
            entry.kind = name
        elif name == "IntervalReading":
            self._reading = {}

    def data(self, text: str) -> None:
        if sum(map(len, self._text)) + len(text) > _TEXT:
            raise ValueError(f"a text of more than {_TEXT} signs")
        self._text.append(text)

    def end(self, _: str) -> None:
        name, entry = self._path.pop(), self.entries[-1]
        if "IntervalReading" in self._path:
            if name in ("start", "value"):
                self._reading[name] = "".join(self._text)
        elif name == "IntervalReading" and "value" in self._reading:
            entry.readings.append((int(self._reading["start"]), int(self._reading["value"])))
        elif name in _KEPT:
            entry.properties[name] = "".join(self._text).strip()
        self._text = []

    def doctype(self, *_: object) -> None:
        raise ValueError("a DOCTYPE, which no such feed has")


_PARTS = frozenset(("UsagePoint", "MeterReading", "ReadingType", "IntervalBlock", "LocalTimeParameters"))


def _rows(file: str) -> Iterator[Row]:
    found = _Entries()
    parser = XMLParser(target=found)
    try:
        with opened(file) as stream:
            while piece := stream.read(_PIECE):
                parser.feed(piece)
        parser.close()
        feed = _Feed(file, found.entries)
    except (ParseError, ValueError, KeyError, OSError, EOFError) as error:
        raise SourceError(
            f"{file}: not a Green Button feed that can be read ({error}); fetch the export again",
            kind="damaged",
            place=file,
        ) from error
    for block in feed.of_kind("IntervalBlock"):
        yield from feed.readings(block)


class _Feed:
    """The entries of a feed, indexed by kind and address."""

    def __init__(self, file: str, entries: list[_Entry]) -> None:
        self.file, self._entries = file, entries
        self._types = {each.name: each for each in self.of_kind("ReadingType")}
        self._series = {each.name: each for each in self.of_kind("MeterReading")}
        self._points = {each.name: each for each in self.of_kind("UsagePoint")}
        self._clocks = {each.name: each for each in self.of_kind("LocalTimeParameters")}

    def of_kind(self, kind: str) -> list[_Entry]:
        return [each for each in self._entries if each.kind == kind]

    def readings(self, block: _Entry) -> Iterator[Row]:
        """Yield the rows of an IntervalBlock."""
        series = block.name.partition("/IntervalBlock")[0]
        kind = self._only(self._types, self._series.get(series), "ReadingType").properties
        point = series.partition("/MeterReading")[0]
        clock = _clock_of(self._clock(self._points.get(point)))
        power = int(kind.get("powerOfTenMultiplier") or 0)
        unit = _UNITS.get(kind.get("uom", ""), "")
        meter, channel = _meter(point) or Path(self.file).stem, _channel(kind)
        for second, value in block.readings:
            yield meter, channel, clock(second), value * 10.0**power if power >= 0 else value / 10.0**-power, unit

    def _only(self, known: dict[str, _Entry], owner: _Entry | None, kind: str) -> _Entry:
        """Return the one entry in ``known`` to which ``owner`` links. Without such a link, return the only entry."""
        linked = [known[name] for name in (owner.related() if owner else ()) if name in known]
        if len(linked) != 1 and len(known) != 1:
            raise SourceError(
                f"{self.file}: a block of readings belongs to no {kind}, so its unit is not known; fetch the export "
                "again, whole",
                kind="incomplete",
                place=self.file,
            )
        return (linked or list(known.values()))[0]

    def _clock(self, point: _Entry | None) -> Properties:
        alike = {tuple(sorted(each.properties.items())) for each in self._clocks.values()}
        if not alike:
            return {}
        return (
            dict(alike.pop()) if len(alike) == 1 else self._only(self._clocks, point, "LocalTimeParameters").properties
        )


def _meter(point: str) -> str:
    """Return the numbers in a meter's address: 5/01 for .../Subscription/5/UsagePoint/01."""
    parts = point.partition("/resource/")[2].split("/") if "/resource/" in point else point.split("/")[-4:]
    return "/".join(parts[1::2]) if len(parts) % 2 == 0 else parts[-1]


def _channel(kind: Properties) -> str:
    """Describe a series in words, such as "electricity taken every 900 s"."""
    words = [_COMMODITIES.get(kind.get("commodity", ""), ""), _FLOWS.get(kind.get("flowDirection", ""), "")]
    if (length := kind.get("intervalLength", "0")) != "0":
        words.append(f"every {length} s")
    return " ".join(filter(None, words))


def _clock_of(properties: Properties) -> Callable[[int], str]:
    """Return a function that converts seconds since 1970 to local time with its offset (UTC if no clock is known)."""
    if "tzOffset" not in properties:
        return lambda second: datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    offset, more = int(properties["tzOffset"]), int(properties.get("dstOffset") or 0)
    rules = [int(properties.get(name) or "0", 16) for name in ("dstStartRule", "dstEndRule")]
    summers: dict[int, tuple[int, int]] = {}

    def written(second: int) -> str:
        standard = datetime.fromtimestamp(second + offset, UTC)
        now = offset
        if more and all(rules):
            if standard.year not in summers:
                first, last = (_moment(rule, standard.year) for rule in rules)
                summers[standard.year] = first, last - more  # the end is by the clock of summer
            first, last = summers[standard.year]
            local = second + offset
            now += more * (first <= local < last if first < last else not last <= local < first)
        wall = datetime.fromtimestamp(second + now, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{wall}{'-' if now < 0 else '+'}{abs(now) // 3600:02}:{abs(now) // 60 % 60:02}"

    return written


def _moment(rule: int, year: int) -> int:
    """Return when an ESPI rule changes the clock in a year, in seconds of the wall clock.

    The rule is a bit field. From the lowest bit:
    12 bits  seconds
    5 bits   hours
    3 bits   day of the week (1 = Monday)
    5 bits   day of the month
    3 bits   which day (0: the date itself, 1: the weekday on or after it, 2 to 6: first to fifth weekday, 7: last
    weekday)
    4 bits   month
    """
    seconds, hours, weekday = rule & 0xFFF, rule >> 12 & 0x1F, rule >> 17 & 0x7
    day, which, month = rule >> 20 & 0x1F, rule >> 25 & 0x7, rule >> 28 & 0xF
    if which == 7:
        last = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC) - timedelta(days=1)
        found = last - timedelta(days=(last.isoweekday() - weekday) % 7)
    else:
        found = datetime(year, month, max(day, 1) if which < 2 else 7 * (which - 2) + 1, tzinfo=UTC)
        if which and weekday:
            found += timedelta(days=(weekday - found.isoweekday()) % 7)
    return int(found.timestamp()) + hours * 3600 + seconds
