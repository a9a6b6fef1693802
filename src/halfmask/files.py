"""Write files completely or not at all. Tables and pages state their format and version."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halfmask import __version__
from halfmask.errors import FileFormatError, RunError

if TYPE_CHECKING:
    import pyarrow as pa

ABOUT = b"halfmask"
"""The key of the description (JSON) in a table's metadata."""


@contextmanager
def whole_file(path: str | Path, mode: int = 0o666) -> Iterator[Path]:
    """Yield a temporary path in the folder of ``path``. On success it is renamed to ``path``; on failure it is deleted.

    The old file stays intact until the new one is complete and on disk, even after an exception, Ctrl-C or a full disk.
    The new file has the permissions ``mode``, reduced by the umask. An ``OSError`` becomes a ``RunError`` that names
    the file.
    """
    target = Path(path)
    if target.is_dir():
        raise RunError(f"cannot write {target}: it is a folder")
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        temporary.touch(mode, exist_ok=False)
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except OSError as error:
        raise RunError(
            f"cannot write {target}: {error.strerror or error}; the old file, if any, is intact", kind="not-written"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def about_table(format: str, version: int, about: dict[str, Any]) -> dict[bytes, str]:
    """Return the metadata of a Parquet table: format, version, the version of halfmask, and a description."""
    page = {"format": format, "version": version, "halfmask": __version__, **about}
    return {ABOUT: json.dumps(page, sort_keys=True)}


def read_table(path: str | Path, format: str, version: int, maker: str) -> "tuple[pa.Table, dict[str, Any]]":
    """Read a Parquet table and its description.

    ``maker``  the command that writes such a table, for the error's advice

    Raise a FileFormatError if the file is missing, damaged, from a newer version or not such a table.
    """
    import pyarrow as pa  # here, because Arrow takes long to import
    import pyarrow.parquet as pq

    kind = format.removeprefix("halfmask ")
    try:
        with pq.ParquetFile(path) as file:  # pq.read_table takes long to import
            table = file.read()
        about = json.loads((table.schema.metadata or {})[ABOUT])
        if about["format"] != format:
            raise KeyError(format)
    except FileNotFoundError as error:
        raise FileFormatError(f"{path}: no such {kind}: '{maker}' makes one", kind="missing") from error
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        why = "truncated, damaged or of another kind"
        raise FileFormatError(
            f"{path} is not a whole {kind} ({why}): make it with '{maker}'", kind="not-ours"
        ) from error
    if about["version"] > version:
        raise FileFormatError(
            f"{path} is of version {about['version']}; this halfmask reads up to {version}: upgrade it", kind="version"
        )
    return table, about


def read_page(path: str | Path, format: str, version: int, maker: str) -> dict[str, Any]:
    """Read a JSON object.

    ``maker``  the command that writes such a file, for the error's advice

    Raise a FileFormatError if the file is missing, damaged, from another version or not such an object.
    """
    kind = format.removeprefix("halfmask ")
    try:
        page = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FileFormatError(f"{path}: no such {kind}: '{maker}' makes one", kind="missing") from error
    except (OSError, ValueError) as error:
        why = "it is no text" if isinstance(error, UnicodeDecodeError) else f"no JSON: {error}"
        told = error.strerror if isinstance(error, OSError) else why
        raise FileFormatError(f"{path} is not a {kind} ({told}): make one with '{maker}'", kind="not-ours") from error
    if not isinstance(page, dict) or page.get("format") != format:
        raise FileFormatError(f"{path} is not a {kind} (no '{format}' in it): make one with '{maker}'", kind="not-ours")
    if page.get("version") != version:
        raise FileFormatError(
            f"{path} is a {kind} of version {page.get('version')}; this halfmask reads {version}: "
            f"upgrade halfmask where that is newer, or recreate it with '{maker}'",
            kind="version",
        )
    return page


def write_page(page: dict[str, Any], path: str | Path) -> None:
    """Write a JSON object to a file; equal objects give equal bytes."""
    text = json.dumps(page, indent=2, ensure_ascii=False, allow_nan=False)
    with whole_file(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")
