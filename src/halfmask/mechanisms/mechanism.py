"""All mechanisms by name: ours, those registered in Python, and installed plug-ins (imported only when asked for)."""

from halfmask.errors import SettingError
from halfmask.mechanisms.base import Mechanism
from halfmask.mechanisms.direct import Clip, Microaggregate, Round
from halfmask.mechanisms.plugins import complete, load_plugin, plugin_names
from halfmask.mechanisms.scaled import Gaussian, Laplace, NoNoise, RelativeGaussian, RelativeLaplace, Uniform
from halfmask.mechanisms.sine import Sine
from halfmask.mechanisms.stepped import Geometric, Staircase
from halfmask.mechanisms.tabulated import Tabulated

__all__ = ["Mechanism", "mechanism", "mechanisms", "register"]

_OURS: tuple[type[Mechanism], ...] = (
    NoNoise,
    Laplace,
    Sine,
    Gaussian,
    Uniform,
    Staircase,
    Geometric,
    RelativeLaplace,
    RelativeGaussian,
    Tabulated,
    Round,
    Microaggregate,
    Clip,
)
_known: dict[str, Mechanism] = {each.name: each() for each in _OURS}


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
    ours = [each.name for each in _OURS]
    return ours + sorted((_known.keys() | plugin_names()) - set(ours))


def register(plugin: type) -> Mechanism:
    """Make a class known for this process, as an entry point would; one registered before under its name goes."""
    whole = complete(plugin)
    if whole.name in {each.name for each in _OURS}:
        raise SettingError(f"mechanism {whole.name} is one of halfmask's own: give {plugin.__name__} another name")
    _known[whole.name] = whole
    return whole
