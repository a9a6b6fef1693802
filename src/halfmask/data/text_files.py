"""CSV and its kin: delimiter and header are found by looking, every cell is text until a rule reads it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from halfmask.data.duckdb_engine import FAILURES, headline
from halfmask.data.kinds import is_time
from halfmask.data.places import Place, compression
from halfmask.data.sql import DuckDBDialect
from halfmask.errors import SourceError

_SQL = DuckDBDialect()
_HEAD_BYTES = 1 << 20


@dataclass(frozen=True)
class Layout:
    """How the text is cut into cells. ``by_name``: the files' headers differ, so columns are matched by name."""

    delimiter: str
    quote: str
    escape: str
    skip: int
    comment: str
    header: bool
    names: tuple[str, ...]
    compression: str
    by_name: bool = False


def glob_free(path: str) -> str:
    """A path as a DuckDB pattern that means this one file."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def layout(connection: duckdb.DuckDBPyConnection, place: Place) -> Layout:
    """Look at the first file for the layout, and at the first line of the others for whether it is the same."""
    first = _sniff(connection, place.files[0])
    if not first.header or len(place.files) == 1:
        return first
    ours = _first_line(place.files[0])
    different = [file for file in place.files[1:] if _first_line(file) != ours]
    for file in different:
        other = _sniff(connection, file)
        if set(other.names) != set(first.names):
            odd = sorted(set(other.names) ^ set(first.names))
            raise SourceError(
                f"{file}: its columns differ from those of {place.files[0]} ({', '.join(map(repr, odd))}); "
                "give files with the same columns"
            )
    return Layout(**{**first.__dict__, "by_name": bool(different)})


def cer_layout(place: Place) -> Layout:
    """The fixed layout of the trial's files."""
    return Layout(" ", '"', '"', 0, "", False, ("meter", "code", "value"), compression(place.files[0]))


def _first_line(file: str) -> bytes:
    packed = compression(file)
    with pa.input_stream(file, compression=None if packed == "none" else packed) as opened:
        return bytes(opened.read(_HEAD_BYTES)).split(b"\n", 1)[0].rstrip(b"\r")


def _sniff(connection: duckdb.DuckDBPyConnection, file: str) -> Layout:
    """DuckDB's own look at the dialect; blanks are tried as delimiter where no other cuts the lines."""
    found = _sniff_with(connection, file, "")
    if len(found.names) == 1:
        blank = _sniff_with(connection, file, ", delim = ' '")
        found = blank if len(blank.names) > 1 else found
    if found.header and _is_data(found.names):
        found = Layout(**{**found.__dict__, "header": False})
    if not found.header:
        found = Layout(**{**found.__dict__, "names": tuple(map(str, range(len(found.names))))})
    return found


def _is_data(names: Sequence[str]) -> bool:
    """Whether what was taken for a header is a reading: a header holds no time."""
    return any(map(is_time, names))


def _sniff_with(connection: duckdb.DuckDBPyConnection, file: str, options: str) -> Layout:
    packed = compression(file)
    path = _SQL.literal(glob_free(file))
    query = (
        'SELECT "Delimiter", "Quote", "Escape", "SkipRows", "Comment", "HasHeader", "Columns" '
        f"FROM sniff_csv({path}, compression = '{packed}'{options})"
    )
    try:
        rows = connection.execute(query).fetchall()
    except FAILURES as error:
        raise SourceError(f"{file}: {_reason(str(error))}") from error
    delimiter, quote, escape, skip, comment, header, columns = rows[0]
    return Layout(
        delimiter=delimiter,
        quote=_given(quote) or '"',
        escape=_given(escape) or '"',
        skip=int(skip),
        comment=_given(comment),
        header=bool(header),
        names=tuple(column["name"] for column in columns),
        compression=packed,
    )


def _given(sniffed: str) -> str:
    return "" if sniffed == "(empty)" else sniffed


def _reason(message: str) -> str:
    if "not utf-8" in message:
        line = re.search(r"on Line: (\d+)", message)
        return f"line {line[1] if line else 1}: not UTF-8; convert the file first, for example with iconv"
    return f"cannot be read as CSV ({headline(message)}); check the file, or name its kind with --format"


def table(layout: Layout, place: Place, files: Sequence[str]) -> str:
    """The FROM clause that reads files of this layout with every cell as text."""
    paths = ", ".join(_SQL.literal(glob_free(file)) for file in files)
    options = {
        "delim": layout.delimiter,
        "quote": layout.quote,
        "escape": layout.escape,
        "comment": layout.comment,
        "compression": layout.compression,
    }
    written = [f"{name} = {_SQL.literal(value)}" for name, value in options.items()]
    written += [f"header = {layout.header}", f"skip = {layout.skip}", "hive_types_autocast = false"]
    written.append(f"hive_partitioning = {bool(place.partitions)}")
    if layout.by_name:
        written += ["all_varchar = true", "union_by_name = true"]
    else:
        columns = ", ".join(f"{_SQL.literal(name)}: 'VARCHAR'" for name in layout.names)
        written += ["auto_detect = false", f"columns = {{{columns}}}"]
    return f"read_csv([{paths}], {', '.join(written)})"
