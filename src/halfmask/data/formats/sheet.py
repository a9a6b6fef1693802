"""Read Excel and OpenDocument workbooks. A sheet is converted to CSV, and then read like any text file."""

import csv
import zipfile
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from halfmask.data.csv_layout import find_layouts
from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import Format, OpenRequest
from halfmask.data.formats.csv import Copies, open_text
from halfmask.errors import OptionError, SourceError


class Sheet(Format):
    """Workbooks; one sheet is read."""

    kind = "Excel and OpenDocument"
    extensions = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
    options = frozenset({"sheet", "skip"})

    def sniff(self, file: str, head: bytes) -> bool:
        return head.startswith(b"\xd0\xcf\x11\xe0") or (head.startswith(b"PK\x03\x04") and self._is_workbook(file))

    def _is_workbook(self, file: str) -> bool:
        """Return whether a zip file is a workbook. If the file is damaged, its name decides."""
        try:
            with zipfile.ZipFile(file) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError):
            return file.lower().endswith(self.extensions)
        return "[Content_Types].xml" in names or {"mimetype", "content.xml"} <= set(names)

    def open(self, asked: OpenRequest) -> DuckDBTable:
        copies = Copies()
        for file in asked.found.files:
            copies.notes += copy_as_csv(file, asked.options.sheet, copies.target(file))
        return open_text(asked, copies, lambda read: find_layouts(read, asked.options.skip))


def copy_as_csv(file: str, sheet: str | None, target: Path) -> tuple[str, ...]:
    """Write one sheet of a workbook as CSV. Return a note that names the sheet if there are several."""
    from python_calamine import CalamineError, CalamineWorkbook

    try:
        book = CalamineWorkbook.from_path(file)
        chosen, notes = _pick(file, book.sheet_names, sheet, book)
        rows = book.get_sheet_by_name(chosen).to_python(skip_empty_area=True)
    except (CalamineError, OSError) as error:
        raise SourceError(
            f"{file}: not a sheet that can be read ({error}); save it as .xlsx or .csv", kind="damaged", place=file
        ) from error
    with target.open("w", encoding="utf-8", newline="") as written:
        writer = csv.writer(written, lineterminator="\n")
        writer.writerows([_text(cell) for cell in _trimmed(row)] for row in rows)
    return notes


def _pick(file: str, names: Sequence[str], asked: str | None, book: Any) -> tuple[str, tuple[str, ...]]:
    """Return the sheet that the caller named, or the only one that is not empty; and notes."""
    listed = ", ".join(map(repr, names))
    if asked is not None:
        if asked not in names:
            raise OptionError(f"{file} has no sheet {asked!r} for `sheet`; it has {listed}", kind="missing", place=file)
        return asked, ()
    filled = [name for name in names if len(book.get_sheet_by_name(name).to_python(nrows=3)) > 1] or names[:1]
    if len(filled) > 1:
        options = " or ".join(f"`sheet={name!r}`" for name in filled)
        raise OptionError(f"{file} has {len(filled)} sheets with rows; name one: {options}", kind="several", place=file)
    return filled[0], (f"sheet = {filled[0]}",) if len(names) > 1 else ()


def _trimmed(row: Sequence[Any]) -> Iterable[Any]:
    """If only the first cell of a row is filled (a title or footer), return that cell alone; else the row unchanged."""
    filled = [i for i, cell in enumerate(row) if cell not in ("", None)]
    return row[:1] if filled == [0] and len(row) > 1 else row


def _text(cell: Any) -> str:
    """Return a cell as text: times in ISO form, numbers with a decimal point, and midnight as the date alone."""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    if isinstance(cell, timedelta):
        return str(cell).rjust(8, "0")
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return "" if cell is None else str(cell)
