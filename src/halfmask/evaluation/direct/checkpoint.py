"""Results of a long run, saved to disk as they are found, so that an interrupted run can be resumed."""

import json
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from halfmask.arrays import FloatArray
from halfmask.errors import FileFormatError, OptionError, RunError
from halfmask.evaluation.metrics import METRICS
from halfmask.evaluation.sampling import Subset
from halfmask.files import whole_file
from halfmask.mechanisms.setting import PrivacySetting
from halfmask.profiles.profile import Profile

SECONDS = 1.0
VERSION = 2
SUBSET = "subset-{:06d}.npy"
"""Name of a subset's file, by its index."""


def describe(
    profile: Profile,
    settings: Sequence[PrivacySetting],
    subsets: Sequence[Subset],
    aggregate: str,
    error: str,
    seed: int,
) -> dict[str, Any]:
    """Return the description of a run; two runs with equal descriptions have equal results."""
    users = b"".join(np.array([s.size, s.repeat, *s.rows], "<i8").tobytes() for s in subsets)
    return {
        "version": VERSION,
        "data": profile.fingerprint(),
        "settings": sha256("\n".join(map(str, settings)).encode()).hexdigest()[:16],
        "subsets": sha256(users).hexdigest()[:16],
        "aggregate": aggregate,
        "error": error,
        "seed": seed,
    }


class Checkpoint:
    """Results (settings, subsets, 6), NaN until they are known; without a folder, in memory only.

    Each subset has a small file, which is rewritten as a whole about once a second and by `write`.
    """

    def __init__(self, folder: Path | None, run: dict[str, Any], shape: tuple[int, int], resume: bool) -> None:
        self.folder = folder
        self.results: FloatArray = np.full((*shape, len(METRICS)), np.nan)
        self._changed: set[int] = set()
        self._written = -np.inf
        if folder is None:
            if resume:
                raise OptionError(
                    "to resume, name the folder of the checkpoint", kind="no-checkpoint", field="checkpoint"
                )
            return
        about = folder / "run.json"
        if about.exists() and not resume:
            raise OptionError(
                f"{folder} holds the checkpoint of an earlier run: resume it, or name another folder",
                kind="earlier-run",
                field="resume",
            )
        if about.exists():
            self._compare(about, run)
            self._load(folder)
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot make the folder {folder}: {error.strerror or error}") from error
        with whole_file(about) as path:
            path.write_text(json.dumps(run, indent=1))

    def _compare(self, about: Path, run: dict[str, Any]) -> None:
        try:
            old = json.loads(about.read_text())
            differ = [name for name, value in run.items() if old.get(name) != value]
        except (OSError, ValueError, AttributeError) as error:
            raise FileFormatError(
                f"{about} is not the description of a run: name another folder", kind="not-ours"
            ) from error
        if differ:
            raise OptionError(
                f"{self.folder} is the checkpoint of another run ({', '.join(differ)} differ): name another folder",
                kind="another-run",
                field="checkpoint",
            )

    def _load(self, folder: Path) -> None:
        for subset in range(self.results.shape[1]):
            file = folder / SUBSET.format(subset)
            if not file.exists():
                continue
            try:
                held = np.load(file, allow_pickle=False)
            except (OSError, ValueError, EOFError) as error:
                raise FileFormatError(
                    f"{file} is damaged: delete it, and its samples are evaluated again", kind="damaged"
                ) from error
            if held.shape != self.results[:, subset].shape or held.dtype != np.float64:
                raise FileFormatError(
                    f"{file} has shape {held.shape}: delete it, and its samples are evaluated again", kind="damaged"
                )
            self.results[:, subset] = held

    def missing(self, subset: int) -> list[int]:
        """Return the settings whose results are not yet known."""
        found: list[int] = np.flatnonzero(np.isnan(self.results[:, subset, 0])).tolist()
        return found

    def put(self, setting: int, subset: int, metrics: Sequence[float]) -> None:
        """Store one result."""
        self.results[setting, subset] = metrics
        self._changed.add(subset)
        if time.monotonic() - self._written > SECONDS:
            self.write()

    def write(self) -> None:
        """Write all changes to disk."""
        if self.folder is not None:
            for subset in sorted(self._changed):
                with whole_file(self.folder / SUBSET.format(subset)) as path, path.open("wb") as file:
                    np.save(file, self.results[:, subset])
        self._changed.clear()
        self._written = time.monotonic()
