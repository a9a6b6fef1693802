"""Registry of mechanisms by name: built-in ones, those registered in Python, and plug-ins (imported on first use)."""

import inspect
from importlib import import_module
from pkgutil import iter_modules

from halfmask.errors import SettingError
from halfmask.mechanisms import ours
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.plugins import complete, load_plugin, plugin_names

__all__ = ["Mechanism", "mechanism", "mechanisms", "register"]


def _found() -> dict[str, Mechanism]:
    """Return every mechanism defined in the folder `ours`, sorted by name."""
    modules = [import_module(f"{ours.__name__}.{each.name}") for each in iter_modules(ours.__path__)]
    classes = [
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Mechanism) and each.__module__ == module.__name__
    ]
    return {each.name: each() for each in sorted(classes, key=lambda one: one.name)}


_known = _found()
_OURS = tuple(_known)


def mechanism(name: str) -> Mechanism:
    """Return the mechanism of this name; entry points are searched only if the name is not known yet."""
    known = _known.get(name)
    if known is not None:
        return known
    loaded = load_plugin(name)
    if loaded is None:
        raise SettingError(f"unknown mechanism {name[:40]!r}; known are {', '.join(mechanisms())}", kind="unknown")
    return _known.setdefault(name, loaded)


def mechanisms() -> list[str]:
    """Return the names of all mechanisms: built-in ones first, then the others, both sorted."""
    return [*_OURS, *sorted((_known.keys() | plugin_names()) - set(_OURS))]


def register(plugin: type) -> Mechanism:
    """Register a class as a mechanism in this process, replacing an earlier one of the same name."""
    whole = complete(plugin)
    if whole.name in _OURS:
        raise SettingError(
            f"mechanism {whole.name} is one of halfmask's own: give {plugin.__name__} another name", kind="name"
        )
    _known[whole.name] = whole
    return whole
