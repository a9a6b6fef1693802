"""All exceptions, in one tree. They are defined here because the device imports nothing else of this project.

    HalfmaskError
    ├── InputError           the caller can correct it
    │   ├── SourceError      a source is missing, empty, unreadable or in another format
    │   ├── ColumnError      a column is missing, or several match
    │   ├── ReadingError     a user, time or value cannot be parsed
    │   │   └── StoppedError a reading may not be reported; those before it were
    │   ├── SettingError     a privacy setting is malformed or out of range
    │   ├── FileFormatError  one of our files is truncated, not ours, or too new
    │   ├── ShareError       a share of a split report is malformed, or its proof does not hold
    │   └── OptionError      an option's value is not valid, alone or with the others
    └── RunError             the machine could not do it
        └── ExtraError       a part of the package is not installed

A message names the value, the place (file, row, column, field) and the way out, in one line. It names an option by its
Python name in backquotes, `max_mean`, or with a value, `error=scaled`. The command line, the pages and the service each
translate this to their own spelling.
"""

import re

OPTION = re.compile(r"`([a-z][a-z0-9_]*)(?:=([^`]*))?`")
"""Matches an option in a message: its name and, if given, the recommended value."""


class HalfmaskError(Exception):
    """Root of the exception tree.

    ``code``     the kind of error for programs, such as `column.missing`
    ``message``  what happened
    ``hint``     what to do, if the message does not say it
    ``fields``   Python names of the options concerned, by default those that message and hint mention
    ``place``    file, row or column, if known
    """

    code: str = "error"

    def __init__(
        self, message: str, *, kind: str = "", hint: str = "", field: str | None = None, place: str = ""
    ) -> None:
        super().__init__(message)
        self.code = f"{type(self).code}.{kind}" if kind else type(self).code
        self.message, self.hint, self.place = message, hint, place
        named = (name for name, _ in OPTION.findall(f"{message} {hint}"))
        self.fields: tuple[str, ...] = (field,) if field else tuple(dict.fromkeys(named))

    def __str__(self) -> str:
        """Return one line: what happened, and the way out."""
        return f"{self.message}: {self.hint}" if self.hint else self.message


class InputError(HalfmaskError):
    """The input or the request cannot be used and must be corrected."""

    code = "input"


class SourceError(InputError):
    """A source of readings is missing, empty, unreadable or not in the stated format."""

    code = "source"


class ColumnError(InputError):
    """A column is missing, or several columns match."""

    code = "column"


class ReadingError(InputError):
    """A user, time or value cannot be parsed."""

    code = "reading"


class StoppedError(ReadingError):
    """A reading may not be reported: the budget is spent, or a different value was reported for its time."""


class SettingError(InputError):
    """A privacy setting or a grid of them is malformed or out of range."""

    code = "setting"


class FileFormatError(InputError):
    """One of our files is truncated, damaged, not ours, or from a newer version."""

    code = "file"


class ShareError(InputError):
    """A share of a split report is malformed, its measurement is out of range, or its proof does not hold."""

    code = "share"


class OptionError(InputError):
    """An option's value is not valid, alone or together with the others."""

    code = "option"


class RunError(HalfmaskError):
    """The work could not be carried out: disk full, engine died, dependency missing."""

    code = "run"


class ExtraError(RunError):
    """An optional part is not installed.

    ``fields``  the extras that contain it
    ``hint``    how to install them
    """

    code = "extra"
