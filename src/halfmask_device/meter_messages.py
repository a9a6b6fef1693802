"""MQTT messages of meters, which contain the state of a register and its unit.

Tasmota, Shelly, Zigbee2MQTT, DSMR-reader and AIIDA are recognised by topic or field.
"""

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from halfmask_device.errors import OptionError

FIELDS = (
    ("ENERGY.Total", "kWh"),  # Tasmota, tele/NAME/SENSOR
    ("energy", "kWh"),  # Zigbee2MQTT, zigbee2mqtt/NAME
    ("aenergy.total", "Wh"),  # Shelly Gen2 and later, NAME/status/switch:0
    ("total_act", "Wh"),  # Shelly Pro 3EM, NAME/status/emdata:0
    ("1-0:1.8.0", "kWh"),  # AIIDA's raw messages: a list of values by OBIS code
)
"""Fields of JSON messages that contain the state of a register, with its unit."""
NUMBERS = (
    (r"dsmr/(reading|meter-stats)/.*electricity.*", "kWh"),  # DSMR-reader
    (r"shellies/[^/]+/emeter/\d/total", "Wh"),  # Shelly Gen1 with current clamps
    (r"shellies/[^/]+/relay/\d/energy", "Wmin"),  # Shelly Gen1 plugs
)
"""Topics whose messages are only a number, with its unit."""
WATT_HOURS = {"Wmin": Decimal(1) / 60, "Wh": Decimal(1), "kWh": Decimal(1000), "MWh": Decimal(1_000_000)}


@dataclass(frozen=True)
class RegisterField:
    """The place of the register in a meter's messages.

    ``path``  names of nested fields, separated by dots; empty if the message is the number itself
    ``unit``  the register's unit
    """

    path: str
    unit: str

    def read(self, payload: bytes) -> Decimal | None:
        """Return the register's state from a message; None if this message does not contain it."""
        found = _follow(_parsed(payload), self.path)
        if isinstance(found, bool) or not isinstance(found, (int, str, Decimal)):
            return None
        try:
            number = Decimal(found)
        except InvalidOperation:
            return None
        return number if number.is_finite() else None

    def factor(self, unit: str) -> Decimal:
        """Return the factor to another unit. Raise an OptionError if the units measure different quantities."""
        if self.unit == unit:
            return Decimal(1)
        if not {self.unit, unit} <= WATT_HOURS.keys():
            raise OptionError(
                f"the meter counts in {self.unit}, and the campaign asks for {unit}: `unit` says what the meter's is",
                kind="unit",
                field="unit",
            )
        return WATT_HOURS[self.unit] / WATT_HOURS[unit]


def find_register(topic: str, payload: bytes, path: str, unit: str | None) -> RegisterField | None:
    """Return the place of the register in a meter's messages; None if this message does not show it.

    ``path``  the field that the user named, which is tried first
    ``unit``  the unit that the user named; without it, topic or field must show the unit
    """
    plain = _parsed(payload)
    if not isinstance(plain, dict):
        known = next((of for form, of in NUMBERS if re.fullmatch(form, topic)), None)
        found = None if (of := unit or known) is None else RegisterField("", of)
    else:
        known_fields = dict(FIELDS)
        places = [(name, unit or known_fields.get(name)) for name in (path, *known_fields)]
        found = next((RegisterField(name, of) for name, of in places if of and _follow(plain, name) is not None), None)
    return found if found is not None and found.read(payload) is not None else None


def _parsed(payload: bytes) -> Any:
    """Parse a JSON message with exact numbers; return None if it is not JSON."""
    try:
        plain = json.loads(payload, parse_float=Decimal, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    values = plain.get("values") if isinstance(plain, dict) else None
    for each in values if isinstance(values, list) else ():  # of AIIDA: OBIS codes and values side by side
        if isinstance(each, dict) and isinstance(each.get("dataTag"), str):
            plain[each["dataTag"]] = each.get("value")
    return plain


def _follow(plain: Any, path: str) -> Any:
    if isinstance(plain, dict) and path in plain:
        return plain[path]
    for name in path.split(".") if path else ():
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain
