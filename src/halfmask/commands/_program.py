"""The ``halfmask`` program: one thin function a command, one place where errors become words and exit codes."""

import os
import signal
import sys
from itertools import pairwise

from cyclopts import CycloptsError

from halfmask.commands._app import app
from halfmask.commands._spelling import options, phrase
from halfmask.errors import HalfmaskError, InputError
from halfmask.extras import naming_extras

__all__ = ["app", "main"]

INTERRUPTED = "interrupted; nothing was half-written"


def main() -> None:
    """Run the program: 0 done, 1 failure, 2 bad input, 130 interrupted; never a traceback unless asked for.

    Commands run side by side what can be; threads within a matrix product would only be in each other's way (an audit
    took 50 core-seconds in place of 12). NumPy is not loaded yet, so it hears of that.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if os.environ.get("HALFMASK_TRACEBACK"):
        app(sys.argv[1:])
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        with naming_extras():
            app(sys.argv[1:], exit_on_error=False, print_error=False)
    except HalfmaskError as error:
        _fail(phrase(str(error), _command()), 2 if isinstance(error, InputError) else 1)
    except CycloptsError as error:
        _fail(f"{error} ({_way_out(str(error))})", 2)
    except KeyboardInterrupt:
        _fail(INTERRUPTED, 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _fail("out of memory", 1)
    except Exception as error:  # the edge: a bug still ends in one line and a way to see more
        if _interrupts:  # Ctrl-C within a library may come out as any error: DuckDB's own, or a half-done import
            _fail(INTERRUPTED, 130)
        _fail(f"unexpected {type(error).__name__}: {error} (HALFMASK_TRACEBACK=1 shows where)", 1)


def _way_out(message: str) -> str:
    """Where to look; an option said to lack a value may be followed by one that begins with a hyphen."""
    told, command = message.split(), _command()
    split = [option for option, value in pairwise(sys.argv[1:]) if option in told and value.startswith("-")]
    hyphen = f"if its value begins with a hyphen, write {split[0]}=VALUE; " if split else ""
    return f"{hyphen}see halfmask {f'{command} ' if command in options() else ''}--help"


def _command() -> str:
    """The command that runs: one word, or two where the first is a group."""
    one, two = " ".join(sys.argv[1:2]), " ".join(sys.argv[1:3])
    return two if two in options() else one


_interrupts: list[int] = []


def _interrupt(number: int, _: object) -> None:
    """Remember the interrupt: what it is raised in may make another error of it.

    A library that was being loaded leaves objects half made, which fail when they are dropped: nobody need hear that.
    """
    _interrupts.append(number)
    sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> None:
    print("halfmask:", " ".join(message.split()), file=sys.stderr)
    sys.exit(code)
