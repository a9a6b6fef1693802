"""Read CSV and other text with one row per line. Cells are separated by commas, semicolons, tabs, bars or blanks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from halfmask.data import arrow_blocks, encodings
from halfmask.data.csv_layout import Layout, Layouts, find_layouts
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.locate import SourceFiles, Workplace
from halfmask.data.panel import Guess
from halfmask.data.sql import file_list, literal, quote
from halfmask.errors import SourceError

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank"}


@dataclass
class Copies:
    """The files that are read instead of the source files: the files themselves, or converted copies in a temporary
    folder.

    ``of``     the file or copy to read, for each source file
    ``notes``  the reasons for the copies
    """

    workplace: Workplace = field(default_factory=Workplace)
    of: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    guesses: dict[str, Guess] = field(default_factory=dict)

    def target(self, file: str) -> Path:
        """Return a path for a copy of a file.

        The copy keeps the names of the file and its folder, because either may be a user's id.
        """
        path = Path(file).absolute()
        copy = self.workplace.path / str(len(self.of)) / path.parent.name / path.name
        copy.parent.mkdir(parents=True, exist_ok=True)
        self.of[file] = str(copy)
        return copy

    def original(self, message: str) -> str:
        """Replace the paths of copies in a message by those of the caller's files."""
        for file, copy in self.of.items():
            message = message.replace(copy, file)
        return message


class Csv(Format):
    """Plain or compressed text. A file that DuckDB cannot read directly is first copied as UTF-8."""

    kind = "CSV and other text"
    extensions = (".csv", ".tsv", ".txt")
    options = frozenset({"encoding", "skip"})

    def open(self, asked: OpenRequest) -> DuckDBTable:
        copies = _in_utf8(asked.found, asked.options.encoding)
        return open_text(asked, copies, lambda read: self.layouts(read, asked.options.skip))

    def layouts(self, found: SourceFiles, skip: int | None) -> tuple[Layouts, tuple[str, ...]]:
        """Return the files grouped by layout, and the files that are left out."""
        return find_layouts(found, skip)


def _in_utf8(found: SourceFiles, encoding: str | None) -> Copies:
    """Copy the files that DuckDB cannot read as UTF-8. The other files are read in place."""
    asked = encodings.check_encoding(encoding) if encoding else None
    copies = Copies()
    for file in found.files:
        used, evidence = (asked, "`encoding`") if asked else encodings.encoding_of(file)
        wide, packed = used.startswith("utf-16"), encodings.compression(file)
        zeros = 0 if wide else encodings.zero_bytes(file)
        mixed = not wide and encodings.ends_differ(file)
        odd = zeros or mixed or packed not in encodings.STREAMED
        if odd or used != "utf-8":
            encodings.copy_as_utf8(file, used, copies.target(file))
        else:
            copies.of[file] = file
        if zeros:
            copies.notes.append(f"{zeros:,} zero bytes are left out of {Path(file).name}")
        elif odd:
            why = "lines end in two ways" if mixed else f"packed as {packed}"
            copies.notes.append(f"{why}: copied into the temporary folder, and read there")
        if used != "utf-8":
            copies.notes.append(f"encoding = {used}: {evidence}; copied into the temporary folder, and read there")
            copies.guesses[used] = Guess("encoding", used, evidence, "`encoding`")
    return copies


def open_text(
    asked: OpenRequest, copies: Copies, find: Callable[[SourceFiles], tuple[Layouts, tuple[str, ...]]]
) -> DuckDBTable:
    """Open text files as one table in which every cell is text.

    ``find``  returns the files grouped by layout, and the files that are left out
    """
    found = asked.found
    read = replace(found, files=tuple(copies.of.values()))
    try:
        layouts, left_out = find(read)
    except SourceError as error:
        kind, place = error.code.partition(".")[2], copies.original(error.place)
        raise SourceError(copies.original(str(error)), kind=kind, place=place) from error
    kept = [file for file in read.files if file not in left_out]
    raw = DuckDBTable(asked.connection, found.source, lambda files: from_clause(layouts, read, files), kept)
    raw.originals = {copy: file for file, copy in copies.of.items() if copy != file}
    raw.workplace = copies.workplace
    if all(arrow_blocks.suits(layout) for layout, _ in layouts):
        raw.by_blocks = partial(partial, arrow_blocks.batches, layouts, asked.options.threads)
    first = layouts[0][0]
    if "filename" not in first.names and "filename" in raw.sample.column_names:  # DuckDB adds it to a union of files
        raw.sample = raw.sample.drop_columns(["filename"])
    raw.units = dict(first.units)
    around = dict.fromkeys(note for layout, _ in layouts for note in layout.notes())
    omitted = replace(found, left_out=tuple(raw.originals.get(file, file) for file in left_out))
    raw.notes = (*dict.fromkeys(copies.notes), *around, *omitted.notes())
    cut = f"cut by {_DELIMITERS[first.delimiter]}"
    line = f"line {first.line + 1}" if first.header or first.units else "none"
    raw.guesses = (
        *copies.guesses.values(),
        Guess("cells", cut, f"{len(first.names)} cells in most of the first lines", ""),
        Guess("header", line, "names, no readings", "`skip`"),
    )
    return raw


def from_clause(layouts: Layouts, found: SourceFiles, files: Sequence[str]) -> str:
    """Return the SQL FROM clause that reads these files."""
    parts = [(layout, [file for file in mine if file in set(files)]) for layout, mine in layouts]
    parts = [(layout, mine) for layout, mine in parts if mine]
    hive = bool(found.partitions)
    if len(parts) == 1 and not parts[0][0].footer:
        return _read(*parts[0], hive)
    selects = [f"SELECT {_cells(layout)}, filename FROM {_read(layout, mine, hive)}" for layout, mine in parts]
    return f"({' UNION ALL BY NAME '.join(selects)})"


def _cells(layout: Layout) -> str:
    """Return the columns for SELECT. If files have a footer, a row with only its first cell filled becomes null."""
    if not layout.footer:
        return "*"
    first, *others = map(quote, layout.names)
    alone = " AND ".join(f"{name} IS NULL" for name in others)
    return f"* REPLACE (CASE WHEN NOT ({alone}) THEN {first} END AS {first})"


def _read(layout: Layout, files: Sequence[str], hive: bool) -> str:
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in layout.names)
    texts = {"delim": layout.delimiter, "quote": '"', "escape": '"', "comment": layout.comment}
    written = [f"{name} = {literal(value)}" for name, value in texts.items()]
    written += [
        f"compression = '{layout.compression}'",
        f"header = {layout.header}",
        f"skip = {layout.skip_rows}",
        f"auto_detect = false, columns = {{{columns}}}",
        f"null_padding = {bool(layout.footer)}",
        f"hive_partitioning = {hive}",
        "hive_types_autocast = false",
    ]
    return f"read_csv({file_list(files)}, {', '.join(written)})"
