"""The terms on which a device shares: its setting, its lattice and the menu; kept in its folder as ``terms.json``."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from halfmask.errors import FileFormatError, OptionError, RunError, SourceError
from halfmask.sharing.producer.lattice import Lattice
from halfmask.sharing.producer.laws import law
from halfmask.sharing.producer.setting import DeviceSetting
from halfmask.sharing.producer.state import TERMS as FILE
from halfmask.sharing.producer.state import State, create_once, sync_folder, write_private

FORMAT = "halfmask device"
VERSION = 1
STEP = "0.001"


@dataclass(frozen=True)
class Terms:
    """``setting`` is written out, or an id of ``menu``, which maps ids to settings; a device can draw its noise."""

    setting: str
    lattice: Lattice
    menu: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        law(DeviceSetting.parse(self.setting_text), self.lattice.unit)

    @property
    def setting_text(self) -> str:
        """The setting written out."""
        return self.menu.get(self.setting, self.setting)


def agree(
    folder: Path,
    *,
    setting: str | None,
    menu: Path | None,
    step: str | None,
    low: str | None,
    high: str | None,
    change: bool = False,
) -> Terms:
    """The terms of a device: those that are stored, or on first use those that are asked for, which are then stored.

    What is asked for must agree with what is stored. ``change`` takes another setting or menu from here on; the
    lattice never changes, because the noise that is remembered belongs to it.
    """
    stored = read_terms(folder)
    offered = read_menu_settings(menu) if menu else stored.menu if stored else {}
    if stored is None:
        return _first(folder, setting, offered, step, low, high)
    lattice = Lattice(step or stored.lattice.step, low or stored.lattice.low, high or stored.lattice.high)
    asked = Terms(_chosen(setting or stored.setting, offered), lattice, offered)
    _same_lattice(folder, stored, asked)
    if asked == stored:
        return stored
    if not change:
        raise OptionError(
            f"{folder} shares by {_shown(stored)}, not by {_shown(asked)}: "
            "leave --setting and --menu out, or say --change to share by the new one from here on"
        )
    _replace(folder, asked)
    return asked


def _first(
    folder: Path, setting: str | None, menu: Mapping[str, str], step: str | None, low: str | None, high: str | None
) -> Terms:
    if setting is None:
        raise OptionError(
            f"{folder} has no terms yet: name the setting with --setting, like C with --menu, or laplace:0.5"
        )
    if low is None or high is None:
        raise OptionError(f"{folder} has no terms yet: name the published range of readings with --low and --high")
    terms = Terms(_chosen(setting, menu), Lattice(step or STEP, low, high), menu)
    hold_to(State(folder), terms)
    return terms


def hold_to(state: State, terms: Terms) -> None:
    """Store terms where there are none; where there are, their lattice must be the same."""
    path = state.folder / FILE
    stored = read_terms(state.folder)
    if stored is None:
        try:
            create_once(path, _written(terms))
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror or error}") from error
        stored = read_terms(state.folder) or terms
    _same_lattice(state.folder, stored, terms)


def _same_lattice(folder: Path, stored: Terms, asked: Terms) -> None:
    if stored.lattice != asked.lattice:
        raise OptionError(
            f"{folder} shares on {_range(stored.lattice)}, not on {_range(asked.lattice)}: leave --step, --low and "
            "--high out, or take another --state and never mask there what was reported from here"
        )


def _range(lattice: Lattice) -> str:
    return f"{lattice.low} to {lattice.high} in steps of {lattice.step}"


def _shown(terms: Terms) -> str:
    text = terms.setting_text
    return text if terms.setting == text else f"{terms.setting} ({text})"


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
    words = [plain.get(name) for name in ("setting", "step", "low", "high")]
    menu = plain.get("menu")
    if not isinstance(menu, dict) or not all(isinstance(word, str) for word in [*words, *menu.values()]):
        raise FileFormatError(f"{path} is damaged (a term is missing): bring it back from a copy")
    setting, step, low, high = map(str, words)
    return Terms(setting, Lattice(step, low, high), menu)


def _written(terms: Terms) -> bytes:
    lattice = {"step": terms.lattice.step, "low": terms.lattice.low, "high": terms.lattice.high}
    plain = {"format": FORMAT, "version": VERSION, "setting": terms.setting, **lattice, "menu": dict(terms.menu)}
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
