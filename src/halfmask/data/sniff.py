"""Find the format of files: by their first bytes, then by their names. If text shows neither, it is read as CSV."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

from halfmask.data.formats import AUTO, Format, by_extension, formats, names
from halfmask.data.locate import SourceFiles
from halfmask.errors import OptionError, SourceError

_HEAD_BYTES = 64
_PLAIN = "csv"
_PAGES = (b"<?xml", b"<html", b"<!doctype", b"<feed")
_ABOUT = ("readme", "license", "licence", "notice", "changelog", "metadata", "manifest", "schema", "notes", "about")
"""How the names of files begin that describe readings and hold none."""


def sniff(found: SourceFiles, asked: str) -> tuple[Format, SourceFiles]:
    """Return the format asked for, or the one that all files have; and the files of this format."""
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
    """Return the files of a folder that may hold readings in the format, by their names."""
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
    """Return the format of a file. If its first bytes and its name disagree, the bytes decide."""
    try:
        with open(file, "rb") as opened:
            head = opened.read(_HEAD_BYTES)
    except OSError as error:
        raise SourceError(
            f"{file}: {error.strerror or error}; check the file's permissions", kind="path", place=file
        ) from error
    if head.lstrip().lower().startswith(_PAGES):
        raise SourceError(
            f"{file}: a page of XML or HTML, not a table; what asks for a login often sends one instead of the file: "
            "fetch the export again, as CSV",
            kind="page",
            place=file,
        )
    sniffed = next((each for each in formats().values() if each.sniff(file, head)), None)
    return sniffed or by_extension(file) or formats()[_PLAIN]
