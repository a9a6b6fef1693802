"""Where the processors' time of a command goes, by part: ``python -m benchmarks spent``.

Each command runs in a process of its own, in which a thread looks every few milliseconds at what the other threads of
Python do. The processors' time since the last look is divided among those at work, and each share is added to the part
of the program in which that thread is. Nothing is asserted. ``HALFMASK_BENCH_USERS`` and ``HALFMASK_BENCH_DAYS`` make
the panel smaller, and ``HALFMASK_BENCH_FUNCTIONS=30`` also prints so many functions of each command.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType

EVERY = 0.002
START = "start and end of Python"
WAITING = ("threading.py", "queue.py", "concurrent/futures/thread.py", "concurrent/futures/_base.py", "selectors.py")
ANYWHERE = {
    "<frozen importlib": "imports",
    "/numba/": "loading compiled code",
    "halfmask/profiles/store": "reading and writing files",
    "halfmask/files.py": "reading and writing files",
}
"""Parts by the name of any file on the stack."""
INNERMOST = {
    "halfmask/data/": "reading the source",
    "halfmask/profiles/compiled_count": "counting readings",
    "halfmask/profiles/": "the profile's other work",
    "analytic/fine_correction": "entropy: finer grid",
    "analytic/local_kernel": "entropy: kernel",
    "analytic/log_grid": "entropy: transforms",
    "evaluation/analytic/global": "errors of totals",
    "evaluation/analytic/error_summaries": "errors of totals",
    "evaluation/analytic/": "other local errors",
    "evaluation/study": "the study's table",
    "evaluation/": "scores",
    "halfmask/mechanisms/": "laws of noise",
    "protection/attacks/": "attacks",
    "protection/guarantees/": "guarantees",
    "protection/": "limit and best guess",
    "halfmask/audits/": "limit and best guess",
    "halfmask_device/": "the device's sampler",
    "halfmask/menus/": "menu",
    "halfmask/": "the rest",
}
"""Parts by the name of the innermost file of the package."""


def place(frame: FrameType | None) -> tuple[str, str] | None:
    """Return part and function of a thread; None if it waits."""
    if frame is None or frame.f_code.co_filename.endswith(WAITING):
        return None
    own = None
    while frame is not None:
        name = frame.f_code.co_filename
        for file, part in ANYWHERE.items():
            if file in name:
                return part, ""
        if own is None and ("/halfmask/" in name or "/halfmask_device/" in name):
            own = next(part for file, part in INNERMOST.items() if file in name)
            function = f"{name.rpartition('/halfmask')[2]}:{frame.f_code.co_name}"
        frame = frame.f_back
    return None if own is None else (own, function)


class Looking(threading.Thread):
    """Adds processors' time to parts until it is told to stop."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.parts: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()
        self.done = threading.Event()

    def run(self) -> None:
        before = time.process_time()
        while not self.done.wait(EVERY):
            now = time.process_time()
            frames = (frame for thread, frame in sys._current_frames().items() if thread != self.ident)
            places = [found for found in map(place, frames) if found is not None]
            for part, function in places or [("the rest", "")]:
                self.parts[part] += (now - before) / max(len(places), 1)
                self.functions[f"{part}: {function}"] += (now - before) / max(len(places), 1)
            before = now


def child(kept: str, *arguments: str) -> None:
    """Run a command while looking at it, and keep what was seen."""
    looking = Looking()
    looking.start()
    sys.argv = ["halfmask", *arguments]
    try:
        from halfmask.commands._program import main

        main()
    finally:
        looking.done.set()
        looking.join()
        Path(kept).write_text(json.dumps([looking.parts, looking.functions]), encoding="utf-8")


def spent(command: list[str], folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """Return the processors' seconds of a command by part and by function."""
    kept, used = folder / "spent.json", os.times()
    subprocess.run([sys.executable, "-m", "benchmarks.spent", str(kept), *command], check=True, capture_output=True)
    now = os.times()
    parts, functions = json.loads(kept.read_text(encoding="utf-8"))
    taken = now.children_user + now.children_system - used.children_user - used.children_system
    return {START: taken - sum(parts.values()), **parts}, functions


def run() -> None:
    """Print a table for each command."""
    from benchmarks.commandline import commands
    from benchmarks.profile import DAYS, USERS, panel

    users, days = (int(os.environ.get(f"HALFMASK_BENCH_{n}", d)) for n, d in (("USERS", USERS), ("DAYS", DAYS)))
    most = int(os.environ.get("HALFMASK_BENCH_FUNCTIONS", "0"))
    with tempfile.TemporaryDirectory() as kept:
        for name, (first, *command) in commands(panel(users, days), Path(kept)).items():
            if first == sys.executable:
                continue
            for _ in range(2):  # the first fills the cache of compiled code
                parts, functions = spent(command, Path(kept))
            print(f"{name}: {sum(parts.values()):.2f} s", flush=True)
            for part, taken in sorted(parts.items(), key=lambda each: -each[1]):
                if taken >= 0.01 * sum(parts.values()):
                    print(f"  {taken:6.2f}  {part}")
            for function, taken in Counter(functions).most_common(most):
                print(f"      {taken:6.2f}  {function}")


if __name__ == "__main__":
    child(*sys.argv[1:])
