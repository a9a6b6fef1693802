"""Arrays on disk, for readings larger than memory; their space is always freed when the process ends."""

import mmap
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.errors import RunError


def disk_array(length: int, kind: type[np.generic], folder: str | None) -> npt.NDArray[Any]:
    """Return an array of zeros in a file without a name, which the system frees after its last use, even if the process
    is killed.

    Disk space is reserved at once, because the process would be killed if a mapped page found none.
    """
    size, folder = length * np.dtype(kind).itemsize, folder or tempfile.gettempdir()
    if not size:
        return np.zeros(0, kind)
    try:
        with tempfile.TemporaryFile(prefix="halfmask-", dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, size)
            return np.frombuffer(mmap.mmap(file.fileno(), size), kind)
    except OSError as error:
        raise RunError(
            f"no room for {size / 1e9:.1f} GB of readings in {folder}: {error.strerror or error}; "
            "free some or set TMPDIR to a larger disk"
        ) from error
