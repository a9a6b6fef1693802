"""Registry of mechanisms by name: built-in mechanisms, classes registered in Python, and plug-ins.

A plug-in is found by its entry point and imported on first use. Methods that its class lacks are added.
"""

import inspect
import re
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pkgutil import iter_modules

from halfmask.errors import SettingError
from halfmask.mechanisms import ours
from halfmask.mechanisms.estimated import SampledNoise, StatedNoise
from halfmask.mechanisms.mechanism import Mechanism

__all__ = ["mechanism", "mechanisms", "register"]

GROUP = "halfmask.mechanisms"
_NAME = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)


def _found() -> dict[str, Mechanism]:
    """Return every mechanism in the folder `ours`, sorted by name."""
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
    """Return the mechanism of this name. Plug-ins are searched if the name is not known yet."""
    known = _known.get(name)
    if known is not None:
        return known
    loaded = load_plugin(name)
    if loaded is None:
        raise SettingError(f"unknown mechanism {name[:40]!r}; known are {', '.join(mechanisms())}", kind="unknown")
    return _known.setdefault(name, loaded)


def mechanisms() -> list[str]:
    """Return the names of all mechanisms, built-in ones first. No plug-in is imported."""
    return [*_OURS, *sorted((_known.keys() | entry_points(group=GROUP).names) - set(_OURS))]


def register(plugin: type) -> Mechanism:
    """Register a class as a mechanism in this process. It replaces an earlier one of the same name."""
    whole = complete(plugin)
    if whole.name in _OURS:
        raise SettingError(
            f"mechanism {whole.name} is one of halfmask's own: give {plugin.__name__} another name", kind="name"
        )
    _known[whole.name] = whole
    return whole


def load_plugin(name: str) -> Mechanism | None:
    """Return the installed plug-in of this name, or None."""
    found = sorted(entry_points(group=GROUP, name=name), key=_origin)
    if not found:
        return None
    if len({_origin(entry) for entry in found}) > 1:
        origins = ", ".join(map(_origin, found))
        raise SettingError(
            f"mechanism {name} comes from several places ({origins}): uninstall all but one", kind="several"
        )
    try:
        loaded = found[0].load()
    except Exception as error:  # for any error of the plug-in, the message names it
        raise SettingError(
            f"mechanism {name} from {_origin(found[0])} cannot be imported: {error!r}", kind="import"
        ) from error
    whole = complete(loaded)
    if whole.name != name:
        raise SettingError(
            f"mechanism {name} from {_origin(found[0])} calls itself {whole.name}: the two must agree", kind="name"
        )
    return whole


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name if entry.dist else 'unknown'} ({entry.value})"


def complete(plugin: object) -> Mechanism:
    """Make a mechanism from a user's class, which needs only a name and one or two of these methods:

    ``sample``         additive noise (relative if ``kind`` says so) with an estimated distribution
    ``sample``, ``cdf``  noise with a known distribution, as fast as a built-in one; moments are integrated numerically
    ``mask``           a mechanism of kind "direct"

    Other methods of `Mechanism` that the class defines are used too.
    """
    if not isinstance(plugin, type):
        raise SettingError(
            f"{plugin!r} is not a class: a mechanism is given as its class, which takes no arguments", kind="class"
        )
    name = getattr(plugin, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingError(
            f"{plugin.__name__}.name is {name!r}: a mechanism's name is of a-z, 0-9 and -, like my-noise",
            kind="name",
        )
    whole = plugin if issubclass(plugin, Mechanism) else type(plugin.__name__, (plugin, *_missing(plugin)), {})
    try:
        mechanism: Mechanism = whole()
    except TypeError as error:
        raise SettingError(f"mechanism {name}: {plugin.__name__}() fails: {error}", kind="class") from error
    if mechanism.kind not in ("additive", "relative", "direct"):
        raise SettingError(
            f"mechanism {name}: kind is {mechanism.kind!r}; it is additive, relative or direct", kind="kind"
        )
    return mechanism


class _AnyParameters(Mechanism):
    """Accepts parameters of either sign. If the plug-in does not name them, their number is free."""

    def names(self, count: int) -> tuple[str, ...]:
        return self.parameter_names or tuple(f"p{i + 1}" for i in range(count))

    def check(self, parameters: tuple[float, ...]) -> None:
        self.check_count(parameters)


class _Direct(_AnyParameters):
    kind = "direct"


def _missing(plugin: type) -> tuple[type[Mechanism], ...]:
    """Return the base classes that supply the methods a plug-in lacks."""
    if hasattr(plugin, "sample"):
        return _AnyParameters, StatedNoise if hasattr(plugin, "cdf") else SampledNoise
    if hasattr(plugin, "mask"):
        return (_Direct,)
    raise SettingError(
        f"{plugin.__name__} has neither sample(parameters, size, rng) nor mask(parameters, values, rng)", kind="sampler"
    )
