"""Where results may be written: not where there is no place for them, and not over what they are made of."""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from halfmask.errors import OptionError, RunError


def has_a_place(output: Path) -> None:
    """Raise an error unless the file can be written where it is to go."""
    if output.is_dir():
        raise OptionError(f"cannot write {output}: it is a folder; name a file in it")
    if not output.absolute().parent.is_dir():
        raise OptionError(f"cannot write {output}: there is no folder {output.parent}; make it first")
    if not os.access(output.absolute().parent, os.W_OK):
        raise RunError(f"cannot write {output}: the folder {output.parent} is not yours to write in; name another")


def is_not_read(output: Path, inputs: Iterable[Path]) -> None:
    """Raise an error where the output is one of the inputs, by whatever name or link."""
    for path in inputs if output.exists() else ():
        if path.exists() and path.samefile(output):
            named = "it" if path == output else f"the same file, {path},"
            raise OptionError(f"cannot write {output}: this command reads {named} and would destroy it; name another")


def meant(source: str, *, folders: bool) -> Iterator[Path]:
    """The files that a path, a pattern or the address of a file means; of a folder those whose names say readings."""
    path = Path(source.removeprefix("sqlite:///"))
    if folders and path.is_dir():
        from halfmask.data.places import by_name

        yield from (file for file in path.rglob("*") if by_name(str(file)))
    elif glob.has_magic(source) and not path.exists():
        yield from map(Path, glob.glob(source, recursive=True))
    else:
        yield path
