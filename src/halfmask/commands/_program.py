"""The ``halfmask`` program: only here do errors become one line and an exit code."""

import atexit
import gc
import os
import re
import signal
import sys
from functools import cache, reduce
from itertools import pairwise

from cyclopts import App, Argument, CycloptsError, MissingArgumentError

from halfmask.commands import names
from halfmask.commands._app import app
from halfmask.commands._printing import print_to_errors, without_controls
from halfmask.errors import HalfmaskError, InputError
from halfmask.extras import naming_extras
from halfmask_device.errors import OPTION


def phrase(message: str, command: str | None = None) -> str:
    """Return a message with options as they are typed: `max_mean` is --max-mean, `error=scaled` is --error scaled.

    The spelling is that of the command that runs, else of `profile`, else of the first command that has the option.
    """

    def typed(found: re.Match[str]) -> str:
        name, value = found.groups()
        option = spelled(name, command or _command())
        if value == "False" and option.startswith("--"):
            return f"--no-{option.removeprefix('--')}"
        return option if value is None else f"{option} {value}"

    return OPTION.sub(typed, message)


def spelled(name: str, command: str | None) -> str:
    """Return how the command line spells an option of Python; the name itself if no command has it."""
    known = options()
    for each in (command, "profile", *known):
        if name in known.get(each or "", {}):
            return known[each or ""][name]
    return name


@cache
def options() -> dict[str, dict[str, str]]:
    """Return for each command its options: from the name in Python to the spelling."""
    return {name.replace("_", " "): _of(reduce(lambda at, word: at[word], name.split("_"), app)) for name in names()}


def _of(command: App) -> dict[str, str]:
    found = {}
    for argument in command.assemble_argument_collection():
        if argument.show:
            long = [name for name in argument.names if name.startswith("--")]
            found[argument.field_info.names[0]] = long[0] if long else argument.names[0]
    return found


__all__ = ["app", "main"]

INTERRUPTED = "interrupted; nothing was half-written"


def main() -> None:
    """Run the program: 0 done, 1 failure, 2 bad input, 130 interrupted; never a traceback unless asked for.

    Commands use several threads themselves, so each matrix product gets one: with more an audit took 50 core-seconds
    instead of 12. NumPy reads the setting when it is loaded, which is later.

    Python looks for garbage often while libraries are loaded, when there is hardly any, so that is made rare.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(50_000)
    atexit.register(_leave_garbage)
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
        _fail(f"{_said(error)} ({_way_out(str(error))})", 2)
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


def _leave_garbage() -> None:
    """Spare the last searches for garbage, 0.4 core-seconds for memory that is freed anyway; DuckDB complains of it."""
    if "duckdb" not in sys.modules:
        gc.freeze()


def _way_out(message: str) -> str:
    """Return what to do about a wrong command line; a value that begins with a hyphen is taken for an option."""
    words, command = message.split(), _command()
    split = [option for option, value in pairwise(sys.argv[1:]) if option in words and value.startswith("-")]
    hyphen = f"if its value begins with a hyphen, write {split[0]}=VALUE; " if split else ""
    return f"{hyphen}see halfmask {f'{command} ' if command in options() else ''}--help"


def _said(error: CycloptsError) -> str:
    """Return what is wrong with a command line; of options that are left out, all of them."""
    command = _command()
    if not isinstance(error, MissingArgumentError) or error.keyword or command not in options():
        return str(error)
    typed = {word.partition("=")[0] for word in sys.argv}
    of = reduce(lambda at, word: at[word], command.split(), app).assemble_argument_collection()
    left_out = [each for each in of if each.required and each.show and not typed & set(each.names)]
    named = [_needed(each) for each in left_out if each == error.argument or not each.field_info.is_positional]
    return f"{command} needs {', '.join(named)}" if named else str(error)


def _needed(argument: Argument) -> str:
    return argument.name.strip("-").upper() if argument.field_info.is_positional else argument.name


def _command() -> str:
    """Return the command that runs: one word, or two if the first has subcommands."""
    one, two = " ".join(sys.argv[1:2]), " ".join(sys.argv[1:3])
    return two if two in options() else one


_interrupts: list[int] = []


def _interrupt(number: int, _: object) -> None:
    """Remember the interrupt, because the code that it interrupts may turn it into another error.

    A library that is being loaded leaves objects half made, and their errors when they are deleted mean nothing.
    """
    _interrupts.append(number)
    sys.unraisablehook = lambda _: None
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> None:
    print_to_errors(f"halfmask: {without_controls(' '.join(message.split()))}")
    sys.exit(code)
