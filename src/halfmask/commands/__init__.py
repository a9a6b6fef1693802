"""One module per command: its options, a function of the module's name that returns a result, and what is printed.

The Python package, the command line, the pages and the service call these functions and nothing below them. A module
whose name starts with an underscore is not a command. To add the command ``x``, write ``commands/x.py`` with

    GROUP = "Measure"  (its place in the list of commands)

    @dataclass(frozen=True)
    class X(Options):
        (its docstring describes every field under "Parameters": it is the help of the options)

    @command(X)
    def x(options: X) -> Result: ...

    def main(options: X) -> None:
        (its docstring is the help of ``halfmask x``; it calls ``x`` and prints the result)

Nothing else is edited: `halfmask.x` and ``halfmask x`` are found by their files. Import heavy modules inside the
functions: ``--help`` loads every module of this folder.
"""

from pkgutil import iter_modules


def names() -> list[str]:
    """Return the commands, by the modules of this folder."""
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))
