"""Files that are either whole or not there."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from halfmask.errors import RunError


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path``; on success it takes the name, on any failure it goes.

    The old file stays intact until the new one is complete and on disk, whatever happens between
    (an exception, Ctrl-C, a full disk). ``OSError`` becomes a ``RunError`` that names the file.
    """
    target = Path(path)
    if target.is_dir():
        raise RunError(f"cannot write {target}: it is a folder")
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        with temporary.open("rb+") as written:
            os.fsync(written.fileno())
        temporary.replace(target)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error.strerror or error}; the old file, if any, is intact") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
