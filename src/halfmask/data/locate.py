"""Find the files of a path, a folder, a glob or an address. Files at an address are downloaded first.

``http://`` and ``https://`` use the standard library. ``s3://`` uses Arrow, which looks for credentials in the same
places as Amazon's tools. For another S3 store, write
``s3://bucket/folder?endpoint_override=host:port&scheme=http``.
"""

import glob
import shutil
import tempfile
import urllib.error
import urllib.request
import weakref
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from halfmask.errors import SourceError

_WEB, _STORES = ("http", "https"), ("s3",)
_TIMEOUT = 60
_LISTED = 5


class Workplace:
    """A temporary folder. It is deleted when no object refers to it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="halfmask-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class SourceFiles:
    """Files in the order in which they are read.

    ``source``    the name of the source for messages
    ``named``     whether the caller named each file, rather than a folder
    ``left_out``  files of the folder whose names show that they contain no readings
    """

    source: str
    files: tuple[str, ...] = ()
    named: bool = True
    left_out: tuple[str, ...] = ()
    workplace: Workplace | None = None

    @property
    def partitions(self) -> frozenset[str]:
        """Return the columns that are encoded in folder names, such as ``day`` in ``day=2026-01-31``."""
        parts = (part for file in self.files[:1] for part in Path(file).parts[:-1])
        return frozenset(part.partition("=")[0] for part in parts if "=" in part)

    @property
    def root(self) -> str:
        """Return the folder above all folders named ``key=value``."""
        parts = Path(self.files[0]).parts[:-1]
        depth = next((i for i, part in enumerate(parts) if "=" in part), len(parts))
        return str(Path(*parts[:depth])) if depth else "."

    def notes(self) -> tuple[str, ...]:
        """Return a note that names the files left out, if any."""
        names = [Path(file).name for file in self.left_out]
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        return (f"left out, no readings in it: {', '.join(names[:_LISTED])}{more}",) if names else ()


def locate(source: str) -> SourceFiles:
    """Return the files of a source. Folders are searched with their subfolders."""
    scheme = source.partition("://")[0].lower() if "://" in source else ""
    if scheme not in (*_WEB, *_STORES):
        return _on_disk(source)
    workplace = Workplace()
    fetched = (_from_web if scheme in _WEB else _from_store)(source, workplace.path)
    return replace(_on_disk(str(fetched)), source=without_password(source), workplace=workplace)


def _on_disk(source: str) -> SourceFiles:
    path = Path(source)
    try:
        if path.is_dir():
            found = sorted(str(file) for file in path.rglob("*") if _visible(file, path))
            return SourceFiles(source, tuple(found), named=False)
        if path.is_file():
            return SourceFiles(source, (source,))
        if glob.has_magic(source):
            matches = glob.glob(source, recursive=True)
            return SourceFiles(source, tuple(sorted(str(Path(each)) for each in matches if Path(each).is_file())))
    except (OSError, ValueError) as error:
        raise SourceError(f"{source!r}: {error}; give a file, a folder or a glob", kind="path") from error
    if "://" in source:
        raise SourceError(f"{source}: addresses of this kind are not read; fetch the files first", kind="address")
    raise SourceError(f"{source}: no such file or folder; check the path", kind="missing")


def _visible(file: Path, folder: Path) -> bool:
    """Return whether a file of a folder may contain readings: no part of its path begins with a dot or underscore."""
    inside = file.relative_to(folder).parts
    return file.is_file() and not any(part.startswith((".", "_")) for part in inside)


def without_password(source: str) -> str:
    """Return an address without user name, password and query."""
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def _from_web(source: str, folder: Path) -> Path:
    name = PurePosixPath(unquote(urlsplit(source).path)).name or "readings"
    target = folder / name
    try:
        with urllib.request.urlopen(source, timeout=_TIMEOUT) as answer, target.open("wb") as written:
            shutil.copyfileobj(answer, written)
    except (urllib.error.URLError, OSError, ValueError) as error:
        why = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise SourceError(
            f"{without_password(source)}: {why}; check the address", kind="fetch", place=without_password(source)
        ) from error
    return target


def _from_store(source: str, folder: Path) -> Path:
    """Download a file, or all files of a folder, from an object store."""
    try:
        store, path = fs.FileSystem.from_uri(source)
        single = store.get_file_info(path).type == fs.FileType.File
        target = folder / PurePosixPath(path).name if single else folder
        fs.copy_files(path, str(target), store, fs.LocalFileSystem())
    except (pa.ArrowException, OSError, ValueError) as error:
        why = f"{str(error).splitlines()[0]}; check address, region and credentials"
        raise SourceError(f"{without_password(source)}: {why}", kind="fetch", place=without_password(source)) from error
    if not any(file.is_file() for file in folder.rglob("*")):
        raise SourceError(f"{without_password(source)}: there are no files here; check the address", kind="fetch")
    return target
