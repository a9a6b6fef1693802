"""The program, run as a user runs it: in this process where only its words matter, in one of its own otherwise."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest

from halfmask.commands._program import main
from halfmask.errors import HalfmaskError

PROGRAM = [sys.executable, "-m", "halfmask"]
TERMINAL = {"COLUMNS": "200", "NO_COLOR": "1"}

STREAMS = ("stdin", "stdout", "stderr")

Ended = subprocess.CompletedProcess[str]


def process(*arguments: object, before: Callable[[], None] | None = None) -> Ended:
    """Run it to its end in a process of its own; ``before`` sets limits there."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        env=os.environ | TERMINAL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=before,
    )


def halfmask(*arguments: object, cwd: Path | None = None, columns: int = 200) -> Ended:
    """Run its entry point with these arguments here, which spares the start of a process."""
    out, complaint, code = io.StringIO(), io.StringIO(), 0
    with (
        patch.object(sys, "argv", ["halfmask", *map(str, arguments)]),
        patch.dict(os.environ, TERMINAL | {"COLUMNS": str(columns)}),
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(complaint),
    ):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess([], code, out.getvalue(), complaint.getvalue())


def piped(*arguments: object, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The same between pipes of bytes."""
    pipes = {name: io.TextIOWrapper(io.BytesIO(given if name == "stdin" else b"")) for name in STREAMS}
    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(sys, "argv", ["halfmask", *map(str, arguments)]))
        stack.enter_context(patch.dict(os.environ, TERMINAL))
        for name, pipe in pipes.items():
            stack.enter_context(patch.object(sys, name, pipe))
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        for pipe in (sys.stdout, sys.stderr):
            pipe.flush()
    out, complaint = (pipes[name].buffer.getvalue() for name in STREAMS[1:])  # type: ignore[attr-defined]
    return subprocess.CompletedProcess([], code, out, complaint)


def refused(*arguments: object, cwd: Path | None = None, run: Callable[..., Ended] = halfmask) -> str:
    """Run it to its refusal: nothing but one line on standard error after the notes, and exit code 2."""
    ended = run(*arguments, **({"cwd": cwd} if cwd else {}))
    lines = ended.stderr.splitlines()
    complaints = [line for line in lines if line.startswith("halfmask: ")]
    assert ended.returncode == 2, ended.stderr
    assert len(complaints) == 1, ended.stderr
    assert lines[-1] == complaints[0], ended.stderr
    assert "Traceback" not in ended.stderr
    assert "unexpected" not in ended.stderr
    assert ended.stdout == ""
    return complaints[0]


def error_of(*arguments: object, cwd: Path | None = None) -> HalfmaskError:
    """Run its entry point to its refusal, and return the error itself: its code, fields and place."""
    with patch.dict(os.environ, {"HALFMASK_TRACEBACK": "1"}), pytest.raises(HalfmaskError) as caught:
        halfmask(*arguments, cwd=cwd)
    return caught.value
