"""From what a caller gave to a table that an engine reaches, whatever its columns: the first half of `sources`."""

import os
import shutil
import tarfile
import tempfile
import weakref
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from halfmask.data import places
from halfmask.data.engines.duckdb import DuckDBRaw, connect
from halfmask.data.formats import blocks, databases, encodings, frames, mysql, parquet, records, remote, sheets, text
from halfmask.data.options import ReadOptions
from halfmask.data.panel import Guess
from halfmask.data.places import Place
from halfmask.data.raw import Raw
from halfmask.errors import OptionError, SourceError


class Workplace:
    """A temporary folder that is gone when nothing refers to it any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="halfmask-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def open_raw(source: Any, options: ReadOptions) -> Raw:
    """A path, glob, folder, address, database or frame as a table."""
    if not isinstance(source, str | os.PathLike):
        return _open_frame(source, options)
    written = os.fspath(source)
    workplace = None
    if remote.is_remote(written):
        workplace = Workplace()
        place = places.find(str(remote.fetch(written, workplace.path)), options.format)
        place = replace(place, source=remote.shown(written))
    else:
        place = places.find(written, options.format)
    _check(place, options)
    if options.engine == "spark":
        from halfmask.data.engines.spark import open_spark_files

        return open_spark_files(place, options.master, options.threads, options.memory_limit)
    raw = _open_duckdb(connect(options.threads, options.memory_limit), place, options)
    raw.workplace = (raw.workplace, workplace)
    return raw


def _open_frame(source: Any, options: ReadOptions) -> Raw:
    frame = frames.as_frame(source)
    if options.engine == "duckdb" and frame.implementation not in frames.SPARK:
        raw = frames.open_frame(connect(options.threads, options.memory_limit), frame)
        if options.sql is not None:
            raw.ask(options.sql)
        return raw
    if options.sql is not None:
        raise OptionError("`sql` over readings needs `engine=duckdb`")
    from halfmask.data.engines.spark import open_spark_frame

    return open_spark_frame(frame, options.master, options.threads, options.memory_limit)


def _check(place: Place, options: ReadOptions) -> None:
    """Options that say something of another kind of source."""
    database = place.format in places.DATABASES
    if options.table is not None and not database:
        raise OptionError(f"`table` {options.table!r} is for databases; {place.source} is {place.format}")
    if options.sql is not None and options.engine == "spark":
        raise OptionError("`sql` over readings needs `engine=duckdb`")
    if options.sheet is not None and place.format not in ("sheet", "zip"):
        raise OptionError(f"`sheet` {options.sheet!r} is for Excel and OpenDocument; {place.source} is {place.format}")


def _open_duckdb(connection: duckdb.DuckDBPyConnection, place: Place, options: ReadOptions) -> DuckDBRaw:
    if place.format in places.DATABASES:
        return _open_database(connection, place, options)
    if place.format == "zip":
        return _open_zip(connection, place, options)
    if place.format == "json":
        raw: DuckDBRaw = records.open_json(connection, place)
    elif place.format == "arrow":
        raw = records.open_arrow(connection, place)
    elif place.format == "avro":
        raw = records.open_avro(connection, place)
    elif place.format == "parquet":
        found = parquet.check(place)
        raw = DuckDBRaw(
            connection, place.source, lambda f: parquet.table(place, found.differ, f), place.files, parquet.ORDER
        )
        raw.by_blocks = partial(parquet.by_groups, place, found, options.threads)
    else:
        raw = _open_text(connection, place, options)
    raw.files = place.files if not raw.files else raw.files
    raw.partitions = place.partitions
    raw.notes += _left_out(place.left_out)
    if options.sql is not None:
        raw.ask(options.sql)
    return raw


def _open_database(connection: duckdb.DuckDBPyConnection, place: Place, options: ReadOptions) -> DuckDBRaw:
    raw = _database(connection, place, options)
    raw.origin = f"({options.sql})" if options.sql else raw.origin
    return raw


def _database(connection: duckdb.DuckDBPyConnection, place: Place, options: ReadOptions) -> DuckDBRaw:
    if place.format == "postgres":
        return databases.open_postgres(connection, place.source, options.table, options.sql)
    if place.format == "mysql":
        return mysql.open_mysql(connection, place.source, options.table, options.sql)
    if place.format == "duckdb":
        return databases.open_duckdb(connection, place.files[0], options.table, options.sql)
    return databases.open_sqlite(connection, place.files[0], options.table, options.sql)


def _open_zip(connection: duckdb.DuckDBPyConnection, place: Place, options: ReadOptions) -> DuckDBRaw:
    """What is in the archives, unpacked into a folder that is gone with the panel."""
    workplace = Workplace()
    for number, file in enumerate(place.files):
        try:
            within = workplace.path / (str(number) if len(place.files) > 1 else "")
            if zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    archive.extractall(within)
            else:
                with tarfile.open(file) as packed:
                    packed.extractall(within, filter="data")
        except (zipfile.BadZipFile, tarfile.TarError, RuntimeError, NotImplementedError, OSError) as error:
            raise SourceError(f"{file}: cannot be unpacked ({error}); unpack it, and give the folder") from error
    inside = places.find(str(workplace.path), "auto")
    if inside.format == "zip":
        raise SourceError(f"{place.source}: archives within an archive; unpack it, and give the folder")
    # A name that was packed alone is as good as named by the caller.
    inside = replace(inside, source=place.source, named=len(inside.files) == 1)
    raw = _open_duckdb(connection, inside, replace(options, format="auto"))
    raw.workplace = (raw.workplace, workplace)
    copies = dict(raw.originals)
    for file in raw.files:
        known = copies.get(file, file)
        copies[file] = f"{place.source}, {os.path.relpath(known, workplace.path)}"
    raw.originals = copies
    return raw


def _open_text(connection: duckdb.DuckDBPyConnection, place: Place, options: ReadOptions) -> DuckDBRaw:
    """CSV, the trial's files, and sheets, which are written out as CSV first."""
    workplace = Workplace()
    copies, notes, guesses = _as_utf8(place, options, workplace.path)
    originals = {copy: file for file, copy in copies.items() if copy != file}
    read = replace(place, files=tuple(copies.values()), format="csv" if place.format == "sheet" else place.format)
    left_out: tuple[str, ...] = ()
    if place.format == "cer":
        found = text.cer_layout(read)
    else:
        try:
            found, left_out = text.layouts(read, options.skip)
        except SourceError as error:
            raise SourceError(_renamed(str(error), originals)) from error
    first = found[0][0]
    raw = DuckDBRaw(
        connection, place.source, lambda files: text.table(found, read, files),
        [file for file in read.files if file not in left_out],
    )  # fmt: skip
    raw.originals, raw.workplace = originals, workplace
    if all(blocks.suits(layout) for layout, _ in found):
        raw.by_blocks = partial(partial, blocks.batches, found, options.threads)
    raw.sample = without_filename(raw.sample, first.names)
    raw.units = dict(first.units)
    around = [note for layout, _ in found for note in layout.notes()]
    raw.notes = (*notes, *dict.fromkeys(around), *_left_out([originals.get(file, file) for file in left_out]))
    names = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "blank"}
    raw.guesses = (
        *guesses,
        Guess("cells", f"cut by {names[first.delimiter]}", f"{len(first.names)} cells in most of the first lines", ""),
        Guess(
            "header",
            f"line {first.line + 1}" if first.header or first.units else "none",
            "names, no readings",
            "`skip`",
        ),
    )
    return raw


def without_filename(sample: pa.Table, names: Sequence[str]) -> pa.Table:
    """A sample without the name of the file, which the engine adds where files are put together."""
    extra = "filename" in sample.column_names and "filename" not in names
    return sample.drop_columns(["filename"]) if extra else sample


def _as_utf8(place: Place, options: ReadOptions, folder: Path) -> tuple[dict[str, str], list[str], list[Guess]]:
    """Every file and what is read instead of it: itself, or a copy in UTF-8."""
    asked = encodings.check_encoding(options.encoding) if options.encoding else None
    copies: dict[str, str] = {}
    notes: dict[str, None] = {}
    guesses: dict[str, Guess] = {}
    for number, file in enumerate(place.files):
        # The folder's own name is kept: it may be a user's id.
        target = folder / str(number) / Path(file).absolute().parent.name / Path(file).name
        if place.format == "sheet":
            notes |= dict.fromkeys(sheets.copy_as_csv(file, options.sheet, target))
            copies[file] = str(target)
            continue
        encoding, evidence = (asked, "`encoding`") if asked else encodings.encoding_of(file)
        copies[file] = file
        zeros = 0 if encoding.startswith("utf-16") else encodings.zero_bytes(file)
        mixed = not encoding.startswith("utf-16") and encodings.ends_differ(file)
        packed = places.compression(file)
        if zeros or mixed or packed not in encodings.STREAMED:
            encodings.copy_as_utf8(file, encoding, target)
            copies[file] = str(target)
            notes |= {f"{zeros:,} zero bytes are left out of {Path(file).name}": None} if zeros else {}
            why = "lines end in two ways" if mixed else f"packed as {packed}"
            notes |= {f"{why}: copied into the temporary folder, and read there": None} if not zeros else {}
        if encoding != "utf-8":
            encodings.copy_as_utf8(file, encoding, target)
            copies[file] = str(target)
            notes[f"encoding = {encoding}: {evidence}; copied into the temporary folder, and read there"] = None
            guesses[encoding] = Guess("encoding", encoding, evidence, "`encoding`")
    return copies, list(notes), list(guesses.values())


def _left_out(files: Any) -> tuple[str, ...]:
    names = [Path(file).name for file in files]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return (f"left out, no readings in it: {', '.join(names[:5])}{more}",) if names else ()


def _renamed(message: str, originals: dict[str, str]) -> str:
    for copy, file in originals.items():
        message = message.replace(copy, file)
    return message
