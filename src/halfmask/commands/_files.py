"""Files that commands read and write: campaigns, tables as CSV, and the checks before a result is written."""

import csv
import glob
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

from halfmask.errors import FileFormatError, OptionError, RunError, SourceError

T = TypeVar("T")


def is_writable(output: Path) -> None:
    """Raise an error if the file cannot be written."""
    if output.is_dir():
        raise OptionError(f"cannot write {output}: it is a folder; name a file in it", kind="folder")
    folder = output.absolute().parent
    if not folder.is_dir():
        raise OptionError(f"cannot write {output}: there is no folder {output.parent}; make it first", kind="no_folder")
    if not os.access(folder, os.W_OK):
        raise RunError(f"cannot write {output}: you may not write in the folder {output.parent}; name another")


def is_not_read(output: Path, inputs: Iterable[Path]) -> None:
    """Raise an error if the output is one of the inputs, also by another name or through a link."""
    for path in inputs if output.exists() else ():
        if path.exists() and path.samefile(output):
            named = "it" if path == output else f"the same file, {path},"
            raise OptionError(
                f"cannot write {output}: this command reads {named} and would destroy it; name another",
                kind="overwrites", place=str(path),
            )  # fmt: skip


def meant(source: str, *, folders: bool) -> Iterator[Path]:
    """Yield the files that a path, a pattern or an address means; for a folder, the files of readings in it."""
    path = Path(source.removeprefix("sqlite:///"))
    if folders and path.is_dir():
        from halfmask.data.formats import by_extension

        yield from (file for file in path.rglob("*") if by_extension(str(file)))
    elif glob.has_magic(source) and not path.exists():
        yield from map(Path, glob.glob(source, recursive=True))
    else:
        yield path


def from_campaign(path: Path | str, wanted: str, take: Callable[[Any], T]) -> T:
    """Return what ``take`` finds in a file of a campaign, as the consumer offers it or the service shows it.

    ``wanted`` says in words what the campaign must have for that.
    """
    try:
        return take(json.loads(Path(path).read_bytes()))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}; `campaign` names a file", place=str(path)) from error
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"{path} is not a campaign with {wanted}: save what is offered, or what the service shows of it",
            kind="campaign",
            place=str(path),
        ) from error


def write_csv(output: Path | str, rows: Iterable[Iterable[object]]) -> None:
    """Write a table, headings first, to a file, completely or not at all."""
    from halfmask.files import whole_file

    with whole_file(output) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        put_csv(file, rows)


def put_csv(file: TextIO, rows: Iterable[Iterable[object]]) -> None:
    """Write a table to an open file."""
    csv.writer(file, lineterminator="\n").writerows(rows)


def read_csv(path: Path | str, columns: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of a table: the place of each in words, and its cells by column.

    Raise an error if a column is missing, or if a row has another number of cells than the headings.
    """
    from halfmask.choice.requirements import read_rows

    rows, spelled = read_rows(path), {name.lower(): name for name in columns}
    heads = [spelled.get(cell.lower(), cell) for cell in rows[0][1]] if rows else []
    missing = [name for name in columns if name not in heads]
    if missing:
        raise SourceError(
            f"{path}: there is no column {missing[0]}; the columns are {', '.join(columns)}",
            kind="column", field=missing[0], place=str(path),
        )  # fmt: skip
    found = []
    for number, row in rows[1:]:
        place = f"{path}, row {number}"
        if len(row) != len(heads):
            raise SourceError(f"{place}: {len(row)} values instead of {len(heads)}", kind="row", place=place)
        found.append((place, dict(zip(heads, row, strict=True))))
    return found


def number_in(cells: Mapping[str, str], column: str, place: str) -> float:
    """Return the finite number in a column of a row of `read_csv`."""
    try:
        value = float(cells[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        where, text = f"{place}, column {column}", cells[column]
        raise SourceError(f"{where}: '{text}' is not a finite number", kind="number", field=column, place=place)
    return value
