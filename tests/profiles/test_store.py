"""Profiles on disk: exact, the same bytes every time, whole or not there at all."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from halfmask.errors import FileFormatError, RunError
from halfmask.profiles.periods import Period
from halfmask.profiles.profile import ROW_COLUMNS, Profile
from halfmask.profiles.quality import quality
from halfmask.profiles.store import load_profile, save_profile
from tests.generated import cases
from tests.profiles.oracle import Reading
from tests.profiles.panels import HALF_HOUR, START, awkward, plain, profile_of, table


@pytest.fixture(scope="module")
def made() -> Profile:
    """A profile of everything awkward."""
    return profile_of(awkward())


@pytest.fixture
def file(made: Profile, tmp_path: Path) -> Path:
    """The same on disk."""
    path = tmp_path / "x.profile"
    save_profile(made, path)
    return path


def identical(a: Profile, b: Profile) -> bool:
    """Bit for bit."""
    arrays = [(a.rows[n], b.rows[n]) for n in ROW_COLUMNS]
    for x, y in ((a.histogram, b.histogram), (a.scales, b.scales), (a.rounded, b.rounded)):
        arrays += [(x.row, y.row), (x.bin, y.bin), (x.count, y.count)]
    names = ("labels", "periods", "cells", "bin_index", "bin_counts", "bin_sizes", "bin_negatives")
    arrays += [(getattr(a, n), getattr(b, n)) for n in names]
    same = all(x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in arrays)
    return same and all(getattr(a, n) == getattr(b, n) for n in ("period", "step", "buckets", "about", "grain"))


def test_a_round_trip_changes_no_bit(made: Profile, file: Path) -> None:
    assert identical(load_profile(file), made)
    assert not identical(load_profile(file), profile_of(awkward()[1:]))


@pytest.mark.parametrize("kind", ["buckets", "empty", "month", "sum"])
def test_a_round_trip_of_every_kind(kind: str, made: Profile, tmp_path: Path) -> None:
    profile = {
        "buckets": lambda: made.bucketed(5),
        "empty": lambda: Profile.empty(Period.parse("week")),
        "month": lambda: profile_of(plain(2, 50), period="month"),
        "sum": lambda: made + profile_of(plain(2, 50), duplicates="last"),
    }[kind]()
    save_profile(profile, tmp_path / "x")
    assert identical(load_profile(tmp_path / "x"), profile)


def test_the_same_profile_gives_the_same_bytes(file: Path, tmp_path: Path) -> None:
    save_profile(load_profile(file), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == file.read_bytes()
    save_profile(profile_of(awkward()[1:]), tmp_path / "other")
    assert (tmp_path / "other").read_bytes() != file.read_bytes()


def large(duplicates: bool) -> list[Reading]:
    """Enough rows for several row groups and threads, in the order of time."""
    rng = np.random.default_rng(8)
    values = rng.lognormal(size=(3000, 100)).tolist()
    rows: list[Reading] = [
        (f"u{u % 100}", START + t * HALF_HOUR, v) for t, row in enumerate(values) for u, v in enumerate(row)
    ]
    again = [(u, t, (v or 0) + 1) for u, t, v in rows[:: 997 if duplicates else 10**9][1:]]
    return [*rows, *again]


@pytest.mark.parametrize("duplicates", [False, True])
def test_the_same_file_gives_the_same_bytes_whatever_the_threads(duplicates: bool, tmp_path: Path) -> None:
    from halfmask.data.open_panel import open_panel
    from halfmask.profiles.build import build_profile

    source = str(tmp_path / "panel.parquet")
    pq.write_table(table(large(duplicates)), source, row_group_size=20_000)
    seen = set()
    for threads in (1, 2, 4, 2):
        profile = build_profile(open_panel(source, threads=threads))
        assert (profile.about["duplicates"] > 200) == duplicates
        save_profile(profile, tmp_path / "x")
        seen.add((tmp_path / "x").read_bytes())
    assert len(seen) == 1


def test_any_tool_can_read_it(made: Profile, file: Path) -> None:
    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        page = json.loads(archive.read("profile.json"))
        rows = pq.read_table(io.BytesIO(archive.read("rows.parquet")))
    assert page["format"] == "halfmask profile"
    assert rows["label"].to_pylist() == made.labels.tolist()


def refused(path: Path) -> str:
    """The message, which must be one line that names the file."""
    with pytest.raises(FileFormatError) as caught:
        load_profile(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_truncated_profile_is_refused_wherever_it_ends(file: Path) -> None:
    whole = file.read_bytes()
    ends = {*range(0, len(whole), len(whole) // 150), *range(len(whole) - 130, len(whole))}
    for end in ends:
        file.write_bytes(whole[:end])
        assert "not a whole profile" in refused(file)
    file.write_bytes(whole + b"\0")
    refused(file)


@cases(300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_one_changed_byte_is_noticed(file: Path, data: st.DataObject) -> None:
    whole = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    damaged = file.with_name("damaged")
    damaged.write_bytes(whole)
    assert "not a whole profile" in refused(damaged)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    pq.write_table(table(plain(1, 5)), tmp_path / "a.parquet")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("user,time,value\n")
    (tmp_path / "noise").write_bytes(np.random.default_rng(1).bytes(5000))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    for name in ("a.parquet", "empty", "text", "noise", "a.zip"):
        assert "not a whole profile" in refused(tmp_path / name)
    assert "no such profile" in refused(tmp_path / "nowhere")
    assert "directory" in refused(tmp_path)


def rewritten(file: Path, **changes: Any) -> None:
    """The same profile with another page, and the checksum that belongs to it."""
    import hashlib

    with zipfile.ZipFile(file) as old:
        members = {name: old.read(name) for name in old.namelist()}
    page = json.loads(members["profile.json"]) | changes
    members["profile.json"] = json.dumps(page).encode()
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as new:
        new.comment = b"0" * 64
        for name, content in members.items():
            new.writestr(name, content)
    content = whole.getvalue()[:-64]
    file.write_bytes(content + hashlib.sha256(content).hexdigest().encode())


def test_a_newer_version_says_so(file: Path, made: Profile) -> None:
    rewritten(file)
    assert identical(load_profile(file), made)
    rewritten(file, version=2)
    assert "is of version 2; this halfmask reads up to 1: upgrade it" in refused(file)
    rewritten(file, version=1, bins_per_octave=32)
    assert "other bins" in refused(file)
    rewritten(file, bins_per_octave=64, format="another")
    assert "not a whole profile" in refused(file)
    rewritten(file, format="halfmask profile", period="fortnight")
    refused(file)


FULL = """
import resource, sys
from halfmask.errors import RunError
from halfmask.profiles.store import load_profile, save_profile
profile = load_profile(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    save_profile(profile, sys.argv[2])
except RunError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.parametrize("room", [0, 100, 5000])
def test_a_full_disk_leaves_the_old_file_intact(file: Path, tmp_path: Path, room: int) -> None:
    """A limit on the size of files, in a process of its own, fails a write as a full disk does."""
    target = tmp_path / "deep" / "old.profile"
    target.parent.mkdir()
    target.write_bytes(b"old")
    ended = subprocess.run(
        [sys.executable, "-c", FULL, str(file), str(target), str(room)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (7, "")
    assert str(target) in ended.stdout
    assert ended.stdout.count("\n") == 1
    assert target.read_bytes() == b"old"
    assert [p.name for p in target.parent.iterdir()] == ["old.profile"]


def test_a_folder_that_is_not_there(made: Profile, tmp_path: Path) -> None:
    with pytest.raises(RunError):
        save_profile(made, tmp_path / "nowhere" / "x.profile")


def test_a_loaded_profile_says_the_same(made: Profile, file: Path) -> None:
    loaded = load_profile(file)
    assert quality(loaded) == quality(made)
    assert loaded.fingerprint() == made.fingerprint()
