"""The error classes of `halfmask_device.errors`, which the device and this package share."""

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
    ShareError,
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
    "ShareError",
    "SourceError",
    "StoppedError",
]
