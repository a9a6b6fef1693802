"""What a format of readings is. Each module of this folder defines one, and is found because it is in the folder.

The name of a format is that of its module. A module whose name begins with an underscore holds what formats share.
"""

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar

from halfmask.errors import OptionError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from halfmask.data.clean import Rule
    from halfmask.data.engines.duckdb import DuckDBTable
    from halfmask.data.locate import SourceFiles
    from halfmask.data.options import ReadOptions

AUTO = "auto"
"""The value of the option `format` for a format that is to be found out."""
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
"""Endings behind the one that names the format, as in ``x.csv.gz``."""


@dataclass(frozen=True)
class OpenRequest:
    """What a format is asked to open: files as a table of a connection, in the way that the options say."""

    connection: "duckdb.DuckDBPyConnection"
    found: "SourceFiles"
    options: "ReadOptions"


class Format(ABC):
    """One way in which readings are stored.

    ``kind``        what it is, in words
    ``extensions``  the endings of its files' names, in lower case
    ``addresses``   the beginnings of its addresses, if its readings are not in files
    ``options``     the options that it takes and other formats do not; with `sql`, it runs queries itself
    ``database``    whether one file or address holds several tables; a folder is not searched for such files
    ``asked_only``  whether nothing in a file shows the format, so that it must be asked for by name
    """

    kind: ClassVar[str]
    extensions: ClassVar[tuple[str, ...]] = ()
    addresses: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[frozenset[str]] = frozenset()
    database: ClassVar[bool] = False
    asked_only: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return the name by which `format` asks for it."""
        return type(self).__module__.rpartition(".")[2]

    def sniff(self, file: str, head: bytes) -> bool:  # noqa: ARG002 (for subclasses)
        """Return whether a file is of this format, by its first 64 bytes.

        By default only the name of a file shows it.
        """
        return False

    @abstractmethod
    def open(self, asked: OpenRequest) -> "DuckDBTable":
        """Return the files as a table of the connection, with any columns."""

    def rules(self, sample: "pa.Table") -> "list[Rule]":  # noqa: ARG002 (for subclasses)
        """Return how the columns are read, if the format fixes it."""
        return []

    def table(self, asked: OpenRequest) -> "DuckDBTable":
        """Return the table that is asked for. Raise an error if an option is for other formats."""
        self._check(asked.options)
        raw = self.open(asked)
        raw.workplace = (raw.workplace, asked.found.workplace)
        if "sql" not in self.options:
            raw.files, raw.partitions = raw.files or asked.found.files, asked.found.partitions
            raw.notes += asked.found.notes()
            if asked.options.sql is not None:
                raw.ask(asked.options.sql)
        return raw

    def _check(self, options: "ReadOptions") -> None:
        known = formats()
        for option in sorted(frozenset().union(*(each.options for each in known.values())) - self.options - {"sql"}):
            if getattr(options, option) is not None:
                others = ", ".join(name for name, each in known.items() if option in each.options)
                raise OptionError(
                    f"`{option}` is for the formats {others}, and the source is {self.name}",
                    kind="format",
                    field=option,
                )


def names() -> list[str]:
    """Return the names of all formats, sorted, without importing any."""
    return sorted(module.name for module in iter_modules(__path__) if not module.name.startswith("_"))


@cache
def formats() -> dict[str, Format]:
    """Return every format by its name."""
    modules = {name: import_module(f"{__name__}.{name}") for name in names()}
    return {
        name: each()
        for name, module in modules.items()
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Format) and each.__module__ == module.__name__
    }


def by_address(source: str) -> Format | None:
    """Return the format that reads from an address, or None if the source is not such an address."""
    return next((each for each in formats().values() if source.startswith(each.addresses or ("\0",))), None)


def by_extension(file: str) -> Format | None:
    """Return the format that a file's name shows, compression aside, or None if it shows none."""
    path = Path(file.lower())
    suffix = path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix
    return next((each for each in formats().values() if suffix in each.extensions and not each.asked_only), None)
