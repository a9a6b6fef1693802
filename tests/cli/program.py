"""The real program, run as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = [sys.executable, "-m", "halfmask.cli"]
DATA = Path(__file__).parents[3] / "shared" / "data"


def halfmask(*arguments: object, cwd: Path | None = None, **limits: object) -> subprocess.CompletedProcess[str]:
    """Run it to its end; ``limits`` go to `subprocess.run`."""
    command = [*PROGRAM, *map(str, arguments)]
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
    return subprocess.run(  # type: ignore[call-overload, no-any-return]
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=120, **limits
    )


def refused(*arguments: object, code: int = 2, cwd: Path | None = None) -> str:
    """Run it to its refusal: nothing but one line on standard error after the notes, and the exit code."""
    ended = halfmask(*arguments, cwd=cwd)
    lines = ended.stderr.splitlines()
    complaints = [line for line in lines if line.startswith("halfmask: ")]
    assert ended.returncode == code, ended.stderr
    assert len(complaints) == 1, ended.stderr
    assert lines[-1] == complaints[0], ended.stderr
    assert "Traceback" not in ended.stderr
    assert "unexpected" not in ended.stderr
    assert ended.stdout == ""
    return complaints[0]
