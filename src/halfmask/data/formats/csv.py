"""CSV and other text with one row per line: cells cut by commas, semicolons, tabs, bars or blanks."""

from pathlib import Path

from halfmask.data import encodings
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.formats._text import Copies, open_text
from halfmask.data.locate import SourceFiles
from halfmask.data.panel import Guess
from halfmask.data.text_layout import Layouts, layouts


class Csv(Format):
    """Plain text, also compressed. What is not UTF-8 or cannot be streamed is copied into UTF-8 first."""

    kind = "CSV and other text"
    extensions = (".csv", ".tsv", ".txt")
    options = frozenset({"encoding", "skip"})

    def open(self, asked: OpenRequest) -> DuckDBTable:
        copies = _in_utf8(asked.found, asked.options.encoding)
        return open_text(asked, copies, lambda read: self.layouts(read, asked.options.skip))

    def layouts(self, found: SourceFiles, skip: int | None) -> tuple[Layouts, tuple[str, ...]]:
        """Return the files by layout, and the files that are left out."""
        return layouts(found, skip)


def _in_utf8(found: SourceFiles, encoding: str | None) -> Copies:
    """Copy the files that DuckDB cannot read as they are."""
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
