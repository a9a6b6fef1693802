"""Useful totals from people's sensors without taking people's data.

The commands of the ``halfmask`` program are functions here: `profile`, `synth`, ... They and the types of their results
are loaded when they are first used.
"""

from importlib import import_module
from typing import Any

from halfmask.commands import names

__version__ = "0.2.0"

_RESULTS = {
    "Menu": "halfmask.menus.menu",
    "Mix": "halfmask.choice.mix",
    "Profile": "halfmask.profiles.profile",
    "ReportCard": "halfmask.audits.card",
    "Study": "halfmask.evaluation.study",
}
"""What commands give, each with ``read`` and ``write``."""

__all__ = sorted([*names(), *_RESULTS])


def __getattr__(name: str) -> Any:
    if name in _RESULTS:
        return getattr(import_module(_RESULTS[name]), name)
    if name in __all__:
        return getattr(import_module(f"halfmask.commands.{name}"), name)
    raise AttributeError(f"module 'halfmask' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(["__version__", *__all__])
