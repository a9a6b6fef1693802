"""Room on disk for arrays larger than memory, which goes with the process whatever becomes of it."""

import mmap
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from halfmask.errors import RunError


class Room:
    """Arrays in files without a name: the system frees them when the last user is gone, even after a kill."""

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or tempfile.gettempdir()

    def array(self, length: int, kind: type[np.generic]) -> npt.NDArray[Any]:
        """An array of zeros. Its disk space is taken at once: a mapped page that finds none would kill the process."""
        size = length * np.dtype(kind).itemsize
        if not size:
            return np.zeros(0, kind)
        try:
            with tempfile.TemporaryFile(prefix="halfmask-", dir=self.folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)
                return np.frombuffer(mmap.mmap(file.fileno(), size), kind)
        except OSError as error:
            raise RunError(
                f"no room for {size / 1e9:.1f} GB of readings in {self.folder}: {error.strerror or error}; "
                "free some or set TMPDIR to a larger disk"
            ) from error
