"""All mechanisms by name: ours, those registered in Python, and installed plug-ins (imported only when asked for)."""

import inspect
from importlib import import_module
from pkgutil import iter_modules

from halfmask.errors import SettingError
from halfmask.mechanisms import ours
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.plugins import complete, load_plugin, plugin_names

__all__ = ["Mechanism", "mechanism", "mechanisms", "register"]


def _found() -> dict[str, Mechanism]:
    """Every mechanism whose file stands in the folder `ours`, in order of the alphabet."""
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
    """The mechanism of that name; entry points are looked at only where the name is not known yet."""
    known = _known.get(name)
    if known is not None:
        return known
    loaded = load_plugin(name)
    if loaded is None:
        raise SettingError(f"unknown mechanism {name[:40]!r}; known are {', '.join(mechanisms())}")
    return _known.setdefault(name, loaded)


def mechanisms() -> list[str]:
    """Names of all mechanisms: ours first, then the others in order of the alphabet."""
    return [*_OURS, *sorted((_known.keys() | plugin_names()) - set(_OURS))]


def register(plugin: type) -> Mechanism:
    """Make a class known for this process, as an entry point would; one registered before under its name goes."""
    whole = complete(plugin)
    if whole.name in _OURS:
        raise SettingError(f"mechanism {whole.name} is one of halfmask's own: give {plugin.__name__} another name")
    _known[whole.name] = whole
    return whole
