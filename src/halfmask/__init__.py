"""Useful totals from people's sensors without taking people's data.

The commands of the ``halfmask`` program are functions here: `profile`, `synth`, ... They load what they need when
they are first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
__all__ = [
    "assign",
    "audit",
    "choose",
    "evaluate",
    "explore",
    "load_profile",
    "mask",
    "mix",
    "optimize",
    "profile",
    "read_card",
    "read_menu",
    "read_mix",
    "read_study",
    "report",
    "save_profile",
    "serve",
    "synth",
    "vote",
    "write_card",
    "write_menu",
    "write_mix",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("halfmask.api"), name)
    raise AttributeError(f"module 'halfmask' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
