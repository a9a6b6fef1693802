"""CSV and its kin: delimiter and header are found by looking, every cell is text until a rule reads it."""

import codecs
import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from halfmask.data.engines.sql import DuckDBDialect
from halfmask.data.kinds import is_number, is_time
from halfmask.data.places import Place, compression
from halfmask.errors import SourceError

_SQL = DuckDBDialect()
_HEAD_BYTES = 1 << 20
_HEAD_LINES = 200
_DELIMITERS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Layout:
    """How the text is cut into cells.

    ``skip`` lines stand before the table; ``by_name``: the files' headers differ in order, so that columns are
    matched by name.
    """

    delimiter: str
    skip: int
    comment: str
    header: bool
    names: tuple[str, ...]
    compression: str
    by_name: bool = False


def cer_layout(place: Place) -> Layout:
    """The fixed layout of the trial's files."""
    return Layout(" ", 0, "", False, ("meter", "code", "value"), compression(place.files[0]))


def layout(place: Place) -> Layout:
    """Look at the first file for the layout, and at the first lines of the others for whether it is the same."""
    first = look(place.files[0])
    by_name = False
    for file in place.files[1:]:
        other = look(file)
        if other.header != first.header or set(other.names) != set(first.names):
            odd = ", ".join(map(repr, sorted(set(other.names) ^ set(first.names)))) or "a header in one alone"
            raise SourceError(
                f"{file}: its columns differ from those of {place.files[0]} ({odd}); give files with the same columns"
            )
        if replace(other, names=first.names) != first:
            raise SourceError(f"{file}: cut into cells otherwise than {place.files[0]}; read the two kinds apart")
        by_name = by_name or other.names != first.names
    return replace(first, by_name=by_name)


def look(file: str) -> Layout:
    """The layout of one file, from its first lines."""
    lines = _head(file)
    comment = "#" if lines and lines[0].startswith("#") else ""
    lines = [line for line in lines if line.strip() and not (comment and line.startswith(comment))]
    if not lines:
        raise SourceError(f"{file}: there are no readings in it")
    delimiter = _delimiter(lines)
    cells = [next(csv.reader([line], delimiter=delimiter)) for line in lines]
    width = _usual_width(cells)
    skip = next(i for i, row in enumerate(cells) if len(row) == width)
    header = _is_header(cells[skip], [row for row in cells[skip + 1 :] if len(row) == width])
    names = _distinct(cells[skip]) if header else tuple(map(str, range(width)))
    return Layout(delimiter, skip, comment, header, names, compression(file))


def _head(file: str) -> list[str]:
    """The first whole lines of a file, unpacked and decoded."""
    packed = compression(file)
    try:
        with pa.input_stream(file, compression=None if packed == "none" else packed) as opened:
            data = bytes(opened.read(_HEAD_BYTES))
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{file}: cannot be unpacked as {packed}; replace the file or leave it out") from error
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SourceError(f"{file}, line {line}: not UTF-8 text; convert the file, for example with iconv") from error
    if "\0" in text:
        raise SourceError(f"{file}: not text; name its kind with `format`, or convert it to UTF-8")
    lines = text.splitlines()
    return (lines[:-1] if len(data) == _HEAD_BYTES and len(lines) > 1 else lines)[:_HEAD_LINES]


def _delimiter(lines: Sequence[str]) -> str:
    """The delimiter that cuts most lines into equally many cells; blanks only where no other cuts them at all."""

    def score(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        width, lines_of_it = max(widths.items(), key=lambda item: (item[1], item[0]))
        return (lines_of_it / len(lines) if width > 1 else 0.0), width

    best = max(_DELIMITERS, key=score)
    return best if score(best)[1] > 1 else " "


def _usual_width(cells: Sequence[Sequence[str]]) -> int:
    """How many cells most lines have; of equally many lines, the width of the first."""
    return Counter(len(row) for row in cells).most_common(1)[0][0]


def _is_header(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether the first line names the columns.

    It does if it holds no time, and a cell of it is no number though most below it are times or numbers, or it
    holds no number at all. So ``time,1001,1002`` is a header, and ``1392 19503 0.14`` is none.
    """
    if any(is_time(cell.strip()) for cell in first):
        return False
    words = [i for i, cell in enumerate(first) if cell.strip() and not is_number(cell.strip())]

    def typed_below(i: int) -> bool:
        return 2 * sum(is_time(row[i].strip()) or is_number(row[i].strip()) for row in others) > len(others)

    return len(words) == len(first) or any(typed_below(i) for i in words)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The header's names; one that is there again (in any case) is numbered, and one that is empty is its position."""
    seen: Counter[str] = Counter()
    result = []
    for i, name in enumerate(name.strip() or str(i) for i, name in enumerate(names)):
        again = seen[name.casefold()]
        seen[name.casefold()] += 1
        result.append(f"{name}_{again}" if again else name)
        if again and result[i].casefold() in {other.casefold() for other in result[:i]}:
            raise SourceError(f"the header has the column {name!r} more than once; give every column its own name")
    return tuple(result)


def glob_free(path: str) -> str:
    """A path as a DuckDB pattern that means this one file."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in path)


def table(layout: Layout, place: Place, files: Sequence[str]) -> str:
    """The FROM clause that reads files of this layout with every cell as text."""
    paths = ", ".join(_SQL.literal(glob_free(file)) for file in files)
    columns = ", ".join(f"{_SQL.literal(name)}: 'VARCHAR'" for name in layout.names)
    matched = f"auto_detect = false, columns = {{{columns}}}"
    if layout.by_name:
        matched = "all_varchar = true, union_by_name = true"
    texts = {"delim": layout.delimiter, "quote": '"', "escape": '"', "comment": layout.comment}
    written = [f"{name} = {_SQL.literal(value)}" for name, value in texts.items()]
    written += [
        f"compression = '{layout.compression}'",
        f"header = {layout.header}",
        f"skip = {layout.skip}",
        matched,
        f"hive_partitioning = {bool(place.partitions)}",
        "hive_types_autocast = false",
    ]
    return f"read_csv([{paths}], {', '.join(written)})"
