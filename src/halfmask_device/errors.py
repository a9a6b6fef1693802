"""Everything that can go wrong, in one tree. It stands here because the device imports nothing else of ours.

    HalfmaskError
    ├── InputError           the caller can mend it
    │   ├── SourceError      a source is missing, empty, unreadable or of another format
    │   ├── ColumnError      a column is missing, or several could be meant
    │   ├── ReadingError     a user, time or value cannot be read
    │   ├── SettingError     a privacy setting is malformed or out of range
    │   ├── FileFormatError  a file of ours is truncated, foreign or too new
    │   └── OptionError      an option's value does not fit, alone or with the others
    └── RunError             the machine could not do it

A message names the value, the place (file, row, column, field) and the way out, in one line.
"""


class HalfmaskError(Exception):
    """Root of the tree; ``exit_code`` is what the command line ends with."""

    exit_code = 1


class InputError(HalfmaskError):
    """What was asked or given cannot be used as it is."""

    exit_code = 2


class SourceError(InputError):
    """A source of readings is missing, empty, unreadable or not what it was said to be."""


class ColumnError(InputError):
    """A column is missing, or several columns could be meant."""


class ReadingError(InputError):
    """A user, time or value cannot be read as one."""


class SettingError(InputError):
    """A privacy setting or a grid of them is malformed or out of range."""


class FileFormatError(InputError):
    """A file of ours is truncated, damaged, foreign, or from a newer version."""


class OptionError(InputError):
    """An option's value does not fit, alone or together with the others."""


class RunError(HalfmaskError):
    """The work could not be carried out: disk full, engine died, dependency missing."""
