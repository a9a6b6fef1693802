"""A second process that draws figures too, because drawing is the longest part of a report.

It is started by name and fed through pipes. So nothing is forked, which threads of the caller could not bear, and a
caller's script need not be written for it. ``python -m halfmask.figures.drawing_process`` is that process.
"""

import contextlib
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any


class DrawingProcess:
    """To be used in a ``with``: it begins to import at once, and ends with the ``with``, whatever happens."""

    def __enter__(self) -> "DrawingProcess":
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__], env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self

    def call(self, work: Callable[..., Any], *given: Any) -> Any:
        """Return what ``work(*given)`` gives in that process; an EOFError, OSError or PickleError if that fails."""
        asked, answered = self._process.stdin, self._process.stdout
        if asked is None or answered is None:
            raise EOFError
        asked.write(pickle.dumps((work, given)))
        asked.flush()
        return pickle.load(answered)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        with contextlib.suppress(BrokenPipeError):  # of what was not sent
            self._process.communicate()


def main() -> None:
    """Do what is asked for on standard input, until it ends."""
    import matplotlib.backends.backend_svg  # noqa: F401 - meanwhile, and the next as well

    import halfmask.figures.registry  # noqa: F401

    gc.disable()  # it lives for seconds
    while True:
        try:
            work, given = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(work(*given), sys.stdout.buffer)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
