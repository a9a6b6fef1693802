"""From what a caller wrote to the files that are meant, and the format they are in."""

import glob
import zipfile
from dataclasses import dataclass
from pathlib import Path

from halfmask.errors import OptionError, SourceError

_EXTENSIONS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".xlsx": "sheet",
    ".xlsm": "sheet",
    ".xlsb": "sheet",
    ".xls": "sheet",
    ".ods": "sheet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".avro": "avro",
    ".zip": "zip",
    ".tar": "zip",
    ".tgz": "zip",
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
    ".db": "sqlite",
}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".xz": "xz"}
_PAGES = (b"<?xml", b"<html", b"<!doctype", b"<feed")
FORMATS = ("auto", "csv", "parquet", "cer", "json", "sheet", "arrow", "avro", "zip", "duckdb", "sqlite")
DATABASES = ("duckdb", "sqlite", "postgres", "mysql")
MEMORY = ":memory:"
"""A database of no file: its queries read files, ``select * from 'x.csv'``."""
FILE_FORMATS = ("csv", "parquet", "cer")
"""What Spark reads as well."""
_SERVERS = {"postgresql": "postgres", "postgres": "postgres", "mysql": "mysql", "mariadb": "mysql"}
_BESIDE = ("readme", "license", "licence", "notice", "changelog", "metadata", "manifest", "schema", "notes", "about")
"""Beginnings of the names of files that lie beside readings and hold none."""


@dataclass(frozen=True)
class Place:
    """Files of one format, in the order in which they are read.

    ``named``: the caller named each of them, rather than a folder that they are in. ``left_out`` are files of that
    folder that hold no readings by their names.
    """

    source: str
    format: str
    files: tuple[str, ...]
    named: bool = True
    left_out: tuple[str, ...] = ()

    @property
    def partitions(self) -> frozenset[str]:
        """The columns that the folders' names hold."""
        return frozenset(part.partition("=")[0] for part in Path(self.files[0]).parts[:-1] if "=" in part)

    @property
    def root(self) -> str:
        """The folder above all folders named ``key=value``."""
        parts = Path(self.files[0]).parts[:-1]
        depth = next((i for i, part in enumerate(parts) if "=" in part), len(parts))
        return str(Path(*parts[:depth])) if depth else "."


def find(source: str, format: str) -> Place:
    """The files meant by a path, a folder or a glob, all of one format and none of them empty."""
    if format not in FORMATS:
        raise OptionError(f"`format` {format!r} is none of {', '.join(FORMATS)}")
    if source == MEMORY:
        return Place(source, "duckdb", (source,))
    if (scheme := source.partition("://")[0]) in _SERVERS and "://" in source:
        return Place(source, _SERVERS[scheme], ())
    seen, named = _files(source)
    files = seen if named else [file for file in seen if _wanted(file, format)]
    if not named and any(not _beside(file) for file in files):
        files = [file for file in files if not _beside(file)]
    if not files:
        wanted = "CSV or Parquet files" if format == "auto" else f"{format} files"
        raise SourceError(f"{source}: no {wanted} here; give a file, a folder or a glob that holds some")
    formats = {file: format if format != "auto" else format_of(file) for file in files}
    if not named and any(Path(file).stat().st_size for file in files):
        formats = {file: kind for file, kind in formats.items() if Path(file).stat().st_size}
        files = list(formats)
    empty = next((file for file in files if Path(file).stat().st_size == 0), None)
    if empty is not None:
        raise SourceError(f"{empty}: the file is empty; there are no readings in it")
    left_out = tuple(file for file in seen if file not in formats)
    return Place(source, _one_format(source, formats), tuple(files), named, left_out)


def _files(source: str) -> tuple[list[str], bool]:
    """The files meant, and whether each was meant by name; a folder is searched all the way down."""
    path = Path(source)
    try:
        if path.is_dir():
            return sorted(str(file) for file in path.rglob("*") if _visible(file, path)), False
        if path.is_file():
            return [source], True
        if glob.has_magic(source):
            found = [Path(match) for match in glob.glob(source, recursive=True)]
            return sorted(str(file) for file in found if file.is_file()), True
    except (OSError, ValueError) as error:
        raise SourceError(f"{source!r}: {error}; give a file, a folder or a glob") from error
    if "://" in source:
        raise SourceError(f"{source}: no way to read such an address is known; fetch the files first")
    raise SourceError(f"{source}: no such file or folder; check the path")


def _visible(file: Path, folder: Path) -> bool:
    """Whether a file in a folder is meant: not the markers and hidden files that writers leave behind."""
    inside = file.relative_to(folder).parts
    return file.is_file() and not any(part.startswith((".", "_")) for part in inside)


def _wanted(file: str, format: str) -> bool:
    """Whether a file met in a folder is of the format sought, by its name."""
    found = by_name(file)
    if format == "auto":
        return found is not None and found not in DATABASES
    return found == ("csv" if format == "cer" else format)


def _beside(file: str) -> bool:
    return Path(file).name.lower().startswith(_BESIDE)


def by_name(file: str) -> str | None:
    """The format that a file's name says, compression aside."""
    path = Path(file)
    suffix = path.with_suffix("").suffix if path.suffix.lower() in _COMPRESSED else path.suffix
    return _EXTENSIONS.get(suffix.lower())


def format_of(file: str) -> str:
    """The format of a file: its first bytes outrank its name, and what has neither is taken for CSV."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(64)
    except OSError as error:
        raise SourceError(f"{file}: {error.strerror or error}; check the file's permissions") from error
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if head.startswith(b"ARROW1"):
        return "arrow"
    if head.startswith(b"Obj\x01"):
        return "avro"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "sheet" if head[0] == 0xD0 or _is_workbook(file) else "zip"
    if head.lstrip().lower().startswith(_PAGES):
        raise SourceError(
            f"{file}: a page of XML or HTML, no table; what asks for a login often sends one instead of the file: "
            "fetch the export again, as CSV"
        )
    named = by_name(file)
    if named is None and head.lstrip()[:1] in (b"{", b"["):
        return "json"
    return named or "csv"


def _is_workbook(file: str) -> bool:
    """Whether a zip is a sheet of Excel or OpenDocument."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return by_name(file) == "sheet"
    return "[Content_Types].xml" in names or ("mimetype" in names and "content.xml" in names)


def compression(file: str) -> str:
    """How a text file is compressed, by its first bytes."""
    with open(file, "rb") as opened:
        head = opened.read(6)
    for magic, name in ((b"\x1f\x8b", "gzip"), (b"BZh", "bz2"), (b"\xfd7zXZ\0", "xz")):
        if head.startswith(magic):
            return name
    return "zstd" if head[:4] == b"\x28\xb5\x2f\xfd" else "none"


def _one_format(source: str, formats: dict[str, str]) -> str:
    found = sorted(set(formats.values()))
    if len(found) > 1:
        listed = ", ".join(f"{list(formats.values()).count(one)} {one}" for one in found)
        raise SourceError(f"{source}: files of several formats ({listed}); choose one with `format` or a glob")
    if len(formats) > 1 and found[0] in DATABASES:
        raise SourceError(f"{source}: {len(formats)} databases; give one of them")
    return found[0]
