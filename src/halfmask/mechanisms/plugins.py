"""Mechanisms of other people: found by entry points, made whole where they state little."""

import re
from importlib.metadata import EntryPoint, entry_points

from halfmask.errors import SettingError
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.estimated import SampledNoise, StatedNoise

GROUP = "halfmask.mechanisms"
_NAME = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)


def plugin_names() -> set[str]:
    """Names of the installed plug-ins; none of them is imported for it."""
    return {entry.name for entry in entry_points(group=GROUP)}


def load_plugin(name: str) -> Mechanism | None:
    """The installed plug-in of that name, or None. The entry point bears the mechanism's name."""
    found = sorted(entry_points(group=GROUP, name=name), key=_origin)
    if not found:
        return None
    if len({_origin(entry) for entry in found}) > 1:
        origins = ", ".join(map(_origin, found))
        raise SettingError(f"mechanism {name} comes from several places ({origins}): uninstall all but one")
    try:
        loaded = found[0].load()
    except Exception as error:  # whatever a stranger's module raises, the user learns which one
        raise SettingError(f"mechanism {name} from {_origin(found[0])} cannot be imported: {error!r}") from error
    whole = complete(loaded)
    if whole.name != name:
        raise SettingError(f"mechanism {name} from {_origin(found[0])} calls itself {whole.name}: the two must agree")
    return whole


def _origin(entry: EntryPoint) -> str:
    return f"{entry.dist.name if entry.dist else 'unknown'} ({entry.value})"


def complete(plugin: object) -> Mechanism:
    """A mechanism from a user's class, which may state as little as a name and one method.

    ``sample`` alone: additive noise (or relative, if ``kind`` says so) with an estimated law; ``sample`` and ``cdf``: a
    law as fast as ours, moments by quadrature unless given; ``mask`` alone: kind "direct". What the class states wins.
    """
    if not isinstance(plugin, type):
        raise SettingError(f"{plugin!r} is not a class: a mechanism is given as its class, which takes no arguments")
    name = getattr(plugin, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SettingError(
            f"{plugin.__name__}.name is {name!r}: a mechanism's name is of a-z, 0-9 and -, like my-noise"
        )
    whole = plugin if issubclass(plugin, Mechanism) else type(plugin.__name__, (plugin, _missing(plugin)), {})
    try:
        mechanism: Mechanism = whole()
    except TypeError as error:
        raise SettingError(f"mechanism {name}: {plugin.__name__}() fails: {error}") from error
    if mechanism.kind not in ("additive", "relative", "direct"):
        raise SettingError(f"mechanism {name}: kind is {mechanism.kind!r}; it is additive, relative or direct")
    return mechanism


class _AnyParameters(Mechanism):
    """Parameters of a plug-in may have either sign; where it does not name them, any number is taken."""

    def names(self, count: int) -> tuple[str, ...]:
        return self.parameter_names or tuple(f"p{i + 1}" for i in range(count))

    def check(self, parameters: tuple[float, ...]) -> None:
        self.check_count(parameters)


class _Sampled(_AnyParameters, SampledNoise):
    pass


class _Stated(_AnyParameters, StatedNoise):
    pass


class _Direct(_AnyParameters):
    kind = "direct"


def _missing(plugin: type) -> type[Mechanism]:
    """The base that supplies what the class does not state."""
    if hasattr(plugin, "sample"):
        return _Stated if hasattr(plugin, "cdf") else _Sampled
    if hasattr(plugin, "mask"):
        return _Direct
    raise SettingError(f"{plugin.__name__} has neither sample(parameters, size, rng) nor mask(parameters, values, rng)")
