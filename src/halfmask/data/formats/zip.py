"""Read zip and tar archives by unpacking them into a temporary folder."""

import os
import tarfile
import zipfile
from dataclasses import replace

from halfmask.data.engines.duckdb import DuckDBTable
from halfmask.data.formats import AUTO, Format, OpenRequest, sniff
from halfmask.data.locate import Workplace, locate
from halfmask.errors import SourceError


class Zip(Format):
    """Archives whose files have one other format. That format receives the options."""

    kind = "zip and tar"
    extensions = (".zip", ".tar", ".tgz")
    magic = b"PK\x03\x04"  # workbooks are zip files too, but the format `sheet` is tried first
    options = frozenset({"table", "sql", "sheet", "encoding", "skip"})

    def open(self, asked: OpenRequest) -> DuckDBTable:
        found, workplace = asked.found, Workplace()
        for number, file in enumerate(found.files):
            _unpack(file, str(workplace.path / (str(number) if len(found.files) > 1 else "")))
        form, inside = sniff(locate(str(workplace.path)), AUTO)
        if isinstance(form, Zip):
            raise SourceError(
                f"{found.source}: archives within an archive; unpack it, and give the folder", kind="archive"
            )
        # If the archive holds a single file, it counts as named by the caller.
        inside = replace(inside, source=found.source, named=len(inside.files) == 1, workplace=workplace)
        raw = form.table(replace(asked, found=inside))
        names = {file: os.path.relpath(raw.originals.get(file, file), workplace.path) for file in raw.files}
        raw.originals = {file: f"{found.source}, {name}" for file, name in names.items()}
        return raw


def _unpack(file: str, folder: str) -> None:
    try:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                archive.extractall(folder)
        else:
            with tarfile.open(file) as packed:
                packed.extractall(folder, filter="data")
    except (zipfile.BadZipFile, tarfile.TarError, RuntimeError, NotImplementedError, OSError) as error:
        raise SourceError(
            f"{file}: cannot be unpacked ({error}); unpack it, and give the folder", kind="archive", place=file
        ) from error
