"""The terms on which a device shares: setting, lattice, columns and menu; kept in its folder as ``terms.json``."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from halfmask_device.errors import FileFormatError, OptionError, RunError, SourceError
from halfmask_device.lattice import Lattice
from halfmask_device.laws import law
from halfmask_device.setting import DeviceSetting
from halfmask_device.state import TERMS as FILE
from halfmask_device.state import State, create_once, sync_folder, write_private

FORMAT = "halfmask device"
VERSION = 1
STEP = "0.001"
MENU = Path("menu.json")
WIDEST = 10**6
"""Either end of the range where none is published: hardly a range, and guarantees for it are as weak as it is wide."""
COLUMNS = {"time": "time", "value": "value"}


@dataclass(frozen=True)
class Terms:
    """``setting`` is written out, or an id of ``menu``, which maps ids to settings; a device can draw its noise.

    ``columns`` names those of the roles time, value and, where a device has several, sensor.
    """

    setting: str
    lattice: Lattice
    menu: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=lambda: dict(COLUMNS))

    def __post_init__(self) -> None:
        law(DeviceSetting.parse(self.setting_text), self.lattice.unit)

    @property
    def published(self) -> bool:
        """Whether the range is one that somebody named."""
        return max(abs(float(self.lattice.low)), abs(float(self.lattice.high))) < WIDEST / 2

    @property
    def setting_text(self) -> str:
        """The setting written out."""
        return self.menu.get(self.setting, self.setting)


@dataclass(frozen=True)
class Asked:
    """What a caller says of the terms; None is what it leaves to the terms that are stored."""

    setting: str | None = None
    menu: Path | None = None
    step: str | None = None
    low: str | None = None
    high: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


def agree(folder: Path, asked: Asked, *, change: bool = False) -> Terms:
    """The terms of a device: those that are stored, or on first use those that are asked for, which are then stored.

    What is asked for must agree with what is stored. ``change`` takes another setting, menu or columns from here on;
    the lattice never changes, because the noise that is remembered belongs to it.
    """
    stored = read_terms(folder)
    if stored is None:
        first = _first(folder, asked)
        stored = hold_to(State(folder), first)
    menu = read_menu_settings(asked.menu) if asked.menu else stored.menu
    old = stored.lattice
    lattice = Lattice(asked.step or old.step, asked.low or old.low, asked.high or old.high)
    _same_lattice(folder, old, lattice)
    new = Terms(_chosen(asked.setting or stored.setting, menu), lattice, menu, {**stored.columns, **asked.columns})
    if new == stored:
        return stored
    if not change:
        raise OptionError(
            f"{folder} shares {_shown(stored)}, not {_shown(new)}: "
            "leave these options out, or say --change to share so from here on"
        )
    _replace(folder, new)
    return new


def _first(folder: Path, asked: Asked) -> Terms:
    """The terms of first use: the setting must be named; step, range and columns have defaults."""
    if asked.setting is None:
        raise OptionError(f"{folder} has no terms yet: name --setting, like laplace:0.5, or C together with --menu")
    if (asked.low is None) != (asked.high is None):
        raise OptionError(f"{folder} has no terms yet: a range has two ends, name both --low and --high")
    menu = read_menu_settings(asked.menu) if asked.menu else _menu_at_hand(asked.setting)
    step = asked.step or STEP
    widest = _widest(step)
    lattice = Lattice(step, asked.low or f"-{widest}", asked.high or widest)
    return Terms(_chosen(asked.setting, menu), lattice, menu, COLUMNS | {**asked.columns})


def _widest(step: str) -> str:
    """The largest multiple of the step within `WIDEST`; of what is no step, `Lattice` will say so."""
    try:
        return str(Decimal(step) * max(WIDEST // Decimal(step), Decimal(1)))
    except ArithmeticError:
        return str(WIDEST)


def _menu_at_hand(setting: str) -> dict[str, str]:
    """The ``menu.json`` of the working folder, where an id is asked for and no menu is named, as other commands do."""
    named = ":" not in setting and setting != "none"
    return read_menu_settings(MENU) if named and MENU.is_file() else {}


def hold_to(state: State, terms: Terms) -> Terms:
    """Store terms where there are none; return those that are stored, whose lattice must be the same."""
    path = state.folder / FILE
    stored = read_terms(state.folder)
    if stored is None:
        try:
            create_once(path, _written(terms))
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror or error}") from error
        stored = read_terms(state.folder) or terms
    _same_lattice(state.folder, stored.lattice, terms.lattice)
    return stored


def _same_lattice(folder: Path, stored: Lattice, asked: Lattice) -> None:
    if stored != asked:
        raise OptionError(
            f"{folder} shares on {_range(stored)}, not on {_range(asked)}: leave --step, --low and "
            "--high out, or take another --state and never mask there what was reported from here"
        )


def _range(lattice: Lattice) -> str:
    return f"{lattice.low} to {lattice.high} in steps of {lattice.step}"


def _shown(terms: Terms) -> str:
    text = terms.setting_text
    setting = text if terms.setting == text else f"{terms.setting} ({text})"
    return f"columns {', '.join(terms.columns.values())} by {setting}"


def _chosen(setting: str, menu: Mapping[str, str]) -> str:
    """The id, or the setting in the words that are stored."""
    if setting in menu:
        return setting
    if ":" not in setting and setting != "none":
        has = f"has {', '.join(menu)}" if menu else "was not named: give it with --menu"
        raise OptionError(
            f"setting '{setting}' is not on the menu, which {has}; or write a setting out, like laplace:0.5"
        )
    return DeviceSetting.parse(setting).text


def read_menu_settings(path: Path) -> dict[str, str]:
    """Id and setting of each entry of a ``menu.json``; nothing else of it concerns a device."""
    try:
        plain = json.loads(path.read_bytes())
        settings = {each["id"]: each["setting"] for each in plain["settings"]}
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}; --menu names a file of 'halfmask optimize'") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'") from error
    if not settings or not all(isinstance(word, str) for pair in settings.items() for word in pair):
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'")
    return settings


def read_terms(folder: Path) -> Terms | None:
    """The stored terms, or None where there are none."""
    path = folder / FILE
    try:
        plain = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise FileFormatError(f"{path} is damaged ({error}): bring it back from a copy") from error
    return _read(plain, path)


def _read(plain: Any, path: Path) -> Terms:
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise FileFormatError(f"{path} does not hold the terms of a device: take another --state")
    if plain.get("version") != VERSION:
        raise FileFormatError(f"{path} is of version {plain.get('version')}, this program reads {VERSION}: update it")
    words = _texts({name: plain.get(name) for name in ("setting", "step", "low", "high")})
    menu, columns = _texts(plain.get("menu")), _texts(plain.get("columns"))
    if words is None or menu is None or columns is None or columns.keys() - {"sensor"} != COLUMNS.keys():
        raise FileFormatError(f"{path} is damaged (a term is missing): bring it back from a copy")
    return Terms(words["setting"], Lattice(words["step"], words["low"], words["high"]), menu, columns)


def _texts(table: Any) -> dict[str, str] | None:
    whole = isinstance(table, dict) and all(isinstance(word, str) for word in table.values())
    return table if whole else None


def _written(terms: Terms) -> bytes:
    lattice = {"step": terms.lattice.step, "low": terms.lattice.low, "high": terms.lattice.high}
    tables = {"columns": dict(terms.columns), "menu": dict(terms.menu)}
    plain = {"format": FORMAT, "version": VERSION, "setting": terms.setting, **lattice, **tables}
    return (json.dumps(plain, indent=2) + "\n").encode()


def _replace(folder: Path, terms: Terms) -> None:
    temporary = folder / f".{FILE}.{os.getpid()}.part"
    try:
        temporary.unlink(missing_ok=True)
        write_private(temporary, _written(terms))
        temporary.replace(folder / FILE)
        sync_folder(folder)
    except OSError as error:
        raise RunError(f"cannot write {folder / FILE}: {error.strerror or error}; the old terms hold") from error
