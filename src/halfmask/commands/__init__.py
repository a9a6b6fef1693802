"""One module per command: a frozen options object, one function of the module's name, a result out.

The Python package, the command line, the pages and the service call these functions and nothing below them. A module
whose name starts with an underscore is no command. To add the command ``x``: write ``commands/x.py`` with

    @dataclass(frozen=True)
    class X(Options):
        (its docstring describes every field under "Parameters": it is the help of the options)

    @command(X)
    def x(options: X) -> Result: ...

and ``cli/x.py`` with a function ``x(options: X, ...)`` that calls it and phrases the result. Nothing else is edited:
`halfmask.x` and ``halfmask x`` are found by their files. Import heavy modules inside of the function: ``--help`` loads
every module of this folder.
"""

from pkgutil import iter_modules


def names() -> list[str]:
    """The commands, by the modules of this folder."""
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
