"""Read telegrams from a smart meter's P1 port (DSMR 4 and later), as loggers in Dutch and Belgian homes write them.

A telegram begins with a line ``/...`` and ends with ``!``. Each line holds one number, named by its OBIS code. Energy
is counted per tariff, and the tariffs are added up: 1.8.* is taken from the grid, 2.8.* fed into it. Gas, heat and
water have meters of their own, each with the time of its last state.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from io import TextIOWrapper

import pyarrow as pa

from halfmask.data.encodings import opened
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.formats._converted import Row, open_converted
from halfmask.errors import ReadingError

SCHEMA = pa.schema(
    [(name, pa.float64() if name == "value" else pa.string()) for name in ("meter", "channel", "time", "value", "unit")]
)
_BEGINS = re.compile(rb"/[A-Za-z0-9]{3}[0-9]")
_LINE = re.compile(r"(\d-\d+):(\d+\.\d+)\.(\d+)((?:\([^()]*\))+)\s*")
_NUMBER = re.compile(r"([0-9.]+)\*(\w+)")
_OFFSETS = {"W": "+01:00", "S": "+02:00"}
_KINDS = {"3": "gas", "4": "heat", "7": "water"}
_CHANNELS = {"1.8": "taken", "2.8": "fed in"}


class Dsmr(Format):
    """Files of consecutive telegrams."""

    kind = "telegrams of a meter's P1 port"
    extensions = (".dsmr", ".p1", ".telegram")

    def sniff(self, file: str, head: bytes) -> bool:  # noqa: ARG002
        return _BEGINS.match(head.lstrip()) is not None

    def open(self, asked: OpenRequest) -> DuckDBTable:
        return open_converted(asked, SCHEMA, _rows)


def _rows(file: str) -> Iterator[Row]:
    """Yield the meter states of all telegrams. A channel whose states are all zero is left out."""
    counting = {row[:2] for row in _all_states(file) if row[3]}
    last: dict[Row, object] = {}
    for row in _all_states(file):
        if row[:2] in counting and last.get(row[:2]) != row[2]:  # gas has a new state only every hour
            last[row[:2]] = row[2]
            yield row


def _all_states(file: str) -> Iterator[Row]:
    for line, telegram in _telegrams(file):
        try:
            yield from _states(telegram)
        except (ValueError, KeyError) as error:
            raise ReadingError(
                f"{file}, line {line}: a telegram without a readable time (0-0:1.0.0) or number ({error}); mend or "
                "drop it; telegrams before DSMR 4 have no time, so write theirs as CSV",
                kind="record",
                place=f"{file}, line {line}",
            ) from error


def _telegrams(file: str) -> Iterator[tuple[int, list[str]]]:
    """Yield complete telegrams, each with the number of its first line. Truncated telegrams are skipped."""
    lines: list[str] | None = None
    begins = 0
    with opened(file) as stream, TextIOWrapper(stream, encoding="latin-1") as lines_of_file:
        for number, line in enumerate(lines_of_file, 1):
            if line.startswith("/"):
                lines, begins = [], number
            elif line.startswith("!") and lines is not None:
                yield begins, lines
                lines = None
            elif lines is not None:
                lines.append(line)


def _states(telegram: list[str]) -> Iterator[Row]:
    """Yield one row per channel: meter, channel, time with its offset, state and unit."""
    codes: dict[tuple[str, str], dict[str, list[str]]] = {}
    for line in telegram:
        if (match := _LINE.fullmatch(line)) is not None:
            device, what, last, cells = match.groups()
            codes.setdefault((device, what), {})[last] = re.findall(r"\(([^()]*)\)", cells)
    (time,) = codes["0-0", "1.0"]["0"]
    for what, channel in _CHANNELS.items():
        tariffs = codes.get(("1-0", what), {})
        states = {last: _state(cells[0]) for last, cells in tariffs.items()}
        if states:
            of_tariffs = [state for last, (state, _) in states.items() if last != "0"]
            total = round(sum(of_tariffs), 3) if of_tariffs else states["0"][0]
            yield _name(codes, "0-0"), channel, _time(time), total, next(iter(states.values()))[1]
    for (device, what), cells in codes.items():
        if what == "24.2" and len(cells.get("1", ())) == 2:
            moment, state = cells["1"]
            kind = _KINDS.get(codes.get((device, "24.1"), {}).get("0", [""])[0].lstrip("0"), "other")
            yield (_name(codes, device), kind, _time(moment), *_state(state))


def _state(cell: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(cell)
    if match is None:
        raise ValueError("a number without a unit")
    return float(match[1]), match[2]


def _time(cell: str) -> str:
    """Return a telegram's time in ISO form. Its last letter is W for winter time or S for summer time."""
    return datetime.strptime(cell[:12], "%y%m%d%H%M%S").isoformat() + _OFFSETS[cell[12:]]


def _name(codes: dict[tuple[str, str], dict[str, list[str]]], device: str) -> str:
    """Return the meter's equipment number, which telegrams write in hexadecimal. If it has none, return ``device``."""
    cells = codes.get((device, "96.1"), {})
    (text,) = cells.get("1") or cells.get("0") or [""]
    try:
        return bytes.fromhex(text).decode("ascii") or device
    except ValueError:
        return text
