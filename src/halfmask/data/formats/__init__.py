"""The base class of formats, and how the format of a file is recognised.

Each other module of this folder defines one format, named like the module; nothing else needs to be registered. A
module whose name begins with an underscore holds code that several formats share.
"""

import inspect
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, ClassVar

from halfmask.errors import OptionError, SourceError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from halfmask.data.engines.duckdb import DuckDBTable
    from halfmask.data.locate import SourceFiles
    from halfmask.data.options import ReadOptions
    from halfmask.data.source_table import Rule

AUTO = "auto"
"""The value of the option `format` that asks for the format to be recognised."""
COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
"""Endings that name a compression, as in ``x.csv.gz``."""
_HEAD_BYTES = 64
_MARK = b"\xef\xbb\xbf"
_PAGES = (b"<?xml", b"<html", b"<!doctype", b"<feed")
_ABOUT = ("readme", "license", "licence", "notice", "changelog", "metadata", "manifest", "schema", "notes", "about")
"""Beginnings of the names of files that describe readings but contain none."""


@dataclass(frozen=True)
class OpenRequest:
    """A request to open files as a DuckDB table: the connection, the files and the caller's options."""

    connection: "duckdb.DuckDBPyConnection"
    found: "SourceFiles"
    options: "ReadOptions"


class Format(ABC):
    """A format in which readings are stored.

    ``kind``        the format in words
    ``extensions``  the endings of file names, in lower case
    ``magic``       the first bytes of a file, if they identify the format
    ``addresses``   the beginnings of addresses, if the readings are not in files
    ``options``     the options that only this format takes; if `sql` is one of them, the format runs the query itself
    ``database``    whether one file or address holds several tables; such files are not searched for in folders
    ``asked_only``  whether the caller must name the format, because its files look like those of another format
    """

    kind: ClassVar[str]
    extensions: ClassVar[tuple[str, ...]] = ()
    magic: ClassVar[bytes] = b""
    addresses: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[frozenset[str]] = frozenset()
    database: ClassVar[bool] = False
    asked_only: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return the format's name, as used in the option `format`."""
        return type(self).__module__.rpartition(".")[2]

    def sniff(self, file: str, head: bytes) -> bool:  # noqa: ARG002 (for subclasses)
        """Return whether a file has this format, from its first 64 bytes."""
        return bool(self.magic) and head.startswith(self.magic)

    @abstractmethod
    def open(self, asked: OpenRequest) -> "DuckDBTable":
        """Open the files as a table of the connection, with all columns."""

    def rules(self, sample: "pa.Table") -> "list[Rule]":  # noqa: ARG002 (for subclasses)
        """Return how to parse the columns if the format fixes it; else an empty list."""
        return []

    def table(self, asked: OpenRequest) -> "DuckDBTable":
        """Open the requested table. Raise an error if the caller uses an option of another format."""
        known = formats()
        for option in sorted(frozenset().union(*(each.options for each in known.values())) - self.options - {"sql"}):
            if getattr(asked.options, option) is not None:
                others = ", ".join(name for name, each in known.items() if option in each.options)
                raise OptionError(
                    f"`{option}` is for the formats {others}, and the source is {self.name}",
                    kind="format",
                    field=option,
                )
        raw = self.open(asked)
        raw.workplace = (raw.workplace, asked.found.workplace)
        if "sql" not in self.options:
            raw.files, raw.partitions = raw.files or asked.found.files, asked.found.partitions
            raw.notes += asked.found.notes()
            if asked.options.sql is not None:
                raw.ask(asked.options.sql)
        return raw


def names() -> list[str]:
    """Return the names of all formats, sorted, without importing the formats."""
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
    """Return the format for an address; None if the source is not an address of any format."""
    return next((each for each in formats().values() if source.startswith(each.addresses or ("\0",))), None)


def by_extension(file: str) -> Format | None:
    """Return the format that the ending of a file's name shows, or None. An ending for a compression is ignored."""
    path = Path(file.lower())
    suffix = path.with_suffix("").suffix if path.suffix in COMPRESSED else path.suffix
    return next((each for each in formats().values() if suffix in each.extensions and not each.asked_only), None)


def sniff(found: "SourceFiles", asked: str) -> "tuple[Format, SourceFiles]":
    """Return the format of the files, and the files that have this format.

    ``asked``  the format that the caller named, or `AUTO`

    A file's first bytes decide, then its name. Text of an unknown kind is read as CSV.
    """
    if asked not in (AUTO, *names()):
        raise OptionError(f"`format` {asked!r} is not one of {', '.join((AUTO, *names()))}", field="format")
    if asked != AUTO and not formats()[asked].extensions:
        begins = " or ".join(formats()[asked].addresses)
        raise OptionError(f"`format` {asked!r} is for addresses that begin with {begins}", field="format")
    files = list(found.files) if found.named else _of_folder(found.files, asked)
    if not files:
        wanted = "CSV or Parquet files" if asked == AUTO else f"{asked} files"
        raise SourceError(
            f"{found.source}: no {wanted} here; give a file, a folder or a glob that holds some", kind="missing"
        )
    full = [file for file in files if Path(file).stat().st_size]
    if full and not found.named:
        files = full
    if len(full) < len(files):
        empty = next(file for file in files if file not in full)
        raise SourceError(f"{empty}: the file is empty; there are no readings in it", kind="empty", place=empty)
    kept = replace(found, files=tuple(files), left_out=tuple(file for file in found.files if file not in files))
    counts = Counter(format_of(file).name if asked == AUTO else asked for file in files)
    return _one_of(found.source, counts), kept


def _of_folder(files: tuple[str, ...], asked: str) -> list[str]:
    """Return the files of a folder whose names show that they may hold readings in the format."""
    extensions = set() if asked == AUTO else set(formats()[asked].extensions)
    named = [(file, form) for file in files if (form := by_extension(file))]
    wanted = [
        file for file, form in named if extensions & set(form.extensions) or (not extensions and not form.database)
    ]
    return [file for file in wanted if not Path(file).name.lower().startswith(_ABOUT)] or wanted


def _one_of(source: str, counts: Counter[str]) -> Format:
    if len(counts) > 1:
        listed = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        raise SourceError(
            f"{source}: files of several formats ({listed}); choose one with `format` or a glob", kind="mixed"
        )
    ((name, count),) = counts.items()
    if count > 1 and formats()[name].database:
        raise SourceError(f"{source}: {count} databases; give one of them", kind="mixed")
    return formats()[name]


def format_of(file: str) -> Format:
    """Return the format of a file. Its first bytes decide, then its name."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError as error:
        raise SourceError(
            f"{file}: {error.strerror or error}; check the file's permissions", kind="path", place=file
        ) from error
    shown = next((each for each in formats().values() if each.sniff(file, head)), None)
    if shown is None and head.lstrip(_MARK).lstrip().lower().startswith(_PAGES):
        raise SourceError(
            f"{file}: a page of XML or HTML, not a table; what asks for a login often sends one instead of the file: "
            "fetch the export again, as CSV",
            kind="page",
            place=file,
        )
    return shown or by_extension(file) or formats()["csv"]
