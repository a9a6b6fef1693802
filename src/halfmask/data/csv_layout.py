"""Find the layout of a table in text: delimiter, header, units, and the lines before and after the table.

No cell is converted.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from halfmask.data.column_types import ABSENT, is_clock, is_number, is_time
from halfmask.data.encodings import HEAD_BYTES, compression, unpacked
from halfmask.data.locate import SourceFiles
from halfmask.data.units import is_unit, usual_unit
from halfmask.errors import SourceError

_HEAD_LINES = 200
_TAIL_BYTES = 1 << 16
_UNPACK_BELOW = 1 << 24
_CELL_LINES = 20
"""If a cell has more lines than this, its quote is assumed to be left open."""
_DELIMITERS = (",", ";", "\t", "|")
Lines = list[tuple[int, list[str]]]
"""The first rows of a file, each with its line number, counted from 0."""


@dataclass(frozen=True)
class Layout:
    """How a text file is split into cells.

    ``skip``       number of lines before the header (before the first reading if there is no header)
    ``skip_rows``  number of rows in these lines; a row can span several lines
    ``footer``     number of lines with fewer cells after the table
    ``units``      units from a row under the header
    """

    delimiter: str
    skip: int
    comment: str
    header: bool
    names: tuple[str, ...]
    compression: str
    footer: int = 0
    units: tuple[tuple[str, str], ...] = ()
    typed: bool = True
    before: int = 0
    line: int = 0
    skip_rows: int = 0

    @property
    def plain(self) -> bool:
        """Return whether the file holds only the table and its header."""
        return not (self.skip or self.comment or self.footer or self.units)

    def notes(self) -> list[str]:
        """Return notes on lines that are left out."""
        said = [f"{self.before} lines before the table are left out"] if self.before else []
        said += ["a row of units under the header is left out"] if self.units else []
        return said + ([f"{self.footer} lines after the table are left out"] if self.footer else [])


Layouts = tuple[tuple[Layout, tuple[str, ...]], ...]
"""Layouts, each with the files that have it."""


def find_layouts(found: SourceFiles, skip: int | None = None) -> tuple[Layouts, tuple[str, ...]]:
    """Return the files grouped by layout, and the files of a folder that are left out.

    A file is left out if it has other columns and no numbers. If the caller named the file, this is an error.
    """
    looks = {file: look(file, skip) for file in found.files}
    usual = next((file for file, layout in looks.items() if layout.typed), found.files[0])
    reference = looks[usual]
    groups: dict[Layout, list[str]] = {}
    left_out = []
    for file, layout in looks.items():
        same = layout.header == reference.header or bool(layout.units) != bool(reference.units)
        if same and set(layout.names) == set(reference.names):
            groups.setdefault(replace(layout, typed=True), []).append(file)
        elif found.named or layout.typed:
            odd = ", ".join(map(repr, sorted(set(layout.names) ^ set(reference.names)))) or "a header in one alone"
            raise SourceError(
                f"{file}: its columns differ from those of {usual} ({odd}); give files with the same columns",
                kind="differ",
                place=file,
            )
        else:
            left_out.append(file)
    return tuple((layout, tuple(files)) for layout, files in groups.items()), tuple(left_out)


def look(file: str, skip: int | None = None) -> Layout:
    """Find the layout of one file from its first and last lines."""
    lines = _head(file)
    comments = [line.startswith("#") for line in lines]
    comment = (
        "#" if lines and comments[0] and any(comments[comments.index(False) if False in comments else 0 :]) else ""
    )
    kept = [
        (at, line)
        for at, line in enumerate(lines)
        if line.strip() and at >= (skip or 0) and not (comments[0] and line.startswith("#"))
    ]
    if not kept:
        raise SourceError(f"{file}: there are no readings in it", kind="empty", place=file)
    delimiter = _delimiter([line for _, line in kept])
    rows, broken = _rows(kept, delimiter)
    width = Counter(len(row) for _, row in rows).most_common(1)[0][0]
    odd = _odd_header(rows, width)
    rows = [(at, [*row, ""][:width]) for at, row in rows if len(row) == width or at == odd]
    header, units, first = _header(rows)
    names = _distinct(file, header[1]) if header else tuple(map(str, range(width)))
    named_units = tuple((n, usual_unit(u)) for n, u in zip(names, units[1], strict=True) if is_unit(u)) if units else ()
    padded = header is not None and header[0] == odd
    first = header[0] + 1 if header is not None and padded else first
    start = first if units or padded or header is None else header[0]
    return Layout(
        delimiter,
        0 if comment else start,
        comment,
        header is not None and not units and not padded,
        names,
        compression(file),
        _footer(file, delimiter, width) if width > 1 and not broken else 0,
        named_units,
        bool(_typed_columns(rows)),
        len([line for line in lines[: header[0] if header else first] if line.strip()]),
        header[0] if header else first,
        0 if comment else sum(1 for _ in csv.reader([f"{line}\n" for line in lines[:start]], delimiter=delimiter)),
    )


def _rows(kept: Sequence[tuple[int, str]], delimiter: str) -> tuple[Lines, bool]:
    """Split lines into rows, each with the number of its first line. Also return whether a cell spans several lines."""
    blanks = delimiter == " "
    found: Lines = []
    reader = csv.reader((f"{line}\n" for _, line in kept), delimiter=delimiter, skipinitialspace=blanks)
    at = 0
    for row in reader:
        found.append((kept[at][0], row))
        at = reader.line_num
    broken = any("\n" in cell for _, row in found for cell in row)
    if broken and any(cell.count("\n") > _CELL_LINES for _, row in found for cell in row):  # a quote left open
        return [
            (at, next(csv.reader([line], delimiter=delimiter, skipinitialspace=blanks))) for at, line in kept
        ], False
    return found, broken


def _odd_header(rows: Lines, width: int) -> int | None:
    """Return the line of a header with one cell more or fewer than the other rows; None if there is none.

    One cell more: it names a column that no row has. One cell fewer: the other rows all end with a delimiter.
    """
    if width < 3:
        return None
    ended = not any(row[-1].strip() for _, row in rows if len(row) == width)
    first = next(i for i, (_, row) in enumerate(rows) if len(row) == width)
    odd = [i for i, (_, row) in enumerate(rows) if len(row) == width + 1 or (ended and len(row) == width - 1)]
    if len(odd) != 1 or odd[0] != first - 1:
        return None
    at, row = rows[odd[0]]
    return None if len(row) > width and any(map(_is_typed, row)) else at


def _head(file: str) -> list[str]:
    """Return the first whole lines of a file, decompressed and decoded."""
    data = unpacked(file)
    text = data.decode("utf-8-sig", errors="replace")
    if "\0" in text:
        raise SourceError(
            f"{file}: not text; name its kind with `format`, or its encoding with `encoding`",
            kind="encoding",
            place=file,
        )
    lines = re.split(r"\r\n|\n|\r", text)
    return (lines[:-1] if len(data) == HEAD_BYTES and len(lines) > 1 else lines)[:_HEAD_LINES]


def _footer(file: str, delimiter: str, width: int) -> int:
    """Count the lines at the end that have fewer cells than the table."""
    size = Path(file).stat().st_size
    if compression(file) != "none":
        data = unpacked(file, None)[-_TAIL_BYTES:] if size < _UNPACK_BELOW else b""
    else:
        with open(file, "rb") as opened:
            opened.seek(max(0, size - _TAIL_BYTES))
            data = opened.read()
    lines = [line for line in re.split(r"\r\n|\n|\r", data.decode("utf-8", errors="replace")) if line.strip()]
    wide = (len(next(csv.reader([line], delimiter=delimiter))) >= width for line in reversed(lines[1:]))
    return next((count for count, whole in enumerate(wide) if whole), 0)


def _delimiter(lines: Sequence[str]) -> str:
    """Return the delimiter that splits most lines into the same number of cells. Blanks are used only as a last resort.

    Another delimiter is preferred to a comma if it splits nearly as many lines, because the comma may be a decimal
    comma.
    """

    def score(delimiter: str) -> tuple[float, int]:
        widths = Counter(len(row) for row in csv.reader(lines, delimiter=delimiter))
        width, lines_of_it = max(widths.items(), key=lambda item: (item[1], item[0]))
        return (lines_of_it / len(lines) if width > 1 else 0.0), width

    scores = {delimiter: score(delimiter) for delimiter in _DELIMITERS}
    best = max(_DELIMITERS, key=lambda delimiter: scores[delimiter])
    others = [d for d in _DELIMITERS[1:] if scores[d][0] >= 0.5]
    if best == "," and others and max(scores[d][0] for d in others) >= 0.9 * scores[","][0]:
        best = max(others, key=lambda delimiter: scores[delimiter])
    return best if scores[best][1] > 1 else " "


def _is_typed(cell: str) -> bool:
    text = cell.strip()
    return is_time(text) or is_number(text) or is_clock(text)


def _is_empty(cell: str) -> bool:
    return cell.strip().lower() in ABSENT


def _typed_columns(rows: Lines) -> list[int]:
    """Return the columns in which at least half of the cells are times or numbers."""
    cells = [row for _, row in rows]
    shares = [sum(_is_typed(row[i]) or _is_empty(row[i]) for row in cells) for i in range(len(cells[0]))]
    some = [any(_is_typed(row[i]) for row in cells) for i in range(len(cells[0]))]
    return [i for i, share in enumerate(shares) if some[i] and 2 * share >= len(cells)]


def _header(rows: Lines) -> tuple[tuple[int, list[str]] | None, tuple[int, list[str]] | None, int]:
    """Return the row of names, the row of units (each with its line, or None) and the line of the first reading.

    The first reading is the first row whose typed columns all hold times or numbers. The names are in the row before it
    with the fewest times and numbers (the last such row): ``time,1001,1002``, not ``1392 19503 0.14``.
    """
    typed = _typed_columns(rows)
    if len(rows) > 1 and _named_by_times(rows[0][1], rows[1][1]):
        return rows[0], None, rows[0][0] + 1
    if not typed:
        words = all(cell.strip() and not _is_typed(cell) for cell in rows[0][1])
        return (rows[0], None, rows[0][0] + 1) if words else (None, None, rows[0][0])

    times = [i for i in typed if 2 * sum(is_time(row[i].strip()) for _, row in rows) > len(rows)]

    def is_reading(row: list[str]) -> bool:
        whole = all(_is_typed(row[i]) or _is_empty(row[i]) for i in typed)
        return whole and any(_is_typed(row[i]) for i in times or typed)

    before = []
    for at, row in rows:
        if is_reading(row):
            break
        before.append((at, row))
    # A title fills one cell of a row that has delimiters for all.
    titles = next((i for i, (_, row) in enumerate(before) if sum(map(bool, map(str.strip, row))) > 1), 0)
    before = before[titles:]
    if not before or any(is_time(cell.strip()) for cell in before[0][1]):
        return None, None, rows[0][0]
    fewest = min(sum(_is_typed(row[i]) for i in typed) for _, row in before)
    plain = [item for item in before if sum(_is_typed(item[1][i]) for i in typed) == fewest]
    units = plain[-1] if len(plain) > 1 and _are_units(plain[-1][1]) else None
    header = plain[-2] if units else plain[-1]
    return header, units, (units or header)[0] + 1


def _named_by_times(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the first row names columns by times: it has many, and the second row has none in the same
    columns.
    """
    times = [i for i, cell in enumerate(first) if is_time(cell.strip())]
    return len(times) > max(2, len(first) // 2) and not any(is_time(second[i].strip()) for i in times)


def _are_units(row: Sequence[str]) -> bool:
    """Return whether a row holds units: at least one cell is a known unit, and no cell is a time or a number."""
    return any(is_unit(cell) for cell in row) and not any(_is_typed(cell) for cell in row)


def _distinct(file: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the header's names without repetitions.

    A repeated name gets a number. An empty name is replaced by its position.
    """
    seen: Counter[str] = Counter()
    result: list[str] = []
    for i, name in enumerate(name.strip() or str(i) for i, name in enumerate(names)):
        again = seen[name.casefold()]
        seen[name.casefold()] += 1
        result.append(f"{name}_{again}" if again else name)
        if again and result[i].casefold() in {other.casefold() for other in result[:i]}:
            raise SourceError(
                f"{file}: the header has the column {name!r} more than once; give each its own name",
                kind="twice",
                place=file,
            )
    return tuple(result)
