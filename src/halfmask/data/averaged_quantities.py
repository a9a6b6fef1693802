"""Recognise quantities that must be averaged, because their sum has no meaning.

Energy, counts and flows can be summed over time and users. Temperatures and other states cannot. The unit shows which
kind a quantity is. If the unit is not known, the column's name is used.
"""

import re
from collections.abc import Sequence

from halfmask.data.columns import words
from halfmask.data.units import MONEY, is_unit

_UNITS = {
    "temperatures": "°C °F K celsius fahrenheit kelvin degf",
    "voltages": "V mV kV volt volts",
    "percentages": "% %RH percent pct",
    "pressures": "Pa hPa kPa mbar bar mmHg psi",
    "frequencies": "Hz",
    "concentrations": "ppm ppb µg/m3 µg/m³ ug/m3 mg/m3 mg/m³ mg/dL mmol/L",
    "speeds": "m/s km/h mph",
    "levels": "dB dBA lx lux pH bpm",
}
_WORDS = {
    "temperatures": "temperature temperatures temp temperatur température temperatura temperatuur lämpötila",
    "voltages": "voltage spannung spanning tensione",
    "percentages": "humidity luftfeuchte feuchte humidité humedad percent percentage pct soc",
    "pressures": "pressure druck luftdruck pression presión pressione",
    "frequencies": "frequency frequenz",
    "concentrations": "concentration konzentration",
    "prices": "price prices preis prix precio prezzo prijs",
    "speeds": "speed windspeed",
    "levels": "level pegel niveau nivel livello brightness illuminance loudness",
}
_OF_UNIT = {unit: quantity for quantity, units in _UNITS.items() for unit in units.split()}
_OF_WORD = {word: quantity for quantity, named in _WORDS.items() for word in named.split()}
_PRICE = re.compile(rf"(?:{'|'.join(sorted(MONEY))}|ct|cent|[€$£]) ?/.+", re.IGNORECASE)


def state_of(unit: str | None, names: Sequence[str]) -> str | None:
    """Return the kind of state that readings measure, such as temperatures; None if they can be summed or it is not
    known.

    ``unit``   the unit of the readings; it is used first
    ``names``  the columns of readings; without a known unit, all names must show the same state
    """
    if unit and (found := _of_unit(unit)):
        return found
    if unit and is_unit(unit):
        return None
    said = {_of_name(name) for name in names}
    return said.pop() if len(said) == 1 else None


def quantity_named(sensor: str) -> str | None:
    """Return the quantity that a sensor's name shows: a state, power or energy; None if it shows none."""
    spoken = set(words(sensor))
    return _of_name(sensor) or next((each for each in ("power", "energy") if each in spoken), None)


def _of_unit(unit: str) -> str | None:
    plain = unit.strip()
    return "prices" if _PRICE.fullmatch(plain) else _OF_UNIT.get(plain) or _OF_UNIT.get(plain.lower())


def _of_name(name: str) -> str | None:
    """Return the state that a column's name shows, by a unit in brackets or by its last word that names a state; else
    None.
    """
    for inner in re.findall(r"[\[(]([^\])]+)[\])]", name):
        if found := _of_unit(inner):
            return found
    return next((_OF_WORD[word] for word in reversed(words(name)) if word in _OF_WORD), None)
