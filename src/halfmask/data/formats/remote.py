"""Readings at an address: fetched into a folder of our own first, then read like any file.

``http://`` and ``https://`` come through the standard library, ``s3://`` through Arrow, which finds credentials where
Amazon's own tools do. ``s3://bucket/folder?endpoint_override=host:port&scheme=http`` reaches another store.
"""

import shutil
import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyarrow import fs

from halfmask.errors import SourceError

WEB = ("http", "https")
STORES = ("s3",)
_TIMEOUT = 60


def is_remote(source: str) -> bool:
    """Whether a source is an address that has to be fetched."""
    return "://" in source and source.partition("://")[0].lower() in (*WEB, *STORES)


def fetch(source: str, folder: Path) -> Path:
    """Copy what an address means into a folder, a piece at a time; a file, or the folder where there are several."""
    scheme = source.partition("://")[0].lower()
    return _from_web(source, folder) if scheme in WEB else _from_store(source, folder)


def shown(source: str) -> str:
    """An address without the name, password and query it may hold."""
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
        raise SourceError(f"{shown(source)}: {why}; check the address") from error
    return target


def _from_store(source: str, folder: Path) -> Path:
    try:
        store, path = fs.FileSystem.from_uri(source)
        info = store.get_file_info(path)
        if info.type == fs.FileType.File:
            target = folder / PurePosixPath(path).name
            _copy(store, path, target)
            return target
        found = store.get_file_info(fs.FileSelector(path, recursive=True))
        files = [one for one in found if one.type == fs.FileType.File]
        for one in files:
            _copy(store, one.path, folder / PurePosixPath(one.path).relative_to(path))
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise SourceError(f"{shown(source)}: {reason}; check address, region and credentials") from error
    if not files:
        raise SourceError(f"{shown(source)}: there are no files here; check the address")
    return folder


def _copy(store: fs.FileSystem, path: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with store.open_input_stream(path) as opened, target.open("wb") as written:
        shutil.copyfileobj(opened, written)
