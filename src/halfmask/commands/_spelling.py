"""Options in messages, as they are typed on the command line."""

import re
from functools import cache, reduce

from cyclopts import App

from halfmask.commands import names
from halfmask.commands._app import app
from halfmask_device.errors import OPTION


def phrase(message: str, command: str | None = None) -> str:
    """Return a message with options as they are typed: `max_mean` is --max-mean, `error=scaled` is --error scaled.

    The spelling is that of the command that runs, or of the first command that has the option.
    """

    def typed(found: re.Match[str]) -> str:
        name, value = found.groups()
        option = spelled(name, command)
        if value == "False" and option.startswith("--"):
            return f"--no-{option.removeprefix('--')}"
        return option if value is None else f"{option} {value}"

    return OPTION.sub(typed, message)


def spelled(name: str, command: str | None) -> str:
    """Return how the command line spells an option of Python; the name itself if no command has it."""
    known = options()
    for each in (command, *known):
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
