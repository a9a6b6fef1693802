"""Every command's function as an attribute of this module, imported when it is asked for: starting a program that
lists or runs one command does not wait for the others.
"""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from halfmask.cli.warned import warned


def __getattr__(name: str) -> Callable[..., None]:
    """The function of a command, by the name of its module beside this one."""
    if name.startswith("_"):
        raise AttributeError(name)
    return warned(getattr(import_module(f"halfmask.cli.{name}"), name))


def summary(name: str) -> str:
    """The first line of what a command says of itself, from its source: a list of commands imports none of them."""
    source = Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8")
    functions = (each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef) and each.name == name)
    return (ast.get_docstring(next(functions)) or "").partition("\n")[0]
