"""Everything that can go wrong: the tree of `halfmask_device.errors`, which device and package share."""

from halfmask_device.errors import (
    ColumnError,
    ExtraError,
    FileFormatError,
    HalfmaskError,
    InputError,
    OptionError,
    ReadingError,
    RunError,
    SettingError,
    SourceError,
    StoppedError,
)

__all__ = [
    "ColumnError",
    "ExtraError",
    "FileFormatError",
    "HalfmaskError",
    "InputError",
    "OptionError",
    "ReadingError",
    "RunError",
    "SettingError",
    "SourceError",
    "StoppedError",
]
