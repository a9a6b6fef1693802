"""Everything that can go wrong, in one tree. It stands here because the device imports nothing else of ours.

    HalfmaskError
    ├── InputError           the caller can mend it
    │   ├── SourceError      a source is missing, empty, unreadable or of another format
    │   ├── ColumnError      a column is missing, or several could be meant
    │   ├── ReadingError     a user, time or value cannot be read
    │   │   └── StoppedError a reading may not be reported, and those before it were
    │   ├── SettingError     a privacy setting is malformed or out of range
    │   ├── FileFormatError  a file of ours is truncated, foreign or too new
    │   └── OptionError      an option's value does not fit, alone or with the others
    └── RunError             the machine could not do it
        └── ExtraError       a part of the package is not installed

A message names the value, the place (file, row, column, field) and the way out, in one line. It names an option by its
name in Python between backquotes, `max_mean`, or with a value, `error=scaled`: the command line, the pages and the
service each write that in their own way.
"""

import re
from typing import ClassVar

OPTION = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")
"""An option in a message: its name, and the value that is advised where one is."""


class HalfmaskError(Exception):
    """Root of the tree.

    ``code``     the kind of error, one word for programs, the same in all versions
    ``message``  what happened
    ``hint``     the way out, where the message does not say it
    ``fields``   options that it is about, by their names in Python: those given, or those that message and hint name
    ``place``    file, row or column where it happened, where that is known
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "", field: str | None = None, place: str = "") -> None:
        super().__init__(message)
        self.message, self.hint, self.place = message, hint, place
        named = (name for name, _ in OPTION.findall(f"{message} {hint}"))
        self.fields: tuple[str, ...] = (field,) if field else tuple(dict.fromkeys(named))

    def __str__(self) -> str:
        """One line: what happened, and the way out."""
        return f"{self.message}: {self.hint}" if self.hint else self.message


class InputError(HalfmaskError):
    """What was asked or given cannot be used as it is."""

    code = "input"


class SourceError(InputError):
    """A source of readings is missing, empty, unreadable or not what it was said to be."""

    code = "source"


class ColumnError(InputError):
    """A column is missing, or several columns could be meant."""

    code = "column"


class ReadingError(InputError):
    """A user, time or value cannot be read as one."""

    code = "reading"


class StoppedError(ReadingError):
    """A reading may not be reported: a limit is reached, or its time was reported with another value."""


class SettingError(InputError):
    """A privacy setting or a grid of them is malformed or out of range."""

    code = "setting"


class FileFormatError(InputError):
    """A file of ours is truncated, damaged, foreign, or from a newer version."""

    code = "file"


class OptionError(InputError):
    """An option's value does not fit, alone or together with the others."""

    code = "option"


class RunError(HalfmaskError):
    """The work could not be carried out: disk full, engine died, dependency missing."""

    code = "run"


class ExtraError(RunError):
    """A part of the package is not installed: ``fields`` are the extras that have it, the hint installs them."""

    code = "extra"
