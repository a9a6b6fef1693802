"""The terms on which a device shares: setting, lattice, columns and menu; sealed in its ``terms.json``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from halfmask_device.errors import FileFormatError, OptionError, RunError, SourceError
from halfmask_device.lattice import Lattice
from halfmask_device.private import create_once
from halfmask_device.private import replace as replace_file
from halfmask_device.seals import sealed, unsealed
from halfmask_device.setting import DeviceSetting, law
from halfmask_device.state import TERMS as FILE
from halfmask_device.state import State

FORMAT = "halfmask device"
VERSION = 2
STEP = "0.001"
MENU = Path("menu.json")
WIDEST = 10**6
"""Either end of the range where none is published: hardly a range, and guarantees for it are as weak as it is wide."""
MENU_FORMAT = "halfmask menu"
MENU_VERSION = 1
COLUMNS = {"time": "time", "value": "value"}


@dataclass(frozen=True)
class Terms:
    """``setting`` is written out, or an id of ``menu``, which maps ids to settings; a device can draw its noise.

    ``columns`` names those of the roles time, value and, where a device has several, sensor. ``past`` are settings that
    the device shared by before: what was reported by them stands.
    """

    setting: str
    lattice: Lattice
    menu: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=lambda: dict(COLUMNS))
    past: tuple[str, ...] = ()

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
    if (folder / FILE).exists():
        state = State(folder)
        stored = read_terms(state)
    else:
        first = _first(folder, asked)
        state = State(folder)
        stored = hold_to(state, first)
    stored = stored or _first(folder, asked)
    menu = read_menu_settings(asked.menu) if asked.menu else stored.menu
    old = stored.lattice
    lattice = Lattice(asked.step or old.step, asked.low or old.low, asked.high or old.high)
    _same_lattice(folder, old, lattice)
    chosen, columns = _chosen(asked.setting or stored.setting, menu), {**stored.columns, **asked.columns}
    new = replace(stored, setting=chosen, menu=menu, columns=columns)
    if new == stored:
        return stored
    if not change:
        raise OptionError(
            f"{folder} shares {_shown(stored)}, not {_shown(new)}: "
            "leave these options out, or say `change` to share so from here on"
        )
    return _changed(state, stored, new)


def _changed(state: State, stored: Terms, new: Terms) -> Terms:
    """Other terms from here on; what was reported by the old setting stays known by it."""
    past = dict.fromkeys((*stored.past, stored.setting_text))
    past.pop(new.setting_text, None)
    changed = replace(new, past=tuple(past))
    path = state.folder / FILE
    try:
        replace_file(path, _written(changed, state))
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}; the old terms hold") from error
    return changed


def _first(folder: Path, asked: Asked) -> Terms:
    """The terms of first use: the setting must be named; step, range and columns have defaults."""
    if asked.setting is None:
        raise OptionError(f"{folder} has no terms yet: name `setting`, like laplace:0.5, or C together with `menu`")
    if (asked.low is None) != (asked.high is None):
        raise OptionError(f"{folder} has no terms yet: a range has two ends, name both `low` and `high`")
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


def hold_to(state: State, terms: Terms, *, change: bool = False) -> Terms:
    """Store terms where there are none; return those that are stored, whose lattice must be the same.

    Another setting than the stored one needs the consent ``change``: readers of the reports rely on it, and so may the
    producer, who was promised noise.
    """
    path = state.folder / FILE
    stored = read_terms(state)
    if stored is None:
        try:
            create_once(path, _written(terms, state))
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror or error}") from error
        stored = read_terms(state) or terms
    _same_lattice(state.folder, stored.lattice, terms.lattice)
    if stored.setting_text == terms.setting_text:
        return stored
    if not change:
        raise OptionError(
            f"{state.folder} shares by {stored.setting_text}, not by {terms.setting_text}: "
            "say `change` to share so from here on"
        )
    return _changed(state, stored, replace(stored, setting=terms.setting))


def _same_lattice(folder: Path, stored: Lattice, asked: Lattice) -> None:
    if stored != asked:
        raise OptionError(
            f"{folder} shares on {_range(stored)}, not on {_range(asked)}: leave `step`, `low` and "
            "`high` out, or take another `state` and never mask there what was reported from here"
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
        has = f"has {', '.join(menu)}" if menu else "was not named: give it with `menu`"
        raise OptionError(
            f"setting '{setting}' is not on the menu, which {has}; or write a setting out, like laplace:0.5"
        )
    return DeviceSetting.parse(setting).text


def read_menu_settings(path: Path) -> dict[str, str]:
    """Id and setting of each entry of a ``menu.json``; nothing else of it concerns a device."""
    try:
        plain = json.loads(path.read_bytes())
        _check_menu(plain, path)
        settings = {each["id"]: each["setting"] for each in plain["settings"]}
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}; `menu` names a file of 'halfmask optimize'") from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'") from error
    if not settings or not all(isinstance(word, str) for pair in settings.items() for word in pair):
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'")
    return settings


def _check_menu(plain: Any, path: Path) -> None:
    """A menu that names a format must name ours, in a version that is known; one written by hand may name none."""
    if not isinstance(plain, dict) or plain.get("format", MENU_FORMAT) != MENU_FORMAT:
        raise FileFormatError(f"{path} is not a menu: make one with 'halfmask optimize'")
    version = plain.get("version", MENU_VERSION)
    if version != MENU_VERSION:
        raise FileFormatError(f"{path} is a menu of version {version}, this program reads {MENU_VERSION}: update it")


def read_terms(state: State) -> Terms | None:
    """The stored terms, or None where there are none; terms that this device did not write are refused."""
    path = state.folder / FILE
    try:
        plain = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise FileFormatError(f"{path} is damaged ({error}): bring it back from a copy") from error
    if not isinstance(plain, dict) or plain.get("format") != FORMAT:
        raise FileFormatError(f"{path} does not hold the terms of a device: take another `state`")
    if plain.get("version") != VERSION:
        raise FileFormatError(f"{path} is of version {plain.get('version')}, this program reads {VERSION}: update it")
    unsealed(plain, state, path)
    return _read(plain)


def _read(plain: dict[str, Any]) -> Terms:
    """Terms whose seal is right, so that they are as this program wrote them."""
    return Terms(
        plain["setting"],
        Lattice(plain["step"], plain["low"], plain["high"]),
        plain["menu"],
        plain["columns"],
        tuple(plain["past"]),
    )


def _written(terms: Terms, state: State) -> bytes:
    lattice = {"step": terms.lattice.step, "low": terms.lattice.low, "high": terms.lattice.high}
    rest = {"columns": dict(terms.columns), "menu": dict(terms.menu), "past": list(terms.past)}
    plain = {"format": FORMAT, "version": VERSION, "setting": terms.setting, **lattice, **rest}
    return sealed(plain, state)
