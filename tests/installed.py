"""Runs command lines in one process, each as the program runs it, and prints how each ended, as JSON.

It imports nothing but halfmask, so that it runs in environments that hold no more.
"""

import contextlib
import io
import json
import sys
from typing import Any

from halfmask.commands._program import main


def ended(line: str) -> dict[str, Any]:
    """Exit code, and the lines of standard error."""
    complaint, code = io.StringIO(), 0
    sys.argv, sys.stdin = ["halfmask", *line.split()], io.TextIOWrapper(io.BytesIO(b"time,value\n1,0.5\n"))
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())), contextlib.redirect_stderr(complaint):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    return {"code": code, "said": complaint.getvalue().splitlines()}


if __name__ == "__main__":
    print(json.dumps({name: ended(line) for name, line in json.load(sys.stdin).items()}))
