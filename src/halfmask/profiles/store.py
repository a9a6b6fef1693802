"""Store profiles: a zip file of Parquet tables and one JSON file, which any tool can read.

The zip's comment, at the end of the file, is the SHA-256 of all bytes before it. It reveals truncated or changed files.
"""

import hashlib
import json
import os
import struct
import zipfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from halfmask.errors import FileFormatError, OptionError
from halfmask.files import whole_file
from halfmask.profiles.bins import BINS_PER_OCTAVE
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import CELL_COLUMNS, ROW_COLUMNS, Counts, Profile

FORMAT = "halfmask profile"
VERSION = 1
PAGE = "profile.json"
CELLS = tuple(f"cells-{name}" for name in CELL_COLUMNS)  # a file each, so that they are packed side by side
MEMBERS = (*CELLS, "rows", "periods", "histogram", "scales", "rounded", "bins")
TOTALS = "totals-"
"""Prefix of the names of the tables of users' totals."""
_FIXED_DATE = (1980, 1, 1, 0, 0, 0)
_DIGITS = 64
_LENGTHS = 26  # where the header before a member of a zip has the lengths of its name and of its extra field


def save_profile(profile: Profile, path: str | Path) -> None:
    """Write a profile to a file; equal profiles give equal bytes."""
    page = {
        "format": FORMAT,
        "version": VERSION,
        "bins_per_octave": BINS_PER_OCTAVE,
        "period": profile.period.text,
        "step_microseconds": profile.step,
        "buckets": profile.buckets,
        "grain": profile.grain,
        "about": profile.about,
    }
    tables = _tables(profile)
    if profile.totals is not None:
        page["totals"] = {"step_microseconds": profile.totals.step, "about": profile.totals.about}
        tables |= {f"{TOTALS}{name}": table for name, table in _tables(profile.totals).items()}
    with whole_file(path) as temporary:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive, ThreadPoolExecutor() as pool:
            archive.comment = b"0" * _DIGITS
            _write(archive, PAGE, json.dumps(page, indent=2, sort_keys=True).encode())
            for name, content in zip(tables, pool.map(_packed, tables.values()), strict=True):
                _write(archive, f"{name}.parquet", content)
        _seal(temporary)


def load_profile(path: str | Path) -> Profile:
    """Read a profile from a file. Raise `FileFormatError` if it is not a complete profile of a known version."""
    path = Path(path)
    try:
        content = memoryview(path.read_bytes())
    except FileNotFoundError as error:
        raise FileFormatError(f"{path}: no such profile: 'halfmask profile' makes one", kind="missing") from error
    except OSError as error:
        raise FileFormatError(f"{path} cannot be read as a profile: {error.strerror or error}") from error
    try:
        if content[-_DIGITS:] != _digest(content[:-_DIGITS]):
            raise ValueError
        with zipfile.ZipFile(path) as archive, ThreadPoolExecutor() as pool:
            page = _page(archive, path)
            members = {name: _stored(archive, f"{name}.parquet", content) for name in MEMBERS}
            profile = _profile(page, members, pool)
            if "totals" not in page:
                return profile
            members = {name: _stored(archive, f"{TOTALS}{name}.parquet", content) for name in MEMBERS}
            return replace(profile, totals=_profile({**page, **page["totals"]}, members, pool))
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, OptionError, pa.ArrowException, OSError) as error:
        why = "truncated, damaged or of another kind"
        raise FileFormatError(
            f"{path} is not a whole profile ({why}): make it with 'halfmask profile'", kind="not-ours"
        ) from error


def _packed(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", compression_level=-5, use_dictionary=False)
    return sink.getvalue()


def _stored(archive: zipfile.ZipFile, name: str, content: memoryview) -> memoryview:
    """Return the bytes of a zip member without copying. The caller has checked the file's digest."""
    member = archive.getinfo(name)
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError
    name_length, extra_length = struct.unpack_from("<HH", content, member.header_offset + _LENGTHS)
    start = member.header_offset + _LENGTHS + 4 + name_length + extra_length
    return content[start : start + member.file_size]


def _unpacked(content: memoryview) -> pa.Table:
    """Read a table without Arrow's own threads. They may outlive a short program and crash it when it ends."""
    return pq.ParquetFile(pa.BufferReader(content), pre_buffer=False).read(use_threads=False)


def _seal(path: Path) -> None:
    """Replace the zip's comment by the digest of all bytes before it."""
    with path.open("r+b") as file:
        left, running = path.stat().st_size - _DIGITS, hashlib.sha256()
        while left > 0:
            part = file.read(min(left, 2**20))
            running.update(part)
            left -= len(part)
        file.seek(-_DIGITS, os.SEEK_END)
        file.write(running.hexdigest().encode())


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _page(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    page: dict[str, Any] = json.loads(archive.read(PAGE))
    if page.get("format") != FORMAT:
        raise ValueError
    if page["version"] > VERSION:
        raise FileFormatError(
            f"{path} is of version {page['version']}; this halfmask reads up to {VERSION}: upgrade it", kind="version"
        )
    if page["bins_per_octave"] != BINS_PER_OCTAVE:
        raise FileFormatError(f"{path} has other bins than this halfmask ({BINS_PER_OCTAVE} an octave): recreate it")
    return page


def _tables(profile: Profile) -> dict[str, pa.Table]:
    sums = [profile.cells[..., index].reshape(-1) for index in range(len(CELL_COLUMNS))]
    columns = [sums[0].astype(np.int32), *sums[1:]]
    labels = pa.array(profile.labels.tolist(), pa.string())
    return {
        "rows": pa.table({"label": labels, **{name: profile.rows[name] for name in ROW_COLUMNS}}),
        "periods": pa.table({"start": profile.periods}),
        **{name: pa.table({"sum": column}) for name, column in zip(CELLS, columns, strict=True)},
        "histogram": _counts_table(profile.histogram),
        "scales": _counts_table(profile.scales),
        "rounded": _counts_table(profile.rounded),
        "bins": pa.table(
            {
                "bin": profile.bin_index,
                "count": profile.bin_counts,
                "size": profile.bin_sizes,
                "negatives": profile.bin_negatives,
            }
        ),
    }


def _counts_table(counts: Counts) -> pa.Table:
    return pa.table({"row": counts.row.astype(np.int32), "bin": counts.bin.astype(np.int32), "count": counts.count})


def _profile(page: dict[str, Any], members: dict[str, memoryview], pool: ThreadPoolExecutor) -> Profile:
    """Build the profile; its large tables are decompressed in parallel."""
    counts = {name: pool.submit(_read_counts, members[name]) for name in ("histogram", "scales", "rounded")}
    rows, bins, times = (_unpacked(members[name]) for name in ("rows", "bins", "periods"))
    periods = np.asarray(times["start"])
    cells = np.moveaxis(np.empty((len(CELL_COLUMNS), rows.num_rows, len(periods))), 0, -1)

    def fill(index: int) -> None:
        cells[..., index] = np.asarray(_unpacked(members[CELLS[index]])["sum"]).reshape(cells.shape[:2])

    list(pool.map(fill, range(len(CELLS))))
    return Profile(
        period=Period.parse(page["period"]),
        step=page["step_microseconds"],
        buckets=page["buckets"],
        labels=np.array(rows["label"].to_pylist(), np.str_),
        rows={name: np.asarray(rows[name]) for name in ROW_COLUMNS},
        periods=periods,
        cells=cells,
        histogram=counts["histogram"].result(),
        scales=counts["scales"].result(),
        rounded=counts["rounded"].result(),
        grain=page["grain"],
        bin_index=np.asarray(bins["bin"]),
        bin_counts=np.asarray(bins["count"]),
        bin_sizes=np.asarray(bins["size"]),
        bin_negatives=np.asarray(bins["negatives"]),
        about=page["about"],
    )


def _read_counts(content: memoryview) -> Counts:
    table = _unpacked(content)
    return Counts(*(np.asarray(table[name]).astype(np.int64) for name in ("row", "bin", "count")))


def _write(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    archive.writestr(zipfile.ZipInfo(name, _FIXED_DATE), data)
