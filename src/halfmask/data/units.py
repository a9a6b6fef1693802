"""Find the unit of readings, and convert it.

The unit is the one that the caller names; or it is in the column's name, in a row under the header, or in a column of
units. Energy converts to energy, and power to power, by a factor. Power converts to energy by the interval between
readings: kWh = kW x interval / 1 h, if a reading is the mean over its interval.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from halfmask.data.sql import literal
from halfmask.errors import OptionError, ReadingError

HOUR = 3_600_000_000
MONEY = frozenset(("EUR", "USD", "GBP", "CHF", "DKK", "NOK", "SEK"))
FACTORS: Mapping[str, Mapping[str, float]] = {
    "energy": {"Wh": 1.0, "kWh": 1e3, "MWh": 1e6, "GWh": 1e9, "mWh": 1e-3, "J": 1 / 3600, "kJ": 1e3 / 3600}
    | {"MJ": 1e6 / 3600, "GJ": 1e9 / 3600},
    "power": {"W": 1.0, "kW": 1e3, "MW": 1e6, "GW": 1e9, "mW": 1e-3},
    "volume": {"l": 1e-3, "m3": 1.0},
    "temperature": {"°C": 1.0},
    # Units that occur in other columns and are not converted.
    **{unit: {unit: 1.0} for unit in (*sorted(MONEY), "kvar", "kvarh", "kVA", "Hz")},
}
_PREFIXES = {"": "", "kilo": "k", "mega": "M"}
_SPELLED = {"m³": "m3", "cbm": "m3", "litre": "l", "litres": "l", "liter": "l", "degc": "°C", "c": "°C"} | {
    # Energy per hour is power. Energy per interval between readings is energy.
    **{f"{prefix}wh/h": f"{prefix.replace('m', 'M')}W" for prefix in ("", "k", "m")},
    **{f"{p}wh/{part}": f"{p.replace('m', 'M')}Wh" for p in ("", "k", "m") for part in ("hh", "interval")},
    **{f"{long}watt{gap}hours": f"{short}Wh" for long, short in _PREFIXES.items() for gap in ("", "-")},
}
_EXACT = {unit: (kind, unit) for kind, units in FACTORS.items() for unit in units}
_KNOWN = {
    **{unit.lower(): found for unit, found in _EXACT.items() if unit not in ("mW", "mWh")},
    **{spelled: _EXACT[unit] for spelled, unit in _SPELLED.items()},
}
_GLUED = re.compile(r"(?<=[a-z])(kWh|MWh|GWh|Wh|kW|MW|GW)$")
NAMES = frozenset({"unit", "units", "uom", "einheit", "unite", "unité", "unidad", "measureunit"}) | {
    "eenheid",
    "unità",
    "unidade",
    "enhet",
    "måleenhed",
    "yksikkö",
    "yksikkötyyppi",
}
"""Names of a column that holds units."""


@dataclass(frozen=True)
class Wanted:
    """The option ``unit``, parsed.

    ``source``  the unit of the values in the source
    ``kept``    the unit to convert them to
    """

    source: str | None
    kept: str | None

    @classmethod
    def parse(cls, text: str | None) -> "Wanted":
        """Parse ``kWh`` or, for a conversion, ``Wh:kWh``."""
        if text is None:
            return cls(None, None)
        source, colon, kept = (part.strip() for part in text.partition(":"))
        if not source or (colon and not kept):
            raise OptionError(f"`unit` {text!r} names no unit: write kWh, or Wh:kWh for from and into")
        if colon and factor(source, kept) is None:
            raise OptionError(f"`unit` {text!r}: {source} does not convert into {kept} by a factor")
        return cls(usual_unit(source), usual_unit(kept) if colon else None)


def _known(unit: str) -> tuple[str, str]:
    """Return the quantity and the usual spelling of a unit. If it is unknown, the quantity is empty.

    Upper and lower case distinguish mega from milli.
    """
    plain = unit.strip().strip("[]()").strip()
    return _EXACT.get(plain) or _KNOWN.get(plain.lower()) or ("", plain)


def usual_unit(unit: str) -> str:
    """Return the usual spelling of a unit; an unknown unit is returned unchanged."""
    return _known(unit)[1]


def factor(source: str, kept: str, step: int | None = None) -> float | None:
    """Return the factor that converts one unit to another; None if there is none.

    ``step``  the interval between readings in microseconds, which is needed to convert power to energy
    """
    (kind, a), (into, b) = _known(source), _known(kept)
    if a == b:
        return 1.0
    if kind and kind == into:
        return FACTORS[kind][a] / FACTORS[kind][b]
    if kind == "power" and into == "energy" and step:
        return FACTORS[kind][a] / FACTORS[into][b] * step / HOUR
    return None


def unit_in_name(name: str) -> str | None:
    """Return the unit in a column's name (at its end, in brackets, or the only one): ``energy_wh``, ``kWh/hh``; else
    None.

    A name with money and another unit is a price, which has no known unit: ``price_eur_mwh``.
    """
    units = {usual_unit(word) for word in re.split(r"[^A-Za-z0-9³°]+", name) if is_unit(word)}
    if units & MONEY and len(units) > 1:
        return None
    for inner in re.findall(r"[\[(]([^\])]+)[\])]", name):
        for part in (inner, inner.split()[0] if inner.split() else ""):
            if is_unit(part):
                return usual_unit(part)
    plain = re.sub(r"[\[(][^\])]*[\])]", " ", name).strip()
    last = re.split(r"[^A-Za-z0-9³°/]+", plain)[-1]
    glued = _GLUED.search(last)
    if is_unit(last):
        # A single letter may be anything.
        return usual_unit(last) if len(last) > 1 or last == "W" else None
    if glued:
        return usual_unit(glued[0])
    named = {usual_unit(word) for word in re.split(r"[^A-Za-z0-9³°/]+", plain) if len(word) > 1 and is_unit(word)}
    return named.pop() if len(named) == 1 else None


def is_unit(text: str) -> bool:
    """Return whether a text is a known unit."""
    return bool(_known(text)[0])


def needs_step(found: Mapping[str, int], wanted: Wanted) -> bool:
    """Return whether a conversion needs the interval between readings.

    It does if the column of units and the option ``unit`` together name both power and energy.
    """
    return {"power", "energy"} <= {_known(unit)[0] for unit in (*found, wanted.source or "")}


def kept_unit(
    place: str, found: Mapping[str, int], wanted: Wanted, step: int | None, apart: Callable[[str], str]
) -> str:
    """Return the unit to which the rows of a column of units are converted: the requested one, or the most frequent.

    If power and energy are mixed, it is a unit of energy.

    ``found``  the number of rows with each unit
    ``step``   the interval between readings in microseconds
    ``apart``  makes the query that reads only the rows of one unit, for error messages
    """
    blank = found.get("", 0)
    named = {unit: count for unit, count in found.items() if unit}
    if not named:
        raise ReadingError(
            f"{place}: there is no unit in it; say `unit=kWh`, or what they are in", kind="unit", place=place
        )
    if blank:
        raise ReadingError(
            f"{place}: {blank:,} rows have no unit, the others {_listed(named)}; "
            + (f"say `unit={usual_unit(next(iter(named)))}` where all are, or " if len(named) == 1 else "")
            + f"read the others alone, {' or '.join(map(apart, named))}",
            kind="unit",
            place=place,
        )
    kept = wanted.kept or wanted.source
    if kept is None:
        energy = {unit: n for unit, n in named.items() if _known(unit)[0] == "energy"}
        among = energy or named
        kept = usual_unit(max(among, key=lambda unit: (among[unit], unit.lower() == "kwh")))
    odd = [unit for unit in named if factor(unit, kept, step) is None]
    if odd:
        raise ReadingError(
            f"{place}: {odd[0]!r} does not convert into {kept} ({_listed(named)}); read the kinds apart, "
            f"{' or '.join(map(apart, named))}",
            kind="units",
            place=place,
        )
    return kept


def _listed(named: Mapping[str, int]) -> str:
    return ", ".join(f"{unit} {count:,} rows" for unit, count in sorted(named.items()))


def conversion(column: str, found: Mapping[str, int], kept: str, step: int | None) -> str:
    """Return an SQL expression for the factor from each row's unit to the unit ``kept``; null for an unknown unit."""
    cases = " ".join(
        f"WHEN {literal(unit)} THEN {factor(unit, kept, step)!r}" for unit in found if factor(unit, kept, step)
    )
    return f"CAST(CASE trim({column}) {cases} END AS DOUBLE)"
