"""Mask a CSV stream: the rows that come in go out with their values masked."""

import csv
import io
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO, Protocol

from halfmask_device.errors import ColumnError, ReadingError, RunError, SourceError
from halfmask_device.producer import BATCH, Producer

CHUNK = 1 << 16
STANDARD = "standard input"
LONGEST = 1 << 20
"""Largest number of bytes in a line. A longer line is an error, so that it cannot fill the memory."""


class ByteSource(Protocol):
    """A stream whose ``read1`` returns the available bytes without waiting for more."""

    def read1(self, size: int, /) -> bytes: ...


def mask_csv(
    source: ByteSource, target: BinaryIO, producer: Producer, *, time: str, value: str, sensor: str | None = None
) -> int:
    """Mask the column ``value``, copy all other columns, and return the number of rows.

    Rows are masked, stored and written as they arrive. A missing value stays empty. Errors count rows from 1, without
    the header. If a reading may not be reported, the rows before it are still written.
    """
    names = {"time": time, "value": value} | ({"sensor": sensor} if sensor else {})
    table = Table(source, names, STANDARD)
    write_rows(target, [table.header])
    done = 0
    for first, rows in table.batches(BATCH):
        masked = list[list[str]]()
        try:
            masked.extend(_masked(rows, first, table, producer))
        finally:
            write_rows(target, masked)  # also after an error: the ledger has counted these rows
        done += len(rows)
    return done


def csv_batches(
    source: ByteSource,
    time: str,
    value: str,
    *,
    most: int = BATCH,
    name: str = STANDARD,
    torn: Callable[[int], object] | None = None,
) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Yield batches of (time, value) as they arrive, each with the number of its first row.

    ``most``  largest number of rows in a batch
    ``name``  name of the source in errors
    ``torn``  called with the number of each row with too few or too many fields, which is left out; None raises an
              error
    """
    table = Table(source, {"time": time, "value": value}, name)
    at, value_at = table.places
    for first, rows in table.batches(most, torn):
        yield first, [(row[at], row[value_at]) for row in rows]


class Table:
    """A CSV stream.

    ``header``  the names of all columns
    ``places``  the positions of the requested columns
    """

    def __init__(self, source: ByteSource, columns: Mapping[str, str], name: str) -> None:
        self._lines = Lines(source, name)
        self._rows = _rows(self._lines)
        header = next(self._rows, None)
        if header is None:
            raise SourceError(f"{name} is empty: the names of the columns must come first, then readings", kind="empty")
        header[0] = header[0].removeprefix("\ufeff")  # the byte order mark that some programs write
        self.header = header
        self.places = [_place(header, column, role, name) for role, column in columns.items()]

    def batches(self, most: int, torn: Callable[[int], object] | None = None) -> Iterator[tuple[int, list[list[str]]]]:
        """Yield rows as they arrive, at most ``most`` at once, with the number of the first."""
        first, pending = 1, list[list[str]]()
        for number, row in enumerate(self._rows, 1):
            whole = len(row) == len(self.header)
            if not whole and torn is None:
                raise ReadingError(
                    f"row {number} has {len(row)} field(s), the header {len(self.header)}: mend the row",
                    kind="fields",
                    place=f"row {number}",
                )
            if whole:
                first = first if pending else number
                pending.append(row)
            elif torn is not None:
                torn(number)
            if len(pending) == most or (pending and (not whole or self._lines.drained)):
                yield first, pending
                pending = []
        if pending:
            yield first, pending


class Growing:
    """A file to which another program appends.

    At the end of the file ``idle`` is called. It waits, and returns whether to read again.
    """

    def __init__(self, file: BinaryIO, idle: Callable[[], bool]) -> None:
        self._file, self._idle = file, idle

    def read1(self, size: int, /) -> bytes:
        while True:
            found = self._file.read(size)
            if found or not self._idle():
                return found


class Lines(Iterator[str]):
    """The lines of a stream, as they arrive."""

    def __init__(self, source: ByteSource, name: str = STANDARD) -> None:
        self.name, self._source, self._whole, self._rest = name, source, deque[bytes](), b""

    @property
    def drained(self) -> bool:
        """Return whether no complete line is buffered, so that reading the next row would wait."""
        return not any(map(bytes.strip, self._whole))

    def __next__(self) -> str:
        while not self._whole:
            chunk = self._read()
            *whole, self._rest = (self._rest + chunk).split(b"\n")
            self._whole.extend(line + b"\n" for line in whole)
            if not chunk and self._rest:
                self._whole.append(self._rest)
                self._rest = b""
            elif not chunk:
                raise StopIteration
            elif len(self._rest) > LONGEST:
                raise SourceError(
                    f"{self.name} has a line of over {LONGEST:,} bytes: it must be CSV, a row a line", kind="line"
                )
        return self._whole.popleft().decode("utf-8", "surrogateescape")

    def _read(self) -> bytes:
        try:
            return self._source.read1(CHUNK)
        except OSError as error:
            raise SourceError(f"{self.name} cannot be read: {error.strerror or error}", kind="unreadable") from error


def _rows(lines: Lines) -> Iterator[list[str]]:
    """Yield the rows that are not blank."""
    reader = csv.reader(lines)
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        raise SourceError(
            f"{lines.name} cannot be read as CSV at line {reader.line_num}: {error}", kind="csv"
        ) from error


def _place(header: list[str], name: str, role: str, where: str = STANDARD) -> int:
    """Return the position of the column ``name``.

    The error lists only header cells without digits: without a header, the others may be readings.
    """
    count = header.count(name)
    if count != 1:
        named = ", ".join(cell for cell in header if cell and not any(map(str.isdigit, cell))) or "no plain names"
        how = "no column" if count == 0 else f"{count} columns"
        raise ColumnError(
            f"{where} has {how} '{name}', its first row has {named}: name another with `{role}`",
            kind="missing" if count == 0 else "several",
        )
    return header.index(name)


def _masked(rows: list[list[str]], first: int, table: Table, producer: Producer) -> Iterator[list[str]]:
    time, value, *sensor = table.places
    readings = [(row[time], row[value], row[sensor[0]] if sensor else "") for row in rows]
    reports = producer.reports(readings, first=first, columns=(table.header[time], table.header[value]))
    for row, report in zip(rows, reports, strict=True):
        row[value] = "" if report is None else producer.lattice.text(report)
        yield row


def write_rows(target: BinaryIO, rows: list[list[str]]) -> None:
    """Write rows as CSV, at once."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    try:
        target.write(text.getvalue().encode("utf-8", "surrogateescape"))
        target.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunError(f"cannot write the masked rows: {error.strerror or error}", kind="write") from error
