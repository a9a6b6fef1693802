"""The terms under which a device shares: setting, lattice, columns and menu. They are sealed in its ``terms.json``."""

import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from halfmask_device.campaign_calendar import KINDS, Calendar
from halfmask_device.device_state import TERMS as FILE
from halfmask_device.device_state import State
from halfmask_device.errors import FileFormatError, OptionError, RunError, SourceError
from halfmask_device.lattice import Lattice
from halfmask_device.private_files import create_once
from halfmask_device.private_files import replace as replace_file
from halfmask_device.setting import READING, SPLIT, DeviceSetting, law

FORMAT = "halfmask device"
VERSION = 2
STEP = "0.001"
MENU = Path("menu.json")
WIDEST = 10**6
"""The default range is +-WIDEST. Guarantees for such a wide range are weak."""
MENU_FORMAT = "halfmask menu"
MENU_VERSION = 1
COLUMNS = {"time": "time", "value": "value"}


@dataclass(frozen=True)
class TotalTerms:
    """The period of a total, its time zone, and the number of readings that a device has in a period."""

    period: str
    time_zone: str
    readings_expected: int

    def __post_init__(self) -> None:
        try:
            Calendar(self.period, self.time_zone)
        except (KeyError, ValueError) as error:
            raise OptionError(
                f"no totals are made of {self.period} in {self.time_zone}: `period` is one of {', '.join(KINDS)}, and "
                "`time_zone` a name like Europe/Dublin",
                kind="period",
            ) from error
        if self.readings_expected < 1:
            raise OptionError("`readings_expected` is not a whole number above 0", kind="readings_expected")


@dataclass(frozen=True)
class Terms:
    """The terms of one device. They are checked on creation: the setting's noise can be drawn on the lattice.

    ``setting``  a setting, or an id of the menu
    ``menu``     maps ids to settings
    ``columns``  names of the columns for time, value and, if the device has several, sensor
    ``past``     earlier settings; readings reported with them keep their reports
    ``totals``   period and time zone, if the setting masks totals
    """

    setting: str
    lattice: Lattice
    menu: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=lambda: dict(COLUMNS))
    past: tuple[str, ...] = ()
    totals: TotalTerms | None = None

    def __post_init__(self) -> None:
        law(DeviceSetting.parse(self.setting_text), self.lattice.unit)

    @property
    def published(self) -> bool:
        """Whether the range was chosen: both ends are within half of the default, +-`WIDEST`."""
        return max(abs(float(self.lattice.low)), abs(float(self.lattice.high))) < WIDEST / 2

    @property
    def setting_text(self) -> str:
        """The text of the setting, even if ``setting`` is an id of the menu."""
        return self.menu.get(self.setting, self.setting)


@dataclass(frozen=True)
class Asked:
    """The terms that a caller requests. A field that is None keeps the stored value."""

    setting: str | None = None
    menu: Path | None = None
    step: str | None = None
    low: str | None = None
    high: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    period: str | None = None
    time_zone: str | None = None
    readings_expected: int | None = None

    def totals(self, setting: str, stored: TotalTerms | None) -> TotalTerms | None:
        """Return the period of totals if the setting masks totals: as requested, as stored, or a day in UTC."""
        release = DeviceSetting.parse(setting).release
        asked = (self.period, self.time_zone, self.readings_expected)
        if release == SPLIT:
            raise OptionError(f"{setting} needs two services: a device alone cannot split a total", kind="release")
        if release == READING:
            if any(each is not None for each in asked):
                raise OptionError(
                    f"{setting} masks each reading: `period`, `time_zone` and `readings_expected` are for settings "
                    "that end in @total",
                    kind="release",
                )
            return None
        kept = stored or TotalTerms("day", "UTC", 1)
        if self.readings_expected is None and stored is None:
            raise OptionError(
                f"{setting} masks the total of a period: name `readings_expected`, how many readings a device has in "
                "it, such as 48 for half-hours and a day",
                kind="readings_expected",
            )
        expected = kept.readings_expected if self.readings_expected is None else self.readings_expected
        return TotalTerms(self.period or kept.period, self.time_zone or kept.time_zone, expected)


def agree(folder: Path, asked: Asked, *, change: bool = False) -> Terms:
    """Return the terms of a device. On first use, the requested terms are stored.

    Raise an OptionError if the requested terms differ from the stored ones. ``change`` allows a different setting, menu
    or columns. The lattice can never change, because stored reports belong to it.
    """
    first = None if (folder / FILE).exists() else _first(folder, asked)  # raises before anything is written
    state = State(folder)
    stored = hold_to(state, first) if first else read_terms(state) or _first(folder, asked)
    menu = read_menu_settings(asked.menu) if asked.menu else stored.menu
    old = stored.lattice
    lattice = Lattice(asked.step or old.step, asked.low or old.low, asked.high or old.high)
    _same_lattice(folder, old, lattice)
    chosen, columns = _chosen(asked.setting or stored.setting, menu), {**stored.columns, **asked.columns}
    totals = asked.totals(menu.get(chosen, chosen), stored.totals)
    new = replace(stored, setting=chosen, menu=menu, columns=columns, totals=totals)
    if new == stored:
        return stored
    if not change:
        raise OptionError(
            f"{folder} shares {_shown(stored)}, not {_shown(new)}: "
            "leave these options out, or say `change` to share so from here on",
            kind="change",
        )
    return _changed(state, stored, new)


def _changed(state: State, stored: Terms, new: Terms) -> Terms:
    """Store new terms and return them. The old setting is kept in ``past``, so that its reports remain valid."""
    past = dict.fromkeys((*stored.past, stored.setting_text))
    past.pop(new.setting_text, None)
    changed = replace(new, past=tuple(past))
    path = state.folder / FILE
    try:
        replace_file(path, _written(changed, state))
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}; the old terms hold", kind="write") from error
    return changed


def _first(folder: Path, asked: Asked) -> Terms:
    """Return the terms for first use. The setting is required; step, range and columns have defaults."""
    if asked.setting is None:
        raise OptionError(
            f"{folder} has no terms yet: name `setting`, like laplace:0.5, or C together with `menu`", kind="setting"
        )
    if (asked.low is None) != (asked.high is None):
        raise OptionError(f"{folder} has no terms yet: a range has two ends, name both `low` and `high`", kind="range")
    menu = read_menu_settings(asked.menu) if asked.menu else _menu_at_hand(asked.setting)
    step = asked.step or STEP
    farthest = widest(step)
    lattice = Lattice(step, asked.low or f"-{farthest}", asked.high or farthest)
    chosen = _chosen(asked.setting, menu)
    return Terms(
        chosen, lattice, menu, COLUMNS | {**asked.columns}, totals=asked.totals(menu.get(chosen, chosen), None)
    )


def widest(step: str) -> str:
    """Return the largest multiple of the step within `WIDEST`. For an invalid step, `Lattice` raises the error."""
    try:
        return str(Decimal(step) * max(WIDEST // Decimal(step), Decimal(1)))
    except ArithmeticError:
        return str(WIDEST)


def _menu_at_hand(setting: str) -> dict[str, str]:
    """Return the settings of ``menu.json`` in the working folder if ``setting`` is an id; else an empty menu."""
    return read_menu_settings(MENU) if _is_id(setting) and MENU.is_file() else {}


def _is_id(text: str) -> bool:
    """Return whether a text is an id of a menu, rather than a setting."""
    return ":" not in text and text.partition("@")[0] != "none"


def hold_to(state: State, terms: Terms, *, change: bool = False) -> Terms:
    """Store the terms if there are none, and return the stored ones. Raise an error if the lattices differ.

    ``change``  allow a setting other than the stored one, on which users of the reports and the producer may rely
    """
    path = state.folder / FILE
    stored = read_terms(state)
    if stored is None:
        try:
            create_once(path, _written(terms, state))
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror or error}", kind="write") from error
        stored = read_terms(state) or terms
    _same_lattice(state.folder, stored.lattice, terms.lattice)
    if stored.setting_text == terms.setting_text:
        return stored
    if not change:
        raise OptionError(
            f"{state.folder} shares by {stored.setting_text}, not by {terms.setting_text}: "
            "say `change` to share so from here on",
            kind="change",
        )
    return _changed(state, stored, replace(stored, setting=terms.setting))


def _same_lattice(folder: Path, stored: Lattice, asked: Lattice) -> None:
    if stored != asked:
        raise OptionError(
            f"{folder} shares on {_range(stored)}, not on {_range(asked)}: leave `step`, `low` and "
            "`high` out, or take another `state` and never mask there what was reported from here",
            kind="lattice",
        )


def _range(lattice: Lattice) -> str:
    return f"{lattice.low} to {lattice.high} in steps of {lattice.step}"


def _shown(terms: Terms) -> str:
    text = terms.setting_text
    setting = text if terms.setting == text else f"{terms.setting} ({text})"
    of = f" of each {terms.totals.period} ({', '.join(map(str, astuple(terms.totals)[1:]))})" if terms.totals else ""
    return f"columns {', '.join(terms.columns.values())} by {setting}{of}"


def _chosen(setting: str, menu: Mapping[str, str]) -> str:
    """Return an id of the menu unchanged, and any other setting in canonical form."""
    if setting in menu:
        return setting
    if _is_id(setting):
        has = f"has {', '.join(menu)}" if menu else "was not named: give it with `menu`"
        raise OptionError(
            f"setting '{setting}' is not on the menu, which {has}; or write a setting out, like laplace:0.5",
            kind="setting",
        )
    return DeviceSetting.parse(setting).text


def read_menu_settings(path: Path) -> dict[str, str]:
    """Read the settings of a ``menu.json`` by id."""
    try:
        plain = json.loads(path.read_bytes())
        _check_menu(plain, path)
        settings = {each["id"]: each["setting"] for each in plain["settings"]}
    except OSError as error:
        raise SourceError(
            f"{path}: {error.strerror or error}; `menu` names a file of 'halfmask optimize'", kind="menu"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'", kind="menu") from error
    if not settings or not all(isinstance(word, str) for pair in settings.items() for word in pair):
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'", kind="menu")
    return settings


def _check_menu(plain: Any, path: Path) -> None:
    """Raise a FileFormatError if the menu states another format or version. A handwritten menu may state neither."""
    if not isinstance(plain, dict) or plain.get("format", MENU_FORMAT) != MENU_FORMAT:
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'", kind="menu")
    version = plain.get("version", MENU_VERSION)
    if version != MENU_VERSION:
        raise FileFormatError(
            f"{path} is a menu of version {version}, this program reads {MENU_VERSION}: update it", kind="version"
        )


def read_terms(state: State) -> Terms | None:
    """Return the stored terms; None if there are none. Raise a FileFormatError if this device did not write them."""
    path = state.folder / FILE
    plain = state.read_sealed(path)
    if plain is None:
        return None
    if plain["version"] != VERSION:
        message = f"{path} is of version {plain['version']}, this program reads {VERSION}: update it"
        raise FileFormatError(message, kind="version")
    lattice = Lattice(plain["step"], plain["low"], plain["high"])
    totals = TotalTerms(**plain["totals"]) if plain.get("totals") else None
    return Terms(plain["setting"], lattice, plain["menu"], plain["columns"], tuple(plain["past"]), totals)


def _written(terms: Terms, state: State) -> bytes:
    lattice = {"step": terms.lattice.step, "low": terms.lattice.low, "high": terms.lattice.high}
    rest: dict[str, Any] = {"totals": asdict(terms.totals)} if terms.totals else {}
    rest |= {"columns": dict(terms.columns), "menu": dict(terms.menu), "past": list(terms.past)}
    plain = {"format": FORMAT, "version": VERSION, "setting": terms.setting, **lattice, **rest}
    return state.sealed(plain)
